"""T10: Gaussian noise on blocks of columns that are masked together by a known design.

T10 and T10K are both families of lines, ln delta <= c_n - w_n epsilon for every order n, so epsilon(delta) and
delta(epsilon) are closed forms: the best order is searched in doubles and its line is proved in balls.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from fractions import Fraction
from typing import Literal, Protocol

from flint import arb

from absentia.errors import InputError
from absentia.exact import ball, number
from absentia.theory.bound import Bound, log_of, proved_above
from absentia.theory.forms_design import Design
from absentia.theory.forms_moment import Moments

__all__ = ["Lines", "RenyiForms", "SidedBound"]

Relation = Literal["substitute", "add_remove"]


class Curve(Protocol):
    """What proves one direction of a pair of neighbours."""

    def delta(self, epsilon: Fraction, *, certified: bool = True) -> float: ...
    def epsilon(self, delta: Fraction, *, certified: bool = True) -> float: ...


class Lines(ABC):
    """ln delta(epsilon) <= c_n - w_n epsilon for every order n: the lower envelope of the lines."""

    first: int
    longest: int

    @abstractmethod
    def weight(self, n: int) -> Fraction:
        """w_n, exactly."""

    @abstractmethod
    def height(self, n: int) -> float:
        """c_n in doubles, for the search."""

    @abstractmethod
    def height_ball(self, n: int) -> arb:
        """A ball whose upper end is at least c_n."""

    def epsilon(self, delta: Fraction, *, certified: bool = True) -> float:
        """min over n of (c_n - ln delta) / w_n."""
        if delta == 0:
            return math.inf
        target = log_of(delta)
        n, value = smallest(lambda n: (self.height(n) - target) / float(self.weight(n)), self.first, self.longest)
        if certified:
            value = proved_above(lambda: (self.height_ball(n) - ball(delta).log()) / ball(self.weight(n)))
        return max(0.0, value)

    def delta(self, epsilon: Fraction, *, certified: bool = True) -> float:
        """min over n of e^{c_n - w_n epsilon}, at most 1."""
        e = float(epsilon)
        n, value = smallest(lambda n: self.height(n) - float(self.weight(n)) * e, self.first, self.longest)
        if value >= 0:
            return 1.0
        if certified:
            return min(1.0, proved_above(lambda: (self.height_ball(n) - ball(self.weight(n) * epsilon)).exp()))
        return math.exp(value)


class SidedBound(Bound):
    """A bound made of curves: the worst of the directions, in each the best of several curves."""

    def __init__(self, directions: tuple[tuple[Curve, ...], ...]) -> None:
        self._directions = directions

    def delta(self, epsilon: Fraction, *, certified: bool = True) -> float:
        return max((_best(curves, "delta", epsilon, certified) for curves in self._directions), default=0.0)

    def epsilon(self, delta: Fraction, *, certified: bool = True) -> float:
        return max((_best(curves, "epsilon", delta, certified) for curves in self._directions), default=0.0)


class RenyiForms(SidedBound):
    """T10: the Renyi divergence between neighbours, through the all-missing row.

    For every a with n = 2a an integer >= 3 it is at most ln E_n / (n-2) + ((n-2) S + V) / 2, where E_n is the
    moment of `Moments`, S = sum_b p_b^2 r_b^2 and V = sum_b p_b r_b^2 (reaches in units of sigma).
    With `relation="add_remove"` one of the two rows is the all-missing row itself.

    Rounds up.

    >>> from absentia.theory.forms_design import Design, uniform
    >>> four_of_13 = Design(uniform(4, [Fraction(1)] * 13))
    >>> RenyiForms(four_of_13, sigma="10.43").epsilon(Fraction("1e-6"))
    0.999483887393328
    """

    result = "T10"

    def __init__(self, design: Design, sigma: object, relation: Relation = "substitute") -> None:
        s = inverse_variance(sigma)
        check_relation(relation)
        self.assumptions = (
            "rows draw their forms independently of one another and of the data",
            "blocks move different coordinates of the output, by at most their reach when seen, else not at all",
            *(["entries missing on top of the design are missing row by row"] if design.residual else []),
            *(["along every path the squared reaches of a block sum to at most its own"] if design.adaptive else []),
            *(["an all-missing row acts like an absent one"] if relation == "add_remove" else []),
        )
        if not design.strata:
            super().__init__(())
        elif relation == "substitute":
            super().__init__(((_Substituted(design, s),),))
        else:
            super().__init__(((_Added(design, s),), (_Removed(design, s),)))


class _RenyiLines(Lines):
    """Lines from Renyi divergences D_a: w = a-1, c = (a-1) D_a + (a-1) ln(a-1) - a ln a."""

    def __init__(self, design: Design, s: Fraction) -> None:
        self.S, self.V = s * design.mean_square, s * design.second
        self.moments = tuple(Moments(stratum, s) for stratum in design.strata)
        self.longest = min(m.longest for m in self.moments)

    @abstractmethod
    def order(self, n: int) -> Fraction:
        """The order a of line n."""

    def share(self, n: int) -> Fraction:
        """How much of ln E_n enters (a-1) D_a."""
        return Fraction(1)

    def drift(self, n: int) -> Fraction:
        """The part of (a-1) D_a that needs no moment, exactly."""
        return Fraction(0)

    def weight(self, n: int) -> Fraction:
        return self.order(n) - 1

    def height(self, n: int) -> float:
        a, share = float(self.order(n)), self.share(n)
        moment = float(share) * sum(m.log(n) for m in self.moments) if share else 0.0
        return moment + float(self.drift(n)) + (a - 1) * math.log(a - 1) - a * math.log(a)

    def height_ball(self, n: int) -> arb:
        a, share = self.order(n), self.share(n)
        moment = ball(share) * sum((m.ball(n) for m in self.moments), arb(0)) if share else arb(0)
        return moment + ball(self.drift(n)) + ball(a - 1) * ball(a - 1).log() - ball(a) * ball(a).log()


class _Substituted(_RenyiLines):
    """Both rows hold data: a = n/2, (a-1) D_a <= ln E_n / 2 + (a-1) [(2a-2) S + V] / 2."""

    first = 3

    def order(self, n: int) -> Fraction:
        return Fraction(n, 2)

    def share(self, n: int) -> Fraction:
        return Fraction(1, 2)

    def drift(self, n: int) -> Fraction:
        return self.weight(n) * ((n - 2) * self.S + self.V) / 2


class _Added(_RenyiLines):
    """The row is there or not, seen from where it is: a = n, (a-1) D_a <= ln E_n."""

    first = 2

    def order(self, n: int) -> Fraction:
        return Fraction(n)


class _Removed(_RenyiLines):
    """Seen from where it is not: any real a > 1 (here in eighths), D_a <= [(a-1) S + V] / 2."""

    first = 1

    def __init__(self, design: Design, s: Fraction) -> None:
        super().__init__(design, s)
        self.longest = 1 << 20

    def order(self, n: int) -> Fraction:
        return 1 + Fraction(n, 8)

    def share(self, n: int) -> Fraction:
        return Fraction(0)

    def drift(self, n: int) -> Fraction:
        return self.weight(n) * (self.weight(n) * self.S + self.V) / 2


def inverse_variance(sigma: object) -> Fraction:
    """1/sigma^2, exactly."""
    q = number(sigma, "sigma")
    if q <= 0:
        raise InputError("sigma", sigma, "a number > 0")
    return 1 / q**2


def check_relation(relation: str) -> None:
    if relation not in ("substitute", "add_remove"):
        raise InputError("relation", relation, '"substitute" or "add_remove"')


def smallest(value: Callable[[int], float], first: int, last: int) -> tuple[int, float]:
    """The order in [first, last] where a function that falls and then rises is smallest, and the value there.

    Any order gives a valid line, so an imperfect search costs sharpness, never soundness.
    """
    known: dict[int, float] = {}

    def at(n: int) -> float:
        if n not in known:
            known[n] = value(n)
        return known[n]

    low, high, step = first, min(first + 1, last), 1
    while high < last and at(high) <= at(low):
        step *= 2
        low, high = high, min(high + step, last)
    low = max(first, low - step)
    while high - low > 2:
        left, right = low + (high - low) // 3, high - (high - low) // 3
        if at(left) <= at(right):
            high = right
        else:
            low = left
    best = min(range(low, high + 1), key=at)
    return best, at(best)


def _best(curves: tuple[Curve, ...], question: str, at: Fraction, certified: bool) -> float:
    """The smallest answer of several valid curves: the best guess is proved, the next one if that proof fails."""
    ask = [getattr(curve, question) for curve in curves]
    guesses = sorted(((a(at, certified=False), i) for i, a in enumerate(ask)), key=lambda pair: pair[0])
    if not certified:
        return float(guesses[0][0])
    for _, i in guesses:
        proved = float(ask[i](at))
        if math.isfinite(proved):
            return proved
    return math.inf
