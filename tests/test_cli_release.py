"""plan, ledger and release from the command line: the whole way, every exit code, and what a refusal leaves behind."""

from __future__ import annotations

import csv
import json
import signal
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

import absentia as ab
from cli_helpers import PLAN, SCHEMA, SECRET, Run, absentia, everything, installed, opened, study, table

SMALL = PLAN.replace('epsilon = "1"', 'epsilon = "0.25"')


def release(folder: Path, *options: str | Path, data: str = "people.csv") -> Run:
    return absentia(
        "release",
        folder / "plan.toml",
        folder / data,
        "--ledger",
        folder / "study.ledger",
        "--purpose",
        "Table 2",
        *options,
    )


def charges(folder: Path) -> int:
    return len(absentia("ledger", "show", folder / "study.ledger", "--json").json["releases"])


# -- the whole way ---------------------------------------------------------------------------------------------------


def test_the_installed_program_from_plan_to_receipt(tmp_path: Path) -> None:
    folder = study(tmp_path / "s")
    plan = installed("plan", "plan.toml", cwd=folder)
    init = installed("ledger", "init", "study.ledger", "plan.toml", cwd=folder)
    done = installed("release", "plan.toml", "people.csv", "--ledger", "study.ledger", "-o", "out", cwd=folder)
    shown = installed("ledger", "show", "study.ledger", cwd=folder)
    checked = installed("ledger", "verify", "study.ledger", "--receipt", "out/release.json", cwd=folder)
    for run in (plan, init, done, shown, checked):
        assert run.returncode == 0, run.stderr
        assert run.widest <= 80
        assert "\x1b" not in run.stdout + run.stderr
    for run in (plan, init, shown, checked):
        assert run.stderr == ""
    assert "no releases yet" in init.stdout
    assert "mean(bmi)" in done.stdout
    assert "ledger: 1 of 1 spent" in done.stdout
    assert "release of plan.toml" in shown.stdout
    assert "stands as issued" in checked.stdout
    files = {p.name for p in (folder / "out").iterdir()}
    assert files >= {"release.json", "release.csv"}
    assert done.stderr.split() == [word for p in done.stderr.splitlines() for word in ("written:", p.split()[1])]


def test_the_answers_are_one_json_object_and_the_files_hold_the_same(tmp_path: Path) -> None:
    folder = opened(study(tmp_path / "s"))
    run = release(folder, "--json", "-o", folder / "out")
    assert (run.returncode, run.stderr) == (0, "")
    found = run.json
    assert found == json.loads((folder / "out" / "release.json").read_text())
    assert {"guarantee", "ledger", "noise", "plan", "plan_identity", "purpose", "receipt", "rows"} <= set(found)
    assert found["purpose"] == "Table 2"
    assert found["plan_identity"] == ab.Plan.load(folder / "plan.toml").identity
    with (folder / "out" / "release.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert [row["query"] for row in rows] == [row["query"] for row in found["rows"]]
    assert [float(row["estimate"]) for row in rows] == [row["estimate"] for row in found["rows"]]
    assert SECRET not in run.stdout


def test_a_table_on_stdin_and_a_quiet_release(tmp_path: Path) -> None:
    folder = opened(study(tmp_path / "s", SMALL), "--epsilon", "1")
    arguments = ("release", folder / "plan.toml", "-", "--ledger", folder / "study.ledger")
    run = absentia(*arguments, stdin=table().encode())
    assert (run.returncode, run.stderr) == (0, "")
    assert "smoker=yes" in run.stdout
    quiet = absentia(*arguments, "--quiet", "-o", folder / "out", stdin=table().encode())
    assert quiet == Run(0, "", "")
    assert (folder / "out" / "release.csv").exists()
    assert charges(folder) == 2


def test_the_emitted_script_does_the_same(tmp_path: Path) -> None:
    folder = opened(study(tmp_path / "s"))
    before = everything(folder)
    run = installed(
        "release", "plan.toml", "people.csv", "--ledger", "study.ledger", "-o", "out's", "--purpose", 'say "hi" {0}',
        "--emit-python", cwd=folder,
    )  # fmt: skip
    assert (run.returncode, run.stderr) == (0, "")
    assert everything(folder) == before
    assert charges(folder) == 0
    script = subprocess.run([sys.executable, "-c", run.stdout], cwd=folder, capture_output=True, text=True, timeout=120)
    assert script.returncode == 0, script.stderr
    assert "mean(bmi)" in script.stdout
    (charge,) = absentia("ledger", "show", folder / "study.ledger", "--json").json["releases"]
    assert charge["purpose"] == 'say "hi" {0}'
    assert json.loads((folder / "out's" / "release.json").read_text())["purpose"] == 'say "hi" {0}'


def test_the_emitted_plan_prints_the_plan(tmp_path: Path) -> None:
    folder = study(tmp_path / "s")
    text = absentia("plan", folder / "plan.toml").stdout
    script = absentia("plan", folder / "plan.toml", "--emit-python").stdout
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=120)
    assert run.stdout == text


def test_a_plan_in_json_has_stable_keys_and_full_precision(tmp_path: Path) -> None:
    folder = study(tmp_path / "s")
    found = absentia("plan", folder / "plan.toml", "--json").json
    assert {"accuracy", "advice", "blocks", "guarantee", "hazards", "identity", "plan", "saving", "what_if"} == set(
        found
    )
    plan = ab.Plan.load(folder / "plan.toml")
    assert found["saving"] == plan.saving
    assert found["guarantee"]["with_missingness"]["epsilon"] == plan.guarantee.epsilon("1e-6")
    for text in (absentia("plan", folder / "plan.toml"), absentia("plan", folder / "plan.toml", "--explain")):
        assert text.widest <= 80


# -- the book --------------------------------------------------------------------------------------------------------


def test_the_book_as_text_and_as_json(tmp_path: Path) -> None:
    folder = opened(study(tmp_path / "s", SMALL), "--epsilon", "1", "--delta", "1e-6")
    release(folder)
    release(folder)
    found = absentia("ledger", "show", folder / "study.ledger", "--json").json
    assert {"budget", "spent", "remaining", "releases"} <= set(found)
    assert found["budget"] == {"epsilon": "1", "delta": "0.000001"}
    readings = {"with_missingness", "without_missingness", "if_mask_known"}
    assert set(found["spent"]) == set(found["remaining"]) == readings
    for k in readings:
        assert 0.25 < found["spent"][k] <= 1
        assert found["spent"][k] + found["remaining"][k] <= 1 + 1e-12
    assert found["spent"]["with_missingness"] <= found["spent"]["without_missingness"]
    assert [r["purpose"] for r in found["releases"]] == ["Table 2", "Table 2"]
    exported = absentia("ledger", "export", folder / "study.ledger").json
    assert len(exported["rows"]) == 3
    head = absentia("ledger", "verify", folder / "study.ledger", "--json").json
    assert (head["sequence"], head["head"]) == (2, found["head"]["head"])


def test_a_book_is_not_opened_twice_and_needs_a_place(tmp_path: Path) -> None:
    folder = opened(study(tmp_path / "s"))
    before = (folder / "study.ledger").read_bytes()
    again = absentia("ledger", "init", folder / "study.ledger", folder / "plan.toml")
    assert again.returncode == 2
    assert (folder / "study.ledger").read_bytes() == before
    nowhere = absentia("ledger", "init", folder / "no" / "study.ledger", folder / "plan.toml")
    assert nowhere.returncode in (2, 4)
    assert not (folder / "no").exists()
    assert absentia("ledger", "show", folder / "other.ledger").returncode == 2


@pytest.mark.parametrize(
    "change", ["DELETE FROM {0} WHERE rowid = (SELECT max(rowid) - 1 FROM {0})", "UPDATE {0} SET purpose = 'x'"]
)
def test_a_damaged_book_is_exit_five_everywhere(tmp_path: Path, change: str) -> None:
    folder = opened(study(tmp_path / "s", SMALL), "--epsilon", "1")
    release(folder, "-o", folder / "out")
    release(folder)
    with sqlite3.connect(folder / "study.ledger") as book:
        names = [name for (name,) in book.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        (rows,) = [n for n in names if "purpose" in {c[1] for c in book.execute(f"PRAGMA table_info({n})")}]
        for (trigger,) in book.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'").fetchall():
            book.execute(f"DROP TRIGGER {trigger}")
        book.execute(change.format(rows))
    book.close()
    before = everything(folder)
    for run in (
        release(folder, "-o", folder / "late"),
        absentia("ledger", "show", folder / "study.ledger"),
        absentia("ledger", "verify", folder / "study.ledger", "--receipt", folder / "out" / "release.json"),
    ):
        assert run.returncode == 5
        assert run.stdout == ""
        assert "[L-" in run.stderr
    assert everything(folder) == before


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


@pytest.mark.parametrize(("place", "spent"), [("absentia.release.aggregate", 0), ("absentia.backends.Own.draw", 1)])
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


def test_long_names_stay_within_the_screen_and_apart(tmp_path: Path) -> None:
    long, other = "body mass index as measured at the second visit " * 2 + "x", "smoking status " * 6 + "y"
    schema = SCHEMA.replace("[columns.bmi]", f'[columns."{long}"]').replace("[columns.smoker]", f'[columns."{other}"]')
    schema = schema.replace('["no", "yes"]', '["never or hardly ever in a life", "never or hardly ever in a year"]')
    plan = PLAN.replace('"bmi"', f'"{long}"').replace('"smoker"', f'"{other}"')
    folder = opened(study(tmp_path / "s", plan, schema))
    text = table().replace("bmi,chl,smoker", f"{long},chl,{other}")
    (folder / "people.csv").write_text(text)
    runs = [
        absentia("profile", folder / "people.csv", "--schema", folder / "schema.toml", "--evidence"),
        absentia("plan", folder / "plan.toml", "--what-if", "gamma=1.5", "--what-if", "without"),
        absentia("plan", folder / "plan.toml", "--explain"),
        release(folder, "--purpose", long),
        absentia("ledger", "show", folder / "study.ledger"),
    ]
    assert [run.returncode for run in runs] == [0] * len(runs)
    assert max(run.widest for run in runs) <= 80
    for text in (runs[1].stdout, runs[3].stdout):
        assert ("in a life" in text) == ("in a year" in text) == (text == runs[3].stdout)


def test_an_old_copy_or_another_receipt_is_exit_five(tmp_path: Path) -> None:
    folder = opened(study(tmp_path / "s", SMALL), "--epsilon", "1")
    release(folder, "-o", folder / "one")
    absentia("ledger", "verify", folder / "study.ledger")
    copy = {p.name: p.read_bytes() for p in folder.glob("study.ledger*")}
    release(folder, "-o", folder / "two")
    verify = ("ledger", "verify", folder / "study.ledger", "--receipt")
    assert absentia(*verify, folder / "two" / "release.json").returncode == 0
    for name, content in copy.items():
        (folder / name).write_bytes(content)
    old = absentia(*verify, folder / "two" / "release.json")
    assert (old.returncode, "L-ROLLBACK" in old.stderr, old.stdout) == (5, True, "")
    assert absentia(*verify, folder / "one" / "release.json").returncode == 0
    for text in ("", "[]", "{}", '{"receipt": 3}'):
        (folder / "receipt.json").write_text(text)
        assert absentia(*verify, folder / "receipt.json").returncode == 2
