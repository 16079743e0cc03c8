"""Numbers and JSON as the command line prints them: bounds are rounded up, JSON is full precision and sorted."""

from __future__ import annotations

import json
import math
import sys
import tomllib
from decimal import ROUND_CEILING, Decimal
from pathlib import Path
from typing import Any

import click

from absentia.errors import InputError

__all__ = ["echo_json", "load_spec", "shown"]


def shown(value: float | None, digits: int = 6) -> str:
    """The number at that many digits, rounded up: what is printed is still a bound.

    >>> shown(1.5277058941977102)
    '1.52771'
    """
    if value is None or math.isinf(value):
        return "none"
    if value == 0:
        return "0"
    exact = Decimal(value)
    up = exact.quantize(Decimal(1).scaleb(exact.adjusted() - digits + 1), rounding=ROUND_CEILING)
    return f"{up:.{digits}g}"


def echo_json(value: Any) -> None:
    """One JSON object on stdout: stable, sorted, full precision."""
    click.echo(json.dumps(value, sort_keys=True, indent=2, allow_nan=False))


def load_spec(path: str, field: str) -> dict[str, Any]:
    """A JSON or TOML file as a dictionary; decimals stay exact strings; '-' reads JSON from stdin."""
    try:
        text = sys.stdin.read() if path == "-" else Path(path).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as problem:
        raise InputError(field, path, "a readable UTF-8 file", code="E-FILE") from problem
    try:
        if path.endswith(".toml"):
            found: Any = tomllib.loads(text, parse_float=str)
        else:
            found = json.loads(text, parse_float=str, parse_constant=str)
    except ValueError as problem:
        raise InputError(field, path, f"valid JSON or TOML ({problem})", code="E-FILE") from None
    if not isinstance(found, dict):
        raise InputError(field, path, "an object at the top level", code="E-FILE")
    return found
