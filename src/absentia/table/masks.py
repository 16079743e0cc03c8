"""Counts of masks, for the custodian's eyes: observed cells, observed per row, patterns, pairs; one frozen value."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import lru_cache

import numpy as np
import polars as pl

from absentia.planning.schema import Schema
from absentia.table.cells import Cells
from absentia.table.kernel import Partial

__all__ = ["MaskCounts", "Patterns", "mask_sums"]

MAX_PAIR_COLUMNS = 1024
MAX_PATTERNS = 2**21
_BITS = 24  # of a pattern in one float32: sums of distinct powers of two below 2^24 are exact


@dataclass(frozen=True)
class Left:
    """Rows or entries left out in all, entries of items outside the list, and rows kept or not without usable order."""

    dropped: int = 0
    outside: int = 0
    unordered: int = 0


@dataclass(frozen=True, eq=False)
class MaskCounts:
    """What is missing in a table, counted exactly. Private: not for release, and no guarantee follows from it.

    - `observed[j]`, `unparsed[j]`: cells of column j that are observed, and that hold something the schema excludes
    - `per_row[k]`: rows with exactly k observed columns
    - `patterns[i]` (one bool a column, True = observed) with `pattern_counts[i]`, most frequent first
    - `pairs[i, j]`: rows in which both columns are observed; None with more than 1024 columns and in long form
    - `unlisted`: rows whose pattern is not listed (more than 2^21 patterns, or long form)
    - `left`: rows without a unit or beyond what one unit may have; in long form: entries that show nothing
    """

    columns: tuple[str, ...]
    rows: int
    observed: np.ndarray
    unparsed: np.ndarray
    per_row: np.ndarray
    patterns: np.ndarray
    pattern_counts: np.ndarray
    pairs: np.ndarray | None = None
    unlisted: int = 0
    left: Left = Left()

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, MaskCounts):
            return NotImplemented
        return all(np.array_equal(getattr(self, f.name), getattr(other, f.name)) for f in fields(self))

    __hash__ = None  # type: ignore[assignment]

    @property
    def dropped(self) -> int:
        """Rows or entries left out."""
        return self.left.dropped

    @property
    def missing(self) -> np.ndarray:
        """Missing cells of each column."""
        return self.rows - self.observed

    @property
    def fully_missing(self) -> int:
        """Rows that show nothing in the columns in scope."""
        return int(self.per_row[0])

    @property
    def both_missing(self) -> np.ndarray | None:
        """Rows in which both columns of each pair are missing."""
        if self.pairs is None:
            return None
        return np.asarray(self.rows - self.observed[:, None] - self.observed[None, :] + self.pairs)


def mask_sums(columns: Mapping[str, Cells], names: Sequence[str], O: np.ndarray) -> Partial:  # noqa: E741
    """The partial counts of one batch; `patterns` has one row a distinct pattern: its words, then its count."""
    *halves, per_row = _weights(len(names)) @ O
    return {
        "observed": np.array([np.count_nonzero(columns[name].seen) for name in names], np.int64),
        "unparsed": np.array([columns[name].unparsed for name in names], np.int64),
        "per_row": np.bincount(per_row.astype(np.int64), minlength=len(names) + 1).astype(np.int64),
        "patterns": _distinct(_words(halves)),
    }


def mask_zero(d: int) -> Partial:
    """The partial of no rows."""
    zero = {"observed": np.zeros(d, np.int64), "unparsed": np.zeros(d, np.int64), "per_row": np.zeros(d + 1, np.int64)}
    return zero | ({"pairs": np.zeros((d, d), np.int64)} if d <= MAX_PAIR_COLUMNS else {})


@lru_cache(maxsize=16)
def _weights(d: int) -> np.ndarray:
    """Powers of two for 24 columns a row, an even number of rows; then ones: pattern and count in one product."""
    out = np.zeros((2 * -(-d // (2 * _BITS)) + 1, d), np.float32)
    out[np.arange(d) // _BITS, np.arange(d)] = np.float32(2.0) ** (np.arange(d) % _BITS)
    out[-1] = 1
    return out


def _words(halves: Sequence[np.ndarray]) -> np.ndarray:
    """The pattern of each row as integers of 48 bits, one column a word."""
    whole = [half.astype(np.int64) for half in halves]
    return np.stack([low | (high << _BITS) for low, high in zip(whole[::2], whole[1::2], strict=True)], axis=1)


def _distinct(words: np.ndarray) -> np.ndarray:
    """Distinct rows of words with their counts as a last column."""
    if words.shape[1] == 1:
        keys, counts = np.unique(words[:, 0], return_counts=True)
        return np.stack([keys, counts], axis=1)
    return _grouped(np.column_stack([words, np.ones(len(words), np.int64)]))


def _frame(table: np.ndarray) -> pl.DataFrame:
    return pl.DataFrame({str(i): np.ascontiguousarray(column) for i, column in enumerate(table.T)})


def _grouped(table: np.ndarray) -> np.ndarray:
    """Rows with equal words merged, counts (the last column) added."""
    frame = _frame(table)
    *words, count = frame.columns
    return frame.group_by(words).agg(pl.col(count).sum()).to_numpy()


@dataclass
class Patterns:
    """Pattern counts that grow batch by batch and stay below 2^21 patterns: beyond, the rarest become `unlisted`."""

    width: int
    parts: list[np.ndarray] = field(default_factory=list)
    unlisted: int = 0
    _waiting: int = 0
    _merged: int = 0

    def add(self, table: np.ndarray) -> None:
        self.parts.append(table)
        self._waiting += len(table)
        if self._waiting > 2**20 + 2 * self._merged:
            self.merge()

    def join(self, other: Patterns) -> None:
        """Take over another's patterns."""
        self.unlisted += other.unlisted
        self.parts += other.parts
        self._waiting += other._waiting

    def merge(self) -> np.ndarray:
        """One table, in any order."""
        if not self.parts:
            return np.zeros((0, (self.width + 2 * _BITS - 1) // (2 * _BITS) + 1), np.int64)
        table = _grouped(np.concatenate(self.parts)) if len(self.parts) > 1 else self.parts[0]
        if len(table) > MAX_PATTERNS:
            table = _frequent(table)
            self.unlisted += int(table[MAX_PATTERNS:, -1].sum())
        self.parts = [table[:MAX_PATTERNS]]
        self._waiting = self._merged = len(self.parts[0])
        return self.parts[0]


def _frequent(table: np.ndarray) -> np.ndarray:
    """Most frequent first, ties by the words."""
    frame = _frame(table)
    *words, count = frame.columns
    return frame.sort(count, *words, descending=[True] + [False] * len(words)).to_numpy()


def counted(schema: Schema, total: Partial, patterns: Patterns, left: Left) -> MaskCounts:
    """The frozen value behind merged partials."""
    names = tuple(schema.columns)
    table = _frequent(patterns.merge())
    return MaskCounts(
        columns=names, rows=int(total["rows"][0]), observed=total["observed"], unparsed=total["unparsed"],
        per_row=total["per_row"], patterns=_shown(table[:, :-1], len(names)), pattern_counts=table[:, -1],
        pairs=total.get("pairs"), unlisted=patterns.unlisted, left=left,
    )  # fmt: skip


def _shown(words: np.ndarray, width: int) -> np.ndarray:
    """One bool a column, from words of 48 bits."""
    rows, many = words.shape
    octets = np.ascontiguousarray(words, "<i8").view(np.uint8).reshape(rows, many, 8)[:, :, : _BITS // 4]
    bits = np.unpackbits(np.ascontiguousarray(octets), axis=2, bitorder="little")
    return bits.reshape(rows, 2 * _BITS * many)[:, :width].astype(bool)


def with_absent(masks: MaskCounts, n: int | None) -> MaskCounts:
    """The counts with one fully missing row for each person up to the public n: a long table cannot show them."""
    absent = max(0, (n or 0) - masks.rows)
    if not absent:
        return masks
    per_row = masks.per_row.copy()
    per_row[0] += absent
    masks = replace(masks, rows=masks.rows + absent, per_row=per_row, unlisted=masks.unlisted + absent)
    return masks if masks.pairs is None else _with_nothing(masks)


def _with_nothing(masks: MaskCounts) -> MaskCounts:
    """The counts with every fully missing row in one listed pattern, the first of those that are as frequent."""
    others = masks.patterns.any(axis=1)
    patterns, counts = masks.patterns[others], masks.pattern_counts[others]
    place = int(np.searchsorted(-counts, -masks.per_row[0]))
    patterns = np.insert(patterns, place, np.zeros(patterns.shape[1], bool), axis=0)
    counts = np.insert(counts, place, masks.per_row[0])
    return replace(masks, patterns=patterns, pattern_counts=counts, unlisted=masks.rows - int(counts.sum()))
