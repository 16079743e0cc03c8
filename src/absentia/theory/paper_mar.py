"""The paper's P2 (MAR, MCAR) and P1 (MNAR), as published.

Every function returns proved upper bounds of the printed formula: ball arithmetic, rounded up.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import NamedTuple

from flint import arb

from absentia.errors import InputError
from absentia.exact import above, ball, list_of, precision, probability, round_up
from absentia.theory.blackbox import EpsilonDelta
from absentia.theory.bound import proved_above
from absentia.theory.channel import nonnegative

__all__ = ["MnarPoint", "amplified_up", "mar", "mnar_curve", "mnar_delta", "mnar_pair"]

Number = int | str | float | Fraction
"""A float stands for its exact binary value."""

PAIRS = "a list of pairs (p, p') of probabilities, at least one"


class MnarPoint(NamedTuple):
    """One point of P1's trade-off curve."""

    lam: float
    epsilon: float
    delta: float


def mar(epsilon: Number, delta: Number, p_star: Number) -> EpsilonDelta:
    """(ln(1 + p*(e^eps - 1)), p* delta), rounded up (P2).

    Assumptions: MCAR or MAR; rows draw their masks independently; the base mechanism is (eps, delta)-DP on masked
    datasets. T1 proves the same formula without MAR.

    >>> mar(1, 0, "0.5").epsilon
    0.6201145069582776
    """
    e, d, p = nonnegative(epsilon, "epsilon"), probability(delta, "delta"), probability(p_star, "p_star")
    return EpsilonDelta(amplified_up(e, p), round_up(p * d))


def mnar_pair(epsilon: Number, delta: Number, p: Number, p_prime: Number, lam: Number) -> EpsilonDelta:
    """The point lam of P1's curve for two records that show something with probabilities p and p', rounded up.

    e1 = ln(1+p(e^eps-1)), d1 = p delta + e^{e1} |p-p'|; the point is (ln(lam e^eps + (1-lam) e^{e1}),
    lam delta + (1-lam) d1). The delta is not capped at 1, as printed.

    Assumptions: rows draw their masks independently; any missingness. T1 is never worse and has no |p-p'| term.

    >>> mnar_pair(1, 0, "0.5", "0.5", 0)
    EpsilonDelta(epsilon=0.6201145069582776, delta=0.0)
    """
    e, d = nonnegative(epsilon, "epsilon"), probability(delta, "delta")
    p, p_prime, lam = probability(p, "p"), probability(p_prime, "p_prime"), probability(lam, "lam")
    mixed = lam + (1 - lam) * p  # lam e^eps + (1-lam) e^{e1} = 1 + mixed (e^eps - 1)
    return EpsilonDelta(amplified_up(e, mixed), _mnar_delta_up(e, d, p, p_prime, lam))


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
    0.08877
    """
    e, d = nonnegative(epsilon, "epsilon"), probability(delta, "delta")
    target = nonnegative(epsilon_out, "epsilon_out")
    return max(_mnar_delta_at(e, d, p, q, target) for p, q in _pairs(pairs, p_max, p_min))


def amplified_up(epsilon: Fraction, p: Fraction) -> float:
    """ln(1 + p(e^eps - 1)), rounded up."""
    if p == 0 or epsilon == 0:
        return 0.0
    return min(round_up(epsilon), proved_above(lambda: _amplified(ball(epsilon), ball(p))))


def _amplified(epsilon: arb, p: arb) -> arb:
    """ln(1 + p(e^eps - 1)); the second form keeps e^eps in range."""
    if epsilon < 1000:
        return (p * epsilon.expm1()).log1p()
    return epsilon + (p + (1 - p) * (-epsilon).exp()).log()


def _mnar_delta_up(e: Fraction, d: Fraction, p: Fraction, p_prime: Fraction, lam: Fraction) -> float:
    """lam delta + (1-lam) (p delta + (1 + p(e^eps-1)) |p-p'|), rounded up."""
    exact_part, gap = lam * d + (1 - lam) * p * d, (1 - lam) * abs(p - p_prime)
    if gap == 0:
        return round_up(exact_part)
    return proved_above(lambda: ball(exact_part + gap) + ball(gap * p) * ball(e).expm1())


def _mnar_delta_at(e: Fraction, d: Fraction, p: Fraction, p_prime: Fraction, target: Fraction) -> float:
    """The least delta on the curve of one pair among its points with epsilon at most target (1 if there is none).

    delta is affine in lam, so the best point is lam = 0 or the largest lam that the target allows, rounded down.
    """
    if amplified_up(e, p) > target:
        return 1.0
    lam = Fraction(1)
    if target < e:
        with precision(256):
            tail = (ball(target).expm1() / ball(e).expm1() - ball(p)) / ball(1 - p)
            lam = max(Fraction(0), Fraction(-above(-tail)))
    return min(1.0, *(_mnar_delta_up(e, d, p, p_prime, x) for x in (Fraction(0), lam)))


def _pairs(
    pairs: Sequence[tuple[Number, Number]] | None, p_max: Number | None, p_min: Number | None
) -> list[tuple[Fraction, Fraction]]:
    """The pairs (p, p') over which P1 takes its supremum, both orders of each."""
    if pairs is None:
        if p_max is None or p_min is None:
            raise InputError("pairs", pairs, "pairs of probabilities, or both p_max and p_min")
        high, low = probability(p_max, "p_max"), probability(p_min, "p_min")
        if low > high:
            raise InputError("p_min", p_min, "at most p_max")
        return [(high, low)]
    if p_max is not None or p_min is not None:
        raise InputError("p_max", p_max, "nothing when pairs are given")
    given = [list_of(pair, "pairs", PAIRS) for pair in list_of(pairs, "pairs", PAIRS)]
    if not given or any(len(pair) != 2 for pair in given):
        raise InputError("pairs", pairs, PAIRS)
    listed = [(probability(p, f"pairs[{i}][0]"), probability(q, f"pairs[{i}][1]")) for i, (p, q) in enumerate(given)]
    return sorted({ordered for p, q in listed for ordered in ((p, q), (q, p))})
