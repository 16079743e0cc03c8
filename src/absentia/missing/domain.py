"""The public domain of a record: what each column may hold, boxes of it, and records as a process reads them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from absentia.errors import InputError
from absentia.exact import list_of, number
from absentia.missing.text import by_column, finite, names_of, written

__all__ = [
    "Cell",
    "Domain",
    "Records",
    "bounds_of",
    "boxes",
    "domain_of",
    "is_category",
    "joined",
    "rescaled",
    "stored_domain",
    "text_of",
    "whole",
]

Interval = tuple[Fraction, Fraction]
Span = Interval | tuple[str, ...] | None  # natural bounds of a number, the values of a category, or nothing stated
Domain = tuple[tuple[str, Span], ...]
Cell = Mapping[str, Interval | tuple[str, ...]]  # rescaled to [-1, 1], or some of the values

RESCALED: Interval = (Fraction(-1), Fraction(1))
MOST_CELLS = 256
_SPAN = "[low, high] of a number, or the list of values of a category"


def domain_of(columns: object, given: object) -> Domain:
    """The public bounds or values of every column: from the schema, or given; None, a number in [-1, 1], if neither.

    What is given is [low, high], or values; {"values": [...]} where two of them look like numbers.

    >>> domain_of(["x", "y"], {"x": [0, 10]})
    (('x', (Fraction(0, 1), Fraction(10, 1))), ('y', None))
    """
    source: Any = getattr(columns, "columns", columns)
    names = names_of(source)
    schema = source if isinstance(source, Mapping) else {}
    said = by_column(names, {} if given is None else given, "domain", f"a table of columns, each with {_SPAN}")
    return tuple((name, _span_of(schema.get(name), said.get(name), f"domain.{name}")) for name in names)


def _span_of(column: Any, said: object, field: str) -> Span:
    """What is said about a column, else what the schema says; the kind is the schema's."""
    if said is None:
        return column and (tuple(map(Fraction, column.bounds)) if column.bounds else _values(column.values, field))
    kind = None if column is None else "bounds" if column.bounds else "values"
    if isinstance(said, Mapping):
        allowed = f'{{"{kind or "values"}": [...]}}' if kind else '{"values": [...]} or {"bounds": [low, high]}'
        if len(said) != 1 or next(iter(said)) not in ([kind] if kind else ["values", "bounds"]):
            raise InputError(field, dict(said), allowed)
        kind, said = next(iter(said.items()))
    listed = list_of(said, field, _SPAN)
    if kind is None:
        kind = "values" if all(isinstance(v, str) for v in listed) and not _two_numbers(listed) else "bounds"
    return _values(listed, field) if kind == "values" else _bounds(listed, field)


def _values(listed: Sequence[object], field: str) -> tuple[str, ...]:
    values = tuple(text_of(v) for v in listed)
    if not values or len(set(values)) < len(values):
        raise InputError(field, listed, "at least one value, each once")
    return values


def _bounds(listed: Sequence[object], field: str) -> Interval:
    if len(listed) != 2:
        raise InputError(field, listed, _SPAN)
    low, high = finite(listed[0], f"{field}[0]"), finite(listed[1], f"{field}[1]")
    if float(low) >= float(high):
        raise InputError(field, listed, "low < high")
    return low, high


def _two_numbers(listed: Sequence[object]) -> bool:
    try:
        return len([number(v, "") for v in listed]) == 2
    except InputError:
        return False


def stored_domain(domain: Domain) -> dict[str, Any]:
    """What is stated, as plain text."""
    stated = {name: span for name, span in domain if span is not None}
    return {
        name: {"values": list(span)} if is_category(span) else [written(Fraction(v)) for v in span]
        for name, span in stated.items()
    }


def is_category(span: Span) -> bool:
    return span is not None and isinstance(span[0], str)


def bounds_of(span: Span) -> Interval:
    """The bounds of a number; [-1, 1] when nothing is stated."""
    low, high = span or RESCALED
    return Fraction(low), Fraction(high)


def joined(parts: Iterable[tuple[Domain, frozenset[str]]]) -> Domain:
    """What several parts state together, each with the columns that it reads: of a column all must say the same."""
    given = list(parts)
    known: dict[str, Span] = {}
    for i, (domain, _) in enumerate(given):
        for name, span in domain:
            if known.get(name) is None:
                known[name] = span
            elif span not in (None, known[name]):
                raise InputError(f"parts[{i}].domain.{name}", _shown(span), f"{_shown(known[name])}, as in other parts")
    for i, (domain, reads) in enumerate(given):
        for name, span in domain:
            if span is None and name in reads and is_category(known[name]):
                raise InputError(f"parts[{i}].domain.{name}", None, f"{_shown(known[name])}, as in other parts")
    return tuple(known.items())


def _shown(span: Span) -> str:
    return str(stored_domain((("", span),))[""])


def text_of(value: object) -> str:
    """The text of a value of a category: true and false in small letters, 1.0 as 1."""
    if isinstance(value, (bool, np.bool_)):
        return str(value).lower()
    whole_number = isinstance(value, (float, np.floating)) and float(value).is_integer()
    return str(int(value)) if whole_number else str(value)  # type: ignore[call-overload]


def rescaled(value: object, span: Span, field: str) -> Fraction:
    """A natural value of a number column as z in [-1, 1]."""
    if is_category(span):
        raise InputError(field, value, "a value of a number column")
    (low, high), q = bounds_of(span), number(value, field)
    if not low <= q <= high:
        raise InputError(field, value, f"a number within the public bounds [{written(low)}, {written(high)}]")
    return 2 * (q - low) / (high - low) - 1


@dataclass(frozen=True)
class Records:
    """What a process reads of complete rows: numbers in their own unit, within the bounds; categories as text."""

    domain: Domain
    values: Mapping[str, NDArray[Any]]

    def z(self, name: str) -> NDArray[Any]:
        """A number column rescaled to [-1, 1], or a category column as it is."""
        span = dict(self.domain)[name]
        if is_category(span):
            return self.values[name]
        low, high = map(float, bounds_of(span))
        return np.clip(2 * (self.values[name] - low) / (high - low) - 1, -1, 1)

    def at_least(self, name: str, z: Fraction) -> NDArray[np.bool_]:
        """Where a number column reaches a threshold in [-1, 1], compared in the column's own unit."""
        low, high = bounds_of(dict(self.domain)[name])
        return np.asarray(self.values[name] >= float(low + (z + 1) / 2 * (high - low)))


def whole(domain: Domain) -> Cell:
    """The cell that is the whole domain."""
    return {name: RESCALED if span is None or not is_category(span) else span for name, span in domain}


def boxes(domain: Domain, split: Iterable[str]) -> list[Cell]:
    """Cells that cover the domain: the named columns split (categories by value, numbers evenly), at most 256."""
    base = whole(domain)
    named = sorted(split)
    texts = [c for c in named if isinstance(base[c][0], str)]
    texts = texts if prod(len(base[c]) for c in texts) <= MOST_CELLS else []
    numbers = [c for c in named if not isinstance(base[c][0], str)]
    room = MOST_CELLS // prod(len(base[c]) for c in texts)
    parts = max(1, int(room ** (1 / len(numbers)) + 1e-9)) if numbers else 1
    step = Fraction(2, parts)
    choices: list[list[tuple[str, Any]]] = [[(c, (value,)) for value in base[c]] for c in texts]
    choices += [[(c, (-1 + i * step, -1 + (i + 1) * step)) for i in range(parts)] for c in numbers]
    return [{**base, **dict(chosen)} for chosen in product(*choices)]
