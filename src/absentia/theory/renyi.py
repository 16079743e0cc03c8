"""The Renyi divergence of a dominating pair: E_Q (P/Q)^a enclosed in balls, closed form or piece by piece.

Domination at every order passes to the divergence, which is an average of hockey-sticks. For order a > 1 and a pair
P = sum_k q_k phi(. - u_k), Q = sum_j q'_j phi(. + l_j) in units of the noise scale, u, l >= 0,
D_a(P||Q) = ln(integral of P^a Q^{1-a}) / (a-1), and the integral is at least 1.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from itertools import accumulate

import flint
from flint import acb, arb

from absentia.exact import above, ball, precision
from absentia.theory.blocks import SumOfLosses
from absentia.theory.bound import Bound
from absentia.theory.loss import LossPair
from absentia.theory.noise import Gaussian, Laplace, Noise, tail
from absentia.theory.pair import ORIGIN, KnownMask, Worst
from absentia.theory.pair_gaussian import GaussianPair
from absentia.theory.pair_laplace import LaplacePair, LaplaceRemoved
from absentia.theory.pure import Atoms

__all__ = ["renyi_divergence"]

PRECISIONS = (64, 192, 448)
"""Bits tried in turn; the first that leaves GOOD correct bits is used"""
GOOD = 32
OUT_OF_RANGE = 20_000
"""Nats beyond which no integral is tried"""

Terms = list[tuple[arb, arb]]
"""(shift, mass) in balls, shifts increasing"""


def renyi_divergence(bound: Bound, order: Fraction) -> float | None:
    """A proved upper bound of D_order over both directions of a bound that is made of pairs; None for any other."""
    if isinstance(bound, Worst):
        sides = [renyi_divergence(b, order) for b in bound.directions]
        found = [d for d in sides if d is not None]
        return max(found) if len(found) == len(sides) else None
    if isinstance(bound, SumOfLosses) and not all(isinstance(part, LossPair) for part, _ in bound.parts):
        return None
    if not isinstance(bound, (KnownMask, SumOfLosses, GaussianPair, LaplacePair, LaplaceRemoved)):
        return None
    best = float("inf")
    for bits in PRECISIONS:
        with precision(bits):
            value = divergence_ball(bound, ball(order))
            best = min(best, max(0.0, above(value)))
            if value.is_finite() and value.rel_accuracy_bits() >= GOOD:
                break
    return best


def divergence_ball(bound: Bound, a: arb) -> arb:
    """D_a in a ball."""
    if isinstance(bound, SumOfLosses):  # the divergences of a product add
        pairs = [(part, count) for part, count in bound.parts if isinstance(part, LossPair)]
        return sum((count * of_pair(p.noise, p.up, p.down, a) for p, count in pairs), arb(0))
    if isinstance(bound, KnownMask):
        return known_moment(bound, a).log() / (a - 1)
    if isinstance(bound, GaussianPair):
        return of_pair(Gaussian(bound.sigma), bound.up, bound.low, a)
    if isinstance(bound, LaplacePair):
        return of_pair(Laplace(bound.scale), bound.up, bound.low, a)
    assert isinstance(bound, LaplaceRemoved)
    return of_pair(Laplace(bound.scale), ORIGIN, bound.atoms, a)


def of_pair(noise: Noise, up: Atoms, low: Atoms, a: arb) -> arb:
    """D_a of one pair: of its integral, or where that is far out of range of its two outermost atoms alone.

    D_a is quasi-convex, so the mixture is nowhere further apart than they are: a s^2/2 (Gaussian) and at most s
    (Laplace) at distance s.
    """
    s = (ball(up[-1][0]) + ball(low[-1][0])) / ball(noise.size)
    outermost = a * s * s / 2 if noise.family == "gaussian" else s
    if outermost > OUT_OF_RANGE:
        return outermost
    return (moment(noise, up, low, a).log() / (a - 1)).min(outermost)


def known_moment(bound: KnownMask, a: arb) -> arb:
    """Masks that are shown: the mean over atoms of e^{a(a-1)s^2/2} for Gaussian noise, s the distance in scales, or of
    (a e^{(a-1)s} + (a-1) e^{-as})/(2a-1) for Laplace noise."""
    scale, total = ball(bound.noise.size), arb(0)
    for x, q in bound.atoms:
        s = bound.stretch * ball(x) / scale
        if bound.noise.family == "gaussian":
            total += ball(q) * (a * (a - 1) * s * s / 2).exp()
        else:
            total += ball(q) * (a * ((a - 1) * s).exp() + (a - 1) * (-a * s).exp()) / (2 * a - 1)
    return total


def moment(noise: Noise, up: Atoms, low: Atoms, a: arb) -> arb:
    """The integral of P^a Q^{1-a}."""
    scale = ball(noise.size)
    u, v = ([(ball(x) / scale, ball(q)) for x, q in side if q > 0] for side in (up, low))
    return gaussian_moment(u, v, a) if noise.family == "gaussian" else laplace_moment(u, v, a)


def gaussian_moment(up: Terms, low: Terms, a: arb) -> arb:
    """One integral over [-L, T], and bounds of both tails.

    Left of -L, L at least the largest shift, P <= Q and so P^a Q^{1-a} <= P, of mass at most tail(L). On the right
    P <= phi(y - u), u the largest, and Q >= q phi(y + l), l the least of mass q: a Gaussian around c = a u + (a-1) l.
    """
    (u, top), (v, least) = up[-1], low[0]
    nats = arb(flint.ctx.prec)  # tails of 2^-prec and less
    left = u.max(low[-1][0]).max((2 * nats).sqrt()).upper()
    c = a * u + (a - 1) * v
    right = (c + (2 * (nats - (a - 1) * least.log() - a * top.log())).sqrt() + 1).upper()
    beyond = ((c * c - a * u * u + (a - 1) * v * v) / 2 - (a - 1) * least.log()).exp() * tail(right - c)
    raised = [(x, m * (-x * x / 2).exp()) for x, m in up]
    lowered = [(-x, m * (-x * x / 2).exp()) for x, m in low]

    def integrand(y: acb, analytic: bool) -> acb:
        p, q = (sum((m * (x * y).exp() for x, m in side), acb(0)) for side in (raised, lowered))
        return (a * p.log(analytic=analytic) + (1 - a) * q.log(analytic=analytic) - y * y / 2).exp()

    return integral(integrand, -left, right) / (2 * arb.pi()).sqrt() + tail(left) + beyond


def laplace_moment(up: Terms, low: Terms, a: arb) -> arb:
    """Exponentials outside the outermost atoms; between two atoms 2P and 2Q are (A + B e^{2|y|}) e^{-|y|}, exactly.

    Right of 0 there is 2Q = C e^{-y}, left of it 2P = B e^y.
    """
    B, C = (sum((m * (-x).exp() for x, m in side), arb(0)) for side in (up, low))
    A, D = (sum((m * x.exp() for x, m in side), arb(0)) for side in (up, low))
    right = pieces(up, a) + power(A, a) * (-up[-1][0]).exp()
    left = pieces(low, 1 - a) + power(D, 1 - a) * (-low[-1][0]).exp()
    return (power(C, 1 - a) * right + power(B, a) * left) / 2


def power(x: arb, a: arb) -> arb:
    return (a * x.log()).exp()


def pieces(side: Terms, s: arb) -> arb:
    """The integral over [0, largest shift] of (A + B e^{2y})^s e^{-y}, A and B of the atoms before and beyond y."""
    total = A = start = arb(0)
    beyond = list(accumulate(m * (-x).exp() for x, m in reversed(side)))[::-1]
    for (x, m), B in zip(side, beyond, strict=True):
        if x > start:
            total += piece(A, B, s, start, x)
        A, start = A + m * x.exp(), x
    return total


def piece(A: arb, B: arb, power_of: arb, start: arb, end: arb) -> arb:
    if A == 0:
        slope = 2 * power_of - 1
        return power(B, power_of) * ((slope * end).exp() - (slope * start).exp()) / slope

    def integrand(y: acb, analytic: bool) -> acb:
        return (power_of * (A + B * (2 * y).exp()).log(analytic=analytic) - y).exp()

    return integral(integrand, start, end)


def integral(integrand: Callable[[acb, bool], acb], start: arb, end: arb) -> arb:
    """A ball around an integral along the real line, 24 bits short of the working precision."""
    return acb.integral(integrand, acb(start), acb(end), rel_tol=arb(2) ** (24 - flint.ctx.prec)).real
