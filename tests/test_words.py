"""What people read: refusals as they would write them, reprs of one line, figures wherever a guarantee is printed."""

from __future__ import annotations

import inspect
import re
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import absentia as ab
from absentia.card.answers import Figure, Notes
from absentia.errors import InputError
from absentia.exact import shown
from cli_helpers import absentia, opened, release, study

NUMBER = {"kind": "number", "bounds": [0, 10_000]}
PEOPLE = ab.Schema.from_dict({"n": 200, "columns": {"age": NUMBER, "bmi": NUMBER, "a_column_with_a_long_name": NUMBER}})
BUDGET = ab.Budget("1", "1e-6")


def plan_of(*queries: Any, **rates: str) -> ab.Plan:
    missing = ab.missing.independent(PEOPLE, rates, because="drawn by chance", by="study office")
    return ab.plan(PEOPLE, queries, missing, budget=BUDGET)


@pytest.mark.parametrize(
    ("given", "text"), [(None, "nothing"), (True, "true"), (Fraction(6, 5), "1.2"), (Fraction(1, 3), "1/3")]
)
def test_refusals_say_what_was_given(given: object, text: str) -> None:
    assert str(InputError("field", given, "x")) == f"[E-INPUT] field: given {text}; allowed: x."


def test_options_are_named_as_they_are_written() -> None:
    for noise in (["gaussian", "--sigma", "2", "--reach", "1"], ["blackbox", "--base-epsilon", "1"]):
        assert "--p-star: given 1.2" in absentia("amplify", "--p-star", "1.2", "--delta", "0", "--noise", *noise).stderr
    lacking = absentia("amplify", "--sigma", "4").stderr
    assert "  gaussian," in lacking
    assert "\\t" not in lacking


def test_semicolons_are_named_by_every_command(tmp_path: Path) -> None:
    folder = opened(study(tmp_path / "s"))
    table = folder / "people.csv"
    table.write_text(table.read_text().replace(",", ";"))
    for run in (
        absentia("schema", table),
        absentia("profile", table, "--schema", folder / "schema.toml"),
        release(folder),
    ):
        assert run.returncode == 2
        assert "[E-HEADER]" in run.stderr
        assert "commas" in run.stderr


def test_a_release_given_as_a_card_is_recognised(tmp_path: Path) -> None:
    folder = opened(study(tmp_path / "s"))
    assert release(folder, "-o", folder / "out").returncode == 0
    run = absentia("card", "verify", folder / "out" / "release.json")
    assert run.returncode == 2
    assert "verify the card.json beside it" in " ".join(run.stderr.split())


def test_reprs_are_one_line_and_guarantees_show_their_figures(tmp_path: Path) -> None:
    plan = plan_of(ab.mean("bmi"), bmi="0.5")
    with ab.Ledger.create(tmp_path / "x.ledger", plan) as book:
        rows = {c: np.linspace(0, 10_000, 200) for c in PEOPLE.columns}
        done = plan.release(pl.DataFrame(rows), book, purpose="Table 1")
    for value in (plan, done):
        assert "\n" not in repr(value)
        assert len(repr(value)) < 240
    text = str(plan.guarantee)
    for _, g in plan.guarantee.with_companions:
        assert shown(g.epsilon("1e-6")) in text


def test_the_purpose_of_a_release_is_required() -> None:
    purpose = inspect.signature(ab.Plan.release).parameters["purpose"]
    assert purpose.kind is purpose.KEYWORD_ONLY
    assert purpose.default is purpose.empty


def test_no_line_of_a_plan_is_wider_than_the_terminal() -> None:
    """Half-widths in plain numbers; long units are cut, not the line's width passed."""
    text = str(plan_of(ab.moments(["bmi", "a_column_with_a_long_name"]), ab.sum("bmi"), bmi="0.5"))
    assert max(map(len, text.splitlines())) <= 80
    (line,) = [line for line in text.splitlines() if "sum(bmi)" in line]
    assert "e+" not in line
    assert "," in line


def test_columns_that_are_always_there_are_in_no_other_block() -> None:
    plan = plan_of(ab.mean("age"), ab.moments(["age", "bmi"]), bmi="0.5")
    assert [(b.columns, b.because) for b in plan.blocks] == [
        (("age",), "never missing"),
        (("bmi",), "asked or missing on its own"),
    ]
    assert "-0.0%" not in str(plan_of(ab.mean("age"), bmi="0.5"))


@pytest.mark.parametrize(("low", "estimate", "high"), [(-3.0, 1.0, 5.0), (2.0, 3.0, 4.0), (-4.0, -3.0, -2.0)])
def test_zero_is_marked_on_a_row_with_a_scale_of_its_own(low: float, estimate: float, high: float) -> None:
    """As the note under the figure says, wherever zero lies: inside the interval too."""
    said = {"query": "moments(x)", "se_noise": 1.0, "se_sampling": 0.0, "note": ""}
    row = {**said, "cell": "a", "low": low, "estimate": estimate, "high": high}
    wide = {**said, "cell": "b", "low": 0.0, "estimate": 500.0, "high": 1000.0}
    release = {"plan": {"n": 9, "confidence": "0.95"}, "noise": {"family": "gaussian"}}
    notes = Notes()
    drawn = Figure("q0", "moments(x)", "moments", [row, wide], 2, release, notes).html().split("<svg")[1]
    assert list(notes.numbers) == ["every row has a scale of its own, where the upright line is zero"]
    (zero,) = re.findall('<line class="z" x1="([^%]*)%', drawn)
    ((left, right),) = re.findall('<line class="s" x1="([^%]*)%" x2="([^%]*)%', drawn)
    assert (float(left) < float(zero), float(zero) < float(right)) == (low < 0, high > 0)
