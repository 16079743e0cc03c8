"""Missingness with a listed support: each pattern says which columns a row shows, with its probability."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, ClassVar, Self

import numpy as np

from absentia.errors import InputError
from absentia.exact import root_up
from absentia.law.blocks import Blocks
from absentia.law.forms import Forms
from absentia.law.provenance import Kind
from absentia.law.reachlaw import ReachLaw
from absentia.missing.atoms import Atoms
from absentia.missing.domain import Records
from absentia.missing.process import Observed, Process, provenance, stored
from absentia.missing.text import field_of, masses_of, names_of, subset_of, subsets_of, written
from absentia.query.reach import Reach

__all__ = ["Patterns", "patterns", "pieces"]


@stored
@dataclass(frozen=True, kw_only=True)
class Patterns(Process):
    """A row shows exactly the columns observed[i] with probability mass[i], whatever its values (MCAR).

    >>> p = patterns(["a", "b"], observed=[["a", "b"], ["a"], []], mass=["0.5", "0.3", "0.2"])
    >>> p.observed_count().p_star
    0.8
    """

    name: ClassVar[str] = "patterns"
    parameters: ClassVar[tuple[str, ...]] = ("observed", "mass")
    observed: tuple[frozenset[str], ...]
    mass: tuple[Fraction, ...]

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.observed:
            raise InputError("observed", [], "at least one pattern")
        for i, seen in enumerate(self.observed):
            subset_of(self.columns, sorted(seen), f"observed[{i}]")
        object.__setattr__(self, "mass", masses_of(self.mass, len(self.observed)))

    def powers(self, reach: Reach) -> Atoms:
        """Exact: the reach of each pattern, with its probability."""
        atoms: Atoms = {}
        for seen, mass in zip(self.observed, self.mass, strict=True):
            level = power(reach, seen)
            atoms[level] = atoms.get(level, Fraction(0)) + mass
        return {level: mass for level, mass in atoms.items() if mass}

    def joint(self, reach: Reach) -> ReachLaw | Blocks | Forms:
        """Forms over the pieces of the reach (T10, Gaussian noise); the law in the l1 norm.

        A term moves the query only when its columns are seen, by at most its weight whatever else is seen, which is
        all that T10 uses, with a design independent of the record. T10K also needs the same movement every time: a
        term that counts when *any* of several columns is seen may move differently from pattern to pattern, so it is
        declared as missing on top.
        """
        self.covers(reach)
        drawn = pieces(reach, self.observed)
        if reach.norm != 2 or len(drawn) < 2 or self.data_dependent or reach.mixed:
            return self.law(reach)
        forms = [[b for b, where in enumerate(drawn) if i in where] for i in range(len(self.observed))]
        return Forms(
            [root_up(weight, 2) for weight in drawn.values()],
            forms,
            list(self.mass),
            nothing_missing_on_top=not any(term.any for term in reach.terms),
        )

    def listed(self) -> Patterns:
        return self

    def restricted(self, columns: object) -> Patterns:
        kept = names_of(columns)
        chosen = subset_of(self.columns, kept, "columns")
        merged: dict[frozenset[str], Fraction] = {}
        for seen, mass in zip(self.observed, self.mass, strict=True):
            merged[seen & chosen] = merged.get(seen & chosen, Fraction(0)) + mass
        return replace(self, columns=kept, observed=tuple(merged), mass=tuple(merged.values()))

    def draw(self, rows: int, rng: np.random.Generator, records: Records) -> Observed:
        shown = np.array([[column in seen for column in self.columns] for seen in self.observed])
        chance = np.array([float(mass) for mass in self.mass])
        return shown[rng.choice(len(chance), size=rows, p=chance / chance.sum())]

    def fields(self) -> dict[str, Any]:
        listed = [[column for column in self.columns if column in seen] for seen in self.observed]
        return {"observed": listed, "mass": [written(mass) for mass in self.mass]}

    @classmethod
    def parse(cls, data: Mapping[str, Any]) -> Self:
        columns = names_of(field_of(data, "columns", list))
        observed = subsets_of(columns, field_of(data, "observed", list), "missing.observed")
        mass = masses_of(data.get("mass"), len(observed))
        return cls(columns=columns, observed=observed, mass=mass, **provenance(data))


def patterns(
    columns: object,
    observed: Sequence[Iterable[str]],
    mass: Iterable[object] | None = None,
    because: str = "",
    by: str = "",
    kind: Kind = "declared",
) -> Patterns:
    """The process with these patterns of observed columns and their probabilities (default: all alike)."""
    names = names_of(columns)
    shown = subsets_of(names, observed, "observed")
    if not shown:
        raise InputError("observed", observed, "at least one pattern")
    return Patterns(columns=names, observed=shown, mass=masses_of(mass, len(shown)), because=because, by=by, kind=kind)


def power(reach: Reach, seen: frozenset[str]) -> Fraction:
    """r(O)^norm, exact in the stated weights."""
    total = Fraction(0)
    for term in reach.terms:
        if term.holds(seen):
            total += Fraction(term.weight)
    return total


def pieces(reach: Reach, shown: Sequence[frozenset[str]]) -> dict[frozenset[int], Fraction]:
    """The terms of the reach that count in the same patterns, merged: those patterns -> weight.

    Terms that count in no pattern stay: a row with nothing missing would show them.
    """
    merged: dict[frozenset[int], Fraction] = {}
    for term in reach.terms:
        where = frozenset(i for i, seen in enumerate(shown) if term.holds(seen))
        merged[where] = merged.get(where, Fraction(0)) + Fraction(term.weight)
    return merged
