"""Discrete laws in exact arithmetic: mixtures, envelopes, sums of independent parts.

`Atoms` maps a level to its exact mass, masses add to 1. Every shortcut moves mass to higher levels only.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from functools import reduce

import numpy as np
from numpy.typing import NDArray

from absentia.exact import round_up

__all__ = ["Atoms", "envelope", "from_survival", "lowered", "mixed", "sum_of", "survival", "thinned", "worse"]

Atoms = dict[Fraction, Fraction]

_EXACT_WORK = 20_000  # multiplications of fractions that are still quick
_GRID = 1 << 17
MOST = 1024  # atoms of a law
_TINY = 1e-300  # more than all that underflow can lose
_UNIT = 2.0**-52


def survival(atoms: Mapping[Fraction, Fraction]) -> list[tuple[Fraction, Fraction]]:
    """The pairs (level, P(R >= level)), highest level first; exact."""
    total, pairs = Fraction(0), []
    for level in sorted(atoms, reverse=True):
        total += atoms[level]
        pairs.append((level, total))
    return pairs


def from_survival(pairs: Iterable[tuple[Fraction, Fraction]]) -> Atoms:
    """The law whose survival is at least what is given (highest level first); what is left lies at the lowest level."""
    atoms: Atoms = {}
    reached, lowest = Fraction(0), Fraction(0)
    for level, value in pairs:
        lowest = level
        step = min(value, Fraction(1)) - reached
        if step > 0:
            atoms[level] = step
            reached += step
    if reached < 1:
        atoms[lowest] = atoms.get(lowest, Fraction(0)) + 1 - reached
    return atoms


def mixed(parts: Iterable[tuple[Fraction, Mapping[Fraction, Fraction]]]) -> Atoms:
    """The mixture of laws with the given weights; exact."""
    atoms: defaultdict[Fraction, Fraction] = defaultdict(Fraction)
    for weight, part in parts:
        if weight:
            for level, mass in part.items():
                atoms[level] += weight * mass
    return dict(atoms)


def envelope(laws: Sequence[Mapping[Fraction, Fraction]]) -> Atoms:
    """The smallest law that dominates every given one (pointwise largest survival); exact."""
    return _pointwise(laws, largest=True)


def lowered(laws: Sequence[Mapping[Fraction, Fraction]]) -> Atoms:
    """The pointwise smallest survival: the law of a quantity that each given law dominates; exact."""
    return _pointwise(laws, largest=False)


def _pointwise(laws: Sequence[Mapping[Fraction, Fraction]], *, largest: bool) -> Atoms:
    if len(laws) == 1:
        return dict(laws[0])
    curves = [survival(law) for law in laws]
    place, value = [0] * len(curves), [Fraction(0)] * len(curves)
    pairs = []
    for level in sorted({level for law in laws for level in law}, reverse=True):
        for i, curve in enumerate(curves):
            if place[i] < len(curve) and curve[place[i]][0] == level:
                value[i] = curve[place[i]][1]
                place[i] += 1
        pairs.append((level, max(value) if largest else min(value)))
    return from_survival(pairs)


def worse(atoms: Mapping[Fraction, Fraction], odds: Fraction) -> Atoms:
    """The law when the odds of staying below a level differ by at most `odds` between records (THEORY 6.4); exact.

    P(R >= x) = s becomes odds s / (odds s + 1 - s) at every level.
    """
    return from_survival((level, odds * s / (odds * s + 1 - s)) for level, s in survival(atoms))


def thinned(atoms: Atoms, most: int = MOST) -> Atoms:
    """At most `most` atoms, by rounding levels up: half of them spread evenly, half where the mass is."""
    if len(atoms) <= most:
        return atoms
    levels = sorted(atoms)
    heights = np.array([float(level) for level in levels])
    kept = _kept(heights, np.cumsum([float(atoms[level]) for level in levels]), most)
    out: defaultdict[Fraction, Fraction] = defaultdict(Fraction)
    for level, k in zip(levels, np.searchsorted(kept, np.arange(len(levels))), strict=True):
        out[levels[kept[k]]] += atoms[level]
    return dict(out)


def _kept(levels: NDArray[np.float64], below: NDArray[np.float64], most: int) -> NDArray[np.intp]:
    """Positions of the levels to keep, the lowest and the highest always; `below` is the cumulated mass."""
    first, last = np.searchsorted(below, [1e-15, below[-1] * (1 - 1e-15)])
    half = most // 2 - 1
    edges = [
        np.linspace(levels[0], levels[-1], half),
        np.linspace(levels[first], levels[min(last, len(levels) - 1)], half),
    ]
    places = np.searchsorted(levels, np.concatenate(edges), side="right") - 1
    return np.unique(np.concatenate([places, [0, len(levels) - 1]]))


def sum_of(parts: Sequence[Mapping[Fraction, Fraction]]) -> Atoms:
    """The law of a sum of independent parts: exact while small, else floats rounded to the dominating law.

    Above 20,000 exact products the parts are put on a grid (their common unit if there are at most 2^17
    steps, otherwise levels rounded up by at most range/2^17 each) and masses are rounded up.

    >>> half = {Fraction(0): Fraction(1, 2), Fraction(1): Fraction(1, 2)}
    >>> sum_of([half, half]) == {0: Fraction(1, 4), 1: Fraction(1, 2), 2: Fraction(1, 4)}
    True
    """
    work, size, out = 0, 1, {Fraction(0): Fraction(1)}
    parts = [{level: mass for level, mass in part.items() if mass} for part in parts]
    for part in parts:
        work += size * len(part)
        if work > _EXACT_WORK:
            return thinned(_sum_on_grid(parts))
        joined: defaultdict[Fraction, Fraction] = defaultdict(Fraction)
        for a, p in out.items():
            for b, q in part.items():
                joined[a + b] += p * q
        out, size = dict(joined), len(joined)
    return thinned(out)


def _sum_on_grid(parts: Sequence[Mapping[Fraction, Fraction]]) -> Atoms:
    top = sum((max(part) for part in parts), Fraction(0))
    unit = common_unit({level for part in parts for level in part}, top)
    mass: NDArray[np.float64] = np.ones(1)
    for part in parts:
        steps = {level: -(-level // unit) for level in part}
        wider = np.zeros(len(mass) + max(steps.values()))
        for level, q in part.items():
            wider[steps[level] : steps[level] + len(mass)] += mass * round_up(q)
        mass = wider
    slack = 1 + 2 * _UNIT * sum(len(part) + 1 for part in parts)
    up = np.nextafter(mass * slack + _TINY, np.inf)
    total, pairs = Fraction(0), []
    steps_left = np.union1d(np.flatnonzero(mass), len(mass) - 1)  # the top can underflow, and is still a level
    kept = steps_left[_kept(steps_left.astype(float), np.cumsum(mass[steps_left]), MOST)]
    for below, step in zip([-1, *kept[:-1].tolist()][::-1], kept[::-1].tolist(), strict=True):
        total += Fraction(math.nextafter(math.fsum(up[below + 1 : step + 1]), math.inf))
        pairs.append((step * unit, total))
    return from_survival(pairs)


def common_unit(levels: Iterable[Fraction], top: Fraction, most: int = _GRID) -> Fraction:
    """The largest number of which all levels are multiples, or top/most when that takes more than `most` steps."""
    units = [level for level in set(levels) if level]
    if not units:
        return Fraction(1)
    unit = reduce(_gcd, units)
    return unit if top / unit <= most else top / most


def _gcd(a: Fraction, b: Fraction) -> Fraction:
    return Fraction(math.gcd(a.numerator * b.denominator, b.numerator * a.denominator), a.denominator * b.denominator)
