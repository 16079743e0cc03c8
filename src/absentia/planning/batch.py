"""A batch of statistics on one dataset and its guarantee: distances stack first, amplification comes last, once (T7).

A book stores each release's distances in units of its noise; the sum of them is again a batch, and its guarantee is
the book's total.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, cast

from absentia.amplification import KNOWN_DEPENDENT, Structure, amplify, base_at
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
from absentia.theory.blackbox import BlackBoxAmplified, RadiusAndDiameter
from absentia.theory.bound import Bound
from absentia.theory.noise import Gaussian, Laplace, Noise
from absentia.theory.pair import ORIGIN, KnownMask

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
            return self._dependent(relation, dependent_rows)
        law = self.structure(missing, adaptive)
        if relation != "substitute":
            return amplify(self.noise, law, relation=relation)
        plain = amplify(self.noise, law, sensitivity=self.distances.largest)
        extra = [curve(self.noise) for curve in self._by_distance(missing)]
        return replace(plain, bounds=(*plain.bounds, *extra), companion_known=self._if_known(missing))

    def _by_distance(self, missing: Process) -> list[Curve]:
        """Curves for substitution that distances between rows give, where those are below twice the reach.

        The figure without a law, T1 around it, T3 of Laplace noise; and under MCAR the mean over masks (T5).
        """
        far, full = Fraction(self.distances.largest), Fraction(self.reach.full)
        if far >= 2 * full and self.distances.same_mask == self.reach:
            return []
        found: list[Curve] = [self._at(far)]
        if isinstance(missing, Complete):  # not using the missingness: what holds for a table with holes too
            return found
        law = missing.law(self.reach)
        p, r = law.p_exact, Fraction(law.max)
        near = min(max(far, r), 2 * r)
        if p < 1:
            found.append(lambda noise: BlackBoxAmplified(self._at(near)(noise), p))
        if p < 1 and self.family == "laplace":
            found.append(lambda noise: RadiusAndDiameter(r / Fraction(noise.size), near / Fraction(noise.size), p))
        if not law.data_dependent and self.distances.same_mask.terms:
            halves = missing.law(self.distances.same_mask)
            found.append(lambda noise: KnownMask(noise, halves.atoms))
        return found

    def _at(self, distance: Fraction) -> Curve:
        """The plain profile between any two rows that far apart."""
        return lambda noise: replace(base_at(noise, distance), assumptions=(ANY_MASKS,))

    def _if_known(self, missing: Process) -> Guarantee:
        """Against an observer of the masks: rows that show the same columns, and never more than any two rows."""
        worst = self._at(Fraction(self.distances.largest))(self.noise)
        if isinstance(missing, Complete):
            return Guarantee((worst,), "substitute", self.subject)
        if missing.law(self.reach).data_dependent:
            return self._known_dependent(missing)
        halves = self.distances.same_mask
        atoms = missing.law(halves).atoms if halves.terms else ORIGIN  # counts of equal masks are equal
        return Guarantee((KnownMask(self.noise, atoms), worst), "substitute", self.subject)

    def _known_dependent(self, missing: Process) -> Guarantee:
        """The profile at the largest distance that the law allows; what a mask reveals by itself is left out."""
        most = min(2 * Fraction(missing.law(self.reach).max), Fraction(self.distances.largest))
        bound = replace(base_at(self.noise, most), result="base at the largest reach")
        return Guarantee((bound,), "substitute", self.subject, caveats=(KNOWN_DEPENDENT,))

    def _dependent(self, relation: str, rows: int) -> Guarantee:
        """T8 with eta = 1: one record may change the masks of `rows` other rows, so rows + 1 rows move at most."""
        stretch = 1 if relation == "add_remove" else 2
        distance = stretch * Fraction(self.reach.full)
        if relation == "substitute":
            distance = min(distance, Fraction(self.distances.largest))
        bound = base_at(self.noise, (rows + 1) * distance)
        follow = f"one record changes the law of the masks of at most {rows} other rows"
        grown = replace(bound, result="T8", assumptions=(follow,))
        plain = Guarantee((base_at(self.noise, distance),), relation, self.subject)
        return Guarantee((grown,), relation, self.subject, plain, replace(plain, bounds=(grown,)))

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
        worst = self._worst(relation, 0 if without_missingness else dependent_rows)
        if without_missingness or dependent_rows or isinstance(missing, Complete):
            return calibrate(self.family, worst, **promise).size
        found = [calibrate(self.family, self.structure(missing), **promise).size]
        if relation == "substitute":
            make, start = FAMILIES[self.family], self.distances.largest
            for curve in self._by_distance(missing):
                scale = smallest_scale(lambda s, curve=curve: curve(make(s)), epsilon, delta, start)  # type: ignore[misc]
                found += [scale] if scale is not None else []
        return min(found)

    def _worst(self, relation: str, dependent_rows: int) -> ReachLaw:
        """The point law whose pair is the figure without missingness (for dependent rows, g + 1 rows at once)."""
        reach = Fraction(self.reach.full)
        if relation == "substitute":
            reach = min(reach, Fraction(self.distances.largest) / 2)
        if reach == 0:
            raise HazardRefused(
                "H18",
                "Nothing that is asked moves with a record.",
                "A query without reach needs no noise and no budget, and releases nothing about anybody.",
                "Ask for at least one statistic of a column.",
            )
        return ReachLaw.point(round_up(reach * (dependent_rows + 1)))

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


ANY_MASKS = "only that rows draw their masks independently: two rows are never further apart, whatever they show"

Curve = Callable[[Noise], Bound]
"""A bound for every amount of noise"""
