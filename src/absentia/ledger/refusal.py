"""Why a charge is refused: what was requested, what remains, by how much it is short, and what would fit."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction

from absentia.errors import BudgetRefused
from absentia.exact import shown, shown_below
from absentia.ledger.account import Account, left
from absentia.ledger.unit import beyond

__all__ = ["refused"]


def refused(after: Account) -> BudgetRefused:
    """The refusal of the last charge of this account."""
    before = replace(after, charges=after.charges[:-1])
    alone = replace(after, charges=after.charges[-1:])
    limit = after.limit.epsilon
    spent = before.spent()[after.binding]
    reason = after.refusal()
    total, why = total_and_rule(after, reason)
    return BudgetRefused(
        f"Requested epsilon {shown(alone.counted())} at delta {float(after.limit.delta):g}; spent {shown(spent)} of"
        f" {float(limit):g}, remaining {shown_below(left(limit, spent))}{counting(before, spent)}; {total}.",
        why,
        what_fits(after, reason),
    )


def counting(before: Account, spent: float) -> str:
    """What the book counts for, where that is more than was spent."""
    ahead = before.ahead()
    if ahead <= spent * (1 + 1e-6):
        return ""
    if math.isinf(ahead):
        return " (for that release alone: no other can follow it)"
    return f" (what was charged counts {shown(ahead)} before a release that may follow its answers)"


def total_and_rule(after: Account, reason: str) -> tuple[str, str]:
    """What the charges would come to, and the rule that this breaks."""
    if reason == "unit":
        assert after.noises is not None
        asked = ", ".join(beyond(after.noises, after.unit))
        return f"it asks about {asked}, which no plan named when the book was opened, and {total_of(after)}", (
            "The missingness counts for Gaussian releases within a multiple of the distances fixed at opening: queries"
            " chosen in the light of earlier answers can be steered towards masks that those answers make likely."
            " Everything else is held by plain composition, at a tenth of delta."
        )
    if reason == "aside":
        e, d = after.others
        room = after.room_aside
        return (
            f"Laplace releases and black boxes would add up to epsilon {shown(e)}, delta {float(d):g}, where epsilon"
            f" {shown_below(room.epsilon)}, delta {float(room.delta):g} is set aside"
        ), "What mechanisms beside the Gaussian ones may use is fixed before the first answer."
    return total_of(after), (
        f"The total is recomputed from base losses (T7), {after.binding.replace('_', ' ')};"
        " amplified figures never add."
    )


def total_of(after: Account) -> str:
    figure = after.counted()
    if math.isinf(figure):
        return "the total would have no finite epsilon"
    return f"the total would be epsilon {shown(figure)}, short by {shown(Fraction(figure) - after.limit.epsilon)}"


def what_fits(after: Account, reason: str) -> str:
    """How much more noise the last charge would need, if any is enough."""
    last = after.charges[-1]
    if reason == "aside":
        e, d = after.others
        return (
            "None fits this book. For newly collected data, open one that sets this much aside (ledger init --aside"
            f" {shown(e)} --aside-delta {shown(d)}), or make this release the first one of its book."
        )
    if last.batch is None:
        return "None fits this book. For newly collected data, open one with a larger budget."
    low, high = Fraction(0), Fraction(1)
    for _ in range(7):
        middle = (low + high) / 2
        smaller = replace(last, batch=last.batch.scaled(middle))
        fits = not replace(after, charges=(*after.charges[:-1], smaller)).refusal()
        low, high = (middle, high) if fits else (low, middle)
    foreseen = " A book that is opened with this plan among its `later` plans needs less." if reason == "unit" else ""
    if low == 0:
        return "No useful amount of noise makes this release fit this book." + foreseen
    return f"The same release with {float(1 / low):.4g} times the noise would fit." + foreseen
