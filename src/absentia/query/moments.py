"""Moments of a set of columns: sums, squares, products and counts of the entries that are there, pair by pair."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from itertools import combinations, combinations_with_replacement
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from absentia.errors import InputError
from absentia.query.base import Columns, Expectation, Noisy, Query, Seen, columns_of, options
from absentia.query.columns import COUNT_SHARE, HIDDEN, TOO_FEW, maximum_weight, number_column, over
from absentia.query.estimate import AS_OF_BETA, OF_OBSERVED, Reading, Row, excess_kurtosis, hidden, row
from absentia.query.statistic import Statistic

__all__ = ["Moments", "Table", "moments"]

SQUARE_SHARE = Fraction(1, 2)
"""Squares have one sign and are bounded by half of what products can do (Proofs 10): at 1/2 they cost nothing more."""
PAIR_SHARE = Fraction(1, 4)
"""Counts of pairs enter a covariance times a mean product, which is small."""
Array = NDArray[np.float64]


@dataclass(frozen=True, kw_only=True)
class Moments(Query):
    """Means, and covariances of every pair, of the entries that are observed (together, for a pair)."""

    kind: ClassVar[str] = "moments"
    over: tuple[str, ...]

    @property
    def subject(self) -> str:
        return ", ".join(self.over)

    @property
    def own_columns(self) -> frozenset[str]:
        return frozenset(self.over)

    @property
    def clique(self) -> tuple[str, ...]:
        return () if self.by or self.weight else tuple(sorted(self.over))

    def power(self, *columns: str, e: int = 1) -> Statistic:
        """The sum of a product (e = 1), the count of a pair (e = 0); one column: its sum, count, square (e = 2)."""
        return self.stat([(c, e) for c in columns])

    def parts(self, schema: Columns) -> dict[Statistic, Fraction]:
        shares: dict[Statistic, Fraction] = {}
        for c in self.over:
            number_column(schema, c)
            shares |= {self.power(c): Fraction(1), self.power(c, e=0): COUNT_SHARE, self.power(c, e=2): SQUARE_SHARE}
        for a, b in combinations(self.over, 2):
            shares |= {self.power(a, b): Fraction(1), self.power(a, b, e=0): PAIR_SHARE}
        return shares

    def tables(self, schema: Columns, noisy: Noisy, sd: Mapping[Statistic, float]) -> list[tuple[str, Table]]:
        """The moments of every group."""
        groups = self.groups(schema)
        return [(cell, Table.of(self, schema, noisy, sd, g)) for g, cell in enumerate(groups)]

    def rows(self, schema: Columns, noisy: Noisy, sd: Mapping[Statistic, float], reading: Reading) -> list[Row]:
        out: list[Row] = []
        for group, table in self.tables(schema, noisy, sd):
            prefix = f"{group}, " if group else ""
            out += [_mean_row(self.name, prefix, table, i, reading) for i in range(len(self.over))]
            out += covariance_rows(self.name, prefix, table, reading)
        return out

    def expected(self, schema: Columns, sd: Mapping[Statistic, float], seen: Seen) -> list[Expectation]:
        """Means from the midpoint to a bound, and the spreads."""
        out = []
        for c in self.over:
            half, (low, high) = schema.columns[c].halfwidth, self.size(schema, seen, c)
            s, n = sd[self.power(c)], sd[self.power(c, e=0)]
            out.append(Expectation(self.name, f"mean {c}", c, over(half * s, high), over(half * math.hypot(s, n), low)))
        return out + self.spreads(schema, sd, seen)

    def spreads(
        self, schema: Columns, sd: Mapping[Statistic, float], seen: Seen, prefix: str = ""
    ) -> list[Expectation]:
        """Variances and covariances, from means at the midpoint to means and products at the bounds."""
        out = []
        for a, b in combinations_with_replacement(self.over, 2):
            unit = schema.columns[a].halfwidth * schema.columns[b].halfwidth
            low, high = self.size(schema, seen, a, b)
            if a == b:
                cell, said = f"{prefix}var {a}", f"{a} squared"
                p, by_mean, n = sd[self.power(a, e=2)], 2 * sd[self.power(a)], sd[self.power(a, e=0)]
            else:
                cell, said = f"{prefix}cov {a}, {b}", f"{a} {b}"
                p, n = sd[self.power(a, b)], sd[self.power(a, b, e=0)]
                by_mean = math.hypot(sd[self.power(a)], sd[self.power(b)])
            best, worst = over(unit * p, high), over(unit * math.hypot(p, by_mean, n), low)
            out.append(Expectation(self.name, cell, said, best, worst))
        return out

    def arguments(self) -> dict[str, Any]:
        return {"columns": list(self.over)}


@dataclass(frozen=True)
class Table:
    """Noisy moments of one group as arrays, in units of z, with the standard deviations of their noise.

    `sums`, `counts`: one a column; `products`, `pairs`: symmetric, squares and counts on the diagonal. Axes before
    these hold many tables at once.
    """

    names: tuple[str, ...]
    middle: Array
    half: Array
    sums: Array
    counts: Array
    products: Array
    pairs: Array
    sd_sums: Array
    sd_counts: Array
    sd_products: Array
    sd_pairs: Array
    heaviest: float = 1.0

    @staticmethod
    def of(q: Moments, schema: Columns, noisy: Noisy, sd: Mapping[Statistic, float], group: int) -> Table:
        names, d = q.over, len(q.over)

        def at(s: Statistic) -> float:
            return float(np.ravel(noisy[s])[group])

        P, N, sd_P, sd_N = (np.zeros((d, d)) for _ in range(4))
        for i, a in enumerate(names):
            for j, b in enumerate(names):
                s, c = (q.power(a, e=2), q.power(a, e=0)) if i == j else (q.power(a, b), q.power(a, b, e=0))
                P[i, j], N[i, j], sd_P[i, j], sd_N[i, j] = at(s), at(c), sd[s], sd[c]
        columns = [schema.columns[c] for c in names]
        return Table(
            names,
            np.array([c.midpoint for c in columns]),
            np.array([c.halfwidth for c in columns]),
            np.array([at(q.power(c)) for c in names]),
            np.diag(N).copy(),
            P,
            N,
            np.array([sd[q.power(c)] for c in names]),
            np.diag(sd_N).copy(),
            sd_P,
            sd_N,
            maximum_weight(schema, q.weight),
        )

    @cached_property
    def enough(self) -> NDArray[np.bool_]:
        """Pairs whose noisy count stands clear of its noise."""
        found: NDArray[np.bool_] = (self.pairs > TOO_FEW * self.sd_pairs) & (self.pairs > 1)
        own: NDArray[np.bool_] = diagonal(found)
        return found & own[..., :, None] & own[..., None, :]

    @cached_property
    def means(self) -> Array:
        """Means of z, each from its own entries."""
        return np.clip(self.sums / np.maximum(self.counts, 1.0), -1.0, 1.0)

    @cached_property
    def covariance(self) -> Array:
        """E[z_i z_j] - m_i m_j pair by pair; unbiased under MCAR up to the noise of ratios, not always a covariance."""
        raw = self.products / np.maximum(self.pairs, 1.0) - outer(self.means, self.means)
        return np.where(self.enough, raw, 0.0)

    @cached_property
    def noise(self) -> Array:
        """The standard deviation that the noise gives to every covariance (first order)."""
        n, q, m = np.maximum(self.pairs, 1.0), self.products / np.maximum(self.pairs, 1.0), self.means
        own = np.maximum(self.counts, 1.0)
        by_mean = np.hypot(self.sd_sums, m * self.sd_counts) / own
        apart = self.sd_products**2 + (q * self.sd_pairs) ** 2
        off = np.sqrt(apart / n**2 + outer(m, by_mean) ** 2 + outer(by_mean, m) ** 2)
        own_noise = np.hypot(diagonal(self.sd_products), 2 * m * self.sd_sums) / own
        own_noise = np.hypot(own_noise, (2 * m * m - diagonal(q)) * self.sd_counts / own)
        both = np.where(np.eye(len(self.names), dtype=bool), own_noise[..., :, None], off)
        return np.where(self.enough, both, math.inf)

    @cached_property
    def valid(self) -> Array:
        """The nearest covariance: negative eigenvalues set to 0, variances within what the bounds allow."""
        C = self.covariance
        values, vectors = np.linalg.eigh((C + C.swapaxes(-1, -2)) / 2)
        C = (vectors * np.maximum(values, 0.0)[..., None, :]) @ vectors.swapaxes(-1, -2)
        shrink = np.minimum(1.0, 1.0 / np.sqrt(np.maximum(diagonal(C), 1e-300)))
        return np.asarray(C * outer(shrink, shrink))

    @cached_property
    def overlap(self) -> Array:
        """n_ij/(n_i n_j): what the sampling errors of two means share."""
        own = np.maximum(self.counts, 1.0)
        both = np.minimum(np.maximum(self.pairs, 1.0), np.minimum(own[:, None], own[None, :]))
        return np.asarray(both / np.outer(own, own))

    @cached_property
    def sampling(self) -> Array:
        """The sampling standard deviation of every covariance as of normal values, of every variance as of beta values.

        The products of a pair come from the rows that show both, the means from all rows that show one: away from the
        midpoint (m = 0) the difference of the two adds its own error.
        """
        C, m, own = self.valid, self.means, 1 / np.maximum(self.counts, 1.0)
        v = np.diag(C)
        each = 1 / np.minimum(np.maximum(self.pairs, 1.0), 1 / np.maximum(own[:, None], own[None, :]))
        apart = np.outer(m**2, v) * (each - own[None, :]) + np.outer(v, m**2) * (each - own[:, None])
        apart += 2 * np.outer(m, m) * C * (each - own[None, :] - own[:, None] + self.overlap)
        np.fill_diagonal(apart, 0.0)
        spread = np.outer(v, v) + C**2
        np.fill_diagonal(spread, v**2 * (2 + excess_kurtosis(m, v)))
        return np.asarray(np.sqrt(self.heaviest * (np.maximum(apart, 0.0) + spread * each)))

    def with_covariance(self, C: Array, means: Array | None = None) -> Table:
        """The same counts with this covariance (and these means)."""
        m = self.means if means is None else np.clip(means, -1.0, 1.0)
        products = np.maximum(self.pairs, 1.0) * (C + outer(m, m))
        return replace(self, products=products, sums=np.maximum(self.counts, 1.0) * m)

    @property
    def units(self) -> Array:
        return np.outer(self.half, self.half)


def outer(a: Array, b: Array) -> Array:
    """a_i b_j over the last axis of each."""
    return np.asarray(a[..., :, None] * b[..., None, :])


def diagonal(X: Any) -> Any:
    """X_ii over the last two axes."""
    return np.diagonal(X, axis1=-2, axis2=-1)


def _mean_row(name: str, prefix: str, t: Table, i: int, reading: Reading) -> Row:
    limits = (t.middle[i] - t.half[i], t.middle[i] + t.half[i])
    cell = f"{prefix}mean {t.names[i]}"
    if not t.enough[i, i]:
        return hidden(name, cell, limits, HIDDEN)
    n, m = t.counts[i], t.means[i]
    noise = t.half[i] * math.hypot(t.sd_sums[i], m * t.sd_counts[i]) / n
    sampling = t.half[i] * math.sqrt(max(t.valid[i, i], 0.0) * t.heaviest / n)
    x = t.middle[i] + t.half[i] * t.sums[i] / n
    return row(name, cell, float(x), float(noise), float(sampling), reading, OF_OBSERVED, limits)


COVARIANCE_NOTE = OF_OBSERVED + "; sampling error as of normal values"
VARIANCE_NOTE = OF_OBSERVED + AS_OF_BETA


def covariance_rows(name: str, prefix: str, t: Table, reading: Reading) -> list[Row]:
    """Variances and covariances in the columns' units, pair by pair (the joint, projected matrix: `covariance`)."""
    out = []
    for i, a in enumerate(t.names):
        for j in range(i, len(t.names)):
            unit, cell = t.units[i, j], f"{prefix}var {a}" if i == j else f"{prefix}cov {a}, {t.names[j]}"
            limits = (0.0 if i == j else -float(unit), float(unit))
            if not t.enough[i, j]:
                out.append(hidden(name, cell, limits, HIDDEN))
                continue
            errors = float(unit * t.noise[i, j]), float(unit * t.sampling[i, j])
            note = VARIANCE_NOTE if i == j else COVARIANCE_NOTE
            out.append(row(name, cell, float(unit * t.covariance[i, j]), *errors, reading, note, limits))
    return out


def moments(columns: Sequence[str], *, by: object = (), weight: str | None = None, share: object = 1) -> Moments:
    """Means and pairwise-available covariances of number columns."""
    return Moments(over=set_of(columns), **options(by, weight, share))


def set_of(columns: object) -> tuple[str, ...]:
    names = columns_of(columns)
    if not names:
        raise InputError("columns", columns, "at least one number column")
    return names
