"""Columns that go missing independently of one another and of the values: the structure of T9."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np

from absentia.errors import InputError
from absentia.exact import list_of, probability
from absentia.law.blocks import Blocks
from absentia.law.forms import Forms
from absentia.law.provenance import Kind
from absentia.law.reachlaw import ReachLaw
from absentia.missing.atoms import Atoms
from absentia.missing.domain import Records
from absentia.missing.events import independent_sum, lifted, term_groups
from absentia.missing.process import Observed, Process, provenance, stored
from absentia.missing.text import by_column, field_of, names_of, subset_of, subsets_of, written
from absentia.query.reach import Reach

__all__ = ["Factor", "Independent", "in_blocks", "independent", "independent_blocks"]

Factor = tuple[frozenset[str], Fraction]


@stored
@dataclass(frozen=True, kw_only=True)
class Independent(Process):
    """Independent switches, each on with its probability; a column shows when all switches that hold it are on.

    A column in no switch is always observed.

    >>> independent(["a", "b"], {"a": "0.5", "b": "0.5"}).observed_count().p_star
    0.75
    """

    name: ClassVar[str] = "independent"
    parameters: ClassVar[tuple[str, ...]] = ("observed",)
    factors: tuple[Factor, ...]

    def __post_init__(self) -> None:
        super().__post_init__()
        for i, (held, p) in enumerate(self.factors):
            subset_of(self.columns, sorted(held), f"observed[{i}].columns")
            probability(p, f"observed[{i}].rate")

    def switches(self, column: str) -> list[int]:
        """The switches that hide this column."""
        return self._held.get(column, [])

    @cached_property
    def _switches(self) -> tuple[Factor, ...]:
        """The factors, those that hold the same columns as one: all of them must be on."""
        joined: dict[frozenset[str], Fraction] = {}
        for held, p in self.factors:
            joined[held] = joined.get(held, Fraction(1)) * p
        return tuple(joined.items())

    @cached_property
    def _held(self) -> dict[str, list[int]]:
        held: dict[str, list[int]] = {}
        for i, (columns, _) in enumerate(self._switches):
            for column in columns:
                held.setdefault(column, []).append(i)
        return held

    @cached_property
    def _chances(self) -> dict[int, Fraction]:
        return {i: p for i, (_, p) in enumerate(self._switches)}

    def powers(self, reach: Reach) -> Atoms:
        """Exact in small or symmetric components, and in large ones the worst reach for each number seen."""
        return independent_sum(lifted(reach, self.switches), self._chances)

    def joint(self, reach: Reach) -> ReachLaw | Blocks | Forms:
        """One block for each connected component of the columns that share a switch or a term (T9)."""
        return in_blocks(self, reach, self.switches)

    def restricted(self, columns: object) -> Independent:
        kept = names_of(columns)
        chosen = subset_of(self.columns, kept, "columns")
        factors = tuple((held & chosen, p) for held, p in self.factors if held & chosen)
        return replace(self, columns=kept, factors=factors)

    def draw(self, rows: int, rng: np.random.Generator, records: Records) -> Observed:
        seen = np.ones((rows, len(self.columns)), dtype=bool)
        for held, p in self.factors:
            where = [j for j, column in enumerate(self.columns) if column in held]
            seen[:, where] &= (rng.random(rows) < float(p))[:, None]
        return seen

    def fields(self) -> dict[str, Any]:
        listed = [
            {"columns": [column for column in self.columns if column in held], "rate": written(p)}
            for held, p in self.factors
        ]
        return {"observed": listed}

    @classmethod
    def parse(cls, data: Mapping[str, Any]) -> Self:
        """Also reads the short form {column = rate}."""
        columns = names_of(field_of(data, "columns", list))
        given = field_of(data, "observed", (list, dict))
        if isinstance(given, dict):
            given = [{"columns": [column], "rate": rate} for column, rate in given.items()]
        factors = tuple(_factor(columns, item, i) for i, item in enumerate(given))
        return cls(columns=columns, factors=factors, **provenance(data))


def independent(
    columns: object,
    observed: Mapping[str, object],
    because: str = "",
    by: str = "",
    kind: Kind = "declared",
) -> Independent:
    """Each named column is observed with its own rate, independently; columns not named are always observed."""
    names = names_of(columns)
    rates = by_column(names, observed, "observed", "a rate for each column, such as {'bmi': '0.7'}")
    factors = tuple((frozenset({c}), probability(p, f"observed.{c}")) for c, p in rates.items())
    return Independent(columns=names, factors=factors, because=because, by=by, kind=kind)


def independent_blocks(
    columns: object,
    blocks: Sequence[Iterable[str]],
    observed: Sequence[object],
    because: str = "",
    by: str = "",
    kind: Kind = "declared",
) -> Independent:
    """Each block of columns is observed or missing as a whole, with its own rate, independently of the others."""
    names = names_of(columns)
    held, given = subsets_of(names, blocks, "blocks"), list_of(observed, "observed", "one rate for each block")
    if len(held) != len(given):
        raise InputError("observed", len(given), f"one rate for each of the {len(held)} blocks")
    rates = [probability(p, f"observed[{i}]") for i, p in enumerate(given)]
    factors = tuple(zip(held, rates, strict=True))
    return Independent(columns=names, factors=factors, because=because, by=by, kind=kind)


def in_blocks(process: Process, reach: Reach, switches: Callable[[str], Iterable[int]]) -> ReachLaw | Blocks:
    """The law of each group of terms that share no switch, as independent blocks (T9); one group is one law."""
    process.covers(reach)
    groups = term_groups(reach, switches)
    if len(groups) < 2:
        return process.law(reach)
    return Blocks([process.law(Reach(reach.norm, terms)) for terms in groups])


def _factor(columns: Sequence[str], item: object, i: int) -> Factor:
    if not isinstance(item, Mapping):
        raise InputError(f"missing.observed[{i}]", item, "a table with columns and rate")
    held = subset_of(columns, item.get("columns", ()), f"missing.observed[{i}].columns")
    return held, probability(item.get("rate"), f"missing.observed[{i}].rate")
