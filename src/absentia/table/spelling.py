"""What a text or an object says: its letters, and beyond them a number or a moment; the same on every engine.

A typed cell is read as its spelling, so that nothing depends on the type in which an engine holds a column.
"""

from __future__ import annotations

import datetime as dt
import math
import re
from functools import lru_cache
from itertools import product
from typing import Any

import numpy as np

__all__ = ["WORDS", "codes_as_numbers", "codes_as_texts", "moment_of", "number_of", "spelled", "value_of"]

Code = str | int | float
WORDS = {"true": 1, "false": 0}
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*([eE][+-]?\d+)?|\.\d+([eE][+-]?\d+)?|inf(inity)?|nan)", re.IGNORECASE | re.ASCII)
_DAY, _TIME = r"(\d{4}-\d\d-\d\d)", r"(\d\d:\d\d)(?::(\d\d)(?:\.(\d+))?)?"
_MOMENT = re.compile(rf"{_DAY}(?:[T ]{_TIME} ?(Z|[+-]\d\d(?::?\d\d(?::\d\d)?)?)?)?", re.ASCII)
_CLOCK = re.compile(_TIME, re.ASCII)


def number_of(text: str) -> float | None:
    """The number that a text spells, by the grammar of the engine that reads whole columns; None if none."""
    text = text.strip()
    return float(text) if _NUMBER.fullmatch(text) else None


def moment_of(text: str) -> str | None:
    """The date or time that a text spells, in UTC where it has a zone, without zeros at its end; None if none.

    >>> moment_of("2020-01-31T07:30:00.500+01:00"), moment_of("2020-01-31 00:00"), moment_of("06:30")
    ('2020-01-31 06:30:00.5', '2020-01-31', '06:30:00')
    """
    if (clock := _CLOCK.fullmatch(text)) is not None:
        return _time(*clock.groups())
    if (found := _MOMENT.fullmatch(text)) is None:
        return None
    day, minute, second, part, zone = found.groups()
    if minute is None:
        return str(day)
    if zone is not None:
        try:
            there = dt.datetime.fromisoformat(f"{day} {minute}:{second or '00'}{zone}")
            day, clock_text = str(there.astimezone(dt.UTC).replace(tzinfo=None)).split(" ")
        except (ValueError, OverflowError):
            return None
        minute, second = clock_text[:5], clock_text[6:]
    time = _time(minute, second, part)
    return str(day) if time == "00:00:00" else f"{day} {time}"


def _time(minute: str, second: str | None, part: str | None) -> str:
    return f"{minute}:{second or '00'}.{part or ''}".rstrip("0").rstrip(".") if part else f"{minute}:{second or '00'}"


def spelled(value: Any) -> str:
    """The text of a value, as the typed column that could hold it is read: 1.0 is 1, a midnight is its date."""
    if isinstance(value, (float, np.floating)):
        value = float(value)
        return str(int(value)) if value.is_integer() else str(value)
    if isinstance(value, int) and not isinstance(value, bool):
        return str(int(value))
    text = str.__str__(value) if isinstance(value, str) else str(value)  # of an Enum of texts or integers too
    if isinstance(value, (dt.datetime, dt.time, np.datetime64)):
        return moment_of(text) or text
    return text


def value_of(text: str) -> int | float | str | None:
    """What a text says beyond its letters: a number, exact when it is an integer; true is 1, false 0; a moment."""
    if (word := WORDS.get(text.lower())) is not None:
        return word
    number = number_of(text)
    if number is None:
        return moment_of(text)
    return int(text) if len(text) < 100 and text.lstrip("+-").isdecimal() else number


@lru_cache(maxsize=4096)
def codes_as_texts(codes: tuple[Code, ...]) -> list[str]:
    """The spellings of codes; 99 and 99.0 are one code, true and false are the same in any case."""
    texts = [spelled(code).strip() for code in codes]
    cases = [product(*zip(t.lower(), t.upper(), strict=True)) for t in texts if t.lower() in WORDS]
    return [*texts, *("".join(letters) for words in cases for letters in words)]


@lru_cache(maxsize=4096)
def codes_as_numbers(codes: tuple[Code, ...]) -> tuple[float, ...]:
    """The codes that are numbers, also as columns of 32 bits hold them: -9.9 is another number there.

    In 16 bits only what is no integer: 9999 would be 10000.
    """
    numbers = [number_of(code) if isinstance(code, str) else float(code) for code in codes]
    held = [x for x in numbers if x is not None and x == x]
    with np.errstate(over="ignore"):
        held += [float(np.float32(x)) for x in held] + [float(np.float16(x)) for x in held if x % 1]
    return tuple(dict.fromkeys(x for x in held if math.isfinite(x) or x in numbers))
