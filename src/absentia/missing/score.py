"""Logistic scores of a record, bounded over boxes of the public domain with proved rounding."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from absentia.errors import InputError
from absentia.exact import ball, below, precision
from absentia.missing.domain import Cell, Domain, Interval, is_category, text_of
from absentia.missing.text import by_column, finite, table_of, written

__all__ = ["Score", "clashing", "logistic", "logistic_below"]

_SCORE = 'a table such as {"intercept": "-1", "age": "0.5", "sex": {"f": "0.2"}}'
_FAR = 10_000  # a score whose logistic value, or its distance to 1, is far below every double


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

    def at(self, rows: int, z: Callable[[str], NDArray[Any]]) -> NDArray[np.float64]:
        """The score of every record: `z` gives a number column rescaled, or a category column as text."""
        total = np.full(rows, float(self.intercept))
        for name, slope in self.slopes:
            total += float(slope) * z(name)
        for name, coefficients in self.values:
            column = z(name)
            for value, coefficient in coefficients:
                total += float(coefficient) * (column == value)
        return total

    def to_dict(self) -> dict[str, Any]:
        tables = {name: {value: written(q) for value, q in coefficients} for name, coefficients in self.values}
        return {"intercept": written(self.intercept), **{name: written(q) for name, q in self.slopes}, **tables}

    @staticmethod
    def parse(given: object, domain: Domain, field: str) -> Score:
        """The score that {"intercept": a, number_column: slope, category_column: {value: coefficient}} describes."""
        table = table_of(given, field, _SCORE)
        if "intercept" not in table:
            raise InputError(field, given, _SCORE)
        intercept = finite(table["intercept"], f"{field}.intercept")
        read = {name: value for name, value in table.items() if name != "intercept"}
        spans = dict(domain)
        slopes, values = [], []
        for name, value in by_column(list(spans), read, field, _SCORE).items():
            span = spans[name]
            if span is not None and is_category(span):
                values.append((name, _coefficients(value, span, f"{field}.{name}")))
            else:
                slopes.append((name, finite(value, f"{field}.{name}")))
        return Score(intercept, tuple(slopes), tuple(values))


def _coefficients(given: object, values: Sequence[object], field: str) -> tuple[tuple[str, Fraction], ...]:
    if not isinstance(given, Mapping):
        raise InputError(field, given, "a coefficient for values of the category; 0 for those not named")
    for value in given:
        if text_of(value) not in values:
            raise InputError(f"{field}.{value}", value, "a declared value of the category")
    return tuple((text_of(value), finite(q, f"{field}.{value}")) for value, q in given.items())


def logistic_below(score: Fraction) -> Fraction:
    """A double at or below 1 / (1 + e^-score)."""
    if score < -_FAR:
        return Fraction(0)
    score = min(score, Fraction(_FAR))
    with precision(96):
        return max(Fraction(0), Fraction(below(1 / (1 + (-ball(score)).exp()))))


def logistic(score: NDArray[np.float64]) -> NDArray[np.float64]:
    chance: NDArray[np.float64] = expit(score)
    return chance


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
