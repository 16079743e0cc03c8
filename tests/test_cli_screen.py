"""What reaches a screen: 80 columns, nothing a terminal would obey, no cell in an error, one exit code for each end."""

from __future__ import annotations

import ast
import io
import subprocess
import sys
import unicodedata
from collections.abc import Callable
from pathlib import Path
from unittest import mock

import pytest

import absentia.cli as command_line
from absentia.cli.app import COMMANDS
from absentia.cli.text import working
from absentia.plain import HIDDEN, shortened, visible
from cli_helpers import PLAN, SCHEMA, SECRET, Run, absentia, installed, opened, study, table

CLI = Path(command_line.__file__).parent
EVIL = "a\x1b[31mb\x9b2J\u202ec"
WORDS = EVIL + "\nepsilon 0"
GROUPS = {"ledger": ["init", "show", "verify", "export"], "paper": ["check", "figures", "table1"]}


# -- help ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "command", [[c] for c in COMMANDS if c != "card"] + [[g, c] for g in GROUPS for c in GROUPS[g]]
)
def test_help_fits_the_screen(command: list[str]) -> None:
    run = absentia(*command, "--help")
    assert (run.returncode, run.stderr) == (0, "")
    assert run.widest <= 80
    assert run.stdout.startswith("Usage: ")


@pytest.mark.parametrize(
    "arguments", [["colour"], ["plan"], ["plan", "--colour"], ["ledger", "burn"], ["release", "a"]]
)
def test_usage_errors_are_exit_two_on_stderr(arguments: list[str]) -> None:
    run = absentia(*arguments)
    assert (run.returncode, run.stdout) == (2, "")
    assert "Error: " in run.stderr


# -- characters that steer a terminal --------------------------------------------------------------------------------


def harmless(run: Run) -> bool:
    return all(c == "\n" or unicodedata.category(c) not in HIDDEN for c in run.stdout + run.stderr)


def test_every_command_prints_by_one_function() -> None:
    """click.echo and print would pass names on as they are; only cli/text.py may use them."""
    found = []
    for path in sorted(CLI.glob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and ast.unparse(node.func) in ("click.echo", "click.secho", "print"):
                found.append(path.name)
    assert set(found) == {"text.py"}


def test_visible_text() -> None:
    assert visible(WORDS) == "a\\x1b[31mb\\x9b2J\\u202ec\\nepsilon 0"
    assert visible("a\nb", keep="\n") == "a\nb"
    assert visible("größe 身長 \u00a0") == "größe 身長 \u00a0"
    assert shortened("abcdef", 5) == "ab..."
    assert shortened("\x1b" * 9, 12) == "\\x1b\\x1b\\..."


def test_no_name_in_a_study_can_steer_the_screen(tmp_path: Path) -> None:
    """Names of columns, categories, reasons, files and purposes, through every command that shows them."""
    name, value = '"a\\u001b[31mb\\u009b2J\\u202ec"', '"y\\u001b]0;x\\u0007"'
    schema = SCHEMA.replace("[columns.bmi]", f"[columns.{name}]").replace('"yes"', value)
    plan = PLAN.replace('"bmi"', name).replace("three forms", "three\\u001b[2J forms")
    folder = study(tmp_path / "s\x1b[31m", plan, schema)
    header = table(first=SECRET).replace("bmi", '"' + EVIL + '"', 1)
    (folder / "people.csv").write_text(header)
    files = (folder / "people.csv", "--schema", folder / "schema.toml")
    book = folder / "study.ledger"
    runs = [
        absentia("profile", *files, "--evidence"),
        absentia("plan", folder / "plan.toml", "--what-if", "gamma=2"),
        absentia("plan", folder / "plan.toml", "--explain"),
        absentia("plan", folder / "plan.toml", "--json"),
        absentia("plan", folder / "plan.toml", "--emit-python"),
        absentia("ledger", "init", book, folder / "plan.toml", "--epsilon", "2", "--aside", "0.1"),
        absentia("certify", *files, "--epsilon", "0.1", "--ledger", book),
    ]
    for run in runs:
        assert run.returncode == 0, run.stderr
        assert harmless(run)
    other = opened(study(tmp_path / "t", plan, schema))
    (other / "people.csv").write_text(header)
    for run in (
        absentia("release", other / "plan.toml", other / "people.csv", "--ledger", other / "study.ledger",
                 "--purpose", WORDS, "-o", other / "out\x1b[31m"),
        absentia("ledger", "show", other / "study.ledger"),
        absentia("ledger", "export", other / "study.ledger"),
    ):  # fmt: skip
        assert run.returncode == 0, run.stderr
        assert harmless(run)
        assert "\nepsilon 0" not in run.stdout


@pytest.mark.parametrize(
    "arguments",
    [
        ["plan", "x\x1b[31m.toml"],
        ["profile", "x\x1b[31m.csv", "--schema", "x\x1b[31m.toml"],
        ["ledger", "show", "x\x1b[31m"],
        ["plan", "--\x1b[31m"],
        ["\x1b[31m"],
    ],
)
def test_names_in_errors_are_written_out(arguments: list[str]) -> None:
    run = absentia(*arguments)
    assert run.returncode == 2
    assert harmless(run)
    assert "x1b[31m" in run.stderr


def test_a_schema_error_does_not_pass_on_what_the_file_holds(tmp_path: Path) -> None:
    folder = study(tmp_path / "s", schema='[columns."a\\u001b[31m"]\nkind = "x\\u001b[31m"\n')
    run = absentia("plan", folder / "plan.toml")
    assert run.returncode == 2
    assert harmless(run)


# -- errors that nobody foresaw --------------------------------------------------------------------------------------


@pytest.mark.parametrize("error", [RuntimeError, ValueError, KeyError, MemoryError, RecursionError, AssertionError])
def test_an_unforeseen_error_is_exit_one_without_its_text(error: type[Exception], tmp_path: Path) -> None:
    folder = opened(study(tmp_path / "s"))
    arguments = ("release", folder / "plan.toml", folder / "people.csv", "--ledger", folder / "study.ledger")
    with mock.patch("absentia.release.aggregate", side_effect=error(f"cell {SECRET}")):
        run = absentia(*arguments)
        assert (run.returncode, run.stdout) == (1, "")
        assert run.stderr.startswith("absentia: [E-INTERNAL]")
        assert error.__name__ in run.stderr
        assert SECRET not in run.stderr
        assert "Traceback" not in run.stderr
        assert run.widest <= 80
        assert '"code": "E-INTERNAL"' in absentia(*arguments, "--json").stderr
    assert not absentia("ledger", "show", folder / "study.ledger", "--json").json["releases"]


def test_the_text_is_there_for_those_who_ask(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    folder = study(tmp_path / "s")
    monkeypatch.setenv("ABSENTIA_TRACEBACK", "1")
    with (
        mock.patch("absentia.planning.planfile.plan", side_effect=RuntimeError("seen")),
        pytest.raises(RuntimeError, match="seen"),
    ):
        absentia("plan", folder / "plan.toml")


def test_the_installed_program_hides_it_too(tmp_path: Path) -> None:
    code = "import absentia.table.profile as p\np.profile_counts = lambda *a: [][0]\n"
    code += "from absentia.cli import main\nmain(['profile', 'people.csv', '--schema', 'schema.toml'])"
    folder = study(tmp_path / "s")
    run = subprocess.run([sys.executable, "-c", code], cwd=folder, capture_output=True, text=True, timeout=120)
    assert (run.returncode, run.stdout) == (1, "")
    assert "E-INTERNAL" in run.stderr
    assert "IndexError" in run.stderr
    assert "Traceback" not in run.stderr


# -- streams ---------------------------------------------------------------------------------------------------------


def test_a_reader_that_goes_away_is_no_traceback(tmp_path: Path) -> None:
    study(tmp_path / "s")
    program = Path(sys.executable).with_name("absentia")
    command = f'"{program}" plan plan.toml --json | head -c 1'
    run = subprocess.run(["bash", "-c", command], cwd=tmp_path / "s", capture_output=True, text=True, timeout=120)
    assert (run.stdout, run.stderr) == ("{", "")


def test_paper_table1_without_its_data_says_where_to_get_it(tmp_path: Path) -> None:
    run = absentia("paper", "table1", "--data", tmp_path)
    assert (run.returncode, "E-DATA" in run.stderr) == (2, True)


def test_the_version_is_the_packages() -> None:
    run = installed("--version", cwd=Path.cwd())
    assert (run.returncode, run.stderr) == (0, "")
    assert run.stdout.endswith(absentia_version() + "\n")


def absentia_version() -> str:
    from importlib.metadata import version

    return version("absentia")


def test_a_sign_of_life_comes_after_a_second_and_only_on_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    """The clock is the timer's: one that rings at once, one that never does, and a pipe."""
    import threading

    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    class Rings(threading.Timer):
        def __init__(self, interval: float, function: Callable[[], None]) -> None:
            super().__init__(0, function)
            assert interval == 1

        def start(self) -> None:
            self.function()

        def join(self, timeout: float | None = None) -> None:
            pass

    class Silent(Rings):
        def start(self) -> None:
            pass

    said = []
    for timer, stream in ((Rings, Terminal()), (Silent, Terminal()), (Rings, io.StringIO())):
        monkeypatch.setattr("threading.Timer", timer)
        monkeypatch.setattr("sys.stderr", stream)
        with working("computing the plan"):
            pass
        said.append("computing the plan" in stream.getvalue())
    assert said == [True, False, False]
