"""One cell never changes how another is read, and a value is the same value however an engine or a file holds it."""

from __future__ import annotations

import datetime as dt
import io
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from absentia.errors import InputError
from absentia.planning.schema import Schema
from absentia.query.statistic import Statistic
from absentia.table.aggregate import aggregate, profile_counts
from absentia.table.evidence import evidence
from absentia.table.spelling import moment_of, spelled, value_of

NUMBER = {"kind": "number", "bounds": [0, 1]}


def of(*values: Any, **more: Any) -> dict[str, Any]:
    return {"kind": "category", "values": list(values), **more}


def seen(table: Any, column: dict[str, Any], **fields: Any) -> tuple[int, int]:
    masks = profile_counts(table, Schema.from_dict({"columns": {"x": column}} | fields))
    return int(masks.observed[0]), int(masks.unparsed[0])


@pytest.mark.parametrize(
    "column",
    [NUMBER, of("True", "False"), of("true", "false"), of(0, 1), of("1", "0"), {"kind": "boolean"}],
    ids=str,
)
def test_one_blank_among_booleans_changes_one_cell(column: dict[str, Any]) -> None:
    for last, shown in (("False", 100), ("", 99)):
        frame = pd.read_csv(io.StringIO("x,y\n" + "True,1\n" * 99 + last + ",1\n"))
        assert seen(frame, column) == (shown, 0), frame.dtypes["x"]


DAYS = [pd.Timestamp("2020-01-01"), pd.Timestamp("2020-01-02 06:30:00.250")]


@pytest.mark.parametrize(
    ("cells", "column"),
    [
        ([1.0, 2.0], of("1", "2")),
        ([1.0, 0.5], of("1.00", "0.50")),
        ([1, 2], of(1.0, 2.0)),
        ([2**53 + 1, 2**53 + 2], of(2**53 + 1, 2**53 + 2)),
        ([1e22, -0.0], of(1e22, 0)),
        ([np.float64(7.0), np.float64(8.5)], of("7", "8.5")),
        (DAYS, of("2020-01-01", "2020-01-02 06:30:00.25")),
        ([day.tz_localize("Europe/Paris") for day in DAYS], of("2019-12-31 23:00:00", "2020-01-02T05:30:00.25Z")),
        ([True, False], of("TRUE", "FALSE")),
        ([1.0, 0.0], {"kind": "boolean"}),
    ],
    ids=str,
)
def test_one_odd_object_changes_no_other_cell(cells: list[Any], column: dict[str, Any]) -> None:
    assert seen(pd.DataFrame({"x": pd.Series(cells)}), column) == (2, 0)
    assert seen(pd.DataFrame({"x": pd.Series([*cells, "odd"], dtype=object)}), column) == (2, 1)
    assert seen(pd.DataFrame({"x": pd.Categorical([*cells, "odd"])}), column) == (2, 1)


def test_one_person_is_one_person_as_an_integer_and_as_a_double() -> None:
    for ids in ([1, 1.0], [1, "1"], [DAYS[0], dt.date(2020, 1, 1)]):
        frame = pd.DataFrame({"p": pd.Series(ids, dtype=object), "x": [0.0, 1.0]})
        assert profile_counts(frame, Schema.from_dict({"unit": "p", "columns": {"x": NUMBER}})).rows == 1


def broken(kind: pa.DataType) -> pa.Array:
    """Three texts, the second not UTF-8."""
    array = pa.Array.from_buffers(
        pa.string(), 3, [None, pa.py_buffer(np.array([0, 2, 3, 4], np.int32)), pa.py_buffer(b"12\xff3")]
    )
    if pa.types.is_dictionary(kind):
        return pa.DictionaryArray.from_arrays(pa.array([0, 1, 2]), array)
    return array if kind == pa.string() else array.cast(pa.large_string())


@pytest.mark.parametrize("kind", [pa.string(), pa.large_string(), pa.dictionary(pa.int64(), pa.string())], ids=str)
def test_bytes_that_are_no_text_are_one_unparsed_cell(kind: pa.DataType, tmp_path: Any) -> None:
    table = pa.table({"x": broken(kind), "p": broken(kind), "y": [1, 2, 3]})
    pq.write_table(table, tmp_path / "t.parquet")
    for data in (table, tmp_path / "t.parquet"):
        assert seen(data, of("12", "3")) == (2, 1)
        assert seen(data, {"kind": "number", "bounds": [0, 50]}) == (2, 1)
        for rule in ({}, {"unit_rule": {"keep": "last", "by": "p"}}):
            masks = profile_counts(data, Schema.from_dict({"unit": "p", "columns": {"y": NUMBER}} | rule))
            assert (masks.rows, masks.dropped) == (3, 0)


def test_a_text_that_is_no_unicode_is_one_unparsed_cell() -> None:
    for kind in (pd.StringDtype("python"), pd.StringDtype("python", np.nan)):
        for series in (texts := pd.array(["1", "\ud800", None, "0"], dtype=kind), pd.Categorical(texts)):
            assert seen(pd.DataFrame({"x": series}), of("1", "0")) == (2, 1)
            assert seen(pd.DataFrame({"x": series}), NUMBER) == (2, 1)


FAR = pa.array([0, 1, 2**31 - 1, None, 1], pa.int32()).cast(pa.date32())
BYTES = pa.array([b"a", b"\xff", b"\xff\xfe", None, b"\xff"])


@pytest.mark.parametrize("ids", [FAR, BYTES, FAR.cast(pa.timestamp("s")), BYTES.cast(pa.large_binary())], ids=str)
def test_any_date_and_any_bytes_can_name_a_person(ids: pa.Array) -> None:
    table = pa.table({"p": ids, "x": [0.0, 1, 0, 1, 1]})
    masks = profile_counts(table, Schema.from_dict({"unit": "p", "columns": {"x": NUMBER}}))
    assert (masks.rows, masks.dropped) == (3, 2)
    assert evidence(table, Schema.from_dict({"columns": {"x": NUMBER}}), "p").rows == 5


def engines(arrow: pa.Table, folder: Any) -> dict[str, Any]:
    con = duckdb.connect()
    con.execute("SET TimeZone = 'Europe/Paris'")
    con.register("t", arrow)
    frame = pl.DataFrame(arrow)
    pq.write_table(arrow, folder / "t.parquet")
    frame.write_csv(folder / "p.csv")
    arrow.to_pandas().to_csv(folder / "q.csv", index=False)
    objects = pd.DataFrame(
        {name: pd.Series(arrow.column(name).to_pylist(), dtype=object) for name in arrow.column_names}
    )
    return {
        "arrow": arrow, "polars": frame, "parquet": folder / "t.parquet", "duckdb": con.table("t"),
        "csv of Polars": folder / "p.csv", "csv of pandas": folder / "q.csv",
        "pandas": arrow.to_pandas(), "objects": objects,
    }  # fmt: skip


MOMENTS = [dt.datetime(2020, 1, 31, 6, 30), dt.datetime(2020, 2, 1), None, dt.datetime(1999, 1, 1, 0, 0, 1)]
ZONED = [moment and moment.replace(tzinfo=dt.UTC) for moment in MOMENTS]


@pytest.mark.parametrize(
    ("array", "column", "expected"),
    [
        (pa.array([True, False, None]), NUMBER, (2, 0)),
        (pa.array([True, False, None]), of("True", "False"), (2, 0)),
        (pa.array([True, False, None]), of("true", "false"), (2, 0)),
        (pa.array([True, False, None]), of("TRUE", "no"), (1, 1)),
        (pa.array([True, False, None]), {**NUMBER, "missing": ["False"]}, (1, 0)),
        (pa.array([True, False, None]), {**NUMBER, "missing": [1]}, (1, 0)),
        (pa.array(MOMENTS, pa.timestamp("us")), of("2020-01-31 06:30:00", "2020-02-01"), (2, 1)),
        (pa.array(MOMENTS, pa.timestamp("ns")), of("2020-01-31T06:30", missing=["1999-01-01 00:00:01"]), (1, 1)),
        (pa.array(ZONED, pa.timestamp("us", "UTC")), of("2020-01-31 06:30:00", "2020-02-01"), (2, 1)),
        (pa.array(ZONED, pa.timestamp("us", "Europe/Paris")), of("2020-01-31 07:30:00+01:00", "2020-02-01"), (2, 1)),
        (pa.array([dt.time(6, 30), None, dt.time(7, 0, 0, 5)], pa.time64("us")), of("06:30:00"), (1, 1)),
        (pa.array([dt.date(2020, 2, 1), None]), of("2020-02-01"), (1, 0)),
    ],
    ids=str,
)  # fmt: skip
def test_a_value_is_the_same_value_on_every_engine(
    array: pa.Array, column: dict[str, Any], expected: tuple[int, int], tmp_path: Any
) -> None:
    for engine, table in engines(pa.table({"x": array}), tmp_path).items():
        assert seen(table, column) == expected, engine


def test_integers_are_exact(tmp_path: Any) -> None:
    cells = [2**53, 2**53 + 1, 2**53 + 2, None]
    for kind in (pa.int64(), pa.uint64(), pa.decimal128(30, 0)):
        for table in (pa.table({"x": pa.array(cells, kind)}), pa.table({"x": [c and str(c) for c in cells]})):
            assert seen(table, of(2**53 + 1, 2**53 + 2)) == (2, 1)
    wide = pl.DataFrame({"x": pl.Series(cells, dtype=pl.Int128)})
    assert seen(wide, of(2**53 + 1, 2**53 + 2)) == (2, 1)
    assert seen(pa.table({"x": pa.array([200, 1, None], pa.uint8())}), of(1, 7, missing=[-9])) == (1, 1)


def test_a_mean_of_booleans() -> None:
    schema = Schema.from_dict({"columns": {"x": NUMBER}})
    for cells in ([True, False, None, True], ["TRUE", " false ", "", "true"], [1, 0, None, 1]):
        assert aggregate(pa.table({"x": cells}), schema, [s := Statistic((("x", 1),))]).value(s) == 1


def test_what_a_text_says() -> None:
    assert [spelled(v) for v in (1.0, -0.0, 0.5, True, dt.datetime(2020, 1, 1))] == [
        "1",
        "0",
        "0.5",
        "True",
        "2020-01-01",
    ]
    assert value_of("9" * 40) == int("9" * 40)
    assert [value_of(t) for t in ("+1", "1e2", "TRUE", "x", "20200131")] == [1, 100, 1, None, 20200131]
    for text in ("0001-01-01 00:00:00+14:00", "2020-13-45 99:99:99Z", "2020-01-01 06", "24:00:00:00"):
        assert moment_of(text) is None


@pytest.mark.parametrize(
    "table",
    [
        pa.table({"x": [1.0], "p": pa.array([[1]])}),
        pa.table({"x": [1.0], "p": pa.array([(1, 2, 3)], pa.month_day_nano_interval())}),
        duckdb.sql("SELECT 1.0 AS x, INTERVAL 1 DAY AS p"),
    ],
    ids=lambda table: type(table).__module__,
)
def test_a_type_that_can_hold_no_such_value_is_refused_by_name(table: Any) -> None:
    for document in (
        {"columns": {"p": NUMBER}},
        {"columns": {"p": of("a")}},
        {"unit": "p", "columns": {"x": NUMBER}},
        {"unit": "x", "unit_rule": {"keep": "last", "by": "p"}, "columns": {"x": NUMBER}},
    ):
        with pytest.raises(InputError, match=r"E-TYPE.*p: ") as refused:
            profile_counts(table, Schema.from_dict(document))
        assert refused.value.remedy


@pytest.mark.parametrize("cells", [[dt.time(1)], [b"1"], [dt.timedelta(1)]], ids=str)
def test_what_orders_no_rows_is_refused_by_name(cells: list[Any]) -> None:
    document = {"unit": "x", "unit_rule": {"keep": "last", "by": "t"}, "columns": {"x": NUMBER}}
    with pytest.raises(InputError, match=r"E-TYPE.*column t: "):
        profile_counts(pa.table({"x": [1.0], "t": cells}), Schema.from_dict(document))
