"""Perfect difference sets: the booklet from which rotations give a balanced block design."""

from __future__ import annotations

from absentia.errors import InputError

__all__ = ["difference_set"]

PATIENCE = 100_000
"""Steps of the search before it gives up."""


def difference_set(d: int, k: int) -> tuple[int, ...]:
    """k residues mod d whose differences hit every other residue equally often.

    Its d rotations are booklets in which any two clusters meet equally often, and any two booklets share equally much.

    >>> difference_set(13, 4)
    (0, 1, 3, 9)
    """
    allowed = "a size k <= d for which rotations of one booklet are balanced, e.g. 4 of 13 or 3 of 7"
    if not all(isinstance(x, int) and not isinstance(x, bool) for x in (d, k)) or not 1 <= k <= d:
        raise InputError("k", k, allowed)
    if k < d and (k * (k - 1)) % (d - 1):
        raise InputError("k", k, allowed)
    found = _search(d, k, k * (k - 1) // (d - 1) if d > 1 else 0)
    if found is None:
        raise InputError("k", k, allowed)
    return found


def _search(d: int, k: int, meets: int) -> tuple[int, ...] | None:
    """Depth first: a residue is taken while no difference occurs more than `meets` times."""
    chosen, often, steps = [0], [0] * d, 0
    candidate = 1
    while steps < PATIENCE:
        steps += 1
        if len(chosen) == k:
            return tuple(chosen)
        if candidate >= d:
            if len(chosen) == 1:
                return None
            candidate = chosen.pop()
            _count(candidate, chosen, often, -1)
            candidate += 1
        elif _count(candidate, chosen, often, 1) <= meets:
            chosen.append(candidate)
            candidate += 1
        else:
            _count(candidate, chosen, often, -1)
            candidate += 1
    return None


def _count(new: int, chosen: list[int], often: list[int], sign: int) -> int:
    """Adds (or takes back) the differences of one residue to the others; the largest count among them."""
    largest = 0
    for c in chosen:
        for difference in ((new - c) % len(often), (c - new) % len(often)):
            often[difference] += sign
            largest = max(largest, often[difference])
    return largest
