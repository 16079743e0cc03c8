"""T1 and T8: amplification of a mechanism known only by its guarantee, whatever makes the entries missing.

If the mechanism has the profile delta(eps) on masked datasets and a record shows something with probability at most
p, the masked release satisfies delta'(ln(1 + p (e^eps - 1))) <= p delta(eps) for every eps >= 0.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import replace
from fractions import Fraction
from typing import NamedTuple

from flint import arb

from absentia.errors import InputError
from absentia.exact import ball, number, probability, round_up
from absentia.theory.base import ClassBase, base_of, profile_ball, smallest_double
from absentia.theory.bound import Bound, proved_above
from absentia.theory.channel import base_epsilon, nonnegative, radius_diameter
from absentia.theory.noise import BlackBox, Noise
from absentia.theory.pair import (
    ABSENT_ROW,
    ANY_MASKS,
    HIDDEN_MASK,
    ROWS_INDEPENDENT,
    AtDistance,
    Relation,
    Worst,
    base_at,
)

__all__ = [
    "BlackBoxAdded",
    "BlackBoxAmplified",
    "BlackBoxRemoved",
    "DependentRows",
    "EpsilonDelta",
    "RadiusAndDiameter",
    "SteeredRows",
    "amplified",
    "by_distance",
    "dependent_rows",
    "hiding_shortfall",
    "inverse",
    "masked",
]


class EpsilonDelta(NamedTuple):
    epsilon: float
    delta: float


def amplified_ball(epsilon: arb, p: Fraction) -> arb:
    """ln(1 + p (e^eps - 1))."""
    return epsilon if p == 1 else (ball(p) * epsilon.expm1()).log1p()


def amplified(epsilon: object, delta: object, p_bar: object) -> EpsilonDelta:
    """(ln(1 + p (e^epsilon - 1)), p delta): what an (epsilon, delta)-DP base satisfies after masking (T1).

    p_bar bounds the probability that a record shows something; any bound on the total variation distance between
    the laws of the masked row under two records may take its place (channel form). Rounded up.

    Assumptions: rows draw their masks independently, missingness of any kind; the base guarantee holds between
    masked rows with any two masks.

    >>> amplified(1, "1e-6", "0.5")
    EpsilonDelta(epsilon=0.6201145069582776, delta=5.000000000000001e-07)
    """
    e, d, p = nonnegative(epsilon, "epsilon"), probability(delta, "delta"), probability(p_bar, "p_bar")
    return EpsilonDelta(max(0.0, proved_above(lambda: amplified_ball(ball(e), p))), round_up(p * d))


def inverse(epsilon_out: object, p_bar: object) -> float:
    """The largest base epsilon that T1 amplifies to at most epsilon_out: ln(1 + (e^epsilon_out - 1)/p).

    Rounded down: a base with this epsilon is safe. inf when p_bar = 0, where every base is.

    Assumptions: as `amplified`.

    >>> inverse(1, "0.5")
    1.4898801256447498
    """
    out, p = nonnegative(epsilon_out, "epsilon_out"), probability(p_bar, "p_bar")
    if p == 0:
        return math.inf
    return max(0.0, -proved_above(lambda: -base_epsilon(ball(out), p)))


def dependent_rows(epsilon: object, delta: object, g: object, eta: object) -> EpsilonDelta:
    """(ln(1 + eta (e^{c eps} - 1)), eta delta_c), c = g + 1, delta_c = delta sum_{i<c} e^{i eps} (T8).

    g: how many other rows' masks may follow one record; eta: the total variation of the masked block of c rows
    given the masks outside. eta = 1 is always right. Rounded up.

    Assumptions: the law of the masks outside the block is the same for both records; the base guarantee holds
    across masks.

    >>> dependent_rows("0.5", 0, 1, 1)
    EpsilonDelta(epsilon=1.0, delta=0.0)
    """
    e, d, _ = group_private(epsilon, delta, g)
    return amplified(e, d, probability(eta, "eta"))


def group_private(epsilon: object, delta: object, g: object) -> tuple[Fraction, Fraction, int]:
    """(c epsilon, delta sum_{i<c} e^{i epsilon}, c) for c = g + 1 rows; the delta rounded up, at most 1."""
    e, d = nonnegative(epsilon, "epsilon"), probability(delta, "delta")
    rows = nonnegative(g, "g")
    if rows.denominator != 1:
        raise InputError("g", g, "a whole number >= 0")
    c = int(rows) + 1
    if d == 0 or c == 1:
        return c * e, d, c
    total = proved_above(lambda: ball(d) * (ball(c) if e == 0 else (c * ball(e)).expm1() / ball(e).expm1()))
    return c * e, min(Fraction(1), Fraction(min(total, 1.0))), c


def hiding_shortfall(
    law: Mapping[frozenset[int], object], law_prime: Mapping[frozenset[int], object], features: Iterable[int]
) -> Fraction:
    """1 - sum over masks that hide `features` of min(P(mask|z), P(mask|z')): the eta of the attribute-level T1.

    For neighbours that differ in `features` only. Under MAR both laws agree on those masks and this is
    P(an entry of `features` is observed), however much of the rest of the row is observed. Exact.

    >>> hiding_shortfall({frozenset({0}): "0.5", frozenset({0, 1}): "0.5"},
    ...                  {frozenset({0}): "0.5", frozenset({0, 1}): "0.5"}, [1])
    Fraction(1, 2)
    """
    J = frozenset(features)
    P = {observed: probability(mass, "law") for observed, mass in law.items()}
    R = {observed: probability(mass, "law_prime") for observed, mass in law_prime.items()}
    for field, total in (("law", sum(P.values(), Fraction(0))), ("law_prime", sum(R.values(), Fraction(0)))):
        if abs(total - 1) > Fraction(1, 10**9):
            raise InputError(field, float(total), "masses that sum to 1 within 1e-9")
    hidden = sum((min(m, R.get(o, Fraction(0))) for o, m in P.items() if not o & J), Fraction(0))
    return max(Fraction(0), 1 - hidden)


class BlackBoxAmplified(Bound):
    """T1 for a whole profile: delta'(e') = p delta(ln(1 + (e^{e'} - 1)/p)) and its inverse.

    Assumptions: as `amplified`. A base stated as (epsilon, delta) enters with the largest profile of its class, so
    the curve is exact below its epsilon too. Rounded up.
    """

    result = "T1"

    def __init__(self, base: BlackBox | Bound, p_bar: object, pure_result: str | None = None) -> None:
        self.base, self.p, self.pure_result = base_of(base), probability(p_bar, "p_bar"), pure_result
        self.assumptions = (ROWS_INDEPENDENT, HIDDEN_MASK, *self.base.assumptions, self.share())

    def share(self) -> str:
        return shown_at_most(self.p)

    def delta(self, epsilon: Fraction, *, certified: bool = True) -> float:
        e = nonnegative(epsilon, "epsilon")
        if self.p == 0:
            return 0.0
        value = proved_above(lambda: ball(self.p) * profile_ball(self.base, base_epsilon(ball(e), self.p)))
        return min(1.0, max(0.0, value))

    def epsilon(self, delta: Fraction, *, certified: bool = True) -> float:
        d = probability(delta, "delta")
        if d >= self.p:
            return 0.0
        e = self.base.epsilon(d / self.p, certified=certified)
        return math.inf if math.isinf(e) else amplified(number(e, "epsilon"), 0, self.p).epsilon


class RadiusAndDiameter(ClassBase):
    """T3 with one level: ratios at most e^r to the all-missing row, e^D between masked rows; the class of that epsilon.

    For Laplace noise whose rows are closer to one another than by way of the all-missing row. Rounded up.
    """

    result = "T3"

    def __init__(self, r: Fraction, D: Fraction, p_bar: Fraction) -> None:
        super().__init__(radius_diameter(r, D, p_bar))
        self.assumptions = (ROWS_INDEPENDENT, HIDDEN_MASK, shown_at_most(p_bar))


def by_distance(noise: Noise, far: Fraction, reach: Fraction, p: Fraction) -> tuple[Bound, ...]:
    """What additive noise gives where no two masked rows are further apart than `far`, below twice the full reach.

    The figure without a law; T1 around it; T3 of Laplace noise. Rows that the law allows lie within `reach` of the
    all-missing one, so within twice that of each other.
    """
    plain, near = replace(base_at(noise, far), assumptions=(ANY_MASKS,)), min(far, 2 * reach)
    if p == 1:
        return (plain,)
    masked = BlackBoxAmplified(base_at(noise, near), p)
    if noise.family != "laplace":
        return plain, masked
    scale = Fraction(noise.size)
    return plain, masked, RadiusAndDiameter(reach / scale, near / scale, p)


def shown_at_most(p: Fraction) -> str:
    return f"a record shows something with probability at most {float(p):.12g}"


class SteeredRows(BlackBoxAmplified):
    """T8 as a curve: one record may steer the masks of g other rows; `grown` holds between datasets that differ in all.

    eta: the total variation of the masked block of g + 1 rows; 1 is always right.
    """

    result = "T8"

    def __init__(self, grown: Bound, g: int, eta: object = 1) -> None:
        super().__init__(grown, eta)
        follow = f"one record changes the law of the masks of at most {g} other rows"
        told = (self.share(),) if self.p < 1 else ()
        self.assumptions = (follow, HIDDEN_MASK, *grown.assumptions, *told)

    def share(self) -> str:
        return f"the masked block differs between two records by at most {float(self.p):.12g} in total variation"


class DependentRows(SteeredRows):
    """T8 for an (epsilon, delta) base: group privacy first.

    Where the base is stated for a record added or removed, a row whose mask follows is one removed and one added.
    """

    def __init__(
        self, epsilon: object, delta: object, g: int, eta: object = 1, relation: Relation = "substitute"
    ) -> None:
        e, d, self.rows = group_private(epsilon, delta, 2 * g if relation == "add_remove" else g)
        super().__init__(ClassBase(e, d), g, eta)


class BlackBoxAdded(BlackBoxAmplified):
    """A record added: H_{1+p(a-1)} = p H_a, the curve of T1, where an all-missing row acts like an absent one."""

    def __init__(self, base: BlackBox | Bound, p_bar: object) -> None:
        super().__init__(base, p_bar)
        self.assumptions = (*self.assumptions, ABSENT_ROW)


class BlackBoxRemoved(BlackBoxAdded):
    """A record removed: H_{a'} <= s H_{a' p/s}, s = (1 - a'(1-p))_+; 0 from epsilon = -ln(1-p) on. Never above T1."""

    def delta(self, epsilon: Fraction, *, certified: bool = True) -> float:
        e = nonnegative(epsilon, "epsilon")
        return min(1.0, max(0.0, proved_above(lambda: self.removed_ball(ball(e)))))

    def removed_ball(self, e: arb) -> arb:
        s = ball(self.p) - e.expm1() * ball(1 - self.p) if self.p < 1 else arb(1)
        if s > 0:
            return s * profile_ball(self.base, e + (ball(self.p) / s).log())
        return s.max(arb(0))  # 0 when s is; while the sign is open, delta <= s

    def epsilon(self, delta: Fraction, *, certified: bool = True) -> float:
        d, added = probability(delta, "delta"), super().epsilon(delta, certified=certified)
        return min(added, smallest_double(lambda e: Fraction(self.delta(Fraction(e))) <= d))


def masked(base: Bound, p: Fraction, relation: str) -> Bound:
    """T1 under a relation; T3 where all that is known of Laplace noise is one distance, radius = diameter."""
    if relation == "add_remove":
        return Worst((BlackBoxAdded(base, p), BlackBoxRemoved(base, p)))
    laplace = isinstance(base, AtDistance) and base.noise.family == "laplace"
    return BlackBoxAmplified(base, p, "T3" if laplace else None)
