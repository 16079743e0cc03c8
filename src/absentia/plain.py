"""Text that may come from outside (names of columns and files, purposes), made safe for a terminal and cut to size."""

from __future__ import annotations

import json
import re
import textwrap
import unicodedata
from collections.abc import Mapping
from typing import Any

__all__ = ["WIDTH", "abridged", "labelled", "shortened", "toml_key", "toml_table", "toml_text", "visible"]

WIDTH = 80
"""Columns of a terminal."""
ROOM = 50
"""Of the screen, for one value of a table beside its key"""
HIDDEN = {"Cc", "Cf", "Cs", "Zl", "Zp"}
"""Unicode categories that steer a terminal, end a line or turn its direction, and show nothing themselves."""


def visible(text: str, keep: str = "") -> str:
    r"""The text with every character that a terminal would obey written out; those in `keep` are left.

    >>> print(visible("a\x1b[31mb\nepsilon 0"))
    a\x1b[31mb\nepsilon 0
    """
    if text.isprintable():
        return text
    return "".join(c if c in keep or unicodedata.category(c) not in HIDDEN else _escaped(c) for c in text)


def _escaped(c: str) -> str:
    return c.encode("unicode_escape").decode("ascii")


def shortened(text: str, width: int) -> str:
    """The visible text, cut to a width."""
    plain = visible(text)
    return plain if len(plain) <= width else plain[: width - 3] + "..."


def abridged(text: str, width: int, mark: str = "...") -> str:
    """The visible text without its middle where it is longer than a width: names of one prefix stay different names.

    >>> abridged("questionnaire_health_smoking", 20)
    'question...h_smoking'
    """
    plain, kept = visible(text), width - len(mark)
    return plain if len(plain) <= width else plain[: kept // 2] + mark + plain[len(plain) - (kept - kept // 2) :]


def labelled(label: str, width: int, rest: str) -> str:
    """The label in a field of this width, then the rest; a longer label has lines of its own, for none may be mistaken.

    >>> print(labelled("  cov bmi, cholesterol", 8, "1.5"))
      cov bmi, cholesterol
            1.5
    """
    name = visible(label)
    if len(name) < width:
        return f"{name:<{width}}{rest}"
    indent = name[: len(name) - len(name.lstrip())]
    lines = textwrap.wrap(name.strip(), WIDTH, initial_indent=indent, subsequent_indent=indent + "  ")
    return "\n".join([*lines, " " * width + rest])


def toml_text(text: str) -> str:
    r"""The text between quotes as TOML reads it back, every character that cannot be seen written out.

    >>> print(toml_text('a"\x9b'))
    "a\"\u009b"
    """
    quoted = json.dumps(text, ensure_ascii=False)
    return "".join(
        c if c.isprintable() else f"\\U{ord(c):08x}" if ord(c) > 0xFFFF else f"\\u{ord(c):04x}" for c in quoted
    )


def toml_key(name: str) -> str:
    """The name as a key of TOML: bare where that is allowed."""
    return name if re.fullmatch(r"[A-Za-z0-9_-]+", name) else toml_text(name)


def toml_table(head: str, path: str, table: Mapping[str, Any]) -> list[str]:
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
            below += ["", *toml_table(f"[{inner}]" if t is value else f"[[{inner}]]", inner, t)]
    return lines + below


def _value(value: Any, indent: str = "") -> str:
    """A text, a number, a flag, a list or an inline table, as TOML spells them; of a long list, what a line holds."""
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
    lines = ["["]
    for item in items:
        joined = f"{lines[-1]} {item},"
        if len(lines) > 1 and len(joined) <= WIDTH and "\n" not in joined:
            lines[-1] = joined
        else:
            lines.append(f"{indent}  {item},")
    return "\n".join([*lines, f"{indent}]"])


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
