"""Reach, distance between rows of one mask, and largest distance, against brute force over small domains."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any, Literal

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from absentia.planning.checks import relative_scales
from absentia.planning.schema import Schema
from absentia.query.base import Query
from absentia.query.columns import count, mean, total, variance
from absentia.query.custom import custom, linear
from absentia.query.distance import Distances, distances
from absentia.query.moments import moments
from absentia.query.quantiles import median
from absentia.query.sensitivity import mean_count, second_moments
from absentia.query.statistic import Statistic
from absentia.query.tables import histogram, marginal
from absentia.table.aggregate import aggregate

SCHEMA = Schema.from_dict(
    {
        "columns": {
            "a": {"kind": "number", "bounds": [-1, 1]},
            "b": {"kind": "number", "bounds": [-1, 1]},
            "c": {"kind": "number", "bounds": [-1, 1]},
            "w": {"kind": "number", "bounds": [0, 3], "weight": True},
            "g": {"kind": "category", "values": ["x", "y", "z"]},
            "h": {"kind": "boolean"},
        }
    }
)
DOMAIN = {"a": [-1, 0, 1], "b": [-1, 0, 1], "c": [-1, 0, 1], "w": [0, 1.5, 3], "g": [0, 1, 2], "h": [0, 1]}
Norm = Literal[1, 2]

QUERIES: list[Query] = [
    *(count("a"), count("c", by="h"), count("b", weight="w"), total("b"), variance("c")),
    *(mean("a"), mean("b", by="g"), mean("a", weight="w"), linear([[1, 2], [0, 1]], ["a", "c"])),
    *(histogram("g"), histogram("a", bins=[-1, 0, 1]), marginal(["g", "h"]), median("b", bins=[-1, -0.5, 0.5, 1])),
    *(moments(["a", "b"]), moments(["a", "b", "c"]), moments(["a", "c"], by="h")),
]


def value_of(s: Statistic, row: dict[str, Any]) -> np.ndarray:
    """What one row adds to a statistic."""
    out = np.zeros(s.shape(SCHEMA))
    if any(row[c] is None for c in s.columns):
        return out
    value = 1.0 if s.weight is None else float(row[s.weight])
    value *= math.prod(float(row[c]) ** e for c, e in s.powers)
    cell = []
    for axis in s.cells:
        if isinstance(axis, str):
            cell.append(row[axis])
        else:
            cell.append(min(int(np.searchsorted(axis.edges, row[axis.column], "right")) - 1, len(axis) - 1))
    out[tuple(cell)] = value
    return out


def images(scales: dict[str, Any] | dict[Statistic, float], columns: Sequence[str]) -> dict[frozenset[str], np.ndarray]:
    """For every observed set, the images of all rows that show it, in units of the noise."""
    found: dict[frozenset[str], list[np.ndarray]] = {}
    for row in itertools.product(*([*DOMAIN[c], None] for c in columns)):
        named = dict(zip(columns, row, strict=True))
        seen = frozenset(c for c in columns if named[c] is not None)
        image = np.concatenate([value_of(s, named).ravel() / x for s, x in scales.items()])
        found.setdefault(seen, []).append(image)
    return {seen: np.unique(np.array(v), axis=0) for seen, v in found.items()}


def length(differences: np.ndarray, norm: Norm) -> float:
    return float(np.linalg.norm(differences, norm, axis=-1).max())


def apart(one: np.ndarray, other: np.ndarray, norm: Norm) -> float:
    return length(one[:, None, :] - other[None, :, :], norm)


def check(
    scales: dict[Statistic, float], norm: Norm, cliques: Sequence[tuple[str, ...]]
) -> tuple[Distances, float, float]:
    columns = sorted(frozenset().union(*(s.columns for s in scales)))
    found, by_mask = distances(scales, SCHEMA, norm, cliques), images(scales, columns)
    largest = same = 0.0
    for seen, rows in by_mask.items():
        reach = length(rows, norm)
        assert found.reach(seen) == pytest.approx(reach, rel=1e-12), seen
        assert found.reach(seen) >= reach * (1 - 1e-15)
        own = apart(rows, rows, norm)
        assert 2 * found.same_mask(seen) >= own * (1 - 1e-14), seen
        same = max(same, own)
    for one, other in itertools.combinations_with_replacement(by_mask.values(), 2):
        largest = max(largest, apart(one, other, norm))
    assert found.largest >= largest * (1 - 1e-14)
    assert found.largest <= 2 * found.reach.full * (1 + 1e-14)
    return found, largest, same


SMALL = [q for q in QUERIES if len(q.columns) <= 3]


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.sampled_from(SMALL), min_size=1, max_size=3, unique_by=lambda q: q.name),
    st.sampled_from([1, 2]),
    st.data(),
)
def test_distances_bound_every_pair_of_rows(queries: list[Query], norm: Norm, data: st.DataObject) -> None:
    statistics = dict.fromkeys(s for q in queries for s in q.statistics(SCHEMA))
    if len(frozenset().union(*(s.columns for s in statistics))) > 3:
        statistics = dict.fromkeys(queries[0].statistics(SCHEMA))
    scales = {s: data.draw(st.sampled_from([0.5, 1.0, 1.7, 3.0])) for s in statistics}
    check(scales, norm, sorted({q.clique for q in queries if q.clique}))


@pytest.mark.parametrize("norm", [1, 2])
@pytest.mark.parametrize("query", QUERIES, ids=lambda q: q.name)
def test_every_query_at_its_own_scales(query: Query, norm: Norm) -> None:
    scales, _ = relative_scales(SCHEMA, [query], norm)
    cliques = [query.clique] if query.clique else []
    check(scales, norm, cliques)


@pytest.mark.parametrize("norm", [1, 2])
@pytest.mark.parametrize(
    "query",
    [count("a"), total("b"), mean("a"), histogram("g"), marginal(["g", "h"]), mean("b", by="g"), count("c", by="h")],
    ids=lambda q: q.name,
)
def test_distances_are_attained(query: Query, norm: Norm) -> None:
    """Sums, counts, means and tables: nothing is overstated (a mean's squares of 1/16 share: within 2 %)."""
    scales, _ = relative_scales(SCHEMA, [query], norm)
    found, largest, same = check(scales, norm, [])
    slack = 0.04 if query.kind == "mean" else 1e-9
    assert found.largest == pytest.approx(largest, rel=slack)
    assert 2 * found.same_mask.full == pytest.approx(same, rel=slack)


@pytest.mark.parametrize("norm", [1, 2])
@pytest.mark.parametrize("omega", [0.3, 0.5, 1.0])
def test_sum_and_count_pairs_have_the_exact_sensitivity(norm: Norm, omega: float) -> None:
    """Theorem 11 with every column shown: counts of weight omega are free."""
    scales = {Statistic(((c, e),)): 1.0 if e else 1 / omega for c in "abc" for e in (0, 1)}
    exact = mean_count(3, 3, norm, count_weight=1 / (1 / omega)).sensitivity
    assert distances(scales, SCHEMA, norm).largest == pytest.approx(exact, rel=1e-12)


@pytest.mark.parametrize("norm", [1, 2])
def test_products_together_are_closer_than_one_by_one(norm: Norm) -> None:
    """Theorem 10: products and squares of three columns (squares at 1/2) never exceed half the full matrix."""
    columns = ("a", "b", "c")
    scales = {Statistic(((i, 1), (j, 1))): 1.0 for i, j in itertools.combinations(columns, 2)}
    scales |= {Statistic(((i, 2),)): 2.0 if norm == 1 else math.sqrt(2) for i in columns}
    alone = distances(scales, SCHEMA, norm).largest
    found, largest, _ = check(scales, norm, [columns])
    half = second_moments(3, 3, 1, norm).sensitivity / (2 if norm == 1 else math.sqrt(2))
    assert largest <= half * (1 + 1e-12)
    assert half * (1 - 1e-12) <= found.largest < alone


@pytest.mark.parametrize("d", [2, 3])
def test_moments_at_one_scale_are_d_plus_one_apart(d: int) -> None:
    """Sums, squares, counts, products and pair counts, Gaussian: bounded together, and attained."""
    columns = "abc"[:d]
    pairs = list(itertools.combinations(columns, 2))
    powers = [((i, e),) for i in columns for e in (0, 1, 2)] + [((i, e), (j, e)) for i, j in pairs for e in (0, 1)]
    found, largest, same = check({Statistic(p): 1.0 for p in powers}, 2, [tuple(columns)])
    assert d + 1 <= found.largest <= (d + 1) * (1 + 1e-4)  # both grids of sums are room of 2^-14 without a public n
    assert largest == pytest.approx(d + 1, rel=1e-12)
    assert same <= 2 * found.same_mask.full <= same * 1.25


@pytest.mark.parametrize("norm", [1, 2])
@pytest.mark.parametrize("square", [0.3, 0.6, 1.0, 1.9, 4.0])
def test_a_sum_and_a_square_move_together(norm: Norm, square: float) -> None:
    """One column, the square's scale from fine to coarse: the closed form is the largest over a fine grid."""
    scales = {Statistic((("a", 1),)): 1.0, Statistic((("a", 2),)): square}
    z = np.linspace(-1, 1, 1001)
    one, two = np.abs(z[:, None] - z) ** norm, (np.abs(z[:, None] ** 2 - z**2) / square) ** norm
    truth = float((one + two).max()) ** (1 / norm)
    found = distances(scales, SCHEMA, norm)
    assert truth * (1 - 1e-12) <= 2 * found.same_mask.full <= truth * (1 + 4e-4)


@pytest.mark.parametrize("norm", [1, 2])
@pytest.mark.parametrize("n", [None, 1000])
@pytest.mark.parametrize("by", [(), ("g",)])
def test_sums_held_on_two_grids_stay_within_the_distance(norm: Norm, n: int | None, by: tuple[str, ...]) -> None:
    """z and z^2 are rounded apart: the integers of two rows, not their reals, are what a release adds up."""
    columns = {"a": {"kind": "number", "bounds": [-1, 1]}, "g": {"kind": "category", "values": ["x"]}}
    people = Schema.from_dict({"columns": columns, **({} if n is None else {"n": n})})
    z = [-1 + k * 2.0**-19 for k in range(1, 40)] + [-0.99, -0.5, -0.25, 0.0, 0.375, 0.5000019, 0.75, 1.0]
    one, two = Statistic((("a", 1),), by), Statistic((("a", 2),), by)
    rows = np.array([[float(held(people, s, x)) for s in (one, two)] for x in z])
    for square in (0.4, 0.55, 0.8, 1.0, 2.1):
        apart = np.linalg.norm((rows[:, None] - rows) / (1, square), norm, axis=2).max()
        assert apart <= 2 * distances({one: 1.0, two: square}, people, norm).same_mask.full


def held(people: Schema, s: Statistic, x: float) -> Fraction:
    """What one row adds, exactly."""
    found = aggregate(pl.DataFrame({"a": [x], "g": ["x"]}), people, [s])
    return int(found.values[s].ravel()[0]) * Fraction(found.units[s])


def test_custom_queries_by_constants() -> None:
    """Reach sum of L_j in either norm; two rows are at most twice that apart."""
    q = custom("f", {"a": "0.5", "b": 2})
    for norm in (1, 2):
        found = q.distances(norm)  # type: ignore[arg-type]
        assert found.reach(["a"]) == 0.5
        assert found.reach(["a", "b"]) == pytest.approx(2.5, rel=1e-15)
        assert found.largest == pytest.approx(5, rel=1e-15)


def test_a_row_sits_in_one_group() -> None:
    """Group-by does not raise the reach: the factor of parallel groups under substitution is that of two rows."""
    for norm in (1, 2):
        plain = distances({Statistic((("b", 1),)): 1.0}, SCHEMA, norm)  # type: ignore[arg-type]
        grouped = distances({Statistic((("b", 1),), ("g",)): 1.0}, SCHEMA, norm)  # type: ignore[arg-type]
        assert grouped.reach.full == plain.reach.full == 1
        assert grouped.largest == plain.largest == 2


def test_rows_of_one_person_multiply() -> None:
    document = SCHEMA.to_dict() | {"unit": "person", "unit_rule": {"keep": "first", "at_most": 3}}
    several = Schema.from_dict(document)
    s = Statistic((("a", 0),))
    assert distances({s: 1.0}, several, 2).reach.full == 3
    assert distances({s: 1.0}, several, 2).largest == 3
    assert distances({s: 1.0}, SCHEMA, 2).largest == 1
