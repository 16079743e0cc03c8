"""What is exactly true for the whole class of (epsilon, delta)-DP mechanisms: optimality of T1, radius and diameter.

A row is masked by one of two laws Q, Q' (the two records); the mechanism sees the masked row. h is the
hockey-stick of the two laws at the outgoing alpha' = e^{epsilon'}. No mechanism of the class does worse than these
values and one mechanism attains each of them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import NamedTuple

from flint import arb

from absentia.errors import InputError
from absentia.exact import ball, number, probability, round_up
from absentia.theory.bound import proved_above

__all__ = [
    "ChannelExact",
    "RadiusDiameter",
    "channel_exact",
    "class_exact_pair",
    "class_exact_profile",
    "class_profile",
    "nonnegative",
    "pair_exact_pure",
    "radius_diameter",
    "radius_diameter_approx",
    "radius_diameter_pair",
]


def nonnegative(value: object, field: str) -> Fraction:
    """The exact rational behind `value`, which must be at least 0."""
    q = number(value, field)
    if q < 0:
        raise InputError(field, value, "a number >= 0")
    return q


def largest(*candidates: arb) -> arb:
    top = arb(0)
    for candidate in candidates:
        top = top.max(candidate)
    return top


def unit(value: Callable[[], arb]) -> float:
    return min(1.0, max(0.0, proved_above(value)))


def class_profile(epsilon: Fraction, delta: Fraction, epsilon_out: arb) -> arb:
    """A ball around delta_{eps,delta}(a) = max{0, delta, delta + (1-delta)(alpha-a)/(1+alpha)}, a = e^epsilon_out.

    The largest profile that an (epsilon, delta)-DP mechanism can have; written with e^{-eps} so that nothing overflows.
    """
    e, d = ball(epsilon), ball(delta)
    excess = -(epsilon_out - e).expm1() / (1 + (-e).exp())
    return d + (1 - d) * largest(excess)


def class_exact_profile(epsilon: object, delta: object, p_bar: object, epsilon_out: object) -> float:
    """The exact delta at epsilon_out over all (epsilon, delta)-DP mechanisms and all missingness with bound p_bar.

    p_bar * delta_{eps,delta}(1 + (e^{epsilon_out} - 1)/p_bar): T1 is optimal. Rounded up.

    Assumptions: rows draw their masks independently (any missingness); the mechanism is (epsilon, delta)-DP on
    masked datasets, rows with different masks being neighbours too.

    >>> class_exact_profile(2, 0, 0.25, 0.5)
    0.11306906794358484
    """
    e, d = nonnegative(epsilon, "epsilon"), probability(delta, "delta")
    p, out = probability(p_bar, "p_bar"), nonnegative(epsilon_out, "epsilon_out")
    if p == 0:
        return 0.0
    return unit(lambda: ball(p) * class_profile(e, d, base_epsilon(ball(out), p)))


def base_epsilon(epsilon_out: arb, p_bar: Fraction) -> arb:
    """ln(1 + (e^{epsilon_out} - 1)/p_bar): the order of the base profile that T1 asks for."""
    return epsilon_out if p_bar == 1 else (epsilon_out.expm1() / ball(p_bar)).log1p()


def channel_value(e: arb, d: arb, h: arb, out: arb) -> arb:
    """max{0, delta h, [(alpha-1+2 delta) h - (alpha'-1)(1-delta)]/(1+alpha)}, divided through by alpha."""
    small = (-e).exp()
    lower = (-(-e).expm1() + 2 * d * small) * h - out.expm1() * small * (1 - d)
    return largest(d * h, lower / (1 + small))


def class_exact_pair(epsilon: object, delta: object, p: object, p_prime: object, epsilon_out: object) -> float:
    """The exact delta at epsilon_out for two records that differ everywhere and show something with p and p_prime.

    h = p + (q - alpha' q')_+ in Theorem 2, the supremum over all (epsilon, delta)-DP mechanisms. Rounded up.

    Assumptions: as `class_exact_profile`; the masked rows of the two records agree only when all is missing.

    >>> class_exact_pair(1, 0.001, 0.5, 0.5, 0.62)
    0.000557192951101701
    """
    e, d = nonnegative(epsilon, "epsilon"), probability(delta, "delta")
    p_, p2, out = probability(p, "p"), probability(p_prime, "p_prime"), nonnegative(epsilon_out, "epsilon_out")

    def value() -> arb:
        o = ball(out)
        h = ball(p_) + largest(ball(1 - p_) - o.exp() * ball(1 - p2))
        return channel_value(ball(e), ball(d), h, o)

    return unit(value)


def pair_exact_pure(epsilon: object, p: object, p_prime: object) -> float:
    """The exact pure epsilon for two records that differ everywhere and show something with p and p_prime.

    ln max{1 + p (e^eps - 1), 1/(1 - p'(1 - e^{-eps}))} over all epsilon-DP mechanisms; swap p and p' for the
    reverse order. Rounded up.

    Assumptions: as `class_exact_pair`, delta = 0.

    >>> pair_exact_pure(1, 0, 0.9)
    0.841434921259571
    """
    e, p_, p2 = nonnegative(epsilon, "epsilon"), probability(p, "p"), probability(p_prime, "p_prime")
    return max(0.0, proved_above(lambda: largest(*pure_sides(ball(e), p_, p2))))


def pure_sides(e: arb, p: Fraction, p_prime: Fraction) -> tuple[arb, arb]:
    shown = e if p == 1 else (ball(p) * e.expm1()).log1p()
    hidden = e if p_prime == 1 else -(ball(p_prime) * (-e).expm1()).log1p()
    return shown, hidden


class ChannelExact(NamedTuple):
    """`delta` at epsilon_out, `tv` of the two laws, `epsilon_pure` for delta = 0, `epsilon_tv` from T1 with tv."""

    delta: float
    tv: float
    epsilon_pure: float
    epsilon_tv: float


def channel_exact(
    epsilon: object, delta: object, Q: Sequence[object], Q_prime: Sequence[object], epsilon_out: object
) -> ChannelExact:
    """The exact figures for two given laws of the masked row, the worst over all (epsilon, delta)-DP mechanisms.

    delta: Theorem 2 with h = H_{alpha'}(Q||Q'). epsilon_pure: ln max_B (1+tQ(B))/(1+tQ'(B)), t = e^eps - 1.
    epsilon_tv: ln(1 + tv t), the channel form of T1. All rounded up.

    Assumptions: as `class_exact_profile`; Q[i] and Q_prime[i] are the masses of the same masked row.

    >>> channel_exact(1, 0.001, [0.5, 0.5, 0], [0.5, 0.25, 0.25], 0.2).tv
    0.25
    """
    e, d, out = nonnegative(epsilon, "epsilon"), probability(delta, "delta"), nonnegative(epsilon_out, "epsilon_out")
    P, R = masses(Q, "Q"), masses(Q_prime, "Q_prime")
    if len(P) != len(R):
        raise InputError("Q_prime", len(R), f"as many masses as Q: {len(P)}")
    tv = sum((max(a - b, Fraction(0)) for a, b in zip(P, R, strict=True)), Fraction(0))
    tv_float = round_up(tv)

    def value() -> arb:
        o = ball(out)
        h = sum((largest(ball(a) - o.exp() * ball(b)) for a, b in zip(P, R, strict=True)), arb(0))
        return channel_value(ball(e), ball(d), h, o)

    def pure() -> arb:
        t = ball(e).expm1()
        ratios = [(1 + t * ball(a)).log() - (1 + t * ball(b)).log() for a, b in ratio_events(P, R) if a > b]
        return largest(*ratios)

    through_tv = max(0.0, proved_above(lambda: (ball(tv) * ball(e).expm1()).log1p()))
    return ChannelExact(unit(value), tv_float, max(0.0, proved_above(pure)), through_tv)


def masses(values: Sequence[object], field: str) -> list[Fraction]:
    law = [probability(v, f"{field}[{i}]") for i, v in enumerate(values)]
    total = sum(law, Fraction(0))
    if abs(total - 1) > Fraction(1, 10**9):
        raise InputError(field, float(total), "masses that sum to 1 within 1e-9")
    return law


def ratio_events(P: Sequence[Fraction], R: Sequence[Fraction]) -> list[tuple[Fraction, Fraction]]:
    """(P(B), R(B)) for the events {P/R >= c}, the only ones that can be worst."""
    rows = [(a, b) for a, b in zip(P, R, strict=True) if a + b > 0]
    rows.sort(key=lambda row: row[0] / (row[0] + row[1]), reverse=True)
    events, a_sum, b_sum = [], Fraction(0), Fraction(0)
    for a, b in rows:
        a_sum, b_sum = a_sum + a, b_sum + b
        events.append((a_sum, b_sum))
    return events


class RadiusDiameter(NamedTuple):
    """`epsilon`, with `delta_mar` when both records show something equally often and `delta` always."""

    epsilon: float
    delta_mar: float
    delta: float


def radius_diameter(r: object, D: object, p_bar: object) -> float:
    """The exact pure epsilon when ratios are at most e^r to the all-missing row and e^D between any masked rows.

    e^{eps'} = (1 - p + p e^r)/(1 - p + p e^{r-D}) (Theorem 4). D = r is T1 without delta, D = 2r the Laplace case.
    Rounded up.

    Assumptions: rows draw their masks independently (any missingness); r <= D <= 2r.

    >>> radius_diameter(1, 1.5, 0.3)
    0.5413447067577603
    """
    r_, D_, p = radius_inputs(r, D, p_bar)
    return max(0.0, proved_above(lambda: radius_ball(r_, D_, p)))


def radius_inputs(r: object, D: object, p_bar: object) -> tuple[Fraction, Fraction, Fraction]:
    r_, D_ = nonnegative(r, "r"), nonnegative(D, "D")
    if not r_ <= D_ <= 2 * r_:
        raise InputError("D", D, "a number from r to 2r")
    return r_, D_, probability(p_bar, "p_bar")


def radius_ball(r: Fraction, D: Fraction, p: Fraction) -> arb:
    if p == 1:
        return ball(D)
    return (ball(p) * ball(r).expm1()).log1p() - (ball(p) * ball(r - D).expm1()).log1p()


def radius_diameter_pair(r: object, D: object, p: object, p_prime: object) -> float:
    """The exact pure epsilon of `radius_diameter` for two records that show something with p and p_prime.

    e^{eps'} = max{(q + p e^r)/(q' + p' e^{r-D}), (q + p e^{D-r})/(q' + p' e^{-r})}. Rounded up.

    >>> radius_diameter_pair(1, 1, 0.5, 0.5) == radius_diameter(1, 1, 0.5)
    True
    """
    r_, D_, p_ = radius_inputs(r, D, p)
    p2 = probability(p_prime, "p_prime")

    def side(up: Fraction, down: Fraction) -> arb:
        return (ball(p_) * ball(up).expm1()).log1p() - (ball(p2) * ball(down).expm1()).log1p()

    return max(0.0, proved_above(lambda: largest(side(r_, r_ - D_), side(D_ - r_, -r_))))


def radius_diameter_approx(r: object, D: object, p_bar: object, delta_r: object, delta_D: object) -> RadiusDiameter:
    """(epsilon, delta) when closeness is (r, delta_r) to the all-missing row and (D, delta_D) between masked rows.

    The epsilon of `radius_diameter`; delta = p max(delta_r, delta_D), or, when both records show something with the
    same probability p (MAR), (e^{eps'}-1) (1-p) e^{-r} delta_r + p e^{eps'-D} delta_D. Rounded up.

    Assumptions: as `radius_diameter`.

    >>> radius_diameter_approx(0.5, 1, 0.5, 0, "0.01").delta
    0.005
    """
    r_, D_, p = radius_inputs(r, D, p_bar)
    dr, dD = probability(delta_r, "delta_r"), probability(delta_D, "delta_D")

    def mar() -> arb:
        out = radius_ball(r_, D_, p)
        to_nothing = out.expm1() * ball(1 - p) * (-ball(r_)).exp() * ball(dr)
        return to_nothing + ball(p) * (out - ball(D_)).exp() * ball(dD)

    worst = p * max(dr, dD)
    return RadiusDiameter(radius_diameter(r, D, p_bar), min(unit(mar), round_up(worst)), round_up(worst))
