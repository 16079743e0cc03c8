"""What is computed from rows: one class of sums, exact on a public grid, from which every query is built.

Layering: the schema is duck-typed here (`planning` comes later in the order of imports).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Protocol

from absentia.errors import InputError

__all__ = ["Bins", "Columns", "Statistic"]


class Columns(Protocol):
    """What a statistic, or a query, asks of a schema."""

    @property
    def columns(self) -> Mapping[str, Any]: ...

    @property
    def rows_per_unit(self) -> int: ...

    @property
    def n(self) -> int | None: ...


@dataclass(frozen=True, order=True)
class Bins:
    """Public bins of a number column: [e0, e1), ..., the last closed; values are clipped into [e0, e_last] first.

    So the first bin counts everything below its end, and the last everything from its begin on.

    >>> len(Bins("age", (0, 18, 65, 120)))
    3
    """

    column: str
    edges: tuple[float, ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "edges", tuple(float(e) for e in self.edges))
        if len(self.edges) < 2 or not all(math.isfinite(e) for e in self.edges):
            raise InputError("bins.edges", self.edges, "at least two finite numbers")
        if any(a >= b for a, b in zip(self.edges, self.edges[1:], strict=False)):
            raise InputError("bins.edges", self.edges, "strictly increasing numbers")

    def __len__(self) -> int:
        return len(self.edges) - 1

    def reaching(self, low: float, high: float) -> Bins:
        """The bins as they count values between these bounds: the outer ones reach to them where they lie further out.

        >>> Bins("age", (0, 40, 65)).reaching(18, 100).edges
        (0.0, 40.0, 100.0)
        """
        first, *inner, last = self.edges
        return Bins(self.column, (min(first, low), *inner, max(last, high)))


@dataclass(frozen=True)
class Statistic:
    """Sum, over the rows in which every column named here is observed, of weight * prod_j z_j^e_j, cell by cell.

    z is the value rescaled to [-1, 1] by its public bounds. `cells` are category or boolean columns (every public
    value, in the schema's order) or Bins; one output a combination, in C order. A missing weight is not observed.

    >>> Statistic((("chl", 1), ("bmi", 1))).powers
    (('bmi', 1), ('chl', 1))
    """

    powers: tuple[tuple[str, int], ...] = ()
    cells: tuple[str | Bins, ...] = ()
    weight: str | None = None

    def __post_init__(self) -> None:
        powers = tuple(sorted((str(name), int(e)) for name, e in self.powers))
        object.__setattr__(self, "powers", powers)
        object.__setattr__(self, "cells", tuple(self.cells))
        if len({name for name, _ in powers}) < len(powers) or any(not 0 <= e <= 8 for _, e in powers):
            raise InputError("statistic.powers", powers, "distinct columns with exponents from 0 to 8")
        if not self.columns:
            raise InputError("statistic", self, "at least one column: the number of rows itself is not a statistic")

    @property
    def columns(self) -> frozenset[str]:
        """The columns that must be observed for a row to count."""
        cells = {c.column if isinstance(c, Bins) else c for c in self.cells}
        return frozenset({name for name, _ in self.powers} | cells | ({self.weight} if self.weight else set()))

    @property
    def signed(self) -> bool:
        """Whether a row can contribute a negative amount."""
        return any(e % 2 for _, e in self.powers)

    def validate(self, schema: Columns) -> None:
        """Nothing, or an InputError: sums need number columns, cells categories, a weight its own."""
        for name in self.columns:
            if name not in schema.columns:
                raise InputError("statistic", name, "a column of the schema", code="E-COLUMN")
        wanted = [(name, "number") for name, e in self.powers if e > 0]
        wanted += [(c.column, "number") if isinstance(c, Bins) else (c, "cell") for c in self.cells]
        for name, kind in wanted:
            if (schema.columns[name].kind == "number") != (kind == "number"):
                allowed = "a number column" if kind == "number" else "a category or boolean column, or Bins"
                raise InputError("statistic", name, allowed, code="E-KIND")
        if self.weight is not None and not schema.columns[self.weight].weight:
            raise InputError("statistic.weight", self.weight, "a column with `weight = true` in the schema")

    def shape(self, schema: Columns) -> tuple[int, ...]:
        """The shape of the output: one axis a cell column, () for a scalar."""
        self.validate(schema)
        return tuple(len(c) if isinstance(c, Bins) else len(schema.columns[c].values) for c in self.cells)

    def scale(self, schema: Columns) -> Fraction:
        """sup |weight * prod z^e| of one row: 1, or the weight's public maximum."""
        return Fraction(1) if self.weight is None else Fraction(schema.columns[self.weight].high)
