"""What is checked before a plan is computed, and the relative noise of its statistics."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction

from absentia.amplification import RELATIONS
from absentia.calibration import FAMILIES
from absentia.errors import HazardRefused, InputError
from absentia.exact import integer, round_up, shown
from absentia.missing.complete import Complete
from absentia.missing.process import Process
from absentia.planning.schema import Schema
from absentia.query.base import Query
from absentia.query.custom import Own
from absentia.query.distance import Distances
from absentia.query.reach import Reach
from absentia.query.statistic import Statistic
from absentia.theory.noise import Norm

__all__ = ["checked", "own_distances", "public_rows", "relative_scales", "shown_often_enough"]


def checked(
    schema: Schema,
    queries: Sequence[Query],
    missing: Process,
    noise: str,
    relation: str,
    dependent_rows: int | None,
    rows_dependent: bool,
    confidence: float,
) -> int:
    """The number of dependent rows, after every field was found to be allowed."""
    if not isinstance(schema, Schema):
        raise InputError("schema", schema, "a Schema")
    _queries(schema, queries)
    if not isinstance(missing, Process):
        raise InputError("missingness", missing, "a missingness process, such as missing.planned(...)")
    if not isinstance(noise, str) or noise not in FAMILIES:
        raise InputError("noise", noise, '"gaussian" or "laplace"')
    if relation not in RELATIONS[:2]:
        raise InputError("relation", relation, '"substitute" or "add_remove"')
    if isinstance(confidence, bool) or not isinstance(confidence, (int, float)) or not 0 < confidence < 1:
        raise InputError("confidence", confidence, "a number strictly between 0 and 1")
    _missing(schema, queries, missing)
    return _dependent(dependent_rows, rows_dependent)


def _queries(schema: Schema, queries: Sequence[Query]) -> None:
    if not queries:
        raise InputError("query", [], "at least one query")
    names: set[str] = set()
    for i, q in enumerate(queries):
        if not isinstance(q, Query):
            raise InputError(f"query[{i}]", q, "a query, such as mean('bmi')")
        try:
            q.validate(schema)
        except InputError as e:
            raise InputError(f"query[{i}].{e.field}", e.given, e.allowed, e.code, e.remedy) from None
        if q.name in names:
            raise InputError(f"query[{i}]", q.name, "every query once")
        names.add(q.name)


def _missing(schema: Schema, queries: Sequence[Query], missing: Process) -> None:
    if not isinstance(missing, Complete) and not missing.because.strip():
        raise HazardRefused(
            "H13",
            "The missingness is declared without a reason.",
            "An assumption about missing entries that nobody stands for must not lower the noise.",
            'Say why it holds (because = "...") and who says so (by = "..."), or declare kind = "without".',
        )
    if schema.rows_per_unit > 1 and not isinstance(missing, Complete):
        raise HazardRefused(
            "H3",
            f"One person may have {schema.rows_per_unit} rows, and the missingness is stated row by row.",
            "A person's rows draw several masks, and the law of one row does not dominate what they move together.",
            "Keep one row a person (unit_rule.at_most = 1), or plan without missingness.",
        )
    known = set(missing.columns)
    for i, q in enumerate(queries):
        lost = sorted(q.columns - known) if known else []
        if lost:
            raise InputError(
                f"query[{i}]", lost[0], "columns about which the missingness says something",
                remedy=f"Add {lost[0]} to the columns of the missingness (one that is always observed included).",
            )  # fmt: skip


def _dependent(dependent_rows: int | None, rows_dependent: bool) -> int:
    if dependent_rows is None and rows_dependent:
        raise HazardRefused(
            "H14",
            "Rows are declared dependent: one record may change how other rows' entries go missing.",
            "Amplification needs rows that draw their masks independently; with two rows, a count of observed entries"
            " with Laplace noise of scale 1/epsilon can lose twice epsilon (T8).",
            "State how many other rows one record can affect (dependent_rows = g), or remove the dependence.",
        )
    g = 0 if dependent_rows is None else dependent_rows
    least = 1 if rows_dependent else 0
    return integer(g, "dependent_rows", least, 10**6)


def public_rows(schema: Schema, n: object, field: str) -> int | None:
    """The public number of rows: the schema's, or the plan's own where the schema has none."""
    if n is None:
        return schema.n
    rows = integer(n, field, 1)
    if schema.n is not None and rows != schema.n:
        remedy = f"Leave {field} out, and correct n in the schema if it is the one that is wrong."
        raise InputError(field, rows, f"the schema's n: {schema.n}", remedy=remedy)
    return rows


def shown_often_enough(missing: Process, reach: Reach, dependent_rows: int, delta: Fraction) -> None:
    """Refuses where the promise alone would ask for no noise at all, and answers could be a record as it stands."""
    p = missing.law(reach).p_exact
    if p <= delta and not dependent_rows:
        raise HazardRefused(
            "H1",
            f"A row shows what is asked with probability at most {shown(p)}; delta {shown(delta)} covers that.",
            "Such a delta allows a record to be published as it stands, so no noise would be drawn.",
            "Ask for a delta well below that probability, leave these queries out, or correct the missingness.",
        )


def relative_scales(
    schema: Schema, queries: Sequence[Query], norm: Norm
) -> tuple[dict[Statistic, float], dict[str, float]]:
    """Noise of each statistic relative to the batch: (reach / scale)^norm is its share of the budget.

    A statistic that several queries use is released once, with the largest share that any of them gives it.
    """
    shares: dict[Statistic, Fraction] = {}
    own: dict[str, float] = {}
    for q in queries:
        for s, w in q.parts(schema).items():
            shares[s] = max(shares.get(s, Fraction(0)), w * q.share)
        if isinstance(q, Own):
            own[q.name] = float(q.full) / float(q.share) ** (1 / norm)
    return {s: _scale(s, schema, w, norm) for s, w in shares.items()}, own


def _scale(s: Statistic, schema: Schema, share: Fraction, norm: Norm) -> float:
    reach = s.scale(schema) * schema.rows_per_unit
    return round_up(reach / share) if norm == 1 else float(reach) / float(share) ** 0.5


def own_distances(queries: Sequence[Query], scales: Mapping[str, float], norm: Norm) -> list[Distances]:
    """The distances of the queries that their users run, in units of the noise they are to use."""
    return [q.distances(norm).scaled(1 / Fraction(scales[q.name])) for q in queries if isinstance(q, Own)]
