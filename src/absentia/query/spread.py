"""How far a reading of moments moves when noise, or the choice of rows, is drawn again.

Redrawn a fixed number of times from a fixed seed, around the released moments: nothing private is simulated.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from absentia.query.moments import Array, Table, diagonal

__all__ = ["Redrawn", "pair_errors", "unstable"]

REDRAWS = 200
SEED = 20_240_229
JOINT = 40  # columns up to which the sampling errors of all pairs are drawn jointly


@dataclass(frozen=True)
class Redrawn:
    """Readings of a table of moments whose errors are drawn again."""

    table: Table

    @cached_property
    def centre(self) -> Table:
        """The moments with their covariance made valid: what the errors are drawn around."""
        return self.table.with_covariance(self.table.valid)

    @cached_property
    def by_noise(self) -> Table:
        """The moments with fresh noise, as many times over."""
        rng, t = np.random.default_rng(SEED), self.centre
        d = len(t.names)

        def both(X: Array, sd: Array) -> Array:
            noise = np.triu(rng.normal(size=(REDRAWS, d, d)) * sd)
            return np.asarray(X + noise + np.triu(noise, 1).swapaxes(-1, -2))

        products, pairs = both(t.products, t.sd_products), both(t.pairs, t.sd_pairs)
        sums = t.sums + rng.normal(size=(REDRAWS, d)) * t.sd_sums
        return replace(t, sums=sums, counts=diagonal(pairs), products=products, pairs=pairs)

    @cached_property
    def by_sampling(self) -> Table:
        """The moments of fresh rows, as many times over: normal values, seen as often as these."""
        rng, t = np.random.default_rng(SEED + 1), self.centre
        i, j = np.triu_indices(len(t.names))
        C = np.repeat(t.valid[None], REDRAWS, axis=0)
        C[:, i, j] += rng.normal(size=(REDRAWS, len(i))) @ root_of(pair_errors(t)).T
        C[:, j, i] = C[:, i, j]
        means = rng.normal(size=(REDRAWS, len(t.names))) @ root_of(t.heaviest * t.overlap * t.valid).T
        return t.with_covariance(C, t.means + means)

    def errors(self, read: Callable[[Table], Array]) -> tuple[Array, Array, Array]:
        """(error by noise, error by sampling, how far redrawing shifts the reading on average)."""
        at, by_noise, by_sampling = (read(t) for t in (self.centre, self.by_noise, self.by_sampling))
        shift = by_noise.mean(axis=0) + by_sampling.mean(axis=0) - 2 * at
        return by_noise.std(axis=0), by_sampling.std(axis=0), shift


def unstable(t: Table) -> bool:
    """Whether errors reach half of the smallest eigenvalue of the correlations: what is built on them then bends."""
    v = np.diag(t.valid)
    if not t.enough.all() or not (v > 0).all():
        return True
    unit = 1 / np.sqrt(np.outer(v, v))
    reached = np.sqrt(((t.noise**2 + t.sampling**2) * unit**2).sum(axis=1).max())
    return bool(2 * reached > np.linalg.eigvalsh(t.valid * unit)[0])


def root_of(S: Array) -> Array:
    """A square root of the nearest valid covariance."""
    values, vectors = np.linalg.eigh((S + S.T) / 2)
    return np.asarray(vectors * np.sqrt(np.maximum(values, 0.0)))


def pair_errors(t: Table) -> Array:
    """The covariance of the sampling errors of all covariances i <= j, as of normal values missing at random.

    Errors of (i, j) and (k, l) share the rows that show all four: n_ijkl/(n_ij n_kl) (c_ik c_jl + c_il c_jk). Only
    pairs are counted, so the share of those rows is that of the best linked pair among them (exact for columns missing
    independently, and for columns missing together). Beyond JOINT columns the errors are taken as unrelated.
    """
    i, j = np.triu_indices(len(t.names))
    own = t.sampling[i, j] ** 2
    if len(t.names) > JOINT:
        return np.diag(own)
    C, link = t.valid, t.overlap
    k, l = i[None, :], j[None, :]  # noqa: E741
    i, j = i[:, None], j[:, None]
    best = np.maximum(np.maximum(link[i, k], link[i, l]), np.maximum(link[j, k], link[j, l]))
    S = t.heaviest * best * (C[i, k] * C[j, l] + C[i, l] * C[j, k])
    np.fill_diagonal(S, own)
    return np.asarray(S)
