"""The card as one HTML page: no script, no network, nothing outside the file; smaller than a mail's patience."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from fractions import Fraction
from functools import cache
from importlib.resources import files
from typing import Any

from absentia.card import figures
from absentia.card.answers import answers, errors_table
from absentia.card.text import heads, left, markup, name, tag
from absentia.card.words import NAMES, READINGS
from absentia.card.words import figures as three
from absentia.exact import shown

__all__ = ["LIMIT", "page"]

LIMIT = 290_000
SIZES = (400, 200, 100, 50, 20, 8, 3)
"""How many rows each list shows: the first size with which the page stays below the limit."""
Document = Mapping[str, Any]


def page(document: Document) -> str:
    """The page, with as many rows as fit; every text in it escaped."""
    for most in SIZES:
        found = _page(document, most)
        if len(found.encode()) <= LIMIT:
            return found
    return found


@cache
def style() -> str:
    return files("absentia.card").joinpath("card.css").read_text(encoding="utf-8").strip()


def policy() -> str:
    """Nothing may be loaded or run; the one style sheet is allowed by its hash."""
    digest = base64.b64encode(hashlib.sha256(style().encode()).digest()).decode()
    return f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"


def _page(document: Document, most: int) -> str:
    links = "".join(tag("li", tag("a", title, href=f"#{ident}")) for ident, title, _ in SECTIONS)
    sections = "".join(
        tag("section", tag("h2", title, id=f"{ident}-h"), make(document, most), id=ident, aria_labelledby=f"{ident}-h")
        + "\n"
        for ident, title, make in SECTIONS
    )
    parts = (
        tag("a", "To the answers", class_="skip", href="#answers"),
        _header(document),
        tag("nav", tag("ul", links), aria_label="Sections"),
        tag("main", sections),
        _footer(document),
    )
    return f'<!doctype html>\n<html lang="en">\n{_head(document)}\n{tag("body", *parts)}\n</html>\n'


def _head(document: Document) -> str:
    return (
        f'<head>\n<meta charset="utf-8">\n<meta http-equiv="Content-Security-Policy" content="{policy()}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="referrer" content="no-referrer">\n<meta name="color-scheme" content="light dark">\n'
        f"{tag('title', markup(document['release']['purpose'], 90))}\n<style>{style()}</style>\n</head>"
    )


def _header(document: Document) -> str:
    release = document["release"]
    when = datetime.fromisoformat(release["time"])
    day = tag("time", f"{when.day} {when:%B %Y, %H:%M} UTC", datetime=release["time"])
    by = f", then drawn, by {markup(release['software'])}. Plan {markup(release['plan_identity'][:16])}."
    return tag(
        "header",
        tag("p", "Release card", class_="kicker"),
        tag("h1", name(release["purpose"], 300)),
        tag("p", markup(document["words"]["lead"], 2000), class_="lead"),
        tag("p", "Charged ", day, by, class_="when"),
    )


def _footer(document: Document) -> str:
    text = "Everything on this page is in card.json at full precision, and is recomputed from it, without the data, by "
    command, seal = tag("code", "absentia card verify card.json"), tag("span", markup(document["seal"]), class_="hex")
    return tag("footer", tag("p", text, command, ". Seal ", seal, "."))


# -- sections --------------------------------------------------------------------------------------------------------


def _answers(document: Document, most: int) -> str:
    release = document["release"]
    return answers(release, most) + errors_table(release, most)


def _promise(document: Document, most: int) -> str:
    words, release = document["words"], document["release"]
    delta = markup(release["plan"]["budget"]["delta"])
    intro = f"Three figures, always together: each is a proved upper bound at delta {delta}, rounded up. Smaller is"
    chart = figures.bets(words["promise"], [f["epsilon"] for f in three(release)])
    caption = "How sure a sceptic can become of one of two equally likely worlds (50%: nothing learned; 100%: certain)."
    return "".join(
        [
            tag("p", intro, " better; 0 would be perfect."),
            tag("ul", *map(_reading, words["promise"]), class_="three"),
            tag("h3", "What that means"),
            *(tag("p", markup(text, 900)) for text in words["meaning"]),
            tag("figure", chart, tag("figcaption", caption)),
            tag("h3", "What the first figure assumes"),
            _list(words["promise"][0]["assumes"]),
            tag("h3", "What is not protected"),
            _list(words["not_protected"]),
        ]
    )


def _reading(said: Mapping[str, Any]) -> str:
    """One of the three figures."""
    why = f"epsilon, by {markup(said['result'])}" + (f": {markup(said['because'])}" if said["because"] else "")
    return tag(
        "li",
        tag("h3", markup(said["name"])),
        tag("p", markup(said["epsilon"]), class_="eps"),
        tag("p", why, class_="why"),
        tag("p", markup(said["against"], 600), class_="who"),
    )


def _list(texts: Sequence[str]) -> str:
    return tag("ul", *(tag("li", markup(text, 400)) for text in texts), class_="plain")


def _law(document: Document, most: int) -> str:
    pairs = (tag("dt", markup(k)) + tag("dd", name(v, 700)) for k, v in document["words"]["law"])
    return tag("dl", *pairs, class_="pairs")


def _gamma(document: Document, most: int) -> str:
    text, points = tag("p", markup(document["words"]["gamma"], 900)), document["gamma"]
    if not points:
        return text
    chart = figures.gamma_chart(points, document["release"]["guarantee"]["without_missingness"]["epsilon"])
    caption = "Proved at the dots; each step holds up to its right end. Gamma is on a logarithmic scale."
    gammas = tag("tr", tag("th", "Gamma", scope="row"), *(tag("td", markup(p["gamma"]), class_="n") for p in points))
    figure = (tag("td", shown(p["epsilon"], 4), class_="n") for p in points)
    table = tag("table", gammas, tag("tr", tag("th", "epsilon", scope="row"), *figure))
    region = tag("div", table, class_="wide", tabindex="0", role="region", aria_label="Epsilon by Gamma")
    return text + tag("figure", chart, tag("figcaption", caption)) + region


def _mask(document: Document, most: int) -> str:
    return f"<p>{markup(document['words']['mask'], 900)}</p>"


def _budget(document: Document, most: int) -> str:
    book = document["release"]["ledger"]
    limit = float(Fraction(book["budget"]["epsilon"]))
    widest = max([limit, *(s for s in book["spent"].values() if s is not None)])
    rows = (_spent(book, key, title, limit, widest) for key, title in zip(READINGS, NAMES, strict=True))
    caption = f"Epsilon at delta {markup(book['budget']['delta'])}; the upright line is the budget"
    head = heads(("reading", ""), ("", ""), ("spent", "n"), ("left", "n"))
    body = tag("tbody", *rows, role="rowgroup")
    totals = tag("table", tag("caption", caption), head, body, class_="answers", role="table")
    return "".join(
        [
            tag("p", markup(document["words"]["budget"], 900)),
            totals,
            tag("h3", "What stands in the book"),
            _releases(document["release"], most),
        ]
    )


def _spent(book: Document, key: str, title: str, limit: float, widest: float) -> str:
    """One reading of the budget."""
    spent = book["spent"][key]
    return tag(
        "tr",
        tag("th", title, scope="row", role="rowheader"),
        tag("td", figures.budget_bar(spent, limit, widest), class_="plot", role="cell"),
        tag("td", shown(spent), class_="n", data_label="spent", role="cell"),
        tag("td", left(book["remaining"][key]), class_="n", data_label="left", role="cell"),
        class_="now" if key == book["binding"] else "",
        role="row",
    )


def _releases(release: Document, most: int) -> str:
    """The newest rows of the book, this release's marked."""
    found = release["ledger"]["releases"]
    rows = (
        tag(
            "tr",
            tag("td", str(r["sequence"]), class_="n"),
            tag("td", markup(r["time"][:16].replace("T", " "))),
            tag("td", markup(r["kind"])),
            tag("td", name(r["purpose"], 160)),
            class_="now" if r["sequence"] == release["receipt"]["sequence"] else "",
        )
        for r in found[-most:]
    )
    head = heads(("row", "n"), ("time (UTC)", ""), ("kind", ""), ("purpose", ""))
    return tag("table", head, tag("tbody", *rows)) + _more(len(found) - most, "earlier rows")


def _more(count: int, what: str) -> str:
    return tag("p", f"{count:,} {what} are in card.json.", class_="more") if count > 0 else ""


def _hazards(document: Document, most: int) -> str:
    rows = (
        tag("tr", tag("th", markup(h["code"]), scope="row", class_="code"), tag("td", markup(h["text"], 500)))
        for h in document["hazards"][:most]
    )
    text = "What could undermine the promise and concerns this release. Each was checked, or is left to people."
    table = tag("table", heads(("code", ""), ("what it means here", "")), tag("tbody", *rows))
    return tag("p", text) + table + _more(len(document["hazards"]) - most, "more")


def _noise(document: Document, most: int) -> str:
    noise = document["release"]["noise"]
    text, found = tag("p", markup(document["words"]["noise"], 900)), noise["statistics"]
    if not found:
        return text
    rows = (
        tag(
            "tr",
            tag("th", name(s["name"], 100), scope="row"),
            tag("td", f"{len(s['values']):,}", class_="n"),
            tag("td", shown(s["scale"]), class_="n"),
            tag("td", f"{s['grid']:.3g}", class_="n"),
        )
        for s in found[:most]
    )
    symbol = "sigma" if noise["family"] == "gaussian" else "scale b"
    table = tag("table", heads(("sum of", ""), ("cells", "n"), (symbol, "n"), ("grid", "n")), tag("tbody", *rows))
    region = tag("div", table, class_="wide", tabindex="0", role="region", aria_label="Noisy sums")
    return text + tag("details", tag("summary", f"{len(found):,} noisy sums"), region, _more(len(found) - most, "more"))


BINDS = (
    "The receipt was issued when the charge was on the disk, before any noise was drawn. It binds the plan, the law,"
    " the noise and the budget: none of them can be changed afterwards without the receipt failing. It cannot bind the"
    " answers, which did not exist yet; the seal below holds them together. It finds slips; a forger could compute it"
    " again."
)
COMMANDS = "absentia card verify card.json\nabsentia card verify card.json --ledger study.ledger"
CHECKS = (
    "The first command needs neither the data nor the book. It builds the plan again, proves the three figures and the"
    " curve again, computes all answers from the noisy sums, and adds up the book from its rows. The second also holds"
    " the book itself to the receipt."
)


def _receipt(document: Document, most: int) -> str:
    receipt, plan = document["release"]["receipt"], document["release"]["plan_identity"]
    lines = (("dataset", "dataset"), ("row of the book", "sequence"), ("its hash", "head"))
    pairs = [(label, str(receipt[key])) for label, key in lines]
    listed = (tag("dt", k) + tag("dd", markup(v), class_="hex") for k, v in [*pairs, ("plan", plan)])
    commands = tag("pre", tag("code", COMMANDS))
    return tag("dl", *listed, class_="pairs") + tag("p", BINDS) + commands + tag("p", CHECKS)


Section = Callable[[Document, int], str]
SECTIONS: tuple[tuple[str, str, Section], ...] = (
    ("answers", "What was released", _answers),
    ("promise", "The promise", _promise),
    ("law", "What is said about the holes", _law),
    ("wrong", "If that is wrong", _gamma),
    ("mask", "If the mask is known", _mask),
    ("book", "The budget book", _budget),
    ("hazards", "Hazards", _hazards),
    ("noise", "The noise", _noise),
    ("receipt", "Receipt and verification", _receipt),
)
