"""T6: few rows show more than k entries. The dense ones are paid for in delta, all others at the smaller loss.

p bounds the probability that a record shows something, r that it shows more than k entries, and
kappa = (p - r)/(1 - r). No dependence on the number of rows.
"""

from __future__ import annotations

import math
from fractions import Fraction

from flint import arb

from absentia.errors import InputError
from absentia.exact import ball, number, probability, round_up
from absentia.theory.base import base_of, profile_ball, smallest_double
from absentia.theory.blackbox import EpsilonDelta, amplified
from absentia.theory.bound import Bound, proved_above
from absentia.theory.channel import base_epsilon, largest, nonnegative, radius_ball
from absentia.theory.noise import BlackBox
from absentia.theory.pair import HIDDEN_MASK, MASKS_APART, ROWS_INDEPENDENT

__all__ = ["NoPromise", "Relaxed", "RelaxedKnown", "RelaxedLaplace", "kappa", "relaxed", "relaxed_laplace"]


def kappa(p_bar: Fraction, r_bar: Fraction) -> Fraction:
    """(p - r)/(1 - r): how often a row that is not dense shows something."""
    return Fraction(0) if p_bar == r_bar else (p_bar - r_bar) / (1 - r_bar)


def shares(p_bar: object, r_bar: object) -> tuple[Fraction, Fraction]:
    p, r = probability(p_bar, "p_bar"), probability(r_bar, "r_bar")
    if r > p:
        raise InputError("r_bar", r_bar, f"a number in [0, p_bar], p_bar = {float(p):.12g}")
    return p, r


def stated(p: Fraction, r: Fraction) -> str:
    return f"a record shows something with probability <= {float(p):.12g}, more than k entries with <= {float(r):.12g}"


def relaxed(epsilon_tilde: object, delta: object, p_bar: object, r_bar: object) -> EpsilonDelta:
    """(ln(1 + kappa (e^{epsilon_tilde} - 1)), r + (p - r) delta) (T6). Rounded up.

    Assumptions: rows draw their masks independently, missingness of any kind; the mechanism is
    (epsilon_tilde, delta)-DP between rows with at most k observed entries, whatever it does on denser ones.

    >>> relaxed(1, 0, "0.5", "0.25")
    EpsilonDelta(epsilon=0.4528324252639414, delta=0.25)
    """
    p, r = shares(p_bar, r_bar)
    d = probability(delta, "delta")
    return EpsilonDelta(amplified(epsilon_tilde, 0, kappa(p, r)).epsilon, round_up(r + (p - r) * d))


def relaxed_laplace(epsilon: object, epsilon_tilde: object, p_bar: object, r_bar: object) -> EpsilonDelta:
    """(eps*, r max(0, 1 - e^{-(epsilon - eps*)/2})) for Laplace noise (T6, improved). Rounded up.

    e^{eps*} = (1 - kappa + kappa e^{et/2})/(1 - kappa + kappa e^{-et/2}). epsilon: the loss between full rows;
    epsilon_tilde: between rows with at most k observed entries.

    Assumptions: rows draw their masks independently, missingness of any kind; a row with at most k (any) observed
    entries lies within et/2 (epsilon/2) noise scales of the all-missing row.

    >>> relaxed_laplace(2, 1, 1, 0.125).delta
    0.04918366753592083
    """
    curve = RelaxedLaplace(epsilon, epsilon_tilde, p_bar, r_bar)
    return EpsilonDelta(max(0.0, proved_above(curve.star)), min(1.0, max(0.0, proved_above(curve.delta_at_star))))


class Relaxed(Bound):
    """T6 for a whole profile: delta'(e') = r + (p - r) delta(ln(1 + (e^{e'} - 1)/kappa)). Rounded up.

    Assumptions: as `relaxed`; the profile of the base is between rows with at most k observed entries.
    """

    result = "T6"

    def __init__(self, base: BlackBox | Bound, p_bar: object, r_bar: object) -> None:
        self.base = base_of(base)
        self.p, self.r = shares(p_bar, r_bar)
        self.kappa = kappa(self.p, self.r)
        self.assumptions = (
            ROWS_INDEPENDENT,
            HIDDEN_MASK,
            "the base guarantee holds between masked rows with at most k observed entries, of any masks",
            stated(self.p, self.r),
        )

    def delta(self, epsilon: Fraction, *, certified: bool = True) -> float:
        e = nonnegative(epsilon, "epsilon")
        if self.kappa == 0:
            return round_up(self.r)
        return min(1.0, proved_above(lambda: ball(self.r) + ball(self.p - self.r) * self.sparse(ball(e))))

    def sparse(self, e: arb) -> arb:
        return largest(profile_ball(self.base, base_epsilon(e, self.kappa)))

    def epsilon(self, delta: Fraction, *, certified: bool = True) -> float:
        d = probability(delta, "delta")
        if d >= self.p:
            return 0.0
        if d < self.r:
            return math.inf
        e = self.base.epsilon((d - self.r) / (self.p - self.r), certified=certified)
        return math.inf if math.isinf(e) else amplified(number(e, "epsilon"), 0, self.kappa).epsilon


class RelaxedKnown(Relaxed):
    """The same against somebody who knows the mask: delta'(e') = r + (p - r) delta(e'). Rounded up.

    Assumptions: as `Relaxed`, and masks that do not depend on the values.
    """

    def __init__(self, base: BlackBox | Bound, p_bar: object, r_bar: object) -> None:
        super().__init__(base, p_bar, r_bar)
        self.kappa = Fraction(1)
        self.result = "T5"
        _, _, sparse, masses = self.assumptions
        self.assumptions = (ROWS_INDEPENDENT, MASKS_APART, sparse, masses)


class NoPromise(Bound):
    """Nothing: what a base that is stated for rows with at most k observed entries says about denser ones."""

    result = "none"
    assumptions = ("the base guarantee is stated for rows with at most k observed entries only",)

    def delta(self, epsilon: Fraction, *, certified: bool = True) -> float:
        return 1.0

    def epsilon(self, delta: Fraction, *, certified: bool = True) -> float:
        return 0.0 if delta == 1 else math.inf


class RelaxedLaplace(Bound):
    """T6 for Laplace noise as a curve: r (1 - e^{-(eps-e')/2})_+ for the dense rows, and below eps* also
    (1 - r)(e^{eps*} - e^{e'})/(1 + e^{eps*}), the largest profile of an eps*-DP pair. Rounded up.

    Assumptions: as `relaxed_laplace`.
    """

    result = "T6"

    def __init__(self, epsilon: object, epsilon_tilde: object, p_bar: object, r_bar: object) -> None:
        self.full, self.tilde = nonnegative(epsilon, "epsilon"), nonnegative(epsilon_tilde, "epsilon_tilde")
        if self.tilde > self.full:
            raise InputError("epsilon_tilde", epsilon_tilde, f"a number in [0, epsilon], epsilon = {epsilon}")
        self.p, self.r = shares(p_bar, r_bar)
        self.assumptions = (
            ROWS_INDEPENDENT,
            HIDDEN_MASK,
            "Laplace noise",
            stated(self.p, self.r),
        )

    def star(self) -> arb:
        """A ball around eps*."""
        return radius_ball(self.tilde / 2, self.tilde, kappa(self.p, self.r))

    def dense(self, e: arb) -> arb:
        return ball(self.r) * largest(-((e - ball(self.full)) / 2).expm1())

    def delta_at_star(self) -> arb:
        return self.dense(self.star())

    def delta(self, epsilon: Fraction, *, certified: bool = True) -> float:
        e = nonnegative(epsilon, "epsilon")

        def value() -> arb:
            star = self.star()
            sparse = largest(-(ball(e) - star).expm1()) / (1 + (-star).exp())
            return self.dense(ball(e)) + ball(1 - self.r) * sparse

        return min(1.0, max(0.0, proved_above(value)))

    def epsilon(self, delta: Fraction, *, certified: bool = True) -> float:
        d = probability(delta, "delta")
        return smallest_double(lambda e: Fraction(self.delta(Fraction(e))) <= d)
