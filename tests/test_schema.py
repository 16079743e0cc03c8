"""The schema file: what it accepts, the path of the field that is wrong, and that it survives a round trip."""

from __future__ import annotations

import copy
import pickle
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from absentia.errors import InputError
from absentia.planning.schema import Column, Schema, UnitRule, skeleton

TOML = """
missing = ["", "NA"]
n = 2060
unit = "person"

[unit_rule]
keep = "last"
by = "visit"

[columns.bmi]
kind = "number"
bounds = [10, 60]
missing = [999]

[columns.smoker]
kind = "category"
values = ["no", "yes"]

[columns.flag]
kind = "boolean"

[columns.w]
kind = "number"
bounds = [0, 2.5]
weight = true
"""


@pytest.fixture
def people(tmp_path: Path) -> Schema:
    path = tmp_path / "schema.toml"
    path.write_text(TOML)
    return Schema.load(path)


def test_the_contract(people: Schema) -> None:
    assert people.numbers == ("bmi",)
    assert people.categories == ("smoker", "flag")
    assert people.weights == ("w",)
    assert (people.n, people.unit, people.missing) == (2060, "person", ("", "NA"))
    assert people.columns["bmi"] == Column("bmi", "number", (10.0, 60.0), (), ("", "NA", 999))
    assert people.columns["flag"].values == ("false", "true")
    assert people.unit_rule == UnitRule("last", "visit", 1)
    assert (people.columns["bmi"].midpoint, people.columns["bmi"].halfwidth) == (35.0, 25.0)


def test_round_trips_are_equal(people: Schema) -> None:
    long = {"long": {"user": "u", "item": "i", "value": "r", "items": [3, 1]}, "columns": {"r": {"kind": "boolean"}}}
    for schema in (people, Schema.from_dict(long)):
        for same in (Schema.from_dict(schema.to_dict()), pickle.loads(pickle.dumps(schema)), copy.deepcopy(schema)):
            assert same == schema
            assert hash(same) == hash(schema)


def test_a_schema_is_frozen(people: Schema) -> None:
    with pytest.raises(AttributeError):
        people.n = 3  # type: ignore[misc]
    with pytest.raises(TypeError):
        people.columns["bmi"] = None  # type: ignore[index]


def test_a_unit_has_a_rule_even_when_none_is_written() -> None:
    schema = Schema.from_dict({"unit": "p", "columns": {"a": {"kind": "boolean"}}})
    assert schema.unit_rule == UnitRule()
    assert schema.rows_per_unit == 1


NUMBER = {"kind": "number", "bounds": [0, 1]}
BAD: list[tuple[str, Any]] = [
    ("schema", 3),
    ("colums", {"colums": {}}),
    ("columns", {}),
    ("columns", {"columns": {}}),
    ("columns.a", {"columns": {"a": 3}}),
    ("columns", {"columns": {"a\0b": {"kind": "boolean"}}}),
    ("columns.a.kind", {"columns": {"a": {}}}),
    ("columns.a.kind", {"columns": {"a": {"kind": "float"}}}),
    ("columns.a.bounds", {"columns": {"a": {"kind": "number"}}}),
    ("columns.a.bounds", {"columns": {"a": {"kind": "number", "bounds": [1, 0]}}}),
    ("columns.a.bounds", {"columns": {"a": {"kind": "number", "bounds": [1, 1]}}}),
    ("columns.a.bounds", {"columns": {"a": {"kind": "number", "bounds": [0, 1e151]}}}),  # its square is no double
    ("columns.a.bounds", {"columns": {"a": {"kind": "number", "bounds": [0, 1e-151]}}}),
    ("columns.a.bounds", {"columns": {"a": {"kind": "number", "bounds": [1]}}}),
    ("columns.a.bounds", {"columns": {"a": {"kind": "number", "bounds": [0, float("inf")]}}}),
    ("columns.a.bounds", {"columns": {"a": {"kind": "number", "bounds": [0, float("nan")]}}}),
    ("columns.a.bounds", {"columns": {"a": {"kind": "number", "bounds": ["0", "1"]}}}),
    ("columns.a.bounds", {"columns": {"a": {"kind": "number", "bounds": [False, True]}}}),
    ("columns.a.bounds", {"columns": {"a": {"kind": "number", "bounds": [-1e301, 1e301]}}}),
    ("columns.a.bounds", {"columns": {"a": {"kind": "number", "bounds": [1, 2], "weight": True}}}),
    ("columns.a.weight", {"columns": {"a": NUMBER | {"weight": 1}}}),
    ("columns.a.values", {"columns": {"a": NUMBER | {"values": ["x"]}}}),
    ("columns.a.bounds", {"columns": {"a": {"kind": "boolean", "bounds": [0, 1]}}}),
    ("columns.a.values", {"columns": {"a": {"kind": "category"}}}),
    ("columns.a.values", {"columns": {"a": {"kind": "category", "values": []}}}),
    ("columns.a.values", {"columns": {"a": {"kind": "category", "values": ["x", "x "]}}}),
    ("columns.a.values", {"columns": {"a": {"kind": "category", "values": ["x", " "]}}}),
    ("columns.a.values", {"columns": {"a": {"kind": "category", "values": ["x", 1]}}}),
    ("columns.a.values[1]", {"missing": ["NA"], "columns": {"a": {"kind": "category", "values": ["x", "NA"]}}}),
    ("columns.a.values[0]", {"columns": {"a": {"kind": "category", "values": [9, 1], "missing": [" 9"]}}}),
    ("columns.__unit", {"unit": "p", "columns": {"__unit": NUMBER}}),
    ("columns.a.missing", {"columns": {"a": NUMBER | {"missing": "NA"}}}),
    ("columns.a.missing[1]", {"columns": {"a": NUMBER | {"missing": ["NA", True]}}}),
    ("missing[0]", {"missing": [float("nan")], "columns": {"a": NUMBER}}),
    ("n", {"n": 0, "columns": {"a": NUMBER}}),
    ("n", {"n": 1.5, "columns": {"a": NUMBER}}),
    ("n", {"n": True, "columns": {"a": NUMBER}}),
    ("version", {"version": 2, "columns": {"a": NUMBER}}),
    ("unit", {"unit": "", "columns": {"a": NUMBER}}),
    ("unit_rule", {"unit_rule": {"at_most": 2}, "columns": {"a": NUMBER}}),
    ("unit_rule.keep", {"unit": "p", "unit_rule": {"keep": "any"}, "columns": {"a": NUMBER}}),
    ("unit_rule.by", {"unit": "p", "unit_rule": {"keep": "first"}, "columns": {"a": NUMBER}}),
    ("unit_rule.by", {"unit": "p", "unit_rule": {"keep": "last", "at_most": 2}, "columns": {"a": NUMBER}}),
    ("unit_rule.at_most", {"unit": "p", "unit_rule": {"at_most": 0}, "columns": {"a": NUMBER}}),
    ("long.user", {"long": {"item": "i", "value": "a", "n_items": 3}, "columns": {"a": NUMBER}}),
    ("long.items", {"long": {"user": "u", "item": "i", "value": "a"}, "columns": {"a": NUMBER}}),
    ("long.n_items", {"long": {"user": "u", "item": "i", "value": "a", "n_items": 0}, "columns": {"a": NUMBER}}),
    ("columns", {"long": {"user": "u", "item": "i", "value": "r", "n_items": 3}, "columns": {"a": NUMBER}}),
]


@pytest.mark.parametrize(("field", "document"), BAD)
def test_errors_name_the_field(field: str, document: Any) -> None:
    with pytest.raises(InputError) as refused:
        Schema.from_dict(document)
    assert refused.value.field == field
    assert refused.value.exit_code == 2


@given(st.recursive(st.none() | st.booleans() | st.integers() | st.text() | st.floats(), lambda s: st.lists(s) | st.dictionaries(st.sampled_from(["columns", "n", "a", "kind", "bounds", "values", "missing", "unit", "unit_rule", "long", "items"]), s)))  # fmt: skip # noqa: E501
def test_anything_is_a_schema_or_an_input_error(document: Any) -> None:
    try:
        schema = Schema.from_dict(document)
    except InputError:
        return
    assert Schema.from_dict(schema.to_dict()) == schema


def test_files_that_are_no_schema(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="E-FILE"):
        Schema.load(tmp_path / "absent.toml")
    (tmp_path / "bad.toml").write_bytes(b"\xff\xfe")
    (tmp_path / "blank.toml").write_text(skeleton(["a"]))
    for name in ("bad.toml", "blank.toml"):
        with pytest.raises(InputError, match="E-TOML"):
            Schema.load(tmp_path / name)


NAME = st.text(st.characters(codec="utf-8", exclude_categories=["Cs"], exclude_characters="\0"), min_size=1)


@given(st.lists(NAME, min_size=1, unique=True))
def test_a_filled_skeleton_is_a_schema(header: list[str]) -> None:
    filled = skeleton(header).replace("kind = \n", 'kind = "number"\n').replace("bounds = \n", "bounds = [0, 1]\n")
    import tomllib

    assert list(Schema.from_dict(tomllib.loads(filled)).columns) == header
