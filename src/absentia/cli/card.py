"""absentia card: verify a card without the data."""

from __future__ import annotations

import sys

import click

from absentia.card.card import Card
from absentia.card.structure import parsed
from absentia.cli.text import echo, echo_json, wrapped

__all__ = ["card"]


@click.group()
def card() -> None:
    """The page about a release, and whether it tells the truth."""


@card.command()
@click.argument("file", metavar="CARD.JSON")
@click.option("--ledger", "ledger_file", metavar="FILE", help="Hold the book itself to the card's receipt as well.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object: verified, checks, plan, receipt.")
def verify(file: str, ledger_file: str | None, as_json: bool) -> None:
    """Compute every figure of CARD.JSON again, without the data ('-': stdin).

    Exit 0: everything agrees. Exit 5: something contradicts the rest; its path is named. Exit 2: not a card.

    \b
    absentia card verify out/card.json
    absentia card verify out/card.json --ledger study.ledger
    """
    found = Card(parsed(sys.stdin.buffer.read(), "stdin")) if file == "-" else Card.load(file)
    checks = found.verify(ledger_file)
    told = found.document["release"]
    if as_json:
        echo_json({"verified": True, "checks": list(checks), "plan": told["plan_identity"], "receipt": told["receipt"]})
        return
    echo("The card agrees with itself; every figure was computed again without the data.")
    for line in checks:
        echo(wrapped(f"- {line}", "  "))
