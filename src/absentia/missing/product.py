"""Asked and answered: entries that show when every one of several processes shows them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import reduce
from typing import Any, ClassVar, Self

import numpy as np

from absentia.errors import InputError
from absentia.law.blocks import Blocks
from absentia.law.forms import Forms
from absentia.law.provenance import claims
from absentia.law.reachlaw import ReachLaw
from absentia.missing.atoms import Atoms, lowered, mixed
from absentia.missing.domain import Records, joined
from absentia.missing.independent import Independent
from absentia.missing.parts import OfParts, process_of, same_columns, stored_parts
from absentia.missing.patterns import Patterns
from absentia.missing.process import Observed, Process, stored
from absentia.missing.sampled import Sampled
from absentia.missing.selfmask import ColumnModel
from absentia.missing.text import flag_of
from absentia.query.reach import Reach, Term

__all__ = ["Product", "nonresponse_on", "product"]


@stored
@dataclass(frozen=True, kw_only=True)
class Product(OfParts):
    """A column shows when every part shows it (asked and answered).

    The first part is a design, independent of the record. `independent` says that the parts draw independently of one
    another given the record; otherwise nothing is used of the later parts: whatever the reason for not answering, the
    first part's law dominates.
    """

    name: ClassVar[str] = "product"
    parameters: ClassVar[tuple[str, ...]] = ("independent", "parts")
    independent: bool = True

    def __post_init__(self) -> None:
        super().__post_init__()
        if not isinstance(self.independent, bool):
            raise InputError("independent", self.independent, "True or False")
        if not self.independent:  # any reason for not answering, values included
            object.__setattr__(self, "data_dependent", True)

    def powers(self, reach: Reach) -> Atoms:
        """Form by form, the law of the answers among what the form asks; without listed forms the smallest survival.

        Both dominate for every record: the first because the form does not depend on the record, the second because a
        row shows at most what each part shows.
        """
        first, rest = self.parts[0], self.parts[1:]
        if not rest or not self.independent:
            return first.powers(reach)
        if isinstance(first, Patterns) and not first.data_dependent:
            others = rest[0] if len(rest) == 1 else replace(self, parts=rest)
            shown = zip(first.observed, first.mass, strict=True)
            return mixed((mass, others.powers(_within(reach, seen))) for seen, mass in shown if mass)
        return lowered([part.powers(reach) for part in self.parts])

    def joint(self, reach: Reach) -> ReachLaw | Blocks | Forms:
        """The design's forms, with entries missing on top (T10 holds, T10K does not); otherwise the law."""
        self.covers(reach)
        asked = self.law(reach) if self.parts[0].data_dependent else self.parts[0].joint(reach)
        return replace(asked, nothing_missing_on_top=False) if isinstance(asked, Forms) else self.law(reach)

    def draw(self, rows: int, rng: np.random.Generator, records: Records) -> Observed:
        return reduce(np.logical_and, [part.draw(rows, rng, records) for part in self.parts])

    def fields(self) -> dict[str, Any]:
        return {"independent": self.independent, "parts": [part.to_dict() for part in self.parts]}

    @classmethod
    def parse(cls, data: Mapping[str, Any]) -> Self:
        return cls(independent=flag_of(data, "independent", True), **stored_parts(data))


def product(*parts: Process, because: str = "", by: str = "") -> Process:
    """Entries show when every part shows them, parts drawn independently given the record.

    Independent columns stay independent (T9 kept); anything on top of forms keeps the design's law and T10.
    """
    if not parts:
        raise InputError("parts", parts, "at least one process")
    same_columns(None, parts)
    switches = [part for part in parts if isinstance(part, Independent)]
    models = [part for part in parts if isinstance(part, ColumnModel)]
    others = [part for part in parts if not isinstance(part, (Independent, ColumnModel))]
    factors = tuple(factor for part in switches for factor in part.factors)
    depends = any(part.data_dependent for part in parts)
    said = claims(parts, because, by)
    if models:
        rules = tuple(rule for model in models for rule in model.rules)
        own = tuple(factor for model in models for factor in model.factors)
        domain = joined((model.domain, model.reads) for model in models)
        last: list[Process] = [replace(models[0], domain=domain, rules=rules, factors=factors + own, **said)]
    elif switches:
        steered = any(part.data_dependent for part in switches)
        last = [replace(switches[0], factors=factors, data_dependent=steered, **said)]
    else:
        last = []
    listed = sorted([*others, *last], key=lambda part: (part.data_dependent, not isinstance(part, (Patterns, Sampled))))
    if len(listed) == 1:
        return replace(listed[0], data_dependent=depends, **said)
    return Product(columns=parts[0].columns, parts=tuple(listed), data_dependent=depends, **said)


def nonresponse_on(design: Process, because: str = "", by: str = "") -> Product:
    """A design of which some asked entries are not answered, for any reason of the row's own (MNAR included).

    The design's law dominates (T1, T2, T3, T6, T10 hold); a known mask may reveal values, so T5 is not available.
    """
    process_of(design, "design")
    return Product(
        columns=design.columns,
        parts=(design,),
        independent=False,
        because=because or design.because,
        by=by or design.by,
        kind=design.kind,
    )


def _within(reach: Reach, seen: frozenset[str]) -> Reach:
    """The reach when only these columns can show."""
    terms = []
    for term in reach.terms:
        if term.any:
            if term.columns & seen:
                terms.append(Term(term.columns & seen, term.weight, any=True))
        elif term.columns <= seen:
            terms.append(term)
    return Reach(reach.norm, tuple(terms))
