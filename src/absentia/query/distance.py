"""How far apart two masked rows can be for a batch of statistics, each with its own noise scale.

Two rows that show the same columns are closer than twice their reach: counts cancel, squares have one sign, a row is
in one cell. These distances belong to the figure without missingness, and to the figure of an observer who knows the
mask; the reach (distance to the all-missing row) belongs to the law.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import combinations
from math import comb, prod

from absentia.exact import above, ball, number, precision, root_up, round_up
from absentia.query.base import Columns
from absentia.query.grid import Grid
from absentia.query.reach import Reach, Term
from absentia.query.statistic import Bins, Statistic
from absentia.theory.noise import Norm

__all__ = ["Distances", "distances"]


@dataclass(frozen=True)
class Distances:
    """`reach`: to the all-missing row. `same_mask`: half the distance between two rows that show the same columns.

    `largest`: between any two masked rows, the masks equal or not. All rounded up, in units of the noise.
    """

    reach: Reach
    same_mask: Reach
    largest: float

    def __add__(self, other: Distances) -> Distances:
        """Both batches together (T7): terms stack; largest distances add (l1) or add in squares (l2)."""
        p = self.reach.norm
        stacked = root_up(Fraction(self.largest) ** p + Fraction(other.largest) ** p, p)
        return Distances(self.reach + other.reach, self.same_mask + other.same_mask, stacked)

    def scaled(self, factor: object) -> Distances:
        """Every distance times a factor, rounded up."""
        largest = round_up(Fraction(self.largest) * number(factor, "factor"))
        return Distances(self.reach.scaled(factor), self.same_mask.scaled(factor), largest)


Group = tuple[frozenset[str], tuple[str | Bins, ...]]
"""The columns and the cells that some statistics have in common."""


@dataclass(frozen=True)
class Movement:
    """What two rows can do to one group of statistics, in the norm-th power of units of noise.

    `both`: both rows show its columns; `one`: only one of them does.
    """

    both: Fraction
    one: Fraction


Moves = Mapping[Group, Movement]


def distances(
    scales: Mapping[Statistic, float], schema: Columns, norm: Norm, cliques: Iterable[tuple[str, ...]] = ()
) -> Distances:
    """The distances of statistics released with these noise scales.

    Statistics of the same columns and cells move together (a row is in one cell of all of them); groups add. Where
    every pair product of a set of columns is released, Proofs 10 bounds the products together (`cliques`).
    """
    groups: dict[Group, list[Statistic]] = defaultdict(list)
    for s in scales:
        groups[(s.columns, s.cells)].append(s)
    moves = {key: _movement(found, scales, schema, norm) for key, found in groups.items()}
    reach = Reach(norm, [Term(columns, round_up(m.one)) for (columns, _), m in moves.items()])
    halves = Reach(norm, [Term(columns, round_up(m.both / 2**norm)) for (columns, _), m in moves.items()])
    largest = sum((max(m.both, m.one) for m in moves.values()), Fraction(0))
    for clique in cliques:
        tighter = Clique(clique, scales, schema, norm, moves).tighter()
        if tighter is not None and tighter.largest < largest:
            largest = tighter.largest
        if tighter is not None and Fraction(tighter.halves.full) < Fraction(halves.full):
            halves = tighter.halves
    return Distances(reach, halves, min(root_up(largest, norm), round_up(2 * Fraction(reach.full))))


def _movement(found: Iterable[Statistic], scales: Mapping[Statistic, float], schema: Columns, norm: Norm) -> Movement:
    """One group: the rows lie in the same cell, or in different cells, and move every statistic of it at once."""
    found = list(found)
    same = apart = one = Fraction(0)
    cells = 1
    for s in found:
        r = s.scale(schema) * schema.rows_per_unit / Fraction(scales[s])
        cells = prod(s.shape(schema))
        one += r**norm
        apart += 2 * r**norm
        same += _in_one_cell(s, schema, r) ** norm
    if schema.rows_per_unit == 1 and all(
        s.weight is None and len(s.powers) == 1 and s.powers[0][1] <= 2 for s in found
    ):
        weights = {
            e: sum((1 / Fraction(scales[s]) ** norm for s in found if s.powers[0][1] == e), Fraction(0)) for e in (1, 2)
        }
        same = _sum_and_square(weights[1], weights[2], norm, Grid.of(schema).apart)
    return Movement(max(same, apart) if cells > 1 else same, one)


def _sum_and_square(w1: Fraction, w2: Fraction, norm: Norm, step: Fraction) -> Fraction:
    """max over z, z' in [-1, 1] of w1 |z - z'|^norm + w2 |z^2 - z'^2|^norm, z and z^2 rounded to grids of their own.

    With u = |z - z'|, |z + z'| is at most 2 - u. l1: u (w1 + w2 (2 - u)) is largest at u = 1 + w1/(2 w2). l2:
    u^2 (w1 + w2 (2 - u)^2) at u = 2, or where w2 > 2 w1 perhaps at u = (3 - sqrt(1 - 2 w1/w2))/2, rounded up. Either
    difference may be `step` larger than the other's grid says; alone, each is exact, since rounding keeps to [-1, 1].
    """
    if w1 == 0 or w2 == 0:
        return 2**norm * w1 + w2
    if norm == 1:
        u = Fraction(2) if w1 >= 2 * w2 else 1 + w1 / (2 * w2)
        return u * (w1 + w2 * (2 - u)) + (w1 + w2) * step
    rounding = w1 * (4 + step) * step + w2 * (2 + step) * step
    if w2 <= 2 * w1:
        return 4 * w1 + rounding
    with precision(96):
        v = (3 - (1 - 2 * ball(w1 / w2)).sqrt()) / 2
        return max(4 * w1, Fraction(above(v * v * (ball(w1) + ball(w2) * (2 - v) ** 2)))) + rounding


def _in_one_cell(s: Statistic, schema: Columns, r: Fraction) -> Fraction:
    """How far apart two rows in one cell are: signed sums 2 r, others r, plain counts 0 (one row a person)."""
    if s.signed:
        return 2 * r
    constant = s.weight is None and all(e == 0 for _, e in s.powers) and schema.rows_per_unit == 1
    return Fraction(0) if constant else r


@dataclass(frozen=True)
class Tighter:
    """What a clique's bound gives in place of `largest` and `same_mask`."""

    largest: Fraction
    halves: Reach


@dataclass(frozen=True)
class Clique:
    """All pair products of d columns together, among all statistics that are released."""

    columns: tuple[str, ...]
    scales: Mapping[Statistic, float]
    schema: Columns
    norm: Norm
    moves: Moves

    @cached_property
    def squares(self) -> list[Statistic]:
        return [Statistic(((i, 2),)) for i in self.columns]

    @cached_property
    def products(self) -> list[Statistic]:
        return [Statistic(((i, 1), (j, 1))) for i, j in combinations(self.columns, 2)]

    def tighter(self) -> Tighter | None:
        """For plain (ungrouped, unweighted) moments with one row a person; None for others."""
        released = all(s in self.scales for s in (*self.products, *self.squares))
        if self.schema.rows_per_unit > 1 or len(self.columns) < 2 or not released:
            return None
        return self._l1() if self.norm == 1 else self._l2()

    def _l1(self) -> Tighter:
        """Two rows x, y that show a and b of the columns, m of them in common: sum over all i, j of |x_i x_j - y_i y_j|
        is at most a^2 + b^2 - m^2 (Proofs 10). With D the part i = j, the pairs i < j have half of what D leaves;
        squares released with share c of a product's add (c - 1/2) D where that is positive, D at most a + b - m.
        """
        weight, square = (max(1 / Fraction(self.scales[s]) for s in found) for found in (self.products, self.squares))
        share = max(square - weight / 2, Fraction(0))
        single, pair, rest = self._others({*self.products, *self.squares})
        largest = Fraction(0)
        for a, b, m in _overlaps(len(self.columns)):
            moved = weight * (a * a + b * b - m * m) / 2 + share * (a + b - m)
            counts = (
                m * single.both + (a + b - 2 * m) * single.one + comb(m, 2) * pair.both + _alone(a, b, m) * pair.one
            )
            largest = max(largest, moved + counts)
        halves = self._halves(weight / 2 + share + single.both, weight + pair.both)
        return Tighter(largest + rest, halves)

    def _l2(self) -> Tighter:
        """Sums, squares and products: on the columns that both rows show, w times sum (x_i - y_i)^2, c times
        sum (x_i^2 - y_i^2)^2 and t times sum over i < j of (x_i x_j - y_i y_j)^2.

        In one (x_i, y_i), with u = x_i - y_i and v = x_i + y_i, |u| + |v| <= 2, the last is a positive semidefinite
        form in (u, v), and w u^2 + c u^2 v^2 <= 2 max(w, c) |u|, with equality at the corners if c <= w: the whole is
        at most a convex function, which is largest at corners. There x and y are signs that differ in k of the m
        columns: at most 4 max(w, c) k + 4 t k (m - k). With w >= t/2 that is at most 4 w m + t m (m - 1): one term a
        column, one a pair.
        Sums are held on a finer grid than squares and products, so each |x_i - y_i| may be a step larger.
        """
        sums = [s for i in self.columns if (s := Statistic(((i, 1),))) in self.scales]
        w, c, t = (
            max((1 / Fraction(self.scales[s]) ** 2 for s in found), default=Fraction(0))
            for found in (sums, self.squares, self.products)
        )
        single, pair, rest = self._others({*self.products, *self.squares, *sums})
        top, step = max(w, c), Grid.of(self.schema).apart
        rounding = w * (4 + step) * step
        largest = Fraction(0)
        for a, b, m in _overlaps(len(self.columns)):
            best = max(4 * top * k + 4 * t * k * (m - k) for k in _best_signs(m, top / t))
            seen_once = (a + b - 2 * m) * (w + c + single.one) + _alone(a, b, m) * (t + pair.one)
            largest = max(largest, best + m * (rounding + single.both) + comb(m, 2) * pair.both + seen_once)
        halves = self._halves(4 * max(top, t / 2) + rounding + single.both, 2 * t + pair.both)
        return Tighter(largest + rest, halves)

    def _others(self, within: set[Statistic]) -> tuple[Movement, Movement, Fraction]:
        """What is released beside products and squares: of one column, of a pair (the worst of them), and elsewhere."""
        single = pair = Movement(Fraction(0), Fraction(0))
        rest = Fraction(0)
        for (named, cells), move in self.moves.items():
            if self._outside(named, cells):
                rest += max(move.both, move.one)
                continue
            left = [s for s in self.scales if s.columns == named and not s.cells and s not in within]
            found = _movement(left, self.scales, self.schema, self.norm)
            if len(named) == 1:
                single = Movement(max(single.both, found.both), max(single.one, found.one))
            else:
                pair = Movement(max(pair.both, found.both), max(pair.one, found.one))
        return single, pair, rest

    def _outside(self, named: frozenset[str], cells: tuple[str | Bins, ...]) -> bool:
        """Whether these statistics are not of the one or two of the columns that a clique bounds together."""
        return bool(cells) or not named <= set(self.columns) or len(named) > 2

    def _halves(self, one: Fraction, two: Fraction) -> Reach:
        """Half the distance between rows of one mask: a term for every column and pair of the clique, others' own."""
        terms = [Term(frozenset({i}), round_up(one / 2**self.norm)) for i in self.columns]
        terms += [Term(frozenset({i, j}), round_up(two / 2**self.norm)) for i, j in combinations(self.columns, 2)]
        for (named, cells), move in self.moves.items():
            if self._outside(named, cells):
                terms.append(Term(named, round_up(move.both / 2**self.norm)))
        return Reach(self.norm, terms)


def _overlaps(d: int) -> Iterator[tuple[int, int, int]]:
    """(a, b, m): two rows that show a >= b of d columns, m of them in common."""
    return ((a, b, m) for a in range(d + 1) for b in range(a + 1) for m in range(max(0, a + b - d), b + 1))


def _alone(a: int, b: int, m: int) -> int:
    """Pairs of columns that exactly one of the rows shows."""
    return comb(a, 2) + comb(b, 2) - 2 * comb(m, 2)


def _best_signs(m: int, ratio: Fraction) -> set[int]:
    """Where ratio k + k (m - k) can be largest over k = 0..m: the whole numbers beside (m + ratio)/2."""
    peak = int((m + ratio) / 2)
    return {min(m, peak), min(m, peak + 1)}
