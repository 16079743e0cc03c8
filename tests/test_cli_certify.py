"""absentia certify: the law it prints is one a plan takes, the book pays for it, and refusals cost nothing."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from absentia.planning.planfile import plan_of, schema_of
from cli_helpers import SCHEMA, SECRET, Run, absentia, opened, study


def certify(folder: Path, *options: str) -> Run:
    files = ("--schema", folder / "schema.toml", "--ledger", folder / "study.ledger")
    return absentia("certify", folder / "people.csv", *files, "--epsilon", "0.1", *options)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return opened(study(tmp_path / "s"), "--epsilon", "2", "--aside", "0.2")


def test_two_histograms_fit_what_was_set_aside_for_two(folder: Path) -> None:
    assert [certify(folder).returncode for _ in range(2)] == [0, 0]
    third = certify(folder)
    assert (third.returncode, third.stdout) == (3, "")
    assert "0.2" in third.stderr
    shown = absentia("ledger", "show", folder / "study.ledger", "--json").json
    assert [r["kind"] for r in shown["releases"]].count("charge") == 2


@pytest.mark.parametrize("gamma", [(), ("--gamma", "2")])
def test_the_printed_law_is_one_that_a_plan_takes(gamma: tuple[str, ...], folder: Path) -> None:
    run = certify(folder, *gamma, "--confidence", "0.99", "--because", "wave of 2025", "--by", "field office")
    assert (run.returncode, run.stderr) == (0, "")
    assert run.widest <= 80
    assert SECRET not in run.stdout
    law = tomllib.loads(run.stdout[run.stdout.index("[missingness]") :])
    certified = law["missingness"]["base"] if gamma else law["missingness"]
    assert (law["missingness"]["kind"], certified["confidence"]) == ("certified", "0.99")
    document = tomllib.loads((folder / "plan.toml").read_text())
    schema = schema_of(tomllib.loads((folder / "schema.toml").read_text()))
    plan = plan_of({**document, **law, "schema": schema, "budget": {"epsilon": "1", "delta": "1e-6"}})
    assert plan.missing.kind == "certified"
    assert plan.missing.by == "field office"


def test_the_law_as_json(folder: Path) -> None:
    found = certify(folder, "--json").json
    assert set(found) == {"missingness", "receipt", "amendment"}
    assert found["missingness"]["kind"] == "certified"
    assert found["receipt"]["sequence"] == 1


@pytest.mark.parametrize(
    ("options", "word"),
    [
        (["--epsilon", "0"], "epsilon"),
        (["--epsilon", "x"], "epsilon"),
        (["--confidence", "1"], "confidence"),
        (["--confidence", "99"], "confidence"),
    ],
)
def test_bad_options_cost_nothing(options: list[str], word: str, folder: Path) -> None:
    run = certify(folder, *options)
    assert (run.returncode, run.stdout) == (2, "")
    assert word in run.stderr
    assert not absentia("ledger", "show", folder / "study.ledger", "--json").json["releases"]


def test_another_schema_than_the_books_is_refused(folder: Path) -> None:
    (folder / "schema.toml").write_text(SCHEMA.replace("n = 300", "n = 301"))
    run = certify(folder)
    assert (run.returncode, "E-SCHEMA" in run.stderr) == (2, True)
