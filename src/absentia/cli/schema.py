"""absentia schema: a skeleton from a table's header, every bound left blank on purpose."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from absentia.cli.text import echo, echo_json
from absentia.errors import InputError
from absentia.planning.schema import skeleton
from absentia.table.source import open_source, require_commas
from absentia.table.spelling import number_of
from absentia.table.textfile import csv_header

__all__ = ["schema"]


@click.command()
@click.argument("table")
@click.option("-o", "--output", type=click.Path(dir_okay=False), help="Write here; an existing file is not replaced.")
@click.option("--json", "as_json", is_flag=True, help="The header as JSON.")
def schema(table: str, output: str | None, as_json: bool) -> None:
    """Print a schema file for TABLE (CSV, Parquet, a folder; '-': CSV on stdin), read from its header only.

    Bounds and categories are left blank: they come from public knowledge, never from the data.
    """
    header = csv_header(sys.stdin.buffer, "-") if table == "-" else list(open_source(table).names)
    usable(header, table)
    if as_json:
        echo_json({"schema_version": 1, "columns": header})
    elif output is None:
        echo(skeleton(header), nl=False)
    else:
        write_new(Path(output), skeleton(header))


def usable(header: list[str], table: str) -> None:
    """Nothing, or an InputError when the first line cannot be a header; its cells may be data and are not shown."""
    if len(set(header)) < len(header) or all(number_of(name) is not None or not name for name in header):
        remedy = "The first line must name every column, each once, and not all with numbers."
        raise InputError("table", table, "a table with a header", code="E-HEADER", remedy=remedy)
    require_commas(header)


def write_new(path: Path, text: str) -> None:
    """The text in a file that did not exist."""
    try:
        with path.open("x", encoding="utf-8") as out:
            out.write(text)
    except FileExistsError:
        raise InputError("--output", str(path), "a file that does not exist yet", code="E-EXISTS") from None
    except OSError as e:
        raise InputError("--output", str(path), f"a file that can be written ({e.strerror})", code="E-FILE") from None
