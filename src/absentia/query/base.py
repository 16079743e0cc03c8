"""What every query on columns is: which exact sums it needs, and how their noisy values become its answer."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar, TypedDict

import numpy as np
from numpy.typing import NDArray

from absentia.errors import InputError
from absentia.exact import exact
from absentia.query.estimate import Reading, Row, cell_names
from absentia.query.statistic import Columns, Statistic

Noisy = Mapping[Statistic, NDArray[np.float64]]
"""Noisy statistics in units of z, each of its shape."""

__all__ = ["Columns", "Expectation", "Noisy", "Query", "Seen", "columns_of", "options", "share_of"]

BIN_FIRST = "Make a category of it before the table is read; a histogram or a marginal takes a number with `bins`."
Seen = Callable[[frozenset[str]], tuple[float, float]]
"""How many rows show all of these columns: (at least, at most)."""


@dataclass(frozen=True)
class Expectation:
    """What the noise alone does to one number of an answer: its standard deviation, from best to worst case."""

    query: str
    cell: str
    unit: str
    best: float
    worst: float


@dataclass(frozen=True, kw_only=True)
class Query(ABC):
    """A question about columns. `by`: one answer for each combination of public categories; `weight`: a survey
    weight; `share`: how much of the budget each of its statistics takes, relative to other queries'.
    """

    kind: ClassVar[str]
    by: tuple[str, ...] = ()
    weight: str | None = None
    share: Fraction = Fraction(1)

    # -- what a query must say ----------------------------------------------------------------------------------

    @property
    @abstractmethod
    def subject(self) -> str:
        """What stands between the parentheses of its name."""

    @abstractmethod
    def parts(self, schema: Columns) -> dict[Statistic, Fraction]:
        """The exact sums it is built from, with the relative share of each."""

    @abstractmethod
    def rows(self, schema: Columns, noisy: Noisy, sd: Mapping[Statistic, float], reading: Reading) -> list[Row]:
        """The answer."""

    @abstractmethod
    def expected(self, schema: Columns, sd: Mapping[Statistic, float], seen: Seen) -> list[Expectation]:
        """The error that the noise is expected to make, before any data is opened."""

    @abstractmethod
    def arguments(self) -> dict[str, Any]:
        """The constructor's arguments, `by`, `weight` and `share` apart."""

    # -- what follows -------------------------------------------------------------------------------------------

    @property
    def name(self) -> str:
        by = " by " + ", ".join(self.by) if self.by else ""
        return f"{self.kind}({self.subject}){by}" + (f" weighted by {self.weight}" if self.weight else "")

    @property
    def columns(self) -> frozenset[str]:
        """Every column that the query mentions."""
        return self.own_columns | set(self.by) | ({self.weight} if self.weight else set())

    @property
    def own_columns(self) -> frozenset[str]:
        raise NotImplementedError

    @property
    def clique(self) -> tuple[str, ...]:
        """Columns of which every pair product is released (Proofs 10 bounds them together)."""
        return ()

    def statistics(self, schema: Columns) -> tuple[Statistic, ...]:
        """What is released; equal statistics of different queries are released once."""
        return tuple(self.parts(schema))

    def validate(self, schema: Columns) -> None:
        """Nothing, or an InputError that names the bad field."""
        for field, names in (("column", self.own_columns), ("by", self.by)):
            for name in sorted(names):
                if name not in schema.columns:
                    allowed = "a column of the schema: " + ", ".join(list(schema.columns)[:12])
                    raise InputError(field, name, allowed, code="E-COLUMN")
        for name in self.by:
            if schema.columns[name].kind == "number":
                raise InputError("by", name, "category or boolean columns", "E-KIND", BIN_FIRST)
        if set(self.by) & self.own_columns:
            raise InputError("by", sorted(set(self.by) & self.own_columns)[0], "columns the query itself does not use")
        if self.weight is not None and (self.weight not in schema.columns or not schema.columns[self.weight].weight):
            raise InputError("weight", self.weight, "a column with `weight = true` in the schema")
        for statistic in self.parts(schema):
            statistic.validate(schema)

    def size(self, schema: Columns, seen: Seen, *columns: str) -> tuple[float, float]:
        """How many rows (or how much weight) with these columns one group should hold: equal groups, weights of 1."""
        low, high = seen(frozenset({*columns, *self.by} | ({self.weight} if self.weight else set())))
        groups = math.prod(len(schema.columns[name].values) for name in self.by)
        return low / groups, high / groups

    def groups(self, schema: Columns) -> list[str]:
        """The names of the group-by cells, in C order."""
        return cell_names(schema, self.by)

    def stat(self, powers: Iterable[tuple[str, int]] = (), cells: Iterable[Any] = ()) -> Statistic:
        """One of its statistics, group by group and weighted."""
        return Statistic(tuple(powers), (*self.by, *cells), self.weight)

    def to_dict(self) -> dict[str, Any]:
        """What a plan file says about the query."""
        share = str(self.share) if self.share != 1 else None
        extra = {"by": list(self.by) or None, "weight": self.weight, "share": share}
        return {"kind": self.kind, **self.arguments(), **{k: v for k, v in extra.items() if v is not None}}


class Options(TypedDict):
    """What every query takes."""

    by: tuple[str, ...]
    weight: str | None
    share: Fraction


def options(by: object, weight: str | None, share: object) -> Options:
    """The three checked, for the query that is being built."""
    return {"by": columns_of(by, "by"), "weight": weight, "share": share_of(share)}


def columns_of(value: object, field: str = "columns") -> tuple[str, ...]:
    """Column names, each once."""
    names = (value,) if isinstance(value, str) else value
    if not isinstance(names, (list, tuple)) or not all(isinstance(n, str) and n for n in names):
        raise InputError(field, value, "a column name or a list of them")
    if len(set(names)) < len(names):
        raise InputError(field, value, "every column once")
    return tuple(names)


def share_of(value: object) -> Fraction:
    """A relative share of the budget."""
    share = Fraction(value) if isinstance(value, float) and value.is_integer() else exact(value, "share")
    if not 0 < share <= 10**6:
        raise InputError("share", value, "a number above 0, at most 1000000")
    return share
