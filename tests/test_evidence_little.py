"""Little's test against a likelihood maximised by another way; its size, its power, its refusals."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
import pytest
from scipy.optimize import minimize
from scipy.stats import chi2, kstest

from absentia.planning.schema import Schema
from absentia.table import rowscan
from absentia.table.evidence import evidence
from absentia.table.little import LittleTest, little
from absentia.table.rowscan import row_scan


def numbers(d: int, low: float = -50, high: float = 50) -> Schema:
    return Schema.from_dict({"columns": {f"x{j}": {"kind": "number", "bounds": [low, high]} for j in range(d)}})


def frame(X: np.ndarray) -> pl.DataFrame:
    return pl.DataFrame(X, schema=[f"x{j}" for j in range(X.shape[1])], orient="row")


def run(table: Any, schema: Schema) -> LittleTest | str:
    scan = row_scan(table, schema)
    return little(scan.patterns, scan.coordinates.names)


def result(table: Any, schema: Schema) -> LittleTest:
    found = run(table, schema)
    assert isinstance(found, LittleTest)
    return found


def sample(rng: np.random.Generator, n: int, d: int, rate: float) -> np.ndarray:
    X = rng.standard_normal((n, d)) @ (np.eye(d) + 0.5) + 3
    X[rng.random((n, d)) < rate] = np.nan
    return X


def by_likelihood(X: np.ndarray) -> tuple[float, int]:
    """The statistic at the numerical maximum of the observed-data likelihood, row by row."""
    n, d = X.shape
    rows = [(np.flatnonzero(~np.isnan(x)), x[~np.isnan(x)]) for x in X if not np.isnan(x).all()]
    lower = np.tril_indices(d)

    def unpack(theta: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        L = np.zeros((d, d))
        L[lower] = theta[d:]
        return theta[:d], L @ L.T

    def loss(theta: np.ndarray) -> float:
        mu, S = unpack(theta)
        total = 0.0
        for at, x in rows:
            block, r = S[np.ix_(at, at)], x - mu[at]
            total += np.linalg.slogdet(block)[1] + r @ np.linalg.solve(block, r)
        return total / n

    start = np.concatenate([np.nanmean(X, axis=0), np.diag(np.nanstd(X, axis=0))[lower]])
    mu, S = unpack(minimize(loss, start, method="BFGS", options={"gtol": 1e-7}).x)
    patterns: dict[tuple[int, ...], list[np.ndarray]] = {}
    for at, x in rows:
        patterns.setdefault(tuple(at), []).append(x)
    statistic = 0.0
    for at, members in patterns.items():
        r = np.mean(members, axis=0) - mu[list(at)]
        statistic += len(members) * r @ np.linalg.solve(S[np.ix_(at, at)], r)
    return statistic, sum(map(len, patterns)) - d


@pytest.mark.parametrize(("seed", "n", "d", "rate"), [(1, 40, 2, 0.3), (2, 60, 3, 0.25), (3, 80, 3, 0.5)])
def test_statistic_of_the_maximum_likelihood(seed: int, n: int, d: int, rate: float) -> None:
    X = sample(np.random.default_rng(seed), n, d, rate)
    found, (statistic, df) = result(frame(X), numbers(d)), by_likelihood(X)
    assert found.statistic == pytest.approx(statistic, rel=1e-4)
    assert found.df == df
    assert found.p_value == pytest.approx(chi2.sf(found.statistic, df), rel=1e-9)


def test_nothing_depends_on_order_units_or_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(4)
    X = sample(rng, 500, 4, 0.3)
    first = result(frame(X), numbers(4))
    for other, schema in (
        (X[rng.permutation(500)], numbers(4)),
        (X[:, [2, 0, 3, 1]], numbers(4)),
        (X * [1, 10, 100, 0.1] + 7, numbers(4, -1e5, 1e5)),
    ):
        assert result(frame(other), schema).statistic == pytest.approx(first.statistic, rel=1e-5)
    monkeypatch.setattr(rowscan, "BATCH", 7)
    pieces = frame(X).to_arrow().to_batches(max_chunksize=5)
    again = result(pa.Table.from_batches(pieces), numbers(4))
    assert again.statistic == pytest.approx(first.statistic, rel=1e-9)
    assert (again.df, again.patterns, again.rows) == (first.df, first.patterns, first.rows)


def test_categories_are_indicators() -> None:
    rng = np.random.default_rng(5)
    X = sample(rng, 600, 3, 0.3)
    X[:, 1] = np.where(np.isnan(X[:, 1]), np.nan, X[:, 1] > 3)
    two = {"x0": {"kind": "number", "bounds": [-50, 50]}, "x2": {"kind": "number", "bounds": [-50, 50]}}
    for spelled in ({"kind": "boolean"}, {"kind": "category", "values": [0, 1]}):
        found = result(frame(X), Schema.from_dict({"columns": two | {"x1": spelled}}))
        assert found.statistic == pytest.approx(result(frame(X), numbers(3)).statistic, rel=1e-6)
    three = pl.DataFrame({"x0": X[:, 0], "k": rng.choice(["a", "b", "c", None], 600)})
    columns = {"x0": two["x0"], "k": {"kind": "category", "values": ["a", "b", "c", "never"]}}
    found = result(three, Schema.from_dict({"columns": columns}))
    assert found.coordinates == ("x0", "k=b", "k=c")
    assert found.left_out == {"k=never": "constant where observed"}


def test_singular_tables_name_what_is_left_out() -> None:
    rng = np.random.default_rng(6)
    X = sample(rng, 400, 3, 0.3)
    plain = result(frame(X), numbers(3))
    for extra, reason in (
        (2 * X[:, 0] - X[:, 1], "determined by the others (singular)"),
        (np.full(400, 4.0), "constant where observed"),
        (np.full(400, np.nan), "never observed"),
    ):
        more = result(frame(np.column_stack([X, extra])), numbers(4))
        assert list(more.left_out.values()) == [reason]
        assert len(more.coordinates) == 3
        if reason == "never observed":
            assert (more.statistic, more.df) == (pytest.approx(plain.statistic, rel=1e-9), plain.df)


def test_columns_never_seen_together_are_no_obstacle() -> None:
    """Two forms without overlap: one covariance has no evidence and no influence."""
    rng = np.random.default_rng(12)
    X = rng.standard_normal((900, 3)) @ (np.eye(3) + 0.5)
    X[:450, 1], X[450:, 2] = np.nan, np.nan
    found = result(frame(X), numbers(3))
    assert (found.patterns, found.df, found.notes, found.left_out) == (2, 1, (), {})
    assert found.steps < 200
    a, b = X[:450, 0], X[450:, 0]
    assert found.statistic == pytest.approx((a.mean() - b.mean()) ** 2 / X[:, 0].var() * 225, rel=1e-5)


@pytest.mark.parametrize("n", [2, 3, 5])
def test_few_rows_give_a_result_or_a_reason(n: int) -> None:
    for seed in range(40):
        X = sample(np.random.default_rng(seed), n, 4, 0.4)
        found = run(frame(X), numbers(4))
        if isinstance(found, LittleTest):
            assert 0 <= found.p_value <= 1
            assert np.isfinite(found.statistic)
        else:
            assert "nothing to compare" in found


def test_one_pattern_is_nothing_to_compare() -> None:
    X = np.random.default_rng(1).standard_normal((50, 3))
    assert "fewer than two patterns" in str(run(frame(X), numbers(3)))
    X[:25] = np.nan
    assert "fewer than two patterns" in str(run(frame(X), numbers(3)))
    assert "x1 is never observed" in str(run(frame(X[:0]), numbers(3)))
    X[:, 1:], X[:, 0] = np.nan, 7
    reason = str(run(frame(X), numbers(3)))
    assert "x0 is constant where observed, x1 is never observed" in reason


def test_more_than_64_columns() -> None:
    rng = np.random.default_rng(7)
    X = rng.standard_normal((2000, 70))
    X[:900, 66] = np.nan
    X[300:1200, 69] = np.nan
    found = result(frame(X), numbers(70))
    assert (found.patterns, found.df) == (4, 69 + 68 + 69 + 70 - 70)
    assert found.p_value > 1e-4


def test_too_many_patterns_or_coordinates_leave_the_tests_of_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    X = sample(np.random.default_rng(1), 500, 8, 0.5)
    plain = evidence(frame(X), numbers(8))
    monkeypatch.setattr(rowscan, "MAX_CELLS", 1000)
    monkeypatch.setattr(rowscan, "BATCH", 50)
    few = evidence(frame(X).to_arrow().to_batches(max_chunksize=20)[0], numbers(8))
    assert "more than 15 patterns of 8 coordinates" in str(few.little)
    many = evidence(pa.Table.from_batches(frame(X).to_arrow().to_batches(max_chunksize=20)), numbers(8))
    assert "more than 15 patterns of 8 coordinates" in str(many.little)
    assert many.neighbours.z == pytest.approx(plain.neighbours.z)  # type: ignore[union-attr]
    monkeypatch.setattr(rowscan, "MAX_COORDINATES", 7)
    wide = evidence(frame(X), numbers(8))
    assert wide.little == "8 coordinates, more than 7: put fewer columns in scope"
    assert wide.neighbours.z == pytest.approx(plain.neighbours.z)  # type: ignore[union-attr]


def test_size_is_nominal_even_for_skewed_data() -> None:
    """Under MCAR the p-values are close to uniform: normal, log-normal and binary columns."""
    rng, ps = np.random.default_rng(8), []
    for _ in range(300):
        X = rng.standard_normal((400, 3)) @ (np.eye(3) + 0.5)
        X[:, 1], X[:, 2] = np.exp(X[:, 1]), X[:, 2] > 0
        X[rng.random(X.shape) < 0.3] = np.nan
        ps.append(result(frame(X), numbers(3, -1e3, 1e3)).p_value)
    assert 0.02 <= np.mean(np.array(ps) < 0.05) <= 0.09
    assert kstest(ps, "uniform").pvalue > 1e-3


def test_rough_patterns_get_a_second_test_that_keeps_its_size() -> None:
    """Skewed columns, mostly patterns of one row: the plain p is too small, on frequent patterns it is not."""
    rng, ps = np.random.default_rng(10), []
    for _ in range(30):
        X = rng.standard_normal((300, 8)) @ (np.eye(8) + 0.4)
        X[:, ::2] = np.exp(X[:, ::2])
        X[rng.random(X.shape) < 0.3] = np.nan
        found = evidence(frame(X), numbers(8, -1e3, 1e3))
        assert isinstance(found.little, LittleTest)
        assert found.little.rough
        assert isinstance(found.little_frequent, LittleTest)
        assert found.little_frequent.rows < found.little.rows
        ps.append((found.little.p_value, found.little_frequent.p_value))
    plain, restricted = (np.array(ps) < 0.05).mean(axis=0)
    assert plain >= 0.15
    assert restricted <= 0.1
    assert "only patterns with at least 5 rows: p =" in str(found)
    assert evidence(frame(sample(rng, 500, 2, 0.3)), numbers(2)).little_frequent is None


def test_power_against_mar_and_none_against_self_masking_alone() -> None:
    """Masks that follow a seen column are found; masks that follow only what they hide can not be."""
    rng, hidden = np.random.default_rng(9), []
    for _ in range(20):
        X = rng.standard_normal((400, 2)) @ [[1, 0.5], [0, 1]]
        mar = X.copy()
        mar[rng.random(400) < 1 / (1 + np.exp(-1.5 * X[:, 0])), 1] = np.nan
        assert result(frame(mar), numbers(2)).p_value < 1e-3
        mnar = rng.standard_normal((400, 2))
        mnar[mnar[:, 1] > 0.3, 1] = np.nan
        hidden.append(result(frame(mnar), numbers(2)).p_value)
    assert np.mean(np.array(hidden) < 0.05) <= 0.25
