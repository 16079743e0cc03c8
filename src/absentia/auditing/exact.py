"""Oracles in exact rationals: the true hockey-stick of tiny worlds at every alpha, and each theorem's value there.

A profile alpha -> sup_S P(S) - alpha Q(S) is convex and piecewise linear. Comparing two of them at the kinks of the
larger one compares them at every alpha >= 1, so a check below is a proof for that world, not a sample.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import product

from absentia.errors import InputError
from absentia.theory.paper_pipeline import NA, Dataset, Pipeline, Row, divergence, largest_ratio

__all__ = [
    "Profile",
    "class_profile",
    "class_value",
    "discrete_pair",
    "divergence",
    "geometric",
    "largest_ratio",
    "masked_profile",
    "masked_rows",
    "mgf_ratio",
    "profile",
    "radius_diameter_ratio",
    "reach_envelope",
    "records",
    "released_profile",
]

Law = Mapping[Hashable, Fraction]
Mechanism = Callable[[Dataset], Law]
VALUES = (-1, 0, 1)


@dataclass(frozen=True)
class Profile:
    """delta(alpha) = max over `lines` (c, s) of c - s alpha, for alpha >= 1: only those that are ever largest.

    Steepest first; the last one is flat (s = 0), since a profile never falls below its limit.
    """

    lines: tuple[tuple[Fraction, Fraction], ...]

    def __call__(self, alpha: Fraction) -> Fraction:
        """delta at alpha >= 1, exactly."""
        return max(c - s * alpha for c, s in self.lines)

    def kinks(self) -> tuple[Fraction, ...]:
        """1 and every alpha > 1 at which the largest line changes."""
        pairs = zip(self.lines, self.lines[1:], strict=False)
        return (Fraction(1), *((c1 - c2) / (s1 - s2) for (c1, s1), (c2, s2) in pairs))

    def amplified(self, p: Fraction) -> Profile:
        """T1: p delta(1 + (alpha - 1)/p), whose lines are (p c + (1-p) s, s)."""
        return upper([(p * c + (1 - p) * s, s) for c, s in self.lines])

    def excess(self, other: Profile) -> Fraction:
        """The largest other(alpha) - self(alpha) over alpha >= 1: at most 0 when this profile bounds the other.

        Between this profile's kinks the difference is convex, so its peak is at a kink; every profile ends flat.
        """
        return max(other(alpha) - self(alpha) for alpha in self.kinks())

    def union(self, other: Profile) -> Profile:
        """The pointwise maximum."""
        return upper([*self.lines, *other.lines])


def upper(lines: Iterable[tuple[Fraction, Fraction]]) -> Profile:
    """The upper envelope of the lines c - s alpha on alpha >= 1, steepest first."""
    highest: dict[Fraction, Fraction] = {Fraction(0): Fraction(0)}
    for c, s in lines:
        highest[s] = max(c, highest.get(s, c))
    hull: list[tuple[Fraction, Fraction]] = []
    for s in sorted(highest, reverse=True):
        line = (highest[s], s)
        while hull and (line[0] - s >= hull[-1][0] - hull[-1][1] or (len(hull) > 1 and hidden(hull[-2:], line))):
            hull.pop()
        hull.append(line)
    return Profile(tuple(hull))


def hidden(last: Sequence[tuple[Fraction, Fraction]], line: tuple[Fraction, Fraction]) -> bool:
    """Whether the middle one of three lines in order of slope is never the largest."""
    (c1, s1), (c2, s2), (c3, s3) = *last, line
    return (c1 - c3) * (s1 - s2) <= (c1 - c2) * (s1 - s3)


def profile(P: Law, Q: Law) -> Profile:
    """The exact hockey-stick of two finite laws for every alpha >= 1.

    >>> half, third = Fraction(1, 2), Fraction(1, 3)
    >>> profile({0: half, 1: half}, {0: third, 1: 1 - third})(Fraction(1))
    Fraction(1, 6)
    """
    outputs = [o for o in {**P, **Q} if P.get(o, 0) or Q.get(o, 0)]
    outputs.sort(key=lambda o: P.get(o, Fraction(0)) / (P.get(o, Fraction(0)) + Q.get(o, Fraction(0))), reverse=True)
    lines, c, s = [], Fraction(0), Fraction(0)
    for o in outputs:
        c, s = c + P.get(o, Fraction(0)), s + Q.get(o, Fraction(0))
        lines.append((c, s))
    return upper(lines)


def records(d: int, values: Sequence[int] = VALUES) -> list[Row]:
    """Every complete record of d entries."""
    return list(product(values, repeat=d))


def masked_rows(d: int, values: Sequence[int] = VALUES) -> list[Row]:
    """Every masked row of d entries, the all-missing row included."""
    return list(product((*values, NA), repeat=d))


def masked_profile(mechanism: Mechanism, n: int, d: int, values: Sequence[int] = VALUES) -> Profile:
    """The base profile: the worst over masked datasets that differ in their first row, masks included."""
    laws = {data: mechanism(data) for data in product(masked_rows(d, values), repeat=n)}
    return worst(laws, masked_rows(d, values))


def released_profile(pipeline: Pipeline, n: int, d: int, values: Sequence[int] = VALUES) -> Profile:
    """The true profile of A_D: the worst over complete datasets that differ in their first record."""
    laws = {data: pipeline.law(data) for data in product(records(d, values), repeat=n)}
    return worst(laws, records(d, values))


def worst(laws: Mapping[Dataset, Law], first_rows: Sequence[Row]) -> Profile:
    lines: set[tuple[Fraction, Fraction]] = set()
    for data, law in laws.items():
        for other in first_rows:
            if other != data[0]:
                lines.update(profile(law, laws[(other, *data[1:])]).lines)
    return upper(lines)


def class_profile(ratio: Fraction, delta: Fraction) -> Profile:
    """The largest profile of (ln ratio, delta)-DP mechanisms: max{0, delta, delta + (1-delta)(ratio-a)/(1+ratio)}."""
    slope = (1 - delta) / (1 + ratio)
    return upper([(delta, Fraction(0)), (delta + ratio * slope, slope)])


def class_value(Q: Law, Q_prime: Law, ratio: Fraction, delta: Fraction, alpha_out: Fraction) -> Fraction:
    """The worst H_alpha_out over all (ln ratio, delta)-DP mechanisms fed by the laws Q and Q' (Theorem 2).

    >>> law, other = {"shown": Fraction(1, 2), "NA": Fraction(1, 2)}, {"shown'": Fraction(1, 2), "NA": Fraction(1, 2)}
    >>> class_value(law, other, Fraction(2), Fraction(0), Fraction(1))
    Fraction(1, 6)
    """
    h = divergence(Q, Q_prime, alpha_out)
    below = ((ratio - 1 + 2 * delta) * h - (alpha_out - 1) * (1 - delta)) / (1 + ratio)
    return max(Fraction(0), delta * h, below)


def geometric(centre: Sequence[int], ratio: Fraction, low: int, high: int) -> dict[Hashable, Fraction]:
    """Discrete Laplace noise, mass proportional to ratio^-|k|, on every coordinate; clamped to [low, high].

    Clamping is lossless between centres inside [low, high]: beyond them the likelihood ratio is constant.

    >>> geometric([0], Fraction(2), -1, 1)
    {(-1,): Fraction(1, 3), (0,): Fraction(1, 3), (1,): Fraction(1, 3)}
    """
    if ratio <= 1:
        raise InputError("ratio", ratio, "a rational above 1")
    axes = [geometric_axis(c, 1 / ratio, low, high) for c in centre]
    law: dict[Hashable, Fraction] = {}
    for point in product(range(low, high + 1), repeat=len(axes)):
        mass = Fraction(1)
        for axis, y in zip(axes, point, strict=True):
            mass *= axis[y - low]
        law[point] = mass
    return law


def geometric_axis(centre: int, w: Fraction, low: int, high: int) -> list[Fraction]:
    if not low <= centre <= high:
        raise InputError("centre", centre, f"a whole number in [{low}, {high}]")
    peak = (1 - w) / (1 + w)
    masses = [peak * w ** abs(y - centre) for y in range(low, high + 1)]
    masses[0] += w ** (centre - low + 1) / (1 + w)  # what lies below low
    masses[-1] += w ** (high - centre + 1) / (1 + w)
    return masses


def reach_envelope(laws: Iterable[Mapping[int, Fraction]]) -> dict[int, Fraction]:
    """The dominating law of integer reaches: its survival function is the largest of those given.

    >>> reach_envelope([{0: Fraction(1, 2), 2: Fraction(1, 2)}, {0: Fraction(1, 4), 1: Fraction(3, 4)}])
    {0: Fraction(1, 4), 1: Fraction(1, 4), 2: Fraction(1, 2)}
    """
    given = [dict(law) for law in laws]
    levels = sorted({x for law in given for x in law})
    survival = [max(sum((q for y, q in law.items() if y >= x), Fraction(0)) for law in given) for x in levels]
    after = [*survival[1:], Fraction(0)]
    return {x: a - b for x, a, b in zip(levels, survival, after, strict=True) if a > b}


def discrete_pair(reach: Mapping[int, Fraction], ratio: Fraction) -> tuple[Law, Law]:
    """The dominating pair of T2 for discrete Laplace noise and integer reaches: E law(R + noise), E law(-R + noise)."""
    top = max(reach)
    P: dict[Hashable, Fraction] = {(y,): Fraction(0) for y in range(-top, top + 1)}
    Q = dict(P)
    for x, q in reach.items():
        for y, mass in geometric([x], ratio, -top, top).items():
            P[y] += q * mass
        for y, mass in geometric([-x], ratio, -top, top).items():
            Q[y] += q * mass
    return P, Q


def mgf_ratio(reach: Mapping[int, Fraction], ratio: Fraction) -> Fraction:
    """e^{eps'} of T3: E[ratio^R]/E[ratio^-R]."""
    return sum((q * ratio**x for x, q in reach.items()), Fraction(0)) / sum(q / ratio**x for x, q in reach.items())


def radius_diameter_ratio(p: Fraction, x: Fraction, y: Fraction) -> Fraction:
    """e^{eps'} of Theorem 4: (1 - p + p x)/(1 - p + p x/y), x = e^r, y = e^D."""
    return (1 - p + p * x) / (1 - p + p * x / y)
