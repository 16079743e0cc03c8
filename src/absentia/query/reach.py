"""Reach: how far a row that shows some columns can move a query away from the all-missing row (THEORY section 2).

Every query of the library has a reach of one shape, a power sum over events:
    r(O)^norm = sum of the weights of the terms that hold on O.
A term holds when all (or any) of its columns are observed. Stacking queries adds their terms (T7).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import cast

from absentia.errors import InputError
from absentia.exact import number, root_up, round_up
from absentia.theory.noise import Norm

__all__ = ["Reach", "Term"]


@dataclass(frozen=True)
class Term:
    """`weight` (in the norm-th power) that counts when all, or any, of `columns` are observed."""

    columns: frozenset[str]
    weight: float
    any: bool = False

    def __post_init__(self) -> None:
        if not self.columns:
            raise InputError("term.columns", [], "at least one column: an empty row must not move a query")
        w = number(self.weight, "term.weight")
        if w < 0:
            raise InputError("term.weight", self.weight, "a number >= 0")
        object.__setattr__(self, "columns", frozenset(self.columns))
        object.__setattr__(self, "weight", round_up(w))
        object.__setattr__(self, "any", self.any and len(self.columns) > 1)

    def holds(self, observed: frozenset[str]) -> bool:
        return not self.columns.isdisjoint(observed) if self.any else self.columns <= observed


@dataclass(frozen=True)
class Reach:
    """The reach of a query in the l1 or the l2 norm; terms on the same event are merged, weights rounded up.

    Different terms move different coordinates of the output, which T9 and T10 need. `mixed` names sets of columns for
    which that does not hold (a scalar that combines them): they are one block in T9, and T10 is not used.
    """

    norm: Norm
    terms: tuple[Term, ...]
    mixed: tuple[frozenset[str], ...]

    def __init__(self, norm: Norm, terms: Iterable[Term], mixed: Iterable[frozenset[str]] = ()) -> None:
        if norm not in (1, 2):
            raise InputError("norm", norm, "1 (Laplace) or 2 (Gaussian)")
        weights: dict[tuple[tuple[str, ...], bool], Fraction] = {}
        for t in terms:
            key = (tuple(sorted(t.columns)), t.any)
            weights[key] = weights.get(key, Fraction(0)) + Fraction(t.weight)
        merged = tuple(Term(frozenset(c), round_up(w), a) for (c, a), w in sorted(weights.items()) if w > 0)
        object.__setattr__(self, "norm", norm)
        object.__setattr__(self, "terms", merged)
        object.__setattr__(self, "mixed", tuple(sorted({frozenset(m) for m in mixed if len(m) > 1}, key=sorted)))

    def __call__(self, observed: Iterable[str]) -> float:
        """r(O), rounded up."""
        seen = frozenset(observed)
        return root_up(sum((Fraction(t.weight) for t in self.terms if t.holds(seen)), Fraction(0)), self.norm)

    @property
    def full(self) -> float:
        """The reach of a row with nothing missing, rounded up."""
        return root_up(sum((Fraction(t.weight) for t in self.terms), Fraction(0)), self.norm)

    @property
    def columns(self) -> frozenset[str]:
        return frozenset().union(*(t.columns for t in self.terms))

    def __add__(self, other: Reach) -> Reach:
        """The reach of both queries asked together (T7)."""
        if self.norm != other.norm:
            raise InputError("norm", other.norm, f"the same norm on both sides, {self.norm}")
        return Reach(self.norm, (*self.terms, *other.terms), (*self.mixed, *other.mixed))

    def scaled(self, factor: object) -> Reach:
        """factor * r, rounded up."""
        c = number(factor, "factor")
        if c < 0:
            raise InputError("factor", factor, "a number >= 0")
        power = c**self.norm
        terms = (Term(t.columns, round_up(Fraction(t.weight) * power), t.any) for t in self.terms)
        return Reach(self.norm, terms, self.mixed)

    def to_dict(self) -> dict[str, object]:
        return {
            "norm": self.norm,
            "mixed": [sorted(m) for m in self.mixed],
            "terms": [{"columns": sorted(t.columns), "weight": t.weight, "any": t.any} for t in self.terms],
        }

    @staticmethod
    def from_dict(d: Mapping[str, object]) -> Reach:
        """The reach that `to_dict` wrote."""
        terms = cast("list[dict[str, object]]", d["terms"])
        return Reach(
            cast(Norm, d["norm"]),
            [
                Term(frozenset(cast("list[str]", t["columns"])), cast(float, t["weight"]), bool(t.get("any", False)))
                for t in terms
            ],
            [frozenset(m) for m in cast("list[list[str]]", d.get("mixed", []))],
        )
