"""`plan`: schema x queries x missingness x budget in, a plan out; no data is opened."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from fractions import Fraction
from types import MappingProxyType
from typing import Any

from absentia.calibration import FAMILIES
from absentia.errors import InputError
from absentia.exact import exact, round_up
from absentia.missing.process import Process
from absentia.planning.budget import Budget
from absentia.planning.checks import checked, public_rows, relative_scales, shown_often_enough
from absentia.planning.planned import Plan
from absentia.planning.schema import Schema
from absentia.query.base import Query

__all__ = ["Plan", "plan"]


def plan(
    schema: Schema,
    queries: Query | Sequence[Query],
    missing: Process,
    *,
    budget: Budget | None = None,
    accuracy: Iterable[Any] | None = None,
    noise: str = "gaussian",
    relation: str = "substitute",
    dependent_rows: int | None = None,
    rows_dependent: bool = False,
    dataset_n: int | None = None,
    confidence: float = 0.95,
    delta: object = "1e-6",
) -> Plan:
    """The plan with the least noise that keeps the budget; with `accuracy` targets, the one with the least budget.

    `rows_dependent`: one record may change how other rows' entries go missing; then `dependent_rows` = g must bound how
    many (T8). `delta` is the delta of an accuracy-first plan under Gaussian noise.
    """
    asked = (queries,) if isinstance(queries, Query) else tuple(queries)
    g = checked(schema, asked, missing, noise, relation, dependent_rows, rows_dependent, confidence)
    n = public_rows(schema, dataset_n, "dataset_n")
    if (budget is None) == (accuracy is None):
        raise InputError("budget", budget, "either a budget or accuracy targets")
    draft = _drafts(schema, asked, missing, noise, relation, g, n, float(confidence))
    if accuracy is not None:
        from absentia.planning.accuracy import smallest_plan

        d = exact(delta, "delta") if noise == "gaussian" else Fraction(0)
        blank = Budget("1", d)
        return smallest_plan(lambda f: draft(f, blank), lambda b: _built(draft, b), asked, list(accuracy), d)
    if not isinstance(budget, Budget):
        raise InputError("budget", budget, 'Budget(epsilon="1", delta="1e-6")')
    if noise == "gaussian" and budget.delta == 0:
        raise InputError("budget.delta", "0", "a number above 0 (Gaussian noise gives no pure guarantee), or laplace")
    return _built(draft, budget)


Draft = Callable[[Fraction, Budget], Plan]


def _drafts(
    schema: Schema,
    queries: tuple[Query, ...],
    missing: Process,
    noise: str,
    relation: str,
    rows: int,
    n: int | None,
    confidence: float,
) -> Draft:
    """Plans whose scales are the relative ones times a factor, rounded up."""
    scales, own = relative_scales(schema, queries, FAMILIES[noise].norm)

    def draft(factor: Fraction, budget: Budget) -> Plan:
        grown = MappingProxyType({s: round_up(Fraction(x) * factor) for s, x in scales.items()})
        theirs = MappingProxyType({name: round_up(Fraction(x) * factor) for name, x in own.items()})
        return Plan(schema, queries, missing, noise, budget, relation, rows, n, confidence, grown, theirs)

    return draft


def _built(draft: Draft, budget: Budget) -> Plan:
    """The plan whose certified figure keeps the budget; scales grow from 1e-12 on until it does."""
    start = draft(Fraction(1), budget)
    e, d = budget.epsilon, budget.delta
    shown_often_enough(start.missing, start.reach, start.dependent_rows, d)
    size = Fraction(start.batch.smallest_noise(start.missing, e, d, start.relation, start.dependent_rows))
    margin = Fraction(1, 10**12)
    while True:
        found = draft(size * (1 + margin), budget)
        if Fraction(found.guarantee.epsilon(d)) <= e:
            return found
        if margin > 1:
            found.check()
        margin *= 8
