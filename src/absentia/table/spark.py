"""The same kernel on a cluster: every partition sums its Arrow batches through mapInArrow, the driver adds."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
import pyarrow as pa
from threadpoolctl import threadpool_limits

from absentia.errors import AbsentiaError, InputError
from absentia.table.encode import ITEM, UNIT, VALUE, Encoder
from absentia.table.masks import MaskCounts
from absentia.table.ratings import sparse_masks
from absentia.table.scan import ENGINES, Total, Work, unreadable
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


def spark_total(frame: Any, work: Work) -> tuple[Total, int]:
    """The total over a PySpark DataFrame, and the rows left out by the rule for one person."""
    schema = work.demand.schema
    if schema.unit is None and schema.long is None:
        return _run(_select(frame, work.columns), _partials(work), Total(work)), 0
    work = replace(work, clean=True)
    encoder = Encoder(schema, text_units=True)
    raw = _select(frame, encoder.columns)
    encoded = nw.from_native(raw.mapInArrow(_encoded(encoder), _ddl(encoder)))
    if schema.long is not None:
        rows = kept(encoded, [UNIT, ITEM], 1).to_native().repartition(UNIT).sortWithinPartitions(UNIT)
        total = _run(rows, _dense_partials(work), Total(work))
    else:
        rows = kept(encoded, [UNIT], encoder.rule.at_most).to_native()
        total = _run(_select(rows, work.columns), _partials(work), Total(work))
    if not work.profile:
        return total, 0
    counts = _run(raw, _raw_counts(encoder), None)
    if schema.long is None:
        total.sums["unparsed"] += counts["unparsed"]
        return total, int(counts["rows"][0]) - total.rows
    return total, int(counts["rows"][0]) - int(total.sums["observed"].sum())


def spark_long_masks(frame: Any, encoder: Encoder) -> MaskCounts:
    """Mask counts of a long table with many items, by two group-bys on the cluster."""
    schema = encoder.schema
    raw = _select(frame, encoder.columns)
    rows = kept(nw.from_native(raw.mapInArrow(_encoded(encoder), _ddl(encoder))), [UNIT, ITEM], 1)
    inside = nw.col(ITEM) >= 0 if schema.columns else ~nw.col(ITEM).is_null()
    shown = rows.filter(~nw.col(VALUE).is_null(), inside)
    users = _collected(rows.select(nw.col(UNIT).n_unique().alias("n")))[0][0]
    sizes = shown.group_by(UNIT).agg(nw.len().alias("k")).group_by("k").agg(nw.len().alias("m"))
    items = _collected(shown.group_by(ITEM).agg(nw.len().alias("m")).select(ITEM, "m"))
    names = list(schema.columns)
    per_item = Counter({names[i] if names else str(i): m for i, m in items})
    counts = _run(raw, _raw_counts(encoder), None)
    dropped = int(counts["rows"][0]) - sum(per_item.values())
    per_row = Counter(dict(_collected(sizes.select("k", "m"))))
    return sparse_masks(schema, users, per_row, per_item, counts["unparsed"], dropped)


def _collected(frame: nw.LazyFrame[Any]) -> list[tuple[Any, ...]]:
    return [tuple(row) for row in frame.to_native().collect()]


def _select(frame: Any, columns: Sequence[str]) -> Any:
    return frame.select(*["`" + name.replace("`", "``") + "`" for name in columns])


def _ddl(encoder: Encoder) -> str:
    return ", ".join("`" + name.replace("`", "``") + "` " + _DDL[t] for name, t in encoder.types.items())


def _run(frame: Any, function: Callable[[Batches], Batches], total: Any) -> Any:
    """Every partition's result added to `total`, or to a plain table of arrays."""
    sums: dict[str, np.ndarray] = {}
    try:
        rows = frame.mapInArrow(function, _RESULT).collect()
    except AbsentiaError:
        raise
    except Exception as e:
        if type(e).__module__.split(".")[0] not in ENGINES:
            raise
        raise unreadable(e) from None
    for row in rows:
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
                total.read(table)
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


def _encoded(encoder: Encoder) -> Callable[[Batches], Batches]:
    types = pa.schema(list(encoder.types.items()))

    def partition(batches: Batches) -> Batches:
        for batch in batches:
            yield from encoder.encoded(batch)[0].cast(types).to_batches()

    return partition


def _raw_counts(encoder: Encoder) -> Callable[[Batches], Batches]:
    """Rows and unparsed cells before any rule."""

    def partition(batches: Batches) -> Batches:
        rows, unparsed = 0, np.zeros(1 if encoder.schema.long else len(encoder.schema.columns), np.int64)
        for batch in batches:
            rows += batch.num_rows
            unparsed += encoder.encoded(batch)[1]
        yield _result({"rows": np.array([rows]), "unparsed": unparsed})

    return partition
