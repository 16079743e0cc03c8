"""One Arrow array of a declared column to numbers or category codes: the only place where a cell is interpreted.

Missing is null, NaN, empty text or a declared code, decided before anything else. Text is compared and parsed without
the white space around it. What does not parse, or is not a public value, is missing too and counted as unparsed.
Numbers are clipped to the public bounds; no content of a cell can raise.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as pt

from absentia.errors import InputError
from absentia.planning.schema import Column

__all__ = ["Cells", "clean_type", "number_of", "read", "read_clean"]

MISSING, UNPARSED = -1, -2
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*([eE][+-]?\d+)?|\.\d+([eE][+-]?\d+)?|inf(inity)?|nan)", re.IGNORECASE | re.ASCII)


@dataclass(frozen=True)
class Cells:
    """A column of one batch: clipped numbers or category codes, valid where `seen`; how many cells did not parse."""

    values: np.ndarray
    seen: np.ndarray
    unparsed: int = 0


def number_of(text: str) -> float | None:
    """The number that a text spells, by the grammar of the engine that reads whole columns; None if none."""
    text = text.strip()
    return float(text) if _NUMBER.fullmatch(text) else None


def read(array: pa.Array, column: Column) -> Cells:
    """The cells of a raw column, as the schema declares it."""
    array = _plain(array, column)
    if column.kind != "number":
        return _categories(array, column)
    values, seen, unparsed = _text_numbers(array, column) if _is_text(array) else _typed_numbers(array)
    stored = array.type.to_pandas_dtype() if pt.is_floating(array.type) else float  # -9.9 is another number in 32 bits
    for code in _numeric_codes(column.missing):
        seen &= values != float(stored(code))
    return Cells(_clip(values, column), seen, unparsed)


def clean_type(column: Column) -> pa.DataType:
    """The Arrow type of a column that has been read once: null where missing."""
    return pa.float64() if column.kind == "number" else pa.int32()


def read_clean(array: pa.Array, column: Column) -> Cells:
    """The cells of a column that `read` has already interpreted."""
    array = array.cast(clean_type(column))
    values, seen = _buffer(array, np.float64 if column.kind == "number" else np.int32), _valid(array)
    return Cells(_clip(values, column) if column.kind == "number" else values, seen)


def _clip(values: np.ndarray, column: Column) -> np.ndarray:
    """Into the bounds; fmax sends NaN (never seen) to the lower bound, so that everything after is finite."""
    out: np.ndarray = np.fmax(values, column.low)
    np.minimum(out, column.high, out=out)
    return out


def _plain(array: pa.Array, column: Column) -> pa.Array:
    """Dictionary, view and decimal types in their plain form; a type that can hold no such column is refused."""
    if pt.is_dictionary(array.type) and column.kind == "number":
        array = array.dictionary_decode()
    t = array.type.value_type if pt.is_dictionary(array.type) else array.type
    if pt.is_dictionary(array.type) and (pt.is_string(t) or pt.is_large_string(t)):
        return array
    if pt.is_dictionary(array.type):
        array = array.dictionary_decode()
    if t in (pa.string(), pa.string_view()) or (pt.is_decimal(t) and column.kind == "number"):
        return array.cast(pa.large_string())  # a decimal is correctly rounded as text, not by a cast
    number = pt.is_integer(t) or pt.is_floating(t) or pt.is_boolean(t) or pt.is_null(t) or pt.is_decimal(t)
    if number or pt.is_large_string(t):
        return array
    if column.kind == "category" and pt.is_temporal(t):
        return _spelled(array)
    raise InputError(
        f"columns.{column.name}", str(t), "a column of numbers, texts or booleans", code="E-TYPE",
        remedy="Cast the column before it is read.",
    )  # fmt: skip


def _spelled(array: pa.Array) -> pa.Array:
    """Dates and times as text without zeros that only show how an engine stores them; midnight is its date."""
    text = array.cast(pa.large_string())
    for tail, kept in ((r"(\.[0-9]*?)0+$", r"\1"), (r"\.$", ""), (" 00:00:00$", "")):
        text = pc.replace_substring_regex(text, pattern=tail, replacement=kept)
    return text


def _is_text(array: pa.Array) -> bool:
    return bool(pt.is_large_string(array.type))


def _valid(array: pa.Array) -> np.ndarray:
    """The validity of each row, from the bitmap."""
    bitmap = array.buffers()[0]
    if bitmap is None or array.null_count == 0:
        return np.full(len(array), array.null_count == 0)
    first = array.offset // 8
    bits = np.frombuffer(bitmap, np.uint8)[first : (array.offset + len(array) + 7) // 8]
    start = array.offset - 8 * first
    return np.unpackbits(bits, count=start + len(array), bitorder="little")[start:].view(np.bool_)


def _buffer(array: pa.Array, dtype: Any) -> np.ndarray:
    """The values without a copy; what stands under a null is arbitrary."""
    data = array.buffers()[1]
    if data is None or len(array) == 0:
        return np.zeros(len(array), dtype)
    return np.frombuffer(data, dtype)[array.offset : array.offset + len(array)]


def _typed_numbers(array: pa.Array) -> tuple[np.ndarray, np.ndarray, int]:
    if pt.is_null(array.type):
        return np.zeros(len(array)), np.zeros(len(array), bool), 0
    if pt.is_boolean(array.type):
        array = array.cast(pa.uint8())
    values = _buffer(array, array.type.to_pandas_dtype()).astype(np.float64, copy=False)
    seen = _valid(array)
    if pt.is_floating(array.type):
        seen &= values == values
    return values, seen, 0


def _text_numbers(array: pa.Array, column: Column) -> tuple[np.ndarray, np.ndarray, int]:
    text = pl.Series(array).str.strip_chars()
    blank = (text.is_null() | (text == "") | text.is_in(_texts(column.missing))).fill_null(True)
    number = text.cast(pl.Float64, strict=False)
    unparsed = int((~blank & number.is_null()).sum())
    values = number.fill_null(math.nan).to_numpy()
    return values, ~blank.to_numpy() & (values == values), unparsed


@lru_cache(maxsize=4096)
def _texts(codes: tuple[str | int | float, ...]) -> list[str]:
    return [_spelling(c) for c in codes]


def _spelling(code: str | int | float) -> str:
    """The text of a code; 99 and 99.0 are one code."""
    if isinstance(code, float) and code.is_integer():
        code = int(code)
    return str(code).strip()


@lru_cache(maxsize=4096)
def _numeric_codes(codes: tuple[str | int | float, ...]) -> tuple[float, ...]:
    numbers = [number_of(c) if isinstance(c, str) else float(c) for c in codes]
    return tuple(x for x in numbers if x is not None and x == x)


def _categories(array: pa.Array, column: Column) -> Cells:
    """Codes by way of the distinct values of the batch, each interpreted once."""
    if pt.is_null(array.type):
        return Cells(np.zeros(len(array), np.int32), np.zeros(len(array), bool))
    if pt.is_integer(array.type) and (integers := _integer_codes(column)) is not None:
        return _looked_up(array, *integers)
    encoded = array if pt.is_dictionary(array.type) else array.dictionary_encode()
    lookup = _coder(column)
    table = np.array([lookup(v) for v in encoded.dictionary.to_pylist()] + [MISSING], np.int32)
    codes = table[encoded.indices.cast(pa.int64()).fill_null(len(table) - 1).to_numpy()]
    return Cells(codes, codes >= 0, int((codes == UNPARSED).sum()))


@lru_cache(maxsize=64)
def _integer_codes(column: Column) -> tuple[int, np.ndarray] | None:
    """The code of every integer from the least to the greatest that means something; None when they are far apart."""
    spelled = [number_of(_spelling(v)) for v in (*column.values, *column.missing, 0, 1)]
    whole = [int(x) for x in spelled if x is not None and abs(x) < 2**52 and x.is_integer()]
    low, high = min(whole), max(whole)
    if high - low > 2**22:
        return None
    code = _coder(column)
    return low, np.array([code(v) for v in range(low, high + 1)], np.int32)


def _looked_up(array: pa.Array, low: int, table: np.ndarray) -> Cells:
    values, seen = _buffer(array, array.type.to_pandas_dtype()), _valid(array)
    if len(values) and low <= values.min() and values.max() < low + len(table):
        codes = table[values.astype(np.int64) - low]
    else:
        inside = (values >= low) & (values < low + len(table))
        codes = np.where(inside, table[np.where(inside, values, low).astype(np.int64) - low], UNPARSED)
    if not seen.all():
        codes = np.where(seen, codes, MISSING)
    codes = codes.astype(np.int32, copy=False)
    return Cells(codes, codes >= 0, int(np.count_nonzero(codes == UNPARSED)))


_TRUE, _FALSE = ("true", "t", "yes", "y", "1"), ("false", "f", "no", "n", "0")


@lru_cache(maxsize=4096)
def _coder(column: Column) -> Callable[[Any], int]:
    """The rule from one value to its code: text by its spelling, by its number where data or schema have numbers."""
    texts: dict[str, int] = {_spelling(v): i for i, v in enumerate(column.values)}
    numbers = {x: i for i, v in enumerate(column.values) if (x := number_of(str(v))) is not None}
    numeric = column.kind == "boolean" or not isinstance(column.values[0], str)
    if column.kind == "boolean":
        texts = dict.fromkeys(_FALSE, 0) | dict.fromkeys(_TRUE, 1)
        numbers = {0.0: 0, 1.0: 1}
    missing_texts, missing_numbers = {"", *_texts(column.missing)}, set(_numeric_codes(column.missing))

    def code(value: Any) -> int:
        if value is None or value != value:
            return MISSING
        if isinstance(value, str):
            text = value.strip()
            if text in missing_texts:
                return MISSING
            found = texts.get(text.lower() if column.kind == "boolean" else text)
            if found is not None or not numeric:
                return UNPARSED if found is None else found
            number = number_of(text)
        else:
            if isinstance(value, bool) and str(value).lower() in texts:
                return texts[str(value).lower()]
            number = float(value)
        if number is None or number != number:
            return MISSING if number is not None else UNPARSED
        return MISSING if number in missing_numbers else numbers.get(number, UNPARSED)

    return code
