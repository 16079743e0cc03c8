"""Nothing is missing: the process that changes nothing, for companions and comparisons."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, ClassVar, Self

import numpy as np

from absentia.exact import list_of
from absentia.missing.atoms import Atoms
from absentia.missing.domain import Records
from absentia.missing.process import Observed, Process, provenance, stored
from absentia.missing.text import names_of
from absentia.query.reach import Reach

__all__ = ["Complete", "without"]


@stored
@dataclass(frozen=True, kw_only=True)
class Complete(Process):
    """Nothing is assumed to be missing; without columns it speaks about any.

    A plan with it holds for tables with holes too: it never uses that two rows show the same columns (no T5).
    """

    name: ClassVar[str] = "without"
    parameters: ClassVar[tuple[str, ...]] = ()
    columns: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        self.check_words()
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
        given = list_of(data.get("columns", ()), "missing.columns", "a list of column names")
        return cls(columns=names_of(given, "missing.columns") if given else (), **provenance(data))

    def switches(self, column: str) -> list[int]:
        """Nothing hides a column."""
        return []


def without(columns: object = None, because: str = "nothing is missing", by: str = "") -> Complete:
    """The process in which every entry is observed: p* = 1 at full reach."""
    return Complete(columns=() if columns is None else names_of(columns), because=because, by=by)
