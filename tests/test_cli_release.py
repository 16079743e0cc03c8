"""plan, ledger and release from the command line: the whole way, the book, the screen."""

from __future__ import annotations

import csv
import json
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

import absentia as ab
from cli_helpers import (
    PLAN,
    SCHEMA,
    SECRET,
    SMALL,
    Run,
    absentia,
    charges,
    everything,
    installed,
    opened,
    release,
    study,
    table,
)  # fmt: skip

SURVEY = Path(__file__).parents[1] / "examples" / "survey"

# -- the whole way ---------------------------------------------------------------------------------------------------


def test_the_installed_program_from_plan_to_receipt(tmp_path: Path) -> None:
    folder = study(tmp_path / "s")
    plan = installed("plan", "plan.toml", cwd=folder)
    init = installed("ledger", "init", "study.ledger", "plan.toml", cwd=folder)
    done = installed("release", "plan.toml", "people.csv", "--ledger", "study.ledger", "-o", "out", cwd=folder)
    shown = installed("ledger", "show", "study.ledger", cwd=folder)
    checked = installed("ledger", "verify", "study.ledger", "--receipt", "out/release.json", cwd=folder)
    card = installed("ledger", "verify", "study.ledger", "--receipt", "out/card.json", cwd=folder)
    assert card.stdout == checked.stdout
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


@pytest.mark.parametrize("name", ["the study", "plan.toml", "plan_independent.toml"])
def test_the_emitted_plan_prints_the_plan(name: str, tmp_path: Path) -> None:
    """Everything is spelled out: the script needs no file beside it."""
    file = study(tmp_path / "s") / "plan.toml" if name == "the study" else SURVEY / name
    text = absentia("plan", file).stdout
    script = absentia("plan", file, "--emit-python").stdout
    assert "Plan.load" not in script
    assert "ab.Budget(" in script or "accuracy=[" in script
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


# -- the screen ------------------------------------------------------------------------------------------------------


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


def test_what_the_noise_hides_is_no_number_on_the_screen(tmp_path: Path) -> None:
    """A regression at a tiny budget: no estimate of 0 that somebody could believe. The budget is printed as it is."""
    plan = PLAN.replace('epsilon = "1"', 'epsilon = "0.0003"').replace('kind = "mean"\ncolumn = "bmi"', "{0}")
    plan = plan.replace("{0}", 'kind = "regression"\ntarget = "bmi"\non = ["chl"]')
    folder = opened(study(tmp_path / "s", plan))
    book = absentia("ledger", "show", folder / "study.ledger").stdout.splitlines()
    assert [line.split()[-2:] for line in book if line.startswith("with")] == [["0", "0.0003"]] * 2
    lines = release(folder).stdout.splitlines()
    assert [line.split()[1:] for line in lines if line.startswith("  chl")] == [["-", "-", "-"]]
    assert [line.split()[2:] for line in lines if line.startswith("  R squared")] == [["-", "0", "1"]]
    assert any("the noise hides it" in line for line in lines)
