"""Queries on one column: counts, sums, means, variances."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np

from absentia.errors import InputError
from absentia.query.base import Columns, Expectation, Noisy, Query, Seen, options
from absentia.query.estimate import AS_OF_BETA, OF_OBSERVED, OF_TABLE, Reading, Row, excess_kurtosis, hidden, row
from absentia.query.statistic import Statistic

__all__ = ["OneColumn", "count", "mean", "total", "variance"]

COUNT_SHARE = Fraction(1, 2)
"""Share of a count beside its sum: (1 + share)(1 + m^2/share) is small for every mean m in [-1, 1]."""
SPREAD_SHARE = Fraction(1, 16)
"""Share of the sum of squares that a mean's sampling error needs: 2 % more noise."""
OF_CATEGORIES = "count, histogram and marginal take categories; a boolean column also has a mean, the share of true."
HIDDEN = "the noise hides how many entries there are: only the public bounds can be given"
TOO_FEW = 3.0  # a noisy count below so many standard deviations of its noise supports no ratio


@dataclass(frozen=True, kw_only=True)
class OneColumn(Query):
    """A query about one column."""

    column: str

    @property
    def subject(self) -> str:
        return self.column

    @property
    def own_columns(self) -> frozenset[str]:
        return frozenset({self.column})

    def arguments(self) -> dict[str, Any]:
        return {"column": self.column}

    def power(self, e: int) -> Statistic:
        """sum of w z^e."""
        return self.stat([(self.column, e)])


@dataclass(frozen=True, kw_only=True)
class Count(OneColumn):
    """The number of observed entries of a column."""

    kind: ClassVar[str] = "count"

    def parts(self, schema: Columns) -> dict[Statistic, Fraction]:
        return {self.power(0): Fraction(1)}

    def rows(self, schema: Columns, noisy: Noisy, sd: Mapping[Statistic, float], reading: Reading) -> list[Row]:
        s = self.power(0)
        return [
            counted(self, schema, cell, x, sd[s], reading)
            for cell, x in zip(self.groups(schema), flat(noisy[s]), strict=True)
        ]

    def expected(self, schema: Columns, sd: Mapping[Statistic, float], seen: Seen) -> list[Expectation]:
        return [Expectation(self.name, "each", "rows", sd[self.power(0)], sd[self.power(0)])]


@dataclass(frozen=True, kw_only=True)
class Total(OneColumn):
    """The sum of the observed entries of a column: halfwidth * sum z + midpoint * count."""

    kind: ClassVar[str] = "sum"

    def parts(self, schema: Columns) -> dict[Statistic, Fraction]:
        """Shares in proportion to what each adds to the error: |midpoint| to halfwidth."""
        column = number_column(schema, self.column)
        middle, half = Fraction(abs(column.midpoint)), Fraction(column.halfwidth)
        largest = max(middle, half)
        shares = {self.power(1): half / largest, self.power(0): middle / largest}
        return {s: max(w, Fraction(1, 10**6)) for s, w in shares.items() if w}

    def rows(self, schema: Columns, noisy: Noisy, sd: Mapping[Statistic, float], reading: Reading) -> list[Row]:
        column, s, c = schema.columns[self.column], self.power(1), self.power(0)
        counts = flat(noisy[c]) if c in noisy else np.zeros(flat(noisy[s]).size)
        noise = math.hypot(column.halfwidth * sd[s], column.midpoint * sd.get(c, 0.0))
        rows = []
        for cell, z, n in zip(self.groups(schema), flat(noisy[s]), counts, strict=True):
            x = column.halfwidth * z + column.midpoint * n
            largest = max(abs(column.low), abs(column.high))
            sampling = min(largest * math.sqrt(max(n, abs(z), 1.0)), largest * math.sqrt(reading.n or math.inf))
            rows.append(row(self.name, cell, x, noise, sampling, reading, OF_TABLE + " (at most)", table=True))
        return rows

    def expected(self, schema: Columns, sd: Mapping[Statistic, float], seen: Seen) -> list[Expectation]:
        column = schema.columns[self.column]
        noise = math.hypot(column.halfwidth * sd[self.power(1)], column.midpoint * sd.get(self.power(0), 0.0))
        return [Expectation(self.name, "each", self.column, noise, noise)]


@dataclass(frozen=True, kw_only=True)
class Mean(OneColumn):
    """The mean of the observed entries: a private sum over a private count; both are charged.

    Of a boolean column: the share of true, from one private count of each value.
    """

    kind: ClassVar[str] = "mean"

    def parts(self, schema: Columns) -> dict[Statistic, Fraction]:
        if self.of_boolean(schema):
            return {self.both: Fraction(1)}
        number_column(schema, self.column)
        return {self.power(1): Fraction(1), self.power(0): COUNT_SHARE, self.power(2): SPREAD_SHARE}

    @property
    def both(self) -> Statistic:
        """How many entries of a boolean column are false, and how many are true."""
        return self.stat(cells=[self.column])

    def of_boolean(self, schema: Columns) -> bool:
        return self.column in schema.columns and schema.columns[self.column].kind == "boolean"

    def rows(self, schema: Columns, noisy: Noisy, sd: Mapping[Statistic, float], reading: Reading) -> list[Row]:
        if self.of_boolean(schema):
            return self._shares(schema, noisy, sd[self.both], reading)
        column, s, c, q = schema.columns[self.column], self.power(1), self.power(0), self.power(2)
        limits, heaviest = (column.low, column.high), maximum_weight(schema, self.weight)
        rows = []
        for cell, z, n, zz in zip(self.groups(schema), *(flat(noisy[t]) for t in (s, c, q)), strict=True):
            if n <= TOO_FEW * sd[c] or n <= 1:
                rows.append(hidden(self.name, cell, limits, HIDDEN))
                continue
            m = min(max(z / n, -1.0), 1.0)
            blur = math.hypot(sd[q], 2 * m * sd[s], (2 * m * m - zz / n) * sd[c]) / n
            spread = min(max(zz / n - m * m, blur / 3), 1 - m * m)  # no less than its noise could hide
            noise = column.halfwidth * math.hypot(sd[s], m * sd[c]) / n
            sampling = column.halfwidth * math.sqrt(spread * heaviest / n)
            x = column.midpoint + column.halfwidth * z / n
            rows.append(row(self.name, cell, x, noise, sampling, reading, weighted(OF_OBSERVED, self.weight), limits))
        return rows

    def _shares(self, schema: Columns, noisy: Noisy, sd: float, reading: Reading) -> list[Row]:
        """true / (false + true) in every group; its sampling error as if two of each had been seen besides."""
        limits, heaviest, rows = (0.0, 1.0), maximum_weight(schema, self.weight), []
        for cell, (no, yes) in zip(self.groups(schema), flat(noisy[self.both]).reshape(-1, 2), strict=True):
            n = no + yes
            if n <= TOO_FEW * sd * math.sqrt(2) or n <= 1:
                rows.append(hidden(self.name, cell, limits, HIDDEN))
                continue
            p = min(max(yes / n, 0.0), 1.0)
            near = (n * p + 2) / (n + 4)
            errors = sd * math.hypot(p, 1 - p) / n, math.sqrt(near * (1 - near) * heaviest / n)
            rows.append(row(self.name, cell, yes / n, *errors, reading, weighted(OF_OBSERVED, self.weight), limits))
        return rows

    def expected(self, schema: Columns, sd: Mapping[Statistic, float], seen: Seen) -> list[Expectation]:
        """From a mean at the midpoint to one at a bound, and from the most to the fewest observed entries."""
        column, (low, high) = schema.columns[self.column], self.size(schema, seen, self.column)
        if self.of_boolean(schema):
            noise = sd[self.both]
            return [Expectation(self.name, "each", "share", over(noise / math.sqrt(2), high), over(noise, low))]
        s, c = sd[self.power(1)], sd[self.power(0)]
        best, worst = column.halfwidth * s, column.halfwidth * math.hypot(s, c)
        return [Expectation(self.name, "each", self.column, over(best, high), over(worst, low))]


@dataclass(frozen=True, kw_only=True)
class Variance(OneColumn):
    """The variance of the observed entries, from private sums of z and z^2 and a private count."""

    kind: ClassVar[str] = "variance"

    def parts(self, schema: Columns) -> dict[Statistic, Fraction]:
        number_column(schema, self.column)
        return {self.power(1): Fraction(1), self.power(0): COUNT_SHARE, self.power(2): Fraction(1)}

    def rows(self, schema: Columns, noisy: Noisy, sd: Mapping[Statistic, float], reading: Reading) -> list[Row]:
        column, s, c, q = schema.columns[self.column], self.power(1), self.power(0), self.power(2)
        unit, heaviest = column.halfwidth**2, maximum_weight(schema, self.weight)
        rows = []
        for cell, z, n, zz in zip(self.groups(schema), *(flat(noisy[t]) for t in (s, c, q)), strict=True):
            if n <= TOO_FEW * sd[c] or n <= 1:
                rows.append(hidden(self.name, cell, (0.0, unit), HIDDEN))
                continue
            m = min(max(z / n, -1.0), 1.0)
            raw = zz / n - m * m
            v = min(max(raw, 0.0), 1 - m * m)
            noise = unit * math.hypot(sd[q], 2 * m * sd[s], (2 * m * m - zz / n) * sd[c]) / n
            sampling = unit * v * math.sqrt((2 + float(excess_kurtosis(m, v))) * heaviest / n)
            note = weighted(OF_OBSERVED, self.weight) + AS_OF_BETA
            rows.append(row(self.name, cell, unit * raw * n / (n - 1), noise, sampling, reading, note, (0.0, unit)))
        return rows

    def expected(self, schema: Columns, sd: Mapping[Statistic, float], seen: Seen) -> list[Expectation]:
        unit, (low, high) = schema.columns[self.column].halfwidth ** 2, self.size(schema, seen, self.column)
        s, c, q = (sd[self.power(e)] for e in (1, 0, 2))
        best, worst = unit * q, unit * math.hypot(q, 2 * s, c)
        return [Expectation(self.name, "each", f"{self.column} squared", over(best, high), over(worst, low))]


# -- constructors ----------------------------------------------------------------------------------------------------


def count(column: str, *, by: object = (), weight: str | None = None, share: object = 1) -> Count:
    """The number of observed entries of a column (with `weight`, their total weight)."""
    return Count(column=one(column), **options(by, weight, share))


def total(column: str, *, by: object = (), weight: str | None = None, share: object = 1) -> Total:
    """The sum of the observed entries of a number column."""
    return Total(column=one(column), **options(by, weight, share))


def mean(column: str, *, by: object = (), weight: str | None = None, share: object = 1) -> Mean:
    """The mean of the observed entries of a number column; of a boolean column, the share of true."""
    return Mean(column=one(column), **options(by, weight, share))


def variance(column: str, *, by: object = (), weight: str | None = None, share: object = 1) -> Variance:
    """The variance of the observed entries of a number column."""
    return Variance(column=one(column), **options(by, weight, share))


# -- small readings --------------------------------------------------------------------------------------------------


def one(column: object, field: str = "column") -> str:
    if not isinstance(column, str) or not column:
        raise InputError(field, column, "the name of a column")
    return column


def flat(values: Any) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    return np.asarray(values, dtype=np.float64).ravel()


def counted(q: Query, schema: Columns, cell: str, x: float, noise: float, reading: Reading) -> Row:
    """The row of a count, within what is possible: no less than 0, unweighted no more than the public n."""
    most = reading.most if q.weight is None else math.inf
    sampling = reading.binomial_error(x, maximum_weight(schema, q.weight))
    return row(q.name, cell, x, noise, sampling, reading, OF_TABLE, (0.0, most), table=True)


def over(error: float, size: float) -> float:
    return error / size if size > 0 else math.inf


def number_column(schema: Columns, name: str) -> Any:
    """The column, which must hold numbers."""
    column = schema.columns.get(name)
    if column is None or column.kind != "number":
        code, remedy = ("E-COLUMN", "") if column is None else ("E-KIND", OF_CATEGORIES)
        raise InputError("column", name, "a number column of the schema", code, remedy)
    return column


def maximum_weight(schema: Columns, weight: str | None) -> float:
    """The largest survey weight: sum w^2 <= maximum * sum w bounds what weighting does to a sampling error."""
    return 1.0 if weight is None else float(schema.columns[weight].high)


def weighted(note: str, weight: str | None) -> str:
    return note if weight is None else note + "; sampling error at most this, from the public maximum weight"
