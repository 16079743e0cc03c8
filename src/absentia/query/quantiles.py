"""Quantiles from a private histogram on public bins, interpolated; the interval reaches to the edges of its bins."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np

from absentia.errors import InputError
from absentia.exact import number
from absentia.query.base import Columns, Expectation, Noisy, Seen, options
from absentia.query.columns import HIDDEN, TOO_FEW, OneColumn, number_column, one
from absentia.query.estimate import OF_OBSERVED, Reading, Row, half_width, hidden
from absentia.query.statistic import Bins, Statistic
from absentia.query.tables import bins_of

__all__ = ["median", "quantiles"]

DEFAULT_BINS = 32


@dataclass(frozen=True, kw_only=True)
class Quantiles(OneColumn):
    """Quantiles of the observed entries; values inside one bin are taken as evenly spread."""

    kind: ClassVar[str] = "quantiles"
    at: tuple[Fraction, ...]
    edges: tuple[float, ...] = ()

    @property
    def subject(self) -> str:
        return f"{self.column}; {', '.join(shown(q) for q in self.at)}"

    def bins(self, schema: Columns) -> Bins:
        """The public bins: as declared, or 32 equal ones between the public bounds."""
        column = number_column(schema, self.column)
        edges = self.edges or tuple(np.linspace(column.low, column.high, DEFAULT_BINS + 1).tolist())
        return Bins(self.column, edges)

    def parts(self, schema: Columns) -> dict[Statistic, Fraction]:
        return {self.stat(cells=[self.bins(schema)]): Fraction(1)}

    def rows(self, schema: Columns, noisy: Noisy, sd: Mapping[Statistic, float], reading: Reading) -> list[Row]:
        bins, column = self.bins(schema), schema.columns[self.column]
        s, counted = self.stat(cells=[bins]), bins.reaching(column.low, column.high)
        table = np.asarray(noisy[s], dtype=np.float64).reshape(-1, len(bins))
        return [
            self._row(cell, counts, counted, sd[s], q, reading)
            for cell, counts in zip(self.groups(schema), table, strict=True)
            for q in self.at
        ]

    def _row(
        self, group: str, counts: np.ndarray[Any, Any], bins: Bins, sd: float, q: Fraction, reading: Reading
    ) -> Row:
        cell = f"{group}, {shown(q)}" if group else shown(q)
        edges, k, p = np.array(bins.edges), len(bins), float(q)
        total = float(counts.sum())
        limits = (float(edges[0]), float(edges[-1]))
        if total <= TOO_FEW * sd * math.sqrt(k) or total <= 1:
            return hidden(self.name, cell, limits, HIDDEN)
        F = np.concatenate([[0.0], isotonic(np.cumsum(counts)[:-1] / total), [1.0]])
        x = float(np.interp(p, *_strict(F, edges)))
        b = min(int(np.searchsorted(edges, x, "right")), k)
        # F at the quantile's bin: b of the k bins below, each with its own noise, and the same total in every ratio
        noise = sd * math.sqrt(b * (1 - p) ** 2 + (k - b) * p**2) / total
        sampling = math.sqrt(p * (1 - p) / total)
        t = half_width(noise, sampling, reading)
        low, high = max(p - t, 0.0), min(p + t, 1.0)
        ends = (
            float(edges[max(int(np.searchsorted(F, low, "right")) - 1, 0)]),
            float(edges[min(int(np.searchsorted(F, high, "left")), k)]),
        )
        width = float(max(b_ - a for a, b_ in itertools.pairwise(edges[max(b - 1, 0) : b + 1])))
        density = max((F[b] - F[b - 1]) / width, 1e-300)
        note = f"{OF_OBSERVED}; interpolated inside a bin {width:g} wide, the interval reaches to bin edges"
        return Row(self.name, cell, x, noise / density, sampling / density, ends[0], ends[1], note)

    def expected(self, schema: Columns, sd: Mapping[Statistic, float], seen: Seen) -> list[Expectation]:
        """In units of rank: the error of the share of entries below the quantile."""
        low, high = self.size(schema, seen, self.column)
        bins = self.bins(schema)
        s, k, out = sd[self.stat(cells=[bins])], len(bins), []
        for q in self.at:
            p = float(q)
            spread = [s * math.sqrt(b * (1 - p) ** 2 + (k - b) * p**2) for b in (1, k)]
            errors = [min(spread) / high if high else math.inf, max(spread) / low if low else math.inf]
            out.append(Expectation(self.name, shown(q), "rank", *errors))
        return out

    def arguments(self) -> dict[str, Any]:
        bins = {"bins": list(self.edges)} if self.edges else {}
        return {"column": self.column, "at": [str(q) for q in self.at], **bins}


@dataclass(frozen=True, kw_only=True)
class Median(Quantiles):
    """The median of the observed entries."""

    kind: ClassVar[str] = "median"

    @property
    def subject(self) -> str:
        return self.column

    def arguments(self) -> dict[str, Any]:
        return {k: v for k, v in super().arguments().items() if k != "at"}


def quantiles(
    column: str,
    at: Sequence[object] = ("0.25", "0.5", "0.75"),
    bins: Sequence[object] | None = None,
    *,
    by: object = (),
    weight: str | None = None,
    share: object = 1,
) -> Quantiles:
    """Quantiles of a number column from a private histogram (`bins`: its public edges; default 32 equal bins)."""
    return Quantiles(column=one(column), at=_levels(at), edges=_edges(column, bins), **options(by, weight, share))


def median(
    column: str, bins: Sequence[object] | None = None, *, by: object = (), weight: str | None = None, share: object = 1
) -> Median:
    """The median of a number column."""
    half = (Fraction(1, 2),)
    return Median(column=one(column), at=half, edges=_edges(column, bins), **options(by, weight, share))


def shown(q: Fraction) -> str:
    return f"{float(q):.10g}"


def _levels(at: object) -> tuple[Fraction, ...]:
    if isinstance(at, str) or not isinstance(at, Sequence) or not at:
        raise InputError("at", at, "a list of numbers strictly between 0 and 1")
    levels = tuple(Fraction(str(q)) if isinstance(q, float) else number(q, f"at[{i}]") for i, q in enumerate(at))
    for i, q in enumerate(levels):
        if not 0 < q < 1:
            raise InputError(f"at[{i}]", at[i], "a number strictly between 0 and 1")
    return levels


def _edges(column: str, bins: Sequence[object] | None) -> tuple[float, ...]:
    return () if bins is None else bins_of(column, bins).edges


def isotonic(values: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """The nearest non-decreasing sequence (pool adjacent violators), within [0, 1]."""
    blocks: list[list[float]] = []
    for v in values.tolist():
        blocks.append([v, 1])
        while len(blocks) > 1 and blocks[-2][0] > blocks[-1][0]:
            b, a = blocks.pop(), blocks.pop()
            blocks.append([(a[0] * a[1] + b[0] * b[1]) / (a[1] + b[1]), a[1] + b[1]])
    flat = [value for value, many in blocks for _ in range(int(many))]
    return np.asarray(np.clip(np.array(flat), 0.0, 1.0))


def _strict(F: np.ndarray[Any, Any], edges: np.ndarray[Any, Any]) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """F made strictly increasing for interpolation: flat stretches are crossed in their middle."""
    return F + np.linspace(0, 1e-12, len(F)), edges
