"""Who draws the noise of a release, what that costs on the book, and the guarantee that the answers then have."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from math import prod
from types import MappingProxyType
from typing import Protocol

import numpy as np

from absentia.amplification import amplify
from absentia.errors import HazardRefused
from absentia.exact import number, round_down, round_up, shown
from absentia.guarantee import Guarantee
from absentia.ledger.charge import Charge, Loss, steps
from absentia.noise.opendp_draw import THAT_BACKEND, OpenDPNoise
from absentia.noise.sampling import draw, grid_for
from absentia.planning.observed import chance_of_any
from absentia.planning.plan import Plan
from absentia.query.statistic import Statistic
from absentia.table.aggregate import Aggregates
from absentia.theory.blackbox import inverse
from absentia.theory.noise import BlackBox

__all__ = ["BACKENDS", "Backend", "Noisy", "backend_of"]

Noisy = Mapping[Statistic, np.ndarray]


class Backend(Protocol):
    """A plan with the noise that is really drawn, the charge for it, and the draw."""

    @property
    def plan(self) -> Plan: ...

    @property
    def guarantee(self) -> Guarantee: ...

    @property
    def ratio(self) -> float:
        """The noise drawn over the noise that the plan asked for."""

    def grid(self, statistic: Statistic) -> float:
        """The public grid on which the noisy statistic lies."""

    def cost(self) -> Charge:
        """What the book is charged before anything is drawn."""

    def draw(self, sums: Aggregates) -> Noisy: ...


@dataclass(frozen=True)
class Continuous:
    """The mechanism that the theorems are about: continuous noise, rounded to a public grid."""

    plan: Plan
    ratio: float = 1.0

    @property
    def guarantee(self) -> Guarantee:
        return self.plan.guarantee

    def grid(self, statistic: Statistic) -> float:
        return grid_for(self.plan.scales[statistic])

    def cost(self) -> Charge:
        for s in self.plan.scales:
            self.grid(s)  # a scale without a grid is refused before it is paid for
        return Charge(self.plan.identity, self.plan.batch)

    def draw(self, sums: Aggregates) -> Noisy:
        make = type(self.plan.noise)
        return {
            s: draw(make(scale), sums.values[s], self.grid(s), unit=sums.units[s]) * self.grid(s)
            for s, scale in self.plan.scales.items()
        }


STEP = 2.0**-20  # the grid, in units of each statistic's noise scale; absentia's own is as fine
LARGEST_RATIO = 2.0**20
SLACK = 1 - Fraction(1, 10**12)  # so that rounding the amplified figure up cannot pass the budget


@dataclass(frozen=True)
class OpenDP:
    """All statistics of a plan as one vector in units of their noise, noised by one measurement of OpenDP.

    OpenDP's map bounds the loss between any two masked rows: the plan's largest distance, and the rounding of every
    entry that a row can move. What is known of its noise is known as of a black box: T1 amplifies it, nothing else
    does. Centres beyond 2^62 steps are clipped and outputs saturate; neither moves two datasets further apart.
    """

    plan: Plan
    """With the larger noise"""
    ratio: float
    asked: Plan

    @staticmethod
    def of(asked: Plan) -> OpenDP:
        """The least noise, to 1e-6 of it, with which OpenDP's map and T1 keep the plan's promise; or a refusal."""
        refuse_what_opendp_cannot(asked)
        base, far = base_loss(asked), asked.batch.distance(asked.relation)
        low, high = 0.0, 1.0
        while not keeps(asked, far / Fraction(high), base):
            low, high = high, 2 * high
            if high > LARGEST_RATIO:
                raise unreachable(base)
        while high - low > 1e-6 * high:
            middle = (low + high) / 2
            low, high = (low, middle) if keeps(asked, far / Fraction(middle), base) else (middle, high)
        found = grown(asked, high)
        while not keeps(found, found.batch.distance(found.relation), base):
            high *= 1 + 1e-9
            found = grown(asked, high)
        return OpenDP(found, high, asked)

    @cached_property
    def guarantee(self) -> Guarantee:
        """T1 of OpenDP's own curve (T8 where rows depend on one another)."""
        plan = self.plan
        box, p = black_box(plan, plan.batch.distance(plan.relation)), shows(plan)
        return amplify(box, p_star=p, relation=plan.relation, dependent_rows=plan.dependent_rows)

    def grid(self, statistic: Statistic) -> float:
        return STEP * self.plan.scales[statistic]

    def cost(self) -> Charge:
        """As a black box: (epsilon, the plan's delta) before amplification, and the columns that a row moves it by."""
        return Charge(self.plan.identity, None, Loss(*base_loss(self.asked)), moved_by(self.plan))

    def draw(self, sums: Aggregates) -> Noisy:
        """One measurement of the vector of all statistics: the one that the map was asked about."""
        units = {s: Fraction(sums.units[s]) / Fraction(scale) for s, scale in self.plan.scales.items()}
        centres = [int(k) * unit for s, unit in units.items() for k in np.ravel(sums.values[s])]
        steps = noise_of(self.plan).draw(np.array(centres, dtype=object))
        parts = np.split(steps, np.cumsum([sums.values[s].size for s in units])[:-1])
        return {s: part.reshape(sums.values[s].shape) * self.grid(s) for s, part in zip(units, parts, strict=True)}


def noise_of(plan: Plan) -> OpenDPNoise:
    """Unit noise on its grid: statistics enter in units of their own noise."""
    return OpenDPNoise(plan.noise, STEP)


def black_box(plan: Plan, far: object) -> BlackBox:
    """What OpenDP's map says of the vector of all statistics for masked datasets at most `far` apart.

    A row lies in one cell of each statistic, so two rows move at most two entries of it; the others round alike.
    """
    cells = [prod(s.shape(plan.schema)) for s in plan.statistics]
    moved = sum(min(n, 2 * plan.schema.rows_per_unit) for n in cells)
    return noise_of(plan).black_box(far, sum(cells), moved=moved)


def base_loss(plan: Plan) -> tuple[Fraction, Fraction]:
    """(epsilon, delta) on masked data that T1 amplifies to within the plan's budget (T8 where rows are dependent)."""
    e, d = plan.budget.epsilon * SLACK, plan.budget.delta if plan.noise_family == "gaussian" else Fraction(0)
    if plan.dependent_rows:
        return Fraction(round_down(e / steps(plan.relation, plan.dependent_rows))), d
    return Fraction(min(inverse(e, shows(plan)), 1000.0)), d


def shows(plan: Plan) -> Fraction:
    """A bound on the probability that a row shows anything that moves the plan's statistics: the p of T1."""
    return Fraction(1) if plan.dependent_rows else chance_of_any(plan.missing, moved_by(plan))


def moved_by(plan: Plan) -> frozenset[str]:
    """Columns of which a row shows at least one if it moves anything: of each statistic the one seen most rarely."""
    chance = {c: chance_of_any(plan.missing, frozenset({c})) for c in sorted(plan.reach.columns)}
    return frozenset(min(sorted(s.columns), key=chance.__getitem__) for s in plan.statistics)


def keeps(plan: Plan, far: object, base: tuple[Fraction, Fraction]) -> bool:
    """Whether OpenDP's map gives at most the base loss for masked datasets `far` apart."""
    box, (e, d) = black_box(plan, far), base
    if box.profile is None:
        return number(box.epsilon, "epsilon") <= e
    return Fraction(box.profile(round_down(e))) <= d


def grown(plan: Plan, ratio: float) -> Plan:
    """The plan with every noise scale that many times larger, rounded up."""
    scales = {s: round_up(Fraction(x) * Fraction(ratio)) for s, x in plan.scales.items()}
    return replace(plan, scales=MappingProxyType(scales))


def refuse_what_opendp_cannot(plan: Plan) -> None:
    """Nothing, or a refusal of a plan for which OpenDP has no noise."""
    if plan.own_scales:
        what = f"OpenDP does not draw the noise of {', '.join(plan.own_scales)}, which its user runs."
        raise HazardRefused("H-OPENDP", what, THAT_BACKEND, "Plan without that query, or leave noise_backend out.")
    if plan.dependent_rows and plan.noise_family == "gaussian":
        what = "Rows are declared dependent, and OpenDP's Gaussian noise has a delta above 0 as a black box."
        raise HazardRefused("H-OPENDP", what, THAT_BACKEND, "Plan with Laplace noise, or leave noise_backend out.")


def unreachable(base: tuple[Fraction, Fraction]) -> HazardRefused:
    """The refusal where OpenDP's rounding alone costs more than the budget."""
    e, d = base
    return HazardRefused(
        "H-OPENDP",
        f"No useful amount of OpenDP's noise gives epsilon {shown(e)} at delta {float(d):g} on masked data.",
        "OpenDP's map counts the rounding of every entry to the grid, which more noise does not lower.",
        "Ask for fewer statistics or a larger budget, or leave noise_backend out.",
    )


BACKENDS: Mapping[str, Callable[[Plan], Backend]] = MappingProxyType({"absentia": Continuous, "opendp": OpenDP.of})


def backend_of(plan: Plan, name: str) -> Backend:
    """The backend with that name for a plan, its noise found; refused where it cannot keep the plan's promise."""
    return BACKENDS[name](plan)
