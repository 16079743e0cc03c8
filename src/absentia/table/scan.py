"""One pass over streams of batches: two threads, each with its own exact total, merged by addition at the end."""

from __future__ import annotations

import signal
import sys
import threading
import time
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, TypeVar

import numpy as np
import pyarrow as pa
from threadpoolctl import threadpool_limits

from absentia.errors import AbsentiaError, InputError
from absentia.planning.schema import Schema
from absentia.query.statistic import Statistic
from absentia.table.cells import Cells, read, read_clean
from absentia.table.kernel import BATCH, Demand, Partial, check_rows, observed, sums
from absentia.table.masks import MAX_PAIR_COLUMNS, Left, MaskCounts, Patterns, counted, mask_sums, mask_zero
from absentia.table.source import Batches

__all__ = ["Total", "Work", "each", "reading", "scan"]

WORKERS = 2
State = TypeVar("State")
ENGINES = ("polars", "pyarrow", "duckdb", "_duckdb", "pyspark", "py4j", "grpc", "narwhals", "pyo3_runtime")


@dataclass(frozen=True)
class Work:
    """What is computed on every batch; `clean` when the cells have been read once already."""

    demand: Demand
    profile: bool = False
    clean: bool = False

    @cached_property
    def columns(self) -> tuple[str, ...]:
        """The columns of the schema that are read."""
        return tuple(self.demand.schema.columns) if self.profile else self.demand.columns

    @cached_property
    def batch_rows(self) -> int:
        """Rows of a batch: at most 2^16, fewer when there are many columns."""
        return min(BATCH, max(1024, 2**22 // max(1, len(self.columns))))

    def partial(self, batch: pa.RecordBatch) -> Partial:
        """The exact partial of one batch of at most `batch_rows` rows."""
        schema, cells = self.demand.schema, read_clean if self.clean else read
        return self.of_cells(
            {name: cells(batch.column(name), schema.columns[name]) for name in self.columns}, batch.num_rows
        )

    def of_cells(self, columns: Mapping[str, Cells], rows: int) -> Partial:
        """The exact partial of columns whose cells have been read."""
        out = sums(self.demand, columns, rows)
        names = self.columns if self.profile else self.demand.pair_counts
        if names:
            O = observed(columns, names, rows)  # noqa: E741
            out |= mask_sums(columns, names, O) if self.profile else {}
            out |= self._pairs(names, O)
        return out

    def _pairs(self, names: Sequence[str], O: np.ndarray) -> Partial:  # noqa: E741
        """Pair counts, once for the profile and the statistics."""
        both: Partial = {}
        if self.demand.pair_counts or len(names) <= MAX_PAIR_COLUMNS:
            counts = (O @ O.T).astype(np.int64)
            index = [names.index(name) for name in self.demand.pair_counts]
            both["pair_counts"] = counts[np.ix_(index, index)]
            if self.profile and len(names) <= MAX_PAIR_COLUMNS:
                both["pairs"] = counts
        return both


@dataclass
class Total:
    """Merged partials."""

    work: Work
    sums: Partial = field(init=False)
    patterns: Patterns = field(init=False)

    def __post_init__(self) -> None:
        self.sums = self.work.demand.zero()
        self.patterns = Patterns(len(self.work.columns))
        if self.work.profile:
            self.sums |= mask_zero(len(self.work.columns))

    def read(self, batch: pa.RecordBatch | pa.Table) -> None:
        """Add a batch of any length."""
        rows = self.work.batch_rows
        pieces = batch.to_batches(max_chunksize=rows) if isinstance(batch, pa.Table) else [batch]
        for piece in pieces:
            for start in range(0, piece.num_rows, rows):
                self.add(self.work.partial(piece.slice(start, rows)))

    def add(self, partial: Partial) -> None:
        for key, value in partial.items():
            if key == "patterns":
                self.patterns.add(value)
            else:
                self.sums[key] += value
        check_rows(int(self.sums["rows"][0]), self.work.demand.grid)

    def merge(self, other: Total) -> Total:
        self.add(other.sums)
        self.patterns.join(other.patterns)
        return self

    @property
    def rows(self) -> int:
        return int(self.sums["rows"][0])

    def values(self) -> dict[Statistic, np.ndarray]:
        return self.work.demand.values(self.sums)

    def masks(self, left: Left) -> MaskCounts:
        schema: Schema = self.work.demand.schema
        return counted(schema, self.sums, self.patterns, left)


def scan(streams: Iterator[Batches], work: Work) -> Total:
    """The total over all streams."""
    totals = each(streams, [Total(work) for _ in range(WORKERS)], Total.read)
    for other in totals[1:]:
        totals[0].merge(other)
    return totals[0]


def each(
    streams: Iterator[Batches], states: list[State], take: Callable[[State, pa.RecordBatch | pa.Table], None]
) -> list[State]:
    """Every batch taken by one of the states, each in its own thread.

    An interrupt stops the threads after their batch; nothing is left behind.
    """
    lock, stop, seen = threading.Lock(), threading.Event(), Rows()

    def worker(state: State) -> None:
        while not stop.is_set():
            with lock, reading(stream=True):
                stream = next(streams, None)
            if stream is None:
                return
            for batch in _read(stream):
                take(state, batch)
                seen.rows += batch.num_rows
                if stop.is_set():
                    return

    own_interrupts()
    with reading(), threadpool_limits(1, "blas"), ThreadPoolExecutor(len(states)) as pool:
        futures = [pool.submit(worker, state) for state in states]
        try:
            watch(futures, seen)
            stop.set()  # all are done, or one has failed and the other need not go on
            for future in futures:
                future.result()
        finally:
            stop.set()
            wait(futures)
            if isinstance(streams, Generator):
                streams.close()
    return states


def _read(stream: Batches) -> Iterator[pa.RecordBatch | pa.Table]:
    with reading(stream=True):
        yield from stream


def own_interrupts() -> None:
    """Python's handler again, where Polars has put its own: that one loses an interrupt that meets a short query."""
    handler = signal.getsignal(signal.SIGINT)
    if handler is not None and threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGINT, handler)


@contextmanager
def reading(stream: bool = False) -> Iterator[None]:
    """A context in which an engine's own message, which may quote cells, becomes one refusal.

    `stream`: nothing but an engine works here; Arrow gives the message of any engine as an OSError. What an engine
    written in Rust raises when it panics is no Exception.
    """
    try:
        yield
    except BaseException as e:
        engine = type(e).__module__.split(".")[0] in ENGINES or (stream and isinstance(e, (OSError, MemoryError)))
        if isinstance(e, AbsentiaError) or not engine:
            raise
        if "No module named 'absentia'" in str(e):
            remedy = "Install absentia[spark] in the Python of every worker (PYSPARK_PYTHON, or a shipped environment)."
            raise InputError("table", "workers without absentia", "a cluster with it", "E-SPARK", remedy) from None
        remedy = (
            "Read the table with its engine alone to see what it says; absentia shows no message that may quote cells. "
            "Where the engine guesses types from the first rows of a file, let it read every column as text."
        )
        raise InputError("table", type(e).__name__, "a table that its engine can read", "E-READ", remedy) from None


@dataclass
class Rows:
    """Rows read so far, for the eye only."""

    rows: int = 0


def watch(futures: Sequence[Any], seen: Rows) -> None:
    """Wait; on a terminal, say how far it is once a second has passed."""
    started = time.monotonic()
    if wait(futures, 1.0, FIRST_EXCEPTION).not_done and sys.stderr.isatty():
        from rich.console import Console

        with Console(stderr=True).status("reading") as status:
            while wait(futures, 0.25, FIRST_EXCEPTION).not_done and not any(
                f.done() and f.exception() for f in futures
            ):
                status.update(f"{seen.rows:,} rows read in {time.monotonic() - started:.0f} s")
    wait(futures, None, FIRST_EXCEPTION)
