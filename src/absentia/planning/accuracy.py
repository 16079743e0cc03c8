"""Expected errors before data is opened, and the smallest budget that reaches stated accuracy."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from fractions import Fraction
from itertools import groupby
from typing import TYPE_CHECKING, Any

from absentia.errors import BudgetRefused, InputError
from absentia.exact import exact
from absentia.plain import labelled, shortened
from absentia.planning.budget import Budget
from absentia.planning.observed import seen_by
from absentia.query.base import Query
from absentia.query.estimate import Reading, half_width

if TYPE_CHECKING:
    from absentia.planning.planned import Plan

__all__ = ["Accuracy", "HalfWidth", "Target", "accuracy_of", "smallest_plan"]

DIGITS = 4
"""Significant digits of the budget that an accuracy-first plan states, rounded up."""
LARGEST, SMALLEST = Fraction(100), Fraction(1, 10**6)


@dataclass(frozen=True)
class HalfWidth:
    """Noise alone, at one confidence: `best` to `worst` over what is not known before the release.

    A mean lies between the midpoint (best) and a bound (worst) of its column; where the law only bounds how much is
    observed there is no worst case (inf). `exact`: both ends agree.
    """

    query: str
    cell: str
    unit: str
    best: float
    worst: float

    @property
    def exact(self) -> bool:
        return self.best == self.worst


@dataclass(frozen=True)
class Accuracy:
    """Expected half-widths of every answer."""

    confidence: float
    lines: tuple[HalfWidth, ...]
    per_row: bool
    """n is not public: ratios are given times the number of rows."""

    def __iter__(self) -> Iterator[HalfWidth]:
        return iter(self.lines)

    def of(self, query: str) -> tuple[HalfWidth, ...]:
        return tuple(line for line in self.lines if line.query == query)

    def to_dict(self) -> dict[str, Any]:
        lines = [{k: (None if v == math.inf else v) for k, v in asdict(line).items()} for line in self.lines]
        return {"confidence": self.confidence, "lines": lines}

    def __str__(self) -> str:
        title = f"expected half-width at {self.confidence:.0%}, noise only"
        title += "; ratios to be divided by n, which is not public" if self.per_row else ""
        found = [(query, list(lines)) for query, lines in groupby(self.lines, key=lambda line: line.query)]
        return "\n".join([title, *(text for query, lines in found for text in _block(query, lines))])


def _block(query: str, lines: Sequence[HalfWidth]) -> list[str]:
    """One line for a query whose answers are alike, else its name and a line for each answer."""
    if [line.cell for line in lines] == ["each"]:
        return [_line(query, lines[0])]
    return ["  " + shortened(query, 78), *(_line("  " + line.cell, line) for line in lines)]


def _line(name: str, line: HalfWidth) -> str:
    if line.best == math.inf:
        width = "nothing is expected to be observed"
    elif line.exact:
        width = _plain(line.best)
    elif line.worst == math.inf:
        width = f"{_plain(line.best)} or more"
    else:
        width = f"{_plain(line.best)} to {_plain(line.worst)}"
    return labelled("  " + name, 47, f"{width:<18} {shortened(line.unit, 32 - max(len(width), 18))}")


def _plain(x: float) -> str:
    """Three digits, thousands apart; powers of ten for what is huge or tiny."""
    return f"{float(f'{x:.3g}'):,.0f}" if 1000 <= x < 10**6 else f"{x:.3g}"


def accuracy_of(plan: Plan, confidence: object = None) -> Accuracy:
    """The expected half-widths of a plan."""
    level = plan.confidence if confidence is None else float(exact(str(confidence), "confidence"))
    if not 0 < level < 1:
        raise InputError("confidence", confidence, "a number strictly between 0 and 1")
    reading = Reading(plan.n, level, plan.noise_family)
    seen, sd = seen_by(plan.missing, plan.n), plan.noise_sd
    lines = [
        HalfWidth(e.query, e.cell, e.unit, half_width(e.best, 0.0, reading), half_width(e.worst, 0.0, reading))
        for q in plan.queries
        for e in q.expected(plan.schema, sd, seen)
    ]
    return Accuracy(level, tuple(lines), plan.n is None)


@dataclass(frozen=True)
class Target:
    """Every number of `query` (or its one `cell`) within +-`within` at `confidence`, noise only, worst case."""

    query: str
    within: Fraction
    confidence: Fraction = Fraction(95, 100)
    cell: str = ""

    @staticmethod
    def parse(item: Any, names: Sequence[str], i: int) -> Target:
        """The i-th target of a list, about one of the queries with these names."""
        path = f"accuracy[{i}]"
        if isinstance(item, Target):
            item = {"query": item.query, "within": item.within, "confidence": item.confidence, "cell": item.cell}
        if not isinstance(item, Mapping):
            raise InputError(path, item, 'a table such as {query = "mean(bmi)", within = "0.2"}')
        for key in item:
            if key not in ("query", "within", "confidence", "cell"):
                raise InputError(f"{path}.{key}", key, "query, within, confidence, cell")
        if item.get("query") not in names:
            raise InputError(f"{path}.query", item.get("query"), "the name of a query: " + "; ".join(names))
        within = exact(item.get("within"), f"{path}.within")
        level = exact(item.get("confidence", "0.95"), f"{path}.confidence")
        if within <= 0:
            raise InputError(f"{path}.within", item["within"], "a number above 0")
        if not 0 < level < 1:
            raise InputError(f"{path}.confidence", item["confidence"], "a number strictly between 0 and 1")
        return Target(str(item["query"]), within, level, str(item.get("cell", "")))

    def factor(self, plan: Plan) -> float:
        """How many times wider than wanted the plan's answers are."""
        lines = [x for x in plan.accuracy(self.confidence).of(self.query) if self.cell in ("", x.cell)]
        if not lines:
            raise InputError("accuracy.cell", self.cell, "a cell of the query, or nothing for all of them")
        return max(x.worst for x in lines) / float(self.within)


def smallest_plan(
    draft: Callable[[Fraction], Plan],
    build: Callable[[Budget], Plan],
    queries: Sequence[Query],
    items: Sequence[Any],
    delta: Fraction,
) -> Plan:
    """The plan of the smallest epsilon (four digits, rounded up) at which every target is met.

    Noise is one factor on all scales and every half-width is proportional to it, so the widest target gives the factor
    and the factor gives the budget; the shares of the queries stay as given.
    """
    targets = [Target.parse(item, [q.name for q in queries], i) for i, item in enumerate(items)]
    if not targets:
        raise InputError("accuracy", items, 'targets such as {"query": "mean(bmi)", "within": "0.2"}')
    wide = {t: t.factor(draft(Fraction(1))) for t in targets}
    widest = max(wide.values())
    if widest == math.inf:
        raise _unreachable([t for t, f in wide.items() if f == math.inf], ": how much is observed is not known")
    epsilon = draft(1 / Fraction(widest)).guarantee.epsilon(delta)
    if not epsilon <= LARGEST:
        raise _unreachable([t for t, f in wide.items() if f == widest])
    return build(Budget(_rounded(max(Fraction(epsilon), SMALLEST)), delta))


def _rounded(e: Fraction) -> Fraction:
    """e with four significant digits, rounded up."""
    unit = Fraction(10) ** (math.floor(math.log10(float(e))) - DIGITS + 1)
    return -(-e // unit) * unit


def _unreachable(missed: Sequence[Target], why: str = "") -> BudgetRefused:
    """Which targets stand in the way."""
    lines = "; ".join(f"{t.query} within {float(t.within):g}{why}" for t in missed)
    return BudgetRefused(
        f"No budget up to epsilon {float(LARGEST):g} reaches the accuracy asked ({lines}).",
        "Noise is shared by all queries of a plan: the widest answer decides the budget of all.",
        "Loosen the target, give that query a larger share, ask fewer queries, or declare how much is observed.",
    )
