"""A reach seen from independent switches: which switches must be on for each term to count.

A *switch* is what the process draws (a block of columns asked or not, a column answered or not). An `Event` adds its
weight when all (or any) of its switches are on.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from itertools import accumulate
from math import comb

import numpy as np

from absentia.exact import round_up
from absentia.missing.atoms import Atoms, common_unit, from_survival, mixed, sum_of
from absentia.query.reach import Reach, Term

__all__ = ["Event", "components", "independent_sum", "lifted", "singles", "term_groups", "worst", "worst_by_count"]

_EXACT = 10  # switches enumerated in fractions
_ENUMERATED = 16  # switches enumerated at all
_CELLS = 1 << 61  # sums of rounded weights still fit 64 bits


@dataclass(frozen=True)
class Event:
    """`weight` (norm-th power scale) when all, or any, of the switches `on` are on; no switches: always."""

    on: frozenset[int]
    weight: Fraction
    any: bool = False


def term_groups(reach: Reach, switches: Callable[[str], Iterable[Hashable]]) -> list[tuple[Term, ...]]:
    """The terms of the reach in groups whose columns share no switch, directly or through other terms.

    Terms that no switch can hide form the first group. Columns that one output mixes share a switch of their own.
    """
    groups: list[tuple[set[Hashable], tuple[Term, ...]]] = []
    always: tuple[Term, ...] = ()
    for term in reach.terms:
        touched: set[Hashable] = {switch for column in term.columns for switch in switches(column)}
        touched |= {together for together in reach.mixed if term.columns & together}
        if not touched:
            always += (term,)
            continue
        merged: tuple[Term, ...] = (term,)
        for group in [group for group in groups if group[0] & touched]:
            groups.remove(group)
            touched |= group[0]
            merged = group[1] + merged
        groups.append((touched, merged))
    return ([always] if always else []) + [terms for _, terms in groups]


def lifted(reach: Reach, switches: Callable[[str], Iterable[int]]) -> list[Event]:
    """The reach as events over switches; a column shows when all of its switches are on.

    Exact for "all" terms and for "any" terms whose columns have one switch each; an "any" term whose columns need
    several switches is taken to count when any of their first switches is on, which only raises it.
    """
    events: dict[tuple[frozenset[int], bool], Fraction] = {}
    for term in reach.terms:
        needed = [sorted(switches(column)) for column in term.columns]
        if term.any and len(needed) > 1:
            free = any(not own for own in needed)
            on = frozenset() if free else frozenset(own[0] for own in needed)
        else:
            on = frozenset(switch for own in needed for switch in own)
        key = (on, term.any and len(on) > 1)
        events[key] = events.get(key, Fraction(0)) + Fraction(term.weight)
    return [Event(on, weight, some) for (on, some), weight in events.items() if weight]


def components(events: Sequence[Event]) -> list[list[Event]]:
    """Groups of events that share no switch (connected components); events without switches come first, alone."""
    groups: list[tuple[set[int], list[Event]]] = []
    always = [event for event in events if not event.on]
    for event in events:
        if event.on:
            touching = [group for group in groups if group[0] & event.on]
            groups = [group for group in groups if not group[0] & event.on]
            on, members = set(event.on), [event]
            for other_on, other in touching:
                on |= other_on
                members = other + members
            groups.append((on, members))
    return [always] * bool(always) + [members for _, members in groups]


def singles(events: Sequence[Event]) -> bool:
    """Whether every event needs at most one switch."""
    return all(len(event.on) <= 1 for event in events)


def worst(events: Sequence[Event], k: int) -> Fraction:
    """The most that any k switches can add up to (exact when every event has one switch, else an upper bound).

    An "all" event of s switches is shared equally between them; a switch can complete at most C(k-1, s-1) events of
    size s. "Any" events count in full, or once per switch, whichever is less. Exact for fully symmetric reaches too.

    >>> pairs = [Event(frozenset({i, j}), Fraction(1)) for i in range(5) for j in range(i)]
    >>> worst(pairs, 3)
    Fraction(3, 1)
    """
    return worst_by_count(events)(k)


def worst_by_count(events: Sequence[Event]) -> Callable[[int], Fraction]:
    """`worst` as a function of k, for many k."""
    constant = sum((event.weight for event in events if not event.on), Fraction(0))
    some = [event for event in events if event.any]
    together = [event for event in events if event.on and not event.any]
    best = {key: _running(weights) for key, weights in _shares(together).items()}
    touched: dict[int, Fraction] = {}
    for event in some:
        for switch in event.on:
            touched[switch] = touched.get(switch, Fraction(0)) + event.weight
    in_full = sum((event.weight for event in some), Fraction(0))

    def at(k: int) -> Fraction:
        if k <= 0:
            return constant
        own: dict[int, Fraction] = {}
        for (switch, size), sums in best.items():
            own[switch] = own.get(switch, Fraction(0)) + sums[min(comb(k - 1, size - 1), len(sums) - 1)]
        both = {switch: own.get(switch, Fraction(0)) + touched.get(switch, Fraction(0)) for switch in own | touched}
        whole = sum((event.weight for event in together if len(event.on) <= k), in_full)
        return constant + min(_top(own, k) + in_full, _top(both, k), whole)

    return at


def _shares(events: Sequence[Event]) -> dict[tuple[int, int], list[Fraction]]:
    """For each switch and size of event, the switch's equal shares of the events of that size."""
    shares: dict[tuple[int, int], list[Fraction]] = {}
    for event in events:
        for switch in event.on:
            shares.setdefault((switch, len(event.on)), []).append(event.weight / len(event.on))
    return shares


def _running(weights: Sequence[Fraction]) -> list[Fraction]:
    return [Fraction(0), *accumulate(sorted(weights, reverse=True))]


def _top(values: Mapping[int, Fraction], k: int) -> Fraction:
    return sum(sorted(values.values(), reverse=True)[:k], Fraction(0))


def independent_sum(events: Sequence[Event], on: Mapping[int, Fraction]) -> Atoms:
    """The law of the events' sum when switch i is on with probability on[i], independently.

    Component by component: up to 16 switches enumerated, larger ones by the number of switches that are on and the
    worst sum for that number (exact for symmetric reaches, an upper bound otherwise); then the components are added.
    """
    return sum_of([component_law(group, on) for group in components(events)])


def component_law(events: Sequence[Event], on: Mapping[int, Fraction]) -> Atoms:
    """The law of one component of `independent_sum`."""
    switches = sorted({switch for event in events for switch in event.on})
    chances = [on[switch] for switch in switches]
    if len(switches) <= _ENUMERATED:
        return dict(_small_law(tuple(events), tuple(switches), tuple(chances)))
    number = sum_of([{Fraction(0): 1 - p, Fraction(1): p} for p in chances])
    at = worst_by_count(events)
    return mixed((mass, {at(int(k)): Fraction(1)}) for k, mass in number.items())


@lru_cache(maxsize=256)
def _small_law(events: tuple[Event, ...], switches: tuple[int, ...], chances: tuple[Fraction, ...]) -> Atoms:
    """The law of few switches, kept: a plan, its companions and its Gamma curve ask for the same ones."""
    enumerate_ = _enumerated if len(switches) <= _EXACT else _enumerated_in_floats
    return enumerate_(events, switches, chances)


def _enumerated(events: Sequence[Event], switches: Sequence[int], chances: Sequence[Fraction]) -> Atoms:
    masses = [Fraction(1)]
    for p in chances:
        masses = [m * (1 - p) for m in masses] + [m * p for m in masses]
    unit = common_unit((e.weight for e in events), sum((e.weight for e in events), Fraction(0)), _CELLS)
    atoms: Atoms = {}
    for level, mass in zip(_levels(events, switches, unit), masses, strict=True):
        if mass:
            key = int(level) * unit
            atoms[key] = atoms.get(key, Fraction(0)) + mass
    return atoms


def _enumerated_in_floats(events: Sequence[Event], switches: Sequence[int], chances: Sequence[Fraction]) -> Atoms:
    masses = np.ones(1)
    for p in chances:
        masses = np.concatenate([masses * round_up(1 - p), masses * round_up(p)])
    masses = np.nextafter(masses * (1 + 4 * len(chances) * 2.0**-52) + 1e-300, np.inf)
    unit = common_unit((event.weight for event in events), sum((e.weight for e in events), Fraction(0)), _CELLS)
    atoms: dict[int, Fraction] = {}
    for level, mass in zip(_levels(events, switches, unit).tolist(), masses.tolist(), strict=True):
        atoms[level] = atoms.get(level, Fraction(0)) + Fraction(mass)
    total, pairs = Fraction(0), []
    for level in sorted(atoms, reverse=True):
        total += atoms[level]
        pairs.append((level * unit, total))
    return from_survival(pairs)


def _levels(
    events: Sequence[Event], switches: Sequence[int], unit: Fraction
) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """The sum of events for every subset of the switches, in units rounded up; subset s holds bit i for switch i."""
    subsets = np.arange(1 << len(switches))
    levels = np.zeros(len(subsets), dtype=np.int64)
    for event in events:
        bits = sum(1 << switches.index(switch) for switch in event.on)
        holds = (subsets & bits) > 0 if event.any else (subsets & bits) == bits
        levels[holds] += int(-(-event.weight // unit))
    return levels
