"""Rows read once into clean columns beside the person, the order and the content that choose among a person's rows.

The same encoded columns go to every engine that groups: what a row is worth never depends on the engine.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.types as pt

from absentia.planning.schema import Column, Schema, UnitRule
from absentia.table.cells import Cells, clean_type, number_of, read

__all__ = ["CONTENT", "ITEM", "ORDER", "UNIT", "VALUE", "Encoder"]

UNIT, ITEM, ORDER, CONTENT, VALUE = "__unit", "__item", "__order", "__content", "__value"
_LAST = np.int64(2**63 - 1)
_TIMES = ("%Y-%m-%dT%H:%M:%S%.f", "%Y-%m-%d %H:%M:%S%.f")
_DATES = ("%Y-%m-%d", *_TIMES, *(time + "%#z" for time in _TIMES))


@dataclass(frozen=True)
class Encoder:
    """From raw batches to encoded ones: wide (person and every column of the schema) or long (user, item, value).

    `ranked` adds what chooses among rows; without it only what is missing is kept. `text_units` makes every
    identifier text, for engines that must know their types beforehand.
    """

    schema: Schema
    text_units: bool = False
    ranked: bool = True

    @cached_property
    def types(self) -> dict[str, pa.DataType]:
        """The encoded columns and their types, for engines that must know them (`text_units`)."""
        long = self.schema.long
        columns = {VALUE: long.value_column} if long else dict(self.schema.columns)
        item = {} if long is None else {ITEM: pa.string() if self.item is None else pa.int32()}
        head = {UNIT: pa.string(), **item, ORDER: pa.float64(), CONTENT: pa.int64()}
        return head | {name: clean_type(column) for name, column in columns.items()}

    @property
    def rule(self) -> UnitRule:
        return self.schema.unit_rule or UnitRule()

    @cached_property
    def columns(self) -> tuple[str, ...]:
        """The raw columns that are read."""
        long, by = self.schema.long, [self.rule.by] if self.rule.by else []
        named = [long.user, long.item, long.value] if long else [str(self.schema.unit), *self.schema.columns]
        return tuple(dict.fromkeys(named + by))

    @cached_property
    def item(self) -> Column | None:
        """The items of a long table as a category; None when only their number is declared."""
        long = self.schema.long
        return None if long is None or long.items is None else Column(long.item, "category", values=long.items)

    def encoded(self, batch: pa.RecordBatch) -> tuple[pa.Table, np.ndarray]:
        """The encoded rows, and how many cells of each clean column did not parse."""
        long = self.schema.long
        columns = {VALUE: long.value_column} if long else dict(self.schema.columns)
        cells = {name: read(batch.column(column.name), column) for name, column in columns.items()}
        arrays = {UNIT: self._key(batch.column(long.user if long else str(self.schema.unit)))}
        if long:
            arrays[ITEM] = self._items(batch.column(long.item))
        if self.ranked:
            arrays[ORDER] = pa.array(self._order(batch))
            arrays[CONTENT] = pa.array(_content(list(cells.values())))
        for name, cell in cells.items():
            values, kind = (cell.values, clean_type(columns[name])) if self.ranked else (cell.seen, pa.bool_())
            arrays[name] = pa.array(values, kind, mask=~cell.seen)
        return pa.table(arrays), np.array([cell.unparsed for cell in cells.values()], np.int64)

    def _items(self, array: pa.Array) -> pa.Array:
        if self.item is None:
            return self._key(array)
        cells = read(array, self.item)
        return pa.array(np.where(cells.seen, cells.values, -1).astype(np.int32))

    def _key(self, array: pa.Array) -> pa.Array:
        """An identifier: integers as they are where the engine allows, else text.

        Null when blank, NaN or a code such as "NA"; a code that is a number is not applied, person 99 is a person.
        """
        if pt.is_integer(array.type) and array.type != pa.uint64() and not self.text_units:
            return array.cast(pa.int64())
        series = pl.Series(array)
        if pt.is_floating(array.type):
            whole = series.cast(pl.Int64, strict=False)
            text = pl.when(whole == series).then(whole.cast(pl.String)).otherwise(series.cast(pl.String))
            series = pl.select(text).to_series()
        series = series.cast(pl.String).str.strip_chars()
        codes = [code.strip() for code in self.schema.missing if isinstance(code, str) and number_of(code) is None]
        blank = (series == "") | series.is_in([*codes, "NaN"])
        return pl.select(pl.when(~blank).then(series)).to_series().to_arrow().cast(pa.large_string())

    def _order(self, batch: pa.RecordBatch) -> np.ndarray:
        """Smaller is preferred; a row without an order comes last."""
        if self.rule.by is None:
            return np.zeros(batch.num_rows)
        order = _moment(batch.column(self.rule.by))
        order = (-order if self.rule.keep == "last" else order) + 0.0
        return np.where(np.isnan(order), np.inf, order)


def _moment(array: pa.Array) -> np.ndarray:
    """Numbers as they are, dates and ISO texts as microseconds; NaN for everything else."""
    series = pl.Series(array)
    if series.dtype.is_temporal():
        series = series.cast(pl.Datetime("us"), strict=False).cast(pl.Int64)
    if series.dtype in (pl.String, pl.Categorical):
        text = series.cast(pl.String).str.strip_chars()
        dates = [text.str.to_datetime(f, strict=False, time_unit="us").cast(pl.Int64).cast(pl.Float64) for f in _DATES]
        series = pl.select(pl.coalesce(text.cast(pl.Float64, strict=False), *dates)).to_series()
    return series.cast(pl.Float64, strict=False).fill_null(float("nan")).to_numpy()


def _content(cells: Sequence[Cells]) -> np.ndarray:
    """A 64-bit mix of a row's clean cells, the same on every engine; rows that show nothing come last."""
    mix = np.zeros(len(cells[0].seen), np.uint64)
    shown = np.zeros(len(mix), bool)
    for cell in cells:
        word = (cell.values.astype(np.float64) + 0.0).view(np.uint64)
        mix ^= np.where(cell.seen, word, np.uint64(0x9E3779B97F4A7C15))
        mix *= np.uint64(0xBF58476D1CE4E5B9)
        mix ^= mix >> np.uint64(29)
        mix *= np.uint64(0x94D049BB133111EB)
        mix ^= mix >> np.uint64(32)
        shown |= cell.seen
    return np.asarray(np.where(shown, (mix >> np.uint64(2)).astype(np.int64), _LAST))
