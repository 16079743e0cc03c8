"""T7: releases on one dataset share one mask, so the mechanisms compose first and amplification comes last, once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from absentia.amplification import KNOWN_DEPENDENT, amplify
from absentia.calibration import calibrate
from absentia.errors import BudgetRefused, InputError
from absentia.exact import exact, list_of, probability, round_up, shown
from absentia.guarantee import Guarantee
from absentia.law.reachlaw import ReachLaw
from absentia.theory.blackbox import BlackBoxAmplified
from absentia.theory.blocks import BLOCKS_INDEPENDENT, ONE_BLOCK_A_QUERY, FreshMasks
from absentia.theory.bound import Bound
from absentia.theory.channel import nonnegative
from absentia.theory.mixed import MixedKnown, together_at
from absentia.theory.noise import BlackBox, Gaussian, Laplace, Noise
from absentia.theory.pair import ANY_MASKS, ROWS_INDEPENDENT, STRETCH, Relation

RELEASES = "(noise, one reach for each pattern) in every release, or black boxes only"
PATTERNS = "a list of numbers >= 0, one for each pattern"
BOXES = "black boxes, to which T1 applies with p_star"
FRESH = "guarantees of additive noise by reach laws, blocks or forms"

__all__ = ["Filter", "fresh_masks", "together"]


def together(
    releases: Sequence[tuple[Noise | BlackBox, Sequence[object]]] | Sequence[BlackBox],
    *,
    mass: Sequence[object] = (),
    p_star: object = None,
    data_dependent: bool = False,
    full: Sequence[object] | None = None,
) -> Guarantee:
    """The guarantee of several releases on one dataset with one mask (T7).

    Additive noise: (noise, reach for each pattern) with the patterns' probabilities `mass`. One family merges into
    one reach (Laplace: sums of r/b; Gaussian: root of the sum of (r/sigma)^2); a mixture of families goes through
    the mask (T5) or the share that shows anything (T1). Black boxes: their (epsilon, delta) add, then T1 with p_star.
    `full`: each release's reach for a row with nothing missing, where no pattern shows it.

    >>> together([(Laplace(2), [0, 1]), (Laplace(2), [0, 1])], mass=["1/2", "1/2"]).epsilon(delta=0)
    1.0000000000000002
    """
    given = list_of(releases, "releases", RELEASES)
    if not given:
        raise InputError("releases", releases, "at least one release")
    if all(isinstance(r, BlackBox) for r in given):
        _nothing(BOXES, mass=list_of(mass, "mass", PATTERNS), full=full, data_dependent=data_dependent)
        return amplify(_added(given), p_star=p_star)
    _nothing("additive noise: the patterns say how often a row shows anything", p_star=p_star)
    masses, pairs = _pattern_masses(mass), [_pair(r, f"releases[{i}]") for i, r in enumerate(given)]
    if any(len(table) != len(masses) for _, table in pairs):
        raise InputError(
            "releases", [len(table) for _, table in pairs], f"one reach for each of {len(masses)} patterns"
        )
    noises = [noise for noise, _ in pairs]
    complete = _full([table for _, table in pairs], full)
    if all(isinstance(n, Laplace) for n in noises) or all(isinstance(n, Gaussian) for n in noises):
        kind = Laplace if isinstance(noises[0], Laplace) else Gaussian
        tables = [[x / Fraction(noise.size) for x in table] for noise, table in pairs]
        wide = [x / Fraction(noise.size) for x, noise in zip(complete, noises, strict=True)]
        return amplify(kind(1.0), ReachLaw.combined(tables, masses, kind.norm, wide, data_dependent))
    return _mixed(pairs, masses, complete, data_dependent)


def _pair(given: object, field: str) -> tuple[Noise, list[Fraction]]:
    """One release: its noise and the reach of every pattern."""
    if isinstance(given, BlackBox):
        raise InputError(
            field, "a black box", RELEASES,
            remedy="Amplify black boxes together with black boxes; state additive noise as a BlackBox to add it.",
        )  # fmt: skip
    pair = list_of(given, field, RELEASES)
    if len(pair) != 2 or not isinstance(pair[0], Noise):
        raise InputError(field, given, RELEASES)
    reaches = list_of(pair[1], field, PATTERNS)
    return pair[0], [nonnegative(x, "reach") for x in reaches]


def _nothing(beside: str, **given: object) -> None:
    for name, value in given.items():
        if value is not None and value is not False and value != []:
            raise InputError(name, value, f"nothing beside {beside}")


def _full(tables: Sequence[Sequence[Fraction]], stated: Sequence[object] | None) -> list[Fraction]:
    """Each release's reach for a row with nothing missing: as stated, or the largest that a pattern shows."""
    largest = [max(table) for table in tables]
    if stated is None:
        return largest
    given = list_of(stated, "full", "one reach for each release")
    if len(given) != len(tables):
        raise InputError("full", len(given), f"one reach for each of the {len(tables)} releases")
    full = [nonnegative(x, f"full[{i}]") for i, x in enumerate(given)]
    for i, (x, least) in enumerate(zip(full, largest, strict=True)):
        if x < least:
            raise InputError(f"full[{i}]", given[i], f"at least the largest reach of a pattern, {shown(least)}")
    return full


def _added(boxes: Sequence[BlackBox]) -> BlackBox:
    """Basic composition of the base mechanisms: epsilons and deltas add."""
    if any(box.epsilon is None for box in boxes):
        raise InputError(
            "releases", "a profile", "black boxes stated as (epsilon, delta)",
            remedy="Compose the profiles first, in the accountant they came from, and amplify the one result.",
        )  # fmt: skip
    total = sum((box.epsilon for box in boxes if box.epsilon is not None), Fraction(0))
    return BlackBox(total, min(Fraction(1), sum((box.delta for box in boxes), Fraction(0))))


def _mixed(
    pairs: Sequence[tuple[Noise, Sequence[Fraction]]], mass: list[Fraction], full: Sequence[Fraction], dependent: bool
) -> Guarantee:
    def losses(reaches: Sequence[Fraction]) -> tuple[Fraction, Fraction]:
        """(pure loss, squared Gaussian distance) between two rows at those reaches."""
        return together_at([(noise, 2 * x) for (noise, _), x in zip(pairs, reaches, strict=True)])[:2]

    table = [losses([t[k] for _, t in pairs]) for k in range(len(mass))]
    worst = (max(e for e, _ in table), max(g for _, g in table))
    missing = max(Fraction(0), 1 - sum(mass, Fraction(0)))  # a shortfall goes to the worst that can be shown
    table, mass = [*table, worst], [*mass, missing]
    p = min(Fraction(1), sum((m for m, row in zip(mass, table, strict=True) if any(row)), Fraction(0)))
    at_worst = MixedKnown(((Fraction(1), *worst),), "T7", (ROWS_INDEPENDENT,))
    known = at_worst if dependent else MixedKnown(tuple((m, *row) for m, row in zip(mass, table, strict=True)))
    bounds: list[Bound] = [BlackBoxAmplified(at_worst, p)] if dependent else [known, BlackBoxAmplified(at_worst, p)]
    subject = "several noises on one mask"
    plain = Guarantee(
        (MixedKnown(((Fraction(1), *losses(full)),), "base", (ROWS_INDEPENDENT,)),), "substitute", subject
    )
    caveats = (KNOWN_DEPENDENT,) if dependent else ()
    return Guarantee(
        tuple(bounds), "substitute", subject, plain, Guarantee((known,), "substitute", subject, caveats=caveats)
    )


def _pattern_masses(stated: object) -> list[Fraction]:
    """The patterns' probabilities, exact; refused unless they sum to 1 within 1e-9."""
    mass = [probability(m, f"mass[{k}]") for k, m in enumerate(list_of(stated, "mass", PATTERNS))]
    ReachLaw([0] * len(mass), mass)
    return mass


def fresh_masks(guarantees: Sequence[Guarantee], relation: str = "substitute") -> Guarantee:
    """The guarantee of releases whose masks were drawn afresh each time: here amplified guarantees do compose.

    Of independent blocks, each composes by itself; of a design or of latent classes, their total reach does.

    Assumptions: the masks of different releases are independent (new waves of collection, not the same answers).
    """
    given = list_of(guarantees, "guarantees", FRESH)
    if not given or not all(isinstance(g, Guarantee) and g.pieces for g in given):
        raise InputError("guarantees", len(given), FRESH)
    if any(g.relation != relation for g in given):
        raise InputError("relation", relation, "the relation that every guarantee states")
    pieces = [piece for g in given for piece in g.pieces]
    kind: Relation = "add_remove" if relation == "add_remove" else "substitute"
    subject = f"{len(given)} releases, each on a fresh mask"
    far, near = [(p.noise, p.far) for p in pieces], [(p.noise, p.known) for p in pieces]
    told = tuple(dict.fromkeys(c for g in given for c in g.if_mask_known.caveats))
    drawn = [(p.noise, atoms) for p in pieces for atoms in p.blocks]
    known = () if any(p.dependent for p in pieces) else (FreshMasks.known(drawn, kind),)
    blocks = (BLOCKS_INDEPENDENT, ONE_BLOCK_A_QUERY) if any(len(p.blocks) > 1 for p in pieces) else ()
    return Guarantee(
        (FreshMasks.of(drawn, kind), _closed(far)),
        relation,
        subject,
        Guarantee(_plain(far, kind), relation, subject, caveats=given[0].without_missingness.caveats),
        Guarantee((*known, *_plain(near, kind)), relation, subject, caveats=(*told, *blocks)),
        caveats=blocks,
        pieces=tuple(pieces),
    )


def _plain(parts: Sequence[tuple[Noise | BlackBox, Fraction]], kind: Relation) -> tuple[Bound, ...]:
    """What several noises promise at fixed distances: in closed form, and unless all are Gaussian, losses composed."""
    if all(isinstance(noise, Gaussian) for noise, _ in parts):
        return (_closed(parts),)
    points = [(noise, ((round_up(x / STRETCH[kind]), Fraction(1)),)) for noise, x in parts]
    return FreshMasks.of(points, kind), _closed(parts)


def _closed(parts: Sequence[tuple[Noise | BlackBox, Fraction]]) -> Bound:
    losses = together_at(parts)
    return MixedKnown(((Fraction(1), losses.pure, losses.square),), "base", (ANY_MASKS,), losses.delta)


@dataclass(frozen=True)
class Filter:
    """A budget for queries chosen one after another, each in the light of earlier answers (THEORY section 5).

    Laplace: the path-wise T3 figure is a valid stopping rule. Gaussian: a path-wise amplified figure is not (the
    analyst can steer towards masks that the outputs make likely), so a unit reach u(O) is fixed at opening and
    sum_t (r_t(O)/sigma_t)^2 <= cap^2 u(O)^2 must hold on every pattern; the cap is calibrated once through T2.
    """

    family: str
    mass: tuple[Fraction, ...]
    epsilon: Fraction
    delta: Fraction
    unit: tuple[Fraction, ...]
    spent: tuple[Fraction, ...]

    @staticmethod
    def pure(mass: Sequence[object], *, epsilon: object) -> Filter:
        """An open filter for Laplace queries."""
        masses = tuple(_pattern_masses(mass))
        zero = (Fraction(0),) * len(masses)
        return Filter("laplace", masses, nonnegative(exact(epsilon, "epsilon"), "epsilon"), Fraction(0), zero, zero)

    @staticmethod
    def gaussian(mass: Sequence[object], unit: Sequence[object], *, epsilon: object, delta: object) -> Filter:
        """An open filter for Gaussian queries whose reach stays below the unit reach u(O), pattern by pattern."""
        unit, masses = list_of(unit, "unit", PATTERNS), tuple(_pattern_masses(mass))
        law = ReachLaw(unit, masses)
        sigma = calibrate(Gaussian, law, epsilon=epsilon, delta=delta)
        room = tuple((nonnegative(u, "unit") / Fraction(sigma.size)) ** 2 for u in unit)
        return Filter(
            "gaussian", masses, exact(epsilon, "epsilon"), exact(delta, "delta"), room, (Fraction(0),) * len(room)
        )

    def spend(self, noise: Noise, reach: Sequence[object]) -> Filter:
        """The filter after one more query; refused when the budget does not cover it, and nothing changes.

        A filter is a value: the one that is returned has the query in it, this one has not. Spend from the last one.
        """
        reach = list_of(reach, "reach", PATTERNS)
        if not isinstance(noise, Noise) or noise.family != self.family or len(reach) != len(self.mass):
            raise InputError(
                "reach", len(reach), f"{self.family} noise and one reach for each of {len(self.mass)} patterns"
            )
        size = Fraction(noise.size)
        power = 2 if self.family == "gaussian" else 1
        after = tuple(s + (nonnegative(x, "reach") / size) ** power for s, x in zip(self.spent, reach, strict=True))
        if self.family == "laplace":
            loss = amplify(Laplace(1.0), ReachLaw([round_up(x) for x in after], self.mass)).epsilon(0)
            if Fraction(loss) > self.epsilon:
                raise BudgetRefused(
                    f"The query would bring the path-wise figure to epsilon {shown(loss, 17)};"
                    f" the budget is {self.epsilon}.",
                    "A pure filter stops before T3 of all queries so far exceeds the budget.",
                    "Add noise, or drop the query.",
                )
        elif any(a > u for a, u in zip(after, self.unit, strict=True)):
            raise BudgetRefused(
                "The query would exceed cap^2 u(O)^2 on some pattern.",
                "A Gaussian filter fixes the unit reach and its cap at opening, because a path-wise amplified figure is"
                " not a stopping rule: queries can be steered towards masks that earlier answers make likely.",
                f"At most a factor {self._room(after):.4g} of this query's signal fits; add noise or drop it.",
            )
        return Filter(self.family, self.mass, self.epsilon, self.delta, self.unit, after)

    def _room(self, after: Sequence[Fraction]) -> float:
        shares = [
            max(0.0, float((u - s) / (a - s))) ** 0.5
            for s, a, u in zip(self.spent, after, self.unit, strict=True)
            if a > s
        ]
        return min(shares, default=0.0)
