"""Exact decimals in, proved bounds out: the only place where numbers change their kind.

Budgets are exact rationals ("0.1" is 1/10). Proofs run in ball arithmetic (Arb): a ball contains the true
value, and `above` returns a double that no point of the ball exceeds.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from decimal import Decimal, InvalidOperation
from fractions import Fraction
from typing import Any

import flint
from flint import arb, fmpq, fmpz

from absentia.errors import InputError

__all__ = [
    "above",
    "ball",
    "below",
    "echoed",
    "exact",
    "integer",
    "list_of",
    "number",
    "precision",
    "probability",
    "root_up",
    "round_down",
    "round_up",
    "shown",
    "shown_below",
]


MOST_DIGITS = 5000
LONG_EXPONENT = re.compile(r"[eE][+-]?[0-9_]*[1-9_][0-9_]{3}")
"""Written out, such a number would fill the memory"""


def exact(value: object, field: str) -> Fraction:
    """The exact rational that `value` spells; a float is refused because its decimal text is not what it holds.

    >>> exact("0.1", "epsilon")
    Fraction(1, 10)
    """
    if isinstance(value, bool) or not isinstance(value, (int, str, Fraction, Decimal)):
        raise InputError(
            field, value, 'an exact number: a string such as "0.1" or "1/3", an int, a Fraction or a Decimal'
        )
    if isinstance(value, (str, Decimal)) and (len(str(value)) > MOST_DIGITS or LONG_EXPONENT.search(str(value))):
        raise InputError(field, value, f"a number of at most {MOST_DIGITS} digits, with an exponent of at most three")
    try:
        return Fraction(value.strip() if isinstance(value, str) else value)
    except (ValueError, ZeroDivisionError, OverflowError, InvalidOperation):
        raise InputError(field, value, 'a finite number such as "0.1" or "1/3"') from None


def number(value: object, field: str) -> Fraction:
    """The exact rational behind `value`; a float stands for its binary value."""
    if getattr(value, "shape", None) == () and hasattr(value, "item"):
        value = value.item()  # numpy scalars
    if isinstance(value, float):
        if not math.isfinite(value):
            raise InputError(field, value, "a finite number")
        return Fraction(value)
    return exact(value, field)


def probability(value: object, field: str) -> Fraction:
    """The exact rational behind `value`, which must lie in [0, 1]."""
    p = number(value, field)
    if not 0 <= p <= 1:
        raise InputError(field, value, "a number in [0, 1]")
    return p


def integer(value: object, field: str, low: int, high: int | None = None) -> int:
    """The integer, which is at least `low` and at most `high`; True is none."""
    if isinstance(value, bool) or not isinstance(value, int) or value < low or (high is not None and value > high):
        allowed = f"an integer >= {low}" if high is None else f"an integer from {low} to {high}"
        raise InputError(field, value, allowed)
    return value


def list_of(value: object, field: str, allowed: str) -> list[Any]:
    """The items of a list, tuple, array or other collection; a text or a table is none."""
    if isinstance(value, (str, bytes, Mapping)) or not isinstance(value, Iterable):
        raise InputError(field, value, allowed)
    return list(value)


def ball(value: Fraction | float | int | arb) -> arb:
    """A ball that contains `value` at the current precision (exact for floats and ints that fit)."""
    if isinstance(value, Fraction):
        return arb(fmpq(fmpz(value.numerator), fmpz(value.denominator)))
    return arb(value)


def above(x: arb) -> float:
    """The smallest double that is at least every point of the ball; inf when the ball is unbounded."""
    top = x.upper()
    if not top.is_finite():
        return math.inf
    f = float(top)
    while arb(f) < top:
        f = math.nextafter(f, math.inf)
    return f


def below(x: arb) -> float:
    """The largest double that is at most every point of the ball; -inf when the ball is unbounded."""
    return -above(-x)


def round_up(q: Fraction | int) -> float:
    """The smallest double that is at least q."""
    try:
        f = float(q)
    except OverflowError:
        return math.inf if q > 0 else -math.nextafter(math.inf, 0)
    while f < q:  # Python compares floats and rationals exactly
        f = math.nextafter(f, math.inf)
    return f


def round_down(q: Fraction | int) -> float:
    """The largest double that is at most q."""
    return 0.0 - round_up(-q)  # never -0.0


def root_up(x: Fraction, norm: int) -> float:
    """x^(1/norm), rounded up."""
    if norm == 1:
        return round_up(x)
    # integer square root of x * 2^(2s), s large enough for 60 bits: exact, whatever the magnitude
    shift = max(0, 64 - (x.numerator.bit_length() - x.denominator.bit_length()) // 2)
    scaled = -((-x.numerator << 2 * shift) // x.denominator)
    return round_up(Fraction(math.isqrt(max(scaled - 1, 0)) + (scaled > 0), 1 << shift))


def echoed(q: Fraction) -> float:
    """The double that stands for a number that was asked: its shortest text, read as a decimal, is at least q.

    A figure holds at the number that is read beside it, and what is read is the text: for 1/10**6 it is "1e-06",
    exactly what was asked, though the double behind it is a little smaller.

    >>> echoed(Fraction("1e-6")), echoed(Fraction(1, 3)), echoed(Fraction(1, 10**400))
    (1e-06, 0.33333333333333337, 5e-324)
    """
    try:
        f = float(q)
    except OverflowError:
        return math.inf
    while math.isfinite(f) and Fraction(repr(f)) < q:
        f = math.nextafter(f, math.inf)
    return f


def shown(value: Fraction | float | None, digits: int = 6) -> str:
    """The number for people at that many digits, rounded up: what is printed is still a bound. "none": no finite one.

    >>> shown(1.5277058941977102), shown(Fraction(1, 10**6)), shown(float("inf"))
    ('1.52771', '1e-06', 'none')
    """
    if value is None or (isinstance(value, float) and math.isinf(value)):
        return "none"
    text = f"{float(value):.{digits}g}"
    if Fraction(text) < value:
        digit = Decimal(1).scaleb(Decimal(f"{float(value):.{digits - 1}e}").adjusted() - digits + 1)
        text = f"{float(Decimal(text) + digit):.{digits}g}"
    return text


def shown_below(value: Fraction | float, digits: int = 6) -> str:
    """The same, rounded down: for what may still be spent.

    >>> shown_below(1.5277058941977102)
    '1.5277'
    """
    return shown(-Fraction(value), digits).removeprefix("-")


@contextmanager
def precision(bits: int) -> Iterator[None]:
    """Ball arithmetic at `bits` bits inside the block."""
    before = flint.ctx.prec
    flint.ctx.prec = bits
    try:
        yield
    finally:
        flint.ctx.prec = before
