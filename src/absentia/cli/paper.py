"""`absentia paper`: the paper's results, recomputed and drawn."""

from __future__ import annotations

import json
from pathlib import Path

import click

from absentia.auditing.paper_checks import Check, run
from absentia.cli.table1 import table1_command
from absentia.cli.text import echo
from absentia.errors import AuditContradiction, InputError

__all__ = ["check", "figures", "paper"]


def check() -> list[Check]:
    """Every published result and reference value, recomputed."""
    return run()


def figures(out_dir: str | Path) -> list[Path]:
    """The SVG files written to `out_dir`; the same bytes on every run."""
    from absentia.cli.paper_figures import draw  # matplotlib takes long to import

    directory = Path(out_dir)
    if directory.exists() and not directory.is_dir():
        raise InputError("output", str(out_dir), "a directory")
    return draw(directory)


@click.group()
def paper() -> None:
    """Recompute and draw the results of the paper behind this library."""


@paper.command("check")
@click.option("--json", "as_json", is_flag=True, help="Write JSON with sorted keys.")
def check_command(as_json: bool) -> None:
    """Recompute every published result and reference value. Exit code 6 when one does not hold."""
    checks = check()
    echo(_as_json(checks) if as_json else _as_table(checks))
    if not all(c.holds for c in checks):
        raise click.exceptions.Exit(AuditContradiction.exit_code)


@paper.command("figures")
@click.option("-o", "--output", default="figures", show_default=True, help="The directory to write to.")
def figures_command(output: str) -> None:
    """Write the figures as SVG: the same bytes on every run."""
    for path in figures(output):
        echo(path)


paper.add_command(table1_command)


def _as_json(checks: list[Check]) -> str:
    summary = {
        "cases": sum(c.cases for c in checks),
        "checks": [c.to_dict() for c in checks],
        "holds": all(c.holds for c in checks),
    }
    return json.dumps(summary, indent=2, sort_keys=True)


def _as_table(checks: list[Check]) -> str:
    """At most 80 columns: result, claim, cases, verdict; then what failed."""
    lines = [f"{'result':<17}{'claim':<46}{'cases':>7}  verdict", "-" * 79]
    for c in checks:
        lines.append(f"{c.result:<17}{c.claim:<46}{c.cases:>7}  {'holds' if c.holds else 'FAILS'}")
        lines += [f"    {failure}"[:80] for failure in c.failures[:3]]
    failed = sum(not c.holds for c in checks)
    verdict = "all hold" if failed == 0 else f"{failed} FAIL"
    return "\n".join([*lines, "-" * 79, f"{len(checks)} checks, {sum(c.cases for c in checks)} cases: {verdict}"])
