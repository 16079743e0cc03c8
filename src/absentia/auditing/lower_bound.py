"""What two samplers show with confidence: a lower bound of delta at epsilon, whatever the theory says."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.stats import beta

from absentia.errors import InputError

__all__ = ["LowerBound", "delta_lower_bound", "proportion_bounds"]

Sampler = Callable[[int, np.random.Generator], NDArray[np.float64]]
"""(count, generator) -> that many scalar outputs, or scores of outputs."""


@dataclass(frozen=True)
class LowerBound:
    """With probability at least `confidence` over the trials, the true delta at `epsilon` is at least `delta`.

    The event is {score >= threshold} when `upper`, else {score <= threshold}; `hits` counts it under either sampler.
    """

    epsilon: float
    delta: float
    confidence: float
    threshold: float
    upper: bool
    hits: tuple[int, int]
    trials: int


def proportion_bounds(hits: int, trials: int, error: float) -> tuple[float, float]:
    """The Clopper-Pearson interval: each end is wrong with probability at most `error`.

    >>> low, high = proportion_bounds(0, 100, 0.05)
    >>> low, round(high, 4)
    (0.0, 0.0295)
    """
    if not 0 <= hits <= trials or trials < 1:
        raise InputError("hits", hits, f"a count in [0, {trials}], trials >= 1")
    low = float(beta.ppf(error, hits, trials - hits + 1)) if hits > 0 else 0.0
    high = float(beta.ppf(1 - error, hits + 1, trials - hits)) if hits < trials else 1.0
    return low, high


def delta_lower_bound(
    sample: Sampler,
    sample_prime: Sampler,
    epsilon: float,
    *,
    trials: int = 100_000,
    confidence: float = 0.999,
    seed: int = 0,
) -> LowerBound:
    """A Monte-Carlo lower bound of H_{e^epsilon}(sample || sample_prime), with stated confidence.

    The half-line is chosen on a first batch and measured on a fresh one: Clopper-Pearson below for `sample` and above
    for `sample_prime`, half of the allowed error each. A claimed delta below it is contradicted by the data.

    Assumptions: both samplers draw independently and faithfully. Bounds are statistical, not certified.

    >>> shifted = lambda by: lambda count, rng: rng.normal(by, 1.0, count)
    >>> bound = delta_lower_bound(shifted(1.0), shifted(0.0), 1.0)
    >>> 0.11 < bound.delta < 0.12693673750664397  # the true value
    True
    """
    if trials < 2:
        raise InputError("trials", trials, "a whole number >= 2")
    if not 0 < confidence < 1:
        raise InputError("confidence", confidence, "a number in (0, 1)")
    if not 0 <= epsilon < 700:
        raise InputError("epsilon", epsilon, "a number in [0, 700)")
    rng = np.random.default_rng(seed)
    threshold, upper = chosen_event(sample(trials, rng), sample_prime(trials, rng), epsilon)
    hits = [count(draw(trials, rng), threshold, upper) for draw in (sample, sample_prime)]
    error = (1 - confidence) / 2
    low, high = proportion_bounds(hits[0], trials, error)[0], proportion_bounds(hits[1], trials, error)[1]
    delta = max(0.0, low - math.exp(epsilon) * high)
    return LowerBound(epsilon, delta, confidence, threshold, upper, (hits[0], hits[1]), trials)


def count(scores: NDArray[np.float64], threshold: float, upper: bool) -> int:
    return int(np.count_nonzero(scores >= threshold if upper else scores <= threshold))


def chosen_event(x: NDArray[np.float64], y: NDArray[np.float64], epsilon: float) -> tuple[float, bool]:
    """The half-line with the largest excess on the first batch, less what a confident measurement would lose."""
    best = (-math.inf, 0.0, True)
    for upper in (True, False):
        sign = 1.0 if upper else -1.0
        p_scores, q_scores = np.sort(sign * x), np.sort(sign * y)
        cuts = np.unique(np.concatenate([p_scores, q_scores]))
        p = (len(x) - np.searchsorted(p_scores, cuts)) / len(x)
        q = (len(y) - np.searchsorted(q_scores, cuts)) / len(y)
        loss = 3 * (np.sqrt(p / len(x)) + math.exp(epsilon) * np.sqrt((q + 3 / len(y)) / len(y)))
        gain = p - math.exp(epsilon) * q - loss
        k = int(np.argmax(gain))
        best = max(best, (float(gain[k]), sign * float(cuts[k]), upper))
    return best[1], best[2]
