"""Spark in local mode against the local engines: bit-identical through mapInArrow, wide, by person and long."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import polars as pl
import pyarrow.parquet as pq
import pytest

from absentia.errors import InputError
from absentia.planning.schema import Schema
from absentia.query.statistic import Statistic
from absentia.table.aggregate import profile_counts, survey
from test_table_engines import SCHEMAS, polars_frame, statistics, table
from test_table_long import LONG, long_frame, long_statistics


@pytest.fixture(scope="module")
def spark():
    pyspark = pytest.importorskip("pyspark", reason="PySpark is not installed")
    os.environ["PYSPARK_PYTHON"] = sys.executable
    builder = pyspark.sql.SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false")
    session = builder.config("spark.sql.shuffle.partitions", "2").config("spark.driver.memory", "1g").getOrCreate()
    session.sparkContext.setLogLevel("ERROR")
    yield session
    session.stop()


def agree(spark, folder: Path, names: list[str]) -> None:
    frame = polars_frame(table())
    pq.write_table(frame.to_arrow(), folder / "t.parquet")
    data = spark.read.parquet(str(folder / "t.parquet")).repartition(3)
    for name in names:
        aggregates, masks = survey(data, SCHEMAS[name], statistics())
        expected = survey(frame, SCHEMAS[name], statistics())
        assert (aggregates, masks) == expected, name


def test_spark_agrees_bit_for_bit(spark, tmp_path: Path) -> None:
    agree(spark, tmp_path, ["rows"])


def test_spark_errors_are_ours(spark) -> None:
    with pytest.raises(InputError, match="E-COLUMN"):
        profile_counts(spark.createDataFrame([(1,)], "a int"), SCHEMAS["rows"])


def test_spark_names_are_not_syntax(spark) -> None:
    name = "Sepal.`Length`"
    document = {"columns": {name: {"kind": "number", "bounds": [0, 9]}}, "unit": "p.q"}
    rows = [(1, 2.0), (1, None), (2, 7.0), (None, 1.0)]
    frame = pl.DataFrame(rows, schema=["p.q", name], orient="row")
    for schema in (Schema.from_dict({"columns": document["columns"]}), Schema.from_dict(document)):
        statistic = Statistic(((name, 1),))
        data = spark.createDataFrame(rows, "p int, x double").toDF("p.q", name)
        assert survey(data, schema, [statistic]) == survey(frame, schema, [statistic])


@pytest.mark.campaign
def test_spark_agrees_by_person(spark, tmp_path: Path) -> None:
    agree(spark, tmp_path, ["first", "last", "two"])


@pytest.mark.campaign
@pytest.mark.parametrize("name", list(LONG))
def test_spark_agrees_in_long_form(spark, tmp_path: Path, name: str) -> None:
    pq.write_table(long_frame().to_arrow(), tmp_path / "t.parquet")
    data, schema = spark.read.parquet(str(tmp_path / "t.parquet")).repartition(3), LONG[name]
    assert survey(data, schema, long_statistics(schema)) == survey(long_frame(), schema, long_statistics(schema))


def test_spark_connect_agrees_bit_for_bit(tmp_path: Path) -> None:
    pytest.importorskip("pyspark.sql.connect.session", reason="pyspark[connect] is not installed")
    script = Path(__file__).with_name("spark_connect.py")
    run = subprocess.run([sys.executable, str(script), str(tmp_path / "t.parquet")], capture_output=True, text=True)
    assert run.stdout.endswith("agrees\n"), run.stderr[-3000:]
