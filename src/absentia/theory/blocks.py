"""T9: blocks of columns with independent masks, and releases on fresh masks, by composing privacy losses.

The output law factorises over the blocks given the other rows, so (tensor_b P*_b, tensor_b Q*_b), the product of
the T2 pairs of the blocks' reach laws, is a dominating pair: the privacy losses of the blocks add.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import NamedTuple, TypeAlias

import numpy as np
from flint import arb

from absentia.exact import above, precision
from absentia.theory.bound import Bound, log_of
from absentia.theory.fourier import LARGEST, Cumulant, composed, window
from absentia.theory.loss import FINER, LossPair, Response
from absentia.theory.loss_grid import GridLosses, Losses
from absentia.theory.loss_known import KnownLosses, told
from absentia.theory.noise import BlackBox, Noise
from absentia.theory.pair import (
    ABSENT_ROW,
    HIDDEN_MASK,
    MASKS_APART,
    ORIGIN,
    REACH_BOUND,
    ROWS_INDEPENDENT,
    Relation,
    Worst,
)
from absentia.theory.pure import Atoms

__all__ = ["Block", "FreshMasks", "IndependentBlocks", "SumOfLosses"]

Part: TypeAlias = LossPair | Response | KnownLosses
Block: TypeAlias = tuple[Noise | BlackBox, Atoms]
"""A block: the noise its queries get, and the atoms of its reach law (several releases merged by T7)."""

BLOCKS_INDEPENDENT = "the blocks' masks are independent of one another given the complete record"
ONE_BLOCK_A_QUERY = "every query uses the columns of one block only"
MASKS_FRESH = "every part was released on masks drawn afresh, independent of the others'"

SHARED = (ROWS_INDEPENDENT, REACH_BOUND, HIDDEN_MASK)

LEAST = Fraction(1, 10**11)
"""The smallest delta at which T9 is used: it rests on float transforms, and T2 answers below"""
NEVER = 5e-324  # a transform never proves 0
COST = 5e-5  # share of epsilon that the grid may cost
LADDER = tuple(4.0**i for i in range(-5, 16))


def loss_parts(block: Block, up: bool, down: bool) -> Part:
    """The pair of one block: both sides masked, or one side a row that shows nothing."""
    noise, atoms = block
    if isinstance(noise, BlackBox):
        return Response(noise, sum((q for x, q in atoms if x > 0), Fraction(0)))
    kept = tuple((x, q) for x, q in atoms if q > 0)
    return LossPair(noise, kept if up else ORIGIN, kept if down else ORIGIN)


@dataclass(frozen=True)
class SumOfLosses(Bound):
    """The composed curve of independent privacy losses, each part so many times.

    delta and epsilon are upper bounds: losses only move to dominating ones (theory.loss), the transform's rounding
    error is bounded and added (theory.fourier), results round up. certified=False does the same in floats.
    """

    parts: tuple[tuple[Part, int], ...]
    result: str
    assumptions: tuple[str, ...]

    def delta(self, epsilon: Fraction, *, certified: bool = True) -> float:
        if not self.parts:
            return 0.0
        wanted = max(0.0, math.nextafter(float(epsilon), -math.inf) if float(epsilon) > epsilon else float(epsilon))
        if wanted >= self.pure():
            return 0.0
        plans = self._plans_at(wanted)
        if not plans:
            return 1.0
        plan = plans[0] if len(plans) == 1 else min(plans, key=lambda plan: self._delta(plan, wanted, False))
        return max(self._delta(plan, wanted, certified), NEVER)

    def epsilon(self, delta: Fraction, *, certified: bool = True) -> float:
        pure = self.pure()
        if delta == 0 or not self.parts:
            return pure
        if delta >= 1:
            return 0.0
        plans = self._plans_for(delta)
        if not plans:
            return pure
        plan = plans[0] if len(plans) == 1 else min(plans, key=lambda plan: self._epsilon(plan, delta, False))
        return min(pure, self._epsilon(plan, delta, certified))

    def _delta(self, plan: Plan, epsilon: float, certified: bool) -> float:
        grids = self._grids(plan, certified)
        if not usable(grids):
            return 1.0
        return composed(grids, Cumulant.of_grid(grids).order_at_epsilon(epsilon)).delta(epsilon)

    def _epsilon(self, plan: Plan, delta: Fraction, certified: bool) -> float:
        grids, theta = self._grids(plan, certified), plan.theta
        if not usable(grids):
            return math.inf
        fine, best = Cumulant.of_grid(grids), math.inf
        for _ in range(4):
            bound = composed(grids, theta)
            found = bound.epsilon(delta)
            best = min(best, found)
            _, mean, variance = fine.moments(theta)
            if abs(found - mean) <= 2 * math.sqrt(variance):
                break  # the order was right for this epsilon
            if math.isfinite(found):
                theta = fine.order_at_epsilon(found)
            else:
                theta *= 0.1 if bound.constant >= 1 else 1.5
        return max(0.0, best)

    def pure(self) -> float:
        """The smallest proved epsilon at delta = 0: the sum of the largest losses (T3); inf with Gaussian noise."""
        with precision(128):
            largest = [(part.pure_ball(), count) for part, count in self.parts]
            if any(x is None for x, _ in largest):
                return math.inf
            return max(0.0, above(sum((x * count for x, count in largest if x is not None), arb(0))))

    def _sketch(self, cut: float) -> tuple[Cumulant, float] | None:
        """The float picture of all parts with losses above `cut` called infinite, and the infinite mass.

        None where that leaves some part no finite loss, or losses beyond what doubles can tell apart.
        """
        capped = [(sketched(part).capped(cut), count) for part, count in self.parts]
        if not all(losses.usable for losses, _ in capped):
            return None
        return Cumulant.of(capped), sum(count * losses.infinite for losses, count in capped)

    def _plans_for(self, delta: Fraction) -> list[Plan]:
        """How to find epsilon: without a cut, and with the cut that promises the least if that is much less."""

        def plan(cut: float) -> Plan | None:
            sketch = self._sketch(cut)
            if sketch is None or (cut < math.inf and sketch[1] >= delta):
                return None
            cumulant, infinite = sketch
            theta = cumulant.order_at_delta(math.log(max(float(delta - Fraction(infinite)), 1e-300)))
            return Plan(cumulant, theta, max(0.0, cumulant.moments(theta)[1]), log_of(delta), cut)

        return first_and_best(plan, lambda plan: plan.epsilon, 0.98)

    def _plans_at(self, epsilon: float) -> list[Plan]:
        """How to find delta: as `_plans_for`."""

        def plan(cut: float) -> Plan | None:
            sketch = None if cut < 2 * epsilon else self._sketch(cut)
            if sketch is None:
                return None
            cumulant, infinite = sketch
            theta = cumulant.order_at_epsilon(epsilon)
            guess = cumulant.log_delta(theta) + theta * (cumulant.moments(theta)[1] - epsilon)
            total = float(np.logaddexp(guess, math.log(infinite) if infinite else -math.inf))
            return Plan(cumulant, theta, epsilon, min(0.0, total), cut)

        return first_and_best(plan, lambda plan: math.exp(plan.log_delta), 0.98)

    def _grids(self, plan: Plan, proved: bool) -> list[tuple[GridLosses, int]]:
        """All parts on one grid, fine enough for COST and cut where the tails are a millionth of delta."""
        n = sum(count for _, count in self.parts)
        gap = grid_gap(plan, n)
        lost = 10.0 ** max(-300, math.floor(plan.log_delta / math.log(10) - 6 - math.log10(n)))
        about = 2.0 ** (round(4 * math.log2(plan.theta)) / 4)  # few orders: nearby questions share their losses
        return [(gridded(part, gap, lost, plan.cut, about, proved), count) for part, count in self.parts]


class Plan(NamedTuple):
    """A float sketch of the losses, an order, guesses, and the level above which losses are called infinite."""

    sketch: Cumulant
    theta: float
    epsilon: float
    log_delta: float
    cut: float


def first_and_best(plan: Callable[[float], Plan | None], value: Callable[[Plan], float], much: float) -> list[Plan]:
    """The plan without a cut, and the most promising one with a cut below where its order puts weight; none, if none.

    Nothing is promised then: T2 answers, or the plain composition.
    """
    first = plan(math.inf)
    if first is None:
        return []
    weighty = first.sketch.upper_end(first.theta)
    others = [other for cut in LADDER if cut < weighty and (other := plan(cut)) is not None]
    best = min(others, key=value, default=first)
    return [first, best] if value(best) < much * value(first) else [first]


class IndependentBlocks(SumOfLosses):
    """T9: blocks of columns whose masks are independent given the complete record.

    At delta = 0 no transform is used: the figure is the sum of the blocks' T3, in balls.
    """

    least = LEAST
    pure_result = "T3"

    @staticmethod
    def of(blocks: Sequence[Block], relation: Relation = "substitute") -> Bound:
        """The composed curve of the blocks' pairs; identical blocks are recognised and counted.

        Assumptions: each block's mask may depend on any value of the record (MCAR, MAR, self-masking MNAR) through
        its own envelope; given the record the blocks' masks are independent; a query stays within one block.

        >>> from absentia.theory.noise import Gaussian
        >>> column = ((0.0, Fraction(19, 20)), (1.0, Fraction(1, 20)))
        >>> bound = IndependentBlocks.of([(Gaussian(4.27), column)] * 100)
        >>> 0.98876 < bound.epsilon(Fraction(1, 10**6)) < 0.98998
        True
        """
        return both_directions(
            IndependentBlocks, blocks, "T9", (*SHARED, BLOCKS_INDEPENDENT, ONE_BLOCK_A_QUERY), relation
        )


class FreshMasks(SumOfLosses):
    """T2 composed: releases whose masks were drawn afresh each time (new waves of collection)."""

    @staticmethod
    def of(releases: Sequence[Block], relation: Relation = "substitute") -> Bound:
        """The composed curve of the releases' pairs: what adding amplified guarantees may mean.

        Assumptions: as T2 for each release, and the masks of different releases are independent.

        >>> from absentia.theory.noise import Laplace
        >>> wave = ((0.0, Fraction(1, 2)), (1.0, Fraction(1, 2)))
        >>> FreshMasks.of([(Laplace(1), wave)] * 3).epsilon(Fraction(0))
        3.0000000000000004
        """
        return both_directions(FreshMasks, releases, "T2 composed", (*SHARED, MASKS_FRESH), relation)

    @staticmethod
    def known(releases: Sequence[Block], relation: Relation = "substitute") -> Bound:
        """The curve against an observer who is shown all masks: the losses of the distances drawn (T5).

        Assumptions: as `of`, and the masks do not depend on the values.

        >>> from absentia.theory.noise import Gaussian
        >>> wave = ((0.0, Fraction(1, 2)), (1.0, Fraction(1, 2)))
        >>> known = FreshMasks.known([(Gaussian(4), wave)] * 3).epsilon(Fraction(1, 10**6))
        >>> FreshMasks.of([(Gaussian(4), wave)] * 3).epsilon(Fraction(1, 10**6)) < known
        True
        """
        parts = Counter(told(noise, atoms, relation == "substitute") for noise, atoms in releases)
        shown = tuple((part, count) for part, count in parts.items() if not part.trivial)
        return FreshMasks(shown, "T5 composed", (ROWS_INDEPENDENT, MASKS_APART, MASKS_FRESH))


def both_directions(
    kind: type[SumOfLosses], blocks: Sequence[Block], result: str, assumptions: tuple[str, ...], relation: Relation
) -> Bound:
    """The curve under a relation; add_remove takes the worse of a record added and a record removed."""
    blocks = list(blocks)
    if relation == "substitute":
        return kind(counted(blocks, True, True), result, assumptions)
    assumptions = (*assumptions, ABSENT_ROW)
    removed = kind(counted(blocks, True, False), result, assumptions)
    return Worst((removed, kind(counted(blocks, False, True), result, assumptions)))


def counted(blocks: Sequence[Block], up: bool, down: bool) -> tuple[tuple[Part, int], ...]:
    """Each different pair with its number of blocks; pairs that reveal nothing are left out."""
    pairs = Counter(loss_parts(block, up, down) for block in blocks)
    return tuple((pair, count) for pair, count in pairs.items() if not pair.trivial)


def grid_gap(plan: Plan, n: int) -> float:
    """A power of two h with n (theta+1) w^2/12 <= COST epsilon for cells of width w = FINER h, unless that is too fine.

    Moving losses to the ends of a cell of width w, with the mean of e^{-L} kept, adds about theta(theta+1) w^2/12 to
    ln E e^{theta L}, and 1/theta times that to epsilon.
    """
    bottom, top = window(plan.sketch, plan.theta)
    scale = max(plan.epsilon, 0.1 * math.sqrt(plan.sketch.moments(plan.theta)[2]))
    cell = math.sqrt(12 * COST * scale / (n * (plan.theta + 1)))
    gap = max(cell / FINER, 4 * (top - bottom) / LARGEST, 2.0**-60)
    return 2.0 ** math.floor(math.log2(gap))


def usable(grids: Sequence[tuple[GridLosses, int]]) -> bool:
    return all(losses.mass.max() > 0 for losses, _ in grids)


@lru_cache(maxsize=4096)
def sketched(part: Part) -> Losses:
    return part.sketch()


@lru_cache(maxsize=512)
def gridded(part: Part, gap: float, lost: float, cut: float, theta: float, proved: bool) -> GridLosses:
    return part.on_grid(gap, lost, cut, theta, proved=proved)
