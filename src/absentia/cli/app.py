"""The group of commands, the exit codes, and how a refusal is printed."""

from __future__ import annotations

import importlib
import io
import json
import os
import sys
import traceback
from pathlib import Path

import click

from absentia.cli.text import echo, wrapped
from absentia.errors import AbsentiaError

__all__ = ["cli", "main"]

TRACEBACK = "ABSENTIA_TRACEBACK"

COMMANDS = {
    "amplify": ("amplify:amplify", "The guarantee of a noise or a black box on data masked by a law."),
    "calibrate": ("amplify:calibrate", "The least noise that keeps a promise."),
    "schema": ("schema:schema", "A schema skeleton from a table's header; every bound left blank."),
    "profile": ("profile:profile", "What is missing in a table, for the custodian's eyes only."),
    "plan": ("plan:plan", "Guarantee, noise and expected errors, before any data is opened."),
    "release": ("release:release", "Charge the ledger, draw the noise, write answers and card."),
    "ledger": ("ledger:ledger", "init, charge, show, verify, export the budget book."),
    "certify": ("certify:certify", "A certified missingness law from the data, paid from the budget."),
    "card": ("card:card", "Verify a card without the data."),
    "paper": ("paper:paper", "The paper's results, recomputed."),
}
"""Name of a command: where it lives below absentia.cli, and its line in the help."""


class LazyGroup(click.Group):
    """A group that imports a command's module only when the command is used."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        module, _, name = COMMANDS[cmd_name][0].partition(":")
        command = getattr(importlib.import_module(f"absentia.cli.{module}"), name)
        assert isinstance(command, click.Command)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, line) for name, (_, line) in COMMANDS.items()])


@click.command(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 80})
@click.version_option(package_name="absentia")
def cli() -> None:
    """Differential privacy for data with holes.

    State how entries go missing, get the proved guarantee, release with less noise, keep the book.
    Exit codes: 0 done, 1 internal error, 2 usage or bad input, 3 budget refused, 4 hazard refused,
    5 ledger damaged, 6 audit contradiction.
    """


def main(argv: list[str] | None = None) -> None:
    """Run the command line; a refusal becomes its exit code."""
    arguments = sys.argv[1:] if argv is None else argv
    try:
        cli.main(args=arguments, standalone_mode=False)
    except click.exceptions.Exit as done:
        sys.exit(done.exit_code)
    except click.ClickException as problem:
        told = io.StringIO()
        problem.show(told)
        echo(told.getvalue().rstrip("\n").replace("\t", "  "), err=True)
        sys.exit(problem.exit_code)
    except click.Abort:
        echo("absentia: interrupted; no file is half-written, what was charged stays charged", err=True)
        sys.exit(130)
    except AbsentiaError as refusal:
        show_refusal(refusal, "--json" in arguments)
        sys.exit(refusal.exit_code)
    except Exception as problem:
        if os.environ.get(TRACEBACK):
            raise
        show_refusal(unexpected(problem), "--json" in arguments)
        sys.exit(AbsentiaError.exit_code)


def unexpected(problem: Exception) -> AbsentiaError:
    """What may be said of an error that nobody foresaw: its kind and its place, never its text."""
    frames = [f for f in traceback.extract_tb(problem.__traceback__) if "absentia" in Path(f.filename).parts]
    place = f" at {Path(frames[-1].filename).name}:{frames[-1].lineno}" if frames else ""
    return AbsentiaError(
        "E-INTERNAL",
        f"An error inside absentia: {type(problem).__name__}{place}.",
        "Its text is not shown, since it may quote the data.",
        f"Report it with the command and `absentia --version`. {TRACEBACK}=1 shows all, where data may be seen.",
    )


def show_refusal(refusal: AbsentiaError, as_json: bool) -> None:
    """The reason, the rule and the remedy on stderr; one JSON object when the output is JSON."""
    if as_json:
        echo(json.dumps(refusal.to_dict(), sort_keys=True), err=True)
        return
    parts = [("absentia", f"[{refusal.code}] {refusal.what}"), ("rule", refusal.rule), ("remedy", refusal.remedy)]
    for label, text in parts:
        if text:
            echo(wrapped(f"{label}: {text}", "  "), err=True)
