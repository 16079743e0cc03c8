"""What the command line prints and reads: text that cannot steer a terminal, JSON at full precision and sorted."""

from __future__ import annotations

import json
import os
import sys
import textwrap
import threading
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import click

from absentia.errors import InputError
from absentia.plain import WIDTH, visible

__all__ = ["echo", "echo_json", "load_spec", "paid", "working", "wrapped"]


def echo(text: object, err: bool = False, nl: bool = True) -> None:
    """Lines on stdout (or stderr); whatever a name holds, nothing of it is obeyed by the terminal."""
    _write(visible(str(text), keep="\n"), err, nl)


def wrapped(text: str, indent: str = "") -> str:
    """Every line of the text within 80 columns, what is carried over indented."""
    lines = visible(text, keep="\n").split("\n")
    return "\n".join(textwrap.fill(line, WIDTH, subsequent_indent=indent) for line in lines)


def echo_json(value: Any, err: bool = False) -> None:
    """One JSON object on stdout (or stderr): stable, sorted, full precision."""
    _write(json.dumps(value, sort_keys=True, indent=2, allow_nan=False), err)


def _write(text: str, err: bool, nl: bool = True) -> None:
    """The text; InputError where stdout takes no more. Where stderr takes none there is nobody left to tell."""
    try:
        click.echo(text, err=err, nl=nl)
    except BrokenPipeError:  # click ends quietly
        raise
    except OSError as problem:
        if not err:
            raise _full(problem, "What was charged stays charged; `absentia ledger show` lists it.") from None


def _full(problem: Exception, remedy: str) -> InputError:
    """The refusal of an output that takes no more; what it still holds is dropped, or it would fail again at exit."""
    with suppress(OSError, ValueError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
        os.close(nowhere)
    if isinstance(problem, InputError):
        return InputError(problem.field, problem.given, problem.allowed, problem.code, remedy)
    given = getattr(problem, "strerror", None)
    return InputError("standard output", given, "a place that takes what is printed", "E-STDOUT", remedy)


@contextmanager
def paid(answer: Any, row: int, kept: str = "") -> Iterator[None]:
    """Around the printing of what the book's `row` paid for: where stdout fails, it is told where the answer is.

    `kept`: the place that holds it already; without one the answer follows on stderr, as JSON.
    """
    try:
        yield
    except (InputError, BrokenPipeError) as problem:
        if not kept:
            echo_json(answer, err=True)
        where = f"in {kept}" if kept else "on standard error, as JSON: keep them"
        remedy = f"Row {row} of the book is charged; do not ask again. The answers are {where}."
        raise _full(problem, remedy) from None


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
