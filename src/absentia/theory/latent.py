"""T9 with latent classes: a public coin decides the class, masks are independent between blocks given the class.

One class may show nothing (unit nonresponse). Then both records give the same w_0 with mass 1-p, and T1's splitting,
    H_{a'}(P||Q) = p H_a(W || (1-b) w_0 + b W'),   a = 1 + (a'-1)/p,  b = a'/a,
gives p [(1-b) H_a(W||w_0) + b H_a(W||W')]; W and W' average the classes that show something.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

from flint import arb
from scipy.optimize import brentq

from absentia.errors import InputError
from absentia.exact import ball, below, precision
from absentia.theory.blocks import BLOCKS_INDEPENDENT, LEAST, ONE_BLOCK_A_QUERY, SHARED, Block, SumOfLosses, counted
from absentia.theory.bound import Bound, log_of, proved_above
from absentia.theory.pair import ABSENT_ROW, Relation, Worst

__all__ = ["LatentClasses"]

PUBLIC_CLASS = "the class of a record is drawn from a public law that does not depend on its values"
BLOCKS_IN_CLASS = BLOCKS_INDEPENDENT.replace("given the complete record", "given the class and the complete record")


@dataclass(frozen=True)
class LatentClasses(Bound):
    """The mixed curve: for each class that shows something its mass, and bounds of H_a towards the all-missing row
    (`near`) and, for substitution, between two of its rows (`far`).

    `direction`: rows of two records ("substitute"), one against the all-missing row ("shown"), or back ("hidden").
    """

    mass: tuple[Fraction, ...]
    near: tuple[Bound, ...]
    far: tuple[Bound, ...]
    direction: Literal["substitute", "shown", "hidden"]
    assumptions: tuple[str, ...]
    result: str = "T9"
    least = LEAST
    pure_result = "T1"

    @staticmethod
    def of(classes: Sequence[tuple[Fraction, Sequence[Block]]], relation: Relation = "substitute") -> Bound:
        """The curve for (mass, blocks) of every class; no blocks, or blocks of reach 0, mean that nothing is shown.

        Assumptions: as IndependentBlocks within each class; the class has a public law, independent of the record.

        >>> from absentia.theory.noise import Gaussian
        >>> always = ((1.0, Fraction(1)),)
        >>> half = LatentClasses.of([(Fraction(1, 2), [(Gaussian(2), always)]), (Fraction(1, 2), [])])
        >>> 3.9 < half.epsilon(Fraction(1, 10**6)) < 3.91
        True
        """
        classes = [(mass, list(blocks)) for mass, blocks in classes]
        if sum(mass for mass, _ in classes) != 1 or any(mass < 0 for mass, _ in classes):
            raise InputError("classes", [str(mass) for mass, _ in classes], "masses >= 0 that sum to 1")
        given: tuple[str, ...] = (*SHARED, BLOCKS_IN_CLASS, ONE_BLOCK_A_QUERY, PUBLIC_CLASS)
        shown = [(mass, blocks) for mass, blocks in classes if mass > 0 and counted(blocks, True, True)]
        mass = tuple(m for m, _ in shown)

        def curves(up: bool, down: bool) -> tuple[Bound, ...]:
            return tuple(SumOfLosses(counted(blocks, up, down), "T9", given) for _, blocks in shown)

        if relation == "substitute":
            return LatentClasses(mass, curves(True, False), curves(True, True), "substitute", given)
        given = (*given, ABSENT_ROW)
        added = LatentClasses(mass, curves(True, False), (), "shown", given)
        return Worst((added, LatentClasses(mass, curves(False, True), (), "hidden", given)))

    @property
    def shows(self) -> Fraction:
        """p, the mass of the classes that show something."""
        return sum(self.mass, Fraction(0))

    def delta(self, epsilon: Fraction, *, certified: bool = True) -> float:
        if not self.mass:
            return 0.0
        with precision(256):
            at = below(self._orders(ball(epsilon))[0])  # deltas are non-increasing: a lower order is the safe side
        if at == math.inf:
            return 0.0
        near, far = (self._average(bounds, Fraction(max(0.0, at)), certified) for bounds in (self.near, self.far))

        def mixed() -> arb:
            _, to_nothing, to_shown = self._orders(ball(epsilon))
            return to_nothing * ball(near) + to_shown * ball(far)

        return min(1.0, max(0.0, proved_above(mixed)))

    def _average(self, bounds: Sequence[Bound], order: Fraction, certified: bool) -> Fraction:
        """sum_c pi_c delta_c(order)."""
        deltas = [Fraction(bound.delta(order, certified=certified)) for bound in bounds]
        return sum((m * d for m, d in zip(self.mass, deltas, strict=False)), Fraction(0))

    def _orders(self, epsilon: arb) -> tuple[arb, arb, arb]:
        """(ln a, weight of near, weight of far): what multiplies the sums over classes of pi_c H_a."""
        p = ball(self.shows)
        if self.direction == "hidden":  # H_{a'}(w_0||P) = left H_{a' p/left}(w_0||W), left = 1 - a'(1-p)
            left = 1 - epsilon.exp() * ball(1 - self.shows)
            if left <= 0:
                return arb("inf"), arb(0), arb(0)
            if not left > 0:  # the sign is open: H at order 0 is larger than at any other
                return arb(0), left.max(arb(0)) / p, arb(0)
            return epsilon + p.log() - left.log(), left / p, arb(0)
        order = epsilon if self.shows == 1 else (epsilon.expm1() / p).log1p()
        b = (epsilon - order).exp() if self.direction == "substitute" else arb(0)
        return order, 1 - b, b

    def epsilon(self, delta: Fraction, *, certified: bool = True) -> float:
        if delta >= 1 or self.delta(Fraction(0), certified=certified) <= delta:
            return 0.0
        if delta == 0:
            return self._pure()

        def gap(e: float) -> float:
            return max(-700.0, log_of(Fraction(self.delta(Fraction(e), certified=False))) - log_of(delta))

        high = 1.0
        while gap(high) > 0:
            high *= 2
            if high > 1e6:
                return math.inf
        found = float(brentq(gap, 0.0, high, xtol=1e-12, rtol=1e-9)) if gap(0.0) > 0 else 0.0
        step = max(1e-9 * found, 1e-12)
        while self.delta(Fraction(found), certified=certified) > delta:
            found, step = found + step, 4 * step
        return found

    def _pure(self) -> float:
        """epsilon at delta = 0: the order at which every class is silent; inf with Gaussian noise."""
        largest = max(bound.epsilon(Fraction(0)) for bound in (*self.near, *self.far))
        if largest == math.inf:
            return math.inf

        def order() -> arb:
            if self.direction == "hidden":  # a' p/(1 - a'(1-p)) = e^largest
                return ball(largest) - (ball(1 - self.shows) * ball(largest).expm1()).log1p()
            return (ball(self.shows) * ball(largest).expm1()).log1p()

        return max(0.0, proved_above(order))
