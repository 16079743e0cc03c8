"""The Gaussian dominating pair: two mixtures of unit Gaussians, one root in the threshold tau."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import NamedTuple

import flint
import numpy as np
from flint import arb
from numpy.typing import NDArray
from scipy.optimize import brentq
from scipy.special import log_ndtr

from absentia.exact import ball
from absentia.theory.bound import BallBound, log_of
from absentia.theory.noise import erfc
from absentia.theory.pure import Atoms

__all__ = ["GaussianPair"]

Array = NDArray[np.float64]


class Side(NamedTuple):
    """One end of a bracket of tau: the loss there less epsilon, and the density of Q."""

    at: arb
    excess: arb
    low: arb


@dataclass(frozen=True)
class GaussianPair(BallBound):
    """H of P = sum_k q_k N(u_k, 1) against Q = sum_k q'_k N(-l_k, 1), all u_k, l_k >= 0 (in units of sigma).

    The ratio P/Q is non-decreasing, so the worst event is a half line {y > tau} with P(tau) = e^epsilon Q(tau).
    """

    up: Atoms
    low: Atoms
    sigma: float
    result: str
    assumptions: tuple[str, ...]

    @cached_property
    def _floats(self) -> tuple[Array, Array, Array, Array]:
        u, lu = _columns(self.up, self.sigma)
        v, lv = _columns(self.low, self.sigma)
        return u, lu, v, lv

    @cached_property
    def _flat(self) -> bool:
        return all(x == 0 for x, _ in (*self.up, *self.low))

    @cached_property
    def _limit(self) -> float:
        """ln P/Q as tau -> infinity: finite only when nothing moves up and the low side keeps mass at 0."""
        u, _, v, lv = self._floats
        return math.inf if u.max() > 0 or v.min() > 0 else -float(_lse(lv[v == 0]))

    def _loss(self, tau: float) -> float:
        """ln P(tau)/Q(tau)."""
        u, lu, v, lv = self._floats
        return _log_mean(lu, tau * u - u * u / 2) - _log_mean(lv, -tau * v - v * v / 2)

    def _log_tails(self, tau: float) -> tuple[float, float]:
        u, lu, v, lv = self._floats
        return float(_lse(lu + log_ndtr(u - tau))), float(_lse(lv + log_ndtr(-v - tau)))

    def _tau(self, epsilon: float) -> float:
        """The threshold at which the loss is epsilon."""

        def gap(t: float) -> float:
            return self._loss(t) - epsilon

        low, high = -1.0, 1.0
        while gap(low) > 0:
            low *= 2
        while gap(high) < 0 and high < 1e300:
            high *= 2
        return float(brentq(gap, low, high, xtol=1e-300, rtol=8.9e-16, maxiter=500))

    def _log_delta_at(self, tau: float, epsilon: float) -> float:
        log_p, log_q = self._log_tails(tau)
        gap = epsilon + log_q - log_p
        return log_p + math.log(-math.expm1(gap)) if gap < 0 else -math.inf

    def log_delta(self, epsilon: float) -> float:
        if self._flat or epsilon >= self._limit:
            return -math.inf
        return self._log_delta_at(self._tau(epsilon), epsilon)

    def slope(self, epsilon: float) -> float:
        """d ln delta / d epsilon = -e^epsilon Q(y > tau) / delta."""
        tau = self._tau(epsilon)
        log_delta = self._log_delta_at(tau, epsilon)
        return -math.exp(epsilon + self._log_tails(tau)[1] - log_delta) if log_delta > -math.inf else math.nan

    def guess_epsilon(self, delta: Fraction) -> float:
        """epsilon(delta) by one root: loss and delta are both explicit in tau."""
        target = log_of(delta)
        if self.log_delta(0.0) <= target:
            return 0.0
        if math.isfinite(self._limit):
            return super().guess_epsilon(delta)
        low = self._tau(0.0)
        step = 1.0

        def gap(t: float) -> float:
            return max(self._log_delta_at(t, self._loss(t)), -1e300) - target

        high = low + step
        while gap(high) > 0:
            low, step = high, 2 * step
            high = low + step
        return max(0.0, self._loss(float(brentq(gap, low, high, xtol=1e-300, rtol=8.9e-16, maxiter=500))))

    def delta_ball(self, epsilon: arb) -> arb:
        """h(tau) + an exact bound of what a better tau could add.

        With the loss below epsilon at lo and above it at hi, the best tau lies between, and there
        |h'| = |P - aQ| <= a Q(lo) e^{w(|tau| + max l)} (e^m - 1), m the larger |loss - epsilon| at the two ends.
        """
        if self._flat:
            return (-epsilon.expm1()).max(arb(0))
        if epsilon == 0 and self.up == self.low:
            return self._tail_gap(arb(0), arb(1))  # by symmetry; far atoms leave the loss too flat for a bracket
        approx = float(epsilon.mid())
        if approx >= self._limit:
            return self._at_limit(epsilon)
        lo, hi = self._bracket(epsilon, self._tau(approx))
        if lo.at == hi.at:
            return arb("nan")
        tau, a, width = (lo.at + hi.at) / 2, epsilon.exp(), hi.at - lo.at
        m = abs(lo.excess).max(abs(hi.excess))
        spread = (width * (abs(tau) + width - self._balls()[1][-1][0])).exp()
        return self._tail_gap(tau, a) + arb(0).union(width * a * lo.low * spread * m.expm1())

    def _bracket(self, epsilon: arb, tau: float) -> tuple[Side, Side]:
        """Ends at which the loss is proved below and above epsilon; equal when this precision cannot tell."""
        for attempt in range(12):
            w = arb(max(abs(tau), 1e-12) * 2.0 ** (-49 + 4 * attempt))
            lo, hi = self._side(arb(tau) - w, epsilon), self._side(arb(tau) + w, epsilon)
            if lo.excess <= 0 and hi.excess >= 0:
                if attempt < 3:
                    return lo, hi
                break  # floats knew few digits of tau
        left, right = self._bisected(epsilon)
        return self._side(left, epsilon), self._side(right, epsilon)

    def _bisected(self, epsilon: arb) -> tuple[arb, arb]:
        """The bracket where the loss is too flat for floats: halved from outside while balls can tell the sides."""
        lo, hi = -1.0, 1.0
        while not self._excess(arb(lo), epsilon) <= 0 and lo > -1e30:
            lo *= 2
        while not self._excess(arb(hi), epsilon) >= 0 and hi < 1e30:
            hi *= 2
        if not (self._excess(arb(lo), epsilon) <= 0 and self._excess(arb(hi), epsilon) >= 0):
            return arb(0), arb(0)
        for _ in range(200):
            left, right = (3 * lo + hi) / 4, (lo + 3 * hi) / 4
            raised, lowered = self._excess(arb(left), epsilon) <= 0, self._excess(arb(right), epsilon) >= 0
            if not (raised or lowered):
                break
            lo, hi = (left if raised else lo), (right if lowered else hi)
        return arb(lo), arb(hi)

    def _excess(self, y: arb, epsilon: arb) -> arb:
        """The loss at y less epsilon."""
        return self._side(y, epsilon).excess

    def _side(self, y: arb, epsilon: arb) -> Side:
        p, q = self._densities(y)
        return Side(y, p.log() - q.log() - epsilon, q)

    def _at_limit(self, epsilon: arb) -> arb:
        """0 when the loss never reaches epsilon; else delta a little before the limit, which is larger.

        And at most 1 - e^epsilon m, m the mass at 0 that both sides share.
        """
        mass = sum((ball(q) for x, q in self.low if x == 0), arb(0))
        if epsilon >= -mass.log():
            return arb(0)
        shared = (1 - epsilon.exp() * mass).max(arb(0))
        return shared.min(self.delta_ball(arb(self._limit * (1 - 2.0**-40)))) if self._limit > 0 else shared

    @cached_property
    def _cache(self) -> dict[int, tuple[list[tuple[arb, arb]], list[tuple[arb, arb]]]]:
        return {}

    def _balls(self) -> tuple[list[tuple[arb, arb]], list[tuple[arb, arb]]]:
        """(shift, mass) of both sides as balls at the working precision."""
        bits = flint.ctx.prec
        if bits not in self._cache:
            s = ball(self.sigma)
            up = [(ball(x) / s, ball(q)) for x, q in self.up]
            self._cache[bits] = (up, [(-ball(x) / s, ball(q)) for x, q in self.low])
        return self._cache[bits]

    def _densities(self, y: arb) -> tuple[arb, arb]:
        root = (2 * arb.pi()).sqrt()
        p, q = (sum((m * (-((y - x) ** 2) / 2).exp() for x, m in side), arb(0)) / root for side in self._balls())
        return p, q

    def _tail_gap(self, tau: arb, a: arb) -> arb:
        root = arb(2).sqrt()
        p, q = (sum((m * erfc((tau - x) / root) for x, m in side), arb(0)) / 2 for side in self._balls())
        return p - a * q


def _columns(atoms: Atoms, sigma: float) -> tuple[Array, Array]:
    x = np.array([float(x) for x, _ in atoms]) / sigma
    return x, np.array([log_of(q) for _, q in atoms])


def _log_mean(log_mass: Array, exponent: Array) -> float:
    """ln sum q e^x for masses that sum to 1, also where it is tiny."""
    with np.errstate(over="ignore"):
        excess = float(np.sum(np.exp(log_mass) * np.expm1(exponent)))
    return math.log1p(excess) if abs(excess) < 0.5 else _lse(log_mass + exponent)


def _lse(values: Array) -> float:
    top = values.max()
    return float(top + math.log(np.exp(values - top).sum()))
