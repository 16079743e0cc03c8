"""The same kernel on a cluster: every partition sums its Arrow batches through mapInArrow, the driver adds.

Columns travel under plain names, because Spark reads dots and backticks in a name as syntax.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
import pyarrow as pa
from threadpoolctl import threadpool_limits

from absentia.errors import InputError
from absentia.table.encode import CONTENT, ITEM, ORDER, UNIT, VALUE, Encoder
from absentia.table.masks import Left, MaskCounts
from absentia.table.ratings import sparse_masks
from absentia.table.scan import Total, Work, reading
from absentia.table.source import BATCH, Source
from absentia.table.units import dense, kept

__all__ = ["spark_long_masks", "spark_source", "spark_total"]

_RESULT = "key string, shape array<bigint>, data binary"
_RESULT_ARROW = pa.schema([("key", pa.string()), ("shape", pa.list_(pa.int64())), ("data", pa.binary())])
_DDL = {pa.string(): "string", pa.int32(): "int", pa.int64(): "bigint", pa.float64(): "double"}
Batches = Iterator[pa.RecordBatch]


def spark_source(frame: Any) -> Source:
    """The column names of a PySpark DataFrame; its rows never leave the cluster."""

    def streams(columns: Sequence[str]) -> Iterator[Any]:
        raise InputError("table", "a PySpark DataFrame", "an operation that runs on the cluster")

    return Source(tuple(frame.columns), streams)


@reading()
def spark_total(frame: Any, work: Work) -> tuple[Total, Left]:
    """The total over a PySpark DataFrame, and what the rule for one person left out."""
    schema = work.demand.schema
    if schema.unit is None and schema.long is None:
        return _run(_select(frame, work.columns), _partials(work), Total(work)), Left()
    work = replace(work, clean=True)
    encoder = Encoder(schema, text_units=True)
    raw = _select(frame, encoder.columns)
    encoded = _encoded(raw, encoder)
    if schema.long is not None:
        rows = kept(encoded, [UNIT, ITEM], 1).to_native().repartition(UNIT).sortWithinPartitions(UNIT)
        total = _run(rows, _dense_partials(work), Total(work))
    else:
        rows = kept(encoded, [UNIT], encoder.rule.at_most).to_native()
        plain = _plain(encoder.types)
        total = _run(rows.select(*[plain[name] for name in work.columns]), _partials(work), Total(work))
    if not work.profile:
        return total, Left()
    counted = total.rows if schema.long is None else int(total.sums["observed"].sum())
    return total, _left(raw, encoder, counted)


@reading()
def spark_long_masks(frame: Any, encoder: Encoder) -> MaskCounts:
    """Mask counts of a long table with many items, by two group-bys on the cluster."""
    schema = encoder.schema
    raw = _select(frame, encoder.columns)
    rows = kept(_encoded(raw, encoder), [UNIT, ITEM], 1)
    inside = nw.col(ITEM) >= 0 if schema.columns else ~nw.col(ITEM).is_null()
    number = schema.long is not None and schema.long.value_column.kind == "number"
    bad = nw.col(VALUE).is_nan() if number else nw.col(VALUE) < 0
    known = rows.filter(~nw.col(VALUE).is_null(), inside)
    shown = known.filter(~bad)
    users = _collected(rows.select(nw.col(UNIT).n_unique().alias("n")))[0][0] or 0  # null without rows
    sizes = shown.group_by(UNIT).agg(nw.len().alias("k")).group_by("k").agg(nw.len().alias("m"))
    items = _collected(shown.group_by(ITEM).agg(nw.len().alias("m")).select(ITEM, "m"))
    names = list(schema.columns)
    per_item = Counter({names[i] if names else str(i): m for i, m in items})
    per_row = Counter(dict(_collected(sizes.select("k", "m"))))
    unparsed = _collected(known.filter(bad).select(nw.len().alias("n")))[0][0]
    return sparse_masks(schema, users, per_row, per_item, unparsed, _left(raw, encoder, sum(per_item.values())))


def _left(raw: Any, encoder: Encoder, counted: int) -> Left:
    counts = _run(raw, _raw_counts(encoder), None)
    return Left(int(counts["rows"][0]) - counted, *counts["left"].tolist())


def _collected(frame: nw.LazyFrame[Any]) -> list[tuple[Any, ...]]:
    return [tuple(row) for row in frame.to_native().collect()]


def _select(frame: Any, columns: Sequence[str]) -> Any:
    """These columns of a frame, by position: c0, c1, ..."""
    where = [list(frame.columns).index(name) for name in columns]
    numbered = frame.toDF(*[f"c{i}" for i in range(len(frame.columns))])
    return numbered.select(*[f"c{i}" for i in where]).toDF(*[f"c{i}" for i in range(len(where))])


def _plain(names: Iterable[str]) -> dict[str, str]:
    """The plain name under which each encoded column travels; those of the grouping keep their own."""
    own = (UNIT, ITEM, ORDER, CONTENT, VALUE)
    return {name: name if name in own else f"c{i}" for i, name in enumerate(names)}


def _run(frame: Any, function: Callable[[Batches], Batches], total: Any) -> Any:
    """Every partition's result added to `total`, or to a plain table of arrays."""
    sums: dict[str, np.ndarray] = {}
    for row in frame.mapInArrow(function, _RESULT).collect():
        array = np.frombuffer(bytes(row["data"]), np.int64).reshape(row["shape"])
        if total is not None:
            total.add({row["key"]: array})
        else:
            sums[row["key"]] = sums.get(row["key"], 0) + array
    return sums if total is None else total


def _result(sums: dict[str, np.ndarray]) -> pa.RecordBatch:
    arrays = {key: np.ascontiguousarray(value, np.int64) for key, value in sums.items()}
    rows = [{"key": k, "shape": list(v.shape), "data": v.tobytes()} for k, v in arrays.items()]
    return pa.RecordBatch.from_pylist(rows, schema=_RESULT_ARROW)


def _gathered(batches: Batches) -> Iterator[pa.Table]:
    """Spark's short batches, joined to the kernel's length."""
    held: list[pa.RecordBatch] = []
    for batch in batches:
        held.append(batch)
        if sum(b.num_rows for b in held) >= BATCH:
            yield pa.Table.from_batches(held).combine_chunks()
            held = []
    if held:
        yield pa.Table.from_batches(held).combine_chunks()


def _partials(work: Work) -> Callable[[Batches], Batches]:
    def partition(batches: Batches) -> Batches:
        total = Total(work)
        with threadpool_limits(1, "blas"):
            for table in _gathered(batches):
                total.read(table.rename_columns(list(work.columns)))
        yield _totalled(total)

    return partition


def _dense_partials(work: Work) -> Callable[[Batches], Batches]:
    def partition(batches: Batches) -> Batches:
        total = Total(work)
        with threadpool_limits(1, "blas"):
            for columns, users in dense(_gathered(batches), work):
                total.add(work.of_cells(columns, users))
        yield _totalled(total)

    return partition


def _totalled(total: Total) -> pa.RecordBatch:
    patterns = {"patterns": total.patterns.merge()} if total.work.profile else {}
    return _result(total.sums | patterns)


def _encoded(raw: Any, encoder: Encoder) -> nw.LazyFrame[Any]:
    """The encoded rows, under plain names."""
    names, types = _plain(encoder.types), pa.schema(list(encoder.types.items()))

    def partition(batches: Batches) -> Batches:
        for batch in batches:
            table = encoder.encoded(batch.rename_columns(list(encoder.columns)))[0].cast(types)
            yield from table.rename_columns(list(names.values())).to_batches()

    ddl = ", ".join(f"{names[name]} {_DDL[t]}" for name, t in encoder.types.items())
    rows: nw.LazyFrame[Any] = nw.from_native(raw.mapInArrow(partition, ddl))
    return rows


def _raw_counts(encoder: Encoder) -> Callable[[Batches], Batches]:
    """Rows, and what is left out of them, before any rule."""

    def partition(batches: Batches) -> Batches:
        rows, left = 0, np.zeros(2, np.int64)
        for batch in batches:
            rows += batch.num_rows
            left += encoder.encoded(batch.rename_columns(list(encoder.columns)))[1]
        yield _result({"rows": np.array([rows]), "left": left})

    return partition
