"""Run as a script: the same aggregates through Spark Connect, which cannot share a process with classic Spark."""

import os
import sys

import pyarrow.parquet as pq
from pyspark.sql import SparkSession

from absentia.table.aggregate import survey
from test_table_engines import SCHEMAS, polars_frame, statistics, table


def main(path: str) -> None:
    os.environ["PYSPARK_PYTHON"] = sys.executable
    frame = polars_frame(table())
    pq.write_table(frame.to_arrow(), path)
    spark = SparkSession.builder.remote("local[2]").getOrCreate()
    try:
        data = spark.read.parquet(path).repartition(3)
        assert "connect" in type(data).__module__
        for name in ("rows", "two"):
            assert survey(data, SCHEMAS[name], statistics()) == survey(frame, SCHEMAS[name], statistics()), name
    finally:
        spark.stop()
    print("agrees")


if __name__ == "__main__":
    main(sys.argv[1])
