"""The answers on the page: a table a query, or a run of single numbers; rows hold figure, estimate and interval."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any

from absentia.card import figures
from absentia.card.figures import Scale
from absentia.card.text import Measure, heads, markup, name, tag
from absentia.query.estimate import OF_OBSERVED, OF_TABLE, Reading, half_width

__all__ = ["answers", "errors_table"]

COUNTS = ("count", "histogram", "marginal")
OWN_UNITS = "each row in its own unit"
APART = ("regression", "moments", "covariance", "pca", "linear")
UNLIKE = 6.0  # intervals that differ by more than this cannot share a scale where rows may differ in unit
SHORT = 14  # rows that are kept on one printed page
OWN_SCALE = "every row has a scale of its own, where the upright line is zero"
OWN_SPAN = "every row spans the public bounds of its column"
Row = Mapping[str, Any]
Release = Mapping[str, Any]


def answers(release: Release, most: int) -> str:
    """A figure for every query, until `most` rows are shown; then the notes, each once."""
    shown, out, rows, notes = 0, [], release["rows"], Notes()
    for i, (title, kind, found) in enumerate(tables(release)):
        if shown < most:
            out.append(Figure(f"q{i}", title, kind, found[: most - shown], len(found), release, notes).html())
        shown += len(found)
    sampling = any(noise_share(r, release) < 0.995 for r in rows[:most])
    bare = any(r["se_noise"] is None for r in rows[:most])
    parts = [figures.key(sampling, bare) if rows else "", *out, notes.html(), _more(len(rows) - most, "answers")]
    return "".join([*parts, _own(release, most)])


def by_query(release: Release) -> Iterator[tuple[str, Mapping[str, Any], list[Row]]]:
    """Name, query and rows of every query that has rows."""
    queries = [q for q in release["plan"]["query"] if q["kind"] != "custom"]
    found = [(title, list(rows)) for title, rows in groupby(release["rows"], key=lambda r: str(r["query"]))]
    for i, (title, rows) in enumerate(found):
        yield title, queries[i] if len(queries) == len(found) else {}, rows


def tables(release: Release) -> Iterator[tuple[str, str, list[Row]]]:
    """Title, kind and rows of every table: single numbers of one kind that follow one another share one."""
    alone = lambda f: (f[1].get("kind", ""), len(f[2]) == 1 and not f[2][0]["cell"])  # noqa: E731
    for (kind, single), run in groupby(by_query(release), key=alone):
        found = list(run)
        if kind and single and len(found) > 1:
            merged: list[Row] = [{**r[0], "cell": title, "span": _span(release, q)} for title, q, r in found]
            yield f"{len(merged)} {kind}s", kind if kind in COUNTS else OWN_UNITS, merged
        else:
            yield from ((title, kind, rows) for title, _, rows in found)


def _span(release: Release, query: Mapping[str, Any]) -> list[float] | None:
    """Where a mean can lie: the public bounds of its column."""
    if query["kind"] != "mean":
        return None
    bounds: list[float] = release["plan"]["schema"]["columns"][query["column"]].get("bounds", [0, 1])  # a boolean's
    return bounds


def _more(count: int, what: str) -> str:
    return f'<p class="more">{count:,} more {what} are in card.json.</p>' if count > 0 else ""


def _own(release: Release, most: int) -> str:
    """The queries that their user runs: their answers are not known here."""
    if not release["own_queries"]:
        return ""
    items = "".join(
        f"<li>{name(q['query'])}: noise of scale {q['noise_scale']:.6g}</li>" for q in release["own_queries"][:most]
    )
    text = "Queries that their user computes and noises; their answers are not known here."
    return f'<h3>Run by the user</h3><p class="note">{text}</p><ul class="plain">{items}</ul>'


class Notes:
    """Remarks about answers, numbered as they come up."""

    def __init__(self) -> None:
        self.numbers: dict[str, int] = {}

    def refer(self, remarks: Sequence[str]) -> list[str]:
        """Links to the remarks."""
        found = sorted({self.numbers.setdefault(remark, len(self.numbers) + 1) for remark in remarks})
        return [f'<a href="#note-{n}">{n}</a>' for n in found]

    def html(self) -> str:
        items = "".join(f'<li id="note-{n}"><b>{n}</b>{markup(text, 400)}</li>' for text, n in self.numbers.items())
        return f'<ul class="notes" aria-label="Notes">{items}</ul>' if items else ""


def remarks(row: Row) -> list[str]:
    """The statements that a row's note is made of."""
    note = str(row["note"])
    known = next((text for text in (OF_OBSERVED, OF_TABLE) if note.startswith(text)), "")
    rest = note[len(known) :].strip("; ")
    if rest.startswith("("):  # "(at most)" belongs to what stands before it
        first, _, rest = rest.partition("; ")
        known = f"{known} {first}"
    return [*([known] if known else []), *(rest.split("; ") if rest else [])]


class Figure:
    """The table of one query: cell, figure, estimate, interval."""

    def __init__(
        self, ident: str, title: str, kind: str, rows: Sequence[Row], total: int, release: Release, notes: Notes
    ) -> None:
        self.ident, self.title, self.rows, self.total, self.release = ident, title, rows, total, release
        self.bars, self.notes = kind in COUNTS, notes
        self.scale = _scale(rows, zero=self.bars) if comparable(kind, rows) else None
        self.keys, self.cells = short_names([str(r["cell"]) for r in rows])

    def html(self) -> str:
        back = figures.grid(self.ident, self.scale) if self.scale else ""
        rows = [self._row(r, cell) for r, cell in zip(self.rows, self.cells, strict=True)]
        ident = f"{self.ident}-h"
        head = tag("thead", self._head(), role="rowgroup")
        body = tag("tbody", *rows, self._axis(), role="rowgroup")
        table = tag("table", head, body, class_="answers", role="table", aria_labelledby=ident)
        parts = (tag("h3", name(self.title), id=ident), back, table, self._caption())
        return tag("figure", *parts, aria_labelledby=ident, class_="short" if len(self.rows) <= SHORT else "")

    def _head(self) -> str:
        sure = f"{100 * float(self.release['plan']['confidence']):.4g}% interval"
        columns = [(name(self.keys, 60), ""), ("", ""), ("estimate", "n"), (sure, "n")]
        cells = (tag("th", text, scope="col", role="columnheader", class_=kind) for text, kind in columns)
        return tag("tr", *cells, role="row")

    def _row(self, r: Row, cell: str) -> str:
        scale = self.scale or (Scale(*r["span"]) if r.get("span") else _scale([r], zero=True))
        drawn = figures.interval(r, noise_share(r, self.release), scale, self.ident if self.scale else "", self.bars)
        mark = "" if self._alike() else tag("sup", " ".join(self.notes.refer(remarks(r))))
        return tag(
            "tr",
            tag("th", name(cell, 90), mark, scope="row", role="rowheader"),
            tag("td", drawn, class_="plot", role="cell"),
            tag("td", estimate(r), class_="n est", role="cell"),
            tag("td", ends(r), class_="n rng", role="cell"),
            role="row",
        )

    def _axis(self) -> str:
        if self.scale is None:
            return ""
        drawn = figures.axis(self.scale)
        return f'<tr class="axis" aria-hidden="true"><td></td><td class="plot">{drawn}</td><td></td><td></td></tr>'

    def _alike(self) -> bool:
        return len({r["note"] for r in self.rows}) == 1

    def _caption(self) -> str:
        shared = remarks(self.rows[0]) if self._alike() else []
        scales = [] if self.scale else [OWN_SPAN if self.rows[0].get("span") else OWN_SCALE]
        links = self.notes.refer([*shared, *scales])
        told = [f"Note{'s' if len(links) > 1 else ''} {', '.join(links)}"] if links else []
        if len(self.rows) < self.total:
            told.append(f"{self.total - len(self.rows):,} more cells are in card.json")
        return f"<figcaption>{'. '.join(told)}.</figcaption>" if told else ""


def short_names(cells: Sequence[str]) -> tuple[str, list[str]]:
    """What all cells have in common ("sex, smoker"), and what is left of each ("f, yes"); as they are, if in doubt."""
    split = [[part.partition("=") for part in cell.split(", ")] for cell in cells]
    keys = [tuple(key for key, _, _ in parts) for parts in split]
    clear = all(sign and value for parts in split for _, sign, value in parts)
    if not clear or len(set(keys)) > 1 or any("[" in cell for cell in cells):
        return "", [cell or "all" for cell in cells]
    return ", ".join(keys[0]), [", ".join(value for _, _, value in parts) for parts in split]


def comparable(kind: str, rows: Sequence[Row]) -> bool:
    """Whether the rows can stand on one scale: always, unless they may be in different units."""
    widths = [r["high"] - r["low"] for r in rows if r["low"] is not None and r["high"] is not None]
    if kind == OWN_UNITS:
        return False
    return kind not in APART or min(widths, default=1.0) * UNLIKE >= max(widths, default=1.0)


def _scale(rows: Sequence[Row], zero: bool) -> Scale:
    return Scale.around([r[k] for r in rows for k in ("low", "estimate", "high") if r[k] is not None], zero)


# -- numbers ---------------------------------------------------------------------------------------------------------


def _half(r: Row) -> float | None:
    """The longer side of the interval; half of it where there is no estimate."""
    if r["estimate"] is None:
        return None if r["low"] is None or r["high"] is None else float(r["high"] - r["low"]) / 2
    sides = [abs(r[k] - r["estimate"]) for k in ("low", "high") if r[k] is not None and r["estimate"] is not None]
    return max(sides) if sides else None


def measure(r: Row) -> Measure:
    return Measure.of(max((abs(r[k]) for k in ("low", "estimate", "high") if r[k] is not None), default=0.0), _half(r))


def estimate(r: Row) -> str:
    """The estimate with as many digits as its error leaves; in words where there is none."""
    if r["estimate"] is None:
        return "not known"
    m = measure(r)
    return m.write(r["estimate"]) + m.word


def ends(r: Row) -> str:
    """The interval, rounded outwards."""
    if r["low"] is None or r["high"] is None:
        return "none"
    m = measure(r)
    return f"{m.write(r['low'], -1)} to {m.write(r['high'], 1)}{m.word}"


def noise_share(r: Row, release: Release) -> float:
    """How much of the interval the noise alone would need."""
    half, noise, plan = _half(r), r["se_noise"], release["plan"]
    if not half or noise is None:
        return 1.0
    reading = Reading(plan["n"], float(plan["confidence"]), release["noise"]["family"])
    return min(1.0, half_width(noise, 0.0, reading) / half)


def errors_table(release: Release, most: int) -> str:
    """Both standard errors of every answer shown, apart."""
    rows = release["rows"][:most]
    if not rows:
        return ""
    body = "".join(
        tag(
            "tr",
            tag("th", name(r["query"], 60), scope="row"),
            tag("td", name(r["cell"], 60)),
            tag("td", _error(r["se_noise"]), class_="n"),
            tag("td", _error(r["se_sampling"]), class_="n"),
        )
        for r in rows
    )
    head = heads(("query", ""), ("cell", ""), ("noise", "n"), ("sampling", "n"))
    caption = tag("caption", "The sampling error is what another sample of the same size would add.")
    table = tag("table", caption, head, tag("tbody", body))
    region = tag("div", table, class_="wide", tabindex="0", role="region", aria_label="Standard errors")
    return tag("details", tag("summary", "Standard errors: noise and sampling apart"), region)


def _error(value: float | None) -> str:
    return "none" if value is None else f"{value:.3g}"
