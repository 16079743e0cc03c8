"""The plan itself: what will be released, with which noise, at which price, and all that can be told about it."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from absentia.amplification import Structure
from absentia.calibration import FAMILIES
from absentia.errors import BudgetRefused
from absentia.exact import shown
from absentia.guarantee import Guarantee
from absentia.missing.process import Process
from absentia.planning.batch import Batch
from absentia.planning.budget import Budget
from absentia.planning.checks import own_distances, shown_often_enough
from absentia.planning.schema import Schema
from absentia.query.base import Query
from absentia.query.distance import distances
from absentia.query.estimate import Reading, Row
from absentia.query.reach import Reach
from absentia.query.statistic import Statistic
from absentia.theory.noise import Gaussian, Laplace

if TYPE_CHECKING:
    from absentia.ledger.ledger import Ledger
    from absentia.planning.accuracy import Accuracy
    from absentia.planning.blocks import Block
    from absentia.planning.whatif import Outcome
    from absentia.release import Release

__all__ = ["Plan"]

VERSION = 1


@dataclass(frozen=True, eq=False)
class Plan:
    """What will be released, with which noise, at which price; build it with `plan` or `Plan.load`.

    `scales` holds the noise scale of every statistic in rescaled units (z in [-1, 1]), rounded up; `own_scales` that
    of every query that its user runs (by name).
    """

    schema: Schema
    queries: tuple[Query, ...]
    missing: Process
    noise_family: str
    budget: Budget
    relation: str
    dependent_rows: int
    n: int | None
    confidence: float
    scales: Mapping[Statistic, float]
    own_scales: Mapping[str, float]

    # -- what is released -----------------------------------------------------------------------------------------

    @property
    def statistics(self) -> tuple[Statistic, ...]:
        """The exact sums, each released once even when several queries use it."""
        return tuple(self.scales)

    @property
    def noise_sd(self) -> dict[Statistic, float]:
        """The standard deviation of the noise of every statistic, in rescaled units."""
        factor = 2**0.5 if self.noise_family == "laplace" else 1.0
        return {s: factor * scale for s, scale in self.scales.items()}

    def answers(self, noisy: Mapping[Statistic, Any]) -> list[Row]:
        """The rows of all queries from noisy statistics (units of z): post-processing only."""
        values = {s: np.asarray(v, dtype=np.float64) for s, v in noisy.items()}
        counted = self.relation == "substitute" and self.n is not None and self.schema.rows_per_unit == 1
        how = Reading(self.n, self.confidence, self.noise_family, float(self.n or 0) if counted else math.inf)
        return [row for q in self.queries for row in q.rows(self.schema, values, self.noise_sd, how)]

    # -- what it promises -----------------------------------------------------------------------------------------

    @cached_property
    def batch(self) -> Batch:
        """The whole batch in units of its noise: what a book stores and adds up."""
        noise = self.noise
        cliques = {q.clique for q in self.queries if q.clique}
        found = distances(self.scales, self.schema, noise.norm, sorted(cliques))
        for own in own_distances(self.queries, self.own_scales, noise.norm):
            found = found + own
        return Batch(self.noise_family, found)

    @property
    def reach(self) -> Reach:
        """The joint reach of the batch in units of its noise (T7)."""
        return self.batch.reach

    @property
    def noise(self) -> Gaussian | Laplace:
        """Unit noise: the reach is already in units of each statistic's own."""
        return FAMILIES[self.noise_family](1.0)

    @cached_property
    def structure(self) -> Structure:
        return self.batch.structure(self.missing)

    @cached_property
    def guarantee(self) -> Guarantee:
        """The guarantee with its two companions: without missingness, and if the mask is known."""
        return self.batch.guarantee(self.missing, self.relation, self.dependent_rows)

    @cached_property
    def saving(self) -> float:
        """Noise that the same budget needs without missingness, over the noise of this plan."""
        e, d = self.budget.epsilon, self.budget.delta
        return self.batch.smallest_noise(self.missing, e, d, self.relation, without_missingness=True)

    @cached_property
    def blocks(self) -> tuple[Block, ...]:
        """Groups of columns whose masks may be treated apart, and what joins the columns of each."""
        from absentia.planning.blocks import blocks_of

        return blocks_of(self)

    # -- what can be told about it ----------------------------------------------------------------------------------

    def accuracy(self, confidence: object = None) -> Accuracy:
        """The expected half-width of every answer at this confidence: noise only, best and worst case."""
        from absentia.planning.accuracy import accuracy_of

        return accuracy_of(self, confidence)

    @cached_property
    def hazards(self) -> tuple[tuple[str, str], ...]:
        """(code, what it means here) for every hazard that concerns this plan."""
        from absentia.planning.hazards import hazards_of

        return hazards_of(self)

    @cached_property
    def advice(self) -> tuple[str, ...]:
        """Small changes that would gain much, with their figures."""
        from absentia.planning.advice import advice_of

        return advice_of(self)

    def what_if(
        self, *, gamma: object = None, p_star: object = None, eta: object = None, without: bool = False
    ) -> tuple[Outcome, ...]:
        """The figures of this plan's noise if the missingness were otherwise."""
        from absentia.planning.whatif import what_if

        return what_if(self, gamma, p_star, eta, without)

    def explain(self) -> str:
        """The derivation of the promise in numbered steps."""
        from absentia.planning.explain import explain

        return explain(self)

    def summary(self) -> str:
        """The plan on a terminal, 80 columns."""
        from absentia.planning.explain import summary

        return summary(self)

    def __str__(self) -> str:
        return self.summary()

    def __repr__(self) -> str:
        asked = f"{len(self.queries)} {'query' if len(self.queries) == 1 else 'queries'}"
        return f"Plan({self.identity[:16]}: {asked}, {self.noise_family}, {self.budget})"

    def _repr_html_(self) -> str:
        from absentia.planning.explain import as_html

        return as_html(self)

    # -- identity, storage ------------------------------------------------------------------------------------------

    def to_dict(self) -> dict[str, Any]:
        """Everything that defines the plan, JSON-ready; public things only."""
        own = {"own_scales": dict(self.own_scales)} if self.own_scales else {}
        return {
            "version": VERSION,
            "schema": self.schema.to_dict(),
            "query": [q.to_dict() for q in self.queries],
            "missingness": self.missing.to_dict(),
            "noise": self.noise_family,
            "budget": self.budget.to_dict(),
            "relation": self.relation,
            "dependent_rows": self.dependent_rows,
            "n": self.n,
            "confidence": repr(self.confidence),
            "scales": list(self.scales.values()),
            **own,
        }

    @cached_property
    def identity(self) -> str:
        """The SHA-256 of the plan's canonical JSON."""
        text = json.dumps(self.to_dict(), sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
        return hashlib.sha256(text.encode()).hexdigest()

    def __eq__(self, other: object) -> bool:
        return self.identity == other.identity if isinstance(other, Plan) else NotImplemented

    def __hash__(self) -> int:
        return hash(self.identity)

    @staticmethod
    def from_dict(data: Mapping[str, Any]) -> Plan:
        """The plan that `to_dict` wrote: the same scales, checked against the budget."""
        from absentia.planning.planfile import restored

        return restored(data)

    @staticmethod
    def load(path: str | Path) -> Plan:
        """The plan that a TOML file describes."""
        from absentia.planning.planfile import load

        return load(path)

    def check(self) -> None:
        """Nothing, or a refusal: the certified figure of these scales must keep the budget, and by noise."""
        shown_often_enough(self.missing, self.reach, self.dependent_rows, self.budget.delta)
        spent = self.guarantee.epsilon(self.budget.delta)
        if not Fraction(spent) <= self.budget.epsilon:
            raise BudgetRefused(
                f"The noise of this plan gives epsilon {shown(spent)} at delta {float(self.budget.delta):g};"
                f" its budget is {self.budget}.",
                "A plan's noise must keep its own budget.",
                "Build the plan again with this version.",
            )

    def release(
        self,
        source: Any,
        book: Ledger,
        *,
        purpose: str,
        noise_backend: str = "absentia",
        progress: Callable[[str], None] | None = None,
    ) -> Release:
        """The noisy answers on a table, charged to the book first, where the purpose stands in words."""
        from absentia.release import release

        return release(self, source, book, purpose, noise_backend=noise_backend, progress=progress)
