"""T10K: the sharper bound for blocks masked together, by Kahane's convexity inequality.

After one step towards the mean shift, the density ratio is an average of log-normal factors. Raising their
covariances to (a constant M^2) + (a positive semidefinite rest) splits off one Gaussian factor, whose part is a
scalar bracket, and leaves a variable T that only its integer moments enter.
"""

from __future__ import annotations

import math
from fractions import Fraction

from flint import arb
from scipy.optimize import brentq
from scipy.special import erfcx, log_ndtr

from absentia.errors import HazardRefused
from absentia.exact import ball
from absentia.theory.bound import BallBound
from absentia.theory.forms import Lines, Relation, SidedBound, check_relation, inverse_variance
from absentia.theory.forms_design import Design, Stratum
from absentia.theory.forms_moment import Moments
from absentia.theory.noise import hockey_stick_gaussian, tail

__all__ = ["KahaneForms", "bracket_peak", "bracket_peak_ball"]

WIDTHS = (1e-8, 1e-6, 1e-4, 1e-2, 1.0)


class KahaneForms(SidedBound):
    """T10K: delta(epsilon) <= min over integers m >= 2 of Gamma_m E T^m.

    With kappa = 1/2 sum_b p_b (1-p_b) r_b^2, Gamma_m = e^{-(m-1)(epsilon-kappa)} sup_v e^{-mv} B(v),
    B(v) = e^v Phi(v/M + M/2) - Phi(v/M - M/2). Per stratum, either M^2 = 4 max A_O with the centred moments (S = A_O
    for every form makes this 4S and e^{-m(m-1)S/2} times the plain ones) or M^2 = S + 2 max A_O with the plain ones.
    With `relation="add_remove"` one of the two rows is the all-missing row itself.

    Rounds up.

    >>> from absentia.theory.forms_design import uniform
    >>> four_of_13 = Design(uniform(4, [Fraction(1)] * 13))
    >>> KahaneForms(four_of_13, sigma="9.60").epsilon(Fraction("1e-6"))
    0.9966582437743357
    """

    result = "T10K"

    def __init__(self, design: Design, sigma: object, relation: Relation = "substitute") -> None:
        if design.residual or design.adaptive:
            raise HazardRefused(
                "H-KAHANE",
                "T10K was asked for a design with entries missing on top of it, or with adaptive queries.",
                "It is proved for blocks seen whole or not at all and queries fixed in advance.",
                "Use T10, which covers both.",
            )
        s = inverse_variance(sigma)
        check_relation(relation)
        added = relation == "add_remove"
        self.assumptions = (
            "rows draw their forms independently of one another and of the data",
            "blocks move different coordinates of the output, when seen always by the same step, at most their reach",
            "nothing is missing on top of the design",
            "the queries are fixed in advance",
            *(["an all-missing row acts like an absent one"] if added else []),
        )
        lines = _splits(design, s, added) if design.strata else ()
        if not lines:
            super().__init__(())
        elif added:
            super().__init__((lines, (_Removed(design, s),)))
        else:
            super().__init__((lines,))


def _splits(design: Design, s: Fraction, added: bool) -> tuple[Lines, ...]:
    """The ways of splitting the covariance that differ for this design; every one is valid."""
    strata = design.strata
    centred = _KahaneLines(design, strata, s, True, added)
    if all(stratum.level for stratum in strata):
        return (centred,)
    levelled = tuple(stratum.levelled for stratum in strata)
    plain = _KahaneLines(design, strata, s, False, added)
    return (centred, plain, *([_KahaneLines(design, levelled, s, True, added)] if levelled != strata else []))


class _KahaneLines(Lines):
    """w_m = m-1, c_m = (m-1) kappa + ln sup_v e^{-mv} B(v) + ln E T^m."""

    first = 2

    def __init__(self, design: Design, strata: tuple[Stratum, ...], s: Fraction, centred: bool, added: bool) -> None:
        self.kappa = Fraction(0) if added else s * (design.second - design.mean_square) / 2
        self.moments = tuple(Moments(stratum, s, centred) for stratum in strata)
        self.M2 = s * sum((_common_variance(m, added) for m in self.moments), Fraction(0))
        self.longest = min(m.longest for m in self.moments)

    def weight(self, n: int) -> Fraction:
        return Fraction(n - 1)

    def height(self, n: int) -> float:
        peak = bracket_peak(n, math.sqrt(self.M2))[0]
        return (n - 1) * float(self.kappa) + peak + sum(m.log(n) for m in self.moments)

    def height_ball(self, n: int) -> arb:
        moment = sum((m.ball(n) for m in self.moments), arb(0))
        return ball((n - 1) * self.kappa) + bracket_peak_ball(n, ball(self.M2).sqrt()) + moment


def _common_variance(moments: Moments, added: bool) -> Fraction:
    """The share of M^2 of one stratum, per unit of s."""
    S, pull = moments.stratum.mean_square, moments.stratum.pull
    if added:
        return 2 * pull - S if moments.centred else Fraction(0)
    return 4 * pull if moments.centred else S + 2 * pull


class _Removed(BallBound):
    """The row is gone, seen from where it is gone: N(0) against N(sqrt S) at epsilon - kappa."""

    def __init__(self, design: Design, s: Fraction) -> None:
        self.S = s * design.mean_square
        self.kappa = s * (design.second - design.mean_square) / 2

    def delta_ball(self, epsilon: arb) -> arb:
        return hockey_stick_gaussian(ball(self.S).sqrt(), epsilon - ball(self.kappa))

    def log_delta(self, epsilon: float) -> float:
        M, e = math.sqrt(self.S), epsilon - float(self.kappa)
        z = -e / M - M / 2
        rise = _rise(z, M)
        if rise <= 0:
            return -math.inf
        return e + float(log_ndtr(z)) + (rise + math.log(-math.expm1(-rise)))


def _rise(z: float, M: float) -> float:
    """ln of e^v Phi(z+M) over Phi(z) at v = M z + M^2/2, without cancellation in the lower tail."""
    if z + M <= 0:
        root = math.sqrt(2)
        return float(math.log(erfcx(-(z + M) / root) / erfcx(-z / root)))
    return float(M * z + M * M / 2 + log_ndtr(z + M) - log_ndtr(z))


def bracket_peak(m: int, M: float) -> tuple[float, float]:
    """ln sup_v e^{-mv} B(v) in doubles, and z = v/M - M/2 where it is attained: there the rise is ln(m/(m-1))."""
    if M == 0:
        return (m - 1) * math.log(m - 1) - m * math.log(m), 0.0
    target = -math.log1p(-1 / m)
    low, high = -1.0, 1.0
    while _rise(low, M) > target:
        low *= 2
    while _rise(high, M) < target:
        high *= 2
    z = float(brentq(lambda z: _rise(z, M) - target, low, high, xtol=1e-300, rtol=1e-14))
    return float(log_ndtr(z)) - math.log(m - 1) - m * (M * z + M * M / 2), z


def bracket_peak_ball(m: int, M: arb) -> arb:
    """A ball whose upper end bounds ln sup_v e^{-mv} B(v).

    ln B is concave, so between a point where the slope of h(v) = ln B(v) - m v is positive and one where it is
    negative lies the peak, and the tangent at the first bounds it. Without such points (precision too low) infinity.
    """
    if M == 0:
        return (m - 1) * arb(m - 1).log() - m * arb(m).log()
    z = bracket_peak(m, float(M))[1]
    for width in WIDTHS:
        gap = width * max(1.0, abs(z))
        (v, value, slope), (w, _, next_slope) = (_bracket(m, M, arb(x)) for x in (z - gap, z + gap))
        if slope >= 0 and next_slope <= 0:
            return value + slope * (w - v)
    return arb.pos_inf()


def _bracket(m: int, M: arb, z: arb) -> tuple[arb, arb, arb]:
    """v, h(v) and h'(v), using B'(v) = e^v Phi(v/M + M/2)."""
    v = M * z + M * M / 2
    lower, upper = tail(-z), v.exp() * tail(-z - M)
    bracket = upper - lower
    return v, bracket.log() - m * v, upper / bracket - m
