"""The answers on the page: one table a query, whose rows hold the figure, the estimate and the interval."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any

from absentia.card import figures
from absentia.card.figures import Scale
from absentia.card.text import decimals_for, fixed, markup
from absentia.query.estimate import Reading, half_width

__all__ = ["answers", "errors_table"]

COUNTS = ("count", "histogram", "marginal")
APART = ("regression", "moments", "covariance", "pca", "linear")
UNLIKE = 6.0  # intervals that differ by more than this cannot share a scale when their units differ
Row = Mapping[str, Any]


def answers(release: Mapping[str, Any], most: int) -> str:
    """A figure for every query, until `most` rows are shown."""
    left, out, rows = most, [], release["rows"]
    for i, (name, kind, found) in enumerate(by_query(release)):
        if left <= 0:
            break
        out.append(_query(f"q{i}", name, kind, found[:left], len(found), release))
        left -= len(found)
    hidden = len(rows) - min(most, len(rows))
    more = f'<p class="more">{hidden:,} more answers are in card.json.</p>' if hidden > 0 else ""
    sampling = any(_noise_share(r, release) < 0.995 for r in rows[:most])
    own = "".join(
        f"<li><b>{markup(q['query'])}</b>: computed and noised by its user, with noise of scale"
        f" {q['noise_scale']:.6g}; its answer is not known here.</li>"
        for q in release["own_queries"][:most]
    )
    return (figures.key(sampling) if rows else "") + "".join(out) + more + (f'<ul class="plain">{own}</ul>' if own else "")


def by_query(release: Mapping[str, Any]) -> Iterator[tuple[str, str, list[Row]]]:
    """Name, kind and rows of every query that has rows."""
    kinds = [q["kind"] for q in release["plan"]["query"] if q["kind"] != "custom"]
    found = [(name, list(rows)) for name, rows in groupby(release["rows"], key=lambda r: str(r["query"]))]
    for i, (name, rows) in enumerate(found):
        yield name, kinds[i] if len(kinds) == len(found) else "", rows


def _query(ident: str, name: str, kind: str, rows: Sequence[Row], total: int, release: Mapping[str, Any]) -> str:
    """The table of one query."""
    share = shared(kind, rows)
    scale = _scale(rows, zero=kind in COUNTS) if share else None
    back = figures.grid(ident, scale) if scale else ""
    body = "".join(_row(r, ident if scale else "", scale or _scale([r], True), kind in COUNTS, release) for r in rows)
    if scale:
        body += f'<tr class="axis" role="row"><td role="cell"></td><td class="plot" role="cell">{figures.axis(scale)}</td>'
        body += '<td role="cell" colspan="2"></td></tr>'
    sure = f"{float(release['plan']['confidence']):.4g}"
    head = '<th scope="col" role="columnheader">{}</th><th scope="col" role="columnheader"></th>'.format(
        "" if [r["cell"] for r in rows] == [""] else "cell"
    )
    head += '<th scope="col" role="columnheader" class="n">estimate</th>'
    head += f'<th scope="col" role="columnheader" class="n">{100 * float(sure):.4g} % interval</th>'
    notes = list(dict.fromkeys(str(r["note"]) for r in rows if r["note"]))
    if not share:
        notes.append("each row on a scale of its own, which begins or ends at zero")
    if len(rows) < total:
        notes.append(f"{total - len(rows):,} more cells in card.json")
    said = f"<figcaption>{'; '.join(markup(n, 300) for n in notes[:4])}.</figcaption>" if notes else ""
    return (
        f'<figure aria-labelledby="{ident}-h"><h3 id="{ident}-h"><bdi>{markup(name)}</bdi></h3>{back}'
        f'<table class="answers" role="table" aria-labelledby="{ident}-h"><thead role="rowgroup"><tr role="row">{head}'
        f'</tr></thead><tbody role="rowgroup">{body}</tbody></table>{said}</figure>'
    )


def shared(kind: str, rows: Sequence[Row]) -> bool:
    """Whether the rows can be compared on one scale: always, unless they may be in different units."""
    widths = [r["high"] - r["low"] for r in rows if r["low"] is not None and r["high"] is not None]
    return kind not in APART or (min(widths, default=1.0) * UNLIKE >= max(widths, default=1.0))


def _scale(rows: Sequence[Row], zero: bool) -> Scale:
    ends = [r[k] for r in rows for k in ("low", "estimate", "high") if r[k] is not None]
    return Scale.around(ends, zero)


def _row(r: Row, back: str, scale: Scale, bar: bool, release: Mapping[str, Any]) -> str:
    """One answer: its name, its figure, its numbers."""
    drawn = figures.interval(r, _noise_share(r, release), scale, back, bar)
    return (
        f'<tr role="row"><th scope="row" role="rowheader"><bdi>{markup(str(r["cell"]) or "all", 90)}</bdi></th>'
        f'<td class="plot" role="cell">{drawn}</td>'
        f'<td class="n est" role="cell">{estimate(r)}</td><td class="n rng" role="cell">{ends(r)}</td></tr>'
    )


def _half(r: Row) -> float | None:
    sides = [abs(r[k] - r["estimate"]) for k in ("low", "high") if r[k] is not None and r["estimate"] is not None]
    return max(sides) if sides else None


def estimate(r: Row) -> str:
    """The estimate with as many digits as its error leaves; in words where there is none."""
    if r["estimate"] is None or r["se_noise"] is None:
        return "not known"
    return fixed(r["estimate"], decimals_for(_half(r)))


def ends(r: Row) -> str:
    if r["low"] is None or r["high"] is None:
        return "none"
    d = decimals_for(_half(r))
    return f"{fixed(r['low'], d, -1)} to {fixed(r['high'], d, 1)}"


def _noise_share(r: Row, release: Mapping[str, Any]) -> float:
    """How much of the interval the noise alone would need."""
    half, noise = _half(r), r["se_noise"]
    if not half or noise is None:
        return 1.0
    plan = release["plan"]
    alone = half_width(noise, 0.0, Reading(plan["n"], float(plan["confidence"]), release["noise"]["family"]))
    return min(1.0, alone / half)


def errors_table(release: Mapping[str, Any], most: int) -> str:
    """Both standard errors of every answer shown, apart."""
    rows = release["rows"][:most]
    if not rows:
        return ""
    body = "".join(
        f'<tr><th scope="row"><bdi>{markup(str(r["query"]), 60)}</bdi></th><td><bdi>{markup(str(r["cell"]), 60)}</bdi></td>'
        f'<td class="n">{_error(r["se_noise"])}</td><td class="n">{_error(r["se_sampling"])}</td></tr>'
        for r in rows
    )
    head = "".join(
        f'<th scope="col"{extra}>{name}</th>'
        for name, extra in (("query", ""), ("cell", ""), ("noise", ' class="n"'), ("sampling", ' class="n"'))
    )
    return (
        "<details><summary>Standard errors: noise and sampling apart</summary>"
        f'<div class="wide" tabindex="0" role="region" aria-label="Standard errors"><table><caption>The sampling error is'
        f" what another sample of the same size would add.</caption><thead><tr>{head}</tr></thead><tbody>{body}</tbody>"
        "</table></div></details>"
    )


def _error(value: float | None) -> str:
    return "none" if value is None else f"{value:.3g}"
