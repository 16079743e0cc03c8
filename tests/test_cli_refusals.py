"""What a release from the command line refuses, with which words, and what a refusal or an interrupt leaves behind."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from cli_helpers import PLAN, SCHEMA, SECRET, SMALL, absentia, charges, everything, opened, release, study

# -- refusals --------------------------------------------------------------------------------------------------------

QUERY = '[[query]]\nkind = "mean"\ncolumn = "bmi"\n'
CASES: dict[str, tuple[int, str, dict[str, str]]] = {
    "budget": (3, "B-BUDGET", {"plan": PLAN.replace('epsilon = "1"', 'epsilon = "3"')}),
    "no reason": (4, "H13", {"plan": PLAN.replace('because = "three forms, drawn by chance"\n', "")}),
    "no bounds": (4, "H4", {"schema": SCHEMA.replace("bounds = [10, 60]\n", "")}),
    "no reach": (4, "H18", {"plan": PLAN + '[[query]]\nkind = "custom"\nname = "f"\nconstants = {}\n'}),
    "dependent rows": (4, "H14", {"plan": "rows_dependent = true\n" + PLAN}),
    "another law": (4, "H19", {"plan": PLAN.replace("asked =", 'mass = ["0.5", "0.3", "0.2"]\nasked =')}),
    "bounds reversed": (2, "E-INPUT", {"schema": SCHEMA.replace("[10, 60]", "[60, 10]")}),
    "unknown column in a form": (2, "E-INPUT", {"plan": PLAN.replace('["bmi", "chl"]', '["bmi", "weight"]')}),
    "not a probability": (2, "E-INPUT", {"plan": PLAN.replace("asked =", 'mass = ["0.5", "0.3", "0.3"]\nasked =')}),
    "unknown column": (2, "E-COLUMN", {"plan": PLAN.replace('column = "bmi"', 'column = "weight"')}),
    "another schema": (2, "E-SCHEMA", {"schema": SCHEMA.replace("n = 300", "n = 299")}),
    "not TOML": (2, "E-TOML", {"plan": "schema = "}),
    "a binary budget": (2, "E-INPUT", {"plan": PLAN.replace('epsilon = "1"', "epsilon = []")}),
}


@pytest.mark.parametrize("case", CASES)
def test_a_refusal_has_its_code_and_leaves_nothing_behind(case: str, tmp_path: Path) -> None:
    code, name, changed = CASES[case]
    folder = opened(study(tmp_path / "s"))
    study(folder, **changed)
    before = everything(folder)
    run = release(folder, "-o", folder / "a" / "b")
    assert (run.returncode, run.stdout) == (code, "")
    assert run.stderr.startswith(f"absentia: [{name}]"), run.stderr
    assert "\nremedy: " in run.stderr or "allowed: " in run.stderr.replace("\n  ", " ")
    assert SECRET not in run.stderr
    assert everything(folder) == before
    assert charges(folder) == 0
    as_json = release(folder, "-o", folder / "a" / "b", "--json")
    assert (as_json.returncode, as_json.stdout) == (code, "")
    assert json.loads(as_json.stderr)["code"] == name


@pytest.mark.parametrize("case", CASES)
def test_a_refusal_is_the_same_words_on_neighbouring_data(case: str, tmp_path: Path) -> None:
    """One person exchanged for another, with an extreme, an unreadable and an empty cell: not a letter changes."""
    _, _, changed = CASES[case]
    folder = opened(study(tmp_path / "s"))
    said = set()
    for cell in (SECRET, "1e308", "nan", "what?", "", '"', "\x1b[2J"):
        study(folder, **changed, first=cell)
        run = release(folder)
        assert run.returncode != 0
        said.add(run)
    assert len(said) == 1


def test_another_number_of_rows_than_is_public_is_refused(tmp_path: Path) -> None:
    folder = opened(study(tmp_path / "s", rows=299))
    run = release(folder, "-o", folder / "out")
    assert (run.returncode, run.stdout) == (2, "")
    assert "E-ROWS" in run.stderr
    assert "299" not in run.stderr
    assert (charges(folder), (folder / "out").exists()) == (0, False)


@pytest.mark.parametrize("cell", ["1e308", "-inf", "nan", "what?", "", '"', "\x1b[2J", "9" * 400, "\x00"])
def test_no_cell_can_refuse_a_release(cell: str, tmp_path: Path) -> None:
    folder = opened(study(tmp_path / "s", first=cell))
    run = release(folder)
    assert (run.returncode, run.stderr) == (0, "")


@pytest.mark.parametrize(
    "options", [["--quiet"], ["--noise-backend", "numpy"], ["--purpose", " "], ["--colour"], ["--emit-python", "-"]]
)
def test_options_that_make_no_sense_are_exit_two(options: list[str], tmp_path: Path) -> None:
    folder = opened(study(tmp_path / "s"))
    data = "people.csv"
    if options[-1] == "-":
        run = absentia("release", folder / "plan.toml", "-", "--ledger", folder / "study.ledger", options[0])
    else:
        run = release(folder, *options, data=data)
    assert (run.returncode, run.stdout) == (2, "")
    assert charges(folder) == 0


def test_a_release_is_not_written_over(tmp_path: Path) -> None:
    folder = opened(study(tmp_path / "s", SMALL), "--epsilon", "1")
    assert release(folder, "-o", folder / "out").returncode == 0
    before = everything(folder)
    run = release(folder, "-o", folder / "out")
    assert run.returncode == 2
    assert "E-EXISTS" in run.stderr
    assert everything(folder) == before
    assert charges(folder) == 1
    (folder / "file").write_text("")
    for place in ("file", "file/out"):
        blocked = release(folder, "-o", folder / place)
        assert (blocked.returncode, "H-OUTPUT" in blocked.stderr) == (4, True)
    assert charges(folder) == 1


STOPPED = """
import sys, time
import absentia.backends, absentia.release
from absentia.cli import main
def rest(*_):
    print("resting", flush=True)
    time.sleep(60)
{0} = rest
main(["release", "plan.toml", "people.csv", "--ledger", "study.ledger", "-o", "out"])
"""


@pytest.mark.parametrize(
    ("place", "spent"), [("absentia.release.aggregate", 0), ("absentia.backends.Continuous.draw", 1)]
)
def test_ctrl_c_leaves_no_file_and_no_answer(place: str, spent: int, tmp_path: Path) -> None:
    folder = opened(study(tmp_path / "s"))
    before = everything(folder)
    arguments = [sys.executable, "-c", STOPPED.format(place)]
    child = subprocess.Popen(arguments, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert child.stdout is not None
    assert child.stdout.readline() == b"resting\n"
    child.send_signal(signal.SIGINT)
    out, err = child.communicate(timeout=60)
    assert (child.returncode, out) == (130, b"")
    assert b"interrupted" in err
    assert b"Traceback" not in err
    assert everything(folder) == before
    assert charges(folder) == spent
