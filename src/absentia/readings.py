"""Other readings of a guarantee: the trade-off function, Renyi divergences, a plot, a notebook table."""

from __future__ import annotations

import html
import math
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
from flint import arb

from absentia.errors import InputError
from absentia.exact import above, ball, precision, round_down, shown
from absentia.guarantee import Guarantee
from absentia.theory.noise import tail
from absentia.theory.pair import KnownMask
from absentia.theory.pair_gaussian import GaussianPair

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["as_html", "plot", "renyi", "tradeoff"]


def tradeoff(guarantee: Guarantee, alpha: Fraction, certified: bool) -> float:
    """max over points (eps, delta) of max(1 - delta - e^eps alpha, e^-eps (1 - delta - alpha)), rounded down."""
    best = Fraction(0)
    for epsilon in (0.0, *np.geomspace(1e-3, 40, 60)):
        e = Fraction(float(epsilon))
        delta = Fraction(guarantee.delta(e, certified=certified))
        with precision(128):
            grow = Fraction(above(ball(e).exp()))
        best = max(best, 1 - delta - grow * alpha, (1 - delta - alpha) / grow)
    return max(0.0, round_down(best))


def renyi(guarantee: Guarantee, order: Fraction) -> float:
    """A proved upper bound of D_order(P||Q) from the pair of T2, by an enclosure of its integral.

    E_Q (P/Q)^a = integral P^a Q^{1-a}; outside [-T, T] the integrand is bounded with P <= phi(|y| - x) and
    Q >= phi(|y| + x).
    """
    if order <= 1:
        raise InputError("order", order, "a number > 1")
    pairs = [
        b if isinstance(b, GaussianPair) else GaussianPair(b.atoms, b.atoms, b.noise.size, b.result, b.assumptions)
        for b in guarantee.bounds
        if isinstance(b, GaussianPair) or (isinstance(b, KnownMask) and b.result == "T2" and b.noise.norm == 2)
    ]
    if not pairs:
        raise InputError(
            "guarantee", str(guarantee), "an additive Gaussian guarantee (T2): its pair has a Renyi divergence"
        )
    with precision(128):
        return max(0.0, above(_renyi_ball(pairs[0], ball(order))))


def _renyi_ball(pair: GaussianPair, a: arb) -> arb:
    from flint import acb

    largest = max(ball(x) for x, _ in (*pair.up, *pair.low)) / ball(pair.sigma)
    # (P/Q)^a Q <= exp(2 a x |y|) phi(|y| - x): mass beyond T is at most 2 e^{(2a+1)^2 x^2} tail(T - (2a+1) x)
    reach = (2 * a + 1) * largest
    T = arb(math.ceil(float((3 * reach + 16).upper())))
    beyond = 4 * (reach * reach).exp() * tail(T - reach)
    root = (2 * arb.pi()).sqrt()
    up, low = pair._balls()

    def integrand(y: Any, _analytic: bool) -> Any:
        p = sum((m * (-((y - x) ** 2) / 2).exp() for x, m in up), acb(0))
        q = sum((m * (-((y - x) ** 2) / 2).exp() for x, m in low), acb(0))
        ratio = p / q
        return (a * ratio.log(analytic=_analytic)).exp() * q / root

    total = acb(0)
    steps = 2 * int(float(T.mid()))
    for k in range(-steps, steps):
        total += acb.integral(integrand, acb(k) / 2, acb(k + 1) / 2)
    return (total.real + beyond).log() / (a - 1)


def plot(guarantee: Guarantee, ax: Axes | None, largest: float | None) -> Axes:
    """delta against epsilon on a log scale: the curve and its two companions."""
    import matplotlib.pyplot as plt

    if ax is None:
        _, ax = plt.subplots(figsize=(6, 4), layout="constrained")
    top = largest or max(1e-3, min(60.0, guarantee.without_missingness.epsilon("1e-9", certified=False)))
    epsilons = np.linspace(0, top, 121)
    for (name, g), style in zip(guarantee.with_companions, ("-", ":", "--"), strict=True):
        values = [d if d > 0 else math.nan for _, d in g.curve(epsilons.tolist())]
        ax.semilogy(epsilons, values, style, label=f"{name} ({g.result})" if g is guarantee else name)
    ax.set_xlabel("epsilon")
    ax.set_ylabel("delta")
    ax.set_ylim(1e-12, 1.5)
    ax.legend(frameon=False, fontsize=8)
    return ax


def as_html(guarantee: Guarantee) -> str:
    """The three figures at delta = 1e-6 as a small table."""
    rows = "".join(
        f"<tr><th style='text-align:left'>{html.escape(label)}</th><td>{shown(g.epsilon('1e-6'))}</td>"
        f"<td>{html.escape(g.result)}</td></tr>"
        for label, g in guarantee.with_companions
    )
    title = html.escape(f"{guarantee.subject}, {guarantee.relation}: epsilon at delta 1e-6")
    return f"<table><caption>{title}</caption>{rows}</table>"
