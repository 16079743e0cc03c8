"""Answers that a plan may pay for in vain, because its noise would hide them: judged by worlds, before any data."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from absentia.exact import shown
from absentia.planning.observed import seen_by
from absentia.query.estimate import Reading
from absentia.query.statistic import Statistic

if TYPE_CHECKING:
    from absentia.planning.planned import Plan
    from absentia.query.base import Query

__all__ = ["drowned"]


@dataclass(frozen=True)
class World:
    """How columns spread between their bounds, in units of z around the midpoint, and how they go together."""

    chance: str
    when: str
    variance: float
    correlation: float

    def moment(self, s: Statistic) -> float:
        """The mean of the statistic's product: 0, a variance or a covariance."""
        odd = sum(e % 2 for _, e in s.powers)
        related = self.correlation if odd else 1.0
        return 0.0 if odd % 2 else related * self.variance ** (sum(e for _, e in s.powers) / 2)


WORLDS = (
    World("is likely to", "even if its columns are wide and unrelated", 1 / 9, 0.0),
    World("may", "if its columns are narrow (a tenth of the range) and related", 1 / 25, 0.5),
)
"""From kind to ordinary: six standard deviations between the bounds, or ten and correlations of one half."""
CLOSE = 1.05
LEAST = 2.0**-20


def drowned(plan: Plan) -> list[str]:
    """A line for every query of which the noise is likely to hide everything; nothing where n is not public."""
    if plan.n is None:
        return []
    found = [(q, next((w for w in WORLDS if not _shows(plan, q, w, 1.0)), None)) for q in plan.queries]
    return [_told(plan, q, world) for q, world in found if world]


def _told(plan: Plan, q: Query, world: World) -> str:
    hidden = f"it {world.when}" if len(q.own_columns) > 1 else "how many entries there are"
    text, needed = f"{q.name} {world.chance} come back empty: the noise hides {hidden}.", _epsilon(plan, q, world)
    if needed is None:
        return f"{text} No budget up to epsilon 100 would show it then: leave it out, or ask about fewer columns."
    return f"{text} At n = {plan.n:,} this plan would then show it from epsilon {shown(needed, 2)} on."


def _shows(plan: Plan, q: Query, world: World, shrunk: float) -> bool:
    """Whether any number of the answer is left to see with the plan's noise times a factor."""
    sd = {s: x * shrunk for s, x in plan.noise_sd.items()}
    values = {s: _expected(plan, s, world) for s in q.statistics(plan.schema)}
    rows = q.rows(plan.schema, values, sd, Reading(plan.n, plan.confidence, plan.noise_family))
    return not rows or any(r.known for r in rows)


def _expected(plan: Plan, s: Statistic, world: World) -> np.ndarray:
    """The statistic of as many rows as may be expected to show it, even over its cells."""
    _, rows = seen_by(plan.missing, plan.n)(s.columns)
    shape = s.shape(plan.schema)
    return np.full(shape, rows * world.moment(s) / math.prod(shape))


def _epsilon(plan: Plan, q: Query, world: World) -> float | None:
    """The epsilon, within a few per cent, at which the same plan would show the query."""
    hides, shows = 1.0, 0.5
    while not _shows(plan, q, world, shows):
        hides, shows = shows, shows / 2
        if shows < LEAST:
            return None
    while hides > CLOSE * shows:
        middle = math.sqrt(hides * shows)
        hides, shows = (hides, middle) if _shows(plan, q, world, middle) else (middle, shows)
    smaller = plan.batch.scaled(1 / Fraction(shows))
    epsilon = smaller.guarantee(plan.missing, plan.relation, plan.dependent_rows).epsilon(plan.budget.delta)
    return epsilon if epsilon <= 100 else None
