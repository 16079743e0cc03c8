"""absentia release: charge the ledger, draw the noise, write the answers and the card."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import click

from absentia.backends import BACKENDS
from absentia.cli.planned import plan_in
from absentia.cli.source import source_of
from absentia.cli.text import echo, echo_json, paid
from absentia.errors import InputError
from absentia.ledger.ledger import Ledger
from absentia.release import Release, prepared
from absentia.release import release as run

__all__ = ["release"]

SCRIPT = '''"""What `absentia release` runs."""

import absentia as ab

plan = ab.Plan.load({0!r})
with ab.Ledger.open({1!r}) as book:
    release = plan.release({2!r}, book, purpose={3!r}, noise_backend={4!r})
{5}print(release)
'''


@click.command()
@click.argument("plan")
@click.argument("table")
@click.option("--ledger", "ledger_file", required=True, metavar="FILE", help="The book (absentia ledger init).")
@click.option("-o", "--out", metavar="DIR", help="Write release.json, release.csv and the card there.")
@click.option("--purpose", metavar="TEXT", help="What the release is for (default: the plan file's name).")
@click.option("--noise-backend", "backend", default="absentia", metavar="NAME", help="absentia (default) or opendp.")
@click.option("--emit-python", is_flag=True, help="Print the equivalent Python script; open nothing.")
@click.option("--quiet", is_flag=True, help="No progress, no table.")
@click.option("--json", "as_json", is_flag=True, help="The release as one JSON object.")
def release(
    plan: str,
    table: str,
    ledger_file: str,
    out: str | None,
    purpose: str | None,
    backend: str,
    emit_python: bool,
    quiet: bool,
    as_json: bool,
) -> None:
    """Answer the queries of PLAN (TOML) on TABLE (CSV, Parquet, a folder); either may be '-', which is stdin.

    The charge is on the disk before noise is drawn; whatever is refused is refused before.

    \b
    absentia release plan.toml people.parquet --ledger study.ledger -o out/
    """
    named = "a plan on standard input" if plan == "-" else Path(plan).name
    words = purpose if purpose is not None else f"release of {named}"
    usable(plan, table, out, backend, emit_python, quiet, as_json)
    if emit_python:
        save = f"release.save({out!r})\n" if out else ""
        echo(SCRIPT.format(plan, ledger_file, table, words, backend, save), nl=False)
        return
    say = progress(quiet or as_json)
    say("computing the plan")
    planned = plan_in(plan)
    with Ledger.open(ledger_file) as book:
        if out is not None:
            prepared(out, planned)
        done = run(planned, source_of(table), book, words, noise_backend=backend, progress=say)
    if out is not None:
        say("writing the answers and the card")
    files = saved(done, out)
    with paid(done.to_dict(), done.receipt.sequence, out or ""):
        if as_json:
            echo_json(done.to_dict())
        elif not quiet:
            echo(done)
    if not quiet and not as_json:
        for path in files:
            echo(f"written: {path}", err=True)


def usable(plan: str, table: str, out: str | None, backend: str, emit_python: bool, quiet: bool, as_json: bool) -> None:
    """Nothing, or an InputError: options that would lose answers that were paid for are refused beforehand."""
    if backend not in BACKENDS:
        raise InputError("--noise-backend", backend, " or ".join(BACKENDS))
    if plan == table == "-":
        raise InputError("TABLE", table, "a file where the plan is on standard input")
    for field, given in (("PLAN", plan), ("TABLE", table)):
        if emit_python and given == "-":
            raise InputError(field, given, "a file: the script cannot read this command's standard input")
    if quiet and out is None and not as_json:
        raise InputError("--quiet", True, "together with --out or --json, or the answers would be lost")
    if sys.stdout is None and out is None and not emit_python:
        raise InputError("standard output", "closed", "an open one, or --out, or the answers would be lost")
    if out is not None and (Path(out) / "release.json").exists():
        remedy = "Name another directory: released answers are paid for, and are not written over."
        raise InputError("--out", out, "a directory that holds no release yet", "E-EXISTS", remedy)


def saved(done: Release, out: str | None) -> list[Path]:
    """The paths written; where the writing fails, the whole release goes to stdout instead of being lost."""
    try:
        return [] if out is None else done.save(out)
    except Exception:
        with paid(done.to_dict(), done.receipt.sequence):
            echo_json(done.to_dict())
        raise


def progress(silent: bool) -> Callable[[str], None]:
    """Says what is being done, on stderr, where a person looks at it."""
    if silent or not sys.stderr.isatty():
        return lambda _: None
    return lambda text: echo(f"absentia: {text} ...", err=True)
