"""Partial sums of one Arrow batch, exact integers on a public grid; partials merge by addition, in any order.

A number z in [-1, 1] is held as an integer: floor(t 2^(b+1) + 1/2) - 2^b with t = (x - low)/(high - low), so |z| <= 1
holds exactly after rounding. Products of a pair come from one matrix product of doubles, exact because 2^16 rows of a
2b-bit product stay below 2^53; everything else is integer arithmetic. The grid follows from the public n alone.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from absentia.errors import InputError
from absentia.planning.schema import Column, Schema
from absentia.query.grid import Grid
from absentia.query.statistic import Bins, Statistic
from absentia.table.cells import Cells

__all__ = ["BATCH", "Demand", "Partial", "sums"]

BATCH = 2**16
Partial = dict[str, np.ndarray]


@dataclass(frozen=True)
class Demand:
    """What one pass computes: statistics sorted by the way in which they are computed."""

    schema: Schema
    statistics: tuple[Statistic, ...]

    def __post_init__(self) -> None:
        for s in self.statistics:
            s.validate(self.schema)

    @cached_property
    def grid(self) -> Grid:
        return Grid.of(self.schema)

    @cached_property
    def columns(self) -> tuple[str, ...]:
        """The columns that are read, in the schema's order."""
        named = {name for s in self.statistics for name in s.columns}
        return tuple(name for name in self.schema.columns if name in named)

    @cached_property
    def products(self) -> tuple[str, ...]:
        """The columns of the matrix of pair products."""
        return self._columns_of(lambda s: is_pair(s, 1))

    @cached_property
    def pair_counts(self) -> tuple[str, ...]:
        """The columns of the matrix of pair counts."""
        return self._columns_of(lambda s: is_pair(s, 0))

    @cached_property
    def others(self) -> tuple[Statistic, ...]:
        return tuple(s for s in self.statistics if not (is_pair(s, 1) or is_pair(s, 0)))

    def _columns_of(self, test: Callable[[Statistic], bool]) -> tuple[str, ...]:
        named = {name for s in self.statistics if test(s) for name in s.columns}
        return tuple(name for name in self.schema.columns if name in named)

    def values(self, total: Mapping[str, np.ndarray]) -> dict[Statistic, np.ndarray]:
        """Every statistic, looked up in the merged partial; zero when there was no batch."""
        out: dict[Statistic, np.ndarray] = {}
        index = {name: i for i, name in enumerate(self.products)}
        count_index = {name: i for i, name in enumerate(self.pair_counts)}
        others = {s: i for i, s in enumerate(self.others)}
        for s in self.statistics:
            names = [name for name, _ in s.powers]
            if is_pair(s, 1):
                out[s] = np.asarray(total["products"][index[names[0]], index[names[-1]]], np.int64)
            elif is_pair(s, 0):
                out[s] = np.asarray(total["pair_counts"][count_index[names[0]], count_index[names[1]]], np.int64)
            else:
                out[s] = total[f"s{others[s]}"].reshape(s.shape(self.schema))
        return out

    def unit(self, s: Statistic) -> float:
        """What one step of the integer is worth."""
        if is_pair(s, 1):
            return 2.0 ** (-2 * self.grid.pair_bits)
        if s.weight is not None:
            return 2.0 ** -weight_bits(self.schema.columns[s.weight], self.grid)
        return 2.0**-self.grid.bits if any(e for _, e in s.powers) else 1.0

    def zero(self) -> Partial:
        """The partial of no rows."""
        p, c = len(self.products), len(self.pair_counts)
        zeros = {"products": np.zeros((p, p), np.int64), "pair_counts": np.zeros((c, c), np.int64)}
        cells = {f"s{i}": np.zeros(math.prod(s.shape(self.schema)), np.int64) for i, s in enumerate(self.others)}
        return {"rows": np.zeros(1, np.int64), **zeros, **cells}


def is_pair(s: Statistic, e: int) -> bool:
    """Whether s is z_i z_j or z_i^2 (e = 1), or the count of a pair (e = 0), without cells or weight."""
    if s.cells or s.weight is not None:
        return False
    exponents = [power for _, power in s.powers]
    return exponents == [e, e] or (e == 1 and exponents == [2])


def weight_bits(column: Column, grid: Grid) -> int:
    """Bits after the point of a survey weight: its maximum still fits the grid's bits."""
    return grid.bits - max(0, math.ceil(math.log2(column.high)))


def sums(demand: Demand, columns: Mapping[str, Cells], rows: int) -> Partial:
    """The exact integer sums over one batch of at most 2^16 rows (pair counts apart: they need only `observed`)."""
    batch = _Batch(demand, columns, rows)
    out: Partial = {"rows": np.array([rows], np.int64)}
    if demand.products:
        Z = batch.matrix(demand.products)
        out["products"] = (Z @ Z.T).astype(np.int64)
    for i, s in enumerate(demand.others):
        out[f"s{i}"] = batch.sum(s)
    return out


def observed(columns: Mapping[str, Cells], names: Sequence[str], rows: int) -> np.ndarray:
    """1 where a column is observed, a row a column: float32 counts to 2^24 exactly."""
    O = np.empty((len(names), rows), np.float32)  # noqa: E741
    for j, name in enumerate(names):
        O[j] = columns[name].seen
    return O


def check_rows(rows: int, grid: Grid) -> None:
    """Nothing, or an InputError when there are more rows than the grid has room for: int64 could overflow.

    There is room for twice the public n, so one person decides this only in a table that n does not describe.
    """
    if rows > grid.rows:
        raise InputError("n", "fewer rows than the table has", "the public number of rows", code="E-ROWS")


class _Batch:
    """Integers of one batch, each computed once."""

    def __init__(self, demand: Demand, columns: Mapping[str, Cells], rows: int) -> None:
        self.schema, self.grid, self.columns, self.rows = demand.schema, demand.grid, columns, rows
        self._t: dict[str, tuple[np.ndarray, np.ndarray]] = {}
        self._z: dict[str, np.ndarray] = {}

    def t(self, name: str) -> tuple[np.ndarray, np.ndarray]:
        """Where each value lies, in steps of the pairs' grid (0 where missing), and 1 where it is observed.

        The top may be passed by an ulp: rounding to a whole step hides it. Powers of two change no digit.
        """
        if name not in self._t:
            column = self.schema.columns[name]
            seen = self.columns[name].seen.astype(np.float64)
            t = self.columns[name].values - column.low
            t *= 2.0 ** (self.grid.pair_bits + 1) * (1 / (column.high - column.low))
            t *= seen
            self._t[name] = t, seen
        return self._t[name]

    def steps(self, name: str) -> np.ndarray:
        """(z + 1) 2^bits rounded to an integer held in a double, 0 where missing."""
        steps = self.t(name)[0] * 2.0 ** (self.grid.bits - self.grid.pair_bits)
        steps += 0.5
        return np.floor(steps, out=steps)

    def matrix(self, names: Sequence[str]) -> np.ndarray:
        """Rows of integers z 2^pair_bits, zero where missing."""
        Z = np.empty((len(names), self.rows))
        for z, name in zip(Z, names, strict=True):
            t, seen = self.t(name)
            np.add(t, 0.5, out=z)
            np.floor(z, out=z)
            z -= seen * 2.0**self.grid.pair_bits
        return Z

    def integers(self, name: str) -> np.ndarray:
        """z on the grid of sums, int64; arbitrary in [-1, 1] where missing."""
        if name not in self._z:
            self._z[name] = self.steps(name).astype(np.int64) - (1 << self.grid.bits)
        return self._z[name]

    def weight(self, name: str) -> np.ndarray:
        """A survey weight on its own grid, never above its public maximum."""
        column, scale = self.schema.columns[name], 2.0 ** weight_bits(self.schema.columns[name], self.grid)
        return np.minimum(np.floor(self.columns[name].values * scale + 0.5), math.floor(column.high * scale)).astype(
            np.int64
        )

    def sum(self, s: Statistic) -> np.ndarray:
        """One statistic: integers of each row, added cell by cell."""
        seen = self.seen(s)
        if not s.cells and s.weight is None and [e for _, e in s.powers] == [1]:
            name = s.powers[0][0]
            count = int(np.count_nonzero(seen)) << self.grid.bits
            return np.array([int(self.steps(name).sum()) - count], np.int64)
        values = self.values(s)
        if not s.cells:
            if values is None:
                return np.array([np.count_nonzero(seen)], np.int64)
            return np.array([values[seen].sum()], np.int64)
        size, cell = self.cell(s)
        if values is None:
            return np.bincount(cell[seen], minlength=size).astype(np.int64)
        return np.bincount(cell[seen], values[seen].astype(np.float64), minlength=size).astype(np.int64)

    def seen(self, s: Statistic) -> np.ndarray:
        masks = [self.columns[name].seen for name in sorted(s.columns)]
        return masks[0] if len(masks) == 1 else np.logical_and.reduce(masks)

    def values(self, s: Statistic) -> np.ndarray | None:
        """weight * prod z^e of each row, rounded to the grid after every factor; None when it is 1."""
        factors = [self.integers(name) for name, e in s.powers for _ in range(e)]
        if s.weight is not None:
            factors.append(self.weight(s.weight))
        if not factors:
            return None
        value, half = factors[0], np.int64(1) << (self.grid.bits - 1)
        for factor in factors[1:]:
            value = (value * factor + half) >> self.grid.bits
        return value

    def cell(self, s: Statistic) -> tuple[int, np.ndarray]:
        """The number of cells and the cell of each row, in C order."""
        size, cell = 1, np.zeros(self.rows, np.int64)
        for c in s.cells:
            if isinstance(c, Bins):
                width, code = len(c), _bin(self.columns[c.column].values, c)
            else:
                width, code = len(self.schema.columns[c].values), self.columns[c].values
            size, cell = size * width, cell * width + code
        return size, cell


def _bin(values: np.ndarray, bins: Bins) -> np.ndarray:
    """The bin of each value, after clipping into the edges."""
    index = np.searchsorted(np.array(bins.edges), values, side="right") - 1
    return np.clip(index, 0, len(bins) - 1)
