"""What a result gives: a proved curve epsilon -> delta, and how a float search becomes a proof.

Every number that leaves a `Bound` with `certified=True` is an upper bound of its formula: the search runs in
floating point, the claim is then proved in ball arithmetic and rounded up.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from fractions import Fraction

from flint import arb
from scipy.optimize import brentq

from absentia.exact import above, ball, precision

__all__ = ["PRECISIONS", "BallBound", "Bound", "proved_above"]

PRECISIONS = (128, 256, 512, 1024, 2048, 4096, 8192)
"""Bits tried in turn; the first that gives 60 correct bits is used."""
CLOSE = 1e-10
"""How close, relatively, a proved epsilon is to one that is not proved"""


class Bound(ABC):
    """One result applied to one mechanism: delta(epsilon) and its inverse, both proved upper bounds."""

    result: str
    assumptions: tuple[str, ...]
    pure_result: str | None = None
    """The result that gives the figure at delta = 0, where it has a name of its own"""
    least: Fraction = Fraction(0)
    """The smallest delta above 0 at which a guarantee uses this result"""

    @abstractmethod
    def delta(self, epsilon: Fraction, *, certified: bool = True) -> float:
        """The smallest proved delta at epsilon."""

    @abstractmethod
    def epsilon(self, delta: Fraction, *, certified: bool = True) -> float:
        """The smallest proved epsilon at delta; inf when there is none."""

    def __bool__(self) -> bool:
        raise TypeError("a bound is a curve; ask for .epsilon(delta) or .delta(epsilon)")


def proved_above(evaluate: Callable[[], arb]) -> float:
    """The smallest double above `evaluate()`, evaluated at rising precision until 60 bits are right."""
    best = math.inf
    for bits in PRECISIONS:
        with precision(bits):
            value = evaluate()
            best = min(best, above(value))
            if value.is_finite() and (value.rel_accuracy_bits() >= 60 or best <= 0):
                break
            if value.is_finite() and best < 1e-320:
                break
    return best


class BallBound(Bound):
    """A bound whose delta is a formula: `delta_ball` proves, `log_delta` searches, the rest follows."""

    @abstractmethod
    def delta_ball(self, epsilon: arb) -> arb:
        """A ball whose upper end is at least delta(epsilon), at the working precision."""

    @abstractmethod
    def log_delta(self, epsilon: float) -> float:
        """ln delta(epsilon) in floating point, for the search only (-inf for 0)."""

    def pure_ball(self) -> arb | None:
        """A ball above the epsilon at delta = 0; None when there is none."""
        return None

    def slope(self, epsilon: float) -> float:
        """d ln delta / d epsilon in floating point; a rough value is enough."""
        low, high = epsilon * (1 - 1e-6), epsilon * (1 + 1e-6)
        return (self.log_delta(high) - self.log_delta(low)) / (high - low) if high > low else math.nan

    def guess_epsilon(self, delta: Fraction) -> float:
        """epsilon(delta) in floating point, by bracketing ln delta."""
        target = log_of(delta)
        if self.log_delta(0.0) <= target:
            return 0.0
        low, high = 0.0, 1.0
        while self.log_delta(high) > target:
            low, high = high, 2 * high
            if high > 1e300:
                return math.inf

        def gap(e: float) -> float:
            return max(self.log_delta(e), -1e300) - target

        return float(brentq(gap, low, high, xtol=1e-300, rtol=1e-15, maxiter=300))

    def delta(self, epsilon: Fraction, *, certified: bool = True) -> float:
        if not certified:
            return min(1.0, math.exp(self.log_delta(float(epsilon))))
        return min(1.0, max(0.0, proved_above(lambda: self.delta_ball(ball(epsilon)))))

    def epsilon(self, delta: Fraction, *, certified: bool = True) -> float:
        if delta >= 1:
            return 0.0
        pure = math.inf
        with precision(128):
            pure_ball = self.pure_ball()
            if pure_ball is not None:
                pure = max(0.0, above(pure_ball))
        if delta == 0:
            return pure if math.isfinite(pure) else self._epsilon_at_zero()
        guess = min(self.guess_epsilon(delta), pure)
        if not certified or not math.isfinite(guess):
            return guess
        return min(pure, self._prove_epsilon(guess, delta))

    def _epsilon_at_zero(self) -> float:
        return 0.0 if self.delta(Fraction(0)) == 0 else math.inf

    def _prove_epsilon(self, guess: float, delta: Fraction) -> float:
        """The smallest proved epsilon near the guess, to CLOSE: polished by a Newton step in balls, then up or down."""
        if guess < 1e-9 and self._proves(0.0, delta):
            return 0.0
        refused, proved = 0.0, guess * (1 + 2.0**-50)
        step = max(proved * 2.0**-51, 1e-30)
        if not self._proves(proved, delta):
            refused, proved = proved, max(self._polished(guess, delta), proved + step)
            while not self._proves(proved, delta):
                refused, proved, step = proved, proved + step, 4 * step
                if proved > 1e300:
                    return math.inf
        step = (
            0.9 * CLOSE * proved
        )  # a guess may also lie too high: where delta hardly falls, or floats carry few digits
        while step < proved - refused:
            if not self._proves(proved - step, delta):
                refused = proved - step
                break
            proved, step = proved - step, 4 * step
        while proved - refused > CLOSE * proved:
            middle = refused + (proved - refused) / 2
            refused, proved = (refused, middle) if self._proves(middle, delta) else (middle, proved)
        return proved

    def _proves(self, epsilon: float, delta: Fraction) -> bool:
        """Whether delta(epsilon) <= delta, decided in balls at the first precision that can tell."""
        for bits in PRECISIONS[:5]:
            with precision(bits):
                value, limit = self.delta_ball(arb(epsilon)), ball(delta)
                if value <= limit:
                    return True
                if value > limit:
                    return False
        return False

    def _polished(self, guess: float, delta: Fraction) -> float:
        """One Newton step on ln delta from a ball value; the slope may be rough, the value is not."""
        if guess <= 0:
            return guess
        slope = self.slope(guess)
        if not (math.isfinite(slope) and slope < 0):
            return guess
        with precision(192):
            value = self.delta_ball(arb(guess))
            if not (value.is_finite() and value > 0):
                return guess
            move = (ball(delta).log() - value.mid().log()) / arb(slope)
            if not move.is_finite():
                return guess
            return max(0.0, float((arb(guess) + move).mid()))


def log_of(q: Fraction) -> float:
    """ln q in floating point for any positive rational, however small."""
    if q <= 0:
        return -math.inf
    if Fraction(1, 2) < q < 2:
        return math.log1p(float(q - 1))
    return math.log(q.numerator) - math.log(q.denominator)
