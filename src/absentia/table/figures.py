"""The figures of a profile, drawn from counts and never from rows: bars, patterns, pairs; the same bytes every time."""

from __future__ import annotations

from collections.abc import Callable
from itertools import islice
from pathlib import Path

import matplotlib
import numpy as np
from matplotlib.axes import Axes
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure
from matplotlib.layout_engine import ConstrainedLayoutEngine
from scipy.cluster.hierarchy import leaves_list, linkage

from absentia.drawing import GREY, INK, STYLE, svg
from absentia.plain import abridged
from absentia.table.profile import STAMP, Profile

__all__ = ["FIGURES", "draw"]

MISSING, SHOWN, STRIPE, RED = "#D55E00", "#DADFE3", "#F5F6F7", "#B00020"
BAR, LINK = "#0072B2", "#F3C3A0"
MAX_COLUMNS, MAX_PATTERNS, WITH_NUMBERS = 60, 24, 12


def draw(profile: Profile, directory: Path) -> list[Path]:
    """The SVG files written, one a figure; figures that have nothing to show are left out."""
    directory.mkdir(parents=True, exist_ok=True)
    written = []
    for name, paint in FIGURES.items():
        with matplotlib.rc_context({**STYLE, "text.parse_math": False}):
            figure = paint(profile)
            if figure is None:
                continue
            path = directory / f"{name}.svg"
            path.write_text(svg(figure), encoding="utf-8")
        written.append(path)
    return written


def missing_bars(p: Profile) -> Figure | None:
    """The missing share of each column, largest first."""
    names = _by_rate(p)[:MAX_COLUMNS]
    if not p.rows:
        return None
    figure = _figure(6.4, 1.5 + 0.21 * len(names), p, "Missing, by column")
    ax = figure.subplots()
    rates = [100 * p.missing_rate[name] for name in names]
    ax.barh(range(len(names)), 100, color=STRIPE, height=0.72)
    ax.barh(range(len(names)), rates, color=MISSING, height=0.72)
    for i, rate in enumerate(rates):
        inside = rate > 88
        text = "0" if rate == 0 else "< 0.1 %" if rate < 0.1 else f"{rate:.1f} %"
        ax.text(
            rate - 1 if inside else rate + 1, i, text, va="center_baseline", ha="right" if inside else "left",
            color="white" if inside else INK, fontsize=8,
        )  # fmt: skip
    ax.set_yticks(range(len(names)), [abridged(name, 28, "…") for name in names])
    ax.set(xlim=(0, 100), ylim=(len(names) - 0.5, -0.5), xlabel="% of rows" + _rest(len(p.columns) - len(names)))
    ax.tick_params(left=False)
    ax.spines["left"].set_visible(False)
    return figure


def pattern_plot(p: Profile) -> Figure | None:
    """The most common patterns as an UpSet plot: a column of dots is a pattern, a coloured dot a missing column."""
    patterns = list(islice(p.patterns(), MAX_PATTERNS))
    names = _by_likeness(p, [n for n in _by_rate(p) if any(n in missing for missing, _ in patterns)][:MAX_COLUMNS])
    if not names:
        return None
    label = 0.35 + 0.065 * max(len(abridged(name, 28, "…")) for name in names)
    figure = _figure(
        max(5.2, 1.6 + label + 0.3 * len(patterns)), 3.1 + 0.2 * len(names), p, "Which columns are missing together"
    )
    bars, dots = figure.subplots(2, 1, sharex=True, height_ratios=[1.4, 0.2 * len(names) + 0.15])
    _pattern_bars(bars, [rows for _, rows in patterns])
    _pattern_dots(dots, names, [missing for missing, _ in patterns])
    always = p.width - len(names)
    others = p.rows - sum(rows for _, rows in patterns)
    notes = [f"{len(p.counts.patterns) - len(patterns):,} rarer patterns hold {p.share(others):.1%} of the rows"]
    notes = notes if others else []
    notes += [f"{always:,} columns missing in none of these patterns are left out"] if always else []
    dots.set_xlabel("; ".join(notes), fontsize=8, color=GREY)
    return figure


def _pattern_bars(ax: Axes, rows: list[int]) -> None:
    ax.bar(range(len(rows)), rows, color=BAR, width=0.62)
    for i, count in enumerate(rows):
        ax.text(i, count + 0.02 * rows[0], _count(count), ha="center", va="bottom", fontsize=7.5, color=INK)
    ax.set(ylabel="rows", ylim=(0, 1.12 * rows[0]), xlim=(-0.6, max(len(rows), 4) - 0.4))
    ax.yaxis.set_major_locator(matplotlib.ticker.MaxNLocator(4, integer=True))
    ax.yaxis.set_major_formatter(matplotlib.ticker.FuncFormatter(lambda v, _: _count(int(v))))
    ax.spines["bottom"].set_visible(False)
    ax.tick_params(bottom=False, labelbottom=False)


def _pattern_dots(ax: Axes, names: list[str], patterns: list[tuple[str, ...]]) -> None:
    where = {name: i for i, name in enumerate(names)}
    for i in range(0, len(names), 2):
        ax.axhspan(i - 0.5, i + 0.5, color=STRIPE, linewidth=0, zorder=0)
    x_all, y_all = np.meshgrid(range(len(patterns)), range(len(names)))
    ax.scatter(x_all.ravel(), y_all.ravel(), s=26, color=SHOWN, linewidth=0, zorder=2)
    for x, missing in enumerate(patterns):
        ys = [where[name] for name in missing if name in where]
        if ys:
            ax.plot([x, x], [min(ys), max(ys)], color=LINK, linewidth=1.6, zorder=1, solid_capstyle="round")
            ax.scatter([x] * len(ys), ys, s=34, color=MISSING, linewidth=0, zorder=4)
    ax.set_yticks(range(len(names)), [abridged(name, 28, "…") for name in names])
    ax.set(ylim=(len(names) - 0.5, -0.5))
    ax.tick_params(left=False, bottom=False, labelbottom=False)
    for side in ("left", "bottom"):
        ax.spines[side].set_visible(False)


def pair_map(p: Profile) -> Figure | None:
    """Correlations of being missing, for every pair of columns that are sometimes missing."""
    names = [name for name in _by_rate(p) if 0 < p.missing_rate[name] < 1][:MAX_COLUMNS]
    if len(names) < 2 or p.counts.pairs is None:
        return None
    names = _by_likeness(p, names)
    correlation = _correlations(p, names)
    side = max(3.4, 0.24 * len(names) + 1.2 + 0.05 * max(map(len, names)))
    figure = _figure(side + 1.1, side + 1.0, p, "Missing together: correlations")
    ax = figure.subplots()
    shown = np.where(np.eye(len(names), dtype=bool), np.nan, correlation)
    image = ax.imshow(shown, cmap="RdBu_r", vmin=-1, vmax=1)
    if len(names) <= WITH_NUMBERS:
        _numbers(ax, shown)
    labels = [abridged(name, 24, "…") for name in names]
    ax.set_xticks(range(len(names)), labels, rotation=90)
    ax.set_yticks(range(len(names)), labels)
    ax.tick_params(left=False, bottom=False)
    ax.spines[:].set_visible(False)
    ax.set_xticks(np.arange(len(names) - 1) + 0.5, minor=True)
    ax.set_yticks(np.arange(len(names) - 1) + 0.5, minor=True)
    ax.grid(which="minor", color="white", linewidth=1)
    ax.tick_params(which="minor", length=0)
    bar = figure.colorbar(image, ax=ax, shrink=0.75, ticks=[-1, -0.5, 0, 0.5, 1])
    bar.outline.set_visible(False)
    bar.ax.set_yticklabels(["−1: never\ntogether", "−0.5", "0: unrelated", "0.5", "1: always\ntogether"], fontsize=8)
    return figure


def _numbers(ax: Axes, values: np.ndarray) -> None:
    for (i, j), value in np.ndenumerate(values):
        if value == value:
            text = f"{value:.2f}".replace("-", "−").replace("0.", ".") if abs(value) < 0.995 else f"{value:.0f}"
            ax.text(j, i, text, ha="center", va="center", fontsize=7.5, color="white" if abs(value) > 0.6 else INK)


FIGURES: dict[str, Callable[[Profile], Figure | None]] = {
    "missing": missing_bars,
    "patterns": pattern_plot,
    "pairs": pair_map,
}


def _figure(width: float, height: float, p: Profile, title: str) -> Figure:
    """An empty figure with title, scope and stamp."""
    scope = f"{p.rows:,} rows, relative to {p.width:,} column{'' if p.width == 1 else 's'} in scope"
    left, top, bottom = 0.12 / width, 0.58 / height, 0.26 / height
    engine = ConstrainedLayoutEngine(rect=(left, bottom, 1 - 2 * left, 1 - top - bottom))
    figure = Figure(figsize=(width, height), layout=engine)
    FigureCanvasSVG(figure)
    figure.text(left, 1 - 0.1 / height, title, ha="left", va="top", fontsize=11, fontweight="bold", color=INK)
    figure.text(left, 1 - 0.33 / height, scope, ha="left", va="top", fontsize=8.5, color=GREY)
    figure.text(left, 0.1 / height, STAMP, ha="left", va="bottom", fontsize=7.5, color=RED)
    return figure


def _by_rate(p: Profile) -> list[str]:
    return sorted(p.columns, key=lambda name: -p.missing_rate[name])


def _correlations(p: Profile, names: list[str]) -> np.ndarray:
    """Correlations of being missing; 0 with a column that is always or never missing."""
    both = p.counts.both_missing
    assert both is not None
    index = [p.columns.index(name) for name in names]
    rate = p.counts.missing[index] / p.rows
    spread = np.sqrt(rate * (1 - rate))
    scale = np.outer(spread, spread)
    covariance = both[np.ix_(index, index)] / p.rows - np.outer(rate, rate)
    return np.asarray(np.divide(covariance, scale, out=np.zeros_like(scale), where=scale > 0))


def _by_likeness(p: Profile, names: list[str]) -> list[str]:
    """Columns that tend to be missing together side by side (average linkage on 1 - correlation)."""
    if len(names) < 3 or p.counts.pairs is None:
        return names
    apart = 1 - _correlations(p, names)
    tree = linkage(np.maximum(apart[np.triu_indices(len(names), 1)], 0), "average", optimal_ordering=True)
    return [names[i] for i in leaves_list(tree)]


def _rest(left: int) -> str:
    return f" ({left:,} columns with smaller shares are not shown)" if left > 0 else ""


def _count(rows: int) -> str:
    """At most five characters."""
    for size, unit in ((10**9, "G"), (10**6, "M"), (10**4, "k")):
        if rows >= size:
            value = rows / (1000 if unit == "k" else size)
            return f"{value:.1f}{unit}" if value < 100 else f"{value:.0f}{unit}"
    return f"{rows:,}"
