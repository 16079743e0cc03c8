"""The paper's P4-P8, as published: queries that are feature-wise Lipschitz (FWL) after zero imputation.

Every function returns proved upper bounds of the printed formula: ball arithmetic, rounded up. Where a sharper or
sounder result exists the docstring names it (T2, T3, T6).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import NamedTuple

from flint import arb

from absentia.errors import InputError
from absentia.exact import ball, list_of, number, precision, probability, round_up
from absentia.theory.blackbox import EpsilonDelta
from absentia.theory.bound import proved_above
from absentia.theory.channel import nonnegative
from absentia.theory.paper_mar import Number, amplified_up

__all__ = [
    "GaussianRelease",
    "LaplaceRelease",
    "corollary",
    "entries_observed",
    "gaussian",
    "laplace",
    "relaxed_gaussian",
    "relaxed_laplace",
    "sensitivity",
]


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


def sensitivity(constants: Sequence[Number], k: int | None = None) -> float:
    """2 * (sum of the k largest constants), rounded up: C_p (P4, k omitted) or Ctilde_p (P5).

    Assumptions: ||f(x) - f(x')|| <= sum_j L_j |I(x)_j - I(x')_j| on the differing row, zero imputation, values in
    [-1, 1], at most k entries observed in any row.

    >>> sensitivity([1, 1, 1, 1], k=2)
    4.0
    """
    return round_up(_sensitivity(_constants(constants), k))


def entries_observed(rho: object, d: int) -> int:
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
    e, p, (C, tilde) = _above_zero(epsilon), probability(p_star, "p_star"), _totals(constants, k)
    epsilon_tilde = tilde / C * e
    return LaplaceRelease(round_up(C / e), round_up(epsilon_tilde), amplified_up(epsilon_tilde, p))


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
    d, p, (C, tilde) = probability(delta, "delta"), probability(p_star, "p_star"), _totals(constants, k)
    e, factor = _classical(epsilon, d, c)
    epsilon_tilde = tilde / C * e
    amplified = amplified_up(epsilon_tilde, p)
    return GaussianRelease(
        round_up(factor), round_up(factor * C / e), round_up(epsilon_tilde), amplified, round_up(p * d)
    )


def corollary(epsilon: Number, p_star: Number, rho: Number) -> float:
    """min((e-1) p*, 1) rho eps, which bounds eps' of P6 and P7 when all L_j are equal; rounded up.

    Assumptions: those of P6 or P7, equal constants, epsilon <= 1. A float rho counts as the next double.

    >>> corollary(1, "0.5", "0.5")
    0.42957045711476133
    """
    e, p, share = nonnegative(epsilon, "epsilon"), probability(p_star, "p_star"), _share(rho)
    if e > 1:
        raise InputError("epsilon", epsilon, "[0, 1] for the corollary of P6 and P7")
    linear = proved_above(lambda: arb(1).expm1() * ball(p * share * e))
    return min(linear, round_up(share * e))


def relaxed_laplace(
    epsilon: Number, p_star: Number, constants: Sequence[Number], k: int, eta: Number, r: Number = 0
) -> EpsilonDelta:
    """(ln(1 + (p*-r)/(1-r) (e^{et} - 1)), eta) with r <= eta, rounded up (P8, Laplace).

    r is the probability that the differing row shows something while *some* row of the dataset shows more than k
    entries, and eta bounds it: as published, r tends to p* (and eta with it) as the dataset grows. T6 is the row-level
    form, sound with its own proof. r = 0 is the safe value when only eta is known.

    Assumptions: MCAR, rows independent, those of `sensitivity` on the rows with at most k observed entries.

    >>> relaxed_laplace(1, "0.5", [1, 1, 1, 1], k=2, eta="0.01").delta
    0.01
    """
    return _relaxed(_above_zero(epsilon), Fraction(0), p_star, constants, k, eta, r)


def relaxed_gaussian(
    epsilon: Number,
    delta: Number,
    p_star: Number,
    constants: Sequence[Number],
    k: int,
    eta: Number,
    r: Number = 0,
    c: Number | None = None,
) -> EpsilonDelta:
    """(ln(1 + (p*-r)/(1-r) (e^{et} - 1)), eta + p* delta) with r <= eta, rounded up (P8, Gaussian).

    Assumptions: those of `relaxed_laplace` and of `gaussian`. T6 is the sound row-level form.

    >>> relaxed_gaussian(1, "1e-6", "0.5", [1, 1], k=1, eta=0).delta
    5.000000000000001e-07
    """
    d = probability(delta, "delta")
    e, _ = _classical(epsilon, d, c)
    return _relaxed(e, d, p_star, constants, k, eta, r)


def _relaxed(
    e: Fraction, d: Fraction, p_star: Number, constants: Sequence[Number], k: int, eta: Number, r: Number
) -> EpsilonDelta:
    p, eta, r, (C, tilde) = (
        probability(p_star, "p_star"),
        probability(eta, "eta"),
        number(r, "r"),
        _totals(constants, k),
    )
    if not (0 <= r <= min(eta, p) and r < 1):
        raise InputError("r", r, "0 <= r <= min(eta, p_star), r < 1")
    return EpsilonDelta(amplified_up(tilde / C * e, (p - r) / (1 - r)), round_up(eta + p * d))


def _classical(epsilon: Number, d: Fraction, c: Number | None) -> tuple[Fraction, Fraction]:
    """(epsilon, c) when the classical Gaussian analysis holds for them."""
    e = _above_zero(epsilon)
    if e > 1:
        raise InputError("epsilon", epsilon, "(0, 1] for P7", remedy="Use T2, which is exact for every epsilon.")
    if d == 0:
        raise InputError("delta", d, "(0, 1] for Gaussian noise")
    threshold = proved_above(lambda: _threshold(d))
    factor = Fraction(threshold) if c is None else number(c, "c")
    if factor < Fraction(threshold) and not _proved_larger(factor, d):
        raise InputError("c", c, f"more than sqrt(2 ln(1.25/delta)), which is about {threshold:.6g}")
    return e, factor


def _threshold(d: Fraction) -> arb:
    return (2 * ball(Fraction(5, 4) / d).log()).sqrt()


def _proved_larger(factor: Fraction, d: Fraction) -> bool:
    with precision(512):
        return bool(ball(factor) > _threshold(d))


def _totals(constants: Sequence[Number], k: int | None) -> tuple[Fraction, Fraction]:
    """(C_p, Ctilde_p) for a query that depends on some column."""
    listed = _constants(constants)
    if not any(listed):
        raise InputError("constants", constants, "at least one positive constant")
    return _sensitivity(listed, None), _sensitivity(listed, k)


def _sensitivity(constants: list[Fraction], k: int | None) -> Fraction:
    if k is None:
        k = len(constants)
    if isinstance(k, bool) or not isinstance(k, int) or not 0 <= k <= len(constants):
        raise InputError("k", k, f"an integer from 0 to {len(constants)}, the number of columns")
    return 2 * sum(sorted(constants, reverse=True)[:k], Fraction(0))


def _constants(constants: Sequence[Number]) -> list[Fraction]:
    given = list_of(constants, "constants", "a list with one constant a column")
    if not given:
        raise InputError("constants", constants, "a list with one constant a column")
    return [nonnegative(L, f"constants[{j}]") for j, L in enumerate(given)]


def _above_zero(epsilon: Number) -> Fraction:
    e = number(epsilon, "epsilon")
    if e <= 0:
        raise InputError("epsilon", epsilon, "a number above 0")
    return e


def _share(rho: object) -> Fraction:
    """rho as a rational in [0, 1]; a float is raised by one step so that no decimal it stands for is larger."""
    share = probability(rho, "rho")
    return min(Fraction(1), Fraction(math.nextafter(rho, 2))) if isinstance(rho, float) else share
