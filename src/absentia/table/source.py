"""Any table to streams of Arrow batches: files, folders, Arrow, pandas, Polars, DuckDB; Spark goes its own way.

Only the columns asked for are read, a batch at a time. Nothing is inferred: CSV cells arrive as text.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa
import pyarrow.dataset as pds
import pyarrow.parquet as pq
import pyarrow.types as pt

from absentia.errors import InputError
from absentia.table.cells import times
from absentia.table.spelling import spelled
from absentia.table.textfile import csv_batches, csv_header, open_csv

__all__ = ["Source", "is_spark", "open_source", "polars_column", "require_commas"]

BATCH = 2**16
Batches = Iterable[pa.RecordBatch | pa.Table]
_REMEDY = "The first line of a CSV file must name the columns; a column that is out of scope is left out of the schema."
_ENGINES = "For a DuckDB relation install absentia[duckdb], for a PySpark DataFrame absentia[spark]."
_NAMES = "Check the spelling of the path, and that its name ends in .csv, .csv.gz, .parquet or .pq."
_KINDS = "Save the table as CSV or Parquet, and read files of different kinds one by one."
_WHOLE = "Write or copy the file again: it is damaged, or another kind of file under this name."


@dataclass(frozen=True)
class Source:
    """The names of a table's columns, and streams of batches; different streams may be read by different threads."""

    names: tuple[str, ...]
    streams: Callable[[Sequence[str]], Iterator[Batches]]

    def require(self, columns: Sequence[str]) -> None:
        """Nothing, or an InputError: every column of the schema is in the header, once."""
        if len(self.names) == 1 and self.names[0] not in columns:
            require_commas(self.names)
        for name in columns:
            if self.names.count(name) != 1:
                found = "absent from the table" if name not in self.names else "twice in the table"
                raise InputError(f"columns.{name}", found, "one column of the header", code="E-COLUMN", remedy=_REMEDY)


def require_commas(header: Sequence[str]) -> None:
    """Nothing, or an InputError where another separator made one column of the whole line."""
    if len(header) == 1 and any(mark in header[0] for mark in ";\t|"):
        remedy = "Write the file again with commas: another separator makes one column of the whole line."
        raise InputError("table", "one column", "a CSV file with commas between its cells", "E-HEADER", remedy)


def open_source(table: Any) -> Source:
    """The source behind a path, a list of paths or a frame of any supported engine (Spark apart)."""
    if isinstance(table, Source):
        return table
    if isinstance(table, (str, Path)):
        return _files(_listed(Path(table)), str(table))
    if isinstance(table, (list, tuple)) and table and all(isinstance(p, (str, Path)) for p in table):
        return _files([Path(p) for p in table], "the list of files")
    if hasattr(table, "to_native"):  # a narwhals frame
        return open_source(table.to_native())
    if isinstance(table, pl.DataFrame):
        table = table.lazy()
    if isinstance(table, pl.LazyFrame):
        return _polars(table)
    if isinstance(table, pa.RecordBatch):
        table = pa.Table.from_batches([table])
    if isinstance(table, pa.Table):
        return Source(
            tuple(table.column_names), lambda c: ([b] for b in table.select(list(c)).to_batches(max_chunksize=BATCH))
        )
    if isinstance(table, pds.Dataset):
        return Source(
            tuple(table.schema.names), lambda c: ([b] for b in table.to_batches(columns=list(c), batch_size=BATCH))
        )
    engine = type(table).__module__.split(".")[0].lstrip("_")
    if engine == "pandas":
        return _pandas(table)
    if engine == "duckdb" and hasattr(table, "project"):
        return _duckdb(table)
    if hasattr(table, "__arrow_c_stream__"):
        try:
            reader = pa.RecordBatchReader.from_stream(table)
        except pa.ArrowException:
            raise _no_table(table) from None
        return Source(tuple(reader.schema.names), lambda c: ([b.select(list(c))] for b in reader))
    raise _no_table(table)


def _no_table(table: Any) -> InputError:
    return InputError(
        "table", type(table).__name__,
        "a CSV or Parquet path, a folder, a list of paths, or a frame of Arrow, pandas, Polars, DuckDB or PySpark",
        code="E-TABLE", remedy=_ENGINES,
    )  # fmt: skip


def is_spark(table: Any) -> bool:
    """Whether this is a PySpark DataFrame, classic or Connect."""
    return type(table).__module__.startswith("pyspark.sql") and hasattr(table, "mapInArrow")


def _listed(path: Path) -> list[Path]:
    """The files behind a path: itself, or what a folder holds."""
    if not path.is_dir():
        return [path]
    files = sorted(p for p in path.rglob("*") if p.is_file() and _kind(p) and not _hidden(p.relative_to(path)))
    if not files:
        raise InputError("table", str(path), "a folder with Parquet or CSV files", code="E-EMPTY", remedy=_NAMES)
    return files


def _hidden(path: Path) -> bool:
    """Whether a file is, or lies in, what engines leave aside: `_temporary`, `_delta_log`, `.ipynb_checkpoints`."""
    return any(part.startswith((".", "_")) for part in path.parts)


def _kind(path: Path) -> str:
    name = path.name.lower()
    if name.endswith((".csv", ".csv.gz")):
        return "csv"
    return "parquet" if name.endswith((".parquet", ".pq")) else ""


def _files(paths: list[Path], given: str) -> Source:
    for path in paths:
        if not path.is_file():
            raise InputError("table", str(path), "an existing file or folder", code="E-FILE", remedy=_NAMES)
    kinds = {_kind(path) for path in paths}
    if len(kinds) != 1 or "" in kinds:
        allowed = "files named .csv, .csv.gz or .parquet, all of one kind"
        raise InputError("table", given, allowed, code="E-FILE", remedy=_KINDS)
    headers = [_csv_names(p) if kinds == {"csv"} else _parquet_fields(p) for p in paths]
    for path, header in zip(paths, headers, strict=True):
        if sorted(header) != sorted(headers[0]):
            raise InputError(
                "table", f"{path.name} beside {paths[0].name}", "files with the same columns and types",
                code="E-FOLDER", remedy="Read files that differ one by one, or write them again with one schema.",
            )  # fmt: skip
    if kinds == {"csv"}:
        return Source(tuple(name for name, _ in headers[0]), lambda c: _csv_streams(paths, c))
    return Source(tuple(name for name, _ in headers[0]), lambda c: _parquet_streams(paths, c))


def _csv_names(path: Path) -> list[tuple[str, str]]:
    with open_csv(path) as stream:
        return [(name, "text") for name in csv_header(stream, str(path))]


def _csv_streams(paths: list[Path], columns: Sequence[str]) -> Iterator[Batches]:
    for path in paths:
        with open_csv(path) as stream:
            header = csv_header(stream, str(path))
            for table in csv_batches(stream, header, columns):
                yield from ([b] for b in table.to_batches(max_chunksize=BATCH))


def _parquet_fields(path: Path) -> list[tuple[str, str]]:
    if path.stat().st_size == 0:
        raise InputError("table", str(path), "a Parquet file", code="E-EMPTY", remedy="The file is empty.")
    try:
        return [(field.name, str(field.type)) for field in pq.read_schema(path)]
    except (pa.ArrowException, OSError):
        raise InputError("table", str(path), "a Parquet file", code="E-FILE", remedy=_WHOLE) from None


def _parquet_streams(paths: list[Path], columns: Sequence[str]) -> Iterator[Batches]:
    """One stream a row group: threads decode different groups; repeated texts stay a dictionary."""
    for path in paths:
        with pq.ParquetFile(path) as file:
            metadata, fields = file.metadata, file.schema_arrow
        kinds = [f.type.value_type if pa.types.is_dictionary(f.type) else f.type for f in fields]
        texts = [f.name for f, t in zip(fields, kinds, strict=True) if t in (pa.string(), pa.large_string())]
        options = {"metadata": metadata, "read_dictionary": texts}
        yield from (_row_group(path, i, columns, options) for i in range(metadata.num_row_groups))


def _row_group(path: Path, group: int, columns: Sequence[str], options: dict[str, Any]) -> Batches:
    try:
        with pq.ParquetFile(path, **options) as file:
            yield from file.iter_batches(BATCH, row_groups=[group], columns=list(columns), use_threads=False)
    except OSError:
        raise InputError("table", str(path), "a Parquet file that is whole", code="E-FILE", remedy=_WHOLE) from None


_WIDE = (pl.Int128, pl.UInt128)  # no such integers in Arrow


def _polars(frame: pl.LazyFrame) -> Source:
    def streams(columns: Sequence[str]) -> Iterator[Batches]:
        fields = frame.collect_schema()
        chosen = frame.select([polars_column(name, fields[name]) for name in columns])
        for part in chosen.collect_batches(chunk_size=BATCH, maintain_order=False, engine="streaming"):
            yield part.to_arrow().to_batches(max_chunksize=BATCH)

    return Source(tuple(frame.collect_schema().names()), streams)


def polars_column(name: str, kind: Any) -> pl.Expr:
    """The column; as text where Arrow has no such integers, and where it holds Python objects."""
    if kind == pl.Object:
        return pl.col(name).map_batches(lambda s: pl.Series(map(_cell, s), dtype=pl.String), pl.String)
    return pl.col(name).cast(pl.String) if kind in _WIDE else pl.col(name)


def _pandas(frame: Any) -> Source:
    names = tuple(str(name) for name in frame.columns)

    def streams(columns: Sequence[str]) -> Iterator[Batches]:
        for start in range(0, len(frame), BATCH):
            part = frame.iloc[start : start + BATCH]
            arrays = [_pandas_array(part.iloc[:, names.index(name)]) for name in columns]
            yield [pa.table(arrays, names=list(columns))]

    return Source(names, streams)


def _pandas_array(series: Any) -> pa.Array:
    """Numbers, booleans, decimals and texts as they are; whatever else a column holds becomes text.

    pandas infers the type of a column from its cells: none is refused by it. The text of an object is what the typed
    column says that could hold it: one odd cell changes no other.
    """
    if getattr(series.dtype, "categories", series).dtype == object:
        return _texts(series)
    try:
        array = pa.array(series, from_pandas=True)
    except Exception:  # Arrow has no such type, or a cell of it no text in UTF-8
        return _texts(series)
    array = array.combine_chunks() if isinstance(array, pa.ChunkedArray) else array
    t = array.type.value_type if pt.is_dictionary(array.type) else array.type
    if pt.is_date(t) or pt.is_time(t) or pt.is_timestamp(t):
        return times(array.dictionary_decode() if pt.is_dictionary(array.type) else array)
    words = t in (pa.string(), pa.large_string(), pa.string_view())
    if words or pt.is_integer(t) or pt.is_floating(t) or pt.is_boolean(t) or pt.is_null(t) or pt.is_decimal(t):
        return array
    return _texts(series)


def _texts(cells: Iterable[Any]) -> pa.Array:
    return pa.array([_cell(value) for value in cells], pa.large_string())


def _cell(value: Any) -> str | None:
    """The text of an object, None when it is missing; what has no text in UTF-8 becomes text that nothing parses."""
    try:
        return None if value is None or value != value else spelled(value).encode("utf-8", "replace").decode("utf-8")
    except Exception:  # a cell may be anything, and none may decide whether the table is refused
        return None if type(value).__name__ == "NAType" else "\ufffd"


def _duckdb(relation: Any) -> Source:
    def streams(columns: Sequence[str]) -> Iterator[Batches]:
        quoted = ", ".join('"' + name.replace('"', '""') + '"' for name in columns)
        chosen = relation.project(quoted)
        opened = chosen.to_arrow_reader if hasattr(chosen, "to_arrow_reader") else chosen.fetch_arrow_reader
        reader = opened(BATCH)
        try:
            yield from ([b] for b in reader)
        finally:
            reader.close()  # a connection answers nothing else while a reader of it is open

    return Source(tuple(relation.columns), streams)
