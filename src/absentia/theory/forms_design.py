"""Blocks of columns masked together by a known design: the exact facts that T10 and T10K need.

A design is a tuple of strata drawn independently of one another and of the data. Within a stratum one form (a set
of blocks) is drawn; a block is seen whole or not at all. Everything here is rational and exact.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property, reduce
from itertools import combinations
from math import ceil, comb, floor, gcd, lcm

import numpy as np

__all__ = ["Design", "Stratum", "listed", "uniform"]

WRITTEN_OUT = 128
"""k of d is also written out as a list when it has at most this many forms; the list formula is then tried too."""

Form = tuple[int, ...]


@dataclass(frozen=True)
class Stratum:
    """Blocks whose masks are drawn together, independently of the other strata.

    `associated` says that negative association is proved; only the constructors of this module set it, from how the
    stratum is built. `forms` is empty when the stratum is too large to be written out; `k` is 0 unless it is k of d.
    """

    squared: tuple[Fraction, ...]
    seen: tuple[Fraction, ...]
    pull: Fraction
    associated: bool
    forms: tuple[Form, ...] = ()
    mass: tuple[Fraction, ...] = ()
    k: int = 0

    @cached_property
    def second(self) -> Fraction:
        """sum_b p_b r_b^2, the mean squared shift."""
        return _dot(self.seen, self.squared)

    @cached_property
    def mean_square(self) -> Fraction:
        """S = sum_b p_b^2 r_b^2, the square of the mean shift."""
        return _dot([p * p for p in self.seen], self.squared)

    @property
    def level(self) -> bool:
        """Whether A_O = sum_{b in O} p_b r_b^2 is the same for every form: its mean is S, its maximum is `pull`."""
        return self.pull == self.mean_square

    @property
    def levelled(self) -> Stratum:
        """k of d with every reach raised to the largest (the divergence never falls); other strata as they are."""
        if not self.k or self.level:
            return self
        top, d = max(self.squared), len(self.squared)
        return replace(self, squared=(top,) * d, pull=self.seen[0] * top * min(self.k, d))

    @cached_property
    def overlaps(self) -> tuple[Fraction, tuple[Fraction, ...]]:
        """G, at least sum_{b in f and g} r_b^2 for any two different forms, and that sum for each form with itself."""
        own = tuple(_total(self.squared, f) for f in self.forms)
        return _largest_overlap(self, [Fraction(0)] * len(own)), own

    @cached_property
    def centred_overlaps(self) -> tuple[Fraction, tuple[Fraction, ...]]:
        """As `overlaps`, every overlap less A_f + A_g - S: the inner products of the forms minus their mean."""
        S, pulls = self.mean_square, self.pulls
        own = tuple(_total(self.squared, f) - 2 * a + S for f, a in zip(self.forms, pulls, strict=True))
        return _largest_overlap(self, pulls) + S, own

    @property
    def pulls(self) -> list[Fraction]:
        """A_O of every form."""
        weight = [p * w for p, w in zip(self.seen, self.squared, strict=True)]
        return [_total(weight, f) for f in self.forms]


@dataclass(frozen=True)
class Design:
    """Independent strata; `residual` if entries may be missing on top of them, `adaptive` if queries may react."""

    strata: tuple[Stratum, ...]
    residual: bool = False
    adaptive: bool = False

    @property
    def second(self) -> Fraction:
        return sum((s.second for s in self.strata), Fraction(0))

    @property
    def mean_square(self) -> Fraction:
        return sum((s.mean_square for s in self.strata), Fraction(0))


def uniform(k: int, squared: Sequence[Fraction]) -> tuple[Stratum, ...]:
    """Exactly k of the blocks, every k-subset alike: negatively associated (Joag-Dev and Proschan 1983).

    Blocks of reach 0 move nothing and are left out; what remains of the family is still negatively associated.
    """
    d, moving = len(squared), tuple(w for w in squared if w > 0)
    if k == 0 or not moving:
        return ()
    seen = (Fraction(k, d),) * len(moving)
    pull = seen[0] * sum(sorted(moving, reverse=True)[:k], Fraction(0))
    stratum = Stratum(moving, seen, pull, associated=True, k=k)
    if len(moving) < d or not 1 < comb(d, k) <= WRITTEN_OUT:
        return (stratum,)
    forms = tuple(combinations(range(d), k))
    return (replace(stratum, forms=forms, mass=(Fraction(1, len(forms)),) * len(forms)),)


def listed(
    forms: Sequence[Iterable[int]], mass: Sequence[Fraction], squared: Sequence[Fraction]
) -> tuple[Stratum, ...]:
    """The strata of a list of forms: the core that every form holds, and the rest.

    Blocks always seen together become one (squared reaches add). Negative association is proved only for at most one
    block seen, at most one block missing (any masses), and every k-subset alike; any other list is not `associated`.
    """
    drawn = _merge_forms((frozenset(b for b in f if squared[b] > 0) for f in forms), mass)
    together: dict[Form, Fraction] = {}
    for b in sorted(frozenset().union(*drawn)):
        where = tuple(i for i, f in enumerate(drawn) if b in f)
        together[where] = together.get(where, Fraction(0)) + squared[b]
    core = [w for where, w in together.items() if len(where) == len(drawn)]
    rest = {where: w for where, w in together.items() if len(where) < len(drawn)}
    strata = uniform(len(core), core)
    if not rest:
        return strata
    masses = tuple(drawn.values())
    new_forms = tuple(tuple(b for b, where in enumerate(rest) if i in where) for i in range(len(drawn)))
    seen = tuple(_total(masses, where) for where in rest)
    proved = _associated(new_forms, masses, len(rest))
    found = Stratum(tuple(rest.values()), seen, Fraction(0), proved, new_forms, masses)
    return (*strata, replace(found, pull=max(found.pulls)))


def _merge_forms(forms: Iterable[frozenset[int]], mass: Sequence[Fraction]) -> dict[frozenset[int], Fraction]:
    drawn: dict[frozenset[int], Fraction] = {}
    for f, m in zip(forms, mass, strict=True):
        if m > 0:
            drawn[f] = drawn.get(f, Fraction(0)) + m
    return drawn


def _associated(forms: tuple[Form, ...], mass: tuple[Fraction, ...], d: int) -> bool:
    """At most one seen, at most one missing, or every k-subset alike (`forms` are different from one another)."""
    sizes = {len(f) for f in forms}
    if max(sizes) <= 1 or min(sizes) >= d - 1:
        return True
    return len(sizes) == 1 and len(set(mass)) == 1 and len(forms) == comb(d, sizes.pop())


def _largest_overlap(stratum: Stratum, pulls: Sequence[Fraction]) -> Fraction:
    """At least max over f != g of sum_{b in f and g} r_b^2 - A_f - A_g, by integers that doubles hold exactly.

    Reaches are counted in a common unit, rounded up (and A rounded down) when no unit is exact.
    """
    total = sum(stratum.squared, Fraction(0))
    unit = _common_unit(stratum.squared)
    if any(pulls) or total / unit > 2**50:
        unit = total / 2**50
    held = np.zeros((len(stratum.forms), len(stratum.squared)))
    for i, f in enumerate(stratum.forms):
        held[i, list(f)] = 1.0
    weight = np.array([float(ceil(w / unit)) for w in stratum.squared])
    pull = np.array([float(floor(a / unit)) for a in pulls])
    largest = -np.inf
    for start in range(0, len(held), 512):
        block = held[start : start + 512]
        overlap = (block * weight) @ held.T - pull[start : start + 512, None] - pull[None, :]
        overlap[np.arange(len(block)), np.arange(start, start + len(block))] = -np.inf
        largest = max(largest, float(overlap.max()))
    return int(largest) * unit


def _common_unit(values: Sequence[Fraction]) -> Fraction:
    bottom = lcm(*(v.denominator for v in values))
    return Fraction(reduce(gcd, (int(v * bottom) for v in values)), bottom)


def _total(values: Sequence[Fraction], chosen: Iterable[int]) -> Fraction:
    return sum((values[i] for i in chosen), Fraction(0))


def _dot(a: Sequence[Fraction], b: Sequence[Fraction]) -> Fraction:
    return sum((x * y for x, y in zip(a, b, strict=True)), Fraction(0))
