"""What is known of a base mechanism before masking is counted: its profile, stated or the largest of its class."""

from __future__ import annotations

import math
import struct
from collections.abc import Callable
from fractions import Fraction

from flint import arb

from absentia.errors import InputError
from absentia.exact import ball, below, number, probability, round_down, round_up
from absentia.theory.bound import BallBound, Bound, proved_above
from absentia.theory.channel import class_profile, nonnegative
from absentia.theory.noise import BlackBox

__all__ = ["ACROSS_MASKS", "ClassBase", "ProfileBase", "base_of", "profile_ball", "smallest_double"]

ACROSS_MASKS = "the base guarantee holds between masked rows with any two masks, the all-missing row included"


class ClassBase(BallBound):
    """The largest profile of any (epsilon, delta)-DP mechanism: what is known of a base stated by two numbers."""

    result = "base"
    assumptions: tuple[str, ...] = (ACROSS_MASKS,)

    def __init__(self, epsilon: object, delta: object = 0) -> None:
        self.at, self.floor = nonnegative(epsilon, "epsilon"), probability(delta, "delta")

    def delta_ball(self, epsilon: arb) -> arb:
        return class_profile(self.at, self.floor, epsilon)

    def log_delta(self, epsilon: float) -> float:
        value = float(class_profile(self.at, self.floor, arb(epsilon)).mid())
        return math.log(value) if value > 0 else -math.inf

    def epsilon(self, delta: Fraction, *, certified: bool = True) -> float:
        """ln(alpha - (1+alpha)(delta-floor)/(1-floor)): the class profile inverted."""
        if delta < self.floor:
            return math.inf
        if delta == self.floor:
            return round_up(self.at)
        share = (delta - self.floor) / (1 - self.floor)
        if Fraction(proved_above(lambda: (ball(self.at) / 2).tanh())) <= share:  # (alpha-1)/(1+alpha), at epsilon 0
            return 0.0
        below_at = proved_above(lambda: ball(self.at) + (1 - (1 + (-ball(self.at)).exp()) * ball(share)).log())
        return min(max(0.0, below_at), round_up(self.at))


class ProfileBase(Bound):
    """A base given by its profile: a non-increasing function epsilon -> delta, taken at its maker's word."""

    result = "base"
    assumptions = (ACROSS_MASKS, "the stated profile is an upper bound at every epsilon")

    def __init__(self, profile: Callable[[float], float]) -> None:
        self.profile = profile

    def delta(self, epsilon: Fraction, *, certified: bool = True) -> float:
        at = max(0.0, round_down(epsilon))
        try:
            value = self.profile(at)
        except OverflowError:
            return 1.0  # beyond what the profile can compute it says nothing
        except Exception as problem:
            allowed = f"a function from epsilon >= 0 to delta (at {at:g}: {problem})"
            raise InputError("profile", type(problem).__name__, allowed) from problem
        exact = number(value, "profile")
        if exact < 0:
            raise InputError("profile", value, "deltas >= 0 at every epsilon >= 0")
        return min(1.0, round_up(exact))

    def epsilon(self, delta: Fraction, *, certified: bool = True) -> float:
        return smallest_double(lambda e: Fraction(self.delta(Fraction(e))) <= delta)


def smallest_double(holds: Callable[[float], bool]) -> float:
    """The smallest double >= 0 at which a property that stays true once true holds; inf if it never does."""
    top = 1.0
    while not holds(top):
        top *= 2
        if top == math.inf:
            return math.inf
    low, high = -1, struct.unpack("<q", struct.pack("<d", top))[0]  # doubles >= 0 are ordered like their bit patterns
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if holds(as_double(middle)) else (middle, high)
    return as_double(high)


def as_double(bits: int) -> float:
    return float(struct.unpack("<d", struct.pack("<q", bits))[0])


def base_of(mechanism: BlackBox | Bound) -> Bound:
    """The base profile of a black box: its own if it states one, else the largest of its class."""
    if isinstance(mechanism, Bound):
        return mechanism
    if mechanism.profile is not None:
        return ProfileBase(mechanism.profile)
    return ClassBase(mechanism.epsilon, mechanism.delta)


def profile_ball(base: Bound, epsilon: arb) -> arb:
    """A ball whose upper end is at least the base's delta at every point of the ball `epsilon`."""
    if isinstance(base, BallBound):
        return base.delta_ball(epsilon)
    return arb(base.delta(Fraction(max(0.0, below(epsilon)))))
