"""Tests of dependence between the masks of different rows: stretches and neighbours in file order, clusters.

The reference is a random order of the rows (all permutations of the masks as they are), so nothing is assumed about
how the columns of one row go missing together.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import gammaincc, ndtr

from absentia.table.rowscan import Clusters, MaskOrder, RowScan

__all__ = ["ClusterTest", "Likeness", "NeighbourTest", "StretchTest", "clusters", "mantel", "neighbours", "stretches"]


@dataclass(frozen=True)
class StretchTest:
    """One column: maximal stretches of missing cells in file order, and how many a random order gives."""

    column: str
    stretches: int
    expected: float
    p_value: float
    adjusted: float

    def to_dict(self) -> dict[str, Any]:
        return dict(vars(self))


@dataclass(frozen=True)
class NeighbourTest:
    """Whole masks of neighbours in file order: z > 0 more alike than in a random order, z < 0 less."""

    z: float
    p_value: float
    rows: int

    def to_dict(self) -> dict[str, Any]:
        return dict(vars(self))


@dataclass(frozen=True)
class ClusterTest:
    """Whole masks within clusters: `explained` is the share of their spread that clusters explain, beyond chance."""

    column: str
    clusters: int
    explained: float
    z: float
    p_value: float

    def to_dict(self) -> dict[str, Any]:
        return dict(vars(self))


@dataclass(frozen=True)
class Likeness:
    """Sums of f_ij = <x_i, x_j> over i != j, x_i the mask of row i about its mean: what the moments need."""

    rows: int
    mean: np.ndarray
    spread: float  # sum_i |x_i|^2
    square: float  # tr of the square of sum_i x_i x_i'
    fourth: float  # sum_i |x_i|^4

    @classmethod
    def of(cls, observed: Sequence[np.ndarray], counts: np.ndarray) -> Likeness:
        """From distinct patterns and their rows."""
        O = np.array(observed, float)  # noqa: E741
        n = counts.sum()
        x = O - counts @ O / n
        size = (x * x).sum(axis=1)
        scatter = x.T @ (x * counts[:, None])
        return cls(int(n), counts @ O / n, float(counts @ size), float((scatter**2).sum()), float(counts @ size**2))


def mantel(weights: tuple[float, float, float], f: Likeness) -> tuple[float, float]:
    """Mean and standard deviation, over all orders of the rows, of sum_{i != j} w_ij f_ij (Mantel 1967, Cliff-Ord).

    `weights` of a symmetric w: sum w_ij, 2 sum w_ij^2, 4 sum_i (sum_j w_ij)^2. Exact; at least four rows.
    """
    n, (S0, S1, S2) = f.rows, weights
    A0, A1, A2 = -f.spread, 2 * (f.square - f.fourth), 4 * f.fourth
    mean = S0 * A0 / (n * (n - 1))
    second = S1 * A1 / (2 * n * (n - 1))
    second += (S2 - 2 * S1) * (A2 - 2 * A1) / (4 * n * (n - 1) * (n - 2))
    second += (S0 * S0 + S1 - S2) * (A0 * A0 + A1 - A2) / (n * (n - 1) * (n - 2) * (n - 3))
    return mean, math.sqrt(max(second - mean * mean, 0.0))


def likeness(scan: RowScan) -> Likeness | str:
    """The sums of a scan, or why there is nothing to test."""
    counts = scan.patterns.rows[: len(scan.patterns.observed)]
    if counts.sum() < 4:
        return "fewer than four rows"
    if len(counts) < 2:
        return "every row has the same mask"
    return Likeness.of(scan.patterns.observed, counts)


def neighbours(order: MaskOrder, f: Likeness) -> NeighbourTest:
    """Two-sided, by the exact mean and variance and a normal law."""
    n, ends = order.rows, order.first.astype(float) + order.last
    inner = order.both - f.mean * (2 * order.observed - ends) + (n - 1) * f.mean**2
    mean, deviation = mantel((2.0 * (n - 1), 4.0 * (n - 1), 4.0 * (4 * (n - 2) + 2)), f)
    z = (2 * float(inner.sum()) - mean) / deviation if deviation else 0.0
    return NeighbourTest(z, float(2 * ndtr(-abs(z))), n)


def stretches(order: MaskOrder, columns: Sequence[str]) -> list[StretchTest]:
    """One exact test a column that is sometimes missing (hypergeometric), p adjusted by Holm; smallest first."""
    from scipy.stats import hypergeom

    n, found = order.rows, []
    for name, observed, k in zip(columns, order.observed.tolist(), order.stretches.tolist(), strict=True):
        missing = n - observed
        if not 0 < missing < n:
            continue
        law = hypergeom(n, observed + 1, missing)
        p = min(1.0, 2 * min(float(law.cdf(k)), float(law.sf(k - 1))))
        found.append((p, name, k, missing * (observed + 1) / n))
    found.sort()
    out, worst = [], 0.0
    for i, (p, name, k, expected) in enumerate(found):
        worst = max(worst, min(1.0, p * (len(found) - i)))
        out.append(StretchTest(name, k, expected, p, worst))
    return out


def clusters(found: Clusters, column: str, f: Likeness) -> ClusterTest | str:
    """One-sided (more alike within clusters), exact mean and variance, a scaled chi-square for few large clusters."""
    size = found.sizes.astype(float)
    if size.max(initial=0) < 2:
        return "no cluster has two rows"
    if len(size) == 1 and size[0] == f.rows:
        return "all rows are in one cluster"
    x = found.observed - size[:, None] * f.mean
    pairs = float(((x * x).sum(axis=1) / size).sum()) - _own(found, f)
    w = 1 / size
    mean, deviation = mantel((float((size - 1).sum()), float(2 * (size - 1) @ w), float(4 * (size - 1) ** 2 @ w)), f)
    z = (pairs - mean) / deviation if deviation else 0.0
    several = int((size > 1).sum())
    freedom = max(1, several - (several == len(size))) * f.spread**2 / f.square
    p = float(gammaincc(freedom / 2, max(0.0, freedom + z * math.sqrt(2 * freedom)) / 2))
    return ClusterTest(column, len(size), (pairs - mean) / f.spread, z, p)


def _own(found: Clusters, f: Likeness) -> float:
    """sum over clusters of the mean of |x_i|^2 within; O is 0 or 1, so |x_i|^2 = sum_j O_ij (1 - 2 m_j) + m_j^2."""
    shown = found.observed @ (1 - 2 * f.mean) / found.sizes
    return float((shown + (f.mean**2).sum()).sum())
