"""What the command line prints and reads: text that cannot steer a terminal, JSON at full precision and sorted."""

from __future__ import annotations

import json
import sys
import textwrap
import threading
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click

from absentia.errors import InputError
from absentia.plain import WIDTH, visible

__all__ = ["echo", "echo_json", "load_spec", "working", "wrapped"]


def echo(text: object, err: bool = False, nl: bool = True) -> None:
    """Lines on stdout (or stderr); whatever a name holds, nothing of it is obeyed by the terminal."""
    click.echo(visible(str(text), keep="\n"), err=err, nl=nl)


def wrapped(text: str, indent: str = "") -> str:
    """Every line of the text within 80 columns, what is carried over indented."""
    lines = visible(text, keep="\n").split("\n")
    return "\n".join(textwrap.fill(line, WIDTH, subsequent_indent=indent) for line in lines)


def echo_json(value: Any) -> None:
    """One JSON object on stdout: stable, sorted, full precision."""
    click.echo(json.dumps(value, sort_keys=True, indent=2, allow_nan=False))


@contextmanager
def working(what: str) -> Iterator[None]:
    """A sign of life on a terminal after the first second."""
    if not sys.stderr.isatty():
        yield
        return
    from rich.console import Console

    status = Console(stderr=True).status(what)
    late = threading.Timer(1, status.start)
    late.start()
    try:
        yield
    finally:
        late.cancel()
        late.join()
        status.stop()


def load_spec(path: str, field: str) -> dict[str, Any]:
    """A JSON or TOML file as a dictionary; decimals stay exact strings; '-' reads either from stdin."""
    try:
        text = sys.stdin.read() if path == "-" else Path(path).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as problem:
        raise InputError(field, path, "a readable UTF-8 file", code="E-FILE") from problem
    try:
        if path.endswith(".toml") or (path == "-" and not text.lstrip().startswith("{")):
            found: Any = tomllib.loads(text, parse_float=str)
        else:
            found = json.loads(text, parse_float=str, parse_constant=str)
    except ValueError as problem:
        raise InputError(field, path, f"valid JSON or TOML ({problem})", code="E-FILE") from None
    if not isinstance(found, dict):
        raise InputError(field, path, "an object at the top level", code="E-FILE")
    return found
