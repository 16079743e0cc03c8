"""absentia profile: what is missing in a table, for the custodian's eyes only."""

from __future__ import annotations

from pathlib import Path

import click

from absentia.cli.source import source_of
from absentia.cli.text import echo, echo_json, working
from absentia.errors import InputError
from absentia.planning.schema import Schema
from absentia.table.profile import Profile
from absentia.table.profile import profile as profile_of

__all__ = ["profile"]


@click.command()
@click.argument("table")
@click.option("--schema", "schema_file", required=True, metavar="FILE", help="The columns in scope (TOML).")
@click.option("--k", type=int, help="Also give eta, the share of rows with more than K observed columns.")
@click.option("--figures", metavar="DIR", type=click.Path(), help="Write missing.svg, patterns.svg, pairs.svg there.")
@click.option("--evidence", "with_evidence", is_flag=True, help="Little's test; dependence between rows.")
@click.option("--cluster", metavar="COLUMN", help="With --evidence: are masks alike within the values of COLUMN?")
@click.option("--json", "as_json", is_flag=True, help="One JSON object with stable keys.")
def profile(
    table: str,
    schema_file: str,
    k: int | None,
    figures: str | None,
    with_evidence: bool,
    cluster: str | None,
    as_json: bool,
) -> None:
    """What is missing in TABLE (CSV, Parquet, a folder; '-': CSV on stdin), relative to the columns of the schema.

    For the custodian's eyes only: exact facts about people, no noise; not for release, and not a guarantee.

    \b
    absentia profile people.csv --schema schema.toml
    absentia profile people.csv --schema schema.toml --k 2 --figures figures/
    absentia profile people.csv --schema schema.toml --evidence --cluster ward
    """
    if cluster is not None and not with_evidence:
        raise InputError("--cluster", cluster, "a column together with --evidence")
    if figures is not None and Path(figures).exists() and not Path(figures).is_dir():
        raise InputError("--figures", figures, "a directory")
    schema = Schema.load(schema_file)
    source = source_of(table, again=with_evidence)
    tests = None
    if with_evidence:
        from absentia.table.evidence import evidence

        with working("testing"):
            tests = evidence(source, schema, cluster)
    found = profile_of(source, schema, k)
    if figures is not None:
        _draw(found, figures)
    if as_json:
        echo_json(found.to_dict() | ({"evidence": tests.to_dict()} if tests else {}))
    else:
        echo("\n\n".join(str(part) for part in (found, tests) if part))


def _draw(found: Profile, directory: str) -> None:
    """The figures; their paths go to stderr, so that stdout stays the report."""
    from absentia.table.figures import draw  # matplotlib takes long to import

    try:
        written = draw(found, Path(directory))
    except OSError as e:
        raise InputError("--figures", directory, f"a directory that can be written ({e.strerror})", "E-FILE") from None
    for path in written:
        echo(str(path), err=True)
