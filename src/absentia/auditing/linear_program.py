"""The worst mechanism of all: a linear program over every (epsilon, delta)-DP mechanism on a tiny masked domain.

The hockey-stick is attained by one event, so a mechanism is a number x in [0, 1] for every masked dataset: the
probability of that event. Being private is linear in x. The solver works in floating point; its answer is rounded
to rationals, made feasible, and bounded from both sides exactly: lower == upper proves the optimum.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import product

import numpy as np
from scipy.optimize import linprog
from scipy.sparse import csr_array

from absentia.auditing.exact import masked_rows
from absentia.errors import AbsentiaError, InputError
from absentia.theory.paper_pipeline import Dataset, MaskLaw, Pipeline, as_is

__all__ = ["Optimum", "worst_mechanism", "worst_release"]

DENOMINATOR = 10**6


@dataclass(frozen=True)
class Optimum:
    """The largest divergence: `lower` is attained by the mechanism `event`, and no mechanism exceeds `upper`."""

    lower: Fraction
    upper: Fraction
    event: dict[Hashable, Fraction]

    @property
    def proved(self) -> bool:
        """Whether the optimum is known exactly."""
        return self.lower == self.upper


@dataclass(frozen=True)
class Program:
    """Maximise gain x subject to matrix x <= bound and 0 <= x <= 1; each row has two entries."""

    gain: Sequence[Fraction]
    rows: Sequence[tuple[int, Fraction, int, Fraction, Fraction]]

    def solve(self) -> tuple[list[Fraction], list[Fraction]]:
        """A primal and a dual point, in rationals near the solver's floats."""
        k, n = len(self.rows), len(self.gain)
        values = [float(v) for _, a, _, b, _ in self.rows for v in (a, b)]
        columns = [c for i, _, j, _, _ in self.rows for c in (i, j)]
        matrix = csr_array((values, (np.repeat(np.arange(k), 2), columns)), shape=(k, n))
        bound = [float(row[4]) for row in self.rows]
        found = linprog([-float(g) for g in self.gain], A_ub=matrix, b_ub=bound, bounds=(0, 1), method="highs")
        if not found.success:
            rule, remedy = f"The solver says: {found.message}", "Try a smaller world, or report it with the world."
            raise AbsentiaError("E-SOLVER", "The linear program was not solved.", rule, remedy)
        return [rational(x) for x in found.x], [max(Fraction(0), rational(-y)) for y in found.ineqlin.marginals]

    def feasible(self, x: Sequence[Fraction]) -> list[Fraction]:
        """x moved towards the constant mechanism 1/2, just as far as every constraint needs."""
        x = [min(Fraction(1), max(Fraction(0), v)) for v in x]
        share, half = Fraction(0), Fraction(1, 2)
        for i, a, j, b, bound in self.rows:
            over, slack = a * x[i] + b * x[j] - bound, bound - (a + b) * half
            if over > 0:
                share = max(share, over / (over + slack))
        return [(1 - share) * v + share * half for v in x]

    def value(self, x: Sequence[Fraction]) -> Fraction:
        return sum((g * v for g, v in zip(self.gain, x, strict=True)), Fraction(0))

    def dual_value(self, y: Sequence[Fraction]) -> Fraction:
        """bound y + sum of (gain - y matrix)_+: an upper bound of the optimum for every y >= 0."""
        left, total = list(self.gain), Fraction(0)
        for weight, (i, a, j, b, bound) in zip(y, self.rows, strict=True):
            if weight:
                left[i] -= weight * a
                left[j] -= weight * b
                total += weight * bound
        return total + sum((v for v in left if v > 0), Fraction(0))


def rational(x: float) -> Fraction:
    return Fraction(float(x)).limit_denominator(DENOMINATOR)


def worst_mechanism(
    gain: Mapping[Hashable, Fraction],
    neighbours: Iterable[tuple[Hashable, Hashable]],
    ratio: Fraction,
    delta: Fraction,
) -> Optimum:
    """The largest sum of gain[m] P(A(m) in S) over all (ln ratio, delta)-DP mechanisms A and events S.

    gain[m] = P(m) - alpha' Q(m) makes it the worst H_{alpha'} of the release. `neighbours` are pairs of inputs, in
    either order.

    >>> half = Fraction(1, 2)
    >>> best = worst_mechanism({"z": half, "z'": -half, "NA": Fraction(0)}, [("z", "z'"), ("z", "NA"), ("z'", "NA")],
    ...                        Fraction(2), Fraction(0))
    >>> best.proved, best.upper
    (True, Fraction(1, 6))
    """
    if ratio < 1 or not 0 <= delta <= 1:
        raise InputError("ratio, delta", (ratio, delta), "ratio >= 1 and delta in [0, 1]")
    index = {m: i for i, m in enumerate(gain)}
    rows = []
    for m, other in neighbours:
        for i, j in ((index[m], index[other]), (index[other], index[m])):
            rows.append((i, Fraction(1), j, -ratio, delta))  # P(S) <= alpha P'(S) + delta
            rows.append((i, Fraction(-1), j, ratio, ratio - 1 + delta))  # the same for the complement of S
    program = Program(list(gain.values()), rows)
    x, y = program.solve()
    event = program.feasible(x)
    return Optimum(program.value(event), program.dual_value(y), dict(zip(gain, event, strict=True)))


def worst_release(
    masks: MaskLaw, data: Dataset, neighbour: Dataset, ratio: Fraction, delta: Fraction, alpha_out: Fraction
) -> Optimum:
    """The worst H_{alpha_out}(A_D(data) || A_D(neighbour)) over all mechanisms that are (ln ratio, delta)-DP on
    masked datasets with entries -1, 0, 1, NA; neighbours differ in one row, masks included."""
    world = Pipeline(masks, lambda masked: {masked: Fraction(1)}, as_is)
    P, Q = world.masked(data), world.masked(neighbour)
    rows = masked_rows(len(data[0]))
    domain: list[Dataset] = list(product(rows, repeat=len(data)))
    gain: dict[Hashable, Fraction] = {m: P.get(m, Fraction(0)) - alpha_out * Q.get(m, Fraction(0)) for m in domain}
    pairs = [
        (m, (*m[:i], row, *m[i + 1 :]))
        for m in domain
        for i, shown in enumerate(m)
        for row in rows[rows.index(shown) + 1 :]
    ]
    return worst_mechanism(gain, pairs, ratio, delta)
