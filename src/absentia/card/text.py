"""Text and numbers as a page shows them: hostile names made harmless, intervals rounded outwards."""

from __future__ import annotations

import html
import math
import unicodedata
from dataclasses import dataclass
from decimal import ROUND_CEILING, ROUND_FLOOR, ROUND_HALF_EVEN, Decimal
from fractions import Fraction

from absentia.exact import shown, shown_below
from absentia.plain import visible

__all__ = ["Measure", "chance", "even_bet", "fixed", "heads", "left", "markup", "name", "percent", "tag"]

STACKED = 4  # combining marks that one letter may carry before they are written out
TINY = 1e-9


def cut(text: str, most: int) -> str:
    """The text with nothing in it that cannot be seen, cut to `most` characters with the number left out."""
    kept = calm(visible(text[: 2 * most + STACKED]))
    if len(kept) <= most and len(text) <= 2 * most + STACKED:
        return kept
    return f"{kept[:most]}\u2026 ({max(1, len(text) - most):,} more characters)"


def calm(text: str) -> str:
    """The text with piles of combining marks, which would cover the lines above, written out."""
    out, pile = [], 0
    for c in text:
        pile = pile + 1 if unicodedata.combining(c) else 0
        out.append(c if pile <= STACKED else c.encode("unicode_escape").decode("ascii"))
    return "".join(out)


def markup(text: str, most: int = 120) -> str:
    """The text as HTML or SVG may hold it, between tags and in attributes; its direction stays its own."""
    return html.escape(cut(text, most), quote=True)


def name(text: object, most: int = 120) -> str:
    """A name that somebody else chose, as markup that keeps its direction to itself."""
    return f"<bdi>{markup(str(text), most)}</bdi>"


def tag(kind: str, *inside: str, **attributes: object) -> str:
    """An element around markup that is escaped already; attributes are escaped here (`class_` is class, _ is -)."""
    given = "".join(f' {k.rstrip("_").replace("_", "-")}="{html.escape(str(v))}"' for k, v in attributes.items() if v)
    return f"<{kind}{given}>{''.join(inside)}</{kind}>"


def heads(*columns: tuple[str, str]) -> str:
    """The row of a table's column headers, each with its class."""
    return tag("thead", tag("tr", *(tag("th", text, scope="col", class_=kind) for text, kind in columns)))


# -- numbers ---------------------------------------------------------------------------------------------------------


def decimals_for(error: float | None) -> int:
    """How many decimals show an error with two digits."""
    if error is None or not error > 0 or not math.isfinite(error):
        return 3
    return min(12, max(0, 1 - math.floor(math.log10(error))))


def fixed(value: float | None, decimals: int, towards: int = 0) -> str:
    """The number with so many decimals and a true minus; `towards` -1 rounds down, 1 up (the ends of intervals)."""
    if value is None:
        return "none"
    if abs(value) >= 1e15 or (value and decimals == 12 and abs(value) < 1e-9):
        return f"{value:.4g}".replace("-", "\u2212", 1)
    how = {-1: ROUND_FLOOR, 0: ROUND_HALF_EVEN, 1: ROUND_CEILING}[towards]
    number = Decimal(value).quantize(Decimal(1).scaleb(-decimals), how)
    text = f"{number:,f}"
    return text.replace("-", "\u2212") if number else text.replace("-", "")


@dataclass(frozen=True)
class Measure:
    """How the numbers of one answer are written: their unit and how many decimals their error leaves."""

    unit: float
    word: str
    decimals: int

    @staticmethod
    def of(biggest: float, error: float | None) -> Measure:
        """Millions for what is millions wide, powers of ten for what is tiny, else plain numbers."""
        for unit, word in LARGE:
            if biggest >= unit and (error or 0.0) >= unit / 1000:
                return Measure(unit, f" {word}", decimals_for((error or unit) / unit))
        if 0 < biggest < 1e-3:
            power = 3 * math.floor(math.log10(biggest) / 3)
            digits = str(power).replace("-", "\u207b").translate(RAISED)
            return Measure(10.0**power, f" \u00d7 10{digits}", decimals_for((error or biggest) / 10.0**power))
        return Measure(1.0, "", decimals_for(error))

    def write(self, value: float, towards: int = 0) -> str:
        """The number without its unit."""
        return fixed(value / self.unit, self.decimals, towards)


LARGE = ((1e12, "trillion"), (1e9, "billion"), (1e6, "million"))
RAISED = str.maketrans("0123456789", "\u2070\u00b9\u00b2\u00b3\u2074\u2075\u2076\u2077\u2078\u2079")


def left(value: float | None) -> str:
    """What may still be spent, rounded down."""
    return "0" if value is None or value < TINY else shown_below(value)


def even_bet(epsilon: float | None) -> float:
    """What an even bet about one person can become at most, as a share: e^eps / (1 + e^eps)."""
    return 1.0 if epsilon is None else 1 / (1 + math.exp(-min(epsilon, 700.0)))


def percent(share: float) -> str:
    """A share in per cent, rounded up to a tenth."""
    return f"{min(100.0, math.ceil(share * 1000 - 1e-9) / 10):g}%"


def chance(delta: Fraction | float) -> str:
    """A small probability in words."""
    q = Fraction(delta).limit_denominator(10**15)
    if q and q.numerator == 1 and abs(float(q) - float(delta)) <= 1e-9 * float(delta):
        return f"one in {q.denominator:,}"
    return shown(delta)
