"""A profile as text of at most 80 columns, stamped at both ends."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import TYPE_CHECKING

from absentia.plain import abridged, shortened, visible

if TYPE_CHECKING:
    from absentia.table.profile import Profile

__all__ = ["STAMP", "report"]

STAMP = "NOT FOR RELEASE; NOT A GUARANTEE"
WIDTH = 80
COLUMNS, LEVELS, PATTERNS, PAIRS = 40, 24, 12, 8
BAR = 30


def report(p: Profile) -> str:
    """The whole report."""
    parts = [_head(p), _shares(p), _columns(p), _levels(p), _patterns(p), _pairs(p)]
    body = "\n\n".join("\n".join(part) for part in parts if part)
    return f"{STAMP}: exact facts about people\n\n{body}\n\n{STAMP}"


def _head(p: Profile) -> list[str]:
    plural = "" if p.width == 1 else "s"
    names = ", ".join(p.columns[:COLUMNS]) + (f", ... ({len(p.columns):,} in all)" if len(p.columns) > COLUMNS else "")
    lines = [f"{p.rows:,} rows, relative to {p.width:,} column{plural} in scope:"]
    lines += textwrap.wrap(visible(names), WIDTH, initial_indent="  ", subsequent_indent="  ")
    return lines + [line for text in _notes(p) for line in textwrap.wrap(visible(text), WIDTH)]


def _notes(p: Profile) -> Iterator[str]:
    """What a schema that does not fit its table would show, and what was left out."""
    left, schema, unparsed = p.counts.left, p.schema, p.unparsed
    if schema is not None and schema.n is not None and schema.n != p.rows:
        yield f"The schema declares n = {schema.n:,}: correct it, or a release may be refused (E-ROWS)."
    if schema is not None and schema.long is not None and schema.long.n_items < p.width:
        yield f"{p.width:,} items occur, more than the {schema.long.n_items:,} that the schema declares (n_items)."
    if left.dropped and (schema is None or schema.long is None):
        yield f"{left.dropped:,} rows left out (no person, or beyond what one person may have)"
    elif left.dropped:
        others = left.dropped - left.outside
        also = f"; {others:,} name no user or item, show nothing, or repeat another" if others else ""
        yield f"{left.dropped:,} entries left out: {left.outside:,} of items outside the list{also}"
    if left.unordered:
        yield f"{left.unordered:,} rows have no number or date in {p.order}, which orders rows, and come last."
    if unparsed:
        named = [f"{name} {cells:,}" for name, cells in sorted(unparsed.items(), key=lambda item: -item[1])]
        yield f"{sum(unparsed.values()):,} cells hold what the schema excludes and count as missing: {_named(named)}"
        yield "(A number is written 1234.5, not 1,234.5 or 12 %; categories go letter by letter, Yes is not yes.)"


def _shares(p: Profile) -> list[str]:
    low, high = p.p_star_interval
    lines = [
        _line("fully missing rows", f"{p.fully_missing_rows:,}"),
        _line("p*", f"{p.p_star:.4f}", f"rows that show something (95 %: {low:.3f}-{high:.3f})"),
        _line("k", f"{p.k:,}", "most columns observed in one row"),
        _line("rho = k / columns", f"{p.rho:.4f}"),
    ]
    if p.eta is not None:
        lines.append(_line("eta", f"{p.eta:.4f}", f"share of rows with more than {p.asked_k} observed"))
    rest = p.without_always_observed()
    if rest is not None:
        always = len(p.always_observed)
        text = (
            f"{always} column{'s are' if always > 1 else ' is'} observed in every row: {_named(p.always_observed)}. "
            f"For queries that ignore {'them' if always > 1 else 'it'}: p* {rest[0]:.4f}, rho {rest[1]:.4f}."
        )
        lines += ["", *textwrap.wrap(visible(text), WIDTH)]
    return lines


def _line(name: str, value: str, note: str = "") -> str:
    return f"{name:<20}{value:>10}   {note}".rstrip()


def _named(names: Sequence[str], at_most: int = 12) -> str:
    return ", ".join(names[:at_most]) + (f" and {len(names) - at_most} more" if len(names) > at_most else "")


def _columns(p: Profile) -> list[str]:
    if not p.rows:
        return []
    rates = sorted(p.missing_rate.items(), key=lambda item: -item[1])
    some = [(name, rate) for name, rate in rates if rate > 0]
    lines = ["missing, by column"] + [_bar(name, rate) for name, rate in some[:COLUMNS]]
    if len(some) > COLUMNS:
        lines.append(f"  ... and {len(some) - COLUMNS:,} columns with {some[COLUMNS][1]:.1%} or less")
    return [*lines, f"  nothing is missing in {len(rates) - len(some):,} of {p.width:,} columns"]


def _bar(name: str, rate: float) -> str:
    return f"  {abridged(name, 29):<30}{rate:>8.1%}  {'#' * max(round(rate * BAR), rate > 0)}"


def _levels(p: Profile) -> list[str]:
    """Rows by observed columns; when there are many counts, ranges of counts."""
    if not p.rows:
        return []
    levels = sorted(p.observed_histogram)
    step = 1 if len(levels) <= LEVELS else -(-(levels[-1] - levels[0] + 1) // LEVELS)
    merged: dict[int, int] = {}
    for k in levels:  # 0, the fully missing rows, is a range of its own
        low = k if k == 0 else 1 + (k - 1) // step * step
        merged[low] = merged.get(low, 0) + p.observed_histogram[k]
    lines = ["rows, by observed columns"]
    for low, rows in merged.items():
        label = f"{low:,}" if step == 1 or low == 0 else f"{low:,} to {min(low + step - 1, p.width):,}"
        lines.append(f"  {label:<18}{rows:>12,}{p.share(rows):>8.1%}  " + "#" * round(p.share(rows) * BAR))
    return [line.rstrip() for line in lines]


def _patterns(p: Profile) -> list[str]:
    distinct = len(p.counts.patterns)
    if not distinct:
        return []
    lines = [f"patterns: {distinct:,} distinct, the most common"]
    for missing, rows in islice(p.patterns(), PATTERNS):
        what = "nothing" if not missing else "everything" if len(missing) == p.width else ", ".join(missing)
        lines.append(shortened(f"  {rows:>12,}{p.share(rows):>8.1%}  missing: {what}", WIDTH))
    if distinct > PATTERNS or p.counts.unlisted:
        shown = sum(rows for _, rows in islice(p.patterns(), PATTERNS))
        lines.append(f"  {p.rows - shown:>12,}{p.share(p.rows - shown):>8.1%}  other patterns")
    return lines


def _pairs(p: Profile) -> list[str]:
    pairs = p.pairs(PAIRS)
    if not pairs:
        return []
    missing = dict(zip(p.columns, p.counts.missing.tolist(), strict=True))
    lines = ["missing together, the most common pairs            rows  if independent"]
    for a, b, rows in pairs:
        expected = missing[a] * missing[b] / p.rows
        lines.append(f"  {abridged(a, 19)}, {abridged(b, 19)}".ljust(44) + f"{rows:>12,}{expected:>16,.1f}")
    return lines
