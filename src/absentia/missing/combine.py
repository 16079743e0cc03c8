"""Processes made of processes: nothing missing, mixtures (respondent types, unit nonresponse), products."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import reduce
from typing import Any, ClassVar, Self

import numpy as np

from absentia.errors import InputError
from absentia.exact import probability
from absentia.law.blocks import Blocks
from absentia.law.forms import Forms
from absentia.law.reachlaw import ReachLaw
from absentia.missing.atoms import Atoms, lowered, mixed
from absentia.missing.designs import Sampled
from absentia.missing.domain import Records
from absentia.missing.events import term_groups
from absentia.missing.independent import Independent, independent
from absentia.missing.patterns import Patterns
from absentia.missing.process import Kind, Observed, Process, from_dict, provenance, stored
from absentia.missing.selfmask import ColumnModel
from absentia.missing.text import field_of, masses_of, names_of, written
from absentia.query.reach import Reach, Term

__all__ = [
    "Complete",
    "Mixture",
    "Product",
    "classes",
    "mixture",
    "nonresponse_on",
    "product",
    "unit_nonresponse",
    "without",
]

_KINDS: tuple[Kind, ...] = ("declared", "certified", "design")  # from the weakest claim to the strongest


@stored
@dataclass(frozen=True, kw_only=True)
class Complete(Process):
    """Nothing is ever missing; without columns it speaks about any."""

    name: ClassVar[str] = "without"
    columns: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.columns:
            super().__post_init__()

    def covers(self, reach: Reach) -> None:
        if self.columns:
            super().covers(reach)

    def powers(self, reach: Reach) -> Atoms:
        return {sum((Fraction(term.weight) for term in reach.terms), Fraction(0)): Fraction(1)}

    def restricted(self, columns: object) -> Complete:
        return replace(self, columns=names_of(columns))

    def draw(self, rows: int, rng: np.random.Generator, records: Records) -> Observed:
        return np.ones((rows, len(self.columns)), dtype=bool)

    def describe(self, columns: Iterable[str] | None = None) -> str:
        chosen = self.columns if columns is None else tuple(columns)
        return super().describe(chosen) if chosen else "without: nothing is missing, p* = 1 at full reach"

    def fields(self) -> dict[str, Any]:
        return {}

    @classmethod
    def parse(cls, data: Mapping[str, Any]) -> Self:
        return cls(columns=tuple(data.get("columns", ())), **provenance(data))

    def switches(self, column: str) -> list[int]:
        """Nothing hides a column."""
        return []


FACTORIAL = (Independent, ColumnModel, Complete)


def without(columns: object = None, because: str = "nothing is missing", by: str = "") -> Complete:
    """The process in which every entry is observed: p* = 1 at full reach."""
    return Complete(columns=() if columns is None else names_of(columns), because=because, by=by)


@stored
@dataclass(frozen=True, kw_only=True)
class Mixture(Process):
    """Each row is of type i with probability mass[i], whatever its values, and then follows parts[i].

    With `at_least_nothing` the first part shows nothing and mass[0] is only the least that any record gives to it: the
    type may then depend on values, which the law allows and the classes of T9 do not.
    """

    name: ClassVar[str] = "mixture"
    parts: tuple[Process, ...]
    mass: tuple[Fraction, ...]
    at_least_nothing: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.parts:
            raise InputError("parts", [], "at least one process")
        _same_columns(self.columns, self.parts)
        object.__setattr__(self, "mass", masses_of(self.mass, len(self.parts)))
        if self.at_least_nothing and not _shows_nothing(self.parts[0]):
            raise InputError("parts[0]", self.parts[0].name, "a process that shows nothing")

    @property
    def reads(self) -> frozenset[str]:
        return frozenset().union(*(part.reads for part in self.parts))

    def powers(self, reach: Reach) -> Atoms:
        """The mixture of the laws of the parts: it dominates for every record, since each part's law does."""
        return mixed((mass, part.powers(reach)) for mass, part in zip(self.mass, self.parts, strict=True))

    def joint(self, reach: Reach) -> ReachLaw | Blocks | Forms:
        """Latent classes with independent blocks inside (T9) when every type is of that kind, else the law.

        A block is a group of terms that share no switch in any of the types.
        """
        self.covers(reach)
        if self.at_least_nothing or not all(_shows_nothing(p) or isinstance(p, FACTORIAL) for p in self.parts):
            return self.law(reach)
        shown = [part for part in self.parts if isinstance(part, FACTORIAL)]
        groups = term_groups(reach, lambda column: [(i, s) for i, p in enumerate(shown) for s in p.switches(column)])
        if len(groups) < 2 or not shown:
            return self.law(reach)
        parts = [Reach(reach.norm, terms) for terms in groups]
        laws = [[part.law(r) for r in parts] if isinstance(part, FACTORIAL) else [] for part in self.parts]
        return Blocks(classes=list(zip(self.mass, laws, strict=True)))

    def restricted(self, columns: object) -> Mixture:
        return replace(self, columns=names_of(columns), parts=tuple(part.restricted(columns) for part in self.parts))

    def draw(self, rows: int, rng: np.random.Generator, records: Records) -> Observed:
        chance = np.array([float(mass) for mass in self.mass])
        kind = rng.choice(len(chance), size=rows, p=chance / chance.sum())
        drawn = np.stack([part.draw(rows, rng, records) for part in self.parts])
        return np.asarray(drawn[kind, np.arange(rows)])

    def fields(self) -> dict[str, Any]:
        said = {"at_least_nothing": True} if self.at_least_nothing else {}
        return {"mass": [written(mass) for mass in self.mass], "parts": [part.to_dict() for part in self.parts], **said}

    @classmethod
    def parse(cls, data: Mapping[str, Any]) -> Self:
        parts = tuple(from_dict(part) for part in field_of(data, "parts", list))
        columns = names_of(field_of(data, "columns", list))
        mass = masses_of(data.get("mass"), len(parts))
        least = data.get("at_least_nothing") is True
        return cls(columns=columns, parts=parts, mass=mass, at_least_nothing=least, **provenance(data))


@stored
@dataclass(frozen=True, kw_only=True)
class Product(Process):
    """A column shows when every part shows it (asked and answered).

    The first part is a design, independent of the record. `independent` says that the parts draw independently of one
    another given the record; otherwise nothing is used of the later parts: whatever the reason for not answering, the
    first part's law dominates.
    """

    name: ClassVar[str] = "product"
    parts: tuple[Process, ...]
    independent: bool = True

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.parts:
            raise InputError("parts", [], "at least one process")
        _same_columns(self.columns, self.parts)

    @property
    def reads(self) -> frozenset[str]:
        return frozenset().union(*(part.reads for part in self.parts))

    def powers(self, reach: Reach) -> Atoms:
        """Form by form, the law of the answers among what the form asks; without listed forms the smallest survival.

        Both dominate for every record: the first because the form does not depend on the record, the second because a
        row shows at most what each part shows.
        """
        first, rest = self.parts[0], self.parts[1:]
        if not rest or not self.independent:
            return first.powers(reach)
        if isinstance(first, Patterns):
            others = rest[0] if len(rest) == 1 else replace(self, parts=rest)
            shown = zip(first.observed, first.mass, strict=True)
            return mixed((mass, others.powers(_within(reach, seen))) for seen, mass in shown if mass)
        return lowered([part.powers(reach) for part in self.parts])

    def joint(self, reach: Reach) -> ReachLaw | Blocks | Forms:
        """The design's forms, with entries missing on top (T10 holds, T10K does not); otherwise the law."""
        first = self.parts[0]
        self.covers(reach)
        if first.data_dependent or not isinstance(first, (Patterns, Sampled)):
            return self.law(reach)
        asked = first.joint(reach)
        return replace(asked, nothing_missing_on_top=False) if isinstance(asked, Forms) else self.law(reach)

    def restricted(self, columns: object) -> Product:
        return replace(self, columns=names_of(columns), parts=tuple(part.restricted(columns) for part in self.parts))

    def draw(self, rows: int, rng: np.random.Generator, records: Records) -> Observed:
        return reduce(np.logical_and, [part.draw(rows, rng, records) for part in self.parts])

    def fields(self) -> dict[str, Any]:
        return {"independent": self.independent, "parts": [part.to_dict() for part in self.parts]}

    @classmethod
    def parse(cls, data: Mapping[str, Any]) -> Self:
        parts = tuple(from_dict(part) for part in field_of(data, "parts", list))
        columns = names_of(field_of(data, "columns", list))
        alone = data.get("independent", True)
        if not isinstance(alone, bool):
            raise InputError("missing.independent", alone, "true or false")
        return cls(columns=columns, parts=parts, independent=alone, **provenance(data))


def mixture(parts: Sequence[Process], mass: Iterable[object] | None = None, because: str = "", by: str = "") -> Mixture:
    """Rows of several types, each type with its own process; the type is drawn independently of the record."""
    found = tuple(parts)
    if not found:
        raise InputError("parts", parts, "at least one process")
    return Mixture(
        columns=found[0].columns,
        parts=found,
        mass=masses_of(mass, len(found)),
        because=because,
        by=by,
        kind=_weakest(found),
        data_dependent=any(part.data_dependent for part in found),
    )


def classes(
    columns: object,
    observed: Sequence[Mapping[str, object]],
    mass: Iterable[object] | None = None,
    because: str = "",
    by: str = "",
) -> Mixture:
    """Latent classes: respondent types, each with its own independent rates (columns not named: always observed)."""
    parts = [independent(columns, rates, because, by) for rates in observed]
    return mixture(parts, mass, because, by)


def unit_nonresponse(
    process: Process, probability_of_nothing: object, data_dependent: bool = False, because: str = "", by: str = ""
) -> Mixture:
    """Whole rows go missing with this probability (or, if it depends on values, at least this), then `process`.

    Any process is dominated when the true probability is larger, so a lower bound is what must be declared.
    """
    q = probability(probability_of_nothing, "probability_of_nothing")
    nothing = Patterns(columns=process.columns, observed=(frozenset(),), mass=(Fraction(1),), kind=process.kind)
    both = mixture([nothing, process], [q, 1 - q], because or process.because, by or process.by)
    depends = both.data_dependent or data_dependent
    return replace(both, kind="declared", data_dependent=depends, at_least_nothing=data_dependent)


def product(*parts: Process, because: str = "", by: str = "") -> Process:
    """Entries show when every part shows them, parts drawn independently given the record.

    Independent columns stay independent (T9 kept); anything on top of forms keeps the design's law and T10.
    """
    if not parts:
        raise InputError("parts", parts, "at least one process")
    _same_columns(parts[0].columns, parts)
    switches = [part for part in parts if isinstance(part, Independent)]
    models = [part for part in parts if isinstance(part, ColumnModel)]
    others = [part for part in parts if not isinstance(part, (Independent, ColumnModel))]
    factors = tuple(factor for part in switches for factor in part.factors)
    said: dict[str, Any] = {"because": because, "by": by, "kind": _weakest(parts)}
    if models:
        rules = tuple(rule for model in models for rule in model.rules)
        own = tuple(factor for model in models for factor in model.factors)
        last: list[Process] = [replace(models[0], rules=rules, factors=factors + own, **said)]
    elif switches:
        last = [replace(switches[0], factors=factors, **said)]
    else:
        last = []
    listed = sorted([*others, *last], key=lambda part: (part.data_dependent, not isinstance(part, (Patterns, Sampled))))
    if len(listed) == 1:
        return replace(listed[0], **said)
    depends = any(part.data_dependent for part in parts)
    return Product(columns=parts[0].columns, parts=tuple(listed), data_dependent=depends, **said)


def nonresponse_on(design: Process, because: str = "", by: str = "") -> Product:
    """A design of which some asked entries are not answered, for any reason of the row's own (MNAR included).

    The design's law dominates (T1, T2, T3, T6, T10 hold); a known mask may reveal values, so T5 is not available.
    """
    return Product(
        columns=design.columns,
        parts=(design,),
        independent=False,
        because=because or design.because,
        by=by or design.by,
        kind=design.kind,
        data_dependent=True,
    )


def _shows_nothing(process: Process) -> bool:
    return isinstance(process, Patterns) and not any(process.observed)


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


def _same_columns(columns: Sequence[str], parts: Iterable[Process]) -> None:
    for i, part in enumerate(parts):
        if part.columns != tuple(columns):
            raise InputError(f"parts[{i}].columns", part.columns, f"the same columns in each part: {tuple(columns)}")


def _weakest(parts: Iterable[Process]) -> Kind:
    return min((part.kind for part in parts), key=_KINDS.index)
