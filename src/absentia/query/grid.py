"""The public grid on which sums are held: what rounding to it moves belongs to the distances of a plan."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

from absentia.query.statistic import Columns

__all__ = ["Grid"]

UNDECLARED = 2**33


@dataclass(frozen=True)
class Grid:
    """Bits of the grid of sums and of pair products, and the number of rows up to which int64 cannot overflow."""

    rows: int

    @classmethod
    def of(cls, schema: Columns) -> Grid:
        """The grid of a schema: room for twice the declared n, each with as many rows as may count."""
        rows = 2 * (schema.n or UNDECLARED) * schema.rows_per_unit
        return cls(2 ** max(26, math.ceil(math.log2(rows))))

    @property
    def bits(self) -> int:
        return min(30, 62 - (self.rows.bit_length() - 1))

    @property
    def pair_bits(self) -> int:
        return min(18, (62 - (self.rows.bit_length() - 1)) // 2)

    @property
    def apart(self) -> Fraction:
        """By how much |z - z'| on one of both grids may exceed |z - z'| on the other: half a step of each, twice."""
        return Fraction(1, 2**self.bits) + Fraction(1, 2**self.pair_bits)
