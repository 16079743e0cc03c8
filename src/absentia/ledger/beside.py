"""Curves of a book's total where several kinds of mechanism stand beside one another (T7)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

from absentia.exact import above, ball, below, number, precision, round_up
from absentia.theory.bound import Bound, proved_above

__all__ = ["BesidePure", "Stated"]

FIXED = "the parts set aside for Gaussian and for other mechanisms were fixed before the first answer"


@dataclass(frozen=True, init=False)
class BesidePure(Bound):
    """An amplified curve, and a pure loss e beside it on the same masks: delta(eps) <= e^r delta_0(eps - e).

    The pure answers change the probability of each mask by a factor: between the all-missing row and any masked row at
    most e^r, between any two at most e^e (r <= e). So P <= e^r w P_0 and Q >= e^(r-e) w Q_0 point by point, with w the
    law of the pure answers of the all-missing row and P_0, Q_0 the other answers alone: pure loss adds in full, only
    the rest is amplified. The queries of both sides may follow all earlier answers. Rounded up.
    """

    base: Bound
    pure: Fraction
    result: str
    assumptions: tuple[str, ...]

    def __init__(self, base: Bound, pure: Fraction) -> None:
        for name, value in (("base", base), ("pure", pure), ("result", base.result)):
            object.__setattr__(self, name, value)
        object.__setattr__(self, "assumptions", (*base.assumptions, FIXED))
        with precision(128):  # at this delta and above, the base is asked at a delta where it is used
            object.__setattr__(self, "least", Fraction(above(ball(pure).exp() * ball(base.least))))

    def delta(self, epsilon: Fraction, *, certified: bool = True) -> float:
        left = number(epsilon, "epsilon") - self.pure
        if left < 0:
            return 1.0
        inner = self.base.delta(left, certified=certified)
        return min(1.0, proved_above(lambda: ball(self.pure).exp() * ball(inner))) if inner > 0 else 0.0

    def epsilon(self, delta: Fraction, *, certified: bool = True) -> float:
        with precision(128):
            inner = Fraction(below((-ball(self.pure)).exp() * ball(number(delta, "delta"))))
        e = self.base.epsilon(max(inner, Fraction(0)), certified=certified)
        return e if math.isinf(e) else round_up(Fraction(e) + self.pure)


@dataclass(frozen=True)
class Stated(Bound):
    """One point: epsilon at every delta from `floor` on, nothing below. Two sums that are limited apart."""

    at: float
    floor: float
    result: str
    assumptions: tuple[str, ...]

    def delta(self, epsilon: Fraction, *, certified: bool = True) -> float:
        return self.floor if number(epsilon, "epsilon") >= Fraction(self.at) else 1.0

    def epsilon(self, delta: Fraction, *, certified: bool = True) -> float:
        return self.at if number(delta, "delta") >= Fraction(self.floor) else math.inf
