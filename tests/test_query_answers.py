"""Answers from a real table through the library's own aggregates, against plain numpy; errors and edges."""

from __future__ import annotations

import json
import math

import numpy as np
import polars as pl
import pytest

from absentia.errors import InputError
from absentia.query.base import Query
from absentia.query.columns import count, mean, total, variance
from absentia.query.custom import linear
from absentia.query.estimate import Reading, half_width
from absentia.query.models import correlation, covariance, pca, regression
from absentia.query.moments import moments
from absentia.query.quantiles import isotonic, median, quantiles
from absentia.query.tables import histogram, marginal
from absentia.table.aggregate import aggregate
from query_world import QUERIES, SCHEMA, masks, population

N = 5000
LABELS = {c: np.array(SCHEMA.columns[c].values) for c in ("sex", "hyp")}


@pytest.fixture(scope="module")
def world() -> tuple[dict[str, np.ndarray], dict[str, np.ndarray], pl.DataFrame]:
    rng = np.random.default_rng(11)
    table = population(N, rng)
    seen = masks(table, rng)
    columns = {}
    for c, values in table.items():
        natural = LABELS[c][values] if c in LABELS else values
        if c == "hyp":
            natural = values == 1
        columns[c] = [v if s else None for v, s in zip(natural.tolist(), seen[c], strict=True)]
    return table, seen, pl.DataFrame(columns)


def answers(frame: pl.DataFrame, *queries: Query) -> dict[tuple[str, str], float]:
    found = aggregate(frame, SCHEMA, [s for q in queries for s in q.statistics(SCHEMA)])
    values = {s: found.value(s) for s in found.values}
    sd = dict.fromkeys(values, 1e-9)
    return {(r.query, r.cell): r.estimate for q in queries for r in q.rows(SCHEMA, values, sd, Reading(N))}


def test_noiseless_answers_are_the_plain_statistics(world: tuple) -> None:  # type: ignore[type-arg]
    table, seen, frame = world
    got = answers(
        frame, count("bmi"), total("chl"), mean("bmi"), variance("age"), mean("chl", by="sex"), histogram("hyp")
    )
    x = {c: table[c][seen[c]] for c in table}
    assert got["count(bmi)", ""] == seen["bmi"].sum()
    assert got["sum(chl)", ""] == pytest.approx(x["chl"].sum(), rel=1e-7)
    assert got["mean(bmi)", ""] == pytest.approx(x["bmi"].mean(), rel=1e-7)
    assert got["variance(age)", ""] == pytest.approx(x["age"].var(ddof=1), rel=1e-5)
    for i, sex in enumerate(("f", "m")):
        mine = table["chl"][seen["chl"] & seen["sex"] & (table["sex"] == i)]
        assert got["mean(chl) by sex", f"sex={sex}"] == pytest.approx(mine.mean(), rel=1e-7)
    assert got["histogram(hyp)", "hyp=true"] == (table["hyp"][seen["hyp"]] == 1).sum()


def test_weighted_and_binned_answers(world: tuple) -> None:  # type: ignore[type-arg]
    table, seen, frame = world
    got = answers(frame, mean("age", weight="w"), histogram("age", bins=[0, 30, 60, 100]), marginal(["sex", "hyp"]))
    both = seen["age"] & seen["w"]
    assert got["mean(age) weighted by w", ""] == pytest.approx(
        np.average(table["age"][both], weights=table["w"][both]), rel=1e-6
    )
    wanted, _ = np.histogram(table["age"][seen["age"]], bins=[0, 30, 60, 100])
    assert [got["histogram(age)", f"age={b}"] for b in ("[0, 30)", "[30, 60)", "[60, 100]")] == wanted.tolist()
    both = seen["sex"] & seen["hyp"]
    cell = (table["sex"][both] == 1) & (table["hyp"][both] == 0)
    assert got["marginal(sex, hyp)", "sex=m, hyp=false"] == cell.sum()


def test_moments_and_what_is_built_on_them(world: tuple) -> None:  # type: ignore[type-arg]
    """Pairwise available under MCAR: near the values of the complete table, and exact for a complete one."""
    table, _, _ = world
    names = ["bmi", "chl", "age"]
    frame = pl.DataFrame(
        {c: table[c] for c in names} | {"w": table["w"], "sex": LABELS["sex"][table["sex"]], "hyp": table["hyp"] == 1}
    )
    X = np.array([table[c] for c in names])
    got = answers(
        frame, moments(names), covariance(names), correlation(names), regression("chl", ["bmi", "age"]), pca(names),
        linear([[1, -1]], ["bmi", "age"]), median("age"), quantiles("age", ["1/4"]),
    )  # fmt: skip
    C, R = np.cov(X, ddof=0), np.corrcoef(X)
    assert got["moments(bmi, chl, age)", "cov bmi, chl"] == pytest.approx(C[0, 1], rel=1e-3)
    assert got["covariance(bmi, chl, age)", "var age"] == pytest.approx(C[2, 2], rel=1e-4)
    assert got["correlation(bmi, chl, age)", "cor chl, age"] == pytest.approx(R[1, 2], abs=1e-4)
    slopes, *_ = np.linalg.lstsq(np.column_stack([X[0], X[2], np.ones(N)]), X[1], rcond=None)
    for cell, value in zip(("bmi", "age", "intercept"), slopes, strict=True):
        assert got["regression(chl on bmi, age)", cell] == pytest.approx(value, rel=1e-3)
    assert got["pca(bmi, chl, age)", "share 1"] == pytest.approx(np.linalg.eigvalsh(R)[-1] / 3, rel=1e-4)
    z = [(table[c] - SCHEMA.columns[c].midpoint) / SCHEMA.columns[c].halfwidth for c in ("bmi", "age")]
    assert got["linear(1x2: bmi, age)", "output 0"] == pytest.approx((z[0] - z[1]).sum(), abs=1e-3)
    assert got["median(age)", "0.5"] == pytest.approx(np.median(table["age"]), abs=0.5)
    assert got["quantiles(age; 0.25)", "0.25"] == pytest.approx(np.quantile(table["age"], 0.25), abs=0.5)


def test_drowned_answers_say_so() -> None:
    """With noise far above the counts every row is finite where it must be, inside the bounds, and says why."""
    rng = np.random.default_rng(3)
    for q in QUERIES:
        stats = q.statistics(SCHEMA)
        values = {s: rng.normal(size=s.shape(SCHEMA)) * 1e4 for s in stats}
        for r in q.rows(SCHEMA, values, dict.fromkeys(stats, 1e4), Reading(100)):
            assert r.low <= r.estimate <= r.high if r.known else math.isnan(r.estimate)
            assert not any(map(math.isnan, (r.low, r.high, r.se_noise, r.se_sampling)))
            assert r.low < r.high
            assert r.note
            json.dumps(r.to_dict(), allow_nan=False)


def test_outer_bins_reach_to_the_bounds() -> None:
    """Values beyond the edges are clipped into the outer bins: cells and quantiles say what is counted there."""
    short = [20, 40, 60]  # age is within [0, 100]
    q, h = quantiles("age", ["0.9"], bins=short), histogram("age", bins=short)
    (s,) = q.statistics(SCHEMA)
    assert (s,) == h.statistics(SCHEMA)
    values, sd = {s: np.array([500.0, 500.0])}, {s: 1e-9}
    assert [r.cell for r in h.rows(SCHEMA, values, sd, Reading())] == ["age=[0, 40)", "age=[40, 100]"]
    (r,) = q.rows(SCHEMA, values, sd, Reading())
    assert r.estimate == pytest.approx(40 + 60 * 0.8)
    assert (r.low, r.high) == (40, 100)


def test_a_count_below_zero_keeps_an_interval() -> None:
    """Shown at 0 with its whole half-width upwards: whatever the noise drew, some true count is left."""
    (s,) = count("age").statistics(SCHEMA)
    for drawn in (-0.5, -1.0, -3.0):
        (r,) = count("age").rows(SCHEMA, {s: np.array(100 * drawn)}, {s: 100.0}, Reading())
        assert (r.estimate, r.low) == (0, 0)
        assert r.high == pytest.approx(196, abs=0.1)


def test_hidden_answers_have_no_estimate() -> None:
    """Not the midpoint of the bounds, in Python, JSON or anywhere; numbers are plain floats."""
    (s, c, z2) = mean("age").statistics(SCHEMA)
    values = {s: np.array(3.0), c: np.array(1.0), z2: np.array(1.0)}
    (r,) = mean("age").rows(SCHEMA, values, {s: 9.0, c: 9.0, z2: 9.0}, Reading())
    assert not r.known
    assert r.to_dict()["estimate"] is None
    assert (r.low, r.high) == (0, 100)
    (r,) = count("age").rows(SCHEMA, {c: np.float64(7)}, {c: np.float64(1)}, Reading())
    assert type(r.estimate) is type(r.low) is type(r.se_noise) is float


def test_the_mean_of_a_boolean_is_the_share_of_true(world: tuple) -> None:  # type: ignore[type-arg]
    """Among the observed entries, with an interval that keeps a length at 0 and 1."""
    table, seen, frame = world
    got = answers(frame, mean("hyp"), mean("hyp", by="sex"))
    assert got["mean(hyp)", ""] == pytest.approx((table["hyp"][seen["hyp"]] == 1).mean())
    mine = table["hyp"][seen["hyp"] & seen["sex"] & (table["sex"] == 1)]
    assert got["mean(hyp) by sex", "sex=m"] == pytest.approx((mine == 1).mean())
    (s,) = mean("hyp").statistics(SCHEMA)
    (none,) = mean("hyp").rows(SCHEMA, {s: np.array([100.0, 0.0])}, {s: 1e-9}, Reading())
    assert (none.estimate, none.low) == (0, 0)
    assert 0.02 < none.high < 0.06
    (few,) = mean("hyp").rows(SCHEMA, {s: np.array([4.0, 5.0])}, {s: 5.0}, Reading())
    assert not few.known


def test_refusals_name_the_field_and_what_exists() -> None:
    """A number needs bins, a category takes none; nothing is said of features that there are not."""
    for q, field in (
        (histogram("age"), "bins"),
        (histogram("sex", bins=[0, 1]), "bins"),
        (mean("bmi", by="age"), "by"),
    ):
        with pytest.raises(InputError) as refusal:
            q.validate(SCHEMA)
        assert refusal.value.field == field
    assert "before the table is read" in refusal.value.remedy
    with pytest.raises(InputError, match="histogram"):
        mean("sex").validate(SCHEMA)


def test_intervals_of_each_noise() -> None:
    """Laplace alone: b ln 20; normal alone: 1.96 sd; together: between the two, by simulation."""
    laplace, gaussian = Reading(family="laplace"), Reading()
    assert half_width(math.sqrt(2), 0, laplace) == pytest.approx(math.log(20))
    assert half_width(1, 0, gaussian) == pytest.approx(1.959964, rel=1e-6)
    assert half_width(3, 4, gaussian) == pytest.approx(5 * 1.959964, rel=1e-6)
    rng = np.random.default_rng(0)
    draws = np.abs(rng.laplace(size=10**6) + rng.normal(size=10**6) * 0.7)
    t = half_width(math.sqrt(2), 0.7, laplace)
    assert np.mean(draws <= t) == pytest.approx(0.95, abs=0.001)


def test_isotonic_is_the_nearest_rising_sequence() -> None:
    assert isotonic(np.array([0.1, 0.5, 0.3, 0.9])).tolist() == pytest.approx([0.1, 0.4, 0.4, 0.9])
    assert isotonic(np.array([-0.2, 1.4])).tolist() == [0.0, 1.0]


@pytest.mark.parametrize(
    "bad",
    [
        lambda: mean(""), lambda: mean(3), lambda: count("a", share="-1"), lambda: histogram("a", bins="wide"),
        lambda: marginal([]), lambda: quantiles("a", at=["1.5"]), lambda: quantiles("a", at=[]), lambda: moments([]),
        lambda: pca(["a"], 2), lambda: regression("a", ["a"]), lambda: linear([[1, 2]], ["a"]),
        lambda: linear([[0]], ["a"]), lambda: linear("1", ["a"]), lambda: marginal(["a"], bins={"b": [0, 1]}),
        lambda: mean("a", share=0.1),
    ],
)  # fmt: skip
def test_bad_queries_are_refused(bad) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(InputError):
        bad()
