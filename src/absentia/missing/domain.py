"""The public domain of a record, and logistic scores bounded over boxes of it with proved rounding."""

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
from absentia.exact import ball, below, number, precision
from absentia.missing.text import written

__all__ = [
    "Cell",
    "Domain",
    "Records",
    "Score",
    "boxes",
    "clashing",
    "domain_of",
    "logistic_below",
    "rescaled",
    "stored_domain",
    "text_of",
    "whole",
]

Interval = tuple[Fraction, Fraction]
Domain = tuple[tuple[str, Interval | tuple[str, ...]], ...]  # natural bounds of a number, or the values of a category
Cell = Mapping[str, Interval | tuple[str, ...]]  # rescaled to [-1, 1], or some of the values
Records = Mapping[str, NDArray[Any]]  # numbers rescaled to [-1, 1], categories as text

RESCALED: Interval = (Fraction(-1), Fraction(1))
MOST_CELLS = 256


def domain_of(columns: object, given: Mapping[str, object] | None) -> Domain:
    """The public bounds or values of every column: from the schema, or given; [-1, 1] when nothing is said.

    >>> domain_of(["x"], {"x": [0, 10]})
    (('x', (Fraction(0, 1), Fraction(10, 1))),)
    """
    source: Any = getattr(columns, "columns", columns)
    known: dict[str, object] = dict(given or {})
    for name in source:
        column = source[name] if isinstance(source, Mapping) else None
        if column is not None and name not in known:
            known[name] = list(column.bounds) if column.bounds else [text_of(value) for value in column.values]
    return tuple((name, _domain(known.get(name, [-1, 1]), f"domain.{name}")) for name in source)


def _domain(value: object, field: str) -> Interval | tuple[str, ...]:
    if not isinstance(value, (list, tuple)) or not value:
        raise InputError(field, value, "[low, high] of a number, or the list of values of a category")
    if all(isinstance(v, str) for v in value) and not _numbers(value):
        return tuple(value)
    if len(value) != 2:
        raise InputError(field, value, "[low, high] of a number, or a list of texts")
    low, high = number(value[0], f"{field}[0]"), number(value[1], f"{field}[1]")
    if low >= high:
        raise InputError(field, value, "low < high")
    return low, high


def _numbers(value: Sequence[object]) -> bool:
    try:
        return len(value) == 2 and all(Fraction(str(v)) is not None for v in value)
    except ValueError:
        return False


def stored_domain(domain: Domain) -> dict[str, list[str]]:
    return {name: [v if isinstance(v, str) else written(v) for v in span] for name, span in domain}


def text_of(value: object) -> str:
    return str(value).lower() if isinstance(value, (bool, np.bool_)) else str(value)


def rescaled(value: object, span: Interval | tuple[str, ...], field: str) -> Fraction:
    """A natural value of a number column as z in [-1, 1]."""
    low, high = span
    if isinstance(low, str) or isinstance(high, str):
        raise InputError(field, value, "a value of a number column")
    q = number(value, field)
    if not low <= q <= high:
        raise InputError(field, value, f"a number within the public bounds [{written(low)}, {written(high)}]")
    return 2 * (q - low) / (high - low) - 1


def whole(domain: Domain) -> Cell:
    """The cell that is the whole domain."""
    return {name: span if isinstance(span[0], str) else RESCALED for name, span in domain}


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


@dataclass(frozen=True)
class Score:
    """intercept + sum of slope * z over numbers (z in [-1, 1]) + the coefficient of each category's value."""

    intercept: Fraction
    slopes: tuple[tuple[str, Fraction], ...] = ()
    values: tuple[tuple[str, tuple[tuple[str, Fraction], ...]], ...] = ()

    @property
    def columns(self) -> frozenset[str]:
        return frozenset(name for name, _ in self.slopes) | frozenset(name for name, _ in self.values)

    def span(self, cell: Cell) -> Interval:
        """The smallest and largest score over the cell: each coordinate at its own end, exact."""
        low = high = self.intercept
        for name, slope in self.slopes:
            ends = [slope * Fraction(end) for end in cell[name]]
            low, high = low + min(ends), high + max(ends)
        for name, coefficients in self.values:
            table = dict(coefficients)
            ends = [table.get(str(value), Fraction(0)) for value in cell[name]]
            low, high = low + min(ends), high + max(ends)
        return low, high

    def at(self, rows: int, records: Records) -> NDArray[np.float64]:
        """The score of every record."""
        total = np.full(rows, float(self.intercept))
        for name, slope in self.slopes:
            total += float(slope) * records[name]
        for name, coefficients in self.values:
            for value, coefficient in coefficients:
                total += float(coefficient) * (records[name] == value)
        return total

    def to_dict(self) -> dict[str, Any]:
        tables = {name: {value: written(q) for value, q in coefficients} for name, coefficients in self.values}
        return {"intercept": written(self.intercept), **{name: written(q) for name, q in self.slopes}, **tables}

    @staticmethod
    def parse(given: object, domain: Domain, field: str) -> Score:
        """The score that {"intercept": a, number_column: slope, category_column: {value: coefficient}} describes."""
        if not isinstance(given, Mapping) or "intercept" not in given:
            raise InputError(field, given, 'a table such as {"intercept": "-1", "age": "0.5", "sex": {"f": "0.2"}}')
        spans = dict(domain)
        slopes, values = [], []
        for name, value in given.items():
            if name == "intercept":
                continue
            if name not in spans:
                raise InputError(f"{field}.{name}", name, "a column of the schema")
            if isinstance(spans[name][0], str):
                values.append((name, _coefficients(value, spans[name], f"{field}.{name}")))
            else:
                slopes.append((name, number(value, f"{field}.{name}")))
        return Score(number(given["intercept"], f"{field}.intercept"), tuple(slopes), tuple(values))


def _coefficients(given: object, values: Sequence[object], field: str) -> tuple[tuple[str, Fraction], ...]:
    if not isinstance(given, Mapping):
        raise InputError(field, given, "a coefficient for values of the category; 0 for those not named")
    for value in given:
        if text_of(value) not in values:
            raise InputError(f"{field}.{value}", value, "a declared value of the category")
    return tuple((text_of(value), number(q, f"{field}.{value}")) for value, q in given.items())


def logistic_below(score: Fraction) -> Fraction:
    """A double at or below 1 / (1 + e^-score)."""
    with precision(96):
        return max(Fraction(0), Fraction(below(1 / (1 + (-ball(score)).exp()))))


def clashing(scores: Iterable[Score]) -> set[str]:
    """Columns that pull different scores in different directions, so that no single record is worst for all."""
    signs: dict[str, set[int]] = {}
    users: dict[str, int] = {}
    for score in scores:
        for name, slope in score.slopes:
            signs.setdefault(name, set()).add((slope > 0) - (slope < 0))
        for name, _ in score.values:
            users[name] = users.get(name, 0) + 1
    return {name for name, seen in signs.items() if {1, -1} <= seen} | {name for name, n in users.items() if n > 1}
