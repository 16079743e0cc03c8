"""Noise: what it hides at a distance. Frozen values with a hockey-stick, exact for every alpha > 0.

H_alpha(P||Q) = sup_S P(S) - alpha Q(S), with Q the same noise moved by `distance`.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction
from typing import ClassVar, Literal

from flint import arb

from absentia.errors import InputError
from absentia.exact import ball, number, probability, round_down
from absentia.theory.bound import proved_above

__all__ = ["BlackBox", "Gaussian", "Laplace", "Noise", "erfc", "hockey_stick_gaussian", "hockey_stick_laplace", "tail"]

Norm = Literal[1, 2]


def erfc(z: arb) -> arb:
    """erfc over a ball, tight far out: at an exact midpoint, times e^{+-r(2|z| + 2r + 2)} for the radius r.

    -(ln erfc)' is at most 2|z| + 2; the library's own error propagation loses everything near z = 1e6.
    """
    if abs(z) < 40:
        return z.erfc()
    r = z.rad()
    spread = r * (2 * abs(z.mid()) + 2 * r + 2)
    return z.mid().erfc() * arb(0, spread).exp() if r > 0 else z.erfc()


def tail(x: arb) -> arb:
    """P(N(0,1) > x) as a ball."""
    return erfc(x / arb(2).sqrt()) / 2


def hockey_stick_gaussian(shift: arb, epsilon: arb) -> arb:
    """H of N(shift, 1) against N(0, 1) at alpha = e^epsilon, epsilon of any sign."""
    if shift == 0:
        return (1 - epsilon.exp()).max(arb(0))
    cut = epsilon / shift
    return tail(cut - shift / 2) - epsilon.exp() * tail(cut + shift / 2)


def hockey_stick_laplace(shift: arb, epsilon: arb) -> arb:
    """H of Laplace(shift, 1) against Laplace(0, 1) at alpha = e^epsilon, epsilon of any sign.

    1 - e^{(epsilon-shift)/2} while |epsilon| <= shift; beyond, 0 above and 1 - e^epsilon below.
    """
    zero = arb(0)
    inner = -((epsilon - shift) / 2).expm1()
    if -shift >= epsilon:
        return -epsilon.expm1()
    if -shift <= epsilon:
        return inner.max(zero)
    return inner.max(-epsilon.expm1()).max(zero)


@dataclass(frozen=True)
class Noise(ABC):
    """Additive noise of one scale; distances are measured in the norm that the family needs."""

    family: ClassVar[str]
    norm: ClassVar[Norm]

    @property
    @abstractmethod
    def size(self) -> float:
        """The scale of the noise: b for Laplace, sigma for Gaussian."""

    def hockey_stick(self, distance: object, alpha: object) -> float:
        """The smallest double above H_alpha between the noise and the noise moved by `distance`."""
        x, a = number(distance, "distance"), number(alpha, "alpha")
        if x < 0:
            raise InputError("distance", distance, "a number >= 0")
        if a <= 0:
            raise InputError("alpha", alpha, "a number > 0")
        return min(1.0, max(0.0, proved_above(lambda: self.profile_ball(ball(x) / ball(self.size), ball(a).log()))))

    @abstractmethod
    def profile_ball(self, shift: arb, epsilon: arb) -> arb:
        """The hockey-stick at a shift in units of the scale, as a ball."""

    @staticmethod
    def _positive(value: object, name: str) -> float:
        q = number(value, name)
        if q <= 0:
            raise InputError(name, value, "a number > 0")
        scale = round_down(q)  # less noise than asked is the unfavourable reading
        if not 0 < scale < math.inf:
            raise InputError(name, value, "a number that a double can hold")
        return scale


@dataclass(frozen=True)
class Laplace(Noise):
    """Independent Laplace noise of scale b on every coordinate; distances in l1 (T4)."""

    scale: float
    family: ClassVar[str] = "laplace"
    norm: ClassVar[Norm] = 1

    def __post_init__(self) -> None:
        object.__setattr__(self, "scale", self._positive(self.scale, "scale"))

    @property
    def size(self) -> float:
        return self.scale

    def profile_ball(self, shift: arb, epsilon: arb) -> arb:
        return hockey_stick_laplace(shift, epsilon)


@dataclass(frozen=True)
class Gaussian(Noise):
    """Independent Gaussian noise of standard deviation sigma on every coordinate; distances in l2 (T4)."""

    sigma: float
    family: ClassVar[str] = "gaussian"
    norm: ClassVar[Norm] = 2

    def __post_init__(self) -> None:
        object.__setattr__(self, "sigma", self._positive(self.sigma, "sigma"))

    @property
    def size(self) -> float:
        return self.sigma

    def profile_ball(self, shift: arb, epsilon: arb) -> arb:
        return hockey_stick_gaussian(shift, epsilon)


@dataclass(frozen=True)
class BlackBox:
    """A mechanism known by its guarantee on masked datasets: (epsilon, delta), or a profile epsilon -> delta.

    A profile's values are taken as proved upper bounds, which is its maker's claim.
    """

    epsilon: Fraction | None = None
    delta: Fraction = Fraction(0)
    profile: Callable[[float], float] | None = field(default=None, compare=False)

    def __init__(
        self, epsilon: object = None, delta: object = "0", *, profile: Callable[[float], float] | None = None
    ) -> None:
        if (epsilon is None) == (profile is None):
            raise InputError("BlackBox", epsilon, "either epsilon (and delta) or a profile, not both")
        if epsilon is not None:
            e = number(epsilon, "epsilon")
            if e < 0:
                raise InputError("epsilon", epsilon, "a number >= 0")
            object.__setattr__(self, "epsilon", e)
        else:
            object.__setattr__(self, "epsilon", None)
        object.__setattr__(self, "delta", probability(delta, "delta"))
        object.__setattr__(self, "profile", profile)
