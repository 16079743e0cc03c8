"""Many tiny worlds at once, still exact: whole numbers over common denominators in arrays.

A world is a missingness process (the law of the observed set of every record with entries -1, 0, 1), a mechanism on
masked datasets of n rows, and all pairs of complete datasets that differ in their first record. `check` proves or
refutes, at every alpha >= 1, that the true hockey-stick of the release is below T1, and for discrete Laplace noise
below T2, T3 and Theorem 4.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from itertools import pairwise, product
from math import lcm
from typing import Any

import numpy as np
from numpy.typing import NDArray

from absentia.auditing.exact import Law, Profile, geometric, masked_rows, profile, records, upper
from absentia.errors import InputError
from absentia.theory.paper_pipeline import NA, Dataset, Row

__all__ = ["NoiseTable", "Processes", "Table", "Tally", "check", "noise_table", "table"]

Ints = NDArray[np.int64]
EXACT = 2**53
"""Whole numbers below this are exact in float64, whose arithmetic is the faster one."""


@dataclass(frozen=True)
class Processes:
    """Missingness processes: mass[world, record, observed set] out of `total`; sets as in `product((0, 1))`."""

    kind: str
    mass: Ints
    total: int

    def __post_init__(self) -> None:
        if (self.mass < 0).any() or (self.mass.sum(axis=2) != self.total).any():
            raise InputError("mass", "law", f"whole masses >= 0 that sum to {self.total} for every record")


@dataclass(frozen=True)
class Table:
    """A mechanism on masked datasets: weights[row 1, ..., row n, output] out of `total`; rows as in `masked_rows`."""

    name: str
    n: int
    d: int
    weights: Ints
    total: int

    @cached_property
    def base(self) -> Profile:
        """The exact base profile: the worst over masked datasets that differ in their first row."""
        outputs = self.weights.shape[-1]
        laws, ids = np.unique(self.weights.reshape(-1, outputs), axis=0, return_inverse=True)
        by_row = ids.reshape(self.weights.shape[0], -1)
        pairs = {(a, b) for x in by_row for y in by_row for a, b in set(zip(x.tolist(), y.tolist(), strict=True))}
        exact = [{o: Fraction(int(w), self.total) for o, w in enumerate(law)} for law in laws]
        return upper([line for a, b in pairs if a != b for line in profile(exact[a], exact[b]).lines])

    @cached_property
    def shown(self) -> Ints:
        """shown[record, observed set]: the index of the masked row."""
        index = {row: i for i, row in enumerate(masked_rows(self.d))}
        sets = list(product((0, 1), repeat=self.d))
        return np.array([[index[mask(z, o)] for o in sets] for z in records(self.d)])


@dataclass(frozen=True)
class NoiseTable(Table):
    """A whole-valued query with discrete Laplace noise; reach[row] bounds its move from the all-missing row."""

    reach: Ints = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    ratio: Fraction = Fraction(2)

    @cached_property
    def pair_weights(self) -> tuple[Ints, int]:
        """weights[x, y] of noise around x at y in [-top, top], x = 0..top, and their total."""
        top = int(self.reach.max())
        return whole([list(geometric([x], self.ratio, -top, top).values()) for x in range(top + 1)])


def mask(record: Row, observed: tuple[int, ...]) -> Row:
    return tuple(entry if seen else NA for entry, seen in zip(record, observed, strict=True))


def whole(laws: list[list[Fraction]]) -> tuple[Ints, int]:
    """The laws as whole numbers over one common denominator."""
    total = lcm(*(q.denominator for law in laws for q in law))
    return np.array([[int(q * total) for q in law] for law in laws], dtype=np.int64), total


def table(name: str, n: int, d: int, mechanism: Callable[[Dataset], Law]) -> Table:
    """Any mechanism with finitely many outputs, tabulated on all masked datasets."""
    laws = [mechanism(data) for data in product(masked_rows(d), repeat=n)]
    outputs = sorted({o for law in laws for o in law}, key=repr)
    weights, total = whole([[law.get(o, Fraction(0)) for o in outputs] for law in laws])
    return Table(name, n, d, weights.reshape(*[4**d] * n, len(outputs)), total)


def noise_table(name: str, n: int, d: int, query: Callable[[Dataset], tuple[int, ...]], ratio: Fraction) -> NoiseTable:
    """A whole-valued query (any number of coordinates, l1) with discrete Laplace noise, tabulated.

    The reach of a masked row is the largest l1 move from the all-missing row, over all other rows.
    """
    values = np.array([query(data) for data in product(masked_rows(d), repeat=n)], dtype=np.int64)
    low, high = int(values.min()), int(values.max())
    centres, ids = np.unique(values, axis=0, return_inverse=True)
    weights, total = whole([list(geometric([int(c) for c in x], ratio, low, high).values()) for x in centres])
    by_row = values.reshape(4**d, -1, values.shape[1])
    reach = np.abs(by_row - by_row[-1]).sum(axis=2).max(axis=1)  # the last masked row is all missing
    return NoiseTable(name, n, d, weights[ids.ravel()].reshape(*[4**d] * n, -1), total, reach, ratio)


def release(mechanism: Table, processes: Processes) -> NDArray[np.float64]:
    """The exact laws of A_D as whole numbers: [output, world, first record, the other records]."""
    worlds, Z, sets = processes.mass.shape
    if denominator(mechanism, processes) >= EXACT:
        raise InputError("total", denominator(mechanism, processes), "denominators whose product stays below 2^53")
    laws = mechanism.weights.astype(np.float64)
    for row in range(mechanism.n):  # a masked-row axis becomes (record, observed set)
        laws = np.take(laws, mechanism.shown, axis=2 * row)
    mass = processes.mass.astype(np.float64)[:, None, :, None, :]
    state = laws[None]
    for row in range(mechanism.n):  # average over the masks of one row after the other
        state = mass @ state.reshape(len(state), Z**row, Z, sets, -1)
    return np.moveaxis(state.reshape(worlds, Z, Z ** (mechanism.n - 1), -1), 3, 0)


def denominator(mechanism: Table, processes: Processes) -> int:
    return int(processes.total**mechanism.n * mechanism.total)


def scaled(laws: NDArray[np.float64], total: int, u: Ints, v: Ints) -> tuple[NDArray[Any], NDArray[Any]]:
    """v P and u Q for every world, in the fastest arithmetic that is exact here."""
    peak = int(max(u.max(), v.max())) * total
    if peak >= 2**62:
        raise InputError("alpha", peak, "orders whose terms times the common denominator stay below 2^62")
    kind: type = np.float64 if peak < EXACT else np.int64
    shape = (-1, 1, 1)
    whole_laws: NDArray[Any] = laws.astype(kind, copy=False)
    return whole_laws * v.astype(kind).reshape(shape), whole_laws * u.astype(kind).reshape(shape)


def worst(laws: NDArray[np.float64], total: int, u: Ints, v: Ints) -> list[int]:
    """max over pairs of sum over outputs of max(0, v P - u Q), for every world."""
    P, Q = scaled(laws, total, u, v)
    _, worlds, Z, others = laws.shape
    best = np.zeros((worlds, Z, Z, others), dtype=P.dtype)
    term = np.empty_like(best)
    for p, q in zip(P, Q, strict=True):
        np.subtract(p[:, :, None], q[:, None], out=term)
        np.maximum(term, 0, out=term)
        best += term
    return [int(x) for x in best.reshape(worlds, -1).max(axis=1)]


def touches(laws: NDArray[np.float64], total: int, u: Ints, v: Ints) -> list[bool]:
    """Whether some output of some pair has P/Q = u/v exactly, for every world with u != v."""
    P, Q = scaled(laws, total, u, v)
    found = np.zeros(len(u), dtype=bool)
    for p, q in zip(P, Q, strict=True):
        found |= ((p[:, :, None] == q[:, None]) & (p[:, :, None] > 0)).any(axis=(1, 2, 3))
    return [bool(x) for x in found & (u != v)]


@dataclass
class Tally:
    """What was compared: worlds, and by result the worlds compared, violated, and those where it is attained."""

    worlds: int = 0
    pairs: int = 0
    compared: Counter[str] = field(default_factory=Counter)
    violated: Counter[str] = field(default_factory=Counter)
    attained: Counter[str] = field(default_factory=Counter)

    def __iadd__(self, other: Tally) -> Tally:
        self.worlds, self.pairs = self.worlds + other.worlds, self.pairs + other.pairs
        self.compared += other.compared
        self.violated += other.violated
        self.attained += other.attained
        return self

    def record(self, result: str, broken: list[bool], equal: list[bool]) -> None:
        self.compared[result] += len(broken)
        self.violated[result] += sum(broken)
        self.attained[result] += sum(equal)


def check(mechanism: Table, processes: Processes) -> Tally:
    """Every pair of every world against T1, and against T2, T3 and Theorem 4 where the noise is additive."""
    worlds, Z, _ = processes.mass.shape
    laws, total = release(mechanism, processes), denominator(mechanism, processes)
    tally = Tally(worlds, worlds * Z * (Z - 1) * laws.shape[3])
    shown = processes.total - processes.mass[:, :, 0].min(axis=1)
    against(tally, "T1", *black_box(mechanism, laws, total, shown, processes.total))
    if isinstance(mechanism, NoiseTable) and mechanism.reach.max() > 0:
        P, Q, pair_total = reach_pair(mechanism, processes)
        against(tally, "T2", *noise_pair(laws, total, P, Q, pair_total))
        for result, u, v in (("T3", P[-1], Q[-1]), ("Thm 4", *two_level(mechanism, shown, processes.total))):
            true = worst(laws, total, u, v)
            tally.record(result, [x > 0 for x in true], touches(laws, total, u, v))
    return tally


Sides = tuple[list[list[int]], list[list[int]]]
"""True and claimed divergence by order and world, brought to one denominator."""


def against(tally: Tally, result: str, true: list[list[int]], claimed: list[list[int]]) -> None:
    by_world = list(zip(zip(*true, strict=True), zip(*claimed, strict=True), strict=True))
    broken = [any(t > c for t, c in zip(ts, cs, strict=True)) for ts, cs in by_world]
    equal = [any(t == c > 0 for t, c in zip(ts, cs, strict=True)) for ts, cs in by_world]
    tally.record(result, broken, equal)


def black_box(mechanism: Table, laws: NDArray[np.float64], total: int, shown: Ints, D: int) -> Sides:
    """H at 1 + p(a-1) against p delta(a), at every kink a of the exact base profile, p = shown/D."""
    true, claimed = [], []
    for a in mechanism.base.kinks():
        d = mechanism.base(a)
        u = D * a.denominator + shown * (a.numerator - a.denominator)
        v = np.full_like(u, D * a.denominator)
        true.append([h * D * d.denominator for h in worst(laws, total, u, v)])
        claimed.append([int(k) * d.numerator * int(w) * total for k, w in zip(shown, v, strict=True)])
    return true, claimed


def reach_pair(mechanism: NoiseTable, processes: Processes) -> tuple[Ints, Ints, int]:
    """P* and Q* of T2 as whole numbers [y = -top..top, world], for the envelope of the reach over records."""
    reach = mechanism.reach[mechanism.shown]
    top = int(mechanism.reach.max())
    survival = [(processes.mass * (reach >= x)).sum(axis=2).max(axis=1) for x in range(top + 1)]
    survival.append(np.zeros_like(survival[0]))
    mass = np.array([a - b for a, b in pairwise(survival)])
    weights, pair_total = mechanism.pair_weights
    if pair_total * processes.total >= 2**31:
        raise InputError("total", pair_total * processes.total, "a pair with a common denominator below 2^31")
    P = weights.T @ mass
    return P, P[::-1], pair_total * processes.total


def noise_pair(laws: NDArray[np.float64], total: int, P: Ints, Q: Ints, pair_total: int) -> Sides:
    """H against the pair's at every likelihood ratio P*(y)/Q*(y), y >= 0: the kinks of the pair's profile."""
    true, claimed = [], []
    for u, v in zip(P[len(P) // 2 :], Q[len(Q) // 2 :], strict=True):
        pair = np.maximum(P * v - Q * u, 0).sum(axis=0)
        true.append([h * pair_total for h in worst(laws, total, u, v)])
        claimed.append([int(h) * total for h in pair])
    return true, claimed


def two_level(mechanism: NoiseTable, shown: Ints, D: int) -> tuple[Ints, Ints]:
    """e^{eps'} = (1 - p + p x)/(1 - p + p/x) of Theorem 4 as whole numbers, x = ratio^top, p = shown/D."""
    x = mechanism.ratio ** int(mechanism.reach.max())
    a, b = x.numerator, x.denominator
    return ((D - shown) * b + shown * a) * a, ((D - shown) * a + shown * b) * b
