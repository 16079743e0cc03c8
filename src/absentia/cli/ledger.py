"""absentia ledger: init, charge, show, verify, export the budget book."""

from __future__ import annotations

import csv

import click

from absentia.cli.planned import plan_in
from absentia.cli.text import echo, echo_json, load_spec, paid, working, wrapped
from absentia.errors import InputError
from absentia.exact import shown, shown_below
from absentia.guarantee import finite
from absentia.ledger.account import BINDINGS
from absentia.ledger.chain import Receipt
from absentia.ledger.charge import Charge
from absentia.ledger.ledger import Ledger
from absentia.planning.budget import Budget
from absentia.planning.plan import Plan

__all__ = ["ledger"]


@click.group()
def ledger() -> None:
    """The budget book of one dataset: one SQLite file on a local disk."""


@ledger.command()
@click.argument("book")
@click.argument("plan")
@click.option("--epsilon", metavar="X", help="The total budget (default: the plan's own).")
@click.option("--delta", metavar="X", help="Its delta (default: the plan's own).")
@click.option(
    "--binding",
    type=click.Choice(BINDINGS),
    default=BINDINGS[0],
    help="Which figure the budget limits: one rule for the whole book.",
)
@click.option(
    "--later",
    "later",
    multiple=True,
    metavar="PLAN",
    help="A plan that may be released later; repeatable. It raises the price of PLAN once a second release is asked.",
)
@click.option("--aside", "aside", metavar="EPSILON", help="Set aside for certify, Laplace releases and black boxes.")
@click.option("--aside-delta", "aside_delta", default="0", metavar="X", help="The delta set aside for black boxes.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object with stable keys.")
def init(
    book: str,
    plan: str,
    epsilon: str | None,
    delta: str | None,
    binding: str,
    later: tuple[str, ...],
    aside: str | None,
    aside_delta: str,
    as_json: bool,
) -> None:
    """Open a new BOOK for the dataset that PLAN is about: law, budget and relation are fixed here.

    \b
    absentia ledger init study.ledger plan.toml
    absentia ledger init study.ledger plan.toml --epsilon 2 \\
                         --later followup.toml --aside 0.1
    """
    with working("computing the plan"):
        first = plan_in(plan)
    own = first.budget.to_dict()
    total = Budget(epsilon or own["epsilon"], delta or own["delta"])
    part = Budget(aside, aside_delta) if aside is not None else None
    with working("computing the later plans"):
        others = [Plan.load(p) for p in later]
    with Ledger.create(book, first, budget=total, binding=binding, later=others, aside=part) as made:  # type: ignore[arg-type]
        _shown(made, as_json)
        if not as_json:
            echo(wrapped(price(made, first), "  "))


@ledger.command()
@click.argument("book")
@click.option(
    "--epsilon", required=True, metavar="E", help="The mechanism's epsilon on masked data, whatever the masks."
)
@click.option("--delta", default="0", metavar="D", help="Its delta (default: 0).")
@click.option("--columns", required=True, metavar="A,B", help="Every column that it reads.")
@click.option("--purpose", required=True, metavar="TEXT", help="What it is run for.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object: the receipt, spent, remaining.")
def charge(book: str, epsilon: str, delta: str, columns: str, purpose: str, as_json: bool) -> None:
    """Charge a mechanism with a guarantee of its own, before its user runs it (a black box, T1).

    \b
    absentia ledger charge study.ledger --epsilon 0.1 --columns bmi,chl \\
                           --purpose "risk model"
    """
    reads = next(csv.reader([columns], skipinitialspace=True), [])
    with Ledger.open(book) as found:
        receipt = found.charge_black_box(epsilon=epsilon, delta=delta, columns=reads, purpose=purpose)
        left, spent = found.remaining(), found.spent()
    said = {"receipt": receipt.to_dict(), "spent": {k: finite(x) for k, x in spent.items()}, "remaining": left}
    with paid(said, receipt.sequence):
        if as_json:
            echo_json(said)
            return
        echo(f"charged: row {receipt.sequence}, receipt {receipt.head[:16]}; it may be run once, as stated")
        echo(f"{'remaining of the budget':<30}{'epsilon':>10}")
        for name, x in left.items():
            echo(f"  {name.replace('_', ' '):<26}{shown_below(x):>12}")


@ledger.command()
@click.argument("book")
@click.option("--json", "as_json", is_flag=True, help="One JSON object with stable keys.")
def show(book: str, as_json: bool) -> None:
    """Budget, spent, remaining; what later releases may use; the law as a plan states it; every release."""
    with Ledger.open(book) as found:
        _shown(found, as_json)


@ledger.command()
@click.argument("book")
@click.option("--receipt", metavar="FILE", help="A receipt, release.json or card.json.")
@click.option("--json", "as_json", is_flag=True, help="The newest receipt as JSON.")
def verify(book: str, receipt: str | None, as_json: bool) -> None:
    """Check file and chain, recompute the totals; with a receipt, that its row stands as issued (else exit 5)."""
    held = None
    if receipt is not None:
        document = load_spec(receipt, "--receipt")
        inner = document.get("release")  # a card holds its release
        document = inner if isinstance(inner, dict) else document
        held = document.get("receipt", document)
        if not isinstance(held, dict):
            raise InputError("--receipt", receipt, "a receipt, or a file with one under `receipt`")
    with Ledger.open(book) as found:
        newest = found.verify(Receipt.from_dict(held) if held is not None else None)
    if as_json:
        echo_json(newest.to_dict())
        return
    checked = "" if receipt is None else "; the receipt's row stands as issued"
    echo(f"the book agrees with itself up to row {newest.sequence}{checked}\nhead {newest.head}")


@ledger.command()
@click.argument("book")
def export(book: str) -> None:
    """The whole book as JSON, checkable without the file."""
    with Ledger.open(book) as found:
        echo_json(found.export())


def price(book: Ledger, plan: Plan) -> str:
    """What the plan costs alone, and what it counts for once another release may follow its answers."""
    after = book.account.after(Charge(plan.identity, plan.batch))
    alone, ahead = after.counted(), after.ahead()
    return (
        f"{shown(alone)} of {float(after.limit.epsilon):g} is what this plan costs alone;"
        f" {shown(ahead)} is what it counts for before a second release"
    )


def _shown(book: Ledger, as_json: bool) -> None:
    if as_json:
        echo_json(book.summary())
    else:
        echo(book.show())
