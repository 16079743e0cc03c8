"""The figures of the page: SVG in percent of whatever width there is, so that text keeps its size."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from absentia.card.text import Measure, even_bet, fixed, markup, tag
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

    def ticks(self) -> list[float]:
        """Round numbers inside: three to five of them, or two where their labels would touch."""
        power = math.floor(math.log10(self.high - self.low)) + 1
        found: list[float] = []
        for step in (m * 10.0 ** (power - k) for k in range(3) for m in (5, 2, 1)):
            first, last = math.ceil(self.low / step - 1e-9), math.floor(self.high / step + 1e-9)
            before, found = found, [k * step for k in range(first, last + 1)]
            if len(found) >= 3:
                return before if len(found) > 5 and len(before) == 2 else found
        return found


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
    m = Measure.of(max(map(abs, ticks), default=0.0), ticks[1] - ticks[0] if ticks else None)
    gap = (ticks[1] - ticks[0]) / m.unit if ticks else 1.0
    decimals = min(12, max(0, -math.floor(math.log10(gap) + 1e-9)))
    texts = "".join(
        f'<text x="{scale.at(t)}" y="12" text-anchor="middle">{fixed(t / m.unit, decimals)}</text>' for t in ticks
    )
    unit = f'<text x="100%" y="26" text-anchor="end">{m.word.strip()}</text>' if m.word else ""
    return f'<svg width="100%" height="{30 if unit else 18}" aria-hidden="true">{texts}{unit}</svg>'


def interval(row: Mapping[str, Any], noise: float, scale: Scale, back: str, bar: bool) -> str:
    """One answer: the whole interval as a thin line, the noise's part of it as a band, the estimate as a dot.

    `noise`: the share of the interval that the noise alone would have. No dot where there is no estimate.
    """
    low, high, x = row["low"], row["high"], row["estimate"]
    zero = scale.at(0.0)
    marks = f'<line class="z" x1="{zero}" x2="{zero}" y1="4" y2="22"/>'
    if row.get("span"):
        marks = _line("g", scale, *row["span"])
    if back:
        marks = f'<use href="#{back}" width="100%" height="{ROW}"/>'
    if bar and x is not None:
        marks += _line("f", scale, 0.0, x)
    if low is not None and high is not None:
        marks += _line("s" if row["se_noise"] is not None else "s o", scale, low, high)
        if x is not None:
            marks += _line("b", scale, x - noise * (x - low), x + noise * (high - x))
    if x is not None:
        marks += f'<circle class="d" cx="{scale.at(x)}" cy="{MIDDLE}" r="3.5"/>'
    return f'<svg width="100%" height="{ROW}" aria-hidden="true">{marks}</svg>'


def _line(kind: str, scale: Scale, a: float, b: float) -> str:
    return f'<line class="{kind}" x1="{scale.at(a)}" x2="{scale.at(b)}" y1="{MIDDLE}" y2="{MIDDLE}"/>'


def key(sampling: bool, bare: bool) -> str:
    """What dot, band and line mean."""
    dot = '<circle class="d" cx="14" cy="7" r="4.5"/>'
    band = '<line class="b" x1="1" x2="27" y1="7" y2="7"/>'
    thin = '<line class="s" x1="1" x2="27" y1="7" y2="7"/>'
    items = [(dot, "estimate"), (band, "what the noise adds")]
    if sampling:
        items.append((thin, "the whole interval: noise, sampling, width of bins"))
    if bare:
        items.append((thin.replace('"s"', '"s o"'), "public bounds: nothing finer can be said"))
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
    told = "; ".join(f"{said['name']}: at most {said['even_bet']}" for said in promise)
    return _named("bets", "What an even bet about one person can become", told, 172, lines)


def _named(ident: str, title: str, description: str, height: int, inside: str) -> str:
    """A figure that a screen reader announces."""
    head = tag("title", markup(title), id=f"{ident}-t") + tag("desc", markup(description, 900), id=f"{ident}-d")
    return tag("svg", head, inside, role="img", aria_labelledby=f"{ident}-t {ident}-d", width="100%", height=height)


LEFT_OUT = ("1.1", "1.25")  # numbers below the curve that would run into their neighbours


def gamma_chart(points: Sequence[Mapping[str, Any]], without: float | None) -> str:
    """Epsilon against Gamma: steps that hold up to their right ends, below the line that needs no law."""
    known = [(float(p["gamma"]), float(p["epsilon"])) for p in points if p["epsilon"] is not None]
    top = 1.15 * max([e for _, e in known] + ([] if without is None else [without]), default=1.0) or 1.0
    across, upward = Scale(-0.16, math.log(float(points[-1]["gamma"])) * 1.02), Scale(0.0, top)

    def at(g: float) -> str:
        return across.at(math.log(g))

    def up(e: float) -> float:
        return round(232 - 208 * e / top, 1)

    parts = [_level("g", up(t), f"{t:g}", "start") for t in upward.ticks() if t]
    parts.append(_level("z", up(0), "0", "start"))
    parts += [_text(at(float(p["gamma"])), 250, p["gamma"], "middle") for p in points if p["gamma"] not in LEFT_OUT]
    for (g, e), (h, f) in pairwise(known):
        parts.append(f'<line class="law" x1="{at(g)}" x2="{at(g)}" y1="{up(e)}" y2="{up(f)}"/>')
        parts.append(f'<line class="law" x1="{at(g)}" x2="{at(h)}" y1="{up(f)}" y2="{up(f)}"/>')
    if without is not None:
        parts.append(_level("wo", up(without), f"without missingness {shown(without)}", "end"))
    parts += [f'<circle class="d" cx="{at(g)}" cy="{up(e)}" r="4.5"/>' for g, e in known]
    parts.append(_text("0", 10, "epsilon", "start", "strong"))
    parts.append(_text("100%", 268, "Gamma: factor on the odds of being missing", "end"))
    told = "; ".join(f"Gamma {p['gamma']}: {shown(p['epsilon'])}" for p in points)
    title = "Epsilon against how wrong the law may be"
    return _named("gamma", title, f"{told}. Without missingness: {shown(without)}", 272, "".join(parts))


def _level(kind: str, y: float, text: str, anchor: str) -> str:
    """A line across, its number above it."""
    line = f'<line class="{kind}" x1="0" x2="100%" y1="{y}" y2="{y}"/>'
    return line + _text("0" if anchor == "start" else "100%", y - 5, text, anchor, "warm" if kind == "wo" else "")


def _text(x: str, y: float, text: str, anchor: str, kind: str = "") -> str:
    return tag("text", markup(text), class_=kind, x=x, y=f"{y:g}", text_anchor=anchor)


def budget_bar(spent: float | None, limit: float, widest: float) -> str:
    """What is spent of the budget, whose end is a line."""
    scale = Scale(0.0, widest)
    full, end = scale.at(widest if spent is None else spent), scale.at(limit)
    rest = f'<rect class="rest" width="{end}" y="6" height="10"/><rect class="bar" width="{full}" y="6" height="10"/>'
    line = f'<line class="z" x1="{end}" x2="{end}" y1="2" y2="20" stroke-width="2"/>'
    return f'<svg width="100%" height="22" aria-hidden="true">{rest}{line}</svg>'
