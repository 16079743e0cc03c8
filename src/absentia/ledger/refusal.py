"""Why a charge is refused: what was requested, what remains, by how much it is short, and what would fit."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction

from absentia.errors import BudgetRefused
from absentia.exact import shown, shown_below
from absentia.ledger.account import Account

__all__ = ["refused"]


def refused(after: Account) -> BudgetRefused:
    """The refusal of the last charge of this account."""
    before = replace(after, charges=after.charges[:-1])
    alone = replace(after, charges=after.charges[-1:])
    requested = alone.binding_epsilon(alone.guarantee())
    spent, limit = before.binding_epsilon(before.guarantee()), float(after.limit.epsilon)
    remaining = max(0.0, limit - spent)
    reason = after.refusal()
    total, why = total_and_rule(after, reason)
    return BudgetRefused(
        f"Requested epsilon {shown(requested)} at delta {float(after.limit.delta):g}; spent {shown(spent)} of"
        f" {limit:g}, remaining {shown_below(remaining)}{short(requested - remaining)}; {total}.",
        why,
        what_fits(after, reason),
    )


def short(by: float) -> str:
    return f", short by {shown(by)}" if by > 0 else ""


def total_and_rule(after: Account, reason: str) -> tuple[str, str]:
    """What the charges would come to, and the rule that this breaks."""
    if reason == "unit":
        return "it moves what the book's unit does not cover", (
            "Gaussian releases after the first must stay within a multiple of the distances fixed at opening: queries"
            " chosen in the light of earlier answers can be steered towards masks that those answers make likely."
        )
    if reason == "aside":
        e, d = after.others
        room = after.room_aside
        return (
            f"Laplace releases and black boxes would add up to epsilon {shown(e)}, delta {float(d):g}, where epsilon"
            f" {shown_below(room.epsilon)}, delta {float(room.delta):g} is set aside"
        ), "What mechanisms beside the Gaussian ones may use is fixed before the first answer."
    beside = after.room_aside if after.family == "gaussian" else after.others
    figure = after.binding_epsilon(after.guarantee(None if after.alone else beside))
    total = f"be epsilon {shown(figure)}" if math.isfinite(figure) else "have no finite epsilon"
    return f"the total would {total}", (
        f"The total is recomputed from base losses (T7), {after.binding.replace('_', ' ')};"
        " amplified figures never add."
    )


def what_fits(after: Account, reason: str) -> str:
    """How much more noise the last charge would need, if any is enough."""
    last = after.charges[-1]
    if reason == "aside":
        e, d = after.others
        return (
            "None fits this book. For newly collected data, open one that sets this much aside (ledger init --aside"
            f" {shown(e)} --aside-delta {shown(d)}), or make this release the first one of its book."
        )
    if last.batch is None or reason == "unit":
        return "None fits this book. For newly collected data, open one with this plan among its `later` plans."
    low, high = Fraction(0), Fraction(1)
    for _ in range(7):
        middle = (low + high) / 2
        smaller = replace(last, batch=last.batch.scaled(middle))
        fits = not replace(after, charges=(*after.charges[:-1], smaller)).refusal()
        low, high = (middle, high) if fits else (low, middle)
    if low == 0:
        return "No useful amount of noise makes this release fit this book."
    return f"The same release with {float(1 / low):.4g} times the noise would fit."
