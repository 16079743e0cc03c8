"""The table that a command is given: a path, or CSV on standard input."""

from __future__ import annotations

import io
import sys
from collections.abc import Iterator, Sequence

from absentia.table.source import Batches, Source
from absentia.table.textfile import csv_batches, csv_header

__all__ = ["source_of"]


def source_of(table: str, again: bool = False) -> str | Source:
    """The path, or the CSV on stdin for '-'; held in memory when it is read `again`: no copy reaches the disk."""
    if table != "-":
        return table
    stream = io.BytesIO(sys.stdin.buffer.read()) if again else sys.stdin.buffer
    header = csv_header(stream, "-")

    def streams(columns: Sequence[str]) -> Iterator[Batches]:
        if again:
            stream.seek(0)
            csv_header(stream, "-")
        for part in csv_batches(stream, header, columns):
            yield part.to_batches(max_chunksize=2**16)

    return Source(tuple(header), streams)
