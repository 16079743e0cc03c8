"""The simulator of A_D: exact laws agree with draws, and with the published formulas where these are exact."""

from __future__ import annotations

import random
from collections import Counter
from fractions import Fraction

import pytest
from flint import arb
from hypothesis import given
from hypothesis import strategies as st

from absentia.errors import InputError
from absentia.exact import ball, precision
from absentia.theory.noise import hockey_stick_laplace
from absentia.theory.paper_pipeline import (
    NA,
    Pipeline,
    Scenario,
    always_observed,
    as_is,
    dependent_masks,
    divergence,
    independent_rows,
    laplace_bins,
    largest_ratio,
    randomised_response,
)  # fmt: skip

shares = st.fractions(0, 1, max_denominator=20)
inner = st.fractions(Fraction(1, 20), Fraction(19, 20), max_denominator=20)
ratios = st.fractions(Fraction(11, 10), 6, max_denominator=10)


def bernoulli_rows(p: Fraction) -> Pipeline:
    """One column; a row is seen with probability p; randomised response on "seen and equal to 1"."""
    masks = independent_rows(lambda row: {(0,): p, (1,): 1 - p})
    return Pipeline(masks, lambda data: randomised_response(data[0] == (1,), Fraction(3)), as_is)


@given(shares)
def test_laws_sum_to_one(p: Fraction) -> None:
    pipeline = bernoulli_rows(p)
    assert sum(pipeline.masked(((1,), (-1,))).values()) == 1
    assert sum(pipeline.law(((1,), (-1,))).values()) == 1


def test_imputation_merges_masked_datasets() -> None:
    zero = Pipeline(
        independent_rows(lambda row: {(0,): Fraction(1, 3), (1,): Fraction(2, 3)}), lambda d: {d: Fraction(1)}
    )
    assert zero.masked(((0,),)) == {((0,),): 1}
    seen = Pipeline(zero.masks, zero.mechanism, as_is)
    assert seen.masked(((0,),)) == {((0,),): Fraction(1, 3), ((NA,),): Fraction(2, 3)}


@given(inner, ratios)
def test_randomised_response_attains_p2(p: Fraction, ratio: Fraction) -> None:
    """The published formula is exact for this mechanism: e^eps' = 1 + p*(e^eps - 1), no more and no less."""
    masks = independent_rows(lambda row: {(0,): p, (1,): 1 - p})
    pipeline = Pipeline(masks, lambda data: randomised_response(data[0] == (1,), ratio), as_is)
    assert Scenario(pipeline, ((1,),), ((-1,),)).largest_ratio() == 1 + p * (ratio - 1)


@given(ratios, shares)
def test_p3_nothing_is_gained_when_one_column_is_always_observed(ratio: Fraction, other_seen: Fraction) -> None:
    scenario = always_observed(ratio, other_seen)
    assert scenario.largest_ratio() == ratio
    for alpha in (Fraction(1), (1 + ratio) / 2, ratio):
        base = divergence(randomised_response(True, ratio), randomised_response(False, ratio), alpha)
        assert scenario.divergence(alpha) == base


@given(st.fractions(Fraction(11, 10), 10, max_denominator=10))
def test_p10_dependent_masks_hurt(u: Fraction) -> None:
    """H_{e^eps} = 1 - e^{-eps/2} > 0 where the mechanism alone has 0, and 2 eps is the exact pure figure."""
    scenario = dependent_masks(u)
    assert scenario.divergence(u**2) == 1 - 1 / u > 0
    assert scenario.largest_ratio() == u**4
    assert scenario.divergence(u**4) == 0


@given(st.integers(0, 4), st.integers(0, 4), st.integers(0, 3), ratios)
def test_binned_laplace_is_exact_at_even_powers(a: int, b: int, power: int, u: Fraction) -> None:
    """Against the continuous hockey-stick: centres and thresholds lie on bin edges when a + b + power is even."""
    p, q = (laplace_bins(c, u, -9, 13) for c in (a, b))
    exact = divergence(p, q, u ** (2 * power))
    with precision(300):
        true = hockey_stick_laplace(abs(a - b) * ball(u).log(), 2 * power * ball(u).log())
        if (a + b) % 2 == 0:
            assert abs(ball(exact) - true) < arb(2) ** -200
        assert not ball(exact) > true + arb(2) ** -200


def test_draws_follow_the_exact_law() -> None:
    pipeline, data = bernoulli_rows(Fraction(2, 5)), ((1,), (-1,))
    rng, size = random.Random(7), 5_000
    drawn = Counter(pipeline.draw(data, rng) for _ in range(size))
    for output, mass in pipeline.law(data).items():
        assert abs(drawn[output] / size - mass) < 5 * (float(mass * (1 - mass)) / size) ** 0.5


def test_bad_worlds_are_refused() -> None:
    short = Pipeline(independent_rows(lambda row: {(0,): Fraction(1, 2)}), lambda d: {d: Fraction(1)})
    with pytest.raises(InputError, match="masks"):
        short.law(((1,),))
    with pytest.raises(InputError, match="u:"):
        laplace_bins(0, Fraction(1), 0, 1)
    assert largest_ratio({0: Fraction(1)}, {1: Fraction(1)}) is None
