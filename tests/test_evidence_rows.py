"""Dependence between rows: exact moments against all orders of small tables, size, power, and what is said."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable

import numpy as np
import polars as pl
import pyarrow as pa
import pytest
from scipy.stats import kstest

from absentia.errors import InputError
from absentia.planning.schema import Schema
from absentia.table import rowscan
from absentia.table.dependence import ClusterTest, NeighbourTest, mantel, stretches
from absentia.table.evidence import Evidence, evidence
from absentia.table.profile_text import STAMP
from absentia.table.rowscan import MaskOrder

UNIT = {"kind": "number", "bounds": [0, 1]}


def table(O: np.ndarray, keys: object = None) -> tuple[pl.DataFrame, Schema]:  # noqa: E741
    names = [f"c{j}" for j in range(O.shape[1])]
    data = pl.DataFrame(np.where(O, 0.5, np.nan), schema=names, orient="row")
    if keys is not None:
        data = data.with_columns(pl.Series("key", keys))
    return data, Schema.from_dict({"columns": dict.fromkeys(names, UNIT)})


def of(O: np.ndarray, keys: object = None) -> Evidence:  # noqa: E741
    return evidence(*table(O, keys), cluster=None if keys is None else "key")


def z_by_enumeration(O: np.ndarray, w: np.ndarray) -> float:  # noqa: E741
    """The standardised sum of w_ij <x_i, x_j> among all orders of the rows."""
    x = O - O.mean(axis=0)
    f = x @ x.T
    np.fill_diagonal(f, 0)
    values = [(w * f[np.ix_(order, order)]).sum() for order in map(list, itertools.permutations(range(len(O))))]
    return (values[0] - np.mean(values)) / np.std(values)


@pytest.mark.parametrize("seed", range(6))
def test_moments_are_exact(seed: int) -> None:
    rng = np.random.default_rng(seed)
    O = rng.random((7, 3)) < 0.5  # noqa: E741
    path = np.eye(7, k=1) + np.eye(7, k=-1)
    keys = rng.choice(["a", "b", "c"], 7)
    same = (keys[:, None] == keys) / np.array([(keys == k).sum() for k in keys])
    np.fill_diagonal(same, 0)
    found = of(O, keys)
    assert isinstance(found.neighbours, NeighbourTest)
    assert isinstance(found.clusters, ClusterTest)
    assert found.neighbours.z == pytest.approx(z_by_enumeration(O, path), rel=1e-9)
    assert found.clusters.z == pytest.approx(z_by_enumeration(O, same), rel=1e-9)


def test_mantel_for_any_symmetric_weights() -> None:
    from absentia.table.dependence import Likeness

    rng = np.random.default_rng(11)
    O, w = rng.random((6, 2)) < 0.5, rng.random((6, 6))  # noqa: E741
    w = w + w.T
    np.fill_diagonal(w, 0)
    x = O - O.mean(axis=0)
    f = x @ x.T
    np.fill_diagonal(f, 0)
    values = [(w * f[np.ix_(s, s)]).sum() for s in map(list, itertools.permutations(range(6)))]
    patterns, counts = np.unique(O, axis=0, return_counts=True)
    weights = (w.sum(), 2 * (w**2).sum(), 4 * (w.sum(axis=1) ** 2).sum())
    assert mantel(weights, Likeness.of(patterns, counts)) == pytest.approx((np.mean(values), np.std(values)))


@pytest.mark.parametrize(("n", "missing"), [(6, 1), (7, 3), (8, 5)])
def test_stretches_have_their_exact_law(n: int, missing: int) -> None:
    def count(hidden: tuple[int, ...]) -> int:
        return sum(i - 1 not in hidden for i in hidden)

    law = [count(hidden) for hidden in itertools.combinations(range(n), missing)]
    for hidden in itertools.combinations(range(n), missing):
        order, k = MaskOrder(1), count(hidden)
        O = np.ones((n, 1), bool)  # noqa: E741
        O[list(hidden)] = False
        for part in np.array_split(O, 3):
            order.add(part)
        (test,) = stretches(order, ["c"])
        assert test.stretches == k
        assert test.expected == pytest.approx(np.mean(law))
        tails = [np.mean([side(other, k) for other in law]) for side in (np.less_equal, np.greater_equal)]
        assert test.p_value == pytest.approx(min(1.0, 2 * min(tails)))


def test_holm_is_monotone_and_never_below_the_plain_p() -> None:
    tests = of(np.random.default_rng(3).random((300, 12)) < 0.6).stretches
    adjusted = [t.adjusted for t in tests]
    assert adjusted == sorted(adjusted)
    assert tests[0].adjusted == pytest.approx(min(1.0, 12 * tests[0].p_value))
    assert all(t.p_value <= t.adjusted <= 1 for t in tests)


def simulated(draw: Callable[[np.random.Generator], np.ndarray], keys: np.ndarray, times: int = 300) -> np.ndarray:
    rng, out = np.random.default_rng(12), []
    for _ in range(times):
        found = of(draw(rng), keys)
        out.append((found.neighbours.p_value, found.clusters.p_value, found.stretches[0].adjusted))  # type: ignore[union-attr]
    return np.array(out)


def test_size_is_nominal_when_rows_are_independent() -> None:
    """Columns that go missing together, few large clusters (the hard case for a normal law)."""

    def draw(rng: np.random.Generator) -> np.ndarray:
        return (rng.random((240, 1)) > 0.2) & (rng.random((240, 4)) > [0.05, 0.2, 0.5, 0.7])

    p = simulated(draw, np.arange(240) // 80)
    assert all(0.02 <= share <= 0.085 for share in (p[:, :2] < 0.05).mean(axis=0))
    assert (p[:, 2] < 0.05).mean() <= 0.085
    assert kstest(p[:, 0], "uniform").pvalue > 1e-3
    assert kstest(p[:, 1], "uniform").pvalue > 1e-3


def test_power_against_sticky_masks_and_sites() -> None:
    def sticky(rng: np.random.Generator) -> np.ndarray:
        state = np.repeat(rng.random((80, 4)) > 0.4, 3, axis=0)
        return np.where(rng.random((240, 4)) < 0.9, state, ~state)

    p = simulated(sticky, np.arange(240) // 3, times=15)
    assert p.max() < 1e-2
    assert p[:, :2].max() < 1e-6


def test_alternation_is_dependence_too() -> None:
    O = np.arange(200)[:, None] % 2 == [0, 1]  # noqa: E741
    found = of(O)
    assert found.neighbours.z < -10  # type: ignore[union-attr]
    assert "less alike" in str(found)
    assert found.stretches[0].adjusted < 1e-6


def test_order_and_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    """Polars frames, lazy ones and Arrow in small batches keep the order of the rows."""
    O = np.arange(900)[:, None] >= [100, 300]  # noqa: E741
    frame, schema = table(O, np.arange(900) // 50)
    first = evidence(frame, schema, "key")
    assert [t.stretches for t in first.stretches] == [1, 1]
    monkeypatch.setattr(rowscan, "BATCH", 64)
    pieces = pa.Table.from_batches(frame.to_arrow().to_batches(max_chunksize=11))
    for other in (frame.lazy(), pieces, frame.to_pandas()):
        again = evidence(other, schema, "key")
        assert again.stretches == first.stretches
        assert again.neighbours.z == pytest.approx(first.neighbours.z)  # type: ignore[union-attr]
        assert again.clusters.z == pytest.approx(first.clusters.z)  # type: ignore[union-attr]


def test_rows_without_a_key_are_clusters_of_their_own() -> None:
    O = np.random.default_rng(5).random((8, 2)) < 0.5  # noqa: E741
    keys = ["a", "a", None, "b", "b", " ", "b", None]
    alone = ["a", "a", "x", "b", "b", "y", "b", "z"]
    assert of(O, keys).clusters.z == pytest.approx(of(O, alone).clusters.z)  # type: ignore[union-attr]


def test_the_unit_is_the_default_cluster() -> None:
    frame, schema = table(np.random.default_rng(6).random((60, 2)) < 0.5, np.arange(60) // 4)
    with_unit = Schema.from_dict(schema.to_dict() | {"unit": "key"})
    assert evidence(frame, with_unit).clusters == evidence(frame, schema, "key").clusters


def test_reasons_why_there_is_no_test() -> None:
    assert of(np.ones((9, 2), bool)).neighbours == "every row has the same mask"
    assert of(np.eye(3, dtype=bool), [1, 1, 2]).clusters == "fewer than four rows"
    O = np.random.default_rng(1).random((9, 2)) < 0.5  # noqa: E741
    assert of(O, range(9)).clusters == "no cluster has two rows"
    assert of(O, [7] * 9).clusters == "all rows are in one cluster"
    for found in (of(np.ones((9, 2), bool), range(9)), of(O, [7] * 9), of(O[:0], [])):
        assert "not tested: " in str(found)
        json.dumps(found.to_dict(), allow_nan=False)


def test_a_long_table_is_refused() -> None:
    long = {"user": "u", "item": "i", "value": "r", "items": [1, 2]}
    schema = Schema.from_dict({"long": long, "columns": {"r": UNIT}})
    with pytest.raises(InputError, match="a wide table"):
        evidence(pl.DataFrame({"u": [1], "i": [1], "r": [1.0]}), schema)


def test_every_report_says_what_it_cannot_show() -> None:
    found = of(np.random.default_rng(7).random((400, 11)) < 0.7, np.arange(400) % 9)
    text = str(found)
    assert max(map(len, text.splitlines())) <= 80
    flat = " ".join(text.split())
    for said in ("No test separates MAR from MNAR", "does not show that rows are independent", "No guarantee rests on"):
        assert said in flat
    assert text.endswith(STAMP)
    keys = "stamp rows columns_in_scope little little_frequent neighbours stretches clusters can_show"
    assert list(found.to_dict()) == keys.split()
    assert json.loads(json.dumps(found.to_dict(), allow_nan=False)) == found.to_dict()
