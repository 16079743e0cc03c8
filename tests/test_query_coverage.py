"""Intervals hold what they are about as often as they say; estimates are unbiased where they claim to be."""

from __future__ import annotations

import numpy as np
import pytest

from query_world import QUERIES, SCHEMA, answered, coverage, exact, masks, noisy, population, simulated_plan

FITTED = ("correlation", "regression")
EXACT = ("count", "sum", "mean", "variance", "histogram", "marginal", "moments")


@pytest.mark.parametrize("noise", ["gaussian", "laplace"])
def test_intervals_hold_what_they_are_about(noise: str) -> None:
    queries = [q for q in QUERIES if q.kind not in FITTED]
    for name, share in coverage(noise, 300 if noise == "gaussian" else 150, queries=queries).items():
        kind = next(q.kind for q in queries if q.name == name)
        assert share >= 0.90, (name, share)
        if kind in EXACT:
            assert share <= 0.99, (name, share)


def test_intervals_of_fits_hold_the_population() -> None:
    for name, share in coverage("gaussian", 60, queries=[q for q in QUERIES if q.kind in FITTED]).items():
        assert share >= 0.88, (name, share)


@pytest.mark.campaign
@pytest.mark.parametrize("noise", ["gaussian", "laplace"])
def test_coverage_of_two_thousand_releases(noise: str) -> None:
    kinds = {q.name: q.kind for q in QUERIES}
    for name, share in coverage(noise, 2000).items():
        assert share >= 0.93, (name, share)
        if kinds[name] in ("count", "sum", "mean", "histogram", "moments") and "weighted" not in name:
            assert share <= 0.97, (name, share)


def test_noise_adds_no_bias() -> None:
    """One table, many draws of the noise: the mean of the answers is the table's own answer, within 5 errors."""
    p, rng, runs = simulated_plan("laplace", 4000), np.random.default_rng(5), 400
    table = population(4000, rng)
    sums = exact(p.statistics, table, masks(table, rng))
    queries = [q for q in QUERIES if q.kind in ("count", "sum", "mean", "variance", "histogram", "moments")]
    own = answered(queries, sums)
    found: dict[tuple[str, str], list[tuple[float, float]]] = {key: [] for key in own}
    for _ in range(runs):
        values = noisy(p, sums, rng)
        for q in queries:
            for r in q.answer(SCHEMA, values, p.noise_sd, 4000, family="laplace"):
                found[r.query, r.cell].append((r.estimate, r.se_noise))
    for key, pairs in found.items():
        estimates, errors = np.array(pairs).T
        assert abs(estimates.mean() - own[key]) < 5 * errors.mean() / np.sqrt(runs), key
        assert estimates.std() == pytest.approx(errors.mean(), rel=0.25), key
