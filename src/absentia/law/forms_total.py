"""The law of a sum over the blocks that a design shows: exact when small, rounded up on a grid when large."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from fractions import Fraction
from math import ceil, comb

import numpy as np

__all__ = ["Atoms", "coarse", "listed_atoms", "stacked", "uniform_atoms"]

Atoms = dict[Fraction, Fraction]
"""Weight of what is seen -> probability."""

EXACT = 20_000
"""A law with more states than this is rounded up to a grid."""
MERGED = 512
"""Atoms kept by each of two laws before they are stacked, when their product would be large."""
CELLS = 4e8
TINY = 1e-300


def listed_atoms(weights: Sequence[Fraction], forms: Sequence[Sequence[int]], mass: Sequence[Fraction]) -> Atoms:
    """The law of the weight of one form of a list."""
    atoms: Atoms = {}
    for form, m in zip(forms, mass, strict=True):
        w = sum((weights[b] for b in form), Fraction(0))
        atoms[w] = atoms.get(w, Fraction(0)) + m
    return atoms


def uniform_atoms(weights: Sequence[Fraction], k: int) -> Atoms:
    """The law of the weight of k of the blocks, every k-subset alike."""
    return _counted(weights, k) or _gridded(weights, k)


def stacked(first: Atoms, second: Atoms) -> Atoms:
    """The law of the sum of two independent weights."""
    if len(first) * len(second) > EXACT * 10:
        first, second = coarse(first, MERGED), coarse(second, MERGED)
    atoms: Atoms = {}
    for x, p in first.items():
        for y, q in second.items():
            atoms[x + y] = atoms.get(x + y, Fraction(0)) + p * q
    return coarse(atoms, EXACT)


def coarse(atoms: Atoms, most: int) -> Atoms:
    """The same law, or one with at most `most` + 1 atoms that dominates it: weights move up to a grid."""
    if len(atoms) <= most:
        return atoms
    unit = max(atoms) / most
    merged: Atoms = {}
    for x, p in atoms.items():
        up = ceil(x / unit) * unit
        merged[up] = merged.get(up, Fraction(0)) + p
    return merged


def _counted(weights: Sequence[Fraction], k: int) -> Atoms | None:
    """Exact counts of subsets, class by class of equal weights; None when there are too many different sums."""
    ways: dict[tuple[int, Fraction], int] = {(0, Fraction(0)): 1}
    for w, copies in Counter(weights).items():
        grown: dict[tuple[int, Fraction], int] = {}
        for (taken, x), count in ways.items():
            for j in range(min(copies, k - taken) + 1):
                at = (taken + j, x + j * w)
                grown[at] = grown.get(at, 0) + count * comb(copies, j)
        if len(grown) > EXACT:
            return None
        ways = grown
    every = comb(len(weights), k)
    return {x: Fraction(count, every) for (taken, x), count in ways.items() if taken == k}


def _gridded(weights: Sequence[Fraction], k: int) -> Atoms:
    """Block by block on a grid, each weight rounded up; every probability is raised by more than doubles can lose.

    What underflows, 5e-324 an operation, is less than is put at the top.
    """
    d, top = len(weights), sum(sorted(weights, reverse=True)[:k], Fraction(0))
    steps = max(64, min(1 << 16, max(4096, 256 * k), int(CELLS / (d * k))))
    unit = top / steps
    law = np.zeros((k + 1, steps + k + 1))
    law[0, 0] = 1.0
    taken = np.arange(k + 1)
    for i, w in enumerate(weights):
        move = ceil(w / unit)
        chosen = np.clip((k - taken) / (d - i), 0.0, 1.0)[:, None]
        came = (law * chosen)[:-1, : law.shape[1] - move]
        law *= 1 - chosen
        law[1:, move:] += came
    raised = 1 + Fraction(8 * d + 8, 2**52)
    atoms = {x * unit: Fraction(float(m)) * raised for x, m in enumerate(law[k]) if m > 0}
    atoms[top] = atoms.get(top, Fraction(0)) + Fraction(TINY)
    return atoms
