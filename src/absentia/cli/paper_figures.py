"""The figures of the paper's results, as SVG files that are the same bytes on every run."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import matplotlib
from matplotlib.axes import Axes
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure

from absentia.drawing import GREY, INK, STYLE, svg
from absentia.theory import blackbox, paper, relaxed
from absentia.theory.noise import Gaussian, Laplace
from absentia.theory.pair import KnownMask, dominating_pair

__all__ = ["FIGURES", "draw"]

BLUE, ORANGE, GREEN, RED = "#0072B2", "#E69F00", "#009E73", "#D55E00"
LOOK = {
    **STYLE,
    "axes.titlesize": 10,
    "axes.titlelocation": "left",
    "axes.grid": True,
    "grid.color": "#E6E6E6",
    "grid.linewidth": 0.6,
    "lines.linewidth": 1.6,
}


def draw(out_dir: Path) -> list[Path]:
    """The files written, one a figure."""
    out_dir.mkdir(parents=True, exist_ok=True)
    written = []
    for name, (panels, paint) in FIGURES.items():
        with matplotlib.rc_context(LOOK):
            figure = Figure(figsize=(3.9 * panels if panels > 1 else 5.2, 3.4), layout="constrained")
            FigureCanvasSVG(figure)
            paint(figure.subplots(1, panels, squeeze=False)[0])
            path = out_dir / f"{name}.svg"
            path.write_text(svg(figure), encoding="utf-8")
        written.append(path)
    return written


def amplification(axes: Sequence[Axes]) -> None:
    """P2: eps' against p*."""
    (ax,) = axes
    shares = _grid(0, 1, 100)
    for epsilon, colour in ((4, RED), (2, ORANGE), (1, GREEN), (Fraction(1, 2), BLUE)):
        ratios = [paper.mar(epsilon, 0, p).epsilon / float(epsilon) for p in shares]
        _line(ax, shares, ratios, color=colour, label=f"ε = {float(epsilon):g}")
    ax.plot([0, 1], [0, 1], color=GREY, linewidth=0.8, linestyle=(0, (4, 3)))
    ax.text(0.42, 0.39, "ε′ = p* ε", color=GREY, ha="left", va="top")
    ax.legend(frameon=False, loc="lower right")
    _dress(ax, "What missing rows already protect (P2)", "p*: probability that a row shows something", "ε′ / ε")
    ax.set(xlim=(0, 1), ylim=(0, 1))


def mnar(axes: Sequence[Axes]) -> None:
    """P1: the trade-off curve over lam for three ranges of p, and T1's single point."""
    (ax,) = axes
    epsilon, p_max = 1, Fraction(1, 2)
    for p_min, colour in ((Fraction(1, 10), RED), (Fraction(3, 10), ORANGE), (Fraction(9, 20), BLUE)):
        curve = paper.mnar_curve(epsilon, "1e-6", p_max=p_max, p_min=p_min, points=201)
        ax.plot([x.epsilon for x in curve], [x.delta for x in curve], color=colour)
        middle = curve[70]
        ax.text(middle.epsilon + 0.008, middle.delta, f"p from {float(p_min):g} to 0.5", color=colour, va="bottom")
    t1 = blackbox.amplified(epsilon, "1e-6", p_max)
    ax.plot([t1.epsilon], [t1.delta], marker="o", color=INK, markersize=5, clip_on=False, linestyle="none")
    ax.annotate(
        "T1: same ε′, δ′ = 5·10⁻⁷,\nwhatever the range",
        (t1.epsilon, t1.delta), xytext=(0.645, 0.125), color=INK, va="bottom",
        arrowprops={"arrowstyle": "-", "color": GREY, "linewidth": 0.8, "shrinkB": 4},
    )  # fmt: skip
    for lam, place in ((0, "left"), (1, "right")):
        x = t1.epsilon if lam == 0 else 1.0
        ax.text(x, -0.075, f"λ = {lam}", color=GREY, ha=place, va="top", transform=ax.get_xaxis_transform())
    _dress(ax, "Missing not at random, as published (P1); ε = 1, δ = 10⁻⁶", "ε′", "δ′")
    ax.xaxis.labelpad = 12
    ax.set(xlim=(t1.epsilon - 0.01, 1.01), ylim=(0, None))


def observation_bound(axes: Sequence[Axes]) -> None:
    """P6: the effect of rho. P8 and T6: the effect of eta."""
    left, right = axes
    d = 20
    for p, colour in ((1, RED), (Fraction(6, 10), ORANGE), (Fraction(3, 10), BLUE)):
        rho = [k / d for k in range(d + 1)]
        left.plot(rho, [paper.laplace(1, p, [1] * d, k).epsilon for k in range(d + 1)], color=colour, marker=".")
        left.text(0.8, paper.laplace(1, p, [1] * d, 16).epsilon + 0.02, f"p* = {float(p):g}", color=colour, ha="right")
    _dress(left, "At most a share ρ of a row is seen (P6)", "ρ (20 equal columns, Laplace, ε = 1)", "ε′")
    left.set(xlim=(0, 1), ylim=(0, 1.02))
    p, etas = Fraction(9, 10), _grid(0, Fraction(9, 10), 90)
    for k, colour in ((15, RED), (10, ORANGE), (5, BLUE)):
        published = [paper.relaxed_laplace(1, p, [1] * d, k, eta=x, r=x).epsilon for x in etas]
        sharper = [relaxed.relaxed_laplace(1, Fraction(k, d), p, x).epsilon for x in etas]
        _line(right, etas, published, color=colour)
        _line(right, etas, sharper, color=colour, linestyle=(0, (2, 1.5)))
        right.text(0.012, published[0] + 0.012, f"ρ = {k / d:g}", color=colour, va="bottom")
    right.plot([], [], color=INK, label="P8, δ′ = η")
    right.plot([], [], color=INK, linestyle=(0, (2, 1.5)), label="T6, smaller δ′")
    right.legend(frameon=False, loc="upper right")
    _dress(right, "… except with probability η (P8, T6); p* = 0.9", "η", "ε*")
    right.set(xlim=(0, 0.9), ylim=(0, 0.82))


def exact_against_paper(axes: Sequence[Axes]) -> None:
    """The same noise, three analyses: the paper's, the exact one, and the exact one if the mask is known."""
    left, right = axes
    shares = [Fraction(i, 50) for i in range(1, 51)]
    scale = paper.laplace(2, 1, [1]).scale
    pairs = [dominating_pair(Laplace(scale), _seen(p)) for p in shares]
    _line(left, shares, [paper.laplace(2, p, [1]).epsilon for p in shares], color=ORANGE, label="paper (P6)")
    _line(left, shares, [pair.epsilon(Fraction(0)) for pair in pairs], color=BLUE, label="exact (T3)")
    _dress(left, "Laplace noise, ε = 2 without missingness", "p*", "ε′ at δ = 0")
    sigma = paper.gaussian(1, "1e-6", 1, [1]).sigma
    published = [paper.gaussian(1, "1e-6", p, [1]) for p in shares]
    _line(right, shares, [x.epsilon for x in published], color=ORANGE, label="paper (P7)")
    noise, deltas = Gaussian(sigma), [Fraction(x.delta) for x in published]
    known = [KnownMask(noise, _seen(p)).epsilon(d) for p, d in zip(shares, deltas, strict=True)]
    exact = [dominating_pair(noise, _seen(p)).epsilon(d) for p, d in zip(shares, deltas, strict=True)]
    _line(right, shares, known, color=GREY, linestyle=(0, (4, 3)), label="mask known (T5)")
    _line(right, shares, exact, color=BLUE, label="exact (T2)")
    _dress(right, "Gaussian noise of P7, ε = 1, δ = 10⁻⁶", "p*", "ε′ at δ′ = p* δ")
    for ax in axes:
        ax.legend(frameon=False, loc="upper left")
        ax.set(xlim=(0, 1), ylim=(0, None))


def composition(axes: Sequence[Axes]) -> None:
    """T7: releases of one dataset share their mask. Randomised response with eps = 1/2 each, p* = 1/2."""
    (ax,) = axes
    p, epsilon, counts = Fraction(1, 2), Fraction(1, 2), range(1, 21)
    wrong = [T * blackbox.amplified(epsilon, 0, p).epsilon for T in counts]
    right = [blackbox.amplified(T * epsilon, 0, p).epsilon for T in counts]
    ax.plot(counts, [T * float(epsilon) for T in counts], color=GREY, linestyle=(0, (4, 3)))
    ax.plot(counts, right, color=BLUE)
    ax.plot(counts, wrong, color=RED)
    ax.fill_between(counts, wrong, right, color=RED, alpha=0.08, linewidth=0)
    ax.text(15, 7.75, "without missingness", color=GREY, ha="right")
    ax.text(19.7, 6.75, "compose, then\namplify: attained", color=BLUE, ha="right", va="top")
    ax.text(12.2, 2.6, "sum of amplified figures:\nfalse promise", color=RED, ha="left", va="top")
    _dress(ax, "One dataset has one mask (T7); ε = 1/2 each, p* = 1/2", "releases of the same dataset", "total ε")
    ax.set(xlim=(1, 20), ylim=(0, 10), xticks=[1, 5, 10, 15, 20])


FIGURES: dict[str, tuple[int, Callable[[Sequence[Axes]], None]]] = {
    "amplification": (1, amplification),
    "composition": (1, composition),
    "exact-against-paper": (2, exact_against_paper),
    "mnar": (1, mnar),
    "observation-bound": (2, observation_bound),
}


def _seen(p: Fraction) -> tuple[tuple[Fraction, Fraction], ...]:
    """A row moves the query by 1 with probability p."""
    return ((Fraction(0), 1 - p), (Fraction(1), p)) if p < 1 else ((Fraction(1), Fraction(1)),)


def _grid(low: Fraction | int, high: Fraction | int, steps: int) -> list[Fraction]:
    return [low + Fraction(i, steps) * (high - low) for i in range(steps + 1)]


def _line(ax: Axes, x: Sequence[Fraction], y: Sequence[float], **style: Any) -> None:
    ax.plot([float(value) for value in x], y, **style)


def _dress(ax: Axes, title: str, x: str, y: str) -> None:
    ax.set_title(title, color=INK)
    ax.set_xlabel(x)
    ax.set_ylabel(y)
    ax.tick_params(length=0)
