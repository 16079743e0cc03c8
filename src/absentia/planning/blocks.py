"""The groups of columns that a guarantee may treat apart, shown to the user with what joins each."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from absentia.law.blocks import Blocks
from absentia.law.forms import Forms
from absentia.missing.complete import Complete
from absentia.missing.events import term_groups
from absentia.missing.gamma import Worse
from absentia.missing.independent import Independent
from absentia.missing.mixture import Mixture
from absentia.missing.process import Process
from absentia.missing.selfmask import ColumnModel
from absentia.query.reach import Reach

if TYPE_CHECKING:
    from absentia.planning.planned import Plan

__all__ = ["Block", "blocks_of", "groups_of", "kind_of"]


@dataclass(frozen=True)
class Block:
    """Columns whose masks are treated together, and why they are."""

    columns: tuple[str, ...]
    because: str

    def to_dict(self) -> dict[str, Any]:
        return {"columns": list(self.columns), "because": self.because}


def blocks_of(plan: Plan) -> tuple[Block, ...]:
    """The connected components of the columns, linked by a shared statistic or a shared switch of the process."""
    found, hidden_by = groups_of(plan.missing, plan.reach), switches_of(plan.missing)
    order = {name: i for i, name in enumerate(plan.schema.columns)}
    if found is None or hidden_by is None:
        columns = tuple(sorted(plan.reach.columns, key=order.__getitem__))
        return (Block(columns, f"the process ({plan.missing.name}) hides columns together"),)
    always = frozenset(c for c in plan.reach.columns if not hidden_by(c))
    named = [(always, "never missing"), *((columns - always, _joined(plan, columns - always)) for columns in found)]
    return tuple(Block(tuple(sorted(columns, key=order.__getitem__)), why) for columns, why in named if columns)


def groups_of(missing: Process, reach: Reach) -> list[frozenset[str]] | None:
    """The columns of each independent block of this reach; None when the process hides columns together."""
    switches = switches_of(missing)
    if switches is None:
        return None
    return [frozenset().union(*(t.columns for t in terms)) for terms in term_groups(reach, switches)]


def switches_of(missing: Process) -> Callable[[str], list[Any]] | None:
    """The independent draws that decide whether a column is missing; None when the process hides columns together."""
    inner = missing.base if isinstance(missing, Worse) else missing
    if isinstance(inner, Mixture):
        parts = [p for p in inner.parts if isinstance(p, (Independent, ColumnModel, Complete))]
        if inner.steered or not parts:
            return None
        return lambda c: [(i, s) for i, p in enumerate(parts) for s in p.switches(c)]
    if isinstance(inner, (Independent, ColumnModel, Complete)):
        return lambda c: list(inner.switches(c))
    return None


def _joined(plan: Plan, columns: frozenset[str]) -> str:
    if len(columns) == 1:
        return "asked or missing on its own"
    names = [q.name for q in plan.queries if len(q.columns & columns) > 1]
    joined = [s for s in plan.statistics if len(s.columns & columns) > 1]
    if joined and names:
        more = f" and {len(names) - 2} more" if len(names) > 2 else ""
        return "used together by " + ", ".join(names[:2]) + more
    return "missing together"


def kind_of(structure: Any) -> str:
    """What the guarantee is computed on."""
    if isinstance(structure, Blocks):
        return "independent blocks (T9)"
    return "forms (T10)" if isinstance(structure, Forms) else "one law (T2)"
