"""Masks that depend on values, with public coefficients: MAR by pattern, and MNAR column by column.

The law is an envelope. Over a cell of the domain each probability is replaced by its bound that shows more, which
raises every survival probability, because the reach only grows when more is shown; the envelope over cells that cover
the domain then dominates the law of every record. It is attained when one corner is worst for every probability, and
columns that pull in different directions are split into cells first.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, ClassVar, Self

import numpy as np

from absentia.errors import InputError
from absentia.exact import list_of, probability
from absentia.missing.atoms import Atoms, envelope
from absentia.missing.domain import Cell, Domain, Records, boxes, domain_of, stored_domain
from absentia.missing.patterns import Patterns
from absentia.missing.process import Observed, Process, provenance, stored
from absentia.missing.score import Score, clashing, logistic, logistic_below
from absentia.missing.text import field_of, names_of, subset_of, table_of, written
from absentia.query.reach import Reach

__all__ = ["PatternModel", "mar", "mnar_patterns"]

Candidate = tuple[frozenset[str], Fraction, Score]  # columns that go missing, probability of the candidate, score


@stored
@dataclass(frozen=True, kw_only=True)
class PatternModel(Process):
    """Each row is dealt candidate pattern i with probability mass[i], and loses its columns with probability
    logistic(score_i(z)); otherwise it stays complete. MAR when every score uses columns that its pattern keeps.
    """

    name: ClassVar[str] = "pattern model"
    parameters: ClassVar[tuple[str, ...]] = ("patterns",)
    domain: Domain
    candidates: tuple[Candidate, ...]

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.candidates:
            raise InputError("patterns", [], "at least one pattern")
        for i, (missing, mass, _) in enumerate(self.candidates):
            subset_of(self.columns, sorted(missing), f"patterns[{i}].missing")
            probability(mass, f"patterns[{i}].mass")
        if sum((mass for _, mass, _ in self.candidates), Fraction(0)) > 1:
            raise InputError("patterns", "masses", "masses that sum to at most 1; the rest of the rows stay complete")

    @property
    def reads(self) -> frozenset[str]:
        return frozenset().union(*(score.columns for _, _, score in self.candidates))

    @property
    def spans(self) -> Domain:
        return self.domain

    @property
    def at_random(self) -> bool:
        """Whether the process is MAR: what decides a pattern is still seen under it."""
        return not any(score.columns & missing for missing, _, score in self.candidates)

    def dominating(self, cell: Cell) -> Patterns:
        """Patterns that show at least as much as any record of the cell: each pattern at its smallest probability."""
        everything = frozenset(self.columns)
        shown: dict[frozenset[str], Fraction] = {}
        rest = Fraction(1)
        for missing, mass, score in self.candidates:
            loses = mass * logistic_below(score.span(cell)[0])
            shown[everything - missing] = shown.get(everything - missing, Fraction(0)) + loses
            rest -= loses
        shown[everything] = shown.get(everything, Fraction(0)) + rest
        return Patterns(columns=self.columns, observed=tuple(shown), mass=tuple(shown.values()))

    def powers(self, reach: Reach) -> Atoms:
        """The envelope over cells; exact when no column pulls two patterns in different directions."""
        matters = [score for missing, _, score in self.candidates if missing & reach.columns]
        return envelope([self.dominating(cell).powers(reach) for cell in boxes(self.domain, clashing(matters))])

    def restricted(self, columns: object) -> PatternModel | Patterns:
        """The same process on fewer columns; the columns that its scores read must stay."""
        kept = names_of(columns)
        chosen = subset_of(self.columns, kept, "columns")
        lost = sorted(self.reads - chosen)
        if lost:
            raise InputError("columns", kept, f"columns that include {lost[0]}, on which the model depends")
        candidates = tuple((missing & chosen, mass, score) for missing, mass, score in self.candidates)
        domain = tuple((name, span) for name, span in self.domain if name in chosen)
        return replace(self, columns=kept, domain=domain, candidates=candidates)

    def draw(self, rows: int, rng: np.random.Generator, records: Records) -> Observed:
        chance = [float(mass) for _, mass, _ in self.candidates]
        chance.append(max(0.0, 1 - sum(chance)))
        dealt = rng.choice(len(chance), size=rows, p=np.array(chance) / sum(chance))
        coin = rng.random(rows)
        seen = np.ones((rows, len(self.columns)), dtype=bool)
        for i, (missing, _, score) in enumerate(self.candidates):
            loses = (dealt == i) & (coin < logistic(score.at(rows, records.z)))
            seen[np.ix_(loses, [column in missing for column in self.columns])] = False
        return seen

    def fields(self) -> dict[str, Any]:
        listed = [
            {"missing": [c for c in self.columns if c in missing], "mass": written(mass), "score": score.to_dict()}
            for missing, mass, score in self.candidates
        ]
        return {"domain": stored_domain(self.domain), "patterns": listed}

    @classmethod
    def parse(cls, data: Mapping[str, Any]) -> Self:
        columns = names_of(field_of(data, "columns", list))
        domain = domain_of(columns, data.get("domain"))
        candidates = _candidates(columns, domain, field_of(data, "patterns", list))
        return cls(columns=columns, domain=domain, candidates=candidates, **provenance(data) | {"data_dependent": True})


def mar(
    columns: object,
    patterns: Sequence[Mapping[str, object]],
    domain: Mapping[str, object] | None = None,
    because: str = "",
    by: str = "",
) -> PatternModel:
    """Missing at random by pattern: each is {"missing": [...], "mass": q, "score": {"intercept": a, column: b}}.

    A score may use only columns that its pattern leaves observed: variable by variable "MAR" is MNAR as soon as a
    driver goes missing itself, and is refused. Numbers enter as z in [-1, 1], rescaled by their public bounds.
    """
    process = mnar_patterns(columns, patterns, domain, because, by)
    for i, (missing, _, score) in enumerate(process.candidates):
        if score.columns & missing:
            hidden = sorted(score.columns & missing)[0]
            raise InputError(
                f"patterns[{i}].score.{hidden}",
                hidden,
                "a column that the pattern leaves observed",
                remedy="Weights on missing columns make it MNAR: use mnar_patterns.",
            )
    return process


def mnar_patterns(
    columns: object,
    patterns: Sequence[Mapping[str, object]],
    domain: Mapping[str, object] | None = None,
    because: str = "",
    by: str = "",
) -> PatternModel:
    """As `mar`, but scores may use the very values that go missing."""
    names, spans = names_of(columns), domain_of(columns, domain)
    candidates = _candidates(names, spans, patterns)
    return PatternModel(columns=names, domain=spans, candidates=candidates, because=because, by=by, data_dependent=True)


def _candidates(columns: Sequence[str], domain: Domain, given: object) -> tuple[Candidate, ...]:
    out, words = [], "a table with missing, mass and score"
    for i, each in enumerate(list_of(given, "patterns", f"a list, each {words}")):
        path = f"patterns[{i}]"
        item = table_of(each, path, words)
        missing = subset_of(columns, item.get("missing", ()), f"{path}.missing")
        score = Score.parse(item.get("score", {"intercept": 0}), domain, f"{path}.score")
        out.append((missing, probability(item.get("mass", 1), f"{path}.mass"), score))
    return tuple(out)
