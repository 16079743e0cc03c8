"""What is known is only how many columns a row shows: counts, and the paper's (p*, k or rho, eta)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, ClassVar, Self

import numpy as np

from absentia.errors import InputError
from absentia.exact import exact, integer, list_of, probability
from absentia.law.provenance import Kind
from absentia.missing.atoms import Atoms
from absentia.missing.domain import Records
from absentia.missing.events import lifted, worst_by_count
from absentia.missing.process import Observed, Process, provenance, said_in, spelled, stored
from absentia.missing.text import field_of, masses_of, names_of, subset_of, written
from absentia.query.reach import Reach
from absentia.theory.paper_fwl import entries_observed

__all__ = ["Counts", "bounds", "counts"]


@stored
@dataclass(frozen=True, kw_only=True)
class Counts(Process):
    """A row shows at most k of the columns with probability mass[0] + ... + mass[k]; which ones is not said.

    For every query the k observed columns are taken to be the worst ones. `confidence` is empty unless the law was
    certified from data; it is reported apart and never enters delta.
    """

    name: ClassVar[str] = "counts"
    parameters: ClassVar[tuple[str, ...]] = ("mass", "confidence")
    mass: tuple[Fraction, ...]
    confidence: str = ""

    def __post_init__(self) -> None:
        super().__post_init__()
        if len(self.mass) != len(self.columns) + 1:
            raise InputError("mass", len(self.mass), f"{len(self.columns) + 1} probabilities, for 0 to all observed")
        object.__setattr__(self, "mass", masses_of(self.mass, len(self.mass)))
        if self.confidence and not 0 <= exact(self.confidence, "confidence") < 1:
            raise InputError("confidence", self.confidence, 'a probability below 1, such as "0.95", or nothing')

    def powers(self, reach: Reach) -> Atoms:
        """For each number of observed columns, the most that so many columns of the query can move it."""
        order = {column: i for i, column in enumerate(sorted(reach.columns))}
        at = worst_by_count(lifted(reach, lambda column: [order[column]]))
        atoms: Atoms = {}
        for k, mass in enumerate(self.mass):
            if mass:
                level = at(min(k, len(order)))
                atoms[level] = atoms.get(level, Fraction(0)) + mass
        return atoms

    def restricted(self, columns: object) -> Counts:
        """On fewer columns a row shows at most as many as before, and at most all of them."""
        kept = names_of(columns)
        subset_of(self.columns, kept, "columns")
        d = len(kept)
        return replace(self, columns=kept, mass=(*self.mass[:d], sum(self.mass[d:], Fraction(0))))

    def draw(self, rows: int, rng: np.random.Generator, records: Records) -> Observed:
        """One process with this law: the number is drawn, then the columns uniformly."""
        chance = np.array([float(mass) for mass in self.mass])
        number = rng.choice(len(chance), size=rows, p=chance / chance.sum())
        rank = np.argsort(np.argsort(rng.random((rows, len(self.columns))), axis=1), axis=1)
        return np.asarray(rank < number[:, None])

    def fields(self) -> dict[str, Any]:
        said = {"confidence": self.confidence} if self.confidence else {}
        return {"mass": [written(mass) for mass in self.mass], **said}

    def describe(self, columns: Iterable[str] | None = None) -> str:
        said = f"\nholds with confidence {self.confidence}, apart from delta" if self.confidence else ""
        return super().describe(columns) + said

    @classmethod
    def parse(cls, data: Mapping[str, Any]) -> Self:
        columns = names_of(field_of(data, "columns", list))
        mass = masses_of(field_of(data, "mass", list), len(columns) + 1)
        return cls(columns=columns, mass=mass, confidence=str(data.get("confidence", "")), **provenance(data))


def counts(
    columns: object,
    mass: Iterable[object],
    data_dependent: bool = False,
    because: str = "",
    by: str = "",
    kind: Kind = "declared",
) -> Counts:
    """The process that shows k of the columns with probability mass[k], k = 0, 1, ..., all; missing entries are 0.

    >>> counts(["a", "b", "c"], ["0.25", "0.5", "0.25"]).observed_count(["a"]).atoms
    ((0.0, Fraction(1, 4)), (1.0, Fraction(3, 4)))
    """
    names, given = names_of(columns), list_of(mass, "mass", "probabilities for 0, 1, ... columns observed")
    if len(given) > len(names) + 1:
        raise InputError("mass", len(given), f"at most {len(names) + 1} probabilities, for 0 to all observed")
    shares = masses_of(given, len(given)) + (Fraction(0),) * (len(names) + 1 - len(given))
    return Counts(columns=names, mass=shares, data_dependent=data_dependent, because=because, by=by, kind=kind)


def bounds(
    columns: object,
    p_star: object,
    k: int | None = None,
    rho: object = None,
    eta: object = 0,
    data_dependent: bool = True,
    because: str = "",
    by: str = "",
) -> Counts:
    """The paper's declaration: a row shows something with probability at most p*, and more than k (or rho d) columns
    with probability at most eta, for every record (MNAR included unless data_dependent is False).

    >>> bounds(["a", "b", "c", "d"], "0.5", rho="0.5").observed_count().reach
    (0.0, 2.0)
    """
    names = names_of(columns)
    d, p, tail = len(names), probability(p_star, "p_star"), probability(eta, "eta")
    if k is not None and rho is not None:
        raise InputError("rho", rho, "either k or rho, not both")
    most = entries_observed(rho, d) if rho is not None else integer(d if k is None else k, "k", 0, d)
    if tail > p:
        raise InputError("eta", eta, f"at most p_star = {written(p)}")
    mass = [Fraction(0)] * (d + 1)
    for at, share in ((0, 1 - p), (most, p - tail), (d, tail)):
        mass[at] += share
    return Counts(columns=names, mass=tuple(mass), data_dependent=data_dependent, because=because, by=by)


@spelled("bounds", "p_star", "k", "rho", "eta")
def _bounds(data: Mapping[str, Any]) -> Counts:
    """[missingness] in a plan: p_star, k or rho, eta."""
    given = {key: data[key] for key in ("k", "rho", "eta") if key in data}
    return replace(bounds(field_of(data, "columns", list), data.get("p_star"), **given), **said_in(data))
