"""Queries beyond the built-in sums: linear combinations by a matrix, and queries that their user runs."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np

from absentia.errors import HazardRefused, InputError
from absentia.exact import number, round_up
from absentia.query.base import Columns, Expectation, Noisy, Query, Seen, columns_of, options, share_of
from absentia.query.columns import number_column
from absentia.query.distance import Distances
from absentia.query.estimate import OF_TABLE, Reading, Row, row
from absentia.query.reach import Reach, Term
from absentia.query.statistic import Statistic
from absentia.theory.noise import Norm

__all__ = ["Own", "custom", "linear"]


@dataclass(frozen=True, kw_only=True)
class Linear(Query):
    """B times the vector of column sums of z (missing entries count as the midpoint, z = 0).

    The column sums are released and multiplied afterwards; the share of column j is norm2(B e_j), which minimises the
    total squared error of the product under Gaussian noise.
    """

    kind: ClassVar[str] = "linear"
    over: tuple[str, ...]
    matrix: tuple[tuple[float, ...], ...]

    @property
    def subject(self) -> str:
        return f"{len(self.matrix)}x{len(self.over)}: {', '.join(self.over)}"

    @property
    def own_columns(self) -> frozenset[str]:
        return frozenset(self.over)

    def sum_of(self, column: str) -> Statistic:
        return self.stat([(column, 1)])

    def parts(self, schema: Columns) -> dict[Statistic, Fraction]:
        B = np.array(self.matrix)
        lengths = np.sqrt((B**2).sum(axis=0))
        shares = {}
        for column, length in zip(self.over, lengths / lengths.max(), strict=True):
            number_column(schema, column)
            if length > 0:
                shares[self.sum_of(column)] = max(Fraction(float(length)), Fraction(1, 10**6))
        return shares

    def _noise(self, sd: Mapping[Statistic, float]) -> np.ndarray[Any, np.dtype[np.float64]]:
        sds = np.array([sd.get(self.sum_of(column), 0.0) for column in self.over])
        return np.asarray(np.sqrt((np.array(self.matrix) ** 2) @ sds**2))

    def rows(self, schema: Columns, noisy: Noisy, sd: Mapping[Statistic, float], reading: Reading) -> list[Row]:
        groups = self.groups(schema)
        zero = np.zeros(len(groups))
        S = np.array([np.ravel(noisy.get(self.sum_of(c), zero)) for c in self.over])
        values, noise, B = np.array(self.matrix) @ S, self._noise(sd), np.array(self.matrix)
        spread = np.abs(B).sum(axis=1) * math.sqrt(reading.n) if reading.n else np.full(len(B), math.inf)
        rows = []
        for g, cell in enumerate(groups):
            for i, x in enumerate(values[:, g]):
                name = f"{cell}, output {i}" if cell else f"output {i}"
                errors = float(noise[i]), float(spread[i])
                rows.append(row(self.name, name, float(x), *errors, reading, NOTE, table=True))
        return rows

    def expected(self, schema: Columns, sd: Mapping[Statistic, float], seen: Seen) -> list[Expectation]:
        return [Expectation(self.name, f"output {i}", "z", x, x) for i, x in enumerate(self._noise(sd).tolist())]

    def arguments(self) -> dict[str, Any]:
        return {"columns": list(self.over), "matrix": [list(line) for line in self.matrix]}


NOTE = OF_TABLE + " (at most); values rescaled to [-1, 1], missing entries at the midpoint"


@dataclass(frozen=True, kw_only=True)
class Own(Query):
    """A feature-wise Lipschitz query that its user computes and noises, with the scale that the plan gives (P4).

    ||f(x) - f(x')|| <= sum_j L_j |I(x)_j - I(x')_j| on the row that differs, I imputing z = 0: reach sum of L_j.
    """

    kind: ClassVar[str] = "custom"
    called: str
    constants: tuple[tuple[str, Fraction], ...]

    @property
    def subject(self) -> str:
        return self.called

    @property
    def own_columns(self) -> frozenset[str]:
        return frozenset(name for name, _ in self.constants)

    def parts(self, schema: Columns) -> dict[Statistic, Fraction]:
        return {}

    @property
    def full(self) -> Fraction:
        """The reach of a row with nothing missing."""
        return sum((L for _, L in self.constants), Fraction(0))

    def distances(self, norm: Norm) -> Distances:
        """r(O) = sum of L_j over O in either norm; its square is a sum over columns and pairs."""
        reach = Reach(norm, self._terms(norm), [self.own_columns])
        return Distances(reach, reach, round_up(2 * Fraction(reach.full)))

    def _terms(self, norm: Norm) -> list[Term]:
        own = [Term(frozenset({name}), round_up(L**norm)) for name, L in self.constants]
        if norm == 1:
            return own
        cross = [
            Term(frozenset({a, b}), round_up(2 * L * M))
            for i, (a, L) in enumerate(self.constants)
            for b, M in self.constants[:i]
        ]
        return own + cross

    def rows(self, schema: Columns, noisy: Noisy, sd: Mapping[Statistic, float], reading: Reading) -> list[Row]:
        """Nothing: its user runs it."""
        return []

    def expected(self, schema: Columns, sd: Mapping[Statistic, float], seen: Seen) -> list[Expectation]:
        return []

    def arguments(self) -> dict[str, Any]:
        return {"name": self.called, "constants": {name: str(L) for name, L in self.constants}}


def linear(
    matrix: Sequence[Sequence[object]],
    columns: Sequence[str],
    *,
    by: object = (),
    weight: str | None = None,
    share: object = 1,
) -> Linear:
    """The linear query with this matrix, one row an output, one entry for each of the columns."""
    names = columns_of(columns)
    if not isinstance(matrix, Sequence) or isinstance(matrix, str) or not matrix:
        raise InputError("matrix", matrix, "at least one row of numbers")
    rows = tuple(_line(line, len(names), i) for i, line in enumerate(matrix))
    if not any(x for line in rows for x in line):
        raise InputError("matrix", "zeros only", "at least one number that is not 0")
    return Linear(over=names, matrix=rows, **options(by, weight, share))


def _line(line: object, width: int, i: int) -> tuple[float, ...]:
    if isinstance(line, str) or not isinstance(line, Sequence) or len(line) != width:
        raise InputError(f"matrix[{i}]", line, f"{width} numbers, one for each column")
    return tuple(float(sized(x, f"matrix[{i}][{j}]")) for j, x in enumerate(line))


def sized(value: object, field: str) -> Fraction:
    """The number, whose square is neither too large nor too small for a double."""
    x = number(value, field)
    if x and not Fraction(1, 10**100) <= abs(x) <= 10**100:
        raise InputError(field, value, "0, or a number of size 1e-100 to 1e100")
    return x


def custom(name: str, constants: Mapping[str, object] | None = None, *, share: object = 1) -> Own:
    """A query of the user's own, by its feature-wise Lipschitz constants on rescaled values with zero imputation.

    >>> custom("my score", {"bmi": "0.5", "chl": 2}).full
    Fraction(5, 2)
    """
    if not isinstance(name, str) or not name:
        raise InputError("name", name, "a name for the query")
    if not constants:
        raise HazardRefused(
            "H18",
            f"The query {name!r} has no reach.",
            "Without a bound on what one row can do to it, no noise protects anybody.",
            "State its feature-wise Lipschitz constants: constants = {column = L, ...}.",
        )
    if not isinstance(constants, Mapping):
        raise InputError("constants", constants, "a table of column = constant")
    found = {c: sized(L, f"constants.{c}") for c, L in constants.items()}
    for c, L in found.items():
        if L < 0:
            raise InputError(f"constants.{c}", constants[c], "a number of at least 0")
    kept = tuple(sorted((c, L) for c, L in found.items() if L))
    if not kept:
        raise InputError("constants", dict(constants), "at least one constant above 0")
    return Own(called=name, constants=kept, share=share_of(share))
