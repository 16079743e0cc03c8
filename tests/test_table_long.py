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
    texts = ["2024-01-02", "2024-01-02T03:04:05", "2024-01-02 03:04:05.5", " 7 ", "soon", None]
    moments = encode._moment(pl.Series(texts).to_arrow())
    assert moments[:3].tolist() == [1704153600e6, 1704164645e6, 1704164645.5e6]
    assert moments[3] == 7
    assert np.isnan(moments[4:]).all()


def test_long_form_refuses_a_unit() -> None:
    with pytest.raises(InputError, match="unit"):
        schema(items=ITEMS, unit="u")
