"""Mixtures: rows of several types (respondent types, whole rows that do not answer)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, ClassVar, Self

import numpy as np

from absentia.errors import InputError
from absentia.exact import list_of, probability
from absentia.law.blocks import Blocks
from absentia.law.forms import Forms
from absentia.law.provenance import claims
from absentia.law.reachlaw import ReachLaw
from absentia.missing.atoms import Atoms, mixed
from absentia.missing.complete import Complete
from absentia.missing.domain import Records
from absentia.missing.events import term_groups
from absentia.missing.independent import Independent, independent
from absentia.missing.parts import OfParts, process_of, same_columns, stored_parts
from absentia.missing.patterns import Patterns
from absentia.missing.process import Observed, Process, stored
from absentia.missing.selfmask import ColumnModel
from absentia.missing.text import flag_of, masses_of, written
from absentia.query.reach import Reach

__all__ = ["Mixture", "classes", "mixture", "unit_nonresponse"]


FACTORIAL = (Independent, ColumnModel, Complete)


@stored
@dataclass(frozen=True, kw_only=True)
class Mixture(OfParts):
    """Each row is of type i with probability mass[i], whatever its values, and then follows parts[i].

    With `at_least_nothing` the first part shows nothing and mass[0] is only the least that any record gives to it: the
    type may then depend on values, which the law allows and the classes of T9 do not.
    """

    name: ClassVar[str] = "mixture"
    parameters: ClassVar[tuple[str, ...]] = ("mass", "parts", "at_least_nothing")
    mass: tuple[Fraction, ...]
    at_least_nothing: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "mass", masses_of(self.mass, len(self.parts)))
        if not isinstance(self.at_least_nothing, bool):
            raise InputError("at_least_nothing", self.at_least_nothing, "True or False")
        if self.at_least_nothing and not (len(self.parts) == 2 and _shows_nothing(self.parts[0])):
            raise InputError("parts", self.parts[0].name, "a process that shows nothing, and one other")
        if self.at_least_nothing:  # whether a row answers at all may depend on its values
            object.__setattr__(self, "data_dependent", True)

    def powers(self, reach: Reach) -> Atoms:
        """The mixture of the laws of the parts: it dominates for every record, since each part's law does."""
        return mixed((mass, part.powers(reach)) for mass, part in zip(self.mass, self.parts, strict=True))

    @property
    def steered(self) -> bool:
        """Whether the type may follow values: nothing shown at least so often, or masks that do where no type's do."""
        return self.at_least_nothing or (self.data_dependent and not any(p.data_dependent for p in self.parts))

    def joint(self, reach: Reach) -> ReachLaw | Blocks | Forms:
        """Latent classes with independent blocks inside (T9), or forms (T10) when every type is a list of them.

        A block is a group of terms that share no switch in any of the types. Anything else gives the law, as does a
        type that may follow values.
        """
        self.covers(reach)
        listed = self.listed()
        if listed is not None:
            return listed.joint(reach)
        if self.steered or not all(_shows_nothing(p) or isinstance(p, FACTORIAL) for p in self.parts):
            return self.law(reach)
        shown = [part for part in self.parts if isinstance(part, FACTORIAL)]
        groups = term_groups(reach, lambda column: [(i, s) for i, p in enumerate(shown) for s in p.switches(column)])
        if len(groups) < 2 or not shown:
            return self.law(reach)
        parts = [Reach(reach.norm, terms) for terms in groups]
        shows = [isinstance(part, FACTORIAL) for part in self.parts]
        laws = [
            [self.marked(part.law(r)) for r in parts] if some else []
            for part, some in zip(self.parts, shows, strict=True)
        ]
        return Blocks(classes=list(zip(self.mass, laws, strict=True)))

    def listed(self) -> Patterns | None:
        """The same process as one list of patterns, when every type is one."""
        lists = [part.listed() for part in self.parts]
        types = [(types, q) for types, q in zip(lists, self.mass, strict=True) if types is not None]
        if len(types) < len(lists):
            return None
        return Patterns(
            columns=self.columns,
            observed=tuple(seen for part, _ in types for seen in part.observed),
            mass=tuple(q * mass for part, q in types for mass in part.mass),
            because=self.because,
            by=self.by,
            kind=self.kind,
            data_dependent=self.data_dependent,
        )

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
        said = stored_parts(data)
        mass = masses_of(data.get("mass"), len(said["parts"]))
        return cls(mass=mass, at_least_nothing=flag_of(data, "at_least_nothing"), **said)


def mixture(parts: Sequence[Process], mass: Iterable[object] | None = None, because: str = "", by: str = "") -> Mixture:
    """Rows of several types, each type with its own process; the type is drawn independently of the record."""
    found = tuple(list_of(parts, "parts", "a list of processes"))
    if not found:
        raise InputError("parts", parts, "at least one process")
    same_columns(None, found)
    shares = masses_of(mass, len(found))
    return Mixture(columns=found[0].columns, parts=found, mass=shares, **claims(found, because, by))


def classes(
    columns: object,
    observed: Sequence[Mapping[str, object]],
    mass: Iterable[object] | None = None,
    because: str = "",
    by: str = "",
) -> Mixture:
    """Latent classes: respondent types, each with its own independent rates (columns not named: always observed)."""
    types = list_of(observed, "observed", "a list of tables, each with a rate for each column")
    parts = [independent(columns, rates, because, by) for rates in types]
    return mixture(parts, mass, because, by)


def unit_nonresponse(
    process: Process, probability_of_nothing: object, data_dependent: bool = False, because: str = "", by: str = ""
) -> Mixture:
    """Whole rows go missing with this probability (or, if it depends on values, at least this), then `process`.

    Any process is dominated when the true probability is larger, so a lower bound is what must be declared.
    """
    q = probability(probability_of_nothing, "probability_of_nothing")
    process_of(process, "process")
    if not isinstance(data_dependent, bool):
        raise InputError("data_dependent", data_dependent, "True or False")
    nothing = Patterns(columns=process.columns, observed=(frozenset(),), mass=(Fraction(1),), kind=process.kind)
    both = mixture([nothing, process], [q, 1 - q], because, by)
    return replace(both, kind="declared", at_least_nothing=data_dependent)


def _shows_nothing(process: Process) -> bool:
    return isinstance(process, Patterns) and not any(process.observed)
