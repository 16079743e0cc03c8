"""The law of a sum over independent features: exact when small, on a pessimistic grid when large."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from absentia.exact import root_up

__all__ = ["dominating_atoms", "independent_atoms"]

MOST_ATOMS = 4096
EXACT_ATOMS = 4096
"""Laws with at most this many atoms are convolved in exact rationals."""


def independent_atoms(
    weights: Sequence[float], seen: Sequence[Fraction], norm: int, grid: int
) -> tuple[list[float], list[Fraction]]:
    """(reaches, masses) of (sum of seen weights^norm)^(1/norm), or of a law that dominates it."""
    parts = [(Fraction(w) ** norm, p) for w, p in zip(weights, seen, strict=True) if w > 0 and p > 0]
    if len(parts) <= 64:
        atoms = {Fraction(0): Fraction(1)}
        for w, p in parts:
            atoms = _exact_step(atoms, w, p)
            if len(atoms) > EXACT_ATOMS:
                return _on_grid(parts, norm, grid)
        levels = sorted(atoms)
        return [root_up(x, norm) for x in levels], [atoms[x] for x in levels]
    return _on_grid(parts, norm, grid)


def _exact_step(atoms: dict[Fraction, Fraction], w: Fraction, p: Fraction) -> dict[Fraction, Fraction]:
    out: dict[Fraction, Fraction] = {}
    for x, q in atoms.items():
        for y, m in ((x, q * (1 - p)), (x + w, q * p)):
            if m:
                out[y] = out.get(y, Fraction(0)) + m
    return out


def _on_grid(parts: Sequence[tuple[Fraction, Fraction]], norm: int, grid: int) -> tuple[list[float], list[Fraction]]:
    """Weights rounded up to a grid, masses by the recursion f'(x) = (1-p) f(x) + p f(x-w).

    Equal weights fall on their own grid exactly (a Poisson binomial). Otherwise the step is 1/(100 features) of
    the total, so that rounding up costs about half a percent of the reach. Now and then the far ends are cut: the
    lowest masses (1e-30 in all) move up to the cut, the highest (below 1e-300 each) to the full reach.
    """
    distinct = {w for w, _ in parts}
    total = sum((w for w, _ in parts), Fraction(0))
    step = distinct.pop() if len(distinct) == 1 else total / max(grid, 100 * len(parts))
    tiny = [(w, p) for w, p in parts if w < step]
    lump = sum((w for w, _ in tiny), Fraction(0))
    if math.ceil(lump / step) < sum(p for _, p in tiny):  # together and always seen costs less than a step each
        parts = [*((w, p) for w, p in parts if w >= step), (lump, Fraction(1))]
    ordered = sorted((math.ceil(w / step), p) for w, p in parts)
    mass, low, beyond = np.ones(1), 0, 0.0
    for count, (shift, p) in enumerate(ordered, start=1):
        grown = np.zeros(len(mass) + shift)
        grown[: len(mass)] = mass * float(1 - p)
        grown[shift:] += mass * float(p)
        mass = grown
        if count % 32 == 0:
            first = int(np.searchsorted(np.cumsum(mass), 1e-30))
            last = len(mass) - int(np.argmax(mass[::-1] >= 1e-300))
            beyond += float(mass[last:].sum())
            mass[first] += float(mass[:first].sum())
            mass, low = mass[first:last], low + first
    top = sum(shift for shift, _ in ordered)
    return dominating_atoms(mass, low, beyond, top, step, norm, len(parts))


def dominating_atoms(
    mass: NDArray[np.float64], low: int, beyond: float, top: int, step: Fraction, norm: int, features: int
) -> tuple[list[float], list[Fraction]]:
    """Atoms whose survival function is at least the true one.

    Every operation is a product or a sum of non-negative numbers, so an entry is right to (4 features + 2) ulp
    (cuts add at most one sum each), the reverse cumulative sum adds one ulp an entry, and what underflows is
    less than 5e-324 an operation on each of at most top + 1 entries. Survival is raised by the whole allowance, up to
    the top, whose own mass may have underflowed.
    """
    lost = beyond + 5e-324 * features * (top + 2)
    survival = np.cumsum(mass[::-1])[::-1] + lost
    allowance = 1 + (6 * features + 2 * len(mass) + 16) * 2.3e-16
    raised = np.minimum(1.0, survival * allowance)
    keep = np.flatnonzero(np.append(raised[:-1] != raised[1:], True))
    if len(keep) > MOST_ATOMS:  # atoms move up to the next one kept
        keep = keep[np.unique(np.linspace(0, len(keep) - 1, MOST_ATOMS, dtype=int))]
    starts = np.append(0, keep[:-1] + 1)  # an atom at a kept level holds all the mass since the last one
    tails = [Fraction(1), *(Fraction(float(t)) for t in raised[starts[1:]])]
    levels = [low + int(k) for k in keep]
    if levels[-1] < top:
        levels.append(top)
        tails.append(Fraction(lost * allowance))
    masses = [a - b for a, b in pairwise([*tails, Fraction(0)])]
    return [root_up(step * k, norm) for k in levels], masses
