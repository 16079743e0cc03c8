"""What can undermine the promise of this plan, each with its code: what was done, or what is left to people."""

from __future__ import annotations

from typing import TYPE_CHECKING

from absentia.exact import shown
from absentia.missing.complete import Complete
from absentia.query.custom import Own

if TYPE_CHECKING:
    from absentia.planning.planned import Plan

__all__ = ["hazards_of"]

LARGE_EPSILON = 10


def hazards_of(plan: Plan) -> tuple[tuple[str, str], ...]:
    """The hazards that concern this plan, in the order of their codes."""
    found = [*_budget(plan), *_unit(plan), *_about_answers(plan), *_about_masks(plan)]
    return tuple(sorted(found, key=lambda item: int(item[0][1:])))


def _budget(plan: Plan) -> list[tuple[str, str]]:
    e, d, out = plan.budget.epsilon, plan.budget.delta, []
    if e > LARGE_EPSILON:
        out.append(("H1", f"epsilon {shown(e)} promises little: one record may change odds by e^{shown(e)}."))
    if d and plan.n and d * plan.n >= 1:
        out.append(("H1", f"delta {shown(d)} is at least 1/n: it allows a record of somebody to be published."))
    out.append(("H5", "Every release on this data belongs in one book; copies of the data share its budget."))
    return out


def _unit(plan: Plan) -> list[tuple[str, str]]:
    unit = f"a person ({plan.schema.unit})" if plan.schema.unit else "a row"
    if plan.relation == "substitute":
        said = f"What is protected is {unit}, exchanged for another; the number of rows is public."
    else:
        said = f"What is protected is that {unit} takes part at all; the number of rows is not public."
    out = [("H2", said)]
    if plan.schema.rows_per_unit > 1:
        many = plan.schema.rows_per_unit
        out.append(("H3", f"A person may have {many} rows: every reach is that many times larger."))
    return out


def _about_answers(plan: Plan) -> list[tuple[str, str]]:
    out = [("H12", "Intervals hold noise (and sampling where stated); no interval holds the bias of MAR or MNAR.")]
    own = [q.name for q in plan.queries if isinstance(q, Own)]
    if own:
        out.append(("H18", f"The reach of {', '.join(own)} is its user's claim; absentia does not run it."))
    return out


def _about_masks(plan: Plan) -> list[tuple[str, str]]:
    missing, out = plan.missing, []
    if plan.dependent_rows:
        many = plan.dependent_rows
        out.append(("H14", f"Masks of up to {many} other rows may follow a record: T8, no amplification."))
    if isinstance(missing, Complete):
        return out
    if missing.kind == "certified":
        sure = f" with confidence {missing.confidence}" if missing.confidence else ""
        out.append(("H13", f"The law was certified from these data{sure}, stated apart from delta."))
    elif missing.kind == "declared":
        out.append(("H13", "The law is declared, not known by design: what-if shows what is left if it is wrong."))
    if not missing.by:
        out.append(("H13", "Nobody is named as standing for the missingness (by = ...)."))
    if not plan.dependent_rows:
        out.append(("H14", "Rows must draw their masks independently of one another's values."))
    if missing.kind != "design" and not missing.data_dependent:
        out.append(("H15", "Masks are declared not to depend on values; if they do, see what-if with gamma."))
    if missing.data_dependent:
        out.append(("H15", "Masks may depend on values: somebody who learns a mask may learn values from it alone."))
    out.append(("H20", "Rows with nothing observed must stay in the table: dropping them undoes the law."))
    out.append(("H22", "Somebody who knows which entries of a record were observed has the figure for known masks."))
    return out
