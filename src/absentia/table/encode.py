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
from absentia.table.cells import Cells, clean_array, clean_type, numbers_of, read, refused_type, times, valid_text
from absentia.table.spelling import codes_as_texts, moment_of, number_of

__all__ = ["CONTENT", "ITEM", "ORDER", "UNIT", "VALUE", "Encoder", "identifiers"]

UNIT, ITEM, ORDER, CONTENT, VALUE = "__unit", "__item", "__order", "__content", "__value"
_LAST = np.int64(2**52 - 1)
_TIMES = tuple(f"%Y-%m-%d{between}{time}" for between in "T " for time in ("%H:%M:%S%.f", "%H:%M"))
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

    @property
    def unit(self) -> str:
        """The column that names a person."""
        return self.schema.long.user if self.schema.long else str(self.schema.unit)

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
        """The encoded rows; how many of them are of items outside the list, and how many have no usable order."""
        long, outside = self.schema.long, 0
        columns = {VALUE: long.value_column} if long else dict(self.schema.columns)
        cells = {name: read(batch.column(column.name), column) for name, column in columns.items()}
        arrays = {UNIT: self._key(batch.column(self.unit), self.unit)}
        if long:
            arrays[ITEM], outside = self._items(batch.column(long.item))
        order, rest, unordered = self._order(batch)
        if self.ranked:
            arrays[ORDER] = pa.array(order)
            arrays[CONTENT] = pa.array(_content(list(cells.values()), rest))
        for name, cell in cells.items():
            arrays[name] = clean_array(cell, columns[name]) if self.ranked else _shown(cell)
        return pa.table(arrays), np.array([outside, unordered], np.int64)

    def _items(self, array: pa.Array) -> tuple[pa.Array, int]:
        if self.item is None:
            return self._key(array, str(self.schema.long and self.schema.long.item)), 0
        cells = read(array, self.item)
        return pa.array(np.where(cells.seen, cells.values, -1).astype(np.int32)), cells.unparsed

    def _key(self, array: pa.Array, name: str) -> pa.Array:
        """An identifier: integers as they are where the engine allows, else text.

        Null when blank, NaN or a code such as "NA"; a code that is a number is not applied, person 99 is a person.
        """
        if pt.is_integer(array.type) and array.type != pa.uint64() and not self.text_units:
            return array.cast(pa.int64())
        series = identifiers(array, name)
        words = tuple(code for code in self.schema.missing if isinstance(code, str) and number_of(code) is None)
        moments = [moment for word in words if (moment := moment_of(word.strip())) is not None]
        blank = (series == "") | series.is_in([*codes_as_texts(words), *moments, "NaN"])
        return pl.select(pl.when(~blank).then(series)).to_series().to_arrow().cast(pa.large_string())

    def _order(self, batch: pa.RecordBatch) -> tuple[np.ndarray, np.ndarray | int, int]:
        """Smaller is preferred, then what a double cannot hold of an integer; rows without an order."""
        if self.rule.by is None or not self.ranked:
            return np.zeros(batch.num_rows), 0, 0
        order, rest = _moment(batch.column(self.rule.by), self.rule.by)
        sign = -1 if self.rule.keep == "last" else 1
        without = np.isnan(order)
        return np.where(without, np.inf, sign * order + 0.0), sign * rest, int(np.count_nonzero(without))


def identifiers(array: pa.Array, name: str) -> pl.Series:
    """Who or what each cell names, as text: 1 and 1.0 are one, a moment is spelled, bytes are in hexadecimal."""
    array = _plain(array, name, "a column of numbers, texts, dates or bytes")
    moment = pt.is_date(array.type) or pt.is_time(array.type) or pt.is_timestamp(array.type)
    series = pl.Series(times(array) if moment else array)
    if series.dtype.is_float():
        whole = series.cast(pl.Int64, strict=False)
        text = pl.when(whole == series).then(whole.cast(pl.String)).otherwise(series.cast(pl.String))
        series = pl.select(text).to_series()
    if series.dtype == pl.Binary:
        series = series.bin.encode("hex")
    series = series.to_physical() if series.dtype.is_temporal() else series
    return series.cast(pl.String).str.strip_chars()


def _plain(array: pa.Array, name: str, allowed: str) -> pa.Array:
    """The array as the engine can hold it, or the refusal of its type: each cell has one value.

    Decimals are text and moments in UTC: the engine knows few widths of the ones, and few zones of the others.
    """
    t = array.type.value_type if pt.is_dictionary(array.type) else array.type
    if pt.is_nested(t) or pt.is_interval(t) or isinstance(t, pa.BaseExtensionType):
        raise refused_type(f"column {name}", t, allowed)
    array = array.dictionary_decode() if pt.is_dictionary(array.type) else array
    if pt.is_decimal(t):
        return array.cast(pa.large_string())
    return array.cast(pa.timestamp(t.unit)) if pt.is_timestamp(t) else valid_text(array)


def _moment(array: pa.Array, name: str = "") -> tuple[np.ndarray, np.ndarray]:
    """Numbers as they are, dates and ISO texts as microseconds, else NaN; and what a double cannot hold."""
    allowed = "a column of numbers, dates or texts that spell them"
    series = pl.Series(_plain(array, name, allowed))
    if series.dtype in (pl.Time, pl.Duration, pl.Binary):
        raise refused_type(f"column {name}", array.type, allowed)
    if series.dtype == pl.Date:
        return _doubles(series.to_physical().cast(pl.Float64) * 86_400e6), np.zeros(len(series), np.int64)
    if isinstance(series.dtype, pl.Datetime):
        series = series.dt.epoch("us")
    if not series.dtype.is_numeric() or series.dtype.is_decimal():
        text = series.cast(pl.String).str.strip_chars()
        number = numbers_of(text)
        for form in _DATES:
            if number.null_count() == text.null_count():
                break
            date = text.str.to_datetime(form, strict=False, time_unit="us")
            number = pl.select(pl.coalesce(number, date.cast(pl.Int64).cast(pl.Float64))).to_series()
        return _doubles(number), _rest(text.cast(pl.Int64, strict=False))
    whole = series.cast(pl.Int64, strict=False) if series.dtype.is_integer() else pl.Series([0], dtype=pl.Int64)
    return _doubles(series.cast(pl.Float64)), _rest(whole)


def _doubles(series: pl.Series) -> np.ndarray:
    return np.asarray(series.fill_null(float("nan")).to_numpy())


def _rest(whole: pl.Series) -> np.ndarray:
    """What rounding to a double takes from each integer: less than 2^10 in size."""
    exact = whole.fill_null(0).to_numpy()
    return np.asarray(exact - np.minimum(exact.astype(np.float64), 2.0**63 - 1024).astype(np.int64))


def _shown(cell: Cells) -> pa.Array:
    """True where seen, False where a cell did not parse, null where missing."""
    return pa.array(cell.seen, mask=~(cell.seen if cell.bad is None else cell.seen | cell.bad))


def _content(cells: Sequence[Cells], rest: np.ndarray | int) -> np.ndarray:
    """The rest of the order, then a mix of a row's cells, the same on every engine; rows that show nothing last."""
    mix = np.zeros(len(cells[0].seen), np.uint64)
    shown = np.zeros(len(mix), bool)
    bad = np.zeros(len(mix), bool)
    for cell in cells:
        word = (cell.values.astype(np.float64) + 0.0).view(np.uint64)
        word = np.where(cell.seen, word, np.uint64(0x9E3779B97F4A7C15))
        if cell.bad is not None:
            word[cell.bad] = np.uint64(0xD1B54A32D192ED03)
            bad |= cell.bad
        mix ^= word
        mix *= np.uint64(0xBF58476D1CE4E5B9)
        mix ^= mix >> np.uint64(29)
        mix *= np.uint64(0x94D049BB133111EB)
        mix ^= mix >> np.uint64(32)
        shown |= cell.seen
    content = np.where(shown, (mix >> np.uint64(13)).astype(np.int64), _LAST)
    if bad.any():
        content = np.where(bad & ~shown, (mix >> np.uint64(14)).astype(np.int64) + 2**51, content)
    return np.asarray(content + ((rest + np.int64(1024)) << np.int64(52)))
