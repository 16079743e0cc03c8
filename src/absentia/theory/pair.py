"""T2 and T5: what a reach law gives for additive noise, whatever the query and whatever its dimension.

T2: the profile of the masked mechanism is at most that of the scalar pair
    P* = sum_k q_k phi(. - x_k),   Q* = sum_k q_k phi(. + x_k),
x_k the atoms of the dominating reach law in units of the noise scale. It is attained by a scalar linear query.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from types import MappingProxyType
from typing import Literal

import numpy as np
from flint import arb
from scipy.special import log_ndtr

from absentia.errors import InputError
from absentia.exact import ball, number, round_up
from absentia.theory.bound import BallBound, Bound
from absentia.theory.noise import Noise
from absentia.theory.pair_gaussian import GaussianPair
from absentia.theory.pair_laplace import LaplacePair, LaplaceRemoved
from absentia.theory.pure import Atoms

__all__ = ["STRETCH", "AtDistance", "KnownMask", "Worst", "base_at", "dominating_pair"]

Relation = Literal["substitute", "add_remove"]
STRETCH: Mapping[str, int] = MappingProxyType({"substitute": 2, "add_remove": 1})
"""How many times its reach a record moves a query: another row in its place, or the row alone."""

ROWS_INDEPENDENT = "rows draw their masks independently of one another (any missingness: MCAR, MAR or MNAR)"
HIDDEN_MASK = "the observer does not know which of the record's entries were observed"
REACH_BOUND = "the law dominates the reach of the masked row for every record"
ABSENT_ROW = "a row with nothing observed acts exactly like an absent row"
MASKS_APART = "the masks do not depend on the values (MCAR)"
ANY_MASKS = "only that rows draw their masks independently: two rows are never further apart, whatever they show"

ASSUMPTIONS = (ROWS_INDEPENDENT, REACH_BOUND, HIDDEN_MASK)
ORIGIN: Atoms = ((Fraction(0), Fraction(1)),)


FARTHEST = 1e150
"""Noise scales beyond which the squares of Gaussian distances leave the doubles"""


class Worst(Bound):
    """The larger of several curves, point by point: both directions of one relation."""

    def __init__(self, directions: tuple[Bound, ...]) -> None:
        first = directions[0]
        self.directions, self.result, self.assumptions = directions, first.result, first.assumptions
        self.pure_result, self.least = first.pure_result, first.least

    def delta(self, epsilon: Fraction, *, certified: bool = True) -> float:
        return max(b.delta(epsilon, certified=certified) for b in self.directions)

    def epsilon(self, delta: Fraction, *, certified: bool = True) -> float:
        return max(b.epsilon(delta, certified=certified) for b in self.directions)


def dominating_pair(noise: Noise, atoms: Atoms, relation: Relation = "substitute") -> Bound:
    """The exact dominating pair of a reach law under Laplace or Gaussian noise (T2; section 7 for add/remove)."""
    if noise.family == "gaussian":
        if atoms[-1][0] > FARTHEST * noise.size:
            raise InputError("law", atoms[-1][0], f"reaches of at most {FARTHEST:g} noise scales")
        atoms = _visible(atoms, noise.size)
    if relation == "substitute" and len(atoms) == 1:  # nothing is random: the plain profile at twice the reach
        return KnownMask(noise, atoms, 2, "T2", ASSUMPTIONS, "T3")
    if len(atoms) == 1:
        return KnownMask(noise, atoms, 1, "T2", (*ASSUMPTIONS, ABSENT_ROW), "T3")
    if relation == "substitute":
        pair = GaussianPair if noise.family == "gaussian" else LaplacePair
        return pair(atoms, atoms, noise.size, "T2", ASSUMPTIONS)
    assumptions = (*ASSUMPTIONS, ABSENT_ROW)
    if noise.family == "gaussian":
        added = GaussianPair(atoms, ORIGIN, noise.size, "T2", assumptions)
        return Worst((added, GaussianPair(ORIGIN, atoms, noise.size, "T2", assumptions)))
    added_l = LaplacePair(atoms, ORIGIN, noise.size, "T2", assumptions)
    return Worst((added_l, LaplaceRemoved(atoms, noise.size, "T2", assumptions)))


def _visible(atoms: Atoms, scale: float) -> Atoms:
    """Reaches above 0 but below 1e-100 scales raised to that: safe, and within the range of the float search."""
    least = Fraction(scale) / 10**100
    if next((x for x, _ in atoms if x > 0), least) >= least:  # reaches increase
        return atoms
    return tuple((x if x == 0 or x >= least else round_up(least), q) for x, q in atoms)


@dataclass(frozen=True)
class KnownMask(BallBound):
    """T5: the profile against an observer who is shown the masks, delta = E[H(distance)].

    Assumptions: the masks do not depend on the values (MCAR). `stretch` is 2 for substitution (two rows at
    distance R from the all-missing one) and 1 for adding or removing a record.
    """

    noise: Noise
    atoms: Atoms
    stretch: int = 2
    result: str = "T5"
    assumptions: tuple[str, ...] = (ROWS_INDEPENDENT, MASKS_APART)
    pure_result: str | None = None

    def delta_ball(self, epsilon: arb) -> arb:
        scale = ball(self.noise.size)
        profile = self.noise.profile_ball
        return sum((ball(q) * profile(self.stretch * ball(x) / scale, epsilon) for x, q in self.atoms), arb(0))

    def log_delta(self, epsilon: float) -> float:
        shifts = np.array([self.stretch * float(x) / self.noise.size for x, _ in self.atoms])
        masses = np.array([float(q) for _, q in self.atoms])
        logs = [
            m + s for m, s in zip(np.log(masses), map(_log_profile(self.noise.family, epsilon), shifts), strict=True)
        ]
        return float(np.logaddexp.reduce(logs))

    def pure_ball(self) -> arb | None:
        if self.noise.family == "gaussian":
            return None
        return self.stretch * ball(max(x for x, _ in self.atoms)) / ball(self.noise.size)


@dataclass(frozen=True)
class AtDistance(KnownMask):
    """The plain profile of a noise at one distance: what it promises with no help from missing entries."""

    result: str = "base"
    assumptions: tuple[str, ...] = ()

    def times(self, rows: int) -> AtDistance:
        """The profile when that many rows differ, each by the distance."""
        ((x, _),) = self.atoms
        return base_at(self.noise, rows * number(x, "distance"))


def base_at(noise: Noise, distance: object) -> AtDistance:
    """The curve of a noise between two rows at most `distance` apart."""
    d = number(distance, "sensitivity")
    if d < 0:
        raise InputError("sensitivity", distance, "a number >= 0")
    return AtDistance(noise, ((d, Fraction(1)),), 1)


def _log_profile(family: str, epsilon: float) -> Callable[[float], float]:
    def laplace(shift: float) -> float:
        return math.log(-math.expm1((epsilon - shift) / 2)) if shift > epsilon else -math.inf

    def gaussian(shift: float) -> float:
        if shift == 0:
            return -math.inf
        top = float(log_ndtr(shift / 2 - epsilon / shift))
        low = epsilon + float(log_ndtr(-shift / 2 - epsilon / shift))
        return top + math.log(-math.expm1(low - top)) if low < top else -math.inf

    return gaussian if family == "gaussian" else laplace
