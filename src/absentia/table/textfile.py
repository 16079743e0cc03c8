"""CSV to batches of text, every column as text: no content of a row can raise, whatever its quotes or length.

A record is a line; a quoted cell may hold line ends. Short records are filled with missing cells, long ones cut; bytes
that are not UTF-8 become the replacement character. A quote opens a cell only where the cell begins, and only when a
quote before a separator closes it; else it is a letter. A record of several lines has no quote that is a letter and
closes within 2^24 bytes, else its first line is a record alone: so one line costs no other. Blocks in which every quote
is well formed go to the engine's parser.
"""

from __future__ import annotations

import csv
import gzip
import io
import re
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import BinaryIO

import numpy as np
import polars as pl
import pyarrow as pa

from absentia.errors import InputError

__all__ = ["csv_batches", "csv_header", "open_csv"]

BLOCK = 2**23
MAX_RECORD = 2**24
MAX_HEADER = 2**17
_INSIDE = rb'[^"]*+(?:""[^"]*+)*+'
_CLOSED = rb'"(?=,|\r*\n)'
_STRICT = rb'(?:"%b%b|[^",\n]*+)' % (_INSIDE, _CLOSED)
_CELL = re.compile(rb'(?:"(%b)%b|([^,\n]*+))[,\n]' % (_INSIDE, _CLOSED))
_RECORD = re.compile(rb"%b(?:,%b)*+\r*\n" % (_STRICT, _STRICT))
_UNFINISHED = re.compile(rb'(?:%b,)*+"%b\Z' % (_STRICT, _INSIDE))


def open_csv(path: str | Path) -> BinaryIO:
    """The bytes of a CSV file, unpacked when its name ends in .gz."""
    try:
        return gzip.open(path, "rb") if str(path).endswith(".gz") else Path(path).open("rb")  # type: ignore[return-value]
    except OSError as e:
        raise InputError("table", str(path), f"a readable file ({e.strerror})", code="E-FILE", remedy=_READ) from None


def csv_header(stream: BinaryIO, name: str) -> list[str]:
    """The names in the first record, which is read; what cannot be a header is refused here."""
    try:
        record = stream.readline(2**24)
        while _UNFINISHED.match(record) and len(record) < MAX_HEADER and (more := stream.readline(MAX_HEADER)):
            record += more
    except (OSError, EOFError, zlib.error) as e:
        raise InputError("table", name, "a gzip file", code="E-FILE", remedy=_GZIP) from e
    if not record.strip():
        remedy = (
            "The first line is blank: the names of the columns must stand there." if record else "The file is empty."
        )
        raise InputError("table", name, "a CSV file with a header line", code="E-EMPTY", remedy=remedy)
    try:
        text = record.removeprefix(b"\xef\xbb\xbf").decode("utf-8")
    except UnicodeDecodeError:
        text = "\0"
    if "\0" in text:
        raise InputError(
            "table", name, "a CSV file in UTF-8", code="E-ENCODING",
            remedy="The header is not UTF-8 text: convert the file, for instance with iconv -t UTF-8.",
        )  # fmt: skip
    text = text.rstrip("\r\n")
    if text.count('"') % 2 or "\r" in text.replace("\r\n", "\n"):
        raise InputError("table", name, "a header whose quotes and lines end", code="E-HEADER", remedy=_HEADER)
    return [cell.strip() for cell in next(csv.reader(io.StringIO(text, newline="")), [])]


_READ = "Check the path and its permissions."
_GZIP = "Compress the file again, or take .gz from its name when it is not compressed."
_HEADER = "Close every quote in the names, and end lines with a line feed: a carriage return alone ends none."


def csv_batches(stream: BinaryIO, header: Sequence[str], columns: Sequence[str]) -> Iterator[pa.Table]:
    """The wanted columns of every record after the header, all text."""
    wanted = [header.index(name) for name in columns]
    rest = b""
    while more := _read(stream):
        block, rest = _cut(rest + more)
        if block is None:
            records, rest = _records(rest, last=False)
            yield _table(records, wanted, columns)
        elif block:
            yield _parsed(block, len(header), wanted, columns)
    yield _table(_records(rest, last=True)[0], wanted, columns)


def _read(stream: BinaryIO) -> bytes:
    try:
        return stream.read(BLOCK)
    except (OSError, EOFError, zlib.error) as e:
        raise InputError("table", "a file that breaks off", "a complete file", code="E-FILE", remedy=_GZIP) from e


def _cut(data: bytes) -> tuple[bytes | None, bytes]:
    """Whole records whose quotes are well formed, and the rest; None when the quotes are not."""
    text = np.frombuffer(data, np.uint8)
    ends, quotes = np.flatnonzero(text == 10), np.flatnonzero(text == 34)
    if len(quotes):
        alone = data.count(b"\r", 0, len(data) - 1) != data.count(b"\r\n")
        if alone or not _well_formed(text, quotes):
            return None, data
        ends = ends[np.searchsorted(quotes, ends) % 2 == 0]
    if not len(ends):
        return (b"", data) if len(data) < MAX_RECORD else (None, data)
    if len(quotes) and np.diff(ends, prepend=-1).max() > MAX_RECORD:
        return None, data
    cut = int(ends[-1]) + 1
    return data[:cut], data[cut:]


def _well_formed(text: np.ndarray, quotes: np.ndarray) -> bool:
    """Every opening quote follows a separator (or the quote it doubles), every closing one precedes one."""
    before, after = np.append(text, 10)[quotes - 1], np.append(text, 10)[quotes + 1]
    first = quotes == 0
    opens = np.isin(before[::2], _BEFORE) | first[::2]
    return bool(opens.all() and np.isin(after[1::2], _AFTER).all())


_BEFORE, _AFTER = np.frombuffer(b',\n"', np.uint8), np.frombuffer(b',\n\r"', np.uint8)


def _parsed(block: bytes, width: int, wanted: Sequence[int], columns: Sequence[str]) -> pa.Table:
    """The engine's parser, on whole well-formed records; a first line fixes the number of columns."""
    if block.count(b"\r") != block.count(b"\r\n"):  # the engine drops a lone carriage return, depending on its place
        return _table(_records(block, last=True)[0], wanted, columns)
    names = [f"c{i}" for i in range(width)]
    quote = '"' if b'"' in block else None
    try:
        frame = pl.read_csv(
            ",".join(names).encode() + b"\n" + block, infer_schema=False, quote_char=quote, encoding="utf8-lossy",
            truncate_ragged_lines=True, columns=[names[i] for i in wanted],
        )  # fmt: skip
    except pl.exceptions.PolarsError:
        return _table(_records(block, last=True)[0], wanted, columns)
    return frame.select([names[i] for i in wanted]).to_arrow().rename_columns(list(columns))


def _records(data: bytes, last: bool) -> tuple[list[list[bytes]], bytes]:
    """Cells of each record, and the bytes of an unfinished record at the end."""
    if last and data and not data.endswith(b"\n"):
        data += b"\n"
    out: list[list[bytes]] = []
    start, stop = 0, data.rfind(b"\n") + 1
    while start < stop:
        quote = data.find(b'"', start, stop)
        line = data.rfind(b"\n", start, quote) + 1 if quote >= 0 else stop
        if line > start:  # lines without a quote
            out.extend(text.rstrip(b"\r").split(b",") for text in data[start : line - 1].split(b"\n"))
            start = line
            continue
        end = _end(data, start, stop, last)
        if end is None:
            break
        out.append(_cells(data[start:end]))
        start = end
    return out, data[start:]


def _end(data: bytes, start: int, stop: int, last: bool) -> int | None:
    """Where the record that begins at `start` ends; None when that is not known yet."""
    found = _RECORD.match(data, start, stop)
    if found and found.end() - start <= MAX_RECORD:
        return found.end()
    if not found and not last and stop - start < MAX_RECORD and _UNFINISHED.match(data, start, stop):
        return None
    return data.index(b"\n", start) + 1


def _cells(record: bytes) -> list[bytes]:
    found = _CELL.finditer(record.rstrip(b"\r\n") + b"\n")
    return [plain if quoted is None else quoted.replace(b'""', b'"') for quoted, plain in (m.groups() for m in found)]


def _table(records: list[list[bytes]], wanted: Sequence[int], columns: Sequence[str]) -> pa.Table:
    cells = [[r[i].decode("utf-8", "replace") if i < len(r) else None for r in records] for i in wanted]
    return pa.table([pa.array(c, pa.large_string()) for c in cells], names=list(columns))
