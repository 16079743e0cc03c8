"""The type that pandas or Polars infers for a column decides nothing: no refusal, no code, no other cell's meaning."""

from __future__ import annotations

import datetime as dt
import enum
import warnings
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from absentia.planning.schema import Schema
from absentia.table.aggregate import profile_counts
from absentia.table.evidence import evidence

NUMBER = {"kind": "number", "bounds": [-10, 10]}
DAYS = [pd.Timestamp("1900-01-01"), pd.Timestamp("2020-01-02 06:30:00.250")]


def seen(table: Any, column: dict[str, Any], **fields: Any) -> tuple[int, int]:
    masks = profile_counts(table, Schema.from_dict({"columns": {"x": column}} | fields))
    return int(masks.observed[0]), int(masks.unparsed[0])


def people(table: Any, missing: Any = (), **fields: Any) -> int:
    document = {"unit": "p", "missing": list(missing), "columns": {"x": NUMBER}} | fields
    return profile_counts(table, Schema.from_dict(document)).rows


@pytest.mark.parametrize(
    "cells",
    [
        DAYS,
        [day.tz_localize("Europe/Paris") for day in DAYS],
        pd.Categorical(DAYS),
        pd.to_timedelta([1, 2]),
        pd.Categorical(pd.to_timedelta([1, 2])),
        pd.period_range("2020", periods=2, freq="D"),
        pd.interval_range(0, 2),
        pd.Categorical(pd.interval_range(0, 2)),
        np.array([1j, 2]),
        pd.array([[1], [2]], dtype=pd.ArrowDtype(pa.list_(pa.int64()))),
        pd.array([b"a", b"\xff"], dtype=pd.ArrowDtype(pa.binary())),
        pd.array([dt.time(1), dt.time(2)], dtype=pd.ArrowDtype(pa.time64("us"))),
    ],
    ids=str,
)
def test_no_inferred_type_of_pandas_is_refused(cells: Any) -> None:
    frame = pd.DataFrame({"x": cells, "p": [1, 2]})
    assert str(frame.dtypes["x"]) != "object"
    for column in (NUMBER, {"kind": "boolean"}, {"kind": "category", "values": ["a"]}):
        assert seen(frame, column) == (0, 2)
    assert people(frame.rename(columns={"x": "p", "p": "x"})) == 2
    assert people(frame, unit_rule={"keep": "last", "by": "x"}) == 2


@pytest.mark.parametrize("cells", [pd.arrays.SparseArray([1.0, 2]), np.array([1, 2], np.longdouble)], ids=str)
def test_numbers_without_an_arrow_type_are_numbers(cells: Any) -> None:
    assert seen(pd.DataFrame({"x": cells}), NUMBER) == (2, 0)


def test_one_odd_cell_refuses_no_polars_frame() -> None:
    frame = pl.DataFrame({"x": [1, 2.5, 1j, None], "p": [1, 2, 3, 4]}, strict=False)
    frame = frame.with_columns(pl.Series("x", [1, 2.5, 1j, None], dtype=pl.Object))
    for table in (frame, frame.lazy()):
        assert seen(table, NUMBER) == (2, 1)
        assert evidence(table, Schema.from_dict({"columns": {"x": NUMBER, "p": NUMBER}})).rows == 4


class Word(str, enum.Enum):  # noqa: UP042 : spelled otherwise than a StrEnum
    A = "a"


class Whole(int, enum.Enum):
    A = 1


@pytest.mark.parametrize(
    ("cells", "column", "fields", "expected"),
    [
        (pd.Series([-9.9, 1], dtype="float32"), NUMBER, {"missing": [-9.9]}, 1),
        (pd.Series([-9.9, 1], dtype="float16"), NUMBER, {"missing": [-9.9]}, 1),
        (pd.Series([99999999, 1], dtype="float32"), NUMBER, {"missing": [99999999]}, 1),
        (pd.Series([10000, 1.5], dtype="float64"), NUMBER, {"missing": [9999, 999999]}, 2),
        (pd.Series([9, 1.5], dtype="float32"), {"kind": "category", "values": [1.5]}, {"missing": [9]}, 1),
        (pd.Series([np.float32(0.1)] * 2, dtype="float32"), {"kind": "category", "values": ["0.1"]}, {}, 0),
        (pd.Series([Word.A] * 2), {"kind": "category", "values": ["a"]}, {}, 2),
        (pd.Series([Whole.A] * 2), {"kind": "category", "values": ["1"]}, {}, 2),
        (
            pd.Series([dt.datetime(1900, 1, 1, 5)] * 2).dt.tz_localize("Europe/Paris"),
            {"kind": "category", "values": ["1900-01-01 04:50:39"]}, {}, 2,
        ),
        (pd.Series([True, False]), NUMBER, {"missing": ["true"]}, 1),
    ],
)  # fmt: skip
def test_one_odd_cell_changes_no_other(
    cells: pd.Series, column: dict[str, Any], fields: dict[str, Any], expected: int
) -> None:
    assert seen(pd.DataFrame({"x": cells}), column, **fields)[0] == expected
    odd = pd.Series([*cells.astype(object), object()], dtype=object)
    assert seen(pd.DataFrame({"x": odd}), column, **fields)[0] == expected
    scalars = pd.Series([*cells.to_numpy(), object()], dtype=object) if cells.dtype.kind == "f" else odd
    assert seen(pd.DataFrame({"x": scalars}), column, **fields)[0] == expected


@pytest.mark.parametrize("code", ["True", "true", "TRUE"])
def test_a_code_that_is_a_boolean_word_has_no_case(code: str) -> None:
    for table in (
        pl.DataFrame({"x": [True, False]}),
        pl.DataFrame({"x": [True, False, "q"]}, strict=False),
        pd.DataFrame({"x": [True, False]}),
        pd.DataFrame({"x": [True, False, "q"]}),
    ):
        for column in (NUMBER, {"kind": "boolean"}, {"kind": "category", "values": ["False", "false"]}):
            assert seen(table, column, missing=[code])[0] == 1
    for kind in (bool, object):
        assert people(pd.DataFrame({"p": pd.Series([True, False], dtype=kind), "x": 1}), [code]) == 1
    assert people(pl.DataFrame({"p": [True, False], "x": [1, 2]}), [code]) == 1
    assert people(pl.DataFrame({"p": [True, False, "q"], "x": [1, 2, 3]}, strict=False), [code]) == 2


@pytest.mark.parametrize("code", ["1900-01-01", "1900-01-01T00:00"])
def test_a_date_that_is_a_code_names_nobody_however_it_is_stored(code: str) -> None:
    days = [dt.date(1900, 1, 1), dt.date(2000, 1, 1)]
    moments = [dt.datetime.combine(day, dt.time()) for day in days]
    for table in (
        pd.DataFrame({"p": pd.Series(moments), "x": 1.0}),
        pd.DataFrame({"p": pd.Series(moments, dtype=object), "x": 1.0}),
        pd.DataFrame({"p": pd.Series(days, dtype=object), "x": 1.0}),
        pl.DataFrame({"p": days, "x": [1.0, 1]}),
        pl.DataFrame({"p": moments, "x": [1.0, 1]}),
        pa.table({"p": pa.array(moments, pa.timestamp("ns", "UTC")), "x": [1.0, 1]}),
    ):
        assert people(table, [code]) == 1
        assert people(table) == 2


MOMENTS = pa.array([1, 2, None], pa.timestamp("us", "+05:30"))


@pytest.mark.parametrize(
    "ids",
    [MOMENTS, *[pa.array([Decimal("1.5"), Decimal(2), None], t) for t in (
        pa.decimal32(5, 1), pa.decimal64(12, 1), pa.decimal128(12, 1), pa.decimal256(50, 1))]],
    ids=lambda array: str(array.type),
)  # fmt: skip
@pytest.mark.parametrize("encoded", [False, True])
def test_every_zone_and_every_decimal_names_orders_and_is_read(ids: pa.Array, encoded: bool) -> None:
    cells = ids.dictionary_encode() if encoded and ids.type not in NO_DICTIONARY else ids
    assert people(pa.table({"p": cells, "x": [1.0, 1, 1]})) == 2
    table = pa.table({"p": [1, 1, 1], "t": cells, "x": [1.0, 2, None]})
    document = {"unit": "p", "unit_rule": {"keep": "last", "by": "t"}, "columns": {"x": NUMBER}}
    assert profile_counts(table, Schema.from_dict(document)).observed.tolist() == [1]
    if ids is not MOMENTS:
        for column in ({"kind": "category", "values": ["1.5", "2"]}, NUMBER):
            assert seen(pa.table({"x": cells}), column) == (2, 0)


NO_DICTIONARY = (pa.decimal32(5, 1), pa.decimal64(12, 1))  # Arrow encodes none of them


def test_a_code_too_large_for_a_width_is_no_infinity() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for kind in (pa.float16(), pa.float32(), pa.float64()):
            table = pa.table({"x": pa.array(np.array([1, np.inf], kind.to_pandas_dtype()))})
            assert seen(table, NUMBER, missing=[999999, 1e300]) == (2, 0)
            assert seen(table, NUMBER, missing=["inf"]) == (1, 0)
