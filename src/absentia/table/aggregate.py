"""A table and a schema to exact aggregates and mask counts, in one pass: all that the rest of the library sees."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any

import numpy as np

from absentia.planning.schema import Schema
from absentia.query.statistic import Statistic
from absentia.table.encode import Encoder
from absentia.table.kernel import Demand
from absentia.table.masks import MAX_PAIR_COLUMNS, Left, MaskCounts, with_absent
from absentia.table.ratings import long_masks
from absentia.table.scan import Total, Work, scan
from absentia.table.source import is_spark, open_source
from absentia.table.units import Encoded, bounded_total, encode_all, long_total

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
    """Aggregates and mask counts together, in one pass (two in long form with more than 1024 items)."""
    wide = schema.long is None or (bool(schema.columns) and len(schema.columns) <= MAX_PAIR_COLUMNS)
    work = Work(Demand(schema, tuple(dict.fromkeys(statistics))), profile and wide)
    masks = None
    if profile and not wide:
        masks = _long_masks(table, schema)
        if not work.demand.statistics:
            return Aggregates(masks.rows, {}, {}), masks
    total, left = _total(table, work)
    if work.profile:
        masks = with_absent(total.masks(left), schema.n if schema.long else None)
    demand = work.demand
    return Aggregates(total.rows, total.values(), {s: demand.unit(s) for s in demand.statistics}), masks


def _total(table: Any, work: Work) -> tuple[Total, Left]:
    """The merged total of a table on any engine, and what the rule for one person left out."""
    schema = work.demand.schema
    grouped = schema.unit is not None or schema.long is not None
    if is_spark(table):
        from absentia.table.spark import spark_source, spark_total

        spark_source(table).require(Encoder(schema).columns if grouped else work.columns)
        return spark_total(table, work)
    source = open_source(table)
    if not grouped:
        source.require(list(schema.columns))
        return scan(source.streams(work.columns), work), Left()
    with Encoded(Encoder(schema)) as encoded:
        source.require(encoded.encoder.columns)
        encode_all(source.streams(encoded.encoder.columns), encoded)
        total, dropped = (long_total if schema.long else bounded_total)(encoded, replace(work, clean=True))
    return total, Left(dropped, *encoded.left.tolist())


def _long_masks(table: Any, schema: Schema) -> MaskCounts:
    encoder = Encoder(schema, ranked=bool(schema.unit_rule and schema.unit_rule.by))
    if is_spark(table):
        from absentia.table.spark import spark_long_masks, spark_source

        spark_source(table).require(encoder.columns)
        return spark_long_masks(table, Encoder(schema, text_units=True))
    source = open_source(table)
    source.require(encoder.columns)
    with Encoded(encoder) as encoded:
        encode_all(source.streams(encoder.columns), encoded)
        return long_masks(encoded)
