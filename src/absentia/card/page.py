"""The card as one HTML page: no script, no network, nothing outside the file; smaller than a mail's patience."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from functools import cache
from importlib.resources import files
from typing import Any

from absentia.card import figures
from absentia.card.answers import answers, errors_table
from absentia.card.text import cut, left, markup
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
    title = cut(document["release"]["purpose"], 90)
    body = "".join(
        f'<section id="{ident}" aria-labelledby="{ident}-h"><h2 id="{ident}-h">{name}</h2>{make(document, most)}</section>\n'
        for ident, name, make in SECTIONS
    )
    links = "".join(f'<li><a href="#{ident}">{name}</a></li>' for ident, name, _ in SECTIONS)
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{policy()}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="referrer" content="no-referrer">\n<meta name="color-scheme" content="light dark">\n'
        f"<title>{markup(title)}</title>\n<style>{style()}</style>\n</head>\n<body>\n"
        f'<a class="skip" href="#answers">To the answers</a>\n{_header(document)}\n'
        f'<nav aria-label="Sections"><ul>{links}</ul></nav>\n<main>\n{body}</main>\n{_footer(document)}\n</body>\n</html>\n'
    )


def _header(document: Document) -> str:
    release = document["release"]
    when = datetime.fromisoformat(release["time"])
    day = f"{when.day} {when:%B %Y, %H:%M} UTC"
    return (
        f'<header><p class="kicker">Release card</p><h1><bdi>{markup(release["purpose"], 300)}</bdi></h1>'
        f'<p class="lead">{markup(document["words"]["lead"], 2000)}</p>'
        f'<p class="when">Charged <time datetime="{markup(release["time"])}">{day}</time>, then drawn, by'
        f" {markup(release['software'])}. Plan {markup(release['plan_identity'][:16])}.</p></header>"
    )


def _footer(document: Document) -> str:
    return (
        "<footer><p>Everything on this page is in card.json at full precision, and is recomputed from it, without the"
        f' data, by <code>absentia card verify card.json</code>. Seal <span class="hex">{markup(document["seal"])}</span>.'
        "</p></footer>"
    )


# -- sections --------------------------------------------------------------------------------------------------------


def _answers(document: Document, most: int) -> str:
    release = document["release"]
    return answers(release, most) + errors_table(release, most)


def _promise(document: Document, most: int) -> str:
    words = document["words"]
    cards = "".join(
        f'<li><h3>{markup(p["name"])}</h3><p class="eps"><span aria-label="epsilon {markup(p["epsilon"])}">'
        f'{markup(p["epsilon"])}</span></p><p class="why">epsilon, by {markup(p["result"])}{_gloss(p["because"])}</p>'
        f'<p class="who">{markup(p["against"], 600)}</p></li>'
        for p in words["promise"]
    )
    delta = shown(document["release"]["guarantee"]["delta"])
    chart = figures.bets(words["promise"], [f["epsilon"] for f in three(document["release"])])
    said = "".join(f"<p>{markup(text, 900)}</p>" for text in words["meaning"])
    assumed = "".join(f"<li>{markup(text, 400)}</li>" for text in words["promise"][0]["assumes"])
    limits = "".join(f"<li>{markup(text, 400)}</li>" for text in words["not_protected"])
    return (
        f"<p>Three figures, always together: each is a proved upper bound at delta {delta}, rounded up. Smaller is"
        f' better; 0 would be perfect.</p><ul class="three">{cards}</ul>'
        f"<h3>What that means</h3>{said}<figure>{chart}<figcaption>How sure a sceptic can become of one of two equally"
        f" likely worlds (50 %: nothing learned; 100 %: certain).</figcaption></figure>"
        f'<h3>What the first figure assumes</h3><ul class="plain">{assumed}</ul>'
        f'<h3>What is not protected</h3><ul class="plain">{limits}</ul>'
    )


def _gloss(text: str) -> str:
    return f": {markup(text)}" if text else ""


def _law(document: Document, most: int) -> str:
    pairs = "".join(
        f"<div><dt>{markup(k)}</dt><dd><bdi>{markup(v, 700)}</bdi></dd></div>" for k, v in document["words"]["law"]
    )
    return f'<dl class="law-of">{pairs}</dl>'.replace("<div>", "").replace("</div>", "").replace("law-of", "pairs")


def _gamma(document: Document, most: int) -> str:
    text = f"<p>{markup(document['words']['gamma'], 900)}</p>"
    points = document["gamma"]
    if not points:
        return text
    without = document["release"]["guarantee"]["without_missingness"]["epsilon"]
    head = "".join(f'<th scope="col" class="n">{markup(p["gamma"])}</th>' for p in points)
    cells = "".join(f'<td class="n">{shown(p["epsilon"], 4)}</td>' for p in points)
    return (
        f"{text}<figure>{figures.gamma_chart(points, without)}<figcaption>Proved at the dots; each step holds up to its"
        f' right end. Gamma is on a logarithmic scale.</figcaption></figure><div class="wide" tabindex="0" role="region"'
        f' aria-label="Epsilon by Gamma"><table><tr><th scope="row">Gamma</th>{head}</tr>'
        f'<tr><th scope="row">epsilon</th>{cells}</tr></table></div>'
    )


def _mask(document: Document, most: int) -> str:
    return f"<p>{markup(document['words']['mask'], 900)}</p>"


def _budget(document: Document, most: int) -> str:
    release = document["release"]
    book = release["ledger"]
    spent, limit = book["spent"], float(shown(_fraction(book["budget"]["epsilon"])))
    widest = max([limit, *(s for s in spent.values() if s is not None)])
    rows = "".join(
        f'<tr{" class=now" if key == book["binding"] else ""}><th scope="row">{name}</th>'
        f'<td class="plot">{figures.budget_bar(spent[key], limit, widest)}</td><td class="n">{shown(spent[key])}</td>'
        f'<td class="n">{left(book["remaining"][key])}</td></tr>'
        for key, name in zip(READINGS, NAMES, strict=True)
    )
    head = _head(("reading", ""), ("", ""), ("spent", "n"), ("left", "n"))
    shown_rows, hidden = _newest(book["releases"], most)
    listed = "".join(
        f"<tr{' class=now' if r['sequence'] == release['receipt']['sequence'] else ''}>"
        f'<td class="n">{r["sequence"]}</td><td>{markup(r["time"][:16].replace("T", " "))}</td><td>{markup(r["kind"])}</td>'
        f"<td><bdi>{markup(r['purpose'], 160)}</bdi></td></tr>"
        for r in shown_rows
    )
    more = f'<p class="more">{hidden:,} earlier rows are in card.json.</p>' if hidden else ""
    return (
        f'<p>{markup(document["words"]["budget"], 900)}</p><table class="answers books"><caption>Epsilon at delta'
        f" {markup(book['budget']['delta'])}; the upright line is the budget</caption><thead><tr>{head}</tr></thead>"
        f"<tbody>{rows}</tbody></table>"
        f"<h3>What stands in the book</h3><table><thead><tr>{_head(('row', 'n'), ('time (UTC)', ''), ('kind', ''), ('purpose', ''))}"
        f"</tr></thead><tbody>{listed}</tbody></table>{more}"
    )


def _fraction(text: str) -> Any:
    from fractions import Fraction

    return Fraction(text)


def _newest(rows: Sequence[Any], most: int) -> tuple[Sequence[Any], int]:
    return rows[-most:], max(0, len(rows) - most)


def _head(*columns: tuple[str, str]) -> str:
    return "".join(f'<th scope="col"{f" class={c}" if c else ""}>{name}</th>' for name, c in columns)


def _hazards(document: Document, most: int) -> str:
    rows = "".join(
        f'<tr><th scope="row" class="code">{markup(h["code"])}</th><td>{markup(h["text"], 500)}</td></tr>'
        for h in document["hazards"][:most]
    )
    text = "<p>What could undermine the promise and concerns this release. Each was checked, or is left to people.</p>"
    return f"{text}<table><thead><tr>{_head(('code', ''), ('what it means here', ''))}</tr></thead><tbody>{rows}</tbody></table>"


def _noise(document: Document, most: int) -> str:
    noise = document["release"]["noise"]
    symbol = "sigma" if noise["family"] == "gaussian" else "scale b"
    found = noise["statistics"]
    rows = "".join(
        f'<tr><th scope="row"><bdi>{markup(s["name"], 100)}</bdi></th><td class="n">{len(s["values"]):,}</td>'
        f'<td class="n">{shown(s["scale"])}</td><td class="n">{s["grid"]:.3g}</td></tr>'
        for s in found[:most]
    )
    text = f"<p>{markup(document['words']['noise'], 900)}</p>"
    if not found:
        return text
    more = f'<p class="more">{len(found) - most:,} more are in card.json.</p>' if len(found) > most else ""
    head = _head(("sum of", ""), ("cells", "n"), (symbol, "n"), ("grid", "n"))
    return (
        f"{text}<details><summary>{len(found):,} noisy sums</summary>"
        f'<div class="wide" tabindex="0" role="region" aria-label="Noisy sums"><table><thead><tr>{head}</tr></thead>'
        f"<tbody>{rows}</tbody></table></div>{more}</details>"
    )


def _receipt(document: Document, most: int) -> str:
    release = document["release"]
    receipt = release["receipt"]
    pairs = "".join(
        f'<dt>{name}</dt><dd class="hex">{markup(str(value))}</dd>'
        for name, value in (
            ("dataset", receipt["dataset"]),
            ("row of the book", receipt["sequence"]),
            ("its hash", receipt["head"]),
            ("plan", release["plan_identity"]),
        )
    )
    return (
        f'<dl class="pairs">{pairs}</dl>'
        "<p>The receipt was issued when the charge was on the disk, before any noise was drawn. It binds the plan, the"
        " law, the noise and the budget: none of them can be changed afterwards without the receipt failing. It cannot"
        " bind the answers, which did not exist yet; they are held together by the seal below, which finds slips, and"
        " which a forger could compute again.</p>"
        "<pre><code>absentia card verify card.json\nabsentia card verify card.json --ledger study.ledger</code></pre>"
        "<p>The first command needs neither the data nor the book. It builds the plan again, proves the three figures"
        " and the curve again, computes all answers from the noisy sums, and adds up the book from its rows. The second"
        " also holds the book itself to the receipt.</p>"
    )


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
