"""Distribution tests that have power: the right scale passes, a scale 1 % off fails, in both directions."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import special

from absentia.noise.sampling import draw, grid_for
from absentia.theory.noise import Gaussian, Laplace
from sampling_streams import Stream

N = 1_000_000
REJECT = 1e-9
Noise = Laplace | Gaussian
Cdf = Callable[[NDArray[np.float64]], NDArray[np.float64]]


def cdf_of(noise: Noise) -> Cdf:
    if isinstance(noise, Gaussian):
        return lambda x: special.ndtr(x / noise.sigma)
    return lambda x: np.where(x < 0, np.exp(-np.abs(x) / noise.scale) / 2, 1 - np.exp(-np.abs(x) / noise.scale) / 2)


def outputs(noise: Noise, count: int = N, seed: int | None = None) -> NDArray[np.float64]:
    grid = grid_for(noise.size)
    source = None if seed is None else Stream(seed)
    return draw(noise, np.zeros(count, dtype=np.int64), grid, source=source) * grid


def ks(x: NDArray[np.float64], cdf: Cdf) -> float:
    u = np.sort(cdf(x))
    steps = np.arange(len(x) + 1) / len(x)
    distance = max(float(np.max(steps[1:] - u)), float(np.max(u - steps[:-1])))
    return 2 * math.exp(-2 * len(x) * distance**2)


def chi_square(counts: NDArray[np.int64], probabilities: NDArray[np.float64]) -> float:
    expected = counts.sum() * probabilities
    return float(special.chdtrc(len(counts) - 1, float(((counts - expected) ** 2 / expected).sum())))


def cells(x: NDArray[np.float64], cdf: Cdf, count: int = 20) -> float:
    counts = np.bincount(np.minimum((cdf(x) * count).astype(int), count - 1), minlength=count)
    return chi_square(counts, np.full(count, 1 / count))


def scale_test(x: NDArray[np.float64], noise: Noise) -> float:
    """Two-sided z test of the maximum-likelihood scale: mean |X| has deviation b, mean X^2 has sqrt(2) sigma^2."""
    if isinstance(noise, Laplace):
        z = (np.abs(x).mean() / noise.scale - 1) * math.sqrt(len(x))
    else:
        z = ((x**2).mean() / noise.sigma**2 - 1) * math.sqrt(len(x) / 2)
    return float(special.erfc(abs(z) / math.sqrt(2)))


@pytest.mark.parametrize("noise", [Laplace(1.0), Laplace(0.37), Gaussian(1.0), Gaussian(2.9)])
def test_a_million_draws_from_system_bits_pass(noise: Noise) -> None:
    x, cdf = outputs(noise), cdf_of(noise)
    assert ks(x, cdf) > REJECT
    assert cells(x, cdf, 1000) > REJECT
    assert scale_test(x, noise) > REJECT
    assert abs(np.mean(x > 0) - 0.5) < 6.2 * 0.5 / math.sqrt(N)
    assert abs(float(np.mean(x[1:] * x[:-1])) / float(np.mean(x**2))) < 6.2 / math.sqrt(N)


@pytest.mark.parametrize("family", [Laplace, Gaussian])
@pytest.mark.parametrize("factor", [0.99, 1.01])
def test_a_scale_one_per_cent_off_is_rejected(family: type[Laplace] | type[Gaussian], factor: float) -> None:
    """The same tests, same level: less noise and more noise are both seen; the right scale of these bits is not."""
    wrong, right = outputs(family(factor), seed=11), outputs(family(1.0), seed=11)
    assert scale_test(wrong, family(1.0)) < REJECT < scale_test(right, family(1.0))
    assert cells(wrong, cdf_of(family(1.0))) < REJECT < cells(right, cdf_of(family(1.0)))
    assert ks(wrong, cdf_of(family(1.0))) < 0.01 < ks(right, cdf_of(family(1.0)))


@pytest.mark.parametrize("family", [Laplace, Gaussian])
def test_coarse_grid_has_the_exact_cell_probabilities(family: type[Laplace] | type[Gaussian]) -> None:
    """Grid as wide as the scale, centre off the grid: rounding and the exact centre show in the cell counts."""
    noise, count = family(1.0), 400_000
    k = draw(noise, np.full(count, 3), 1.0, unit=2.0**-3, source=Stream(5))
    edges = np.arange(-6, 8) - 0.5 - 0.375
    p = np.diff(np.concatenate([[0.0], cdf_of(noise)(edges[1:-1]), [1.0]]))
    counts = np.bincount(np.clip(k, -6, 6) + 6, minlength=13)
    assert chi_square(counts, p) > REJECT
    shifted = np.diff(np.concatenate([[0.0], cdf_of(noise)(edges[1:-1] + 0.02), [1.0]]))
    assert chi_square(counts, shifted) < REJECT


@pytest.mark.parametrize("family", [Laplace, Gaussian])
def test_exact_path_alone_has_the_right_scale(family: type[Laplace] | type[Gaussian]) -> None:
    """A grid too fine for doubles sends every draw to the exact path."""
    x = draw(family(1.0), np.zeros(20_000, dtype=np.int64), 2.0**-40) * 2.0**-40
    assert scale_test(x, family(1.0)) > REJECT
    assert scale_test(x, family(1.07)) < REJECT
    assert ks(x, cdf_of(family(1.0))) > REJECT


def naive_laplace(centre: float, count: int, seed: int) -> NDArray[np.float64]:
    rng = np.random.default_rng(seed)
    return centre + np.where(rng.random(count) < 0.5, -1.0, 1.0) * -np.log(rng.random(count))


def finer_than_one_could_be(y: NDArray[np.float64]) -> NDArray[np.bool_]:
    """The attack: 1 + noise computed in doubles is a multiple of 2^-53 below 1; an output that is not came from 0."""
    with np.errstate(over="ignore"):
        return (np.abs(y) < 1) & (y * 2.0**53 != np.rint(y * 2.0**53))


def test_least_significant_bits_tell_naive_outputs_apart() -> None:
    assert finer_than_one_could_be(naive_laplace(0.0, 100_000, 1)).mean() > 0.2
    assert finer_than_one_could_be(naive_laplace(1.0, 100_000, 2)).mean() == 0


@pytest.mark.parametrize("family", [Laplace, Gaussian])
def test_least_significant_bits_of_ours_tell_nothing(family: type[Laplace] | type[Gaussian]) -> None:
    """Outputs from 0 and from 1 lie on one grid, and their low bits are uniform in both worlds."""
    noise = family(1.0)
    grid = grid_for(noise.size)
    for centre in (0, 1):
        k = draw(noise, np.full(N, centre), grid)
        y = k * grid
        assert np.array_equal(y / grid, k)
        assert not finer_than_one_could_be(y).any()
        assert chi_square(np.bincount(k & 1023, minlength=1024), np.full(1024, 1 / 1024)) > REJECT
