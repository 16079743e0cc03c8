"""Monte-Carlo lower bounds: valid, close to the truth, and able to contradict a wrong claim."""

from __future__ import annotations

import math
from fractions import Fraction

import mpmath as mp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from absentia.auditing.lower_bound import Sampler, delta_lower_bound, proportion_bounds
from absentia.errors import InputError
from absentia.theory.noise import Gaussian
from absentia.theory.pair import dominating_pair

HALF = Fraction(1, 2)


def masked_sum(value: float, shown: float, sigma: float) -> Sampler:
    """One record of one entry: masked, zero imputed, noise added."""

    def sample(count: int, rng: np.random.Generator) -> NDArray[np.float64]:
        return value * (rng.random(count) < shown) + rng.normal(0, sigma, count)

    return sample


@given(st.integers(1, 300).flatmap(lambda n: st.tuples(st.just(n), st.integers(0, n))), st.floats(1e-6, 0.4))
def test_clopper_pearson_inverts_the_binomial_tail(trial: tuple[int, int], error: float) -> None:
    n, hits = trial
    low, high = proportion_bounds(hits, n, error)

    def tail(p: float, at_least: int) -> mp.mpf:
        return mp.betainc(at_least, n - at_least + 1, 0, p, regularized=True) if at_least > 0 else mp.mpf(1)

    assert low <= hits / n <= high
    if hits > 0:
        assert float(tail(low, hits)) == pytest.approx(error, rel=1e-6)
    if hits < n:
        assert float(1 - tail(high, hits + 1)) == pytest.approx(error, rel=1e-6)


@pytest.mark.parametrize("epsilon", ["0", "0.5", "1.5"])
def test_the_bound_is_close_below_the_exact_pair(epsilon: str) -> None:
    """T2 is attained by this release, so the bound must come near it and stay below."""
    exact = dominating_pair(Gaussian(1), ((0, HALF), (1, HALF))).delta(Fraction(epsilon))
    found = delta_lower_bound(masked_sum(1, 0.5, 1), masked_sum(-1, 0.5, 1), float(epsilon), trials=400_000)
    assert 0.85 * exact - 0.002 < found.delta <= exact
    assert found.confidence == 0.999


def test_it_is_rarely_above_the_truth() -> None:
    """200 audits at confidence 0.9: at most 20 may fail on average; the two-sided error makes it far fewer."""
    exact = dominating_pair(Gaussian(1), ((0, HALF), (1, HALF))).delta(Fraction(1, 2))
    samplers = masked_sum(1, 0.5, 1), masked_sum(-1, 0.5, 1)
    wrong = sum(
        delta_lower_bound(*samplers, 0.5, trials=2000, confidence=0.9, seed=s).delta > exact for s in range(200)
    )
    assert wrong <= 20


def test_it_contradicts_a_claim_that_adds_up_amplified_figures() -> None:
    """Two releases of one masked dataset: composing the amplified pairs as if masks were fresh is refuted."""
    releases = 8

    def sampler(value: float) -> Sampler:
        def sample(count: int, rng: np.random.Generator) -> NDArray[np.float64]:
            shown = value * (rng.random(count) < 0.3)
            return (shown[:, None] + rng.normal(0, 1, (count, releases))).sum(axis=1) / math.sqrt(releases)

        return sample

    shared = dominating_pair(Gaussian(1), ((0, Fraction(7, 10)), (math.sqrt(releases), Fraction(3, 10))))
    found = delta_lower_bound(sampler(1), sampler(-1), 5.0, trials=200_000)
    fresh_masks = 0.0048  # what composing the eight pairs over independent masks claims
    assert fresh_masks < found.delta < shared.delta(Fraction(5))


def test_the_lower_tail_is_tried_too() -> None:
    down = delta_lower_bound(masked_sum(-3, 1, 1), masked_sum(3, 1, 1), 1.0, trials=20_000)
    assert not down.upper
    assert down.delta > 0.9
    assert down.hits[0] > down.hits[1]


def test_the_same_law_gives_zero() -> None:
    assert delta_lower_bound(masked_sum(1, 0.5, 1), masked_sum(1, 0.5, 1), 0.0, trials=20_000).delta == 0


@pytest.mark.parametrize(
    ("field", "arguments"),
    [("trials", {"trials": 1}), ("confidence", {"confidence": 1.0}), ("confidence", {"confidence": math.nan})],
)
def test_bad_input_is_refused(field: str, arguments: dict[str, float]) -> None:
    with pytest.raises(InputError) as refusal:
        delta_lower_bound(masked_sum(1, 1, 1), masked_sum(0, 1, 1), 1.0, **arguments)  # type: ignore[arg-type]
    assert refusal.value.field == field


def test_bad_counts_and_orders_are_refused() -> None:
    with pytest.raises(InputError, match="hits"):
        proportion_bounds(3, 2, 0.1)
    with pytest.raises(InputError, match="epsilon"):
        delta_lower_bound(masked_sum(1, 1, 1), masked_sum(0, 1, 1), -1.0)
