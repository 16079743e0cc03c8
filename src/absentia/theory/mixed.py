"""Noises of several families beside one another at fixed distances: what T7 composes before masking is counted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import NamedTuple

import numpy as np
from flint import arb

from absentia.errors import InputError
from absentia.exact import ball, precision
from absentia.theory.bound import BallBound
from absentia.theory.noise import BlackBox, Laplace, Noise, hockey_stick_gaussian
from absentia.theory.pair import MASKS_APART, ROWS_INDEPENDENT

__all__ = ["Losses", "MixedKnown", "together_at"]


class Losses(NamedTuple):
    """Pure loss, squared Gaussian distance and delta of several mechanisms together."""

    pure: Fraction
    square: Fraction
    delta: Fraction


def together_at(parts: Sequence[tuple[Noise | BlackBox, Fraction]]) -> Losses:
    """The loss of every (noise, distance between two rows) together: pure losses, squares and deltas add."""
    pure = square = delta = Fraction(0)
    for noise, distance in parts:
        if isinstance(noise, BlackBox):
            if noise.epsilon is None:
                raise InputError("noise", noise, "a black box with epsilon and delta (a profile cannot be composed)")
            pure, delta = pure + noise.epsilon, delta + noise.delta
        elif isinstance(noise, Laplace):
            pure += distance / Fraction(noise.size)
        else:
            square += (distance / Fraction(noise.size)) ** 2
    return Losses(pure, square, min(delta, Fraction(1)))


@dataclass(frozen=True)
class MixedKnown(BallBound):
    """T7 for noise families mixed on one dataset: pure loss e(O) and Gaussian distance g(O), pattern by pattern.

    H_a = e^e/(1+e^e) H_{a e^-e}(g) + 1/(1+e^e) H_{a e^e}(g): randomised response dominates the pure part.
    """

    patterns: tuple[tuple[Fraction, Fraction, Fraction], ...]
    """(mass, pure loss, squared Gaussian distance) between two rows that show the same pattern"""
    result: str = "T7"
    assumptions: tuple[str, ...] = (ROWS_INDEPENDENT, MASKS_APART)
    extra: Fraction = Fraction(0)
    """The deltas of black boxes released beside them"""

    def delta_ball(self, epsilon: arb) -> arb:
        total = ball(self.extra)
        for mass, pure, square in self.patterns:
            e, g = ball(pure), ball(square).sqrt()
            likely = 1 / (1 + (-e).exp())
            parts = likely * hockey_at(g, epsilon - e) + (1 - likely) * hockey_at(g, epsilon + e)
            total += ball(mass) * parts
        return total

    def log_delta(self, epsilon: float) -> float:
        with precision(64):
            value = self.delta_ball(arb(epsilon))  # the logarithm is taken in balls, which do not underflow
            return float(value.mid().log().mid()) if value.mid() > 0 else -np.inf


def hockey_at(shift: arb, epsilon: arb) -> arb:
    return hockey_stick_gaussian(shift, epsilon) if shift > 0 else (1 - epsilon.exp()).max(arb(0))
