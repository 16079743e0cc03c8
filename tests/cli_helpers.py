"""The command line as a user meets it: in this process for speed, or as the installed program."""

from __future__ import annotations

import io
import json
import subprocess
import sys
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any, NamedTuple
from unittest import mock

from absentia.cli import main

SCHEMA = """
missing = ["", "NA"]
n = 300
[columns.bmi]
kind = "number"
bounds = [10, 60]
[columns.chl]
kind = "number"
bounds = [100, 400]
missing = [999]
[columns.smoker]
kind = "category"
values = ["no", "yes"]
"""

PLAN = """
schema = "schema.toml"
[budget]
epsilon = "1"
delta = "1e-6"
[missingness]
kind = "planned"
asked = [["bmi", "chl"], ["bmi", "smoker"], ["chl", "smoker"]]
because = "three forms, drawn by chance"
by = "study office"
[[query]]
kind = "mean"
column = "bmi"
[[query]]
kind = "histogram"
column = "smoker"
"""

SMALL = PLAN.replace('epsilon = "1"', 'epsilon = "0.25"')

FORMS = (("26.5", "999", "yes"), ("NA", "207", "no"), ("31", "180", "NA"))
SECRET = "31.41592"
"""A cell that must never be seen on a screen."""


class Run(NamedTuple):
    returncode: int
    stdout: str
    stderr: str

    @property
    def json(self) -> Any:
        """What stdout holds, which must be one sorted object and nothing else."""
        found = json.loads(self.stdout)
        assert self.stdout == json.dumps(found, sort_keys=True, indent=2) + "\n"
        return found

    @property
    def widest(self) -> int:
        return max(map(len, (self.stdout + self.stderr).splitlines()))


def absentia(*arguments: str | Path, stdin: bytes = b"") -> Run:
    """The command line in this process, with its streams and exit code."""
    out, err = io.StringIO(), io.StringIO()
    given = io.TextIOWrapper(io.BytesIO(stdin), encoding="utf-8")
    with redirect_stdout(out), redirect_stderr(err), mock.patch("sys.stdin", given):
        try:
            main([str(a) for a in arguments])
            code = 0
        except SystemExit as done:
            code = int(done.code or 0)
    return Run(code, out.getvalue(), err.getvalue())


def installed(*arguments: str | Path, cwd: Path, stdin: bytes = b"") -> Run:
    """The program beside this interpreter, in a process of its own."""
    program = Path(sys.executable).with_name("absentia")
    run = subprocess.run([program, *arguments], cwd=cwd, input=stdin, capture_output=True, timeout=120)
    return Run(run.returncode, run.stdout.decode(), run.stderr.decode())


def table(rows: int = 300, first: str = "26.5") -> str:
    """CSV of a three-form survey; the first person's bmi may be chosen."""
    cells = [",".join(FORMS[i % 3]) for i in range(rows)]
    cells[0] = f"{first},999,yes"
    return "bmi,chl,smoker\n" + "\n".join(cells) + "\n"


def study(folder: Path, plan: str = PLAN, schema: str = SCHEMA, rows: int = 300, first: str = SECRET) -> Path:
    """A folder with people.csv, schema.toml and plan.toml; no book yet."""
    folder.mkdir(exist_ok=True)
    (folder / "people.csv").write_text(table(rows, first))
    (folder / "schema.toml").write_text(schema)
    (folder / "plan.toml").write_text(plan)
    return folder


def opened(folder: Path, *options: str) -> Path:
    """The same with study.ledger."""
    run = absentia("ledger", "init", folder / "study.ledger", folder / "plan.toml", *options)
    assert run.returncode == 0, run.stderr
    return folder


def everything(folder: Path) -> dict[str, bytes]:
    """Every file below the folder but the book's, and every directory, by name."""
    return {
        str(p.relative_to(folder)): p.read_bytes() if p.is_file() else b""
        for p in sorted(folder.rglob("*"))
        if not p.name.startswith("study.ledger")
    }


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
