"""One pass over a table's rows in file order, for evidence: sums by missingness pattern, neighbours, clusters."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa

from absentia.errors import InputError
from absentia.planning.schema import Column, Schema
from absentia.table.cells import Cells, read
from absentia.table.encode import identifiers
from absentia.table.scan import reading
from absentia.table.source import Source, is_spark, open_source, polars_column

__all__ = ["Clusters", "Coordinates", "MaskOrder", "PatternSums", "RowScan", "row_scan"]

BATCH = 2**18
MAX_CELLS = 2**27  # doubles in the cross products of all patterns: 1 GiB
MAX_COORDINATES = 256


@dataclass(frozen=True)
class Coordinates:
    """The coordinates whose means are compared: numbers, one indicator for each value of a category but the first."""

    columns: tuple[Column, ...]

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(f"{c.name}={v}" if v is not None else c.name for c in self.columns for v in _values(c))

    @property
    def owner(self) -> np.ndarray:
        """The column that each coordinate belongs to."""
        return np.repeat(np.arange(len(self.columns)), [len(_values(c)) for c in self.columns])

    def matrix(self, cells: Sequence[Cells]) -> np.ndarray:
        """Values, one row a record, 0 where missing; numbers in [-1, 1] by their public bounds."""
        parts = []
        for column, cell in zip(self.columns, cells, strict=True):
            if column.kind == "number":
                z = (cell.values - column.low) * (2 / (column.high - column.low)) - 1
                parts.append(np.where(cell.seen, z, 0.0)[:, None])
            else:
                codes = np.arange(1, len(column.values))
                parts.append((cell.values[:, None] == codes) & cell.seen[:, None])
        return np.concatenate(parts, axis=1, dtype=np.float64)


def _values(column: Column) -> tuple[Any, ...]:
    return (None,) if column.kind == "number" else column.values[1:]


@dataclass
class PatternSums:
    """Rows, sums and cross products of each missingness pattern; `observed` says which columns it shows.

    With too many coordinates or patterns only rows are counted, and `refused` says so.
    """

    owner: np.ndarray
    observed: list[np.ndarray] = field(default_factory=list)
    rows: np.ndarray = field(default_factory=lambda: np.zeros(0))
    sums: np.ndarray = field(default_factory=lambda: np.zeros((0, 0)))
    cross: np.ndarray = field(default_factory=lambda: np.zeros((0, 0, 0)))
    refused: str | None = None
    _index: dict[bytes, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if len(self.owner) > MAX_COORDINATES:
            self.refused = f"{len(self.owner)} coordinates, more than {MAX_COORDINATES}: put fewer columns in scope"

    def add(self, O: np.ndarray, Z: np.ndarray) -> None:  # noqa: E741
        """Add rows: O columns observed (rows x columns, bool), Z coordinates (rows x coordinates)."""
        distinct, inverse = _distinct(O)
        where = np.array([self._number(pattern) for pattern in distinct], np.int64)
        counts = np.bincount(inverse, minlength=len(distinct))
        self._grow(len(self.observed), Z.shape[1])
        self.rows[where] += counts
        if self.refused is None:
            self._add_products(where, Z[np.argsort(inverse, kind="stable")], np.cumsum(counts))

    def _add_products(self, where: np.ndarray, Z: np.ndarray, ends: np.ndarray) -> None:
        """Rows sorted by pattern, one block a pattern."""
        start = 0
        for i, end in zip(where.tolist(), ends.tolist(), strict=True):
            block = Z[start:end]
            self.sums[i] += block.sum(axis=0)
            self.cross[i] += block.T @ block
            start = end

    def _number(self, pattern: np.ndarray) -> int:
        key = np.packbits(pattern).tobytes()
        if key not in self._index:
            self._index[key] = len(self.observed)
            self.observed.append(pattern)
        return self._index[key]

    def _grow(self, patterns: int, q: int) -> None:
        """Room for twice the patterns when they do not fit."""
        if patterns <= len(self.rows):
            return
        most = MAX_CELLS // max(1, q * q)
        if self.refused is None and patterns > most:
            self.refused = f"more than {most:,} patterns of {q} coordinates: put fewer columns in scope"
            self.sums, self.cross = np.zeros((0, 0)), np.zeros((0, 0, 0))
        room = max(2 * patterns, 64) if self.refused else min(max(2 * patterns, 64), most)
        more = room - len(self.rows)
        self.rows = np.concatenate([self.rows, np.zeros(more)])
        if self.refused is None:
            self.sums = np.concatenate([self.sums.reshape(-1, q), np.zeros((more, q))])
            self.cross = np.concatenate([self.cross.reshape(-1, q, q), np.zeros((more, q, q))])


def _distinct(O: np.ndarray) -> tuple[np.ndarray, np.ndarray]:  # noqa: E741
    """The distinct rows of a boolean matrix, and which of them each row is."""
    packed = np.packbits(O, axis=1)
    wide = np.zeros((len(O), -(-packed.shape[1] // 8) * 8), np.uint8)
    wide[:, : packed.shape[1]] = packed
    words = wide.view(np.uint64)
    if words.shape[1] == 1:
        _, first, inverse = np.unique(words[:, 0], return_index=True, return_inverse=True)
    else:
        keys = np.ascontiguousarray(wide).view(np.dtype((np.void, wide.shape[1])))[:, 0]
        _, first, inverse = np.unique(keys, return_index=True, return_inverse=True)
    return O[first], inverse


@dataclass
class MaskOrder:
    """What neighbours in file order share: rows, rows observed, both of two neighbours observed, missing stretches."""

    d: int
    rows: int = 0
    observed: np.ndarray = field(init=False)
    both: np.ndarray = field(init=False)
    stretches: np.ndarray = field(init=False)
    first: np.ndarray = field(init=False)
    last: np.ndarray = field(init=False)

    def __post_init__(self) -> None:
        self.observed, self.both, self.stretches = (np.zeros(self.d, np.int64) for _ in range(3))
        self.first = self.last = np.ones(self.d, bool)

    def add(self, O: np.ndarray) -> None:  # noqa: E741
        """Add the next rows; before the first row everything counts as observed, so that a stretch can start there."""
        before = np.concatenate([self.last[None], O[:-1]])
        self.stretches += (before & ~O).sum(axis=0)
        self.both += (before & O)[int(self.rows == 0) :].sum(axis=0)
        self.observed += O.sum(axis=0)
        self.first = O[0] if self.rows == 0 else self.first
        self.last = O[-1]
        self.rows += len(O)


@dataclass
class Clusters:
    """Rows of each cluster and how many of them show each column; a row without a key is a cluster of its own."""

    d: int
    sizes: np.ndarray = field(default_factory=lambda: np.zeros(0, np.int64))
    observed: np.ndarray = field(default_factory=lambda: np.zeros((0, 0), np.int32))
    _index: dict[str, int] = field(default_factory=dict)

    def add(self, keys: pa.Array, O: np.ndarray) -> None:  # noqa: E741
        text = identifiers(keys, "of the clusters")
        text = pl.select(pl.when(text != "").then(text)).to_series()
        distinct = text.drop_nulls().unique(maintain_order=True)
        numbers = pl.Series([self._index.setdefault(key, len(self._index)) for key in distinct], dtype=pl.Int64)
        number = text.replace_strict(distinct, numbers, default=-1, return_dtype=pl.Int64).to_numpy()
        known = len(self._index)
        more = known - len(self.sizes)
        self.sizes = np.concatenate([self.sizes, np.zeros(max(0, more), np.int64)])
        self.observed = np.concatenate([self.observed.reshape(-1, self.d), np.zeros((max(0, more), self.d), np.int32)])
        has = number >= 0
        self.sizes += np.bincount(number[has], minlength=known)
        for j in range(self.d):
            self.observed[:, j] += np.bincount(number[has & O[:, j]], minlength=known).astype(np.int32)


@dataclass
class RowScan:
    """All that the evidence needs, from one pass."""

    coordinates: Coordinates
    patterns: PatternSums
    order: MaskOrder
    clusters: Clusters | None = None

    @property
    def columns(self) -> tuple[str, ...]:
        return tuple(c.name for c in self.coordinates.columns)


def row_scan(table: Any, schema: Schema, cluster: str | None = None) -> RowScan:
    """The scan of a wide table, rows in the order in which they are stored; `cluster` may be any column of it."""
    if schema.long is not None:
        raise InputError("schema", "[long]", "a wide table: one row a person, one column a variable", code="E-LONG")
    if is_spark(table):
        remedy = "Rows of a distributed table have no order: write them to a file in the order of collection."
        raise InputError("table", "a Spark DataFrame", "a file or a local frame", code="E-TABLE", remedy=remedy)
    coordinates = Coordinates(tuple(schema.columns.values()))
    d = len(coordinates.columns)
    found = RowScan(coordinates, PatternSums(coordinates.owner), MaskOrder(d), Clusters(d) if cluster else None)
    source = _in_order(table)
    wanted = list(dict.fromkeys([*schema.columns, *([cluster] if cluster else [])]))
    source.require(wanted)
    for batch in _batches(source, wanted):
        cells = [read(batch.column(c.name), c) for c in coordinates.columns]
        O = np.stack([c.seen for c in cells], axis=1)  # noqa: E741
        refused = found.patterns.refused is not None
        found.patterns.add(O, np.zeros((len(O), 0)) if refused else coordinates.matrix(cells))
        found.order.add(O)
        if found.clusters is not None:
            found.clusters.add(batch.column(cluster), O)
    return found


def _in_order(table: Any) -> Source:
    """The source of a table; Polars frames by way of Arrow, which keeps their order."""
    if isinstance(table, pl.LazyFrame):
        with reading():
            table = table.collect()
    if isinstance(table, pl.DataFrame):
        table = table.select([polars_column(name, kind) for name, kind in table.schema.items()]).to_arrow()
    return open_source(table)


def _batches(source: Source, columns: list[str]) -> Iterator[pa.RecordBatch]:
    """Batches of about 2^18 rows, in order."""
    held: list[pa.Table] = []
    rows = 0
    for batch in _stored(source, columns):
        held.append(pa.Table.from_batches([batch]) if isinstance(batch, pa.RecordBatch) else batch)
        rows += batch.num_rows
        if rows >= BATCH:
            yield from _joined(held)
            held, rows = [], 0
    yield from _joined(held)


def _stored(source: Source, columns: list[str]) -> Iterator[pa.RecordBatch | pa.Table]:
    """Batches as they are stored."""
    with reading(stream=True):
        for stream in source.streams(columns):
            yield from stream


def _joined(held: list[pa.Table]) -> Iterator[pa.RecordBatch]:
    if any(table.num_rows for table in held):
        yield from pa.concat_tables(held, promote_options="default").combine_chunks().to_batches()
