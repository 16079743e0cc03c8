"""Files and frames that are broken or odd: one clear error, or cells that count as missing; never a raw exception."""

from __future__ import annotations

import datetime as dt
import gzip
import random
from collections.abc import Iterator, Sequence
from decimal import Decimal
from pathlib import Path
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
from absentia.table.scan import reading
from absentia.table.source import Source

SCHEMA = Schema.from_dict({"columns": {"a": {"kind": "number", "bounds": [0, 10]}}})


def test_a_damaged_gzip_is_one_clear_error(tmp_path: Path) -> None:
    whole = gzip.compress(b"a\n" + b"".join(b"%d\n" % (i % 11) for i in range(20_000)))
    draw = random.Random(3)
    seen = set()
    for i in range(200):
        data = bytearray(whole)
        data[draw.randrange(len(data))] ^= 1 << draw.randrange(8)
        (tmp_path / f"{i}.csv.gz").write_bytes(bytes(data))
        try:
            seen.add(profile_counts(tmp_path / f"{i}.csv.gz", SCHEMA).rows)
        except InputError as refused:
            seen.add(refused.code)
    assert "E-FILE" in seen
    assert seen <= {20_000, "E-FILE", "E-EMPTY", "E-ENCODING", "E-COLUMN"}  # some bits of its header mean nothing


def test_a_damaged_parquet_is_one_clear_error(tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    pq.write_table(pa.table({"a": [float(i % 7) for i in range(3000)]}), path, row_group_size=100)
    data = bytearray(path.read_bytes())
    for i in range(200, 1200):
        data[i] ^= 0x5A
    path.write_bytes(bytes(data))
    with pytest.raises(InputError) as refused:
        profile_counts(path, SCHEMA)
    assert refused.value.code in ("E-FILE", "E-READ")


def test_what_engines_leave_aside_is_not_counted_twice(tmp_path: Path) -> None:
    table = pa.table({"a": [1.0, 2.0, 3.0]})
    for folder in (".", "_temporary/0", ".ipynb_checkpoints", "_delta_log"):
        (tmp_path / folder).mkdir(parents=True, exist_ok=True)
        pq.write_table(table, tmp_path / folder / "part.parquet")
    assert profile_counts(tmp_path, SCHEMA).rows == 3


def test_a_cell_that_is_no_unicode_text_is_unparsed() -> None:
    masks = profile_counts(pd.DataFrame({"a": pd.Series(["\ud800", "3", "4"], dtype=object)}), SCHEMA)
    assert (masks.observed.tolist(), masks.unparsed.tolist()) == ([2], [1])


def test_no_object_in_a_cell_raises() -> None:
    odd = [Decimal("sNaN"), 10**5000, [1, 2], np.array([1.0, 2.0]), object(), complex(1, 2), b"\xff", {}, float]
    blank = [None, pd.NA, pd.NaT, float("nan"), np.float32("nan"), Decimal("NaN")]
    masks = profile_counts(pd.DataFrame({"a": pd.Series([*odd, *blank, 3, "4", Decimal(5)], dtype=object)}), SCHEMA)
    assert (masks.observed.tolist(), masks.unparsed.tolist()) == ([3], [len(odd)])


def test_one_odd_category_refuses_nothing() -> None:
    masks = profile_counts(pd.DataFrame({"a": pd.Categorical(["x", 3, None, 4.5])}), SCHEMA)
    assert (masks.observed.tolist(), masks.unparsed.tolist()) == ([2], [1])


def test_a_date_is_the_same_category_however_it_is_stored() -> None:
    days = [
        dt.datetime(2020, 1, 1),
        dt.datetime(2020, 1, 10),
        None,
        dt.datetime(2020, 1, 10, 6, 30),
        dt.datetime(1999, 1, 1),
    ]
    schema = Schema.from_dict(
        {"columns": {"day": {"kind": "category", "values": ["2020-01-01", "2020-01-10", "2020-01-10 06:30:00"]}}}
    )
    for unit in ("s", "ms", "us", "ns"):
        table = pa.table({"day": pa.array(days, pa.timestamp(unit))})
        assert aggregate(table, schema, [s := Statistic(cells=("day",))]).values[s].tolist() == [1, 1, 1]
    dates = pa.table({"day": pa.array([day and day.date() for day in days])})
    assert aggregate(dates, schema, [s]).values[s].tolist() == [1, 2, 0]
    assert aggregate(pd.DataFrame({"day": days}), schema, [s]).values[s].tolist() == [1, 1, 1]


def test_names_that_are_numbers() -> None:
    schema = Schema.from_dict({"columns": {"0": {"kind": "number", "bounds": [0, 10]}}})
    assert profile_counts(pd.DataFrame({1: [None, None], 0: [1.0, None]}), schema).observed.tolist() == [1]


def test_a_code_is_the_same_code_in_every_width() -> None:
    schema = Schema.from_dict({"missing": [-9.9], "columns": {"a": {"kind": "number", "bounds": [-20, 10]}}})
    for kind in (pa.float16(), pa.float32(), pa.float64()):
        cells = pa.array([-9.9, 1.0, -9.75]).cast(pa.float64()).cast(kind, safe=False)
        assert profile_counts(pa.table({"a": cells}), schema).observed.tolist() == [2]


@pytest.mark.parametrize("written", ["{}Z", "{}+00:00", "{}+0000", "{}", "{}.000000"])
@pytest.mark.parametrize("between", ["T", " "])
def test_the_last_visit_is_the_last_however_its_time_is_written(written: str, between: str) -> None:
    document = {"unit": "p", "unit_rule": {"keep": "last", "by": "t"}, "columns": {"a": {"kind": "boolean"}}}
    days = [written.format(f"2020-01-{day:02}{between}10:00:00") for day in (5, 8, 2)]
    for answer in (True, False):
        table = pa.table({"p": [1, 1, 1], "t": days, "a": [not answer, answer, not answer]})
        counts = aggregate(table, Schema.from_dict(document), [s := Statistic(cells=("a",))]).values[s]
        assert counts.tolist() == [int(not answer), int(answer)]


def test_a_series_is_no_table() -> None:
    with pytest.raises(InputError, match=r"E-TABLE.*absentia\[spark\]"):
        profile_counts(pl.Series("a", [1.0]), SCHEMA)


def test_an_engine_that_fails_is_one_error_with_a_remedy() -> None:
    failure = type("PythonException", (Exception,), {"__module__": "pyspark.errors"})
    for text, code in (("ModuleNotFoundError: No module named 'absentia'", "E-SPARK"), ("cell 17", "E-READ")):
        with pytest.raises(InputError, match=code) as refused, reading():
            raise failure(text)
        assert refused.value.remedy
        assert text not in str(refused.value)


class Panic(BaseException):
    """What an engine written in Rust raises when it panics."""

    __module__ = "pyo3_runtime"


@pytest.mark.parametrize("failure", [OSError("cell 17"), MemoryError("cell 17"), Panic("cell 17")], ids=repr)
@pytest.mark.parametrize("at_once", [True, False])
def test_no_message_of_a_failing_stream_is_shown(failure: BaseException, at_once: bool) -> None:
    def stream() -> Iterator[pa.Table]:
        yield pa.table({"a": [1.0]})
        raise failure

    def streams(columns: Sequence[str]) -> Iterator[Any]:
        if at_once:
            raise failure
        yield stream()

    for read in (lambda s: profile_counts(s, SCHEMA), lambda s: evidence(s, SCHEMA)):
        with pytest.raises(InputError, match="E-READ") as refused:
            read(Source(("a",), streams))
        assert "cell 17" not in str(refused.value)
    with pytest.raises(OSError, match="full"), reading():
        raise OSError("the disk is full")  # our own: it is no engine's


def test_types_guessed_from_the_first_rows_of_a_file_are_the_engines_refusal(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("a\n" + "1\n" * 30_000 + "SECRET\n")
    text = {"a": pl.String}
    tables = {
        "E-READ": [lambda: duckdb.read_csv(str(tmp_path / "t.csv")), lambda: pl.scan_csv(tmp_path / "t.csv")],
        "": [
            lambda: duckdb.read_csv(str(tmp_path / "t.csv"), all_varchar=True),
            lambda: pl.scan_csv(tmp_path / "t.csv", infer_schema=False),
            lambda: pl.scan_csv(tmp_path / "t.csv", schema=text),
            lambda: pl.scan_csv(tmp_path / "t.csv", ignore_errors=True),
        ],
    }
    for table in tables["E-READ"]:
        for read in (profile_counts, evidence):
            with pytest.raises(InputError, match=r"E-READ.*every column as text") as refused:
                read(table(), SCHEMA)
            assert "SECRET" not in str(refused.value)
    for table in tables[""]:
        assert profile_counts(table(), SCHEMA).observed.tolist() == [30_000]


def test_after_a_refusal_the_connection_answers_again() -> None:
    con = duckdb.connect()
    held = []
    for _ in range(20):
        with pytest.raises(InputError, match="E-TYPE") as refused:
            profile_counts(con.sql("SELECT INTERVAL 1 DAY AS a FROM range(100000)"), SCHEMA)
        held.append(refused)
        assert profile_counts(con.sql("SELECT 1.0 AS a"), SCHEMA).rows == 1
