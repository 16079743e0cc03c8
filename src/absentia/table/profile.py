"""What is missing in a table, relative to the columns in scope: exact private facts, never a guarantee."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy.special import betaincinv

from absentia.errors import InputError
from absentia.planning.schema import Schema
from absentia.table.aggregate import profile_counts
from absentia.table.masks import MaskCounts
from absentia.table.profile_text import STAMP, report

__all__ = ["STAMP", "Profile", "profile"]

LISTED = 1000
"""Patterns and pairs that `to_dict` lists at most, most frequent first."""


def profile(table: Any, schema: Schema, k: int | None = None) -> Profile:
    """The missingness profile of a table on any engine, in one pass. Private: no noise is added.

    `k` asks for eta, the share of rows with more than k observed columns.
    """
    return Profile(profile_counts(table, schema), k, schema)


@dataclass(frozen=True)
class Profile:
    """Missing rates, rows by observed columns, p*, k, rho, eta, patterns and pairs of a table; the empirical shares.

    Everything is relative to `columns`. The p* and rho of a guarantee belong to the process that makes entries go
    missing; these are shares of one table: rho, a maximum over the rows seen, can only be too low.

    >>> from absentia.planning.schema import Schema
    >>> import polars as pl
    >>> people = Schema.from_dict({"columns": {c: {"kind": "number", "bounds": [0, 9]} for c in ("a", "b")}})
    >>> p = profile(pl.DataFrame({"a": [1, None, None], "b": [2, 3, None]}), people, k=1)
    >>> p.p_star, p.k, p.rho, p.eta, p.fully_missing_rows
    (0.6666666666666666, 2, 1.0, 0.3333333333333333, 1)
    """

    counts: MaskCounts
    asked_k: int | None = None
    schema: Schema | None = None

    def __post_init__(self) -> None:
        if self.asked_k is not None and not 0 <= self.asked_k <= self.width:
            raise InputError("k", self.asked_k, f"an integer from 0 to {self.width}, the columns in scope")

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns in scope."""
        return self.counts.columns

    @property
    def width(self) -> int:
        """How many columns are in scope; in long form the items, declared or found, whichever are more."""
        return len(self.counts.per_row) - 1

    @property
    def unparsed(self) -> dict[str, int]:
        """Cells that hold something the schema excludes, where there are any; in long form under the name value."""
        names = self.columns if len(self.counts.unparsed) == len(self.columns) else ("value",)
        return {c: int(u) for c, u in zip(names, self.counts.unparsed, strict=False) if u}

    @property
    def order(self) -> str | None:
        """The column that orders the rows of one person."""
        return self.schema.unit_rule.by if self.schema and self.schema.unit_rule else None

    @property
    def rows(self) -> int:
        return self.counts.rows

    @property
    def fully_missing_rows(self) -> int:
        return self.counts.fully_missing

    @cached_property
    def missing_rate(self) -> dict[str, float]:
        """The missing share of each column in scope."""
        return {c: self.share(int(m)) for c, m in zip(self.columns, self.counts.missing, strict=True)}

    @cached_property
    def observed_histogram(self) -> dict[int, int]:
        """Observed columns: rows, for the counts that occur."""
        return {int(k): int(self.counts.per_row[k]) for k in np.flatnonzero(self.counts.per_row)}

    @property
    def p_star(self) -> float:
        """The share of rows that show something."""
        return self.share(self.rows - self.fully_missing_rows)

    @cached_property
    def p_star_interval(self) -> tuple[float, float]:
        """95 % Clopper-Pearson interval for p*, were the rows independent draws of one process."""
        n, x = self.rows, self.rows - self.fully_missing_rows
        low = float(betaincinv(x, n - x + 1, 0.025)) if x else 0.0
        return low, float(betaincinv(x + 1, n - x, 0.975)) if x < n else 1.0

    @cached_property
    def k(self) -> int:
        """The largest number of observed columns in a row."""
        return max(self.observed_histogram, default=0)

    @property
    def rho(self) -> float:
        return self.k / self.width

    @property
    def eta(self) -> float | None:
        """The share of rows with more than the chosen k observed columns; None when no k was chosen."""
        return None if self.asked_k is None else self.share(int(self.counts.per_row[self.asked_k + 1 :].sum()))

    @cached_property
    def always_observed(self) -> tuple[str, ...]:
        """Columns that no row misses: while one of them is in scope, p* is 1."""
        return tuple(c for c, m in zip(self.columns, self.counts.missing, strict=True) if m == 0)

    def without_always_observed(self) -> tuple[float, float] | None:
        """p* and rho of the other columns; None when none is always observed or all are."""
        always = len(self.always_observed)
        if not 0 < always < self.width:
            return None
        shown = self.share(int(self.counts.per_row[always + 1 :].sum()))
        return shown, (self.k - always) / (self.width - always)

    def share(self, rows: int) -> float:
        return rows / self.rows if self.rows else 0.0

    def patterns(self) -> Iterator[tuple[tuple[str, ...], int]]:
        """Missing columns and rows of each pattern, most frequent first."""
        for observed, rows in zip(self.counts.patterns, self.counts.pattern_counts, strict=True):
            yield tuple(self.columns[j] for j in np.flatnonzero(~observed)), int(rows)

    def pairs(self, at_most: int = LISTED) -> list[tuple[str, str, int]]:
        """Rows in which both columns are missing, for the pairs where that happens, most frequent first."""
        both = self.counts.both_missing
        if both is None:
            return []
        i, j = np.triu_indices(len(self.columns), 1)
        order = np.argsort(-both[i, j], kind="stable")[:at_most]
        found = [(self.columns[i[t]], self.columns[j[t]], int(both[i[t], j[t]])) for t in order]
        return [pair for pair in found if pair[2]]

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready, stable keys. Patterns and pairs: the most frequent 1000."""
        patterns = [
            {"missing": list(missing), "rows": rows, "share": self.share(rows)}
            for (missing, rows), _ in zip(self.patterns(), range(LISTED), strict=False)
        ]
        rest = self.without_always_observed()
        return {
            "schema_version": 2,
            "stamp": STAMP,
            "rows": self.rows,
            "declared_n": self.schema.n if self.schema else None,
            "rows_left_out": self.counts.dropped,
            "entries_of_other_items": self.counts.left.outside,
            "rows_without_order": self.counts.left.unordered,
            "columns_in_scope": list(self.columns),
            "width": self.width,
            "missing_rate": self.missing_rate,
            "unparsed": self.unparsed,
            "observed_histogram": {str(k): rows for k, rows in self.observed_histogram.items()},
            "fully_missing_rows": self.fully_missing_rows,
            "p_star": self.p_star,
            "p_star_interval": list(self.p_star_interval),
            "k": self.k,
            "rho": self.rho,
            "asked_k": self.asked_k,
            "eta": self.eta,
            "always_observed": list(self.always_observed),
            "without_always_observed": None if rest is None else {"p_star": rest[0], "rho": rest[1]},
            "distinct_patterns": len(self.counts.patterns),
            "rows_in_unlisted_patterns": self.counts.unlisted,
            "patterns": patterns,
            "both_missing": [{"columns": [a, b], "rows": rows} for a, b, rows in self.pairs()],
        }

    def __str__(self) -> str:
        return report(self)
