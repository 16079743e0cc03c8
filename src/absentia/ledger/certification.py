"""A missingness law certified from the data: a private histogram of observed-per-row, charged like any release."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from absentia.errors import BudgetRefused, HazardRefused, InputError
from absentia.exact import exact, round_down, round_up
from absentia.ledger.chain import Receipt
from absentia.ledger.charge import Charge
from absentia.ledger.ledger import Ledger
from absentia.missing.certify import certified, level_of, observed_histogram_reach
from absentia.missing.gamma import gamma
from absentia.missing.process import Process
from absentia.noise.bits import require_entropy
from absentia.noise.sampling import draw, grid_for
from absentia.planning.batch import Batch
from absentia.planning.schema import Schema
from absentia.query.distance import Distances
from absentia.query.reach import Reach
from absentia.table.aggregate import profile_counts
from absentia.theory.noise import Laplace

__all__ = ["Certified", "certify"]

MOST_LEVELS = 16
LEAST_EPSILON = Fraction(1, 10**9)


@dataclass(frozen=True)
class Certified:
    """The law, the receipt of the histogram's charge, and that of the amendment (None: the book keeps its law)."""

    law: Process
    receipt: Receipt
    amendment: Receipt | None


def certify(
    source: Any,
    schema: Schema,
    book: Ledger,
    *,
    epsilon: object,
    confidence: object = "0.95",
    because: str = "",
    by: str = "",
    odds: object = None,
) -> Certified:
    """The law of observed-per-row that the data support with this confidence; the book's law is amended by it.

    The histogram costs `epsilon` without missingness (noise 2 / epsilon: substitution moves one row from one bin to
    another), is charged before its noise is drawn, and leaves out the rows that show nothing, which a public n implies.
    It bounds the average over the rows of the table. That is the law of every record under MCAR, as a book whose masks
    do not depend on values has declared; otherwise `odds` is Gamma, how far the odds of a level may differ between two
    records (1 claims MCAR).
    """
    e, account = exact(epsilon, "epsilon"), book.account
    level_of(confidence)
    if e <= 0:
        raise InputError("epsilon", epsilon, "a number above 0")
    if schema.to_dict() != dict(account.schema):
        raise InputError("schema", "another description", "the ledger's: one dataset has one schema", "E-SCHEMA")
    if odds is not None:
        gamma(account.missing, odds)  # refuses what is no bound on odds
    elif account.missing.data_dependent:
        raise average_only()
    n, names = rows_of_people(schema, account.relation), tuple(schema.columns)
    levels = stretches(len(names))
    down = Fraction(round_down(e))  # distances are doubles: two histograms at 0.1 have to fit 0.2
    if down < LEAST_EPSILON:
        raise InputError("epsilon", epsilon, f"at least {float(LEAST_EPSILON):g}")
    noise = Laplace(round_up(2 / down))
    grid, distances = grid_for(noise.scale), distances_of(names, noise)
    counts = histogram(source, schema, n, levels)
    require_entropy()
    receipt = book.pay(Charge("", distances), f"histogram of observed-per-row, epsilon {epsilon}")
    noisy = [Fraction(int(k)) * Fraction(grid) for k in draw(noise, counts, grid)]
    found = certified(names, noisy, n, noise, confidence, levels, Fraction(grid) / 2, because.strip(), by)
    law = found if odds is None else gamma(found, odds)
    return Certified(law, receipt, _amended(book, law))


def _amended(book: Ledger, law: Process) -> Receipt | None:
    try:
        return book.amend(law, f"law certified with confidence {law.confidence}")
    except BudgetRefused:
        return None


def average_only() -> HazardRefused:
    """The refusal to put a law of the average row in the place of one that knows of values."""
    return HazardRefused(
        "H15",
        "The book's masks may depend on values, and a histogram bounds the law of the average row only.",
        "A record that shows more than the average would have a smaller figure than the truth.",
        "Say how far the odds of being observed may differ between two records (gamma; 1 claims that values do not"
        " matter), and why (because).",
    )


def rows_of_people(schema: Schema, relation: str) -> int:
    """The public number of rows, each of them one person; refused where there is none."""
    if relation == "add_remove":
        raise HazardRefused(
            "H3",
            "Shares were asked of a table whose number of rows is protected (add_remove).",
            "A bound on shares divides by the public number of rows.",
            "Certify in a book of the relation substitute, or declare the law.",
        )
    if schema.rows_per_unit > 1:
        raise HazardRefused(
            "H3",
            f"One person may have {schema.rows_per_unit} rows, and a law is certified row by row.",
            "A person's rows draw several masks, and the law of one row does not dominate what they move together.",
            "Keep one row a person (unit_rule.at_most = 1).",
        )
    if schema.n is None:
        raise InputError("schema.n", None, "the public number of rows: a bound on shares needs it")
    return schema.n


def stretches(columns: int) -> tuple[int, ...]:
    """The levels 1, 2, ..., or sixteen of them spread over as many columns."""
    if columns <= MOST_LEVELS:
        return tuple(range(1, columns + 1))
    return tuple(1 + (i * columns) // MOST_LEVELS for i in range(MOST_LEVELS))


def histogram(source: Any, schema: Schema, n: int, levels: Sequence[int]) -> np.ndarray:
    """Rows in each stretch of observed-per-row, exact and private."""
    found = profile_counts(source, schema)
    if schema.rows_are_public and found.rows != n:
        raise InputError("schema.n", n, "the number of rows of the table", "E-ROWS", "Correct n in the schema.")
    return np.add.reduceat(np.asarray(found.per_row, dtype=np.int64), levels)


def distances_of(names: Sequence[str], noise: Laplace) -> Batch:
    """Reach 1 as soon as a row shows anything; two rows with one mask are in one bin; any two differ by at most 2."""
    unit = 1 / Fraction(noise.scale)
    reach = observed_histogram_reach(list(names)).scaled(unit)
    return Batch("laplace", Distances(reach, Reach(1, ()), round_up(2 * unit)))
