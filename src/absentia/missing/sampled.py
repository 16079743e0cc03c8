"""Matrix sampling: some of many clusters of columns, every choice alike, without listing the choices."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import combinations
from math import comb
from typing import Any, ClassVar, Self

import numpy as np

from absentia.errors import InputError
from absentia.exact import integer, root_up
from absentia.law.blocks import Blocks
from absentia.law.forms import Forms
from absentia.law.reachlaw import ReachLaw
from absentia.missing.atoms import Atoms, common_unit
from absentia.missing.domain import Records
from absentia.missing.events import Event, lifted, singles, worst
from absentia.missing.patterns import Patterns
from absentia.missing.process import Observed, Process, provenance, stored
from absentia.missing.text import field_of, masses_of, names_of, subset_of, subsets_of
from absentia.query.reach import Reach

__all__ = ["LISTED", "Sampled", "blocks_of", "matrix_sampling"]

LISTED = 3000  # k-subsets that are written out one by one
_STEPS = 512


@stored
@dataclass(frozen=True, kw_only=True)
class Sampled(Process):
    """`asked` of the clusters, every choice alike; never listed when there are many.

    >>> law = matrix_sampling(["a", "b", "c"], [["a"], ["b"], ["c"]], 2).observed_count(["a", "b"])
    >>> law.reach, [str(q) for _, q in law.atoms]
    ((1.0, 2.0), ['6004799503160661/9007199254740992', '3002399751580331/9007199254740992'])
    """

    name: ClassVar[str] = "matrix sampling"
    parameters: ClassVar[tuple[str, ...]] = ("clusters", "asked")
    clusters: tuple[frozenset[str], ...]
    asked: int

    def __post_init__(self) -> None:
        super().__post_init__()
        blocks_of(self.columns, self.clusters)
        integer(self.asked, "asked", 1, len(self.clusters))

    def events(self, reach: Reach) -> list[Event]:
        """The reach over clusters."""
        home = {column: c for c, cluster in enumerate(self.clusters) for column in cluster}
        return lifted(reach, lambda column: [home[column]] if column in home else [])

    def powers(self, reach: Reach) -> Atoms:
        """Exact when the choices are few or every term lies in one cluster with few different weights.

        Otherwise weights are rounded up to a grid of 512 steps; terms across many clusters take their worst choice.
        """
        events = self.events(reach)
        touched = sorted({c for event in events for c in event.on})
        constant = sum((event.weight for event in events if not event.on), Fraction(0))
        if singles(events):
            weights = {c: Fraction(0) for c in touched}
            for event in events:
                for c in event.on:
                    weights[c] += event.weight
            return {constant + level: mass for level, mass in self._chosen_sum(list(weights.values())).items()}
        listed = self.listed()
        if listed is not None:
            return listed.powers(reach)
        return {worst(events, self.asked): Fraction(1)}

    def _chosen_sum(self, weights: Sequence[Fraction]) -> Atoms:
        """The law of the sum of the weights of the chosen clusters (others weigh nothing); counts are exact."""
        d, k = len(self.clusters), self.asked
        top = sum(sorted(weights, reverse=True)[:k], Fraction(0))
        unit = common_unit(weights, top, _STEPS)
        ways: list[dict[int, int]] = [{0: 1}] + [{} for _ in range(k)]
        for weight in weights:
            step = int(-(-weight // unit))
            for chosen in range(k, 0, -1):
                for level, number in ways[chosen - 1].items():
                    ways[chosen][level + step] = ways[chosen].get(level + step, 0) + number
        rest, every = d - len(weights), comb(d, k)
        counts: dict[int, int] = {}
        for chosen, by_level in enumerate(ways):
            for level, number in by_level.items():
                counts[level] = counts.get(level, 0) + number * comb(rest, k - chosen)
        return {level * unit: Fraction(number, every) for level, number in counts.items() if number}

    def listed(self) -> Patterns | None:
        """The same design with every choice written out, where these are few."""
        if comb(len(self.clusters), self.asked) > LISTED:
            return None
        core = frozenset(self.columns).difference(*self.clusters)
        forms = tuple(core.union(*chosen) for chosen in combinations(self.clusters, self.asked))
        return Patterns(
            columns=self.columns,
            observed=forms,
            mass=masses_of(None, len(forms)),
            because=self.because,
            by=self.by,
            kind=self.kind,
            data_dependent=self.data_dependent,
        )

    def joint(self, reach: Reach) -> ReachLaw | Blocks | Forms:
        """Forms: the clusters as blocks when every term lies in one cluster, else the listed forms if they are few."""
        self.covers(reach)
        if reach.norm != 2 or self.data_dependent or reach.mixed:
            return self.law(reach)
        events = self.events(reach)
        if singles(events) and not any(term.any for term in reach.terms):
            weight = [Fraction(0)] * len(self.clusters)
            core = [root_up(event.weight, 2) for event in events if not event.on]
            for event in events:
                for c in event.on:
                    weight[c] += event.weight
            drawn = Forms.k_of_d(self.asked, len(weight), [root_up(w, 2) for w in weight])
            return Forms.strata([drawn], core) if core else drawn
        listed = self.listed()
        return self.law(reach) if listed is None else listed.joint(reach)

    def restricted(self, columns: object) -> Sampled:
        kept = names_of(columns)
        chosen = subset_of(self.columns, kept, "columns")
        return replace(self, columns=kept, clusters=tuple(cluster & chosen for cluster in self.clusters))

    def draw(self, rows: int, rng: np.random.Generator, records: Records) -> Observed:
        order = np.argsort(rng.random((rows, len(self.clusters))), axis=1)[:, : self.asked]
        asked = np.zeros((rows, len(self.clusters)), dtype=bool)
        np.put_along_axis(asked, order, True, axis=1)
        seen = np.ones((rows, len(self.columns)), dtype=bool)
        for c, cluster in enumerate(self.clusters):
            seen[:, [j for j, column in enumerate(self.columns) if column in cluster]] = asked[:, [c]]
        return seen

    def fields(self) -> dict[str, Any]:
        clusters = [[column for column in self.columns if column in cluster] for cluster in self.clusters]
        return {"clusters": clusters, "asked": self.asked}

    @classmethod
    def parse(cls, data: Mapping[str, Any]) -> Self:
        columns = names_of(field_of(data, "columns", list))
        clusters = subsets_of(columns, field_of(data, "clusters", list), "missing.clusters")
        return cls(columns=columns, clusters=clusters, asked=field_of(data, "asked", int), **provenance(data))


def matrix_sampling(
    columns: object, clusters: Sequence[Iterable[str]], asked: int, because: str = "", by: str = ""
) -> Sampled:
    """Every unit is asked `asked` of the clusters, all choices equally likely; other columns are the core."""
    names = names_of(columns)
    parts = blocks_of(names, clusters)
    integer(asked, "asked", 1, len(parts))
    return Sampled(
        columns=names,
        clusters=parts,
        asked=asked,
        because=because,
        by=by,
        kind="design",
    )


def blocks_of(columns: Sequence[str], blocks: object) -> tuple[frozenset[str], ...]:
    """Blocks of known columns that do not overlap."""
    sets = subsets_of(columns, blocks, "blocks")
    taken: set[str] = set()
    for i, block in enumerate(sets):
        if block & taken:
            raise InputError(f"blocks[{i}]", sorted(block & taken)[0], "each column in at most one block")
        taken |= block
    if not sets:
        raise InputError("blocks", blocks, "at least one block of columns")
    return sets
