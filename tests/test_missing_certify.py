"""Certified laws: exact noise tails, bounds that hold as often as they say, no more caution than the noise needs."""

from __future__ import annotations

import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from scipy.stats import beta as beta_law

from absentia import missing
from absentia.errors import AbsentiaError, HazardRefused, InputError
from absentia.exact import above, below, precision
from absentia.missing.certify import noise_tail, survival_bound, survival_bounds
from absentia.query.reach import Reach, Term
from absentia.theory.noise import BlackBox, Gaussian, Laplace


@pytest.mark.parametrize("parts", [1, 2, 5, 13, 40])
@pytest.mark.parametrize("x", ["0", "0.5", "7", "60"])
def test_tail_of_summed_laplace_noise(parts: int, x: str) -> None:
    """Against the Fourier integral of (1 + t^2)^-m at 50 digits: P(S > x) = 1/2 - 1/pi int sin(xt)/t (1+t^2)^-m dt."""
    with precision(160):
        ours = noise_tail(Laplace(2), parts, 2 * Fraction(x))
    with mpmath.workdps(50):
        y = mpmath.mpf(x)
        if y == 0:
            truth = mpmath.mpf(1) / 2
        else:  # the density of a sum of m Laplace draws is a Bessel function of the second kind
            density = lambda t: (  # noqa: E731
                (t / 2) ** (parts - mpmath.mpf(1) / 2)
                * mpmath.besselk(parts - mpmath.mpf(1) / 2, t)
                / (mpmath.sqrt(mpmath.pi) * mpmath.gamma(parts))
            )
            truth = mpmath.quad(density, [y, y + 5, y + 20, y + 80, y + 400])
        assert float(truth) == pytest.approx(above(ours), rel=1e-12)
        assert float(truth) == pytest.approx(below(ours), rel=1e-12)


def test_tail_of_gaussian_noise() -> None:
    tail = noise_tail(Gaussian(3), 4, Fraction(9))
    assert above(tail) == pytest.approx(0.5 * math.erfc(1.5 / math.sqrt(2)), rel=1e-13)


def test_without_noise_the_bound_is_clopper_pearson() -> None:
    """Noise far below one row: the exact binomial upper bound (scipy's beta quantile) of the count seen."""
    for n, k in ((200, 10), (2000, 0), (2000, 1500)):
        bound = survival_bound(Fraction(2 * k + 1, 2), n, 1, Laplace(Fraction(1, 10**6)), Fraction(1, 20))
        exact = beta_law.isf(0.05, k + 1, n - k)
        assert float(bound) == pytest.approx(exact, rel=0.01)  # a fiftieth of beta is left to the noise
        assert float(bound) >= exact * (1 - 1e-9)


@pytest.mark.parametrize("n", [200, 10**4])
def test_proof_and_search_agree(n: int) -> None:
    noisy = [0.4 * n, 0.2 * n, 0.1 * n]
    proved = survival_bounds(noisy, n, Laplace(10), "0.99")
    searched = survival_bounds(noisy, n, Laplace(10), "0.99", proved=False)
    assert all(0 <= p - s < 1e-8 for p, s in zip(proved, searched, strict=True))


def test_bounds_fall_with_the_level_and_rise_with_confidence_and_rounding() -> None:
    noisy = [300, 900, 500, 20]
    low = survival_bounds(noisy, 2000, Laplace(10), "0.95")
    high = survival_bounds(noisy, 2000, Laplace(10), "0.99")
    rounded = survival_bounds(noisy, 2000, Laplace(10), "0.95", rounding="0.5")
    assert low == sorted(low, reverse=True)
    assert all(a < b for a, b in zip(low, high, strict=True))
    assert all(a <= b for a, b in zip(low, rounded, strict=True))
    assert rounded[0] > low[0]


SHAPES = {
    "half": [0.5, 0.5],
    "all observed": [0.0, 0.0, 0.0, 1.0],
    "nearly empty": [0.99, 0.005, 0.005],
    "ends": [0.45, 0.05, 0.0, 0.05, 0.45],
    "binomial": [math.comb(6, k) * 0.3**k * 0.7 ** (6 - k) for k in range(7)],
    "uniform": [1 / 9] * 9,
    "rare tail": [0.3, 0.6985, 0.001, 0.0005],
}


def coverage(
    shape: list[float], n: int, confidence: str, trials: int, scale: float, discrete: bool, seed: int
) -> float:
    """How often every bound is at least the true survival probability."""
    rng = np.random.default_rng(seed)
    truth = np.cumsum(shape[::-1])[::-1][1:]
    counts = rng.multinomial(n, np.array(shape) / sum(shape), size=trials)[:, 1:].astype(float)
    if discrete:
        q = -math.expm1(-1 / scale)
        noise = rng.geometric(q, counts.shape).astype(float) - rng.geometric(q, counts.shape)
    else:
        noise = rng.laplace(scale=scale, size=counts.shape)
    held = 0
    for row in counts + noise:
        bounds = survival_bounds(row.tolist(), n, Laplace(scale), confidence, int(discrete), proved=False)
        held += all(float(b) >= s - 1e-15 for b, s in zip(bounds, truth, strict=True))
    return held / trials


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize(("n", "confidence"), [(200, "0.95"), (10**4, "0.99")])
def test_coverage(shape: str, n: int, confidence: str) -> None:
    """Never below nominal minus three standard errors of the simulation."""
    trials = 100
    nominal = float(confidence)
    held = coverage(SHAPES[shape], n, confidence, trials, 10, discrete=n == 10**4, seed=len(shape) + n)
    assert held >= nominal - 3 * math.sqrt(nominal * (1 - nominal) / trials)


def test_one_level_is_not_over_cautious() -> None:
    """With a single level nothing is shared between levels: coverage is the nominal one, within simulation error."""
    held = coverage([0.6, 0.4], 5000, "0.9", 2000, 30, discrete=False, seed=4)
    assert 0.9 - 3 * 0.0067 <= held <= 0.935


@pytest.mark.campaign
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("n", [200, 2000, 10**5, 10**6])
@pytest.mark.parametrize("confidence", ["0.95", "0.99"])
@pytest.mark.parametrize("discrete", [False, True])
def test_coverage_campaign(shape: str, n: int, confidence: str, discrete: bool) -> None:
    trials, nominal = 2000, float(confidence)
    held = coverage(SHAPES[shape], n, confidence, trials, 20, discrete, seed=len(shape) + n)
    assert held >= nominal - 3 * math.sqrt(nominal * (1 - nominal) / trials)


def test_certified_process_takes_the_worst_columns() -> None:
    columns = [f"c{i}" for i in range(6)]
    process = missing.certified(columns, [3000, 1000, 50], 10_000, Laplace(20), "0.99", levels=[1, 3, 5])
    assert (process.kind, process.confidence) == ("certified", "0.99")
    bounds = survival_bounds([3000, 1000, 50], 10_000, Laplace(20), "0.99")
    law = process.observed_count()
    assert law.reach == (0.0, 2.0, 4.0, 6.0)  # a stretch of counts is taken at its top
    assert law.kind == "certified"
    for level, bound in zip((1, 3, 5), bounds, strict=True):
        assert law.survival(level) == pytest.approx(float(bound), abs=1e-12)
    weighted = process.law(Reach(1, [Term(frozenset({c}), float(i + 1)) for i, c in enumerate(columns)]))
    assert weighted.reach == (0.0, 11.0, 18.0, 21.0)
    assert missing.from_dict(process.to_dict()) == process
    assert "confidence 0.99" in process.describe()


def test_the_histogram_has_reach_one() -> None:
    reach = missing.observed_histogram_reach(["a", "b", "c"])
    assert [reach(s) for s in ([], ["a"], ["a", "b"], ["a", "b", "c"])] == [0.0, 1.0, 1.0, 1.0]


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"counts": [1, 2]}, "counts"),
        ({"levels": [2, 3]}, "levels"),
        ({"levels": [1, 9], "counts": [1, 2]}, "levels"),
        ({"n": 0}, "n"),
        ({"confidence": "1"}, "confidence"),
        ({"counts": [1, 2, float("nan")]}, "counts[2]"),
        ({"rounding": -1}, "rounding"),
    ],
)
def test_bad_input_names_its_field(change: dict[str, object], field: str) -> None:
    given: dict[str, object] = {"counts": [1, 2, 3], "n": 10, "noise": Laplace(1), **change}
    with pytest.raises(InputError) as error:
        missing.certified(["a", "b", "c"], **given)  # type: ignore[arg-type]
    assert error.value.field == field


def test_rates_read_off_the_data_are_refused() -> None:
    with pytest.raises(HazardRefused) as error:
        missing.certified(["a"], [5], 10, BlackBox("1"), "0.95")  # type: ignore[arg-type]
    assert isinstance(error.value, AbsentiaError)
    assert error.value.exit_code == 4


def test_confidence_travels_through_what_is_built_on_it() -> None:
    one = missing.certified(["a", "b"], [30, 40], 100, Laplace(2), "0.99")
    two = missing.certified(["a", "b"], [35, 45], 100, Laplace(2), "0.95")
    assert missing.gamma(one, 2).confidence == "0.99"
    assert missing.mixture([one, two]).confidence == "0.94"
    assert missing.product(one, missing.independent(["a", "b"], {"a": "0.5"})).confidence == "0.99"
    assert missing.without(["a"]).confidence == ""
