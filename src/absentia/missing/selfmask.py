"""MNAR column by column: each column goes missing by its own rule, independently given the whole record."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from absentia.errors import InputError
from absentia.exact import list_of, probability
from absentia.law.blocks import Blocks
from absentia.law.forms import Forms
from absentia.law.reachlaw import ReachLaw
from absentia.missing.atoms import Atoms, envelope
from absentia.missing.domain import Cell, Domain, Records, boxes, domain_of, is_category, rescaled, stored_domain, whole
from absentia.missing.independent import Factor, Independent, in_blocks
from absentia.missing.process import Observed, Process, provenance, stored
from absentia.missing.score import Score, clashing, logistic, logistic_below
from absentia.missing.text import by_column, field_of, finite, names_of, subset_of, written
from absentia.query.reach import Reach

__all__ = ["Censoring", "ColumnModel", "mnar_censoring", "mnar_logistic", "mnar_self_masking"]


@dataclass(frozen=True)
class Censoring:
    """A value of `column` at or above `at` goes missing with probability `high`, below it with probability `low`."""

    column: str
    at: Fraction  # in [-1, 1]
    high: Fraction
    low: Fraction

    @property
    def columns(self) -> frozenset[str]:
        return frozenset({self.column})

    def least_missing(self, cell: Cell) -> Fraction:
        start, end = (Fraction(edge) for edge in cell[self.column])
        return min(([self.high] if end >= self.at else []) + ([self.low] if start < self.at else []))

    def missing(self, rows: int, records: Records) -> NDArray[np.float64]:
        return np.where(records.at_least(self.column, self.at), float(self.high), float(self.low))

    def to_dict(self) -> dict[str, Any]:
        return {"column": self.column, "at": written(self.at), "high": written(self.high), "low": written(self.low)}


@dataclass(frozen=True)
class Logistic:
    """A column goes missing with probability logistic(score(z))."""

    score: Score

    @property
    def columns(self) -> frozenset[str]:
        return self.score.columns

    def least_missing(self, cell: Cell) -> Fraction:
        return logistic_below(self.score.span(cell)[0])

    def missing(self, rows: int, records: Records) -> NDArray[np.float64]:
        return logistic(self.score.at(rows, records.z))

    def to_dict(self) -> dict[str, Any]:
        return {"score": self.score.to_dict()}


Rule = Censoring | Logistic


@stored
@dataclass(frozen=True, kw_only=True)
class ColumnModel(Process):
    """Column j goes missing by rules[j], which may look at any value of the record, independently given the record.

    `factors` are further switches that are independent of the record (items assigned by chance). T9 allows this:
    masks of different blocks are independent given the complete record.
    """

    name: ClassVar[str] = "column model"
    parameters: ClassVar[tuple[str, ...]] = ("missing", "observed")
    domain: Domain
    rules: tuple[tuple[str, Rule], ...]
    factors: tuple[Factor, ...] = ()

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.rules:
            raise InputError("missing", [], "a rule for at least one column")
        subset_of(self.columns, [name for name, _ in self.rules], "missing")

    @property
    def reads(self) -> frozenset[str]:
        return frozenset().union(*(rule.columns for _, rule in self.rules))

    @property
    def spans(self) -> Domain:
        return self.domain

    def dominating(self, cell: Cell, columns: frozenset[str]) -> Independent:
        """Independent columns of which these are seen at least as often as by any record of the cell."""
        rules = [(name, rule) for name, rule in self.rules if name in columns]
        own = tuple((frozenset({name}), 1 - rule.least_missing(cell)) for name, rule in rules)
        return Independent(columns=self.columns, factors=(*self.factors, *own))

    def powers(self, reach: Reach) -> Atoms:
        """The envelope over cells; exact when one corner hides least for every column (self-masking, censoring)."""
        asked = reach.columns
        matters = [rule for name, rule in self.rules if name in asked]
        cells = boxes(self.domain, _split(matters))
        return envelope([self.dominating(cell, asked).powers(reach) for cell in cells])

    def joint(self, reach: Reach) -> ReachLaw | Blocks | Forms:
        """One block for each component, each with its own envelope (T9, self-masking allowed)."""
        return in_blocks(self, reach, self.switches)

    def switches(self, column: str) -> list[int]:
        """The independent draws that hide this column."""
        return self._drawn.switches(column)

    @cached_property
    def _drawn(self) -> Independent:
        return self.dominating(whole(self.domain), frozenset(self.columns))

    def restricted(self, columns: object) -> Process:
        """The same process on fewer columns; the columns that the rules of those columns read must stay."""
        kept = names_of(columns)
        chosen = subset_of(self.columns, kept, "columns")
        rules = tuple((name, rule) for name, rule in self.rules if name in chosen)
        factors = tuple((held & chosen, p) for held, p in self.factors if held & chosen)
        if not rules:
            said: dict[str, Any] = {"because": self.because, "by": self.by, "kind": self.kind}
            return Independent(columns=kept, factors=factors, data_dependent=bool(factors), **said)
        lost = sorted(frozenset().union(*(rule.columns for _, rule in rules)) - chosen)
        if lost:
            raise InputError("columns", kept, f"columns that include {lost[0]}, on which the model depends")
        domain = tuple((name, span) for name, span in self.domain if name in chosen)
        return replace(self, columns=kept, domain=domain, rules=rules, factors=factors)

    def draw(self, rows: int, rng: np.random.Generator, records: Records) -> Observed:
        seen = Independent(columns=self.columns, factors=self.factors).draw(rows, rng, records)
        for name, rule in self.rules:
            seen[:, self.columns.index(name)] &= rng.random(rows) >= rule.missing(rows, records)
        return seen

    def fields(self) -> dict[str, Any]:
        factors = Independent(columns=self.columns, factors=self.factors).fields()["observed"]
        rules = [{"of": name, **rule.to_dict()} for name, rule in self.rules]
        return {"domain": stored_domain(self.domain), "missing": rules, **({"observed": factors} if factors else {})}

    @classmethod
    def parse(cls, data: Mapping[str, Any]) -> Self:
        columns = names_of(field_of(data, "columns", list))
        domain = domain_of(columns, data.get("domain"))
        rules = tuple(_rule(item, domain, f"missing[{i}]") for i, item in enumerate(field_of(data, "missing", list)))
        factors = Independent.parse({"columns": list(columns), "observed": data.get("observed", [])}).factors
        words = provenance(data) | {"data_dependent": True}
        return cls(columns=columns, domain=domain, rules=rules, factors=factors, **words)


def mnar_logistic(
    columns: object,
    missing: Mapping[str, Mapping[str, object]],
    domain: Mapping[str, object] | None = None,
    because: str = "",
    by: str = "",
) -> ColumnModel:
    """Each named column goes missing with probability logistic(score), where the score may use any columns.

    `missing` is {column: {"intercept": a, other_column: slope, category: {value: coefficient}}}, numbers as z in
    [-1, 1]. Columns not named are always observed.
    """
    names, spans = names_of(columns), domain_of(columns, domain)
    scores = by_column(names, missing, "missing", "a score for each column that goes missing")
    rules = tuple((name, Logistic(Score.parse(given, spans, f"missing.{name}"))) for name, given in scores.items())
    return ColumnModel(columns=names, domain=spans, rules=rules, because=because, by=by, data_dependent=True)


def mnar_self_masking(
    columns: object,
    missing: Mapping[str, tuple[object, object]],
    domain: Mapping[str, object] | None = None,
    because: str = "",
    by: str = "",
) -> ColumnModel:
    """Each named column hides its own values: {column: (intercept, slope)} with probability logistic(a + b z)."""
    pairs = _tuples(names_of(columns), missing, "(intercept, slope)")
    scores = {name: {"intercept": intercept, name: slope} for name, (intercept, slope) in pairs.items()}
    return mnar_logistic(columns, scores, domain, because, by)


def mnar_censoring(
    columns: object,
    missing: Mapping[str, tuple[object, object, object]],
    domain: Mapping[str, object] | None = None,
    because: str = "",
    by: str = "",
) -> ColumnModel:
    """Values at or above a public threshold (in the column's unit) go missing with probability `high`, others `low`.

    `missing` is {column: (threshold, high, low)}; ("50000", 1, 0) is top-coding by deletion.
    """
    names, spans = names_of(columns), domain_of(columns, domain)
    rules = []
    for name, (at, high, low) in _tuples(names, missing, "(threshold, high, low)").items():
        threshold = rescaled(at, dict(spans)[name], f"missing.{name}")
        chances = probability(high, f"missing.{name}.high"), probability(low, f"missing.{name}.low")
        rules.append((name, Censoring(name, threshold, *chances)))
    return ColumnModel(columns=names, domain=spans, rules=tuple(rules), because=because, by=by, data_dependent=True)


def _tuples(columns: Sequence[str], given: object, form: str) -> dict[str, list[object]]:
    """What is said about each named column, as many numbers as the form has."""
    said = by_column(columns, given, "missing", f"{form} for each column that goes missing")
    listed = {name: list_of(value, f"missing.{name}", form) for name, value in said.items()}
    for name, value in listed.items():
        if len(value) != form.count(",") + 1:
            raise InputError(f"missing.{name}", value, form)
    return listed


def _rule(item: Any, domain: Domain, path: str) -> tuple[str, Rule]:
    if not isinstance(item, Mapping) or not isinstance(item.get("of"), str):
        raise InputError(path, item, 'a table with "of" and a score or a threshold')
    if "score" in item:
        return item["of"], Logistic(Score.parse(item["score"], domain, f"{path}.score"))
    column = item.get("column")
    if column not in [name for name, span in domain if not is_category(span)]:
        raise InputError(f"{path}.column", column, "a number column of the schema")
    high, low = probability(item.get("high"), f"{path}.high"), probability(item.get("low"), f"{path}.low")
    return item["of"], Censoring(str(column), finite(item.get("at"), f"{path}.at"), high, low)


def _split(rules: list[Rule]) -> set[str]:
    """Columns on which the rules may disagree about the worst record."""
    scores = [rule.score for rule in rules if isinstance(rule, Logistic)]
    others = [name for rule in rules if isinstance(rule, Censoring) for name in rule.columns]
    shared = {name for name in others if others.count(name) > 1 or any(name in s.columns for s in scores)}
    return clashing(scores) | shared
