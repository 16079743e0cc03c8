"""The kernel against exact rational arithmetic, row by row: sums, products, cells, masks, and the grid's promises."""

from __future__ import annotations

import math
from collections import Counter
from decimal import Decimal
from fractions import Fraction

import numpy as np
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from absentia.errors import InputError
from absentia.planning.schema import Column, Schema
from absentia.query.grid import Grid
from absentia.query.statistic import Bins, Statistic
from absentia.table import kernel, masks, scan
from absentia.table.aggregate import aggregate, profile_counts, survey
from absentia.table.cells import Cells, read
from absentia.table.kernel import Demand
from absentia.table.spelling import number_of

finite = st.floats(-1e150, 1e150)


@settings(max_examples=300)
@given(finite, finite, st.lists(st.floats() | st.sampled_from([0.0, -0.0, 5e-324]), min_size=1, max_size=20))
def test_z_never_leaves_one(low: float, high: float, values: list[float]) -> None:
    assume(low < high and 1e-150 < high - low <= 1e150)
    schema = Schema.from_dict({"n": 4, "columns": {"x": {"kind": "number", "bounds": [low, high]}}})
    batch = kernel._Batch(Demand(schema, ()), {"x": read(pa.array(values), schema.columns["x"])}, len(values))
    steps, pairs = batch.steps("x"), batch.matrix(["x"])[0]
    assert ((steps >= 0) & (steps <= 2**31) & (steps == np.floor(steps))).all()
    assert ((abs(pairs) <= 2**18) & (pairs == np.floor(pairs))).all()
    z = batch.integers("x")
    shown = batch.columns["x"].seen
    exact = [2 * (Fraction(min(max(v, low), high)) - Fraction(low)) / (Fraction(high) - Fraction(low)) - 1
             for v in values if v == v]  # fmt: skip
    assert all(abs(Fraction(int(a), 2**30) - b) < Fraction(1, 2**29) for a, b in zip(z[shown], exact, strict=True))


def reference(rows: list[dict], schema: Schema, s: Statistic) -> np.ndarray:
    """The definition, on the rounded integers, in exact arithmetic."""
    grid, pair = Grid.of(schema), kernel.is_pair(s, 1)
    out = np.zeros(s.shape(schema), object)
    for row in rows:
        if any(row[name] is None for name in s.columns):
            continue
        bits = grid.pair_bits if pair else grid.bits
        factors = [round_half_up(row[name], schema.columns[name], bits) for name, e in s.powers for _ in range(e)]
        if s.weight:
            w, high = Fraction(row[s.weight]), Fraction(schema.columns[s.weight].high)
            k = kernel.weight_bits(schema.columns[s.weight], grid)
            factors.append(min(math.floor(w * 2**k + Fraction(1, 2)), math.floor(high * 2**k)))
        value = factors[0] if factors else 1
        for f in factors[1:]:
            value = value * f if pair else (value * f + 2 ** (bits - 1)) >> bits
        index = []
        for c in s.cells:
            if isinstance(c, Bins):
                inside = [i for i, e in enumerate(c.edges[:-1]) if row[c.column] >= e]
                index.append(inside[-1] if inside else 0)
            else:
                index.append(schema.columns[c].values.index(row[c]))
        out[tuple(index)] += value
    return out


def round_half_up(x: float, column: Column, bits: int) -> int:
    t = (x - column.low) * (2.0**19 * (1 / (column.high - column.low))) / 2**19
    return math.floor(t * 2.0 ** (bits + 1) + 0.5) - 2**bits


COLUMNS = {
    "a": {"kind": "number", "bounds": [-3, 7]},
    "b": {"kind": "number", "bounds": [0, 0.1]},
    "c": {"kind": "category", "values": ["x", "y", "z"]},
    "w": {"kind": "number", "bounds": [0, 2.7], "weight": True},
}
STATISTICS = [
    *[Statistic(((name, e),)) for name in "ab" for e in range(5)],
    *[Statistic((("a", e), ("b", f))) for e in range(3) for f in range(3)],
    Statistic((("a", 0), ("c", 0))),
    Statistic((("a", 1),), weight="w"),
    Statistic((("a", 1), ("b", 1)), weight="w"),
    Statistic((("a", 0),), weight="w"),
    Statistic(cells=("c",), weight="w"),
    Statistic((("b", 3),), ("c", Bins("a", (-2, 0, 0.5, 9))), "w"),
    Statistic(cells=(Bins("b", (0.02, 0.05)), "c")),
]


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 2**32), st.sampled_from([5, 2**27, 2**34, None]), st.integers(0, 60))
def test_every_statistic_is_its_definition(seed: int, n: int | None, size: int) -> None:
    schema = Schema.from_dict({"n": n, "columns": COLUMNS})
    rng = np.random.default_rng(seed)
    rows = [
        {
            "a": float(rng.choice([-3, 7, 0.1, rng.normal(1, 1), -2, 0.5])),
            "b": float(rng.uniform(0, 0.1)),
            "c": str(rng.choice(["x", "y", "z"])),
            "w": float(rng.choice([0, 2.7, 0.3])),
        }
        for _ in range(size)
    ]
    for row in rows:
        for name in row:
            row[name] = min(max(row[name], -3.0), 7.0) if name == "a" else row[name]
            row[name] = None if rng.random() < 0.3 else row[name]
    frame = pl.DataFrame(rows, schema={"a": pl.Float64, "b": pl.Float64, "c": pl.String, "w": pl.Float64})
    found = aggregate(frame, schema, STATISTICS)
    for s in STATISTICS:
        assert found.values[s].dtype == np.int64
        assert found.values[s].shape == s.shape(schema)
        assert (found.values[s].astype(object) == reference(rows, schema, s)).all(), s
        assert math.frexp(found.units[s])[0] == 0.5  # a power of two


def test_pair_products_are_exact_at_their_worst() -> None:
    """2^16 rows of z = +-1 fill 52 bits of a double: the largest sum is still exact."""
    schema = Schema.from_dict({"n": 2**16, "columns": COLUMNS})
    assert Grid.of(schema).pair_bits == 18
    frame = pl.DataFrame({"a": [7.0] * 2**16, "b": [0.0] * 2**16, "c": None, "w": None}, schema_overrides={"c": pl.String, "w": pl.Float64})  # fmt: skip # noqa: E501
    s = Statistic((("a", 1), ("b", 1)))
    assert aggregate(frame, schema, [s]).values[s] == -(2**36) * 2**16


@given(st.integers(1, 2**40))
def test_no_declared_n_can_overflow(n: int) -> None:
    grid = Grid.of(Schema.from_dict({"n": n, "columns": COLUMNS}))
    assert grid.rows >= 2 * n
    assert grid.rows * 2**grid.bits < 2**63
    assert grid.rows * 2 ** (2 * grid.pair_bits) < 2**63
    assert 2 * grid.pair_bits + 16 <= 53
    assert 2 * grid.bits <= 60  # one factor at a time stays within int64
    with pytest.raises(InputError, match="E-ROWS"):
        kernel.check_rows(grid.rows + 1, grid)


def test_no_person_can_fill_the_grid() -> None:
    """Room for all rows that may count, so that no single person's rows decide whether a table is refused."""
    for n, most in ((2**26, 10), (2**30, 1000), (3, 2)):
        document = {"n": n, "columns": COLUMNS, "unit": "person", "unit_rule": {"at_most": most}}
        grid = Grid.of(Schema.from_dict(document))
        assert grid.rows >= 2 * n * most
        assert grid.rows * 2**grid.bits < 2**63


def test_the_batch_length_never_matters(monkeypatch: pytest.MonkeyPatch) -> None:
    schema = Schema.from_dict({"n": 9000, "columns": COLUMNS})
    rng = np.random.default_rng(4)
    frame = pl.DataFrame(
        {
            "a": pl.Series(rng.normal(0, 3, 9000)).set(pl.Series(rng.random(9000) < 0.3), None),
            "b": pl.Series(rng.random(9000) / 9).set(pl.Series(rng.random(9000) < 0.6), None),
            "c": rng.choice(["x", "y", "z", "?"], 9000),
            "w": rng.random(9000) * 3,
        }
    )
    expected = survey(frame, schema, STATISTICS)
    for rows in (1, 7, 1000):
        monkeypatch.setattr(scan, "BATCH", rows * 100)
        monkeypatch.setattr(scan.Work, "batch_rows", rows * 17)
        assert survey(frame.to_arrow(), schema, STATISTICS) == expected


@pytest.mark.parametrize("d", [1, 23, 24, 25, 49, 130])
def test_masks_are_counted_exactly(d: int) -> None:
    rng = np.random.default_rng(d)
    O = rng.random((d, 500)) < 0.8  # noqa: E741
    O[:, ::3] = O[:, [0]]
    columns = {f"x{j}": {"kind": "number", "bounds": [0, 1]} for j in range(d)}
    frame = pl.DataFrame({f"x{j}": [1.0 if o else None for o in O[j]] for j in range(d)}, schema_overrides=dict.fromkeys(columns, pl.Float64))  # fmt: skip # noqa: E501
    found = profile_counts(frame, Schema.from_dict({"columns": columns}))
    expected = Counter(map(tuple, O.T.tolist()))
    assert dict(zip(map(tuple, found.patterns.tolist()), found.pattern_counts.tolist(), strict=True)) == expected
    assert found.pattern_counts.tolist() == sorted(found.pattern_counts.tolist(), reverse=True)
    assert (found.pairs == O.astype(int) @ O.T.astype(int)).all()
    assert (found.both_missing == (~O).astype(int) @ (~O).T.astype(int)).all()
    assert (found.per_row == np.bincount(O.sum(0), minlength=d + 1)).all()
    assert (found.missing == (~O).sum(1)).all()
    assert found.fully_missing == found.per_row[0] == (~O.any(0)).sum()


def test_too_many_patterns_leave_the_most_frequent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(masks, "MAX_PATTERNS", 16)
    kept = masks.Patterns(8)
    for i in range(200):
        kept.add(np.array([[i % 250, 1], [3, 5]]))
    table = masks._frequent(kept.merge())
    assert len(table) == 16
    assert table[0].tolist() == [3, 1001]
    assert table[:, -1].sum() + kept.unlisted == 1200


@given(st.text(st.sampled_from("0123456789.eE+-infatyINFY_x "), max_size=9) | st.floats().map(repr))
def test_one_grammar_of_numbers(text: str) -> None:
    column = Column("x", "number", (-1e300, 1e300))
    cells = read(pa.array([text]), column)
    number = number_of(text)
    assert cells.unparsed == (number is None and text.strip() != "")
    assert bool(cells.seen[0]) == (number is not None and number == number)
    if cells.seen[0]:
        assert cells.values[0] == min(max(float(text), -1e300), 1e300)


def category(values: tuple, *missing: object) -> Column:
    return Column("c", "category", values=values, missing=missing)  # type: ignore[arg-type]


FLAG = Column("c", "boolean", values=("false", "true"), missing=(9,))


@pytest.mark.parametrize(
    ("array", "column", "codes"),
    [
        (pa.array([" yes", "no ", "YES", "", None, "NA"]), category(("no", "yes"), "NA"), [1, 0, -2, -1, -1, -1]),
        (pa.array([1, 2, 9, None, 3]), category((1, 2), 9), [0, 1, -1, -1, -2]),
        (pa.array([1.0, 2.5, 9.0, float("nan")]), category(("1", "2"), 9), [0, -2, -1, -1]),
        (pa.array(["1", "1.0", "01", "9.0", "x"]), category((1, 2), 9), [0, 0, 0, -1, -2]),
        (pa.array(["1.0", "01", "1"]), category(("1", "01")), [0, 1, 0]),
        (pa.array(["TRUE", "f", "1", "0.0", "oui", "9"]), FLAG, [1, 0, 1, 0, -2, -1]),
        (pa.array([True, False, None]), FLAG, [1, 0, -1]),
        (pa.array([1, 0, 2, None], pa.uint8()), FLAG, [1, 0, -2, -1]),
        (pa.array([2**60, 1]), category((1, 2**40)), [-2, 0]),
        (pa.array(["a", None, "b"]).dictionary_encode(), category(("b",)), [-2, -1, 0]),
        (pa.nulls(2), category(("b",)), [-1, -1]),
    ],
)
def test_categories(array: pa.Array, column: Column, codes: list[int]) -> None:
    cells = read(array, column)
    expected = np.array(codes)
    assert (cells.seen == (expected >= 0)).all()
    assert (cells.values[cells.seen] == expected[cells.seen]).all()
    assert cells.unparsed == (expected == -2).sum()


def test_number_types_and_slices() -> None:
    column = Column("x", "number", (-5, 5), missing=(3,))

    for array in (
        pa.array([1, 3, None, 2], pa.int8()),
        pa.array([1, 3, None, 2], pa.uint64()),
        pa.array([1, 3, None, 2], pa.float32()),
        pa.array([1, 3, None, 2], pa.float16()),
        pa.array([Decimal("1.00"), Decimal("3.00"), None, Decimal("2.00")]),
        pa.array(["1", "3.0", None, " 2 "], pa.string_view()),
        pa.array([1.0, 3.0, float("nan"), 2.0]),
        pa.array([9.0, 1.0, 3.0, None, 2.0, 8.0]).slice(1, 4),
        pa.array([None] * 9 + [1.0, 3.0, None, 2.0]).slice(9, 4),
    ):
        cells = read(array, column)
        assert cells.seen.tolist() == [True, False, False, True], array.type
        assert cells.values[[0, 3]].tolist() == [1.0, 2.0]
    assert isinstance(read(pa.array([True, False]), column), Cells)
    for array in (pa.array([[1]]), pa.array([b"1"]), pa.array([0], pa.timestamp("us"))):
        with pytest.raises(InputError, match="E-TYPE"):
            read(array, column)
