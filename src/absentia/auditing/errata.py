"""The counterexamples behind docs/errata.md (E1-E12), each small enough to recompute in a moment."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable
from fractions import Fraction
from itertools import product

from flint import arb

from absentia.exact import above, ball, below, precision
from absentia.theory.bound import proved_above
from absentia.theory.noise import hockey_stick_gaussian
from absentia.theory.paper_pipeline import (
    NA,
    Dataset,
    Pipeline,
    Row,
    Scenario,
    as_is,
    independent_rows,
    randomised_response,
)

__all__ = [
    "classical_excess",
    "constant_imputation",
    "floor_shortfalls",
    "largest_move",
    "public_mask",
    "relaxed_step",
    "row_mean_imputation",
]


def relaxed_step(n: int) -> tuple[float, float]:
    """(true, claimed): the loss that the proof of P8 bounds given "the row is empty or all n rows are sparse" (E1).

    d = 2, L = (1, 1), Laplace scale 1; a row shows nothing, one entry or both with 0.1, 0.6, 0.3; one entry is
    sparse. z = 1 against z' = -1, all other rows 1. The density of the noisy sum far to the left is E exp(-sum).
    True is rounded down, claimed up.

    >>> relaxed_step(6)[0] > 1.505 > 1.438 > relaxed_step(6)[1]
    True
    """
    with precision(256):
        empty, one, both, t = (*(ball(Fraction(x, 10)) for x in (1, 6, 3)), (-arb(1)).exp())
        others, sparse_others = (empty + one * t + both * t * t) ** (n - 1), (empty + one * t) ** (n - 1)
        ratio = (empty * others + one * sparse_others / t) / (empty * others + one * sparse_others * t)
        all_sparse = one * (empty + one) ** (n - 1)
        share = all_sparse / (empty + all_sparse)
        return below(ratio.log()), above((share * arb(2).expm1()).log1p())


def largest_move(impute: Callable[[Dataset], Dataset], d: int, k: int) -> Fraction:
    """The exact l1 sensitivity of the column sums to one imputed row of {-1, 1}^d with at most k entries observed (E3).

    >>> largest_move(row_mean_imputation, 3, 1)
    Fraction(6, 1)
    """
    images = {impute((row,))[0] for row in product((-1, NA, 1), repeat=d) if sum(e is not NA for e in row) <= k}
    return max(
        sum((abs(Fraction(a or 0) - Fraction(b or 0)) for a, b in zip(x, y, strict=True)), Fraction(0))
        for x in images
        for y in images
    )


def row_mean_imputation(data: Dataset) -> Dataset:
    """Every hole of a row filled with the mean of what the row shows (0 when it shows nothing)."""

    def filled(row: Row) -> Row:
        seen = [Fraction(e) for e in row if e is not NA]
        mean = sum(seen, Fraction(0)) / len(seen) if seen else Fraction(0)
        return tuple(mean if e is NA else e for e in row)

    return tuple(filled(row) for row in data)


def constant_imputation(data: Dataset) -> Dataset:
    """1 in every hole."""
    return tuple(tuple(1 if e is NA else e for e in row) for row in data)


def floor_shortfalls(most: int = 100) -> list[tuple[int, int]]:
    """The pairs k <= d <= most for which floor(fl(k/d) d) is k - 1 in floating point (E11).

    >>> len(floor_shortfalls(100)), (29, 100) in floor_shortfalls(100)
    (148, True)
    """
    return [(k, d) for d in range(1, most + 1) for k in range(1, d + 1) if math.floor(k / d * d) < k]


def classical_excess(epsilon: Fraction, delta: Fraction) -> float:
    """Exact delta over claimed delta of sigma = sqrt(2 ln(1.25/delta))/epsilon, unit sensitivity (E9); rounded up.

    >>> classical_excess(Fraction(10), Fraction("0.0376")) > 4.28
    True
    """

    def ratio() -> arb:
        e, d = ball(epsilon), ball(delta)
        return hockey_stick_gaussian(e / (2 * (arb(5) / 4 / d).log()).sqrt(), e) / d

    return proved_above(ratio)


def public_mask(seen: Callable[[Row], Fraction], ratio: Fraction, *, public: bool) -> Scenario:
    """One column, randomised response on it (a coin when it is missing), the mask released beside it or not (E12).

    >>> half = lambda row: Fraction(1, 2)
    >>> [public_mask(half, Fraction(3), public=p).largest_ratio() for p in (True, False)]
    [Fraction(3, 1), Fraction(5, 3)]
    """
    coin = {True: Fraction(1, 2), False: Fraction(1, 2)}

    def answer(data: Dataset) -> dict[Hashable, Fraction]:
        entry = data[0][0]
        said = coin if entry is NA else randomised_response(entry == 1, ratio)
        return {(entry is NA, bit) if public else bit: mass for bit, mass in said.items()}

    masks = independent_rows(lambda row: {(0,): seen(row), (1,): 1 - seen(row)})
    return Scenario(Pipeline(masks, answer, as_is), ((1,),), ((-1,),))
