"""Little's test that entries are missing completely at random, from sums by pattern; maximum likelihood by EM.

Little (1988): with maximum-likelihood mean mu and covariance Sigma of a normal model, m_p the mean of the n_p rows of
pattern p over the q_p coordinates it shows, sum_p n_p (m_p - mu_p)' Sigma_pp^{-1} (m_p - mu_p) tends under MCAR to
chi-square with sum_p q_p - q degrees of freedom, whatever the law of the data with finite fourth moments.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.linalg import lapack
from scipy.special import gammaincc

from absentia.table.rowscan import PatternSums

__all__ = ["LittleTest", "frequent", "little"]

SINGULAR = 1e-6  # smallest eigenvalue of a correlation matrix that counts as regular
CONVERGED = 1e-6  # change of means and covariances in one step, in standard deviations
SETTLED = 1e-8  # relative change of the statistic in one step; covariances it does not use may still move
STEPS = 1000
FEW = 5


@dataclass(frozen=True)
class LittleTest:
    """The test's result. `left_out`: coordinates that could not be used, with the reason."""

    statistic: float
    df: int
    p_value: float
    rows: int
    patterns: int
    coordinates: tuple[str, ...]
    left_out: dict[str, str]
    steps: int
    rough: bool = False
    notes: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        return {
            "statistic": self.statistic, "df": self.df, "p_value": self.p_value, "rows": self.rows,
            "patterns": self.patterns, "coordinates": list(self.coordinates), "left_out": self.left_out,
            "steps": self.steps, "rough": self.rough, "notes": list(self.notes),
        }  # fmt: skip


@dataclass(frozen=True)
class Group:
    """The patterns that show k coordinates: which, shares of all rows, means, covariances about those means."""

    which: np.ndarray
    share: np.ndarray
    mean: np.ndarray
    spread: np.ndarray

    def block(self, Sigma: np.ndarray) -> np.ndarray:
        """Sigma_pp for every pattern."""
        return np.asarray(Sigma[self.which[:, :, None], self.which[:, None, :]])


def little(sums: PatternSums, names: tuple[str, ...]) -> LittleTest | str:
    """The result of the test, or why there is none."""
    if sums.refused is not None:
        return sums.refused
    left_out = _constant(sums, names)
    while True:
        keep = np.array([i for i, name in enumerate(names) if name not in left_out], int)
        groups, rows = _groups(sums, keep)
        used = int(sum(len(g.which) for g in groups))
        if not len(keep):
            reasons = ", ".join(f"{name} is {reason}" for name, reason in left_out.items())
            return f"no column varies ({reasons}): there is nothing to compare"
        if used < 2:
            return "the rows show fewer than two patterns of the columns that vary: there is nothing to compare"
        mu, Sigma, steps, converged = _em(groups, len(keep))
        dependent = _dependent(Sigma)
        if not len(dependent):
            break
        left_out |= dict.fromkeys((names[keep[i]] for i in dependent), "determined by the others (singular)")
    statistic = rows * sum(_distances(g, mu, Sigma) for g in groups)
    df = int(sum(g.which.size for g in groups)) - len(keep)
    if df <= 0:
        return "no column is observed in two patterns: there is nothing to compare"
    notes = [] if converged else [f"EM stopped after {STEPS} steps: the statistic may be too large"]
    few = sum(int((g.share * rows < FEW).sum()) for g in groups)
    rough = 2 * few > used
    if rough:
        rule = "the chi-square law is rough here, and p can be far too small when columns are skewed"
        notes.append(f"{few:,} of {used:,} patterns have fewer than {FEW} rows: {rule}")
    p = float(gammaincc(df / 2, statistic / 2))
    return LittleTest(
        float(statistic), df, p, rows, used, tuple(names[i] for i in keep), left_out, steps, rough, tuple(notes)
    )


def frequent(sums: PatternSums) -> PatternSums:
    """The patterns with at least 5 rows: under MCAR their rows are a sample too, and their means nearly normal."""
    keep = np.flatnonzero(sums.rows[: len(sums.observed)] >= FEW)
    return PatternSums(
        sums.owner, [sums.observed[i] for i in keep], sums.rows[keep], sums.sums[keep], sums.cross[keep], sums.refused
    )


def _constant(sums: PatternSums, names: tuple[str, ...]) -> dict[str, str]:
    """Coordinates that are never observed, or always the same where observed."""
    shown = _shown(sums)
    n = sums.rows[: len(shown)] @ shown
    total, square = sums.sums.sum(axis=0), np.einsum("pii->i", sums.cross)
    out = {}
    for i, name in enumerate(names):
        if n[i] == 0:
            out[name] = "never observed"
        elif square[i] / n[i] - (total[i] / n[i]) ** 2 <= 1e-12 * max(square[i] / n[i], 1e-300):
            out[name] = "constant where observed"
    return out


def _shown(sums: PatternSums) -> np.ndarray:
    """Which coordinates each pattern shows."""
    return np.array(sums.observed, bool).reshape(-1, sums.owner.max() + 1)[:, sums.owner]


def _groups(sums: PatternSums, keep: np.ndarray) -> tuple[list[Group], int]:
    """Patterns that show some of the kept coordinates, standardised by overall mean and spread, grouped by size."""
    shown = _shown(sums)[:, keep]
    P = len(shown)
    n, total = sums.rows[:P], sums.sums[:P][:, keep]
    count = n @ shown
    centre = total.sum(axis=0) / count
    scale = np.sqrt(np.einsum("pii->i", sums.cross[:P])[keep] / count - centre**2)
    rows = int(n[shown.any(axis=1)].sum())
    groups = []
    for k in np.unique(shown.sum(axis=1)):
        chosen = np.flatnonzero(shown.sum(axis=1) == k)
        if k == 0:
            continue
        which = np.nonzero(shown[chosen])[1].reshape(len(chosen), k)
        weight = n[chosen]
        mean = np.take_along_axis(total[chosen], which, axis=1) / weight[:, None]
        full = keep[which]
        cross = sums.cross[chosen[:, None, None], full[:, :, None], full[:, None, :]] / weight[:, None, None]
        spread = cross - mean[:, :, None] * mean[:, None, :]
        unit = scale[which]
        groups.append(
            Group(which, weight / rows, (mean - centre[which]) / unit, spread / (unit[:, :, None] * unit[:, None, :]))
        )
    return groups, rows


def _em(groups: list[Group], q: int) -> tuple[np.ndarray, np.ndarray, int, bool]:
    """Maximum-likelihood mean and covariance, the steps, whether they converged; stops early when singular.

    With K_p the inverse of Sigma_pp padded by zeros and C_p the second moment about mu: the step is
    mu + Sigma sum w_p K_p (m_p - mu) and Sigma + Sigma [sum w_p (K_p C_p K_p - K_p)] Sigma, recentred.
    """
    mu, Sigma, before = np.zeros(q), np.eye(q), 0.0
    for step in range(1, STEPS + 1):
        g, G, distance = np.zeros(q), np.zeros(q * q), 0.0
        for group in groups:
            K = np.linalg.inv(group.block(Sigma))
            r = group.mean - mu[group.which]
            C = group.spread + r[:, :, None] * r[:, None, :]
            H = (K @ C @ K - K) * group.share[:, None, None]
            score = (K @ r[:, :, None])[:, :, 0] * group.share[:, None]
            distance += float((score * r).sum())
            at = group.which[:, :, None] * q + group.which[:, None, :]
            g += np.bincount(group.which.ravel(), score.ravel(), minlength=q)
            G += np.bincount(at.ravel(), H.ravel(), minlength=q * q)
        move = Sigma @ g
        change = Sigma @ G.reshape(q, q) @ Sigma - np.outer(move, move)
        mu, Sigma = mu + move, Sigma + (change + change.T) / 2
        if np.linalg.eigvalsh(Sigma)[0] < SINGULAR:
            return mu, Sigma, step, False
        settled = abs(distance - before) < SETTLED * distance or np.abs(change).max() < CONVERGED
        if settled and np.abs(move).max() < CONVERGED:
            return mu, Sigma, step, True
        before = distance
    return mu, Sigma, STEPS, False


def _dependent(Sigma: np.ndarray) -> np.ndarray:
    """Coordinates that the others determine: the last pivots of a Cholesky factorisation of the correlations."""
    if np.linalg.eigvalsh(Sigma)[0] >= SINGULAR:
        return np.zeros(0, int)
    scale = np.sqrt(np.maximum(np.diag(Sigma), 1e-300))
    _, pivots, rank, _ = lapack.dpstrf(Sigma / np.outer(scale, scale), tol=100 * SINGULAR, lower=1)
    return np.asarray(pivots[min(rank, len(pivots) - 1) :] - 1)


def _distances(group: Group, mu: np.ndarray, Sigma: np.ndarray) -> float:
    r = group.mean - mu[group.which]
    solved = np.linalg.solve(group.block(Sigma), r[:, :, None])[:, :, 0]
    return float((group.share * (r * solved).sum(axis=1)).sum())
