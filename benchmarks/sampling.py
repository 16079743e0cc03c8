"""Draws per second: ours (usual grid, and every draw on the exact path) beside OpenDP, in one run.

python benchmarks/sampling.py [draws]
"""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Callable
from functools import partial

import numpy as np

from absentia.noise.opendp_draw import OpenDPNoise
from absentia.noise.sampling import draw, grid_for
from absentia.theory.noise import Gaussian, Laplace


def rate(action: Callable[[], object], draws: int, repeats: int = 3) -> float:
    best = math.inf
    for _ in range(repeats):
        start = time.perf_counter()
        action()
        best = min(best, time.perf_counter() - start)
    return draws / best


def main(draws: int = 2_000_000) -> None:
    few = max(draws // 100, 1000)
    print(f"{'':10}{'usual grid':>16}{'exact path only':>18}{'OpenDP':>14}{'ratio':>9}   draws per second, best of 3")
    for noise in (Laplace(1.0), Gaussian(1.0)):
        grid = grid_for(noise.size)
        many_points, few_points = np.zeros(draws, dtype=np.int64), np.zeros(few, dtype=np.int64)
        usual = rate(partial(draw, noise, many_points, grid), draws)
        exact = rate(partial(draw, noise, few_points, 2.0**-36), few)
        theirs = rate(partial(OpenDPNoise(noise, grid).draw, few_points), few)
        print(f"{noise.family:10}{usual:16,.0f}{exact:18,.0f}{theirs:14,.0f}{usual / theirs:8.0f}x")
    print("\nsigma for (epsilon, 1e-6) at l2 distance 1, nothing missing: the continuous Gaussian and OpenDP's map")
    for epsilon in (0.5, 1.0, 2.0):
        ours, theirs = least(epsilon, continuous), least(epsilon, opendp)
        print(f"epsilon {epsilon:4}: {ours:8.4f} {theirs:8.4f}   {theirs / ours - 1:+.1%}")


def continuous(sigma: float, epsilon: float) -> float:
    return Gaussian(sigma).hockey_stick(1, math.exp(epsilon))


def opendp(sigma: float, epsilon: float) -> float:
    profile = OpenDPNoise(Gaussian(sigma), grid_for(sigma)).black_box(1, 10).profile
    assert profile is not None
    return profile(epsilon)


def least(epsilon: float, delta: Callable[[float, float], float], target: float = 1e-6) -> float:
    low, high = 0.1, 100.0
    for _ in range(40):
        middle = (low + high) / 2
        low, high = (low, middle) if delta(middle, epsilon) <= target else (middle, high)
    return high


if __name__ == "__main__":
    main(*(int(argument) for argument in sys.argv[1:2]))
