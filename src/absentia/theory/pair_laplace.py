"""The Laplace dominating pair in closed form: on every stretch between two atoms delta is M - sqrt((aC - A) B)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np
from flint import arb
from numpy.typing import NDArray

from absentia.exact import above, ball, precision
from absentia.theory.bound import BallBound
from absentia.theory.pure import Atoms, log_mgf

__all__ = ["LaplacePair", "LaplaceRemoved"]


@dataclass(frozen=True)
class LaplacePair(BallBound):
    """H of P = sum_i q_i Lap(u_i) against Q = sum_j q'_j Lap(-l_j), all u, l >= 0 (in units of the scale).

    For tau >= 0 between u_k and u_{k+1}: with A = sum_{i<=k} q_i e^{u_i}, B = sum_{i>k} q_i e^{-u_i},
    M = sum_{i>k} q_i, C = sum_j q'_j e^{-l_j}, the ratio P/Q is (A + B e^{2 tau})/C, and at the crossing
    delta = M - B e^{tau} = M - sqrt((aC - A) B).
    """

    up: Atoms
    low: Atoms
    scale: float
    result: str
    assumptions: tuple[str, ...]
    pure_result = "T3"

    @cached_property
    def _knots(self) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
        """(u_k, loss at u_k, delta at u_k) for every atom, in floating point; delta without cancellation."""
        u = np.array([float(x) for x, _ in self.up]) / self.scale
        q = np.array([float(m) for _, m in self.up])
        log_q = np.log(np.maximum(q, 5e-324))
        log_a = np.logaddexp.accumulate(log_q + u)
        log_b = np.append(np.logaddexp.accumulate((log_q - u)[::-1])[::-1][1:], -math.inf)
        loss = np.logaddexp(log_a, log_b + 2 * u) - self._log_c
        beyond = np.append(np.cumsum(q[::-1])[::-1][1:], 0.0)
        delta = np.zeros_like(u)
        for k in range(len(u) - 2, -1, -1):
            gap = u[k + 1] - u[k]
            delta[k] = -beyond[k] * math.expm1(-gap) + math.exp(-gap) * delta[k + 1]
        return u, loss, delta

    @cached_property
    def _log_c(self) -> float:
        with precision(64):
            return float(log_mgf(self.low, -1, self.scale))

    def pure_ball(self) -> arb | None:
        return log_mgf(self.up, 1, self.scale) - log_mgf(self.low, -1, self.scale)

    def log_delta(self, epsilon: float) -> float:
        if epsilon == 0 and self.up == self.low:
            with precision(64):
                return math.log(max(above(self._at_zero()), 5e-324))
        u, loss, _ = self._knots
        k = int(np.searchsorted(loss, epsilon, side="right")) - 1
        if k >= len(u) - 1:
            return -math.inf
        with precision(64):
            value = above(self._stretch(k, arb(epsilon).exp()))
        return math.log(value) if value > 0 else -math.inf

    def guess_epsilon(self, delta: Fraction) -> float:
        """epsilon(delta) in closed form: e^epsilon = (A + (M - delta)^2/B)/C on the right stretch."""
        _, _, at_knots = self._knots
        k = int(np.searchsorted(-at_knots, -float(delta), side="right")) - 1
        k = min(k, len(at_knots) - 2)
        if k < -1 or len(at_knots) + k < 0:
            return 0.0
        for bits in (128, 1200, 4096):
            with precision(bits):
                A, B, C, M = self._sums(k)
                value = ((A + (M - ball(delta)) ** 2 / B) / C).log()
                if value.is_finite() and value.rel_accuracy_bits() > 60:
                    return max(0.0, above(value))
        return super().guess_epsilon(delta)

    def _polished(self, guess: float, delta: Fraction) -> float:
        return guess  # the closed form is already right to the last bit

    def delta_ball(self, epsilon: arb) -> arb:
        """The formula on the stretch that holds the crossing; on both neighbours when that cannot be told."""
        if epsilon == 0 and self.up == self.low:
            return self._at_zero()
        a = epsilon.exp()
        last = len(self.up) - 1
        k = int(np.searchsorted(self._knots[1], float(epsilon.mid()), side="right")) - 1
        while k < last and not a * self._sums(k)[2] <= self._ratio(k + 1):
            if a * self._sums(k)[2] >= self._ratio(k + 1):
                k += 1
            else:  # undecided: the crossing is on this stretch or the next
                return self._low_end(k, a).max(self._stretch(k + 1, a) if k + 1 < last else arb(0))
        if k < last:
            return self._low_end(k, a)
        return arb(0) if a * self._sums(last)[2] >= self._ratio(last) else self._low_end(last - 1, a)

    def _at_zero(self) -> arb:
        """delta at epsilon 0 where both sides have one law: by symmetry the crossing is at 0."""
        return -sum((ball(q) * (-ball(x) / ball(self.scale)).expm1() for x, q in self.up), arb(0))

    def _low_end(self, k: int, a: arb) -> arb:
        """The stretch k, or the one before it where the crossing may lie below u_k."""
        while k >= 0 and not a * self._sums(k)[2] >= self._ratio(k):
            if a * self._sums(k)[2] <= self._ratio(k):
                k -= 1
            else:
                return self._stretch(k, a).max(self._stretch(k - 1, a))
        return self._stretch(k, a).max(arb(0))

    def _stretch(self, k: int, a: arb) -> arb:
        A, B, C, M = self._sums(k)
        return M - ((a * C - A) * B).sqrt()

    def _ratio(self, k: int) -> arb:
        """C P/Q at tau = u_k."""
        A, B, _, _ = self._sums(k)
        return A + B * (2 * ball(self.up[k][0]) / ball(self.scale)).exp()

    def _sums(self, k: int) -> tuple[arb, arb, arb, arb]:
        """A, B, C, M of the stretch above atom k (k = -1: below the first atom)."""
        b = ball(self.scale)
        A = sum((ball(q) * (ball(x) / b).exp() for x, q in self.up[: k + 1]), arb(0))
        B = sum((ball(q) * (-ball(x) / b).exp() for x, q in self.up[k + 1 :]), arb(0))
        C = sum((ball(q) * (-ball(x) / b).exp() for x, q in self.low), arb(0))
        M = sum((ball(q) for _, q in self.up[k + 1 :]), arb(0))
        return A, B, C, M


@dataclass(frozen=True)
class LaplaceRemoved(BallBound):
    """H of Lap(0) against sum_i q_i Lap(-x_i), the direction in which a record is removed.

    For sigma = -tau >= 0 with the atoms x_i < sigma near: delta = 1 - aM - sqrt((1 - aA) aB),
    A = sum_near q e^x, B = sum_far q e^{-x}, M = sum_near q; 0 once a E e^{-x} >= 1.
    """

    atoms: Atoms
    scale: float
    result: str
    assumptions: tuple[str, ...]

    def pure_ball(self) -> arb | None:
        return -log_mgf(self.atoms, -1, self.scale)

    def delta_ball(self, epsilon: arb) -> arb:
        """Every sigma gives a lower bound, so the largest over the stretches is delta itself."""
        a, b = epsilon.exp(), ball(self.scale)
        best, A, M = arb(0), arb(0), arb(0)
        B = sum((ball(q) * (-ball(x) / b).exp() for x, q in self.atoms), arb(0))
        start = arb(0)
        for x, q in self.atoms:  # A, M of the atoms before x, B of x and those beyond
            shift, mass = ball(x) / b, ball(q)
            slope = 1 - a * A
            if slope <= 0:
                break
            s = ((slope / (a * B)).log() / 2).max(start).min(shift)
            value = 1 - a * M - (slope * (-s).exp() + a * B * s.exp()) / 2
            best = best.max(value) if value.is_finite() else arb("nan")
            A, M, B, start = A + mass * shift.exp(), M + mass, B - mass * (-shift).exp(), shift
        return best

    def log_delta(self, epsilon: float) -> float:
        with precision(64):
            value = above(self.delta_ball(arb(epsilon)))
        return math.log(value) if value > 0 else -math.inf
