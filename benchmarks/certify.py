"""Certified laws: how often the bounds hold, and what certification costs and gains.

python benchmarks/certify.py            the cost and gain table, and coverage from 400 simulated tables a cell
python benchmarks/certify.py --full     coverage from 4,000
"""

from __future__ import annotations

import math
import sys
import time
from fractions import Fraction

import numpy as np

from absentia import missing
from absentia.amplification import amplify
from absentia.missing.certify import survival_bounds
from absentia.query.reach import Reach, Term
from absentia.theory.noise import Laplace

SHAPES = {
    "half empty": [0.5, 0.5],
    "all observed": [0, 0, 0, 1],
    "nearly empty": [0.99, 0.005, 0.005],
    "two ends": [0.45, 0.05, 0, 0.05, 0.45],
    "binomial(10, 0.3)": [math.comb(10, k) * 0.3**k * 0.7 ** (10 - k) for k in range(11)],
    "uniform 0..8": [1 / 9] * 9,
    "rare tail": [0.3, 0.6985, 0.001, 0.0005],
}
COLUMNS = [f"c{i}" for i in range(10)]
TABLES = {
    "each entry observed with 0.3": SHAPES["binomial(10, 0.3)"],
    "six rows in ten empty, others 1 to 3 entries": [0.6, 0.2, 0.1, 0.1] + [0.0] * 7,
}
MAIN, HISTOGRAM = 20, 20  # Laplace scales: ten column sums at epsilon 1, the histogram at epsilon 0.1


def coverage(shape: list[float], n: int, confidence: str, trials: int, scale: float, rounded: bool) -> float:
    """How often all bounds hold at once; `rounded` draws discrete Laplace noise, an allowance of 1 a count."""
    rng = np.random.default_rng(n + trials + len(shape))
    truth = np.cumsum(shape[::-1])[::-1][1:]
    counts = rng.multinomial(n, np.array(shape) / sum(shape), size=trials)[:, 1:].astype(float)
    q = -math.expm1(-1 / scale)
    if rounded:
        counts += rng.geometric(q, counts.shape) - rng.geometric(q, counts.shape)
    else:
        counts += rng.laplace(scale=scale, size=counts.shape)
    bounds = (
        survival_bounds(row.tolist(), n, Laplace(scale), confidence, int(rounded), proved=False) for row in counts
    )
    return sum(all(float(b) >= s - 1e-15 for b, s in zip(row, truth, strict=True)) for row in bounds) / trials


def coverage_table(trials: int) -> None:
    print(f"coverage over {trials} tables, Laplace scale 20 (continuous / discrete)")
    for confidence in ("0.95", "0.99"):
        for name, shape in SHAPES.items():
            cells = [
                "/".join(f"{coverage(shape, n, confidence, trials, 20, rounded):.4f}" for rounded in (False, True))
                for n in (200, 10**4, 10**6)
            ]
            print(f"  {confidence}  {name:20} n = 200, 10^4, 10^6: {'   '.join(cells)}")


def worked_table() -> None:
    """Epsilon at delta = 1e-6 of ten column sums: bare, with the true law, with the certified law and its histogram."""
    sums = Reach(1, [Term(frozenset({c}), 1 / MAIN) for c in COLUMNS])
    both = sums + missing.observed_histogram_reach(COLUMNS).scaled(Fraction(1, HISTOGRAM))
    noise, delta = Laplace(1), "1e-6"
    for name, mass in TABLES.items():
        true = missing.counts(COLUMNS, [Fraction(m).limit_denominator(10**9) for m in mass])
        bare = amplify(noise, true.law(sums)).without_missingness.epsilon(delta=delta)
        known = amplify(noise, true.law(sums)).epsilon(delta=delta)
        p, mean = true.observed_count().p_star, true.observed_count().mean
        print(f"\n{name}: p* = {p:.4f}, mean shown = {mean:.3f}")
        print(f"epsilon of the sums at delta = 1e-6: {bare:.3f} without missingness, {known:.3f} if the law were known")
        print("       n   p* certified   mean certified   epsilon, sums + histogram   seconds")
        for n in (200, 2000, 20_000, 200_000, 2_000_000):
            rng = np.random.default_rng(n)
            counts = rng.multinomial(n, mass)[1:] + rng.laplace(scale=HISTOGRAM, size=10)
            start = time.perf_counter()
            process = missing.certified(COLUMNS, counts.tolist(), n, Laplace(HISTOGRAM), "0.99")
            spent = time.perf_counter() - start
            found = process.observed_count()
            epsilon = amplify(noise, process.law(both)).epsilon(delta=delta)
            print(f"{n:8d}   {found.p_star:12.4f}   {found.mean:14.3f}   {epsilon:25.3f}   {spent:7.1f}")


if __name__ == "__main__":
    worked_table()
    coverage_table(4000 if "--full" in sys.argv else 400)
