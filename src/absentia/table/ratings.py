"""Mask counts of a long table with many items, from sorted (user, item) keys: no row is ever made dense."""

from __future__ import annotations

from collections import Counter

import narwhals.stable.v2 as nw
import numpy as np
import polars as pl

from absentia.planning.schema import Schema
from absentia.table.encode import ITEM, UNIT, VALUE
from absentia.table.masks import Left, MaskCounts, with_absent
from absentia.table.units import Encoded, kept

__all__ = ["long_masks", "sparse_masks"]


def long_masks(encoded: Encoded) -> MaskCounts:
    """Observed items per user and users per item, each entry counted once after the rule for duplicates."""
    schema, users, entries = encoded.encoder.schema, 0, 0
    per_row: Counter[int] = Counter()
    per_item: Counter[str] = Counter()
    unparsed = 0
    for frame in encoded.frames():
        rows = frame
        if encoded.encoder.rule.by is not None:
            rows = kept(nw.from_native(frame.lazy()), [UNIT, ITEM], 1).to_native().collect()
        users += rows.get_column(UNIT).drop_nulls().n_unique() if not _sorted(rows) else _runs(rows)
        counts, items = _counts(rows, schema)
        entries += sum(items.values())
        unparsed += _unparsed(rows, schema)
        sizes, times = np.unique(counts, return_counts=True)
        per_row.update(dict(zip(sizes.tolist(), times.tolist(), strict=True)))
        per_item.update(items)
    left = Left(encoded.rows - entries, *encoded.left.tolist())
    return sparse_masks(schema, users, per_row, per_item, unparsed, left)


def _sorted(rows: pl.DataFrame) -> bool:
    units = rows.get_column(UNIT)
    return units.null_count() == 0 and units.dtype == pl.Int64 and units.is_sorted()


def _runs(rows: pl.DataFrame) -> int:
    units = rows.get_column(UNIT).to_numpy()
    return int(np.count_nonzero(units[1:] != units[:-1])) + 1 if len(units) else 0


def _counts(rows: pl.DataFrame, schema: Schema) -> tuple[np.ndarray, dict[str, int]]:
    """Items of each user who shows any, and users of each item."""
    shown = _seen(rows.get_column(VALUE)) & _inside(rows, schema)
    if not shown.all():
        rows = rows.filter(shown)
    if not len(rows):
        return np.zeros(0, np.int64), {}
    user = _numbered(rows.get_column(UNIT))
    names = [str(name) for name in schema.columns]
    item = rows.get_column(ITEM)
    if not names:
        distinct = item.unique().sort()
        names = [str(v) for v in distinct.to_list()]
        item = item.rank("dense").cast(pl.Int64) - 1
    shift = max(1, len(names) - 1).bit_length()
    key = user << shift
    key |= item.to_numpy()
    key.sort()
    counts, per_item = _runs_of(key, shift, len(names))
    return counts, dict(zip(names, per_item.tolist(), strict=True))


def _seen(values: pl.Series) -> pl.Series:
    """Where an encoded entry shows something: not null, nor False, NaN or negative as what did not parse."""
    if values.dtype == pl.Boolean:
        return values.fill_null(False)
    return (values.is_not_nan() if values.dtype.is_float() else values >= 0).fill_null(False)


def _inside(rows: pl.DataFrame, schema: Schema) -> pl.Series:
    """Where an entry has a user, and an item in scope."""
    items = rows.get_column(ITEM)
    return rows.get_column(UNIT).is_not_null() & ((items >= 0) if schema.columns else items.is_not_null())


def _unparsed(rows: pl.DataFrame, schema: Schema) -> int:
    """Entries that do not parse, one for each user and item that no other entry shows."""
    values = rows.get_column(VALUE)
    seen = _seen(values)
    bad = ~seen & values.is_not_null()
    if not bad.any():
        return 0
    keys = rows.select(UNIT, ITEM)
    return keys.filter(bad & _inside(rows, schema)).unique().join(keys.filter(seen), on=[UNIT, ITEM], how="anti").height


def _runs_of(key: np.ndarray, shift: int, d: int) -> tuple[np.ndarray, np.ndarray]:
    """Distinct items of each user and users of each item, from sorted keys user 2^shift + item, a piece at a time."""
    counts, per_item = [], np.zeros(d, np.int64)
    low = 0
    while low < len(key):
        high = min(low + 2**18, len(key))
        if high < len(key):  # whole users: back to the start of the last one, or on to its end
            cut = int(np.searchsorted(key, key[high] >> shift << shift))
            high = cut if cut > low else int(np.searchsorted(key, ((key[high] >> shift) + 1) << shift))
        piece = key[low:high]
        piece = piece[np.flatnonzero(np.diff(piece, prepend=-1))]
        per_item += np.bincount(piece & ((1 << shift) - 1), minlength=d)
        counts.append(np.diff(np.flatnonzero(np.diff(piece >> shift, prepend=-1, append=-1))))
        low = high
    return np.concatenate(counts), per_item


def _numbered(units: pl.Series) -> np.ndarray:
    """A small non-negative integer for each user."""
    if units.dtype == pl.Int64:
        low, high = units.min(), units.max()
        if isinstance(low, int) and isinstance(high, int) and high - low < 2**32:
            return units.to_numpy() - low
    return units.rank("dense").cast(pl.Int64).to_numpy() - 1


def sparse_masks(
    schema: Schema,
    users: int,
    per_row: Counter[int],
    per_item: Counter[str],
    unparsed: int,
    left: Left,
) -> MaskCounts:
    """The frozen value; without declared items the columns are the items found, which may be more than declared."""
    long = schema.long
    assert long is not None
    names = tuple(schema.columns) or tuple(sorted(per_item))
    histogram = np.zeros(max(long.n_items, len(names)) + 1, np.int64)
    for size, times in per_row.items():
        histogram[size] += times
    histogram[0] += users - histogram.sum()
    masks = MaskCounts(
        columns=names, rows=users, observed=np.array([per_item[name] for name in names], np.int64),
        unparsed=np.array([unparsed]), per_row=histogram, patterns=np.zeros((0, len(names)), bool),
        pattern_counts=np.zeros(0, np.int64), unlisted=users, left=left,
    )  # fmt: skip
    return with_absent(masks, schema.n)
