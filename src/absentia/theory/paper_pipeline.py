"""The masked-data pipeline A_D (mask, impute, mechanism) of small worlds: exact in rationals, or one draw at a time.

Two worlds of the paper are built here: P3's witness and P10's counterexample.
"""

from __future__ import annotations

import math
import random
from collections import defaultdict
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from typing import NamedTuple, TypeVar

from absentia.errors import InputError

__all__ = [
    "NA", "Pipeline", "Scenario", "always_observed", "as_is", "dependent_masks", "divergence", "independent_rows",
    "laplace_bins", "largest_ratio", "randomised_response", "zero_imputation",
]  # fmt: skip

NA = None
T = TypeVar("T")
Row = tuple[Fraction | int | None, ...]
Dataset = tuple[Row, ...]
Mask = tuple[int, ...]
"""One row's mask: 1 where the entry is missing."""
Law = Mapping[Hashable, Fraction]
MaskLaw = Callable[[Dataset], Mapping[tuple[Mask, ...], Fraction]]


def as_is(data: Dataset) -> Dataset:
    """The masked dataset itself: the mechanism sees NA."""
    return data


def zero_imputation(data: Dataset) -> Dataset:
    """The dataset with 0 in every hole."""
    return tuple(tuple(0 if entry is NA else entry for entry in row) for row in data)


@dataclass(frozen=True)
class Pipeline:
    """A_D: draw the masks, impute, run the mechanism.

    `masks` gives the joint law of all rows' masks (`independent_rows` builds it from one row's law); `mechanism`
    gives the law of the output on an imputed dataset.

    >>> seen = Pipeline(independent_rows(lambda row: {(0,): Fraction(1, 2), (1,): Fraction(1, 2)}), lambda d: {d: 1})
    >>> seen.law(((1,),)) == {((1,),): Fraction(1, 2), ((0,),): Fraction(1, 2)}
    True
    """

    masks: MaskLaw
    mechanism: Callable[[Dataset], Law]
    impute: Callable[[Dataset], Dataset] = zero_imputation

    def masked(self, data: Dataset) -> dict[Dataset, Fraction]:
        """The law of the imputed dataset."""
        law: dict[Dataset, Fraction] = defaultdict(Fraction)
        for masks, mass in self._checked_masks(data).items():
            law[self.impute(_hide(data, masks))] += mass
        return dict(law)

    def law(self, data: Dataset) -> dict[Hashable, Fraction]:
        """The exact law of the output."""
        law: dict[Hashable, Fraction] = defaultdict(Fraction)
        for imputed, mass in self.masked(data).items():
            for output, probability in self.mechanism(imputed).items():
                law[output] += mass * probability
        return dict(law)

    def draw(self, data: Dataset, rng: random.Random) -> Hashable:
        """One output, drawn step by step (for demonstrations; never a private release)."""
        masks = _draw(self._checked_masks(data), rng)
        return _draw(self.mechanism(self.impute(_hide(data, masks))), rng)

    def _checked_masks(self, data: Dataset) -> Mapping[tuple[Mask, ...], Fraction]:
        law = self.masks(data)
        if sum(law.values()) != 1 or min(law.values()) < 0:
            raise InputError("masks", sum(law.values()), "non-negative masses that sum to 1 exactly")
        return law


class Scenario(NamedTuple):
    """A pipeline and two neighbouring datasets."""

    pipeline: Pipeline
    data: Dataset
    neighbour: Dataset

    def divergence(self, alpha: Fraction) -> Fraction:
        """H_alpha(A_D(data) || A_D(neighbour)), exactly."""
        return divergence(self.pipeline.law(self.data), self.pipeline.law(self.neighbour), alpha)

    def largest_ratio(self) -> Fraction | None:
        """e^eps' for the smallest pure eps' of this pair in this order; None when there is none."""
        return largest_ratio(self.pipeline.law(self.data), self.pipeline.law(self.neighbour))


def independent_rows(row_law: Callable[[Row], Mapping[Mask, Fraction]]) -> MaskLaw:
    """The joint mask law when every row draws its own mask from row_law(row), any missingness."""

    def joint(data: Dataset) -> dict[tuple[Mask, ...], Fraction]:
        laws = [row_law(row) for row in data]
        return {masks: math.prod((law[m] for law, m in zip(laws, masks, strict=True)), start=Fraction(1))
                for masks in product(*laws)}  # fmt: skip

    return joint


def divergence(p: Law, q: Law, alpha: Fraction) -> Fraction:
    """H_alpha(P || Q) = sum over outputs of max(0, P - alpha Q), exactly.

    >>> divergence({0: Fraction(3, 4), 1: Fraction(1, 4)}, {0: Fraction(1, 2), 1: Fraction(1, 2)}, Fraction(1))
    Fraction(1, 4)
    """
    return sum((max(Fraction(0), mass - alpha * q.get(output, Fraction(0))) for output, mass in p.items()), Fraction(0))


def largest_ratio(p: Law, q: Law) -> Fraction | None:
    """max over outputs of P/Q; None when Q misses an output of P."""
    if any(mass and not q.get(output) for output, mass in p.items()):
        return None
    return max(mass / q[output] for output, mass in p.items() if mass)


def randomised_response(bit: bool, ratio: Fraction) -> dict[Hashable, Fraction]:
    """{truth: ratio/(1+ratio), lie: 1/(1+ratio)}: pure eps = ln(ratio)."""
    return {bit: ratio / (1 + ratio), not bit: 1 / (1 + ratio)}


def laplace_bins(centre: int, u: Fraction, low: int, high: int) -> dict[Hashable, Fraction]:
    """Laplace noise around `centre`, seen through unit bins from `low` to `high` with the tails joined to the ends.

    u = e^(1/b) for the scale b in bin widths, so that every probability is rational. Against another centre the
    binning loses nothing at the orders alpha = u^even when low and high enclose both centres.

    >>> laplace_bins(0, Fraction(2), -1, 0)
    {-1: Fraction(1, 2), 0: Fraction(1, 2)}
    """
    if u <= 1:
        raise InputError("u", u, "a rational above 1")

    def below(edge: int) -> Fraction:
        return u ** (edge - centre) / 2 if edge <= centre else 1 - u ** (centre - edge) / 2

    edges = [Fraction(0), *(below(i) for i in range(low + 1, high + 1)), Fraction(1)]
    return {low + i: edges[i + 1] - edges[i] for i in range(len(edges) - 1)}


def always_observed(ratio: Fraction, other_seen: Fraction) -> Scenario:
    """P3's witness: column 0 is always observed (p* = 1), randomised response on it gains nothing from the holes.

    >>> scenario = always_observed(Fraction(3), Fraction(1, 2))
    >>> scenario.largest_ratio(), scenario.divergence(Fraction(2))
    (Fraction(3, 1), Fraction(1, 4))
    """
    masks = independent_rows(lambda row: {(0, 0): other_seen, (0, 1): 1 - other_seen})
    pipeline = Pipeline(masks, lambda data: randomised_response(data[0][0] == 1, ratio))
    return Scenario(pipeline, ((1, 1),), ((-1, 1),))


def dependent_masks(u: Fraction) -> Scenario:
    """P10's counterexample: both rows are masked iff z_1 = 0; the observed count is released with Laplace(1/eps).

    u = e^(eps/2), any rational above 1. The count moves by 2 where (eps, 0)-DP allows for 1:
    H_{e^eps} = 1 - e^(-eps/2) > 0. Bins are half a count wide, which is exact at alpha = u^2.

    >>> dependent_masks(Fraction(3, 2)).divergence(Fraction(9, 4)) == 1 - Fraction(2, 3)
    True
    """

    def together(data: Dataset) -> dict[tuple[Mask, ...], Fraction]:
        hidden = int(data[0][0] == 0)
        return {((hidden,), (hidden,)): Fraction(1)}

    def count(data: Dataset) -> dict[Hashable, Fraction]:
        observed = sum(entry is not NA for row in data for entry in row)
        return laplace_bins(2 * observed, u, low=-1, high=5)

    return Scenario(Pipeline(together, count, as_is), ((1,), (1,)), ((0,), (1,)))


def _hide(data: Dataset, masks: tuple[Mask, ...]) -> Dataset:
    return tuple(
        tuple(NA if hidden else entry for entry, hidden in zip(row, mask, strict=True))
        for row, mask in zip(data, masks, strict=True)
    )


def _draw(law: Mapping[T, Fraction], rng: random.Random) -> T:
    """One value of an exact law, drawn without rounding."""
    denominator = math.lcm(*(Fraction(mass).denominator for mass in law.values()))
    ticket = rng.randrange(denominator)
    for value, mass in law.items():
        ticket -= int(mass * denominator)
        if ticket < 0:
            return value
    raise InputError("law", sum(law.values()), "masses that sum to 1 exactly")
