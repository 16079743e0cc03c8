"""absentia certify: a certified missingness law from the data, paid from the budget."""

from __future__ import annotations

import click

from absentia.cli.source import source_of
from absentia.cli.text import echo, echo_json, paid, wrapped
from absentia.ledger.certification import Certified
from absentia.ledger.certification import certify as run
from absentia.ledger.ledger import Ledger
from absentia.plain import toml_table
from absentia.planning.schema import Schema

__all__ = ["certify"]


@click.command()
@click.argument("table")
@click.option("--schema", "schema_file", required=True, metavar="FILE", help="The schema of the book, with public n.")
@click.option("--epsilon", required=True, metavar="X", help="What the histogram costs without missingness.")
@click.option("--confidence", default="0.95", metavar="P", help="Of all bounds together (default 0.95).")
@click.option("--ledger", "ledger_file", required=True, metavar="FILE", help="The book that pays.")
@click.option("--gamma", metavar="G", help="How far the odds of being observed may differ between records (1: MCAR).")
@click.option("--because", default="", metavar="TEXT", help="Why the law of the rows may be taken for every record's.")
@click.option("--by", default="", metavar="TEXT", help="Who says so.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object with stable keys.")
def certify(
    table: str,
    schema_file: str,
    epsilon: str,
    confidence: str,
    ledger_file: str,
    gamma: str | None,
    because: str,
    by: str,
    as_json: bool,
) -> None:
    """A law of missingness from TABLE that holds with the given confidence; the book's law is amended by it.

    \b
    absentia certify people.csv --schema schema.toml --epsilon 0.1 \\
                     --confidence 0.99 --ledger study.ledger
    """
    schema = Schema.load(schema_file)
    with Ledger.open(ledger_file) as book:
        found = run(
            source_of(table), schema, book,
            epsilon=epsilon, confidence=confidence, because=because, by=by, odds=gamma,
        )  # fmt: skip
    with paid(as_dict(found), found.receipt.sequence):
        if as_json:
            echo_json(as_dict(found))
            return
        echo(wrapped(found.law.describe(), "  "))
        echo("it bounds the average over the rows of this table")
        if found.amendment is None:
            echo("the book keeps its law: under this one its charges would exceed the budget", err=True)
        echo("\n".join(["\nfor a plan:", *toml_table("[missingness]", "missingness", found.law.to_dict())]))


def as_dict(found: Certified) -> dict[str, object]:
    """The law and the receipts of its charge and of the amendment, JSON-ready."""
    return {
        "missingness": found.law.to_dict(),
        "receipt": found.receipt.to_dict(),
        "amendment": None if found.amendment is None else found.amendment.to_dict(),
    }
