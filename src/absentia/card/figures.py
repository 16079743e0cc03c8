"""The figures of the page: SVG in percent of whatever width there is, so that text keeps its size."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from absentia.card.text import even_bet, fixed, markup, percent
from absentia.exact import shown

__all__ = ["Scale", "axis", "bets", "budget_bar", "gamma_chart", "grid", "interval", "key"]

ROW, MIDDLE = 26, 13


@dataclass(frozen=True)
class Scale:
    """Values to percent of the width."""

    low: float
    high: float

    @staticmethod
    def around(values: Sequence[float], zero: bool) -> Scale:
        """The smallest scale that shows all values, with a little room; from zero where counts are compared."""
        all_values = [*values, 0.0] if zero or not values else list(values)
        low, high = min(all_values), max(all_values)
        room = 0.03 * (high - low) or abs(high) * 0.1 or 1.0
        return Scale(low if zero and low == 0 else low - room, high if zero and high == 0 else high + room)

    def at(self, value: float) -> str:
        share = (value - self.low) / (self.high - self.low)
        return f"{100 * min(max(share, 0.0), 1.0):.4g}%"

    def ticks(self, about: int = 4) -> list[float]:
        """Round numbers inside."""
        raw = (self.high - self.low) / about
        unit = 10.0 ** math.floor(math.log10(raw))
        step = next(unit * m for m in (1, 2, 5, 10) if unit * m >= raw * 0.999)
        first = math.ceil(self.low / step - 1e-9)
        return [k * step for k in range(first, math.floor(self.high / step + 1e-9) + 1)]


def grid(name: str, scale: Scale) -> str:
    """The lines behind every row of one figure, drawn once and used by name; zero is darker."""
    lines = "".join(
        f'<line class="{"z" if t == 0 else "g"}" x1="{scale.at(t)}" x2="{scale.at(t)}" y1="0" y2="{ROW}"/>'
        for t in scale.ticks()
    )
    return f'<svg width="0" height="0" aria-hidden="true"><defs><symbol id="{name}">{lines}</symbol></defs></svg>'


def axis(scale: Scale) -> str:
    """The numbers below the lines."""
    ticks = scale.ticks()
    step = ticks[1] - ticks[0] if len(ticks) > 1 else abs(ticks[0]) if ticks else 1.0
    decimals = min(12, max(0, -math.floor(math.log10(step) + 1e-9))) if step else 0
    texts = "".join(
        f'<text x="{scale.at(t)}" y="12" text-anchor="middle">{fixed(t, decimals)}</text>' for t in ticks
    )
    return f'<svg width="100%" height="18" aria-hidden="true">{texts}</svg>'


def interval(row: Mapping[str, Any], noise: float, scale: Scale, back: str, bar: bool) -> str:
    """One answer: the whole interval as a thin line, the noise's part of it as a band, the estimate as a dot.

    `noise`: the share of the interval that the noise alone would have. No dot where there is no standard error.
    """
    low, high, x = row["low"], row["high"], row["estimate"]
    marks = f'<use href="#{back}" width="100%" height="{ROW}"/>' if back else ""
    if bar and x is not None:
        marks += _line("f", scale, 0.0, x)
    if low is not None and high is not None:
        marks += _line("s" if row["se_noise"] is not None else "s o", scale, low, high)
        if x is not None and row["se_noise"] is not None:
            marks += _line("b", scale, x - noise * (x - low), x + noise * (high - x))
    if x is not None and row["se_noise"] is not None:
        marks += f'<circle class="d" cx="{scale.at(x)}" cy="{MIDDLE}" r="4.5"/>'
    return f'<svg width="100%" height="{ROW}" aria-hidden="true">{marks}</svg>'


def _line(kind: str, scale: Scale, a: float, b: float) -> str:
    return f'<line class="{kind}" x1="{scale.at(a)}" x2="{scale.at(b)}" y1="{MIDDLE}" y2="{MIDDLE}"/>'


def key(sampling: bool) -> str:
    """What dot, band and line mean."""
    dot = '<circle class="d" cx="14" cy="7" r="4.5"/>'
    band = '<line class="b" x1="1" x2="27" y1="7" y2="7"/>'
    thin = '<line class="s" x1="1" x2="27" y1="7" y2="7"/>'
    items = [(dot, "estimate"), (band, "what the noise adds")]
    if sampling:
        items.append((thin, "the whole interval: noise, sampling, width of bins"))
    return '<ul class="key">' + "".join(
        f'<li><svg width="28" height="14" aria-hidden="true">{mark}</svg>{text}</li>' for mark, text in items
    ) + "</ul>"  # fmt: skip


def bets(promise: Sequence[Mapping[str, Any]], epsilons: Sequence[float | None]) -> str:
    """How sure a sceptic can become who begins at even odds, under the three readings."""
    scale = Scale(0.48, 1.02)
    lines = "".join(
        f'<line class="g" x1="{scale.at(t)}" x2="{scale.at(t)}" y1="0" y2="150"/>'
        f'<text x="{scale.at(t)}" y="166" text-anchor="middle">{t:.0%}</text>'
        for t in (0.5, 0.6, 0.7, 0.8, 0.9, 1.0)
    )
    for i, (said, e) in enumerate(zip(promise, epsilons, strict=True)):
        y, to = 36 + 50 * i, scale.at(even_bet(e))
        lines += f'<text class="strong" x="{scale.at(0.51)}" y="{y - 14}">{markup(said["name"])}: {said["even_bet"]}'
        lines += f'</text><line class="b" x1="{scale.at(0.5)}" x2="{to}" y1="{y}" y2="{y}"/>'
        lines += f'<circle class="d" cx="{to}" cy="{y}" r="5.5"/>'
    told = "; ".join(f"{said['name']}: at most {percent(even_bet(e))}" for said, e in zip(promise, epsilons, strict=True))
    return _named("bets", "What an even bet about one person can become", told, 172, lines)


def _named(ident: str, title: str, description: str, height: int, inside: str) -> str:
    """A figure that a screen reader announces."""
    return (
        f'<svg role="img" aria-labelledby="{ident}-t {ident}-d" width="100%" height="{height}">'
        f'<title id="{ident}-t">{markup(title)}</title><desc id="{ident}-d">{markup(description, 900)}</desc>{inside}</svg>'
    )


def gamma_chart(points: Sequence[Mapping[str, Any]], without: float | None) -> str:
    """Epsilon against Gamma: steps that hold up to their right ends, below the line that needs no law."""
    finite = [(float(p["gamma"]), p["epsilon"]) for p in points if p["epsilon"] is not None]
    top = max([e for _, e in finite] + ([without] if without is not None else []), default=1.0) * 1.18 or 1.0
    across = Scale(-0.035, math.log(float(points[-1]["gamma"])) * 1.02)
    at = lambda g: across.at(math.log(g))  # noqa: E731
    up = lambda e: f"{214 - 200 * e / top:.4g}"  # noqa: E731
    lines = "".join(
        f'<line class="g" x1="0" x2="100%" y1="{up(t)}" y2="{up(t)}"/><text x="0" y="{float(up(t)) - 4:.4g}">{t:g}</text>'
        for t in Scale(0.0, top).ticks(3)
    )
    lines += "".join(
        f'<text x="{at(float(p["gamma"]))}" y="232" text-anchor="middle">{markup(p["gamma"])}</text>'
        for p in points
        if p["gamma"] not in ("1.1", "1.25")
    )
    if without is not None:
        y = up(without)
        lines += f'<line class="wo" x1="0" x2="100%" y1="{y}" y2="{y}"/>'
        lines += f'<text class="warm" x="100%" y="{float(y) - 7:.4g}" text-anchor="end">without missingness {shown(without)}</text>'
    for (g, e), (h, f) in zip(finite, finite[1:], strict=False):
        lines += f'<line class="law" x1="{at(g)}" x2="{at(g)}" y1="{up(e)}" y2="{up(f)}"/>'
        lines += f'<line class="law" x1="{at(g)}" x2="{at(h)}" y1="{up(f)}" y2="{up(f)}"/>'
    lines += "".join(f'<circle class="d" cx="{at(g)}" cy="{up(e)}" r="4.5"/>' for g, e in finite)
    lines += '<text x="100%" y="250" text-anchor="end">Gamma, how far values may move the odds of being missing</text>'
    lines += '<text class="strong" x="0" y="10">epsilon</text>'
    told = "; ".join(f"Gamma {p['gamma']}: {shown(p['epsilon'])}" for p in points)
    return _named("gamma", "Epsilon against how wrong the law may be", f"{told}. Without missingness: {shown(without)}", 256, lines)


def budget_bar(spent: float | None, limit: float, widest: float) -> str:
    """What is spent of the budget, whose end is a line."""
    scale = Scale(0.0, widest)
    full = scale.at(widest if spent is None else spent)
    return (
        f'<svg width="100%" height="22" aria-hidden="true"><rect class="rest" width="{scale.at(limit)}" y="6" height="10"/>'
        f'<rect class="bar" width="{full}" y="6" height="10"/>'
        f'<line class="z" x1="{scale.at(limit)}" x2="{scale.at(limit)}" y1="2" y2="20" stroke-width="2"/></svg>'
    )
