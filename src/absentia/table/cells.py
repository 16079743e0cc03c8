"""One Arrow array of a declared column to numbers or category codes: the only place where a cell is interpreted.

Missing is null, NaN, empty text or a declared code, decided before anything else. Text is compared and parsed without
the white space around it. What does not parse, or is not a public value, is missing too and counted as unparsed.
Numbers are clipped to the public bounds; no content of a cell can raise.
"""

from __future__ import annotations

import math
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
from absentia.table.spelling import WORDS, codes_as_numbers, codes_as_texts, moment_of, spelled, value_of

__all__ = [
    "Cells",
    "clean_array",
    "clean_type",
    "numbers_of",
    "read",
    "read_clean",
    "refused_type",
    "times",
    "valid_text",
]

MISSING, UNPARSED = -1, -2


@dataclass(frozen=True)
class Cells:
    """A column of one batch: clipped numbers or category codes, valid where `seen`; `bad` where a cell did not parse.

    None in place of `bad`: every cell did.
    """

    values: np.ndarray
    seen: np.ndarray
    bad: np.ndarray | None = None

    @property
    def unparsed(self) -> int:
        """How many cells did not parse."""
        return 0 if self.bad is None else int(np.count_nonzero(self.bad))


def read(array: pa.Array, column: Column) -> Cells:
    """The cells of a raw column, as the schema declares it."""
    array = _plain(array, column)
    if column.kind != "number":
        return _categories(array, column)
    values, seen, bad = _text_numbers(array, column) if _is_text(array) else _typed_numbers(array, column)
    for code in codes_as_numbers(column.missing):
        seen &= values != code
    return Cells(_clip(values, column), seen, bad)


def clean_type(column: Column) -> pa.DataType:
    """The Arrow type of a column that has been read once: null where missing, NaN or -2 where it did not parse."""
    return pa.float64() if column.kind == "number" else pa.int32()


def clean_array(cells: Cells, column: Column) -> pa.Array:
    """The cells as `read_clean` reads them back."""
    values, known = cells.values, cells.seen
    if cells.bad is not None:
        known = known | cells.bad
        values = np.where(cells.bad, math.nan if column.kind == "number" else UNPARSED, values)
    return pa.array(values, clean_type(column), mask=~known, from_pandas=False)


def read_clean(array: pa.Array, column: Column) -> Cells:
    """The cells of a column that `read` has already interpreted."""
    array = array.cast(clean_type(column))
    values, known = _buffer(array, np.float64 if column.kind == "number" else np.int32), _valid(array)
    seen = known & ((values == values) if column.kind == "number" else (values >= 0))
    bad = None if np.array_equal(seen, known) else known & ~seen
    return Cells(_clip(values, column) if column.kind == "number" else values, seen, bad)


def refused_type(field: str, kind: object, allowed: str) -> InputError:
    """The refusal of a column whose type can hold no such value."""
    return InputError(field, str(kind), allowed, code="E-TYPE", remedy="Cast the column before it is read.")


def valid_text(array: pa.Array) -> pa.Array:
    """The array, bytes that are not UTF-8 replaced; engines stop the process at such bytes."""
    if pt.is_dictionary(array.type):
        words = valid_text(array.dictionary)
        return array if words is array.dictionary else pa.DictionaryArray.from_arrays(array.indices, words)
    if not (pt.is_string(array.type) or _is_text(array) or array.type == pa.string_view()):
        return array
    try:
        array.validate(full=True)
    except pa.ArrowInvalid:
        cells = array.cast(pa.large_string()).cast(pa.large_binary()).to_pylist()
        return pa.array([c and c.decode("utf-8", "replace") for c in cells], pa.large_string())
    return array


def _clip(values: np.ndarray, column: Column) -> np.ndarray:
    """Into the bounds; fmax sends NaN (never seen) to the lower bound, so that everything after is finite."""
    out: np.ndarray = np.fmax(values, column.low)
    np.minimum(out, column.high, out=out)
    return out


def _plain(array: pa.Array, column: Column) -> pa.Array:
    """Dictionary, view and decimal types in their plain form; a type that can hold no such column is refused."""
    array = valid_text(array)
    if pt.is_dictionary(array.type) and column.kind == "number":
        array = array.dictionary_decode()
    t = array.type.value_type if pt.is_dictionary(array.type) else array.type
    if pt.is_dictionary(array.type) and (pt.is_string(t) or pt.is_large_string(t)):
        return array
    if pt.is_dictionary(array.type):
        array = array.dictionary_decode()
    if t in (pa.string(), pa.string_view()) or pt.is_decimal(t):
        return array.cast(pa.large_string())  # a decimal is correctly rounded as text, not by a cast
    number = pt.is_integer(t) or pt.is_floating(t) or pt.is_boolean(t) or pt.is_null(t)
    if number or pt.is_large_string(t):
        return array
    if column.kind == "category" and (pt.is_date(t) or pt.is_time(t) or pt.is_timestamp(t)):
        return times(array)
    raise refused_type(f"columns.{column.name}", t, "a column of numbers, texts or booleans")


def times(array: pa.Array) -> pa.Array:
    """Dates and times as text, in UTC, without zeros that only show how an engine stores them; midnight is its date."""
    if pt.is_timestamp(array.type):
        array = array.cast(pa.timestamp(array.type.unit))
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


def _typed_numbers(array: pa.Array, column: Column) -> tuple[np.ndarray, np.ndarray, None]:
    if pt.is_null(array.type):
        return np.zeros(len(array)), np.zeros(len(array), bool), None
    coded: list[int] = []
    if pt.is_boolean(array.type):
        coded = [int(truth) for truth in (False, True) if spelled(truth) in codes_as_texts(column.missing)]
        array = array.cast(pa.uint8())
    values = _buffer(array, array.type.to_pandas_dtype()).astype(np.float64, copy=False)
    seen = _valid(array)
    if pt.is_floating(array.type):
        seen &= values == values
    for truth in coded:
        seen &= values != truth
    return values, seen, None


def _text_numbers(array: pa.Array, column: Column) -> tuple[np.ndarray, np.ndarray, np.ndarray | None]:
    text = pl.Series(array).str.strip_chars()
    blank = (text.is_null() | (text == "") | text.is_in(codes_as_texts(column.missing))).fill_null(True)
    number = numbers_of(text)
    bad = ~blank & number.is_null()
    values = number.fill_null(math.nan).to_numpy()
    return values, ~blank.to_numpy() & (values == values), bad.to_numpy() if bad.any() else None


def numbers_of(text: pl.Series) -> pl.Series:
    """The numbers that stripped texts spell; true is 1 and false 0, in any case."""
    number = text.cast(pl.Float64, strict=False)
    for word in text.filter(number.is_null() & text.str.len_bytes().is_between(4, 5)).unique():
        if (value := WORDS.get(word.lower())) is not None:
            number = number.set((text == word).fill_null(False), float(value))
    return number


def _categories(array: pa.Array, column: Column) -> Cells:
    """Codes by way of the distinct values of the batch, each interpreted once."""
    if pt.is_null(array.type):
        return Cells(np.zeros(len(array), np.int32), np.zeros(len(array), bool))
    if pt.is_integer(array.type) and (integers := _integer_codes(column)) is not None:
        return _looked_up(array, *integers)
    encoded = array if pt.is_dictionary(array.type) else array.dictionary_encode()
    lookup = _coder(column)
    table = np.array([lookup(v) for v in encoded.dictionary.to_pylist()] + [MISSING], np.int32)
    return _coded(table[encoded.indices.cast(pa.int64()).fill_null(len(table) - 1).to_numpy()])


def _coded(codes: np.ndarray) -> Cells:
    bad = codes == UNPARSED
    return Cells(codes, codes >= 0, bad if bad.any() else None)


@lru_cache(maxsize=64)
def _integer_codes(column: Column) -> tuple[int, np.ndarray] | None:
    """The code of every integer from the least to the greatest that means something; None when they are far apart."""
    codes = codes_as_numbers(column.missing)
    found = [value_of(spelled(v)) for v in (*column.values, *column.missing, *codes, 0, 1)]
    whole = [int(x) for x in found if isinstance(x, (int, float)) and abs(x) < math.inf and x == int(x)]
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
        codes = np.where(inside, table[np.where(inside, values.astype(np.int64), low) - low], UNPARSED)
    if not seen.all():
        codes = np.where(seen, codes, MISSING)
    return _coded(codes.astype(np.int32, copy=False))


_TRUE, _FALSE = ("true", "t", "yes", "y", "1"), ("false", "f", "no", "n", "0")


@lru_cache(maxsize=4096)
def _coder(column: Column) -> Callable[[Any], int]:
    """The rule from one value to its code: by the letters of its spelling, else by the number or moment it spells."""
    boolean = column.kind == "boolean"
    texts: dict[str, int] = {spelled(v).strip(): i for i, v in enumerate(column.values)}
    said: dict[int | float | str, int] = {}
    for text, i in texts.items():
        if (x := value_of(text)) is not None and x == x:
            said.setdefault(x, i)
    if boolean:
        texts, said = dict.fromkeys(_FALSE, 0) | dict.fromkeys(_TRUE, 1), {0: 0, 1: 1}
    missing_texts = {"", *codes_as_texts(column.missing)}
    moments = {m for code in missing_texts if (m := moment_of(code)) is not None}
    missing = {*codes_as_numbers(column.missing), *moments}

    def code(value: Any) -> int:
        if value is None or value != value:
            return MISSING
        text = spelled(value).strip()
        if text in missing_texts:
            return MISSING
        found = texts.get(text.lower() if boolean else text)
        if found is not None:
            return found
        x = value_of(text)
        if x is None:
            return UNPARSED
        return MISSING if x != x or x in missing else said.get(x, UNPARSED)

    return code
