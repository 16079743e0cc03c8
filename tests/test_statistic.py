"""Statistics: validation, shapes, and the sensitivity against brute force over pairs of masked rows."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from typing import Literal

import numpy as np
import polars as pl
import pytest

from absentia.errors import InputError
from absentia.planning.schema import Schema
from absentia.query.distance import Distances, distances
from absentia.query.statistic import Bins, Statistic
from absentia.table.aggregate import aggregate

COLUMNS = {
    "a": {"kind": "number", "bounds": [-1, 1]},
    "b": {"kind": "number", "bounds": [-1, 1]},
    "c": {"kind": "category", "values": ["x", "y", "z"]},
    "one": {"kind": "category", "values": ["only"]},
    "w": {"kind": "number", "bounds": [0, 1.5], "weight": True},
}
SCHEMA = Schema.from_dict({"n": 10, "columns": COLUMNS})
TWO = Schema.from_dict({"n": 10, "unit": "p", "unit_rule": {"at_most": 2}, "columns": COLUMNS})
EXACT = [
    (Statistic((("a", 1),)), 2, 2),
    (Statistic((("a", 0),)), 1, 1),
    (Statistic((("a", 2),)), 1, 1),
    (Statistic((("a", 1), ("b", 1))), 2, 2),
    (Statistic((("a", 0), ("b", 0))), 1, 1),
    (Statistic((("a", 2), ("b", 2))), 1, 1),
    (Statistic(cells=("c",)), 2, math.sqrt(2)),
    (Statistic(cells=("one",)), 1, 1),
    (Statistic(cells=("c", "one")), 2, math.sqrt(2)),
    (Statistic((("a", 1),), ("c",)), 2, 2),
    (Statistic((("a", 2),), ("c",)), 2, math.sqrt(2)),
    (Statistic(cells=(Bins("a", (-1, 0, 1)),)), 2, math.sqrt(2)),
    (Statistic((("a", 1),), weight="w"), 3, 3),
    (Statistic((("a", 0),), weight="w"), 1.5, 1.5),
    (Statistic(cells=("c",), weight="w"), 3, 1.5 * math.sqrt(2)),
]


def apart(statistic: Statistic, schema: Schema, norm: Literal[1, 2]) -> Distances:
    """How far rows move this statistic alone, by the code that plans use."""
    return distances({statistic: 1.0}, schema, norm)


@pytest.mark.parametrize(("statistic", "l1", "l2"), EXACT)
def test_sensitivity_is_the_exact_supremum(statistic: Statistic, l1: float, l2: float) -> None:
    """Brute force: every corner of the domain, every mask, through the table code itself."""
    corners = {
        "a": [None, -1, 0, 1],
        "b": [None, -1, 1],
        "c": [None, "x", "y"],
        "one": [None, "only"],
        "w": [None, 1.5],
    }
    used = {k: v for k, v in corners.items() if k in statistic.columns}
    values = []
    for row in itertools.product(*used.values()):
        full = dict.fromkeys(COLUMNS) | dict(zip(used, row, strict=True))
        types = {"a": pl.Float64, "b": pl.Float64, "w": pl.Float64, "c": pl.String, "one": pl.String}
        frame = pl.DataFrame({k: [v] for k, v in full.items()}, schema_overrides=types)
        values.append(aggregate(frame, SCHEMA, [statistic]).value(statistic).ravel())
    for norm, expected in ((1, l1), (2, l2)):
        found = max(np.linalg.norm(u - v, norm) for u, v in itertools.combinations(values, 2))
        assert found == pytest.approx(expected, rel=1e-12)
        claimed = apart(statistic, SCHEMA, norm).largest
        assert found <= claimed * (1 + 1e-15)
        assert claimed == pytest.approx(expected, rel=1e-15)
        assert apart(statistic, TWO, norm).largest == pytest.approx(2 * expected, rel=1e-15)


@pytest.mark.parametrize(("statistic", "l1", "l2"), EXACT)
def test_reach_is_all_or_nothing(statistic: Statistic, l1: float, l2: float) -> None:
    r = 1.5 if statistic.weight else 1.0
    for norm in (1, 2):
        reach = apart(statistic, SCHEMA, norm).reach
        assert reach(statistic.columns) == pytest.approx(r)
        assert reach(set(statistic.columns) - {min(statistic.columns)}) == 0
        assert apart(statistic, SCHEMA, norm).largest <= 2 * reach.full


def test_square_root_is_rounded_up() -> None:
    s = apart(Statistic(cells=("c",)), SCHEMA, 2).largest
    assert Fraction(s) ** 2 >= 2 > Fraction(math.nextafter(s, 0)) ** 2


def test_shapes_and_order() -> None:
    s = Statistic((("b", 1), ("a", 0)), ("c", Bins("a", (-1, 0, 0.5, 1))))
    assert s.powers == (("a", 0), ("b", 1))
    assert s.shape(SCHEMA) == (3, 3)
    assert s.columns == {"a", "b", "c"}
    assert Statistic((("a", 1),)).shape(SCHEMA) == ()


def test_what_makes_no_sense_is_refused() -> None:
    for build in (
        lambda: Statistic(),
        lambda: Statistic((("a", 1), ("a", 1))),
        lambda: Statistic((("a", -1),)),
        lambda: Bins("a", (0,)),
        lambda: Bins("a", (1, 0)),
        lambda: Bins("a", (0, math.inf)),
        lambda: Statistic((("c", 1),)).shape(SCHEMA),
        lambda: Statistic(cells=("a",)).shape(SCHEMA),
        lambda: Statistic(cells=(Bins("c", (0, 1)),)).shape(SCHEMA),
        lambda: Statistic((("a", 1),), weight="b").shape(SCHEMA),
        lambda: Statistic((("nobody", 1),)).shape(SCHEMA),
    ):
        with pytest.raises(InputError):
            build()
