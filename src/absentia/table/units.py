"""At most m rows of one person, and long tables as one row a user: grouped by narwhals, on any engine alike."""

from __future__ import annotations

import tempfile
import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
import polars as pl
import pyarrow as pa

from absentia.table.cells import Cells, read_clean
from absentia.table.encode import CONTENT, ITEM, ORDER, UNIT, VALUE, Encoder
from absentia.table.scan import Total, Work, each
from absentia.table.source import Batches

__all__ = ["Encoded", "dense", "encode_all", "kept"]

HELD = 2**30  # bytes of encoded rows held in memory before they go to temporary files
BUCKETS = 64


def kept(frame: nw.LazyFrame[Any], keys: Sequence[str], at_most: int) -> nw.LazyFrame[Any]:
    """The first rows of each key by the declared order, ties by content; rows without a person are left out."""
    ranked = frame.filter(~nw.col(UNIT).is_null()).with_columns(
        nw.col(CONTENT).cum_count().over(*keys, order_by=[ORDER, CONTENT]).alias("__rank")
    )
    return ranked.filter(nw.col("__rank") <= at_most).drop("__rank")


@dataclass
class Encoded:
    """Encoded rows, in memory or, beyond 1 GiB, in temporary files by a hash of the person.

    `left`: how many rows are of items outside the list, and how many have no usable order.
    """

    encoder: Encoder
    rows: int = 0
    left: np.ndarray = field(default_factory=lambda: np.zeros(2, np.int64))
    _held: list[pl.DataFrame] = field(default_factory=list)
    _bytes: int = 0
    _folder: tempfile.TemporaryDirectory[str] | None = None
    _lock: Any = field(default_factory=threading.Lock)

    def take(self, batch: pa.RecordBatch | pa.Table) -> None:
        """Encode a batch and hold it."""
        for piece in batch.to_batches() if isinstance(batch, pa.Table) else [batch]:
            table, left = self.encoder.encoded(piece)
            frame = pl.DataFrame(table)
            with self._lock:
                self.rows += len(frame)
                self.left = self.left + left
                self._held.append(frame)
                self._bytes += int(frame.estimated_size())
                if self._bytes > HELD:
                    self._spill()

    def frames(self) -> Iterator[pl.DataFrame]:
        """All rows, those of one person in one frame."""
        if self._folder is None:
            if self._held:
                yield pl.concat(self._held)
            return
        if self._held:
            self._spill()
        for i in range(BUCKETS):
            files = sorted(Path(self._folder.name).glob(f"{i}-*.arrow"))
            if files:
                yield pl.concat([pl.read_ipc(file) for file in files])

    def _spill(self) -> None:
        if self._folder is None:
            self._folder = tempfile.TemporaryDirectory(prefix="absentia-")
        frame = pl.concat(self._held).with_columns((pl.col(UNIT).hash() % BUCKETS).alias("__bucket"))
        turn = len(list(Path(self._folder.name).iterdir()))
        for (bucket,), part in frame.partition_by("__bucket", as_dict=True, include_key=False).items():
            part.write_ipc(Path(self._folder.name) / f"{bucket}-{turn}.arrow")
        self._held, self._bytes = [], 0

    def __enter__(self) -> Encoded:
        return self

    def __exit__(self, kind: type[BaseException] | None, e: BaseException | None, trace: TracebackType | None) -> None:
        if self._folder is not None:
            self._folder.cleanup()


def encode_all(streams: Iterator[Batches], encoded: Encoded) -> None:
    """Every batch of the source, encoded by two threads."""
    each(streams, [encoded, encoded], Encoded.take)


def bounded_total(encoded: Encoded, work: Work) -> tuple[Total, int]:
    """The total of a wide table after the rule for one person's rows, and how many rows it left out."""
    total, rule = Total(work), encoded.encoder.rule
    for frame in encoded.frames():
        rows = kept(nw.from_native(frame.lazy()), [UNIT], rule.at_most).select(*work.columns).to_native().collect()
        total.read(rows.to_arrow())
    return total, encoded.rows - total.rows


def long_total(encoded: Encoded, work: Work) -> tuple[Total, int]:
    """The total of a long table: one row a user, the kept entry of each item; how many entries show nothing."""
    total = Total(work)
    for frame in encoded.frames():
        everybody = frame.get_column(UNIT).drop_nulls().n_unique()
        before = total.rows
        entries = frame.lazy() if work.profile else frame.lazy().filter(pl.col(ITEM).is_in(_items(work)))
        rows = kept(nw.from_native(entries), [UNIT, ITEM], 1).to_native().sort(UNIT).collect()
        for columns, users in dense(iter([rows.to_arrow()]), work):
            total.add(work.of_cells(columns, users))
        total.sums["rows"] += everybody - (total.rows - before)  # users without an entry add zero to every statistic
    return total, encoded.rows - int(total.sums["observed"].sum()) if work.profile else 0


def _items(work: Work) -> list[int]:
    """The codes of the items that are read."""
    position = {name: i for i, name in enumerate(work.demand.schema.columns)}
    return [position[name] for name in work.columns]


def dense(tables: Iterator[pa.Table], work: Work) -> Iterator[tuple[dict[str, Cells], int]]:
    """Clean columns, one an item, from entries sorted by user; a user may go on in the next table."""
    rest: pa.Table | None = None
    for table in tables:
        whole = table if rest is None else pa.concat_tables([rest, table])
        start = _last_start(whole)
        rest = whole.slice(start)
        yield from _dense(whole.slice(0, start), work)
    if rest is not None:
        yield from _dense(rest, work)


def _users(table: pa.Table) -> np.ndarray:
    """0, 1, ... for each user in turn."""
    ids: np.ndarray = pl.Series(table.column(UNIT)).rle_id().to_numpy().astype(np.int64)
    return ids


def _last_start(table: pa.Table) -> int:
    ids = _users(table)
    return int(np.searchsorted(ids, ids[-1])) if len(ids) else 0


def _dense(table: pa.Table, work: Work) -> Iterator[tuple[dict[str, Cells], int]]:
    if not table.num_rows:
        return
    users, items = _users(table), table.column(ITEM).to_numpy()
    long = work.demand.schema.long
    assert long is not None
    cells = read_clean(table.column(VALUE).combine_chunks(), long.value_column)
    where = np.full(len(work.demand.schema.columns) + 1, -1)
    where[_items(work)] = np.arange(len(work.columns))
    inside = (items >= 0) & (where[items] >= 0)
    last = int(users[-1]) + 1
    for low in range(0, last, work.batch_rows):
        high = min(low + work.batch_rows, last)
        a, b = np.searchsorted(users, [low, high])
        V = np.zeros((len(work.columns), high - low), cells.values.dtype)
        S, B = np.zeros(V.shape, bool), None
        chosen, row, user = _placed(inside & cells.seen, where[items], users - low, a, b)
        V[row, user], S[row, user] = cells.values[chosen], True
        if cells.bad is not None:
            B = np.zeros(V.shape, bool)
            B[_placed(inside & cells.bad, where[items], users - low, a, b)[1:]] = True
        yield {name: Cells(V[i], S[i], None if B is None else B[i]) for i, name in enumerate(work.columns)}, high - low


def _placed(
    which: np.ndarray, row: np.ndarray, user: np.ndarray, a: int, b: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The chosen entries from a to b, with the row and the column of each."""
    chosen = a + np.flatnonzero(which[a:b])
    return chosen, row[chosen], user[chosen]
