"""Atoms of a law as they are given: read, merged, made to sum to one; and what lies beyond each."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Iterable, Sequence
from fractions import Fraction
from itertools import accumulate

from absentia.errors import InputError
from absentia.exact import list_of, number, root_up, round_up
from absentia.theory.noise import Norm

__all__ = ["SLACK", "constants_of", "merged_atoms", "normalised", "reach_of", "stacked", "tail_at", "tails_of"]

SLACK = Fraction(1, 10**9)


def reach_of(value: object, field: str) -> float:
    x = number(value, field)
    if x < 0:
        raise InputError(field, value, "a number >= 0")
    if math.isinf(up := round_up(x)):
        raise InputError(field, value, "a number that a double can hold")
    return up


def constants_of(given: object) -> list[float]:
    listed = list_of(given, "constants", "a list of numbers >= 0")
    return sorted((reach_of(c, f"constants[{j}]") for j, c in enumerate(listed)), reverse=True)


def merged_atoms(reach: Sequence[object], mass: Sequence[object]) -> dict[float, Fraction]:
    if len(reach) != len(mass) or not reach:
        raise InputError("mass", len(mass), f"as many masses as reaches ({len(reach)}), at least one")
    atoms: dict[float, Fraction] = {}
    for k, (x, q) in enumerate(zip(reach, mass, strict=True)):
        at, m = reach_of(x, f"reach[{k}]"), number(q, f"mass[{k}]")
        if m < 0:
            raise InputError(f"mass[{k}]", q, "a number >= 0")
        atoms[at] = atoms.get(at, Fraction(0)) + m
    return {x: atoms[x] for x in sorted(atoms)}


def normalised(atoms: dict[float, Fraction]) -> list[tuple[float, float]]:
    """Masses that sum to 1: a shortfall goes to the largest atom, an excess is taken from the smallest."""
    total = sum(atoms.values(), Fraction(0))
    if abs(total - 1) > SLACK or not atoms:
        raise InputError("mass", float(total), "masses that sum to 1 within 1e-9")
    levels = list(atoms)
    if total < 1:
        atoms[levels[-1]] += 1 - total
    out: list[tuple[float, float]] = []
    left = Fraction(1)
    for x in reversed(levels):
        q = round_up(atoms[x])
        if x == levels[0] or Fraction(q) >= left:
            out.append((x, float(left)))  # the lowest atom holds what is left, exactly
            break
        out.append((x, q))
        left -= Fraction(q)
    return out[::-1]


def tails_of(atoms: Sequence[tuple[float, Fraction]]) -> list[tuple[float, Fraction]]:
    """(x, P(R >= x)) at every atom, in increasing x."""
    tails = list(accumulate((q for _, q in reversed(atoms)), initial=Fraction(0)))[1:]
    return [(x, t) for (x, _), t in zip(atoms, reversed(tails), strict=True)]


def tail_at(tails: Sequence[tuple[float, Fraction]], x: float) -> Fraction:
    k = bisect_left(tails, x, key=lambda item: item[0])
    return tails[k][1] if k < len(tails) else Fraction(0)


def stacked(values: Iterable[object] | None, norm: Norm) -> float:
    """The reach of concatenated queries, rounded up."""
    if norm not in (1, 2):
        raise InputError("norm", norm, "1 (reaches add) or 2 (their squares add)")
    q = [number(v, "reach") for v in values or ()]
    return root_up(sum((v**norm for v in q), Fraction(0)), norm)
