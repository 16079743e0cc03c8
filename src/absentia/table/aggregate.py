"""A table and a schema to exact aggregates and mask counts, in one pass: all that the rest of the library sees."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np

from absentia.planning.schema import Schema
from absentia.query.statistic import Statistic
from absentia.table.kernel import Demand
from absentia.table.masks import MaskCounts
from absentia.table.scan import Total, Work, scan
from absentia.table.source import open_source

__all__ = ["Aggregates", "aggregate", "profile_counts", "survey"]


@dataclass(frozen=True, eq=False)
class Aggregates:
    """Integers on a public power-of-two grid, bit-identical on every engine: value = integer * unit.

    Private until noise is added. `rows` is what was counted, after the rule for one person's rows.
    """

    rows: int
    values: Mapping[Statistic, np.ndarray]
    units: Mapping[Statistic, float]

    def __post_init__(self) -> None:
        object.__setattr__(self, "values", MappingProxyType(dict(self.values)))
        object.__setattr__(self, "units", MappingProxyType(dict(self.units)))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Aggregates):
            return NotImplemented
        same = (self.rows, dict(self.units)) == (other.rows, dict(other.units))
        return same and all(np.array_equal(v, other.values[s]) for s, v in self.values.items())

    __hash__ = None  # type: ignore[assignment]

    def value(self, statistic: Statistic) -> np.ndarray:
        """The statistic in units of z (counts: rows) as doubles."""
        return np.asarray(self.values[statistic] * self.units[statistic])


def aggregate(table: Any, schema: Schema, statistics: Iterable[Statistic]) -> Aggregates:
    """The exact aggregates of a table: one pass over any engine's data."""
    return survey(table, schema, statistics, profile=False)[0]


def profile_counts(table: Any, schema: Schema) -> MaskCounts:
    """The mask counts of a table, for the custodian's eyes only."""
    masks = survey(table, schema, ())[1]
    assert masks is not None
    return masks


def survey(
    table: Any, schema: Schema, statistics: Iterable[Statistic], profile: bool = True
) -> tuple[Aggregates, MaskCounts | None]:
    """Aggregates and mask counts together, in one pass."""
    work = Work(Demand(schema, tuple(dict.fromkeys(statistics))), profile)
    source = open_source(table)
    source.require(list(schema.columns))
    total = scan(source.streams(work.columns), work)
    return _aggregates(total), total.masks() if profile else None


def _aggregates(total: Total) -> Aggregates:
    demand = total.work.demand
    return Aggregates(total.rows, total.values(), {s: demand.unit(s) for s in demand.statistics})
