"""Long tables against a dictionary of dictionaries: one row a user, one entry an item, by the declared rule."""

from __future__ import annotations

import itertools
from collections import Counter
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from absentia.errors import InputError
from absentia.planning.schema import Schema
from absentia.query.statistic import Statistic
from absentia.table import encode, units
from absentia.table.aggregate import aggregate, profile_counts, survey
from absentia.table.profile import profile

ITEMS = list(range(1, 13))
VALUE = {"r": {"kind": "number", "bounds": [0, 8]}}


def schema(**fields: object) -> Schema:
    long = {"user": "u", "item": "i", "value": "r"} | {k: fields.pop(k) for k in ("items", "n_items") if k in fields}
    return Schema.from_dict({"missing": ["", 99], "long": long, "columns": VALUE} | fields)


LONG = {
    "items": schema(items=ITEMS, n=400),
    "last": schema(items=ITEMS, unit_rule={"keep": "last", "by": "t"}),
    "many": schema(items=list(range(1, 1501)), n=400),
    "number": schema(n_items=14),
    "number, first": schema(n_items=14, unit_rule={"keep": "first", "by": "t"}),
}


def long_frame(rows: int = 2000, seed: int = 1) -> pl.DataFrame:
    """Entries with repeated items, items outside the universe, missing users, codes, NaN and infinities."""
    rng = np.random.default_rng(seed)
    values = [None, 99.0, float("nan"), float("inf"), *np.arange(0, 9, 0.5).tolist()]
    users = [None, *range(1, 300)]
    return pl.DataFrame(
        {
            "u": [users[i] for i in rng.integers(0, 300, rows)],
            "i": [[None, 13, 14, *ITEMS][i] for i in rng.integers(0, 15, rows)],
            "r": [values[i] for i in rng.integers(0, len(values), rows)],
            "t": rng.permutation(rows),
        }
    )


def long_statistics(schema: Schema) -> list[Statistic]:
    names = [name for name in ("1", "2", "7") if name in schema.columns]
    pairs = itertools.combinations(names, 2)
    return [Statistic(((a, e),)) for a in names for e in (0, 1, 2)] + [Statistic(((a, 1), (b, 1))) for a, b in pairs]


def grouped(frame: pl.DataFrame, last: bool) -> dict[int, dict[int, float | None]]:
    """users -> items -> the value of the kept entry, None when it shows nothing."""
    out: dict[int, dict[int, float | None]] = {}
    for u, i, r, _ in sorted(frame.rows(), key=lambda row: -row[3] if last else row[3]):
        if u is None:
            continue
        row = out.setdefault(u, {})
        if i is not None and i not in row:
            row[i] = None if r is None or r != r or r == 99 else min(max(r, 0.0), 8.0)
    return out


def test_values_follow_the_rule() -> None:
    frame, last = long_frame(), LONG["last"]
    users = grouped(frame, last=True)
    a = aggregate(frame, last, long_statistics(last))
    assert a.rows == len(users)
    for name in ("1", "2", "7"):
        shown = [row[int(name)] for row in users.values() if row.get(int(name)) is not None]
        assert a.value(Statistic(((name, 0),))) == len(shown)
        assert a.value(Statistic(((name, 1),))) == pytest.approx(sum(x / 4 - 1 for x in shown), abs=1e-6)


@pytest.mark.parametrize("name", ["last", "number, first"])
def test_masks_follow_the_rule(name: str) -> None:
    frame, declared = long_frame(), LONG[name]
    users = grouped(frame, last=name == "last")
    allowed = set(ITEMS) | (set() if name == "last" else {13, 14})
    per_row = Counter(sum(v is not None and i in allowed for i, v in row.items()) for row in users.values())
    masks = profile_counts(frame, declared)
    assert {k: m for k, m in enumerate(masks.per_row.tolist()) if m} == dict(per_row)
    observed = {int(name): m for name, m in zip(masks.columns, masks.observed.tolist(), strict=True)}
    expected = {i: sum(row.get(i) is not None for row in users.values()) for i in allowed}
    assert observed == expected


def test_sparse_and_dense_counts_agree() -> None:
    dense, sparse = profile_counts(long_frame(), LONG["items"]), profile_counts(long_frame(), LONG["many"])
    assert dense.rows == sparse.rows == 400 == dense.per_row.sum() == sparse.per_row.sum()
    assert dense.pattern_counts.sum() == 400
    inside = sparse.observed[: len(ITEMS)]
    assert (dense.observed == inside).all()


def test_a_full_disk_of_users_is_the_same_table(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    frame = long_frame()
    expected = {name: survey(frame, s, long_statistics(s)) for name, s in LONG.items()}
    monkeypatch.setattr(units, "HELD", 10_000)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    pieces = pl.concat([frame.slice(i, 100) for i in range(0, len(frame), 100)], rechunk=False)
    for name, s in LONG.items():
        assert survey(pieces.to_arrow(), s, long_statistics(s)) == expected[name], name
    assert not list(tmp_path.iterdir())


def test_text_users_and_items() -> None:
    frame = long_frame()
    text = frame.with_columns(pl.format("p{}", "u").alias("u"), pl.col("i").cast(pl.String))
    for name, s in LONG.items():
        assert survey(text, s, long_statistics(s)) == survey(frame, s, long_statistics(s)), name


def test_order_of_rows_never_matters() -> None:
    frame = long_frame()
    for name, s in LONG.items():
        shuffled = frame.sample(fraction=1.0, shuffle=True, seed=5)
        assert survey(shuffled, s, long_statistics(s)) == survey(frame, s, long_statistics(s)), name


def test_dates_and_numbers_order_rows() -> None:
    texts = ["2024-01-02", "2024-01-02T03:04:05", "2024-01-02 03:04:05.5", " 7 ", "01/02/2020", None]
    moments = encode._moment(pl.Series(texts).to_arrow())[0]
    assert moments[:3].tolist() == [1704153600e6, 1704164645e6, 1704164645.5e6]
    assert moments[3] == 7
    assert np.isnan(moments[4:]).all()


def test_long_form_refuses_a_unit() -> None:
    with pytest.raises(InputError, match="unit"):
        schema(items=ITEMS, unit="u")


def test_what_does_not_parse_and_what_is_not_listed_is_counted() -> None:
    users = [1, 1, 1, 1, 2, 2, 2, 3, None]
    items = [1, 1, 2, 99, 1, 1, 3, None, 1]
    cells = ["4", "x", "x", "5", "x", "x", None, "x", "x"]
    table = pl.DataFrame({"u": users, "i": items, "r": cells}, schema_overrides={"r": pl.String})
    for declared in (schema(items=[1, 2, 3]), schema(items=[i for i in range(1, 1501) if i != 99])):
        masks = profile_counts(table, declared)
        assert (masks.rows, int(masks.observed.sum()), int(masks.unparsed.sum())) == (3, 1, 2)
        assert (masks.left.dropped, masks.left.outside) == (8, 1)
    assert profile_counts(table, schema(items=[1, 2, 3])).unparsed.tolist() == [1, 1, 0]
    assert profile_counts(table, schema(n_items=9)).unparsed.tolist() == [2]


def test_more_items_than_declared_are_said() -> None:
    frame = pl.DataFrame({"u": [1, 1, 1, 2], "i": [1, 2, 3, 1], "r": [1, 2, 3, 4]})
    found = profile(frame, schema(n_items=2))
    assert (found.width, found.k, len(found.columns), found.observed_histogram) == (3, 3, 3, {1: 1, 3: 1})
    assert "3 items occur, more than the 2 that the schema declares" in str(found)
    assert "items occur" not in str(profile(frame, schema(n_items=3)))


def test_absent_people_are_a_listed_pattern() -> None:
    frame = pl.DataFrame({"u": [1, 1, 2, 3], "i": [1, 2, 1, 1], "r": [1, 2, 3, None]})
    for users, expected in ((frame[:3], 8), (frame, 8)):
        found = profile(users, schema(items=[1, 2], n=10))
        assert dict(found.patterns()) == {("1", "2"): expected, ("2",): 1, (): 1}
        assert (next(found.patterns())[1], found.counts.unlisted) == (expected, 0)
    nobody = profile_counts(frame[:0], schema(items=[1, 2], n=4))
    assert (nobody.patterns.tolist(), nobody.pattern_counts.tolist(), nobody.unlisted) == ([[False, False]], [4], 0)


def test_the_reason_for_entries_left_out_is_the_true_one() -> None:
    frame = pl.DataFrame({"u": [1, 1, 1, None], "i": [1, 8, 9, 1], "r": [1, 2, 3, 4]})
    text = str(profile(frame, schema(items=[1, 2])))
    assert "3 entries left out: 2 of items outside the list; 1 name no user or item" in text
    assert "no person" not in text


@pytest.mark.parametrize("kind", [pl.Int64, pl.UInt64, pl.String, pl.Decimal(30, 0)])
def test_large_integers_order_rows_exactly(kind: pl.DataType) -> None:
    numbers = [2**53 + i for i in (0, 1, 2, 3)] + [2**63 - 1 - i for i in (0, 1, 511, 1024)]
    for keep, best in (("first", min), ("last", max)):
        for some in itertools.combinations(numbers, 3):
            cells = [8 * (number == best(some)) for number in some]
            frame = pl.DataFrame({"u": [1] * 3, "i": [1] * 3, "r": cells, "t": pl.Series(map(str, some)).cast(kind)})
            declared = schema(items=[1], unit_rule={"keep": keep, "by": "t"})
            assert aggregate(frame, declared, [s := Statistic((("1", 1),))]).value(s) == 1, some
