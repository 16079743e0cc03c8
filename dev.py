#!/usr/bin/env python3
"""Two commands on a fresh machine with Python 3.11+: `python3 dev.py demo` and `python3 dev.py test`.

Standard library only. Both create `.venv` beside this file and install what they need into it.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parent
ENV = ROOT / ".venv"
BIN = ENV / ("Scripts" if os.name == "nt" else "bin")
PYTHON = BIN / ("python.exe" if os.name == "nt" else "python")

SYSTEM = {
    "java": "Spark tests (Debian: apt-get install openjdk-17-jre-headless)",
    "chromium": "card tests in a real browser (Debian: apt-get install chromium)",
}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("demo", help="run the main job on the bundled survey and say where to look")
    test = commands.add_parser("test", help="lint, types, tests with coverage")
    test.add_argument("pytest", nargs="*", help="passed on to pytest, e.g. -- -k ledger")
    commands.add_parser("campaign", help="the long verification campaigns")
    given = parser.parse_args()
    if sys.version_info < (3, 11):  # noqa: UP036 (a user may start this with any Python)
        print("absentia needs Python 3.11 or newer; this is", sys.version.split()[0])
        return 2
    if given.command == "demo":
        install("")
        return demo()
    install("[dev]")
    if given.command == "campaign":
        return run(str(PYTHON), "-m", "pytest", "-m", "campaign")
    return tests(given.pytest)


def install(extras: str) -> None:
    """The package, editable, with its extras; skipped when this very pyproject is already installed."""
    stamp = ENV / f".absentia{extras}"
    wanted = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    if PYTHON.exists() and stamp.exists() and stamp.read_text(encoding="utf-8") == wanted:
        return
    if not PYTHON.exists():
        print(f"creating {ENV.name}/", flush=True)
        venv.create(ENV, with_pip=True)
    print(f"installing absentia{extras} into {ENV.name}/ (a few minutes the first time)", flush=True)
    subprocess.run(
        [str(PYTHON), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "-e", f".{extras}"],
        cwd=ROOT,
        check=True,
    )
    stamp.write_text(wanted, encoding="utf-8")


def demo() -> int:
    """The bundled three-form health survey: plan, release, card."""
    return run(str(PYTHON), str(ROOT / "examples" / "survey" / "demo.py"), str(ROOT / "demo-out"))


def tests(arguments: list[str]) -> int:
    for name, purpose in SYSTEM.items():
        if shutil.which(name) is None:
            print(f"note: {name} is not installed; without it the {purpose} are skipped", flush=True)
    steps = [
        [str(PYTHON), "-m", "ruff", "check", "."],
        [str(PYTHON), "-m", "ruff", "format", "--check", "."],
        [str(PYTHON), "-m", "mypy"],
        [str(PYTHON), "-m", "coverage", "run", "-m", "pytest", *arguments],
        [str(PYTHON), "-m", "coverage", "report", "--skip-covered", "--sort=cover"],
    ]
    failed = [" ".join(step[2:5]) for step in steps if run(*step) != 0]
    print("failed: " + "; ".join(failed) if failed else "all checks passed", flush=True)
    return 1 if failed else 0


def run(*command: str) -> int:
    return subprocess.run(command, cwd=ROOT, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
