"""One table with every special value, read on every engine: aggregates and mask counts are bit-identical."""

from __future__ import annotations

import csv
import datetime as dt
import gzip
import itertools
import math
from pathlib import Path

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.dataset as pds
import pyarrow.parquet as pq
import pytest

from absentia.planning.schema import Schema
from absentia.query.statistic import Bins, Statistic
from absentia.table.aggregate import survey

N = 3000
SPECIAL = [
    None,
    math.nan,
    math.inf,
    -math.inf,
    -0.0,
    0.0,
    5e-324,
    -5e-324,
    1e9,
    -1e9,
    999.0,
    -9.0,
    0.1,
    1 / 3,
    10.0,
    60.0,
]
TEXTS = [
    None,
    "",
    " ",
    "NA",
    "abc",
    "1e2x",
    " 12.5 ",
    "999",
    "inf",
    "-Infinity",
    "nan",
    "1e400",
    "0x10",
    "1_0",
    "½",
    "-0",
]
WORDS = [None, "", "no", "yes", " yes ", "NA", "maybe", "NO", "\t", "nan", "9"]
DAYS = [
    dt.datetime(2020, 1, 31, 6, 30),
    dt.datetime(2020, 2, 1),
    dt.datetime(2020, 2, 1, 0, 0, 0, 500),
    dt.datetime.min,
]


def table(seed: int = 0) -> dict[str, list]:
    rng = np.random.default_rng(seed)

    def pick(values: list, extra: list) -> list:
        pool = values + extra
        return [pool[i] for i in rng.integers(0, len(pool), N)]

    data = {
        "person": [str(i) if i else None for i in rng.integers(0, 900, N)],
        "visit": [int(i) for i in rng.integers(0, 40, N)],
        "x": pick(SPECIAL, rng.normal(30, 20, 30).tolist()),
        "y": pick(SPECIAL, rng.normal(0, 1, 10).tolist()),
        "text": pick(TEXTS, [str(v) for v in rng.normal(30, 20, 20)]),
        "word": pick(WORDS, ["yes", "no"]),
        "flag": pick([None, True, False], []),
        "k": pick([None, 1, 2, 3, 7], []),
        "w": pick([None, 0.0, 0.7, 2.5, 99.0, -1.0, math.nan], []),
        "truth": pick([None, True, False], []),
        "said": pick([None, True, False], []),
        "big": pick([None, 2**53, 2**53 + 1, 2**53 + 2, 7], []),
        "half": pick([None, math.nan, 1.0, 2.0, 2.5, -0.0], []),
        "day": pick([None, *DAYS], []),
        "moment": pick([None, *[day.replace(tzinfo=dt.UTC) for day in DAYS]], []),
        "ignored": pick(["a,b", 'quote " inside', "line\nend", None], []),
    }
    for name in COLUMNS:
        data[name][::250] = [None] * 12
    return data


COLUMNS = {
    "x": {"kind": "number", "bounds": [10, 60]},
    "y": {"kind": "number", "bounds": [-1, 1], "missing": [-9]},
    "text": {"kind": "number", "bounds": [0, 50]},
    "word": {"kind": "category", "values": ["no", "yes"]},
    "flag": {"kind": "boolean"},
    "k": {"kind": "category", "values": [1, 2, 3]},
    "w": {"kind": "number", "bounds": [0, 2.5], "weight": True},
    "truth": {"kind": "number", "bounds": [0, 1]},
    "said": {"kind": "category", "values": ["true", "FALSE"]},
    "big": {"kind": "category", "values": [2**53 + 1, 2**53 + 2]},
    "half": {"kind": "category", "values": ["2", "1.00", "0"]},
    "day": {"kind": "category", "values": ["2020-01-31 06:30:00", "2020-02-01"]},
    "moment": {"kind": "category", "values": ["2020-01-31T07:30+01:00", "2020-02-01 00:00:00.0005"]},
}
BASE = {"missing": ["", "NA", 999], "n": N, "columns": COLUMNS}
SCHEMAS = {
    "rows": Schema.from_dict(BASE),
    "first": Schema.from_dict(BASE | {"unit": "person", "unit_rule": {"keep": "first", "by": "visit"}}),
    "last": Schema.from_dict(BASE | {"unit": "person", "unit_rule": {"keep": "last", "by": "visit"}}),
    "two": Schema.from_dict(BASE | {"unit": "person", "unit_rule": {"at_most": 2}}),
}


def statistics() -> list[Statistic]:
    numbers = ["x", "y", "text", "truth"]
    out = [Statistic(((c, e),)) for c in numbers for e in (0, 1, 2, 3)]
    out += [Statistic(((a, e), (b, e))) for a, b in itertools.combinations(numbers, 2) for e in (0, 1)]
    out += [Statistic(((c, 0), ("x", 0))) for c in ("word", "flag")]
    out += [Statistic(cells=(c,)) for c in ("said", "big", "half", "day", "moment")]
    out += [Statistic(cells=("word",)), Statistic(cells=("word", "flag", "k")), Statistic(cells=("k",), weight="w")]
    out += [Statistic((("x", 1),), ("word",), "w"), Statistic((("x", 1), ("y", 2)), ("k",))]
    return [*out, Statistic(cells=(Bins("x", (0, 20, 30, 70)), "flag")), Statistic((("y", 1),), weight="w")]


def polars_frame(data: dict[str, list]) -> pl.DataFrame:
    return pl.DataFrame(data, schema_overrides=dict.fromkeys(("x", "y", "w", "half"), pl.Float64) | {"k": pl.Int32})


def write_csv(data: dict[str, list], path: Path, quoting: int = csv.QUOTE_MINIMAL) -> Path:
    with gzip.open(path, "wt", newline="") if path.suffix == ".gz" else path.open("w", newline="") as out:
        writer = csv.writer(out, quoting=quoting)
        writer.writerow(data)
        writer.writerows(zip(*[["" if v is None else v for v in c] for c in data.values()], strict=True))
    return path


@pytest.fixture(scope="module")
def frame() -> pl.DataFrame:
    return polars_frame(table())


@pytest.fixture(scope="module")
def expected(frame: pl.DataFrame) -> dict:
    return {name: survey(frame, schema, statistics()) for name, schema in SCHEMAS.items()}


def engines(frame: pl.DataFrame, folder: Path) -> dict[str, object]:
    import duckdb
    import pandas as pd

    data = table()
    arrow = frame.to_arrow()
    pq.write_table(arrow, folder / "one.parquet", row_group_size=700)
    many = folder / "many"
    many.mkdir()
    for i in range(3):
        pq.write_table(arrow.slice(i * 1000, 1000), many / f"part-{i}.parquet")
    con = duckdb.connect()
    con.execute("SET TimeZone = 'Europe/Paris'")
    con.register("t", arrow)
    frame.write_csv(folder / "polars.csv")
    panda = frame.to_pandas().assign(big=pd.array(data["big"], "Int64"))  # its doubles would round the integers
    panda.to_csv(folder / "pandas.csv", index=False)
    objects = pd.DataFrame({name: pd.Series(values, dtype=object) for name, values in data.items()})
    return {
        "lazy": frame.lazy(),
        "shuffled": frame.sample(fraction=1, shuffle=True, seed=3),
        "csv": write_csv(data, folder / "t.csv"),
        "csv all quoted": write_csv(data, folder / "q.csv", csv.QUOTE_ALL),
        "csv.gz": write_csv(data, folder / "t.csv.gz"),
        "csv of Polars": folder / "polars.csv",
        "csv of pandas": folder / "pandas.csv",
        "parquet": str(folder / "one.parquet"),
        "folder": many,
        "list": sorted(many.glob("*.parquet")),
        "arrow": arrow,
        "dataset": pds.dataset(many),
        "reader": pa.RecordBatchReader.from_batches(arrow.schema, arrow.to_batches(max_chunksize=512)),
        "pandas": panda,
        "pandas arrow": frame.to_pandas(use_pyarrow_extension_array=True),
        "pandas objects": objects,
        "duckdb": con.table("t"),
    }


def test_engines_agree_bit_for_bit(frame: pl.DataFrame, expected: dict, tmp_path: Path) -> None:
    for engine, data in engines(frame, tmp_path).items():
        for name, schema in SCHEMAS.items():
            if engine == "reader" and name != "rows":
                continue  # a stream is read once
            aggregates, masks = survey(data, schema, statistics())
            assert aggregates == expected[name][0], (engine, name)
            assert masks == expected[name][1], (engine, name)


def test_expected_table_is_not_trivial(expected: dict) -> None:
    for name, (aggregates, masks) in expected.items():
        assert masks.unparsed.sum() > 100
        assert masks.fully_missing >= (12 if name == "rows" else 1)
        assert sum(np.any(v != 0) for v in aggregates.values.values()) == len(aggregates.values)
    assert expected["rows"][0].rows == N
    assert expected["first"][0].rows == expected["last"][0].rows < 900 < expected["two"][0].rows
    assert expected["first"][0] != expected["last"][0]
