"""Every field of a plan and of a schema wrong in turn: the path, what is allowed, the code; the budget untouched."""

from __future__ import annotations

import copy
import json
import math
import tomllib
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

import absentia as ab
from absentia.cli.app import cli
from absentia.errors import AbsentiaError, HazardRefused, InputError
from absentia.ledger.ledger import Ledger
from absentia.planning.planfile import plan_of
from release_world import PLAN_TOML, table

HOSTILE = "x\x1b[2J\u202e<script>\n\0" + "a" * 5000
JUNK: list[Any] = [
    None, "", "x", HOSTILE, 0, -1, 10**400, 0.5, math.nan, math.inf, "nan", "inf", "-1", "1e999999999", "0x10", "１",
    True, [], [[]], [None], {}, {"x": {}}, ["x", "x"], {"kind": "mean"},
]  # fmt: skip
OPTIONS = """
noise = "gaussian"
relation = "substitute"
confidence = "0.9"
n = 400
version = 1
rows_dependent = false
"""


def document() -> dict[str, Any]:
    return tomllib.loads(OPTIONS + PLAN_TOML, parse_float=str)


def paths(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Every path into the document, tables and lists included."""
    children = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [p for key, child in children for p in [(*path, key), *paths(child, (*path, key))]]


def changed(path: tuple[Any, ...], junk: Any) -> dict[str, Any]:
    """The document with that field so; Ellipsis: without it."""
    out = copy.deepcopy(document())
    place: Any = out
    for key in path[:-1]:
        place = place[key]
    if junk is ...:
        del place[path[-1]]
    else:
        place[path[-1]] = junk
    return out


@pytest.mark.parametrize("path", paths(document()), ids=lambda p: ".".join(map(str, p)))
def test_a_wrong_field_is_refused_in_words(path: tuple[Any, ...]) -> None:
    """Anything at all in any field: a plan, or a refusal that names a field on the way, in one short paragraph."""
    found = {str(i): refusal_of(changed(path, junk)) for i, junk in enumerate((..., *JUNK))}
    refusals = {i: refusal for i, refusal in found.items() if refusal is not None}
    assert len(refusals) >= 5, "almost anything passes"
    for i, refusal in refusals.items():
        assert refusal.exit_code in (2, 4), i
        assert len(str(refusal)) < 2000, i
        assert str(refusal).isprintable(), f"{i}: hostile text reaches the terminal"
        if isinstance(refusal, InputError):
            on_the_way = {str(key) for key in path} | {"columns", "query", "schema", "missingness"}
            assert any(word in refusal.field for word in on_the_way), (i, refusal.field)
            assert refusal.allowed, i
        else:
            assert refusal.remedy, i


def refusal_of(found: dict[str, Any]) -> AbsentiaError | None:
    try:
        plan_of(found)
    except AbsentiaError as refusal:
        return refusal
    return None


EXIT_4 = {
    "missingness without a reason": (("missingness", "because"), ..., "H13"),
    "a blank reason": (("missingness", "because"), "  ", "H13"),
    "bounds absent": (("schema", "columns", "bmi", "bounds"), ..., "H4"),
    "a query without reach": (("query",), [{"kind": "custom", "name": "f"}], "H18"),
    "dependent rows without a factor": (("rows_dependent",), True, "H14"),
    "several rows a person under a law of rows": (("schema", "unit_rule"), {"at_most": 3}, "H3"),
}
EXIT_2 = {
    "a misspelt column": (("query", 0, "column"), "bmii", "query[0].column"),
    "an unknown kind": (("query", 0, "kind"), "mode", "query[0].kind"),
    "an unknown field": (("budgett",), {}, "budgett"),
    "epsilon as a word": (("budget", "epsilon"), "one", "budget.epsilon"),
    "epsilon missing": (("budget", "epsilon"), ..., "budget.epsilon"),
    "no budget": (("budget",), ..., "budget"),
    "a share above one": (("missingness", "observed", "bmi"), "1.5", "missingness.observed.bmi"),
    "bounds the wrong way round": (("schema", "columns", "bmi", "bounds"), [60, 10], "schema.columns.bmi.bounds"),
    "an empty category": (("schema", "columns", "hyp", "values"), [], "schema.columns.hyp.values"),
    "another version": (("version",), 2, "version"),
}


@pytest.mark.parametrize("size", ["1e300", "1e-300", 10**400, math.inf, math.nan, "1e999999999", True, [], None])
def test_numbers_whose_squares_leave_the_doubles_are_refused(size: Any) -> None:
    for make in (lambda: ab.linear([[size, 1]], ["bmi", "chl"]), lambda: ab.custom("f", {"bmi": size, "chl": 1})):
        with pytest.raises(InputError) as refusal:
            make()
        assert refusal.value.field in ("matrix[0][0]", "constants.bmi")
    assert ab.linear([[0, "1e-100"]], ["bmi", "chl"])


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A directory with an open book and a table."""
    monkeypatch.chdir(tmp_path)
    table().write_csv("people.csv")
    Ledger.create("study.ledger", plan_of(tomllib.loads(PLAN_TOML, parse_float=str))).close()
    return tmp_path


def toml(value: Any) -> str:
    """A TOML value; inline all the way down."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{json.dumps(k)} = {toml(v)}" for k, v in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(toml, value)) + "]"
    return json.dumps(value)


def outcome(found: dict[str, Any]) -> AbsentiaError:
    """How `absentia release` refuses this plan; the book is as it was."""
    with Ledger.open("study.ledger") as book:
        before = book.book.rows()
    Path("plan.toml").write_text("".join(f"{json.dumps(k)} = {toml(v)}\n" for k, v in found.items()))
    result = CliRunner().invoke(cli, ["release", "plan.toml", "people.csv", "--ledger", "study.ledger", "-o", "out"])
    assert isinstance(result.exception, AbsentiaError), result.exception
    with Ledger.open("study.ledger") as book:
        assert book.book.rows() == before
        assert book.spent()["with_missingness"] == 0
    assert not Path("out").exists()
    return result.exception


@pytest.mark.parametrize(("path", "value", "code"), EXIT_4.values(), ids=EXIT_4)
def test_what_would_break_the_promise_ends_with_code_4(place: Path, path: Any, value: Any, code: str) -> None:
    found = changed(path, value) if path[-1] in ("because", "bounds") else set_in(document(), path, value)
    if code == "H3":
        found["schema"]["unit"] = "person"
    refusal = outcome(found)
    assert isinstance(refusal, HazardRefused), refusal
    assert (refusal.code, refusal.exit_code) == (code, 4)
    assert refusal.rule
    assert refusal.remedy


@pytest.mark.parametrize(("path", "value", "field"), EXIT_2.values(), ids=EXIT_2)
def test_a_wrong_field_ends_with_code_2(place: Path, path: Any, value: Any, field: str) -> None:
    refusal = outcome(changed(path, ...) if value is ... else set_in(document(), path, value))
    assert isinstance(refusal, InputError), refusal
    assert (refusal.field, refusal.exit_code) == (field, 2)


def set_in(found: dict[str, Any], path: tuple[Any, ...], value: Any) -> dict[str, Any]:
    place_: Any = found
    for key in path[:-1]:
        place_ = place_[key]
    place_[path[-1]] = value
    return found


@pytest.mark.parametrize(
    "text", ["", "[", "\x00", "a = 1979-05-27", "a = {b = 1\n}", "é".encode("latin-1"), b"\xff\xfe"]
)
def test_files_that_are_no_plan(place: Path, text: str | bytes) -> None:
    Path("plan.toml").write_bytes(text if isinstance(text, bytes) else text.encode())
    for words in (["plan", "plan.toml"], ["release", "plan.toml", "people.csv", "--ledger", "study.ledger"],
                  ["ledger", "init", "new.ledger", "plan.toml"]):  # fmt: skip
        result = CliRunner().invoke(cli, words)
        assert isinstance(result.exception, InputError), result.exception
        assert result.exception.exit_code == 2
    assert not Path("new.ledger").exists()


@pytest.mark.parametrize("words", [
    ["release", "plan.toml", "people.csv", "--ledger", "none.ledger"],
    ["release", "plan.toml", "none.csv", "--ledger", "study.ledger"],
    ["release", "none.toml", "people.csv", "--ledger", "study.ledger"],
    ["ledger", "show", "people.csv"],
    ["ledger", "verify", "plan.toml"],
    ["ledger", "show", "."],
], ids=lambda w: " ".join(w[:3]))  # fmt: skip
def test_files_that_are_not_there_or_something_else(place: Path, words: list[str]) -> None:
    Path("plan.toml").write_text(PLAN_TOML)
    result = CliRunner().invoke(cli, words)
    assert isinstance(result.exception, AbsentiaError), result.exception
    assert result.exception.exit_code in (2, 5)
    assert result.exception.remedy or isinstance(result.exception, InputError)
    with Ledger.open("study.ledger") as book:
        assert len(book.book.rows()) == 1
    assert ab.Plan.load("plan.toml").guarantee.epsilon("1e-6") <= 1
