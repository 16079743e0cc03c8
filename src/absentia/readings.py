"""Other readings of a guarantee: the trade-off function, Renyi divergences, a plot, a notebook table."""

from __future__ import annotations

import html
import math
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from absentia.errors import InputError
from absentia.exact import above, ball, precision, round_down, shown
from absentia.guarantee import Guarantee
from absentia.theory.renyi import renyi_divergence

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["as_html", "plot", "renyi", "tradeoff"]


def tradeoff(guarantee: Guarantee, alpha: Fraction, certified: bool) -> float:
    """The largest over epsilon of 1 - delta - e^epsilon alpha and of e^-epsilon (1 - delta - alpha), rounded down.

    Every point (epsilon, delta) of the curve gives two lower bounds; each has one maximum, searched in floats.
    """
    from scipy.optimize import minimize_scalar

    level = float(alpha)

    def gained(epsilon: float) -> tuple[float, float]:
        delta = guarantee.delta(epsilon, certified=False)
        return 1 - delta - math.exp(epsilon) * level, math.exp(-epsilon) * (1 - delta - level)

    grid = [0.0, *np.geomspace(1e-3, 100, 60).tolist()]
    values = [gained(e) for e in grid]
    best = Fraction(0)
    for side in (0, 1):
        k = max(range(len(grid)), key=lambda i: values[i][side])
        around = (grid[max(k - 1, 0)], grid[min(k + 1, len(grid) - 1)])
        found = minimize_scalar(lambda e: -gained(e)[side], bounds=around, method="bounded", options={"xatol": 1e-9})  # noqa: B023
        for epsilon in (grid[k], float(found.x)):
            best = max(best, proved_gain(guarantee, Fraction(epsilon), alpha, certified))
    return round_down(best)


def proved_gain(guarantee: Guarantee, epsilon: Fraction, alpha: Fraction, certified: bool) -> Fraction:
    """The larger of both lower bounds at one point of the curve."""
    delta = Fraction(guarantee.delta(epsilon, certified=certified))
    with precision(128):
        grow = Fraction(above(ball(epsilon).exp()))
    return max(1 - delta - grow * alpha, (1 - delta - alpha) / grow)


def renyi(guarantee: Guarantee, order: Fraction) -> float:
    """The smallest proved upper bound of D_order that the pairs behind a guarantee give, both directions counted."""
    if order <= 1:
        raise InputError("order", order, "a number > 1")
    found = [d for bound in guarantee.bounds if (d := renyi_divergence(bound, order)) is not None]
    if not found:
        raise InputError(
            "guarantee", guarantee.subject, "an additive guarantee (T2, T5 or T9): its pair has a Renyi divergence"
        )
    return min(found)


def plot(guarantee: Guarantee, ax: Axes | None, largest: float | None) -> Axes:
    """delta against epsilon on a log scale: the curve and its two companions."""
    import matplotlib.pyplot as plt

    if ax is None:
        _, ax = plt.subplots(figsize=(6, 4), layout="constrained")
    top = largest or max(1e-3, min(60.0, guarantee.without_missingness.epsilon("1e-9", certified=False)))
    epsilons = np.linspace(0, top, 121)
    for (name, g), style in zip(guarantee.with_companions, ("-", ":", "--"), strict=True):
        values = [d if d > 0 else math.nan for _, d in g.curve(epsilons.tolist(), certified=False)]
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
