"""A book for people: figures, what later releases may use, the law as a plan states it, and every entry."""

from __future__ import annotations

import json
import math
import re
import textwrap
from collections.abc import Mapping
from typing import Any

from absentia.exact import shown, shown_below
from absentia.ledger.account import READINGS, Account, left
from absentia.ledger.unit import events
from absentia.missing import from_dict
from absentia.plain import WIDTH, shortened, toml_key, toml_text, visible
from absentia.planning.schema import Schema

__all__ = ["as_text", "foreseen", "law_of"]


ROOM = 50
"""Of the screen, for one value of the law beside its key"""


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
    return "\n".join(_table("[missingness]", "missingness", law))


def _table(head: str, path: str, table: Mapping[str, Any]) -> list[str]:
    """A table of TOML under its head; what is too wide for an inline table stands below in tables of its own."""
    lines, below = [head], []
    for name, value in table.items():
        key = toml_key(name)
        line = f"{key} = {_value(value)}"
        tables = value if isinstance(value, (list, tuple)) else [value]
        if max(map(len, line.split("\n"))) <= WIDTH or not all(isinstance(t, Mapping) for t in tables):
            lines.append(line)
            continue
        inner = f"{path}.{key}"
        for t in tables:
            below += ["", *_table(f"[{inner}]" if t is value else f"[[{inner}]]", inner, t)]
    return lines + below


def _value(value: Any, indent: str = "") -> str:
    """A text, a number, a flag, a list or an inline table, as TOML spells them: over several lines where it is long."""
    if isinstance(value, str):
        return _text(toml_text(value))
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{toml_key(k)} = {_value(v, indent)}" for k, v in value.items()) + "}"
    if not isinstance(value, (list, tuple)):
        return json.dumps(value)
    items = [_value(v, indent + "  ") for v in value]
    short = "[" + ", ".join(items) + "]"
    if len(short) <= ROOM and "\n" not in short:
        return short
    return "[" + "".join(f"\n{indent}  {item}," for item in items) + f"\n{indent}]"


def _text(quoted: str) -> str:
    """The quoted text; a long one on several lines, which TOML joins where a line ends with a backslash."""
    if len(quoted) <= ROOM:
        return quoted
    lines = [""]
    for token in re.findall(r"\\U.{8}|\\u.{4}|\\.|.", quoted[1:-1]):
        if len(lines[-1]) + len(token) > ROOM and token != " ":  # spaces that begin a line would be lost
            lines.append("")
        lines[-1] += token
    return '"""' + "\\\n".join(lines) + '"""'
