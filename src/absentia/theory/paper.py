"""The paper as published: P1 (MNAR), P2 (MAR) and P4-P8 (feature-wise Lipschitz queries).

Every function returns proved upper bounds of the printed formula: ball arithmetic, rounded up. Where a sharper
or sounder result exists the docstring names it (T1, T2, T3, T6).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import NamedTuple

from flint import arb

from absentia.errors import InputError
from absentia.exact import ball, number, precision, probability, round_up
from absentia.theory.bound import proved_above

__all__ = [
    "GaussianRelease", "LaplaceRelease", "MnarPoint", "Promise", "corollary", "entries_observed", "gaussian", "laplace",
    "mar", "mnar_curve", "mnar_delta", "mnar_pair", "relaxed_gaussian", "relaxed_laplace", "sensitivity",
]  # fmt: skip

Number = int | str | float | Fraction
"""A float stands for its exact binary value."""


class Promise(NamedTuple):
    """(epsilon, delta)-DP, both rounded up."""

    epsilon: float
    delta: float


class MnarPoint(NamedTuple):
    """One point of P1's trade-off curve."""

    lam: float
    epsilon: float
    delta: float


class LaplaceRelease(NamedTuple):
    """P6: the noise scale and the two epsilons (observation bound alone, amplified)."""

    scale: float
    epsilon_tilde: float
    epsilon: float


class GaussianRelease(NamedTuple):
    """P7: the constant c, the noise level and the guarantee."""

    c: float
    sigma: float
    epsilon_tilde: float
    epsilon: float
    delta: float


def mar(epsilon: Number, delta: Number, p_star: Number) -> Promise:
    """(ln(1 + p*(e^eps - 1)), p* delta), rounded up (P2).

    Assumptions: MCAR or MAR; rows draw their masks independently; the base mechanism is (eps, delta)-DP on masked
    datasets. T1 proves the same formula without MAR.

    >>> mar(1, 0, "0.5").epsilon
    0.6201145069582776
    """
    e, d, p = _at_least_zero(epsilon, "epsilon"), probability(delta, "delta"), probability(p_star, "p_star")
    return Promise(_amplified_up(e, p), round_up(p * d))


def mnar_pair(epsilon: Number, delta: Number, p: Number, p_prime: Number, lam: Number) -> Promise:
    """The point lam of P1's curve for two records that show something with probabilities p and p', rounded up.

    e1 = ln(1+p(e^eps-1)), d1 = p delta + e^{e1} |p-p'|; the point is (ln(lam e^eps + (1-lam) e^{e1}),
    lam delta + (1-lam) d1). The delta is not capped at 1, as printed.

    Assumptions: rows draw their masks independently; any missingness. T1 is never worse and has no |p-p'| term.

    >>> mnar_pair(1, 0, "0.5", "0.5", 0)
    Promise(epsilon=0.6201145069582776, delta=0.0)
    """
    e, d = _at_least_zero(epsilon, "epsilon"), probability(delta, "delta")
    p, p_prime, lam = probability(p, "p"), probability(p_prime, "p_prime"), probability(lam, "lam")
    mixed = lam + (1 - lam) * p  # lam e^eps + (1-lam) e^{e1} = 1 + mixed (e^eps - 1)
    return Promise(_amplified_up(e, mixed), _mnar_delta_up(e, d, p, p_prime, lam))


def mnar_curve(
    epsilon: Number,
    delta: Number,
    *,
    pairs: Sequence[tuple[Number, Number]] | None = None,
    p_max: Number | None = None,
    p_min: Number | None = None,
    points: int = 101,
) -> tuple[MnarPoint, ...]:
    """P1's whole trade-off curve, lam = 0, ..., 1: at each lam the supremum over the pairs, rounded up.

    Either `pairs` of (p, p'), taken in both orders, or the range [p_min, p_max] of p over the records: there
    (p_max, p_min) is the worst pair for both coordinates at every lam.

    >>> [round(point.delta, 4) for point in mnar_curve(1, 0, p_max="0.3", p_min="0.2", points=3)]
    [0.1515, 0.0758, 0.0]
    """
    if isinstance(points, bool) or not isinstance(points, int) or points < 2:
        raise InputError("points", points, "an integer of at least 2")
    both = _pairs(pairs, p_max, p_min)
    curve = []
    for lam in (Fraction(i, points - 1) for i in range(points)):
        promises = [mnar_pair(epsilon, delta, p, p_prime, lam) for p, p_prime in both]
        curve.append(MnarPoint(float(lam), max(x.epsilon for x in promises), max(x.delta for x in promises)))
    return tuple(curve)


def mnar_delta(
    epsilon: Number,
    delta: Number,
    epsilon_out: Number,
    *,
    pairs: Sequence[tuple[Number, Number]] | None = None,
    p_max: Number | None = None,
    p_min: Number | None = None,
) -> float:
    """The smallest delta that P1 proves at epsilon_out, each pair at its own best lam; rounded up.

    1.0 where the curve says nothing (epsilon_out below e1).

    >>> round(mnar_delta(1, 0, "0.7", p_max="0.3", p_min="0.2"), 5)
    0.08905
    """
    e, d = _at_least_zero(epsilon, "epsilon"), probability(delta, "delta")
    target = _at_least_zero(epsilon_out, "epsilon_out")
    return max(_mnar_delta_at(e, d, p, q, target) for p, q in _pairs(pairs, p_max, p_min))


def sensitivity(constants: Sequence[Number], k: int | None = None) -> float:
    """2 * (sum of the k largest constants), rounded up: C_p (P4, k omitted) or Ctilde_p (P5).

    Assumptions: ||f(x) - f(x')|| <= sum_j L_j |I(x)_j - I(x')_j| on the differing row, zero imputation, values in
    [-1, 1], at most k entries observed in any row.

    >>> sensitivity([1, 1, 1, 1], k=2)
    4.0
    """
    return round_up(_sensitivity(_constants(constants), k))


def entries_observed(rho: Number, d: int) -> int:
    """floor(rho d), the k of P5, never under-estimated.

    Exact for a rational or decimal rho. A float is raised to the next double first, because fl(0.29) is below
    29/100 and floor(fl(0.29) * 100) is 28.

    >>> entries_observed("0.29", 100), entries_observed(0.29, 100), int(0.29 * 100)
    (29, 29, 28)
    """
    if isinstance(d, bool) or not isinstance(d, int) or d < 1:
        raise InputError("d", d, "an integer of at least 1")
    return math.floor(_share(rho) * d)


def laplace(epsilon: Number, p_star: Number, constants: Sequence[Number], k: int | None = None) -> LaplaceRelease:
    """b = C_1/eps and eps' = ln(1 + p*(e^{et} - 1)), et = (Ctilde_1/C_1) eps, rounded up (P6).

    Assumptions: those of `sensitivity`, MAR, rows independent. T3 gives less from the same facts, and needs no MAR.

    >>> laplace(1, "0.5", [1, 1, 1, 1], k=2)
    LaplaceRelease(scale=8.0, epsilon_tilde=0.5, epsilon=0.2809298036201614)
    """
    e, p, C, tilde = _above_zero(epsilon), probability(p_star, "p_star"), *_totals(constants, k)
    epsilon_tilde = tilde / C * e
    return LaplaceRelease(round_up(C / e), round_up(epsilon_tilde), _amplified_up(epsilon_tilde, p))


def gaussian(
    epsilon: Number,
    delta: Number,
    p_star: Number,
    constants: Sequence[Number],
    k: int | None = None,
    c: Number | None = None,
) -> GaussianRelease:
    """sigma = c C_2/eps and (ln(1 + p*(e^{et} - 1)), p* delta), et = (Ctilde_2/C_2) eps, rounded up (P7).

    c omitted: the smallest double above sqrt(2 ln(1.25/delta)). Refused for epsilon > 1, where the classical
    analysis fails (its delta is exceeded 4.3 times at epsilon = 10), and for a c that is too small.

    Assumptions: those of `sensitivity` in l2, MAR, rows independent. T2 is exact for the same noise, at any epsilon.

    >>> gaussian(1, "1e-5", "0.5", [1, 1, 1, 1], k=2).epsilon
    0.2809298036201614
    """
    e, d, p = _above_zero(epsilon), probability(delta, "delta"), probability(p_star, "p_star")
    if e > 1:
        raise InputError("epsilon", epsilon, "(0, 1] for P7", remedy="Use T2, which is exact for every epsilon.")
    if d == 0:
        raise InputError("delta", delta, "(0, 1] for Gaussian noise")
    C, tilde = _totals(constants, k)
    factor = Fraction(_threshold_up(d)) if c is None else number(c, "c")
    if c is not None and not _exceeds_threshold(factor, d):
        raise InputError("c", c, f"more than sqrt(2 ln(1.25/delta)), about {_threshold_up(d):.6g}")
    epsilon_tilde = tilde / C * e
    return GaussianRelease(
        round_up(factor), round_up(factor * C / e), round_up(epsilon_tilde), _amplified_up(epsilon_tilde, p), round_up(p * d)
    )  # fmt: skip


def corollary(epsilon: Number, p_star: Number, rho: Number) -> float:
    """min((e-1) p*, 1) rho eps, which bounds eps' of P6 and P7 when all L_j are equal; rounded up.

    Assumptions: those of P6 or P7, equal constants, epsilon <= 1. A float rho counts as the next double.

    >>> corollary(1, "0.5", "0.5")
    0.42957045711476133
    """
    e, p, share = _at_least_zero(epsilon, "epsilon"), probability(p_star, "p_star"), _share(rho)
    if e > 1:
        raise InputError("epsilon", epsilon, "[0, 1] for the corollary of P6 and P7")
    linear = proved_above(lambda: arb(1).expm1() * ball(p * share * e))
    return min(linear, round_up(share * e))


def relaxed_laplace(
    epsilon: Number, p_star: Number, constants: Sequence[Number], k: int, eta: Number, r: Number = 0
) -> Promise:
    """(ln(1 + (p*-r)/(1-r) (e^{et} - 1)), eta) with r <= eta, rounded up (P8, Laplace).

    r is the probability that the differing row shows something while *some* row of the dataset shows more than k
    entries, and eta bounds it: as published, r tends to p* (and eta with it) as the dataset grows. T6 is the row-level
    form, sound with its own proof. r = 0 is the safe value when only eta is known.

    Assumptions: MCAR, rows independent, those of `sensitivity` on the rows with at most k observed entries.

    >>> relaxed_laplace(1, "0.5", [1, 1, 1, 1], k=2, eta="0.01").delta
    0.010000000000000002
    """
    return _relaxed(laplace(epsilon, p_star, constants, k), epsilon, 0, p_star, constants, k, eta, r)


def relaxed_gaussian(
    epsilon: Number,
    delta: Number,
    p_star: Number,
    constants: Sequence[Number],
    k: int,
    eta: Number,
    r: Number = 0,
    c: Number | None = None,
) -> Promise:
    """(ln(1 + (p*-r)/(1-r) (e^{et} - 1)), eta + p* delta) with r <= eta, rounded up (P8, Gaussian).

    Assumptions: those of `relaxed_laplace` and of `gaussian`. T6 is the sound row-level form.

    >>> relaxed_gaussian(1, "1e-6", "0.5", [1, 1], k=1, eta=0).delta
    5e-07
    """
    return _relaxed(gaussian(epsilon, delta, p_star, constants, k, c), epsilon, delta, p_star, constants, k, eta, r)
