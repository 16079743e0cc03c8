"""T7: releases on one dataset share one mask, so the mechanisms compose first and amplification comes last, once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from absentia.amplification import KNOWN_DEPENDENT, amplify
from absentia.calibration import calibrate
from absentia.errors import BudgetRefused, InputError
from absentia.exact import exact, probability, round_up, shown
from absentia.guarantee import Guarantee
from absentia.law.reachlaw import ReachLaw
from absentia.theory.blackbox import BlackBoxAmplified
from absentia.theory.blocks import FreshMasks
from absentia.theory.bound import Bound
from absentia.theory.channel import nonnegative
from absentia.theory.mixed import MixedKnown, together_at
from absentia.theory.noise import BlackBox, Gaussian, Laplace, Noise
from absentia.theory.pair import ROWS_INDEPENDENT, KnownMask, Relation

__all__ = ["Filter", "MixedKnown", "fresh_masks", "together"]


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
    if not releases:
        raise InputError("releases", releases, "at least one release")
    if all(isinstance(r, BlackBox) for r in releases):
        return amplify(_added([r for r in releases if isinstance(r, BlackBox)]), p_star=p_star)
    pairs = [r for r in releases if isinstance(r, tuple)]
    if not mass or len(pairs) != len(releases) or any(len(table) != len(mass) for _, table in pairs):
        raise InputError(
            "releases", len(mass), "(noise, one reach for each pattern) in every release, or black boxes only"
        )
    noises = [noise for noise, _ in pairs]
    full = _full([[nonnegative(x, "reach") for x in table] for _, table in pairs], full)
    if all(isinstance(n, Laplace) for n in noises) or all(isinstance(n, Gaussian) for n in noises):
        kind = Laplace if isinstance(noises[0], Laplace) else Gaussian
        tables = [[nonnegative(x, "reach") / Fraction(n.size) for x in t] for n, t in pairs if isinstance(n, Noise)]
        wide = [x / Fraction(n.size) for x, n in zip(full, noises, strict=True) if isinstance(n, Noise)]
        law = ReachLaw.combined(tables, mass, kind.norm, wide)
        law = ReachLaw(law.reach, [q for _, q in law.atoms], law.full_reach, data_dependent)
        return amplify(kind(1.0), law)
    return _mixed(pairs, mass, full, data_dependent)


def _full(tables: Sequence[Sequence[Fraction]], stated: Sequence[object] | None) -> list[Fraction]:
    """Each release's reach for a row with nothing missing: as stated, or the largest that a pattern shows."""
    largest = [max(table) for table in tables]
    if stated is None:
        return largest
    if len(stated) != len(tables):
        raise InputError("full", len(stated), f"one reach for each of the {len(tables)} releases")
    full = [nonnegative(x, f"full[{i}]") for i, x in enumerate(stated)]
    for i, (x, least) in enumerate(zip(full, largest, strict=True)):
        if x < least:
            raise InputError(f"full[{i}]", stated[i], f"at least the largest reach of a pattern, {shown(least)}")
    return full


def _added(boxes: Sequence[BlackBox]) -> BlackBox:
    """Basic composition of the base mechanisms: epsilons and deltas add."""
    if any(box.epsilon is None for box in boxes):
        raise InputError("releases", "a profile", "black boxes stated as (epsilon, delta); compose profiles beforehand")
    total = sum((box.epsilon for box in boxes if box.epsilon is not None), Fraction(0))
    return BlackBox(total, min(Fraction(1), sum((box.delta for box in boxes), Fraction(0))))


def _mixed(
    pairs: Sequence[tuple[Noise | BlackBox, Sequence[object]]],
    stated: Sequence[object],
    full: Sequence[Fraction],
    dependent: bool,
) -> Guarantee:
    if any(isinstance(noise, BlackBox) for noise, _ in pairs):
        raise InputError("releases", "a black box", "additive noise only; account black boxes with black boxes")

    def losses(reaches: Sequence[object]) -> tuple[Fraction, Fraction]:
        """(pure loss, squared Gaussian distance) between two rows at those reaches."""
        far = [2 * nonnegative(reach, "reach") for reach in reaches]
        return together_at([(noise, x) for (noise, _), x in zip(pairs, far, strict=True)])[:2]

    table = [losses([t[k] for _, t in pairs]) for k in range(len(stated))]
    worst = (max(e for e, _ in table), max(g for _, g in table))
    mass = _pattern_masses(stated)
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


def _pattern_masses(stated: Sequence[object]) -> list[Fraction]:
    """The patterns' probabilities, exact; refused unless they sum to 1 within 1e-9."""
    mass = [probability(m, f"mass[{k}]") for k, m in enumerate(stated)]
    ReachLaw([0] * len(mass), mass)
    return mass


def fresh_masks(guarantees: Sequence[Guarantee], relation: str = "substitute") -> Guarantee:
    """The guarantee of releases whose masks were drawn afresh each time: here amplified guarantees do compose.

    Assumptions: the masks of different releases are independent (new waves of collection, not the same answers).
    """
    pieces = [piece for g in guarantees for piece in g.pieces]
    if not guarantees or any(not g.pieces or len(g.pieces) != 1 for g in guarantees):
        raise InputError("guarantees", len(guarantees), "guarantees of additive noise with one reach law each")
    if any(g.relation != relation for g in guarantees):
        raise InputError("relation", relation, "the relation that every guarantee states")
    sides = [g.without_missingness.bounds for g in guarantees]
    known = [g.if_mask_known.bounds for g in guarantees]
    kind: Relation = "add_remove" if relation == "add_remove" else "substitute"
    subject = f"{len(pieces)} releases, each on a fresh mask"
    bound = FreshMasks.of(pieces, kind)
    return Guarantee(
        (bound,), relation, subject, _composed(sides, subject, relation), _composed(known, subject, relation)
    )


def _composed(sides: Sequence[Sequence[Bound]], subject: str, relation: str) -> Guarantee:
    """The plain composition of companions: each is noise at a worst distance."""
    kind: Relation = "add_remove" if relation == "add_remove" else "substitute"
    blocks = []
    for (bound,) in sides:
        if not isinstance(bound, KnownMask):
            raise InputError("guarantees", bound.result, "guarantees of additive noise with one reach law each")
        half = Fraction(bound.stretch, 2) if relation == "substitute" else Fraction(1)
        reach = round_up(max(Fraction(x) for x, _ in bound.atoms) * half)
        blocks.append((bound.noise, ((reach, Fraction(1)),)))
    return Guarantee((FreshMasks.of(blocks, kind),), relation, subject)


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
        law = ReachLaw(unit, mass)
        sigma = calibrate(Gaussian, law, epsilon=epsilon, delta=delta)
        room = tuple((nonnegative(u, "unit") / Fraction(sigma.size)) ** 2 for u in unit)
        masses = tuple(_pattern_masses(mass))
        return Filter(
            "gaussian", masses, exact(epsilon, "epsilon"), exact(delta, "delta"), room, (Fraction(0),) * len(room)
        )

    def spend(self, noise: Noise, reach: Sequence[object]) -> Filter:
        """The filter after one more query; refused when the budget does not cover it, and nothing changes."""
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
                    f"The query would bring the path-wise figure to epsilon {shown(loss)};"
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
