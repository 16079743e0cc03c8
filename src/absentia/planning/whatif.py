"""The figures of a plan's noise if the missingness were otherwise: how much of the promise rests on the law."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from absentia import missing as processes
from absentia.errors import InputError
from absentia.exact import number, probability, shown
from absentia.missing.process import Process
from absentia.missing.text import written

if TYPE_CHECKING:
    from absentia.planning.planned import Plan

__all__ = ["Outcome", "what_if"]

GAMMAS = (1, "1.5", 2, 3, 5, 10)


@dataclass(frozen=True)
class Outcome:
    """One assumption: epsilon of the plan's noise at the budget's delta, and the noise that would keep the budget."""

    assumption: str
    epsilon: float
    result: str
    noise: float
    """How many times the plan's noise the same budget would need."""

    def to_dict(self) -> dict[str, Any]:
        return {k: (None if v == math.inf else v) for k, v in asdict(self).items()}

    def __str__(self) -> str:
        """One line of 80 columns."""
        return f"  {self.assumption[:41]:<42}{shown(self.epsilon):>12}  {self.result[:7]:<8}{self.noise:>11.3f}x"


def what_if(plan: Plan, gamma: object, p_star: object, eta: object, without: bool) -> tuple[Outcome, ...]:
    """The plan as declared, then each assumption asked about (nothing asked: a curve over gamma, and without).

    gamma: odds of being missing differ between records by at most that factor. p_star: nothing is known but that a
    row shows anything with at most this probability. eta: a share of rows shows everything. without: no help at all.
    """
    asked: list[tuple[str, Process]] = []
    for g in _listed(gamma if gamma is not None or p_star is not None or eta is not None or without else GAMMAS):
        asked.append((f"gamma = {written(number(g, 'gamma'))}", processes.gamma(plan.missing, g)))
    columns = _columns(plan)
    for p in _listed(p_star):
        q = probability(number(p, "p_star"), "p_star")
        asked.append((f"p_star = {written(q)}, nothing else known", processes.bounds(columns, q)))
    for e in _listed(eta):
        share = probability(number(e, "eta"), "eta")
        asked.append((f"eta = {written(share)} of rows complete", _some_complete(plan, share)))
    found = [_outcome(plan, "as declared", plan.missing), *(_outcome(plan, name, process) for name, process in asked)]
    if without or (gamma is None and p_star is None and eta is None):
        found.append(_plain(plan))
    return tuple(found)


def _listed(value: object) -> list[object]:
    return [] if value is None else list(value) if isinstance(value, (list, tuple)) else [value]


def _columns(plan: Plan) -> tuple[str, ...]:
    return plan.missing.columns or tuple(plan.schema.columns)


def _some_complete(plan: Plan, share: Fraction) -> Process:
    """A share of rows that shows every column, the others as declared."""
    if not plan.missing.columns:
        raise InputError("eta", str(share), "a missingness that hides anything")
    return processes.mixture([processes.without(plan.missing.columns), plan.missing], [share, 1 - share])


def _outcome(plan: Plan, name: str, process: Process) -> Outcome:
    e, d = plan.budget.epsilon, plan.budget.delta
    figure = plan.batch.guarantee(process, plan.relation, plan.dependent_rows).answer(delta=d)
    noise = 1.0
    if process is not plan.missing:
        noise = plan.batch.smallest_noise(process, e, d, plan.relation, plan.dependent_rows)
    return Outcome(name, figure.epsilon, figure.result, noise)


def _plain(plan: Plan) -> Outcome:
    figure = plan.guarantee.without_missingness.answer(delta=plan.budget.delta)
    return Outcome("without missingness", figure.epsilon, figure.result, plan.saving)
