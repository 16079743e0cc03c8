"""The noise that blocks masked together need: sigma at (1, 1e-6) without missingness, by T2, T10, T10K, and the time.

python benchmarks/forms.py
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from fractions import Fraction
from functools import partial

from scipy.stats import norm

from absentia.law.forms import Forms
from absentia.theory.bound import Bound

EPSILON, DELTA = Fraction(1), Fraction(1, 10**6)
DESIGNS = {
    "2 of 3": Forms.k_of_d(2, 3),
    "3 of 4": Forms.k_of_d(3, 4),
    "4 of 13": Forms.k_of_d(4, 13),
    "4 of 13, balanced booklets": Forms.balanced(13, 4),
    "5 of 100": Forms.k_of_d(5, 100),
    "10 of 1000": Forms.k_of_d(10, 1000),
    "core of 2, then 2 of 3 twice": Forms.strata([Forms.k_of_d(2, 3), Forms.k_of_d(2, 3)], core=[1, 1]),
    "one of three missing, 1/2 1/4 1/4": Forms.one_missing([1, 1, 1], ["1/2", "1/4", "1/4"]),
}


def smallest_sigma(delta_of: Callable[[float], float], start: float) -> float:
    """The smallest sigma with delta(1) <= 1e-6, to five digits."""
    low, high = start / 512, start * 2
    while high / low > 1.000002:
        middle = math.sqrt(low * high)
        low, high = (low, middle) if delta_of(middle) <= DELTA else (middle, high)
    return high


def gaussian_delta(distance: float) -> float:
    cut = float(EPSILON) / distance
    return float(norm.sf(cut - distance / 2) - math.exp(EPSILON) * norm.sf(cut + distance / 2))


def pair_delta(reach: float, sigma: float) -> float:
    """The Gaussian pair at +-reach: T2 for designs that always show equally much."""
    return gaussian_delta(2 * reach / sigma)


def seconds(action: Callable[[], object]) -> float:
    start = time.perf_counter()
    action()
    return time.perf_counter() - start


def bound(design: Forms, result: str, sigma: float) -> Bound:
    return next(b for b in design.bounds(sigma) if b.result == result)


def claimed_delta(design: Forms, result: str, sigma: float) -> float:
    return bound(design, result, sigma).delta(EPSILON, certified=False)


def main() -> None:
    print(f"{'design':36}{'without':>9}{'T2':>9}{'T10':>9}{'T10K':>9}   certified epsilon (T10, T10K)   calibration")
    for name, design in DESIGNS.items():
        full = design.full_reach(2)
        (shown,) = design.total(2).reach
        without, pair = (smallest_sigma(partial(pair_delta, reach), 10 * full) for reach in (full, shown))
        sigmas, proofs, spent = [], [], 0.0
        for result in ("T10", "T10K"):
            start = time.perf_counter()
            sigma = smallest_sigma(partial(claimed_delta, design, result), without)
            spent += time.perf_counter() - start
            fresh = bound(design, result, sigma)
            proofs.append(seconds(partial(fresh.epsilon, DELTA)))
            sigmas.append(sigma)
            assert bound(design, result, sigma * (1 + 1e-9)).epsilon(DELTA) <= 1
        figures = "".join(f"{x:9.3f}" for x in (without, pair, *sigmas))
        print(f"{name:36}{figures}   {proofs[0] * 1e3:7.1f} ms {proofs[1] * 1e3:7.1f} ms {spent * 1e3:17.0f} ms")


if __name__ == "__main__":
    main()
