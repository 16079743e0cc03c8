"""A plan in words: the derivation that a mathematician can follow, the summary on a terminal, the notebook's table."""

from __future__ import annotations

import html
import math
import textwrap
from typing import TYPE_CHECKING

from absentia.exact import shown
from absentia.law.blocks import Blocks
from absentia.law.forms import Forms
from absentia.law.reachlaw import ReachLaw
from absentia.plain import shortened, visible
from absentia.planning.blocks import kind_of
from absentia.query.statistic import Bins, Statistic

if TYPE_CHECKING:
    from absentia.planning.planned import Plan

__all__ = ["as_html", "explain", "spelled", "summary"]


def spelled(s: Statistic) -> str:
    """The statistic as a formula."""
    powers = [f"z[{c}]" + (f"^{e}" if e > 1 else "") for c, e in s.powers if e]
    inside = " ".join(([f"w[{s.weight}]"] if s.weight else []) + powers) or "1"
    counted = [c for c, e in s.powers if not e]
    cells = [c.column + " bins" if isinstance(c, Bins) else c for c in s.cells]
    over = f" where {', '.join(counted)} observed" if counted else ""
    return f"sum {inside}{over}" + (f" by {', '.join(cells)}" if cells else "")


def explain(plan: Plan) -> str:
    """Numbered steps from the schema to the promise; each says its result and which way it rounds."""
    steps = [
        _setting(plan), _statistics(plan), _reach(plan), _distances(plan), _law(plan), _noise(plan), _figures(plan),
        _meaning(plan),
    ]  # fmt: skip
    lines = [f"Derivation of plan {plan.identity[:16]}"]
    for i, (title, text, listed) in enumerate(steps, 1):
        lines += ["", f"{i}. {title}", *_wrapped(text), *(f"     {line}" for line in listed)]
    return "\n".join(lines)


def _wrapped(text: str) -> list[str]:
    return textwrap.wrap(visible(text), 77, initial_indent="   ", subsequent_indent="   ")


Step = tuple[str, str, list[str]]


def _setting(plan: Plan) -> Step:
    unit = plan.schema.unit or "row"
    n = f"n = {plan.n} is public." if plan.n else "n is not public."
    other = "exchanged for any other" if plan.relation == "substitute" else "added or removed"
    text = f"Neighbouring tables differ in one {unit}, {other}; {n} Numbers are clipped to their public bounds and"
    text += " rescaled to z in [-1, 1]; a missing entry contributes nothing to any sum, so an all-missing row is the"
    text += " origin from which every distance is measured (THEORY 2)."
    return "Setting", text, []


def _statistics(plan: Plan) -> Step:
    symbol = "sigma" if plan.noise_family == "gaussian" else "b"
    text = f"The queries are functions of {len(plan.scales)} exact sums; each gets its own {plan.noise_family} noise."
    text += " Answers are post-processing. Scales are rounded up."
    shown = [f"{shortened(spelled(s), 52):<54}{symbol} {x:.6g}" for s, x in plan.scales.items()][:40]
    shown += [f"{shortened(name, 52):<54}{symbol} {x:.6g}, run by its user" for name, x in plan.own_scales.items()]
    more = [f"... and {len(plan.scales) - 40} more"] if len(plan.scales) > 40 else []
    return "What is released", text, shown + more


def _reach(plan: Plan) -> Step:
    norm = "sum" if plan.reach.norm == 1 else "root of the sum of squares"
    text = f"A row that shows the columns O moves the batch by r(O), in units of the noise: the {norm} over the sums"
    text += " whose columns are all in O (T7: releases on one mask stack before anything is amplified). Weights round"
    text += f" up. A row with nothing missing has reach {shown(plan.reach.full)}."
    return "Joint reach (T7)", text, []


def _distances(plan: Plan) -> Step:
    d = plan.batch.distances
    text = f"Two rows are at most {shown(d.largest)} apart whatever they show (twice the reach would be"
    text += f" {shown(2 * d.reach.full)}), because counts cancel, squares have one sign, a row lies in one cell, and"
    text += " pair products of a set of columns are bounded together (Proofs 10, 11). This distance needs no law; it"
    text += " gives the figure without missingness. Rounded up."
    return "Distance between two rows (Proofs 10, 11)", text, []


def _law(plan: Plan) -> Step:
    m, s = plan.missing, plan.structure
    said = f' because "{m.because}"' if m.because else ""
    by = f" (by {m.by})" if m.by else ""
    text = f"The missingness is {m.name}, {m.kind}{said}{by}. What follows from it: {kind_of(s)}. Probabilities of"
    text += " large reaches round up, reaches round up: the law used dominates the law declared (THEORY 3)."
    listed = [
        shortened(f"block {i}: {', '.join(b.columns)}: {b.because}", 75) for i, b in enumerate(plan.blocks[:12], 1)
    ]
    if len(plan.blocks) > 12:
        listed.append(f"... and {len(plan.blocks) - 12} more blocks")
    total = s if isinstance(s, ReachLaw) else s.total(plan.noise.norm)
    shares = f"P(R > 0) = {shown(total.p_exact)}, mean {shown(total.mean)}, max {shown(total.max)}"
    listed.append(f"law of the total: {shares}")
    if isinstance(s, Blocks):
        listed.append(f"{len(s.blocks) or len(s.classes)} {'blocks' if s.blocks else 'latent classes'}")
    if isinstance(s, Forms):
        listed.append(f"{len(s.reaches)} pieces that are seen or hidden whole")
    return "Law of the reach", text, listed


def _noise(plan: Plan) -> Step:
    text = f"All scales carry one factor, the least at which a proved figure keeps {plan.budget} (found in floating"
    text += " point, proved in ball arithmetic, rounded up). Without missingness the same budget needs"
    text += f" {plan.saving:.4f} times this noise."
    return "Calibration", text, []


def _figures(plan: Plan) -> Step:
    d, lines = plan.budget.delta, []
    for b in plan.guarantee.used_at(d):
        e = b.epsilon(d)
        lines.append(f"{b.result:<6} epsilon {shown(e) if math.isfinite(e) else 'none'}")
    text = f"Every result that applies is a proved curve; the smallest is valid. At delta {shown(d)}, rounded up:"
    return "Results", text, lines


def _meaning(plan: Plan) -> Step:
    d = plan.budget.delta
    listed = []
    for name, g in plan.guarantee.with_companions:
        figure = g.answer(delta=d)
        listed.append(f"{name:<26} epsilon {shown(figure.epsilon):<10} {figure.result}")
    text = "The promise, always in three readings. The first assumes: "
    text += "; ".join(plan.guarantee.answer(delta=d).assumptions) + "."
    return "Promise", text, listed


# -- the terminal ----------------------------------------------------------------------------------------------------


def summary(plan: Plan) -> str:
    """The plan in 80 columns: promise, blocks, errors, saving, hazards, advice."""
    d = plan.budget.delta
    asked = f"{len(plan.queries)} {'query' if len(plan.queries) == 1 else 'queries'}"
    size = f"{asked}, {len(plan.scales)} {'statistic' if len(plan.scales) == 1 else 'statistics'}"
    lines = [f"plan {plan.identity[:16]}: {size}, {plan.noise_family} noise"]
    lines += [f"budget {plan.budget} ({plan.relation})", "", f"epsilon at delta {shown(d)}, proved and rounded up"]
    lines += plan.guarantee.lines(d)
    lines.append(f"  noise without missingness / this noise  {plan.saving:.3f}")
    lines += ["", f"blocks: {len(plan.blocks)}, {kind_of(plan.structure)}"]
    for block in plan.blocks[:8]:
        lines += _item(", ".join(block.columns) + ": " + block.because)
    if len(plan.blocks) > 8:
        lines += _item(f"... and {len(plan.blocks) - 8} more")
    lines += ["", str(plan.accuracy())]
    lines += ["", "hazards", *(line for code, text in plan.hazards for line in _item(f"{code} {text}"))]
    if plan.advice:
        lines += ["", "advice", *(line for text in plan.advice for line in _item(text))]
    return "\n".join(lines)


def _item(text: str) -> list[str]:
    return textwrap.wrap(visible(text), 80, initial_indent="  ", subsequent_indent="    ")


def as_html(plan: Plan) -> str:
    """The promise, the errors and the hazards as small tables; every name escaped."""
    d = plan.budget.delta
    rows = "".join(
        f"<tr><th style='text-align:left'>{html.escape(name)}</th><td>{shown(g.epsilon(d))}</td></tr>"
        for name, g in plan.guarantee.with_companions
    )
    errors = "".join(
        f"<tr><th style='text-align:left'>{html.escape(x.query)}</th><td>{html.escape(x.cell)}</td>"
        f"<td>{x.best:.3g}</td><td>{'' if x.worst == math.inf else f'{x.worst:.3g}'}</td></tr>"
        for x in list(plan.accuracy())[:60]
    )
    title = html.escape(f"Plan {plan.identity[:16]}, budget {plan.budget}: epsilon at delta {shown(d)}")
    head = "<tr><th>query</th><th>cell</th><th>half-width, best</th><th>worst</th></tr>"
    return f"<table><caption>{title}</caption>{rows}</table><table>{head}{errors}</table>"
