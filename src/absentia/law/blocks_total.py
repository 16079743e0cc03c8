"""The law of a stack of independent reaches: on a lattice that fits exactly, or rounded up to a fine grid."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from fractions import Fraction

import numpy as np

from absentia.law.convolution import dominating_atoms

__all__ = ["Atoms", "sum_of_laws"]

Atoms = tuple[tuple[float, Fraction], ...]

FINEST = 2**20  # steps of a lattice that is still used as it is
STEPS, STEPS_A_BLOCK = 4096, 25  # otherwise: steps of the grid at least, and for every block


def sum_of_laws(laws: Mapping[Atoms, int], norm: int) -> Iterator[tuple[float, Fraction]]:
    """(reach, mass) of (sum_b R_b^norm)^(1/norm) for that many independent blocks of each law, or of a law above it.

    Every operation multiplies or adds non-negative doubles; the error is counted and added by `dominating_atoms`.
    The lowest masses (1e-30 in all) move up to a cut now and then, the highest (1e-300 each) to the largest reach.
    """
    weighted = [([(Fraction(x) ** norm, q) for x, q in atoms], count) for atoms, count in laws.items()]
    step = lattice(weighted)
    mass, low, beyond, top, operations = np.ones(1), 0, 0.0, 0, 0
    for atoms, count in sorted(weighted, key=lambda law: max(law[0])):  # small reaches first: shorter arrays
        shifts = sorted((math.ceil(w / step), float(q)) for w, q in atoms if q > 0)
        least, most = shifts[0][0], shifts[-1][0]
        top += count * most
        for _ in range(count):
            grown = np.zeros(len(mass) + most - least)
            np.multiply(mass, shifts[0][1], out=grown[: len(mass)])
            for shift, q in shifts[1:]:
                grown[shift - least : shift - least + len(mass)] += mass * q
            mass, low, operations = grown, low + least, operations + len(shifts)
            if operations % 32 < len(shifts):
                first = int(np.searchsorted(np.cumsum(mass), 1e-30))
                last = len(mass) - int(np.argmax(mass[::-1] >= 1e-300))
                beyond += float(mass[last:].sum())
                mass[first] += float(mass[:first].sum())
                mass, low = mass[first:last], low + first
    reaches, masses = dominating_atoms(mass, low, beyond, top, step, norm, operations)
    yield from zip(reaches, masses, strict=True)


def lattice(weighted: list[tuple[list[tuple[Fraction, Fraction]], int]]) -> Fraction:
    """The common divisor of all weights when the total has few enough such steps, else a fine grid."""
    weights = [w for atoms, _ in weighted for w, _ in atoms if w > 0]
    total = sum((count * max(w for w, _ in atoms) for atoms, count in weighted), Fraction(0))
    if not weights:
        return Fraction(1)
    denominator = math.lcm(*(w.denominator for w in weights))
    divisor = Fraction(math.gcd(*(int(w * denominator) for w in weights)), denominator)
    if total / divisor <= FINEST:
        return divisor
    return total / max(STEPS, STEPS_A_BLOCK * sum(count for _, count in weighted))
