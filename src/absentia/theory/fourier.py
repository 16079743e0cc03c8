"""Sums of independent privacy losses: one tilted Fourier transform, every rounding error bounded and added.

Masses m_b on a grid of gap h are tilted, a_b(i) = m_b(i) e^{tau i - z_b}, z_b about ln sum_i m_b(i) e^{tau i}, so that
the sum of the losses is likely near the epsilon asked about and errors are relative to delta, not to 1. With
c = *_b a_b^{*n_b} taken modulo N, and indices j of a window of length N whose lower end is at most epsilon/h,

    delta(eps) <= I + T + e^Z sum_{j h > eps} (1 - e^{eps - j h}) e^{-tau j} c(j),        Z = sum_b n_b z_b,

I the infinite mass and T >= P(sum of losses beyond the window), by Chernoff. Wrapping modulo N only adds to the c(j)
of the window, since nothing is negative.

Rounding (u = 2^-53, N a power of two, L = log2 N). A butterfly x +- w y with a twiddle factor right to u has error at
most 8u(|x|+|y|), so by induction over the L levels a computed transform is off by at most
kappa |a|_1, kappa = (1+8u)^L - 1, at every frequency, and the inverse by kappa times the mean modulus of its input.
(A pass of radix 4 or 8 is two or three such levels.) A complex product is right to sqrt(5) u. So the computed
F_b give, with g = prod (|F_b| + kappa |a_b|_1)^{n_b} and n = sum n_b,

    |c_computed(j) - c(j)| <= mean_w { g [ sum_b n_b kappa |a_b|_1/(|F_b| + kappa |a_b|_1) + 3 n u + kappa ] },

which is added to every c(j). Exponentials of arguments x are right to (|x|+4) 2u relative: collected in `relative`.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq

from absentia.theory.loss_grid import GridLosses, Losses

__all__ = ["Cumulant", "Tilted", "composed"]

U = 2.0**-53
LARGEST = 2**20  # grid points in a transform
Parts = Sequence[tuple[GridLosses, int]]


class Cumulant:
    """K(theta) = sum_b n_b ln sum_i m_b(i) e^{theta level_b(i)} in floats, with its first two derivatives."""

    def __init__(self, parts: Sequence[tuple[NDArray[np.float64], NDArray[np.float64], int]]) -> None:
        width = max(len(level) for level, _, _ in parts)
        self.level, self.log_mass = np.zeros((len(parts), width)), np.full((len(parts), width), -np.inf)
        self.count = np.array([n for _, _, n in parts], dtype=float)
        with np.errstate(divide="ignore"):
            for row, (level, mass, _) in enumerate(parts):
                self.level[row, : len(level)], self.log_mass[row, : len(mass)] = level, np.log(mass)

    @staticmethod
    def of(parts: Sequence[tuple[Losses, int]]) -> Cumulant:
        return Cumulant([(losses.level, losses.mass, n) for losses, n in parts])

    @staticmethod
    def of_grid(parts: Parts) -> Cumulant:
        return Cumulant([(losses.levels, losses.mass, n) for losses, n in parts])

    def each(self, theta: float) -> NDArray[np.float64]:
        exponent = self.log_mass + theta * self.level
        top = exponent.max(axis=1)
        return np.asarray(top + np.log(np.exp(exponent - top[:, None]).sum(axis=1)))

    def __call__(self, theta: float) -> float:
        return float(self.count @ self.each(theta))

    def moments(self, theta: float) -> tuple[float, float, float]:
        """K, K' and K'' at theta."""
        k = self.each(theta)
        weight = np.exp(self.log_mass + theta * self.level - k[:, None])
        mean = (weight * self.level).sum(axis=1)
        variance = (weight * (self.level - mean[:, None]) ** 2).sum(axis=1)
        return float(self.count @ k), float(self.count @ mean), float(self.count @ variance)

    @property
    def top(self) -> float:
        """The largest value that the sum can take."""
        highest = np.where(np.isfinite(self.log_mass), self.level, -np.inf).max(axis=1)
        return float(self.count @ highest)

    def upper_end(self, theta: float) -> float:
        """The level above which no part has more than a thousandth of its tilted mass."""
        weight = np.exp(self.log_mass + theta * self.level - self.each(theta)[:, None])
        order = np.argsort(self.level, axis=1)
        sorted_weight = np.take_along_axis(weight, order, axis=1)
        above = np.cumsum(sorted_weight[:, ::-1], axis=1)[:, ::-1] > 1e-3
        return float(np.take_along_axis(self.level, order, axis=1)[above].max())

    def log_delta(self, theta: float) -> float:
        """ln delta at epsilon = K'(theta), by the saddle-point formula: a float guess."""
        k, mean, variance = self.moments(theta)
        return (
            k - theta * mean + min(0.0, -math.log(max(1e-300, theta * (1 + theta) * math.sqrt(2 * math.pi * variance))))
        )

    def orders(self) -> tuple[float, float]:
        """The range in which orders are looked for: the sum tilted little, and tilted to its end."""
        spread = max(math.sqrt(self.moments(0.0)[2]), 1e-15)
        return 0.3 / max(spread, float(np.abs(self.level).max())), max(1e3 / spread, 1e3)

    def order_at_epsilon(self, epsilon: float) -> float:
        """theta with K'(theta) = epsilon, clipped to `orders`."""
        low, high = self.orders()
        return root(lambda theta: self.moments(theta)[1] - epsilon, low, high)

    def order_at_delta(self, log_delta: float) -> float:
        """theta at which the saddle-point delta is the one given, clipped to `orders`."""
        low, high = self.orders()
        return root(lambda theta: log_delta - self.log_delta(theta), low, high)


def root(rising: Callable[[float], float], low: float, high: float) -> float:
    """The zero of an increasing function on a logarithmic scale, or the end of the range nearest to it."""
    a, b = math.log(low), math.log(high)
    if rising(low) >= 0:
        return low
    if rising(high) <= 0:
        return high
    return math.exp(float(brentq(lambda x: rising(math.exp(x)), a, b, xtol=1e-3)))


@dataclass(frozen=True)
class Tilted:
    """An upper bound of delta(epsilon) for epsilon >= `low`: losses of the sum with their masses, and a constant."""

    low: float
    loss: NDArray[np.float64]
    mass: NDArray[np.float64]
    constant: float
    relative: float

    def delta(self, epsilon: float) -> float:
        """constant + e^relative * sum over losses > epsilon of (1 - e^{epsilon - loss}) mass, rounded up."""
        if epsilon < self.low:
            return 1.0
        first = int(np.searchsorted(self.loss, epsilon, side="right"))
        part = float(np.sum(-np.expm1(epsilon - self.loss[first:]) * self.mass[first:]))
        return min(1.0, (self.constant + part * math.exp(self.relative)) * (1 + 1e-15))

    def epsilon(self, delta: Fraction) -> float:
        """The smallest epsilon >= `low` with delta(epsilon) <= delta, up to rounding; inf when there is none."""
        room = (float(delta) - self.constant) * math.exp(-self.relative)
        if room <= 0 or self.delta(float(self.loss[-1])) > delta:
            return math.inf
        cell = bisect_left(range(len(self.loss)), True, key=lambda i: self.delta(float(self.loss[i])) <= delta)
        above = float(self.mass[cell:].sum())
        below = float(np.sum(np.exp(self.loss[cell] - self.loss[cell:]) * self.mass[cell:]))
        inside = math.log((above - room) / below) if above > room else -math.inf
        found = max(self.low, float(self.loss[max(cell - 1, 0)]), float(self.loss[cell]) + min(0.0, inside))
        step = max(abs(found), 1e-300) * 1e-14
        while self.delta(found) > delta:
            found, step = found + step, 2 * step
        return found


def composed(parts: Parts, theta: float) -> Tilted:
    """The bound of the module's first formula, sharp near the epsilon at which the order theta is right."""
    gap, cumulant = parts[0][0].gap, Cumulant.of_grid(parts)
    bottom, top = window(cumulant, theta)
    if not math.isfinite(bottom + top):  # losses so large that floats cannot tell them apart: claim nothing
        return Tilted(0.0, np.zeros(1), np.zeros(1), 1.0, 0.0)
    low = math.floor(bottom / gap)
    length = min(LARGEST, 1 << max(4, math.ceil((top - bottom) / gap + 2).bit_length()))
    tau, z = theta * gap, cumulant.each(theta)
    c, relative = convolved(parts, tau, z, length)
    index = np.arange(low, low + length)
    Z = float(cumulant.count @ z)
    relative += U * (8 + length + 4 * abs(Z) + 4 * abs(tau) * float(np.abs(index).max()))
    relative += U * (4 + len(parts)) * float(cumulant.count @ np.abs(z))
    if not relative < 1:  # an order so large that its exponents carry no digits: claim nothing
        return Tilted(low * gap, np.array([low * gap]), np.zeros(1), 1.0, 0.0)
    with np.errstate(over="ignore"):
        mass = np.exp(Z - tau * index) * np.roll(c, -low)
    infinite = sum(count * losses.infinite for losses, count in parts) * (1 + 1e-12)
    constant = infinite + beyond(cumulant, theta, (low + length) * gap) * math.exp(relative)
    return Tilted(low * gap, np.asarray(index * gap, dtype=np.float64), mass, float(constant), float(relative))


def convolved(parts: Parts, tau: float, z: NDArray[np.float64], length: int) -> tuple[NDArray[np.float64], float]:
    """(upper bounds of c modulo `length` but for a relative error, that relative error)."""
    kappa = math.expm1(1.01 * 8 * U * math.log2(length))
    product, log_g, off = np.ones(length, dtype=complex), np.zeros(length), np.zeros(length)
    relative, total = 0.0, sum(count for _, count in parts)
    for (losses, count), shift in zip(parts, z, strict=True):
        kept = losses.mass > 0
        index, log_mass = losses.index[kept], np.log(losses.mass[kept])
        tilted = np.exp(tau * index - shift + log_mass)
        F = np.fft.fft(np.bincount(index % length, tilted, length).astype(complex))
        slip = kappa * float(tilted.sum()) * (1 + 1e-6)
        modulus = np.abs(F) + slip
        log_g += count * np.log(modulus)
        off += count * slip / modulus
        product *= power(F, count)
        sizes = 4 * abs(tau) * float(np.abs(index).max()) + 4 * abs(float(shift)) + 4 * float(np.abs(log_mass).max())
        relative += count * U * (sizes + 8 + len(index))
    error = float(np.mean(np.exp(log_g) * (off + 3 * total * U + kappa))) * (1 + 1e-5) + 1e-290
    return np.maximum(np.fft.ifft(product).real, 0.0) + error, relative


def power(F: NDArray[np.complex128], n: int) -> NDArray[np.complex128]:
    """F^n by repeated squaring: n - 1 factors' worth of rounding errors, whatever the order of the products."""
    result = np.ones_like(F)
    while n:
        if n & 1:
            result = result * F
        n >>= 1
        F = F * F if n else F
    return result


STEPS = np.array([0.05, 0.2, 0.5, 1, 2, 3, 4, 5, 6, 8, 10])


def window(cumulant: Cumulant, theta: float) -> tuple[float, float]:
    """An interval below and above which about 1e-12 and 1e-15 of delta would be added (Chernoff)."""
    k, mean, variance = cumulant.moments(theta)
    steps = STEPS / max(math.sqrt(variance), 1e-15)
    top = min((cumulant(theta + d) - k + theta * mean + 34.5) / (theta + d) for d in steps)
    top = max(mean, min(top, cumulant.top))
    nats = max(7.0, 27.6 - theta * (top - mean))  # what wraps to the top is damped by e^{-theta (top - mean)}
    bottom = max((k - cumulant(theta - d) - nats) / d for d in steps)
    return float(min(bottom, mean)), float(top)


def beyond(cumulant: Cumulant, theta: float, top: float) -> float:
    """A bound of P(sum of losses >= top): e^{K(s) - s top} for the best of a few orders s; 0 above the largest sum."""
    if cumulant.top + 1e-12 * abs(cumulant.top) < top:
        return 0.0
    steps = STEPS / max(math.sqrt(cumulant.moments(theta)[2]), 1e-15)
    return math.exp(min(0.0, min(cumulant(theta + d) - (theta + d) * top for d in steps))) * (1 + 1e-6)
