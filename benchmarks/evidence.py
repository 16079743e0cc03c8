"""Size, power and speed of the evidence tests, by simulation: share of p-values below 5 % where it should be 5 %.

python benchmarks/evidence.py [replications, default 500]
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable

import numpy as np
import polars as pl

from absentia.planning.schema import Schema
from absentia.table.dependence import clusters, likeness, neighbours, stretches
from absentia.table.little import LittleTest, frequent, little
from absentia.table.rowscan import RowScan, row_scan

Rng = np.random.Generator
LEVEL = 0.05


def scan(X: np.ndarray, keys: np.ndarray | None = None) -> RowScan:
    names = [f"x{j}" for j in range(X.shape[1])]
    frame = pl.DataFrame(X, schema=names, orient="row")
    schema = Schema.from_dict({"columns": {name: {"kind": "number", "bounds": [-1000, 1000]} for name in names}})
    if keys is None:
        return row_scan(frame, schema)
    return row_scan(frame.with_columns(pl.Series("key", keys)), schema, "key")


def little_p(X: np.ndarray) -> tuple[float, float]:
    """All patterns; only those with at least 5 rows."""
    s = scan(X)
    both = (little(patterns, s.coordinates.names) for patterns in (s.patterns, frequent(s.patterns)))
    whole, restricted = (found.p_value if isinstance(found, LittleTest) else 1.0 for found in both)
    return whole, restricted


def row_p(X: np.ndarray, keys: np.ndarray) -> tuple[float, float, float]:
    s = scan(X, keys)
    alike = likeness(s)
    found = clusters(s.clusters, "key", alike)
    return neighbours(s.order, alike).p_value, found.p_value, stretches(s.order, s.columns)[0].adjusted


def shares(draw: Callable[[Rng], np.ndarray], p: Callable[[np.ndarray], object], times: int) -> np.ndarray:
    rng = np.random.default_rng(2026)
    return np.mean([np.array(p(draw(rng))) < LEVEL for _ in range(times)], axis=0)


def normal(rng: Rng, n: int, d: int) -> np.ndarray:
    return rng.standard_normal((n, d)) @ (np.eye(d) + 0.4)


def skewed(rng: Rng, n: int, d: int) -> np.ndarray:
    X = normal(rng, n, d)
    X[:, ::2] = np.exp(X[:, ::2])
    X[:, 1::4] = X[:, 1::4] > 0
    return X


def holes(rng: Rng, X: np.ndarray, rate: float) -> np.ndarray:
    return np.where(rng.random(X.shape) < rate, np.nan, X)


def mar(rng: Rng, n: int, slope: float) -> np.ndarray:
    """Column 0 is always seen; the others go missing with logit slope * x0 - 1."""
    X = normal(rng, n, 4)
    hidden = rng.random((n, 3)) < 1 / (1 + np.exp(1 - slope * X[:, :1]))
    X[:, 1:][hidden] = np.nan
    return X


def sticky(rng: Rng, n: int, keep: float) -> np.ndarray:
    """Each cell's mask is that of the row above with probability `keep`, else fresh: 30 % missing."""
    M = rng.random((n, 4)) < 0.3
    for i in range(1, n):
        same = rng.random(4) < keep
        M[i, same] = M[i - 1, same]
    return np.where(M, np.nan, 0.5)


def sites(rng: Rng, keys: np.ndarray, spread: float) -> np.ndarray:
    """Every site has its own missing rate, 30 % give or take `spread` (in logits)."""
    logit = -0.85 + spread * rng.standard_normal(keys.max() + 1)[keys]
    return np.where(rng.random((len(keys), 4)) < 1 / (1 + np.exp(-logit))[:, None], np.nan, 0.5)


def main(times: int = 500) -> None:
    error = np.sqrt(LEVEL * (1 - LEVEL) / times)
    print(f"share of p < {LEVEL} in {times} replications; where nothing is wrong {LEVEL} +- {2 * error:.3f}\n")
    print("Little's test; patterns:             all  >= 5 rows       all  >= 5 rows")
    print("  MCAR                              normal columns    skewed and binary")
    for n, d, rate in ((100, 4, 0.1), (500, 4, 0.3), (300, 8, 0.3), (1000, 6, 0.5)):
        found = [shares(lambda g: holes(g, law(g, n, d), rate), little_p, times) for law in (normal, skewed)]  # noqa: B023
        print(f"  n {n:>5}, {d} columns, {rate:.0%} missing  " + "".join(f"{x:>10.3f}" for x in np.concatenate(found)))
    print("  MAR, 500 x 4, normal columns")
    for slope in (0.1, 0.2, 0.4, 0.8):
        found = shares(lambda g: mar(g, 500, slope), little_p, times)  # noqa: B023
        print(f"    logit slope {slope}                {found[0]:>10.3f}{found[1]:>10.3f}")
    print("dependence between rows, 1000 x 4  neighbours  clusters  stretches (smallest Holm p)")
    keys = np.arange(1000) // 20
    few = np.arange(1000) // 250
    for name, draw, key in (
        ("independent, 50 clusters", lambda g: sticky(g, 1000, 0.0), keys),
        ("independent, 4 clusters", lambda g: sticky(g, 1000, 0.0), few),
        ("as above with probability .05", lambda g: sticky(g, 1000, 0.05), keys),
        ("as above with probability .15", lambda g: sticky(g, 1000, 0.15), keys),
        ("sites +- 0.2 logits", lambda g: sites(g, keys, 0.2), keys),
        ("sites +- 0.5 logits", lambda g: sites(g, keys, 0.5), keys),
    ):
        found = shares(draw, lambda X: row_p(X, key), times)  # noqa: B023
        print(f"  {name:<31}{found[0]:>12.3f}{found[1]:>10.3f}{found[2]:>11.3f}")
    rng = np.random.default_rng(1)
    X = holes(rng, normal(rng, 1_000_000, 12), 0.3)
    start = time.perf_counter()
    s = scan(X, np.arange(len(X)) // 100)
    read = time.perf_counter()
    found = little(s.patterns, s.coordinates.names)
    fitted = time.perf_counter()
    alike = likeness(s)
    neighbours(s.order, alike), clusters(s.clusters, "key", alike), stretches(s.order, s.columns)
    print(
        f"1,000,000 x 12, 30 % missing, {found.patterns:,} patterns: one pass over the rows {read - start:.1f} s, "
        f"EM ({found.steps} steps) and test {fitted - read:.1f} s, row tests {time.perf_counter() - fitted:.2f} s"
    )


if __name__ == "__main__":
    main(*map(int, sys.argv[1:2]))
