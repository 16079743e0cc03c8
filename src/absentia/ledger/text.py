"""A book for people: figures, what later releases may use, the law as a plan states it, and every entry."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Mapping
from typing import Any

from absentia.exact import shown, shown_below
from absentia.ledger.account import READINGS, Account, left
from absentia.ledger.unit import events
from absentia.missing import from_dict
from absentia.plain import WIDTH, shortened, toml_table, visible
from absentia.planning.schema import Schema

__all__ = ["as_text", "foreseen", "law_of"]


def as_text(summary: Mapping[str, Any], account: Account) -> str:
    """At most 80 columns, the law apart, which is to be copied."""
    s = summary
    lines = [
        f"ledger of dataset {s['dataset']}",
        (
            f"budget: epsilon {s['budget']['epsilon']}, delta {s['budget']['delta']} ({s['relation']});"
            f" binding: {s['binding'].replace('_', ' ')}"
        ),
        f"{'reading':<24}{'spent':>14}{'remaining':>14}",
    ]
    for k in READINGS:
        room = left(account.limit.epsilon, s["spent"][k])
        lines.append(f"{k.replace('_', ' '):<24}{shown(s['spent'][k]):>14}{shown_below(room):>14}")
    lines += [*_filled(counted(account)), *_filled(allowed(account)), "", law_of(account), ""]
    if s["releases"]:
        lines.append(f"{'#':>3}  {'time (UTC)':<20}{'kind':<8}purpose")
    else:
        lines.append("no releases yet")
    for r in s["releases"]:
        lines.append(f"{r['sequence']:>3}  {r['time'][:19]:<20}{r['kind']:<8}{shortened(r['purpose'], 47)}")
    return "\n".join(lines)


def _filled(text: str) -> list[str]:
    return textwrap.wrap(visible(text), WIDTH, subsequent_indent="  ")


def foreseen(account: Account) -> list[str] | None:
    """The columns that later Gaussian releases may use, alone or together; None: any."""
    return None if account.composes or account.family == "laplace" else events(account.unit.reach)


def allowed(account: Account) -> str:
    """What later releases may use."""
    found, aside = foreseen(account), account.room_aside
    kind = "Laplace" if account.family == "laplace" else "Gaussian"
    what = "any columns" if found is None else "; ".join(found) + "; any columns by plain composition"
    beside = (
        ""
        if kind == "Laplace"
        else (f". Laplace releases and black boxes: epsilon {shown_below(aside.epsilon)}, delta {float(aside.delta):g}")
    )
    return f"later {kind} releases may use: {what}{beside}"


def counted(account: Account) -> str:
    """What the book counts for before the next release; nothing where that is what was spent."""
    ahead = account.ahead()
    if math.isinf(ahead):
        return "no other release can follow the first one"
    if ahead <= account.spent()[account.binding] * (1 + 1e-6):
        return ""
    return f"before a release that may follow these answers, they count epsilon {shown(ahead)}"


def law_of(account: Account) -> str:
    """The [missingness] table of a plan under the book's law; columns and bounds are the schema's where they can be."""
    law = account.missing.to_dict()
    short = {k: v for k, v in law.items() if k not in ("columns", "domain")}
    if from_dict(short, Schema.from_dict(account.schema)).to_dict() == law:
        law = short
    return "\n".join(toml_table("[missingness]", "missingness", law))
