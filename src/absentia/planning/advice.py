"""Small changes to a plan that would gain much, each with the noise that it would need."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING

from absentia.law.blocks import Blocks
from absentia.missing import independent
from absentia.missing.complete import Complete
from absentia.missing.patterns import Patterns
from absentia.missing.sampled import Sampled
from absentia.planning.blocks import groups_of
from absentia.planning.drowned import drowned
from absentia.planning.observed import chance_of
from absentia.query.distance import distances

if TYPE_CHECKING:
    from absentia.planning.batch import Batch
    from absentia.planning.planned import Plan
    from absentia.query.base import Query

__all__ = ["advice_of"]

WORTH = 0.95
"""A change is named when it leaves at most this share of the noise."""
MOST = 12
"""Queries that are tried one by one."""


def advice_of(plan: Plan) -> tuple[str, ...]:
    """Answers that noise would hide; no gain and why; a query that joins blocks; a fixed rotation without need."""
    if isinstance(plan.missing, Complete) or plan.dependent_rows:
        return tuple(drowned(plan))
    return (*drowned(plan), *_no_gain(plan), *_joining(plan), *_rotation(plan))


def _noise(plan: Plan, batch: Batch, missing: object = None) -> float:
    """Noise relative to the plan's, for another batch or process at the same budget."""
    process = plan.missing if missing is None else missing
    return batch.smallest_noise(process, plan.budget.epsilon, plan.budget.delta, plan.relation)  # type: ignore[arg-type]


def _no_gain(plan: Plan) -> list[str]:
    if plan.saving > 1.02:
        return []
    always = sorted(c for c in plan.reach.columns if chance_of(plan.missing, frozenset({c}))[1] == 1)
    why = f"{', '.join(always[:4])} may always be observed" if always else "rows may always show almost everything"
    return [f"No gain here: the missingness saves {max(plan.saving - 1, 0.0):.1%} of noise, because {why}."]


def _joining(plan: Plan) -> list[str]:
    """A query without which the columns fall into more blocks, and less noise is needed than its share explains."""
    if not isinstance(plan.structure, Blocks) and groups_of(plan.missing, plan.reach) is None:
        return []
    whole, out = len(groups_of(plan.missing, plan.reach) or ()), []
    for q in [q for q in plan.queries if len(q.own_columns) > 1 or q.by][:MOST]:
        rest = _without(plan, q)
        apart = len(groups_of(plan.missing, rest.reach) or ()) if rest.reach.terms else 0
        if apart < whole + 1 or apart < 2:
            continue
        smaller, alone = _noise(plan, rest), rest.distances.largest / plan.batch.distances.largest
        if smaller <= WORTH * alone:
            out.append(
                f"{q.name} joins blocks that are hidden independently. Without it the others need {smaller:.2f} times"
                f" this noise ({alone:.2f} times if nothing were missing): consider asking for its columns apart."
            )
    return out


def _without(plan: Plan, q: Query) -> Batch:
    """The batch of the other queries, their noise scales as they are."""
    others = [other for other in plan.queries if other is not q]
    kept = {s for other in others for s in other.statistics(plan.schema)}
    scales = {s: x for s, x in plan.scales.items() if s in kept}
    cliques = sorted({other.clique for other in others if other.clique})
    return replace(plan.batch, distances=distances(scales, plan.schema, plan.noise.norm, cliques))


def _rotation(plan: Plan) -> list[str]:
    """A design that hides columns together, beside one that assigns each column by itself at the same rates."""
    missing = plan.missing
    if not isinstance(missing, (Patterns, Sampled)) or missing.kind != "design":
        return []
    rates = {c: chance_of(missing, frozenset({c}))[1] for c in sorted(plan.reach.columns)}
    apart = independent(missing.columns, {c: p for c, p in rates.items() if p < 1})
    noise = _noise(plan, plan.batch, apart)
    if noise > WORTH:
        return []
    mean = float(sum(rates.values(), Fraction(0)) / len(rates))
    return [
        (
            f"Assigning each column by itself at the same rates ({mean:.0%} on average) instead of in fixed forms would"
            f" need {noise:.2f} times this noise (T9), where the queries allow it."
        )
    ]
