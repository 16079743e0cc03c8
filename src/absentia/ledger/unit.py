"""What Gaussian releases may use after the first answer: the distances that were foreseen when the book was opened."""

from __future__ import annotations

from fractions import Fraction

from absentia.exact import root_up
from absentia.planning.batch import Batch
from absentia.query.reach import Reach, Term

__all__ = ["beyond", "covering", "events"]


def covering(total: Batch, unit: Batch) -> Fraction | None:
    """The smallest factor c, rounded up, such that every distance of `total` is at most c times that of `unit`.

    Event by event: sufficient on every observed set, and for the blocks of T9 and T10. None when some event, or some
    mixing of columns, is not in `unit`.
    """
    if not set(total.reach.mixed) <= set(unit.reach.mixed):
        return None
    found = [Fraction(total.distances.largest) / Fraction(unit.distances.largest)]
    for wide, narrow in (
        (unit.reach, total.reach),
        (unit.distances.same_mask, total.distances.same_mask),
    ):
        room = {(t.columns, t.any): Fraction(t.weight) for t in wide.terms}
        if any((t.columns, t.any) not in room for t in narrow.terms):
            return None
        most = max((Fraction(t.weight) / room[(t.columns, t.any)] for t in narrow.terms), default=Fraction(0))
        found.append(Fraction(root_up(most, unit.reach.norm)))
    return max(found)


def events(reach: Reach) -> list[str]:
    """The columns that releases look at, together where they are used together, in words.

    >>> events(Reach(2, [Term(frozenset("a"), 1.0), Term(frozenset("ab"), 1.0), Term(frozenset("bc"), 1.0, any=True)]))
    ['a', 'a with b', 'any of b, c']
    """
    mixed = ["a sum over " + ", ".join(sorted(m)) for m in reach.mixed]
    return [*map(_event, sorted(reach.terms, key=lambda t: (len(t.columns), sorted(t.columns)))), *mixed]


def _event(term: Term) -> str:
    names = sorted(term.columns)
    return "any of " + ", ".join(names) if term.any else " with ".join(names)


def beyond(total: Batch, unit: Batch) -> list[str]:
    """What `total` looks at and `unit` does not."""
    found = [*events(total.reach), *events(total.distances.same_mask)]
    known = {*events(unit.reach), *events(unit.distances.same_mask)}
    return [e for e in dict.fromkeys(found) if e not in known]
