"""Post-processing of moments: covariance and correlation matrices, principal components, linear regression.

Standard errors hold the noise and the sampling (as of normal values), each found by redrawing it around the released
moments. Readings that are not linear are pushed by errors; intervals reach further the other way by what redrawing
shows.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from absentia.errors import InputError
from absentia.query.base import Columns, Expectation, Noisy, Seen, columns_of, options
from absentia.query.columns import HIDDEN, one
from absentia.query.estimate import OF_OBSERVED, Reading, Row, hidden, row
from absentia.query.moments import COVARIANCE_NOTE, Array, Moments, Table, covariance_rows, diagonal, outer, set_of
from absentia.query.spread import Redrawn, unstable
from absentia.query.statistic import Statistic

__all__ = ["correlation", "covariance", "pca", "regression"]

CLEAR = 0.9
"""Mean squared cosine of a component with its redrawn self, below which its direction is not told apart."""
NORMAL = OF_OBSERVED + "; sampling error as of normal values"


@dataclass(frozen=True, kw_only=True)
class FromMoments(Moments):
    """A query that reads the moments of its columns; it shares them with every other query that does."""

    def rows(self, schema: Columns, noisy: Noisy, sd: Mapping[Statistic, float], reading: Reading) -> list[Row]:
        out: list[Row] = []
        for group, table in self.tables(schema, noisy, sd):
            out += self.read(table, f"{group}, " if group else "", reading)
        return out

    def read(self, t: Table, prefix: str, reading: Reading) -> list[Row]:
        """The answer of one group."""
        raise NotImplementedError

    def expected(self, schema: Columns, sd: Mapping[Statistic, float], seen: Seen) -> list[Expectation]:
        """Of the variances and covariances that the answer is built on: its own error depends on the data."""
        return self.spreads(schema, sd, seen, "built on ")


@dataclass(frozen=True, kw_only=True)
class Covariance(FromMoments):
    """The covariance matrix, projected to the nearest valid one."""

    kind: ClassVar[str] = "covariance"

    def expected(self, schema: Columns, sd: Mapping[Statistic, float], seen: Seen) -> list[Expectation]:
        return self.spreads(schema, sd, seen)

    def read(self, t: Table, prefix: str, reading: Reading) -> list[Row]:
        rows = iter(covariance_rows(self.name, prefix, t, reading))
        out = []
        for i in range(len(t.names)):
            for j in range(i, len(t.names)):
                found = next(rows)
                projected = float(t.units[i, j] * t.valid[i, j])
                moved = found.estimate != projected and t.enough[i, j]
                out.append(replace(found, estimate=projected, note=PROJECTED) if moved else found)
        return out


PROJECTED = COVARIANCE_NOTE + "; estimate from the nearest valid covariance matrix, interval from the pair"


@dataclass(frozen=True, kw_only=True)
class Correlation(FromMoments):
    """Pearson correlations of every pair, from the projected covariance."""

    kind: ClassVar[str] = "correlation"

    def read(self, t: Table, prefix: str, reading: Reading) -> list[Row]:
        R = _correlation(t)
        noise, sampling, shift = Redrawn(t).errors(_correlation)
        out = []
        for i, a in enumerate(t.names):
            for j in range(i + 1, len(t.names)):
                cell = f"{prefix}cor {a}, {t.names[j]}"
                if not t.enough[i, j] or not R[i, i] or not R[j, j]:
                    out.append(hidden(self.name, cell, (-1.0, 1.0), HIDDEN))
                    continue
                plain = math.sqrt(t.valid[i, i] * t.valid[j, j])  # near 1 and -1 redrawing is cut off, errors are not
                errors = max(float(noise[i, j]), t.noise[i, j] / plain), float(sampling[i, j])
                r, moved = float(R[i, j]), float(shift[i, j])
                out.append(row(self.name, cell, r, *errors, reading, NORMAL, (-1.0, 1.0), shift=moved))
        return out


@dataclass(frozen=True, kw_only=True)
class Components(FromMoments):
    """Principal components of the standardised columns: shares of variance, and loadings (largest one positive)."""

    kind: ClassVar[str] = "pca"
    components: int = 0

    def arguments(self) -> dict[str, Any]:
        return super().arguments() | ({"components": self.components} if self.components else {})

    def read(self, t: Table, prefix: str, reading: Reading) -> list[Row]:
        kept = self.components or len(t.names)
        if unstable(t):
            cells = [f"{prefix}share {k + 1}" for k in range(kept)]
            return [hidden(self.name, cell, (0.0, 1.0), UNSTABLE) for cell in cells]
        shares, loadings = _components(t)
        again = Redrawn(t)
        of_shares = again.errors(lambda x: _components(x)[0])
        of_loadings = again.errors(lambda x: _aligned(_components(x)[1], loadings))
        clear = _clear(again, loadings)
        out = []
        for k in range(kept):
            noise, sampling, shift = (float(x[k]) for x in of_shares)
            name, s = f"{prefix}share {k + 1}", float(shares[k])
            out.append(row(self.name, name, s, noise, sampling, reading, NORMAL, (0.0, 1.0), shift=shift))
            for i, a in enumerate(t.names):
                cell, x = f"{prefix}component {k + 1}, {a}", float(loadings[i, k])
                if clear[k] < CLEAR:
                    out.append(hidden(self.name, cell, (-1.0, 1.0), UNCLEAR))
                    continue
                noise, sampling, shift = (float(e[i, k]) for e in of_loadings)
                out.append(row(self.name, cell, x, noise, sampling, reading, NORMAL, (-1.0, 1.0), shift=shift))
        return out


UNSTABLE = "the errors of the moments hide how these columns move together: only the public bounds can be given"
UNCLEAR = "errors do not tell this component from its neighbours: only the public bounds can be given"


@dataclass(frozen=True, kw_only=True)
class Regression(FromMoments):
    """Least squares of one column on others, from the projected covariance, with the ridge that noise needs."""

    kind: ClassVar[str] = "regression"
    target: str
    on: tuple[str, ...]

    @property
    def subject(self) -> str:
        return f"{self.target} on {', '.join(self.on)}"

    def arguments(self) -> dict[str, Any]:
        return {"target": self.target, "on": list(self.on)}

    def read(self, t: Table, prefix: str, reading: Reading) -> list[Row]:
        k = len(self.on)
        cells = [*self.on, "intercept", "R squared"]
        if unstable(t):
            limits = [(-math.inf, math.inf)] * (k + 1) + [(0.0, 1.0)]
            return [hidden(self.name, prefix + c, ends, UNSTABLE) for c, ends in zip(cells, limits, strict=True)]
        values, (noise, sampling, shift) = _fit(t, k), Redrawn(t).errors(lambda x: _fit(x, k))
        ridge = float(_ridge(t, k))
        note = NORMAL + (f"; ridge {ridge:.2g} in units of z, which draws slopes towards 0" if ridge else "")
        out = []
        for i, cell in enumerate(cells):
            ends = (0.0, 1.0) if i == k + 1 else (-math.inf, math.inf)
            errors, moved = (float(noise[i]), float(sampling[i])), float(shift[i])
            out.append(row(self.name, prefix + cell, float(values[i]), *errors, reading, note, ends, shift=moved))
        return out


# -- numbers from one table of moments -------------------------------------------------------------------------------


def _correlation(t: Table) -> Array:
    v = diagonal(t.valid)
    scale = np.where(v > 0, 1 / np.sqrt(np.maximum(v, 1e-300)), 0.0)
    return np.asarray(t.valid * outer(scale, scale))


def _components(t: Table) -> tuple[Array, Array]:
    values, vectors = np.linalg.eigh(_correlation(t))
    values, vectors = np.maximum(values[..., ::-1], 0.0), vectors[..., ::-1]
    largest = np.abs(vectors).argmax(axis=-2)[..., None, :]
    signs = np.sign(np.take_along_axis(vectors, largest, axis=-2))
    return values / np.maximum(values.sum(axis=-1, keepdims=True), 1e-300), vectors * signs


def _aligned(vectors: Array, reference: Array) -> Array:
    same = (vectors * reference).sum(axis=-2, keepdims=True)
    return np.asarray(vectors * np.where(same < 0, -1.0, 1.0))


def _clear(again: Redrawn, loadings: Array) -> Array:
    """How far each direction is told apart: 1 less the mean squared sines that noise and sampling leave."""
    cosines = [(_components(t)[1] * loadings).sum(axis=-2) for t in (again.by_noise, again.by_sampling)]
    return np.asarray(sum((c**2).mean(axis=0) for c in cosines) - 1)


def _ridge(t: Table, k: int) -> Array:
    """What must be added to the smallest eigenvalue so that it stands at twice the noise of an entry."""
    noise = np.median(t.noise[..., :k, :k], axis=(-2, -1))
    smallest = np.linalg.eigvalsh(t.valid[..., :k, :k])[..., 0]
    return np.maximum(0.0, 2 * noise - smallest)


def _fit(t: Table, k: int) -> Array:
    """Slopes, intercept and R squared in the columns' units; the target is the last column of the table."""
    C = t.valid
    X, y = C[..., :k, :k], C[..., :k, k]
    z = np.linalg.solve(X + _ridge(t, k)[..., None, None] * np.eye(k), y[..., None])[..., 0]
    slopes = z * t.half[k] / t.half[:k]
    x = t.middle + t.half * t.means
    fitted = 2 * (z * y).sum(axis=-1) - (z * (X @ z[..., None])[..., 0]).sum(axis=-1)
    explained = np.clip(fitted / np.maximum(C[..., k, k], 1e-300), 0.0, 1.0)
    intercept = x[..., k] - (slopes * x[..., :k]).sum(axis=-1)
    return np.concatenate([slopes, intercept[..., None], explained[..., None]], axis=-1)


# -- constructors ----------------------------------------------------------------------------------------------------


def covariance(columns: Sequence[str], *, by: object = (), weight: str | None = None, share: object = 1) -> Covariance:
    """The covariance matrix of number columns, from pairwise-available moments."""
    return Covariance(over=set_of(columns), **options(by, weight, share))


def correlation(
    columns: Sequence[str], *, by: object = (), weight: str | None = None, share: object = 1
) -> Correlation:
    """The correlations of number columns."""
    return Correlation(over=set_of(columns), **options(by, weight, share))


def pca(
    columns: Sequence[str], components: int = 0, *, by: object = (), weight: str | None = None, share: object = 1
) -> Components:
    """The first principal components (0: all) of standardised number columns."""
    names = set_of(columns)
    if isinstance(components, bool) or not isinstance(components, int) or not 0 <= components <= len(names):
        raise InputError("components", components, f"an int from 0 (all) to {len(names)}")
    return Components(over=names, components=components, **options(by, weight, share))


def regression(
    target: str, on: Sequence[str], *, by: object = (), weight: str | None = None, share: object = 1
) -> Regression:
    """Least squares of `target` on the columns `on`, with intercept and R squared."""
    y, x = one(target, "target"), columns_of(on, "on")
    if not x or y in x:
        raise InputError("on", on, "at least one column, the target not among them")
    return Regression(over=(*x, y), target=y, on=x, **options(by, weight, share))
