"""What was paid for is not lost: mechanisms charged by hand, outputs that take no more; and plans on stdin."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

import absentia as ab
from cli_helpers import PLAN, SMALL, absentia, charges, opened, release, study, table

PROGRAM = Path(sys.executable).with_name("absentia")
FULL = pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
BOX = ("--epsilon", "0.1", "--columns", "bmi,chl", "--purpose", "risk model")

# -- a mechanism with a guarantee of its own ---------------------------------------------------------------------------


def test_a_mechanism_is_charged_and_its_receipt_verifies(tmp_path: Path) -> None:
    folder = opened(study(tmp_path / "s", SMALL), "--epsilon", "1", "--aside", "0.3")
    book = folder / "study.ledger"
    release(folder)
    run = absentia("ledger", "charge", book, *BOX)
    assert (run.returncode, run.stderr) == (0, "")
    assert run.widest <= 80
    assert "charged: row 2" in run.stdout
    assert run.stdout.count("missingness") == 2
    found = absentia("ledger", "charge", book, *BOX, "--json").json
    assert set(found) == {"receipt", "remaining", "spent"}
    summary = absentia("ledger", "show", book, "--json").json
    assert [r["purpose"] for r in summary["releases"]] == ["Table 2", "risk model", "risk model"]
    assert (found["spent"], found["remaining"]) == (summary["spent"], summary["remaining"])
    (folder / "receipt.json").write_text(json.dumps(found))
    assert absentia("ledger", "verify", book, "--receipt", folder / "receipt.json").returncode == 0


def test_a_first_mechanism_is_amplified_and_python_charges_the_same(tmp_path: Path) -> None:
    """T1: 0.9 on rows of which the columns show with probability 2/3 counts log(1 + 2/3 (e^0.9 - 1))."""
    words = ("--epsilon", "0.9", "--columns", "smoker", "--purpose", "risk model")
    first = absentia("ledger", "charge", opened(study(tmp_path / "a")) / "study.ledger", *words, "--json").json
    with ab.Ledger.open(opened(study(tmp_path / "b")) / "study.ledger") as book:
        book.charge_black_box(epsilon="0.9", columns=["smoker"], purpose="risk model")
        assert book.spent() == first["spent"]
    assert 0.67 < first["spent"]["with_missingness"] < 0.69
    assert 0.8999 < first["spent"]["without_missingness"] < 0.9


@pytest.mark.parametrize(
    ("change", "code", "word"),
    [
        ({"--epsilon": "9"}, 3, "B-BUDGET"),
        ({"--epsilon": "-1"}, 2, "epsilon"),
        ({"--epsilon": "x"}, 2, "epsilon"),
        ({"--delta": "2"}, 2, "delta"),
        ({"--columns": "bmi,weight"}, 2, "weight"),
        ({"--columns": ""}, 2, "columns"),
        ({"--purpose": " "}, 2, "purpose"),
    ],
)
@pytest.mark.parametrize("later", [False, True])
def test_what_cannot_be_charged_is_refused(
    change: dict[str, str], code: int, word: str, later: bool, tmp_path: Path
) -> None:
    folder = opened(study(tmp_path / "s", SMALL), "--epsilon", "1", "--aside", "0.3")
    if later:
        release(folder)
    before = charges(folder)
    given = dict(zip(BOX[::2], BOX[1::2], strict=True)) | change
    run = absentia("ledger", "charge", folder / "study.ledger", *(word for pair in given.items() for word in pair))
    assert (run.returncode, run.stdout) == (code, "")
    assert word in run.stderr
    assert charges(folder) == before


# -- an output that takes no more --------------------------------------------------------------------------------------


def full(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """The installed program with its output on a full device."""
    with open("/dev/full", "w") as out:
        return subprocess.run([PROGRAM, *words], cwd=folder, stdout=out, stderr=-1, text=True, timeout=120, check=False)


RELEASE = ("release", "plan.toml", "people.csv", "--ledger", "study.ledger")


@FULL
@pytest.mark.parametrize("options", [(), ("--json",)])
def test_a_full_output_does_not_lose_the_answers(options: tuple[str, ...], tmp_path: Path) -> None:
    folder = opened(study(tmp_path / "s"))
    run = full(folder, *RELEASE, *options)
    assert run.returncode == 2
    found, end = json.JSONDecoder().raw_decode(run.stderr)
    assert found["rows"]
    told = run.stderr[end:]
    for word in ("E-STDOUT", "Row 1 of the book is charged", "on standard error"):
        assert word in " ".join(told.split())
    with ab.Ledger.open(folder / "study.ledger") as book:
        book.verify(found["receipt"])


@FULL
@pytest.mark.parametrize("options", [(), ("--json",)])
def test_files_are_written_before_anything_is_printed(options: tuple[str, ...], tmp_path: Path) -> None:
    folder = opened(study(tmp_path / "s"))
    run = full(folder, *RELEASE, *options, "-o", "out")
    assert run.returncode == 2
    assert "The answers are in out." in " ".join(run.stderr.split())
    assert "rows" not in run.stderr
    assert json.loads((folder / "out" / "release.json").read_text())["rows"]
    assert (folder / "out" / "card.html").exists()


def test_a_closed_output_is_refused_before_the_charge(tmp_path: Path) -> None:
    folder = opened(study(tmp_path / "s"))
    words = " ".join([f'"{PROGRAM}"', *RELEASE, "--json >&-"])
    run = subprocess.run(["bash", "-c", words], cwd=folder, capture_output=True, text=True, timeout=120, check=False)
    assert run.returncode == 2
    assert "standard output" in run.stderr
    assert charges(folder) == 0


def test_a_reader_that_goes_away_leaves_the_files(tmp_path: Path) -> None:
    folder = opened(study(tmp_path / "s"))
    words = " ".join([f'"{PROGRAM}"', *RELEASE, "--json -o out | head -c 1"])
    subprocess.run(["bash", "-c", words], cwd=folder, capture_output=True, timeout=120, check=True)
    assert (folder / "out" / "card.html").exists()


@FULL
@pytest.mark.parametrize(
    ("words", "paid"),
    [
        (("plan", "plan.toml"), ""),
        (("ledger", "show", "study.ledger"), ""),
        (("ledger", "charge", "study.ledger", *BOX), "receipt"),
        (
            ("certify", "people.csv", "--schema", "schema.toml", "--epsilon", "0.1", "--ledger", "study.ledger"),
            "missingness",
        ),
    ],
)
def test_every_command_says_that_its_output_is_full(words: tuple[str, ...], paid: str, tmp_path: Path) -> None:
    folder = opened(study(tmp_path / "s", SMALL), "--epsilon", "1", "--aside", "0.3")
    run = full(folder, *words)
    assert run.returncode == 2, run.stderr
    assert "[E-STDOUT]" in run.stderr
    assert "Traceback" not in run.stderr
    assert "Exception ignored" not in run.stderr
    if paid:
        assert json.JSONDecoder().raw_decode(run.stderr)[0][paid]


# -- the plan on stdin -------------------------------------------------------------------------------------------------


def test_a_plan_on_stdin_is_the_plan_in_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = study(tmp_path / "s")
    monkeypatch.chdir(folder)
    for options in ((), ("--json",), ("--emit-python",)):
        assert absentia("plan", "-", *options, stdin=PLAN.encode()) == absentia("plan", "plan.toml", *options)
    run = absentia("ledger", "init", "study.ledger", "-", stdin=PLAN.encode())
    assert run.returncode == 0, run.stderr
    run = absentia("release", "-", "people.csv", "--ledger", "study.ledger", "--json", stdin=PLAN.encode())
    assert run.returncode == 0, run.stderr
    assert run.json["purpose"] == "release of a plan on standard input"


def test_what_stdin_cannot_be(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = opened(study(tmp_path / "s"))
    monkeypatch.chdir(folder)
    for words, text in (
        (("-", "-"), table()),
        (("-", "people.csv", "--emit-python"), PLAN),
        (("-", "people.csv"), "budget ="),
        (("-", "people.csv"), "\xff"),
    ):
        run = absentia("release", *words, "--ledger", "study.ledger", stdin=text.encode("latin-1"))
        assert (run.returncode, run.stdout) == (2, "")
        assert "E-" in run.stderr
    assert charges(folder) == 0
