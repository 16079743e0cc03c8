"""A batch of statistics on one dataset and its guarantee: distances stack first, amplification comes last, once (T7).

A book stores each release's distances in units of its noise; the sum of them is again a batch, and its guarantee is
the book's total.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, cast

from absentia.amplification import Structure, amplify, full_reach
from absentia.calibration import FAMILIES, calibrate, smallest_scale
from absentia.errors import HazardRefused, InputError
from absentia.exact import round_up
from absentia.guarantee import Guarantee
from absentia.law.forms import Forms
from absentia.law.reachlaw import ReachLaw
from absentia.missing.complete import Complete
from absentia.missing.process import Process
from absentia.query.distance import Distances
from absentia.query.reach import Reach
from absentia.theory.noise import Gaussian, Laplace
from absentia.theory.pair import ORIGIN, STRETCH, KnownMask
from absentia.theory.pure import Atoms

__all__ = ["Batch"]


@dataclass(frozen=True)
class Batch:
    """Distances in units of the noise, with the noise family; `Batch + Batch` is both releases on one dataset."""

    family: str
    distances: Distances

    @property
    def noise(self) -> Gaussian | Laplace:
        """The unit noise of the scaled batch."""
        return FAMILIES[self.family](1.0)

    @property
    def subject(self) -> str:
        """What its guarantees are about, as `amplify` names it."""
        return f"{type(self.noise).__name__}({self.noise.size:g})"

    @property
    def reach(self) -> Reach:
        return self.distances.reach

    def __add__(self, other: Batch) -> Batch:
        if self.family != other.family:
            raise InputError("noise", other.family, f"{self.family}, the family of the releases before it")
        return Batch(self.family, self.distances + other.distances)

    def distance(self, relation: str, rows: int = 0) -> Fraction:
        """Between neighbours, in units of the noise, when a record steers the masks of `rows` other rows besides.

        A steered row is another row in its place, whatever the relation.
        """
        full = Fraction(self.reach.full)
        other = min(2 * full, max(full, Fraction(self.distances.largest)))
        return (full if relation == "add_remove" else other) + rows * other

    def scaled(self, factor: object) -> Batch:
        return Batch(self.family, self.distances.scaled(factor))

    def structure(self, missing: Process, adaptive: bool = False) -> Structure:
        """Blocks (T9), forms (T10) or the law of the total reach: the sharpest that is sound."""
        found = missing.joint(self.reach)
        return replace(found, adaptive=True) if adaptive and isinstance(found, Forms) else found

    def guarantee(
        self, missing: Process, relation: str = "substitute", dependent_rows: int = 0, adaptive: bool = False
    ) -> Guarantee:
        """The guarantee of the batch: T2, T9, T10, T10K where they apply, and never above the figure without a law.

        `adaptive`: of any queries, each chosen in the light of earlier answers, whose distances together stay below
        these on every observed set (THEORY section 5); then without T10K.

        Substitution only: two rows are never further apart than `largest`, whatever the masks, so that figure needs no
        law, and T1 applies to it; and under MCAR a row and its substitute may be given the same mask, so the mean of
        the profile over masks at the distance between rows that show the same columns bounds the release too (T5).
        """
        if dependent_rows:
            law: Structure = ReachLaw.point(self.reach.full)
            apart = self._apart(law)
            return amplify(self.noise, law, sensitivity=apart, relation=relation, dependent_rows=dependent_rows)
        law = self.structure(missing, adaptive)
        if relation != "substitute":
            return amplify(self.noise, law, relation=relation)
        found = amplify(self.noise, law, sensitivity=self._apart(law))
        known = found.if_mask_known
        same = [KnownMask(self.noise, atoms) for atoms in self._same_mask(missing)]
        return replace(
            found,
            bounds=(*found.bounds, *(bound for bound in same if bound.atoms != ORIGIN)),
            companion_known=replace(known, bounds=(*same, *known.bounds)),
        )

    def _apart(self, law: Structure) -> Fraction:
        """The largest distance between two masked rows, the all-missing one included."""
        return max(Fraction(self.distances.largest), full_reach(law, self.noise.norm))

    def _same_mask(self, missing: Process) -> list[Atoms]:
        """The law of half the distance between rows of one mask, where masks say nothing and rows are that close.

        Counts of equal masks are equal.
        """
        halves = self.distances.same_mask
        if isinstance(missing, Complete) or halves == self.reach or missing.data_dependent:
            return []
        if missing.law(self.reach).data_dependent:
            return []
        return [missing.law(halves).atoms if halves.terms else ORIGIN]

    # -- calibration ---------------------------------------------------------------------------------------------

    def smallest_noise(
        self,
        missing: Process,
        epsilon: Fraction,
        delta: Fraction,
        relation: str = "substitute",
        dependent_rows: int = 0,
        without_missingness: bool = False,
    ) -> float:
        """The least factor on every noise scale that keeps (epsilon, delta); each result is tried, the best is kept."""
        promise: dict[str, Any] = {"epsilon": epsilon, "delta": delta, "relation": relation}
        if without_missingness or dependent_rows or isinstance(missing, Complete):
            worst = self._worst(relation, 0 if without_missingness else dependent_rows)
            return calibrate(self.family, worst, **promise).size
        law = self.structure(missing)
        apart = self._apart(law) if relation == "substitute" else None
        found = [calibrate(self.family, law, sensitivity=apart, **promise).size]
        if apart is not None:
            make = FAMILIES[self.family]
            for atoms in self._same_mask(missing):
                if atoms != ORIGIN:
                    known = lambda s, atoms=atoms: KnownMask(make(s), atoms)  # noqa: E731
                    found.append(smallest_scale(known, epsilon, delta, float(apart)) or math.inf)
        return min(found)

    def _worst(self, relation: str, dependent_rows: int) -> ReachLaw:
        """The point law whose pair is the figure without missingness (for dependent rows, of all that move at once)."""
        if Fraction(self.reach.full) == 0:
            raise HazardRefused(
                "H18",
                "Nothing that is asked moves with a record.",
                "A query without reach needs no noise and no budget, and releases nothing about anybody.",
                "Ask for at least one statistic of a column.",
            )
        return ReachLaw.point(round_up(self.distance(relation, dependent_rows) / STRETCH[relation]))

    # -- storage -------------------------------------------------------------------------------------------------

    def to_dict(self) -> dict[str, Any]:
        """What a book stores of a release."""
        d = self.distances
        return {
            "family": self.family,
            "reach": d.reach.to_dict(),
            "same_mask": d.same_mask.to_dict(),
            "largest": d.largest,
        }

    @staticmethod
    def from_dict(data: Mapping[str, Any]) -> Batch:
        """The batch that `to_dict` wrote."""
        if data.get("family") not in FAMILIES:
            raise InputError("family", data.get("family"), "gaussian or laplace")
        reach, halves = (Reach.from_dict(cast("dict[str, object]", data[key])) for key in ("reach", "same_mask"))
        largest = data["largest"]
        if isinstance(largest, bool) or not isinstance(largest, (int, float)) or not 0 <= largest < math.inf:
            raise InputError("largest", largest, "a finite number >= 0")
        return Batch(str(data["family"]), Distances(reach, halves, float(largest)))
