"""How far apart two masked rows can be for a batch of statistics, each with its own noise scale.

Two rows that show the same columns are closer than twice their reach: counts cancel, squares have one sign, a row is
in one cell. These distances belong to the figure without missingness, and to the figure of an observer who knows the
mask; the reach (distance to the all-missing row) belongs to the law.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations
from math import comb, prod

from absentia.exact import number, round_up
from absentia.law.convolution import root_up
from absentia.query.base import Columns
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
        tighter = _clique(clique, scales, schema, norm, moves)
        if tighter is not None and tighter.largest < largest:
            largest = tighter.largest
        if tighter is not None and Fraction(tighter.halves.full) < Fraction(halves.full):
            halves = tighter.halves
    return Distances(reach, halves, min(root_up(largest, norm), round_up(2 * Fraction(reach.full))))


def _movement(found: Iterable[Statistic], scales: Mapping[Statistic, float], schema: Columns, norm: Norm) -> Movement:
    """One group: the rows lie in the same cell, or in different cells, and move every statistic of it at once."""
    same = apart = one = Fraction(0)
    cells = 1
    for s in found:
        r = s.scale(schema) * schema.rows_per_unit / Fraction(scales[s])
        cells = prod(s.shape(schema))
        one += r**norm
        apart += 2 * r**norm
        same += _in_one_cell(s, schema, r) ** norm
    return Movement(max(same, apart) if cells > 1 else same, one)


def _in_one_cell(s: Statistic, schema: Columns, r: Fraction) -> Fraction:
    """How far apart two rows in one cell are: signed sums 2 r, others r, plain counts 0 (one row a person)."""
    if s.signed:
        return 2 * r
    constant = s.weight is None and all(e == 0 for _, e in s.powers) and schema.rows_per_unit == 1
    return Fraction(0) if constant else r


@dataclass(frozen=True)
class _Tighter:
    largest: Fraction
    halves: Reach


def _clique(
    columns: tuple[str, ...],
    scales: Mapping[Statistic, float],
    schema: Columns,
    norm: Norm,
    moves: Moves,
) -> _Tighter | None:
    """All pair products of d columns together, for plain (ungrouped, unweighted) moments with one row a person.

    Two rows x, y that show a and b of the columns, m of them in common: sum over all i, j of |x_i x_j - y_i y_j| is at
    most a^2 + b^2 - m^2, and the sum of squares at most a^2 + b^2 (Proofs 10). With D the part i = j, the pairs i < j
    have half of what D leaves; squares released with share c of a product's add (c - 1/2) D where that is positive,
    D at most a + b - m.
    """
    squares = [Statistic(((i, 2),)) for i in columns]
    products = [Statistic(((i, 1), (j, 1))) for i, j in combinations(columns, 2)]
    if schema.rows_per_unit > 1 or len(columns) < 2 or any(s not in scales for s in (*products, *squares)):
        return None
    weight = max(1 / Fraction(scales[s]) ** norm for s in products)
    square = max(1 / Fraction(scales[s]) ** norm for s in squares)
    share = max(square - weight / 2, Fraction(0))
    within = {*products, *squares}
    single, pair, rest = _others(columns, scales, schema, norm, moves, within)
    d, corner = len(columns), 1 if norm == 1 else 0
    largest = Fraction(0)
    for a in range(d + 1):
        for b in range(a + 1):
            for m in range(max(0, a + b - d), b + 1):
                one, alone = a + b - 2 * m, comb(a, 2) + comb(b, 2) - 2 * comb(m, 2)
                moved = weight * (a * a + b * b - corner * m * m) / 2 + share * (a + b - m)
                counts = m * single.both + one * single.one + comb(m, 2) * pair.both + alone * pair.one
                largest = max(largest, moved + counts)
    halves = _halves(columns, weight, share, single, pair, norm, moves)
    return _Tighter(largest + rest, halves)


def _others(
    columns: tuple[str, ...],
    scales: Mapping[Statistic, float],
    schema: Columns,
    norm: Norm,
    moves: Moves,
    within: set[Statistic],
) -> tuple[Movement, Movement, Fraction]:
    """What is released beside products and squares: of one column, of a pair (the worst of them), and elsewhere."""
    single = pair = Movement(Fraction(0), Fraction(0))
    rest = Fraction(0)
    for (named, cells), move in moves.items():
        if _outside(named, cells, columns):
            rest += max(move.both, move.one)
            continue
        left = [s for s in scales if s.columns == named and not s.cells and s not in within]
        found = _movement(left, scales, schema, norm)
        if len(named) == 1:
            single = Movement(max(single.both, found.both), max(single.one, found.one))
        else:
            pair = Movement(max(pair.both, found.both), max(pair.one, found.one))
    return single, pair, rest


def _outside(named: frozenset[str], cells: tuple[str | Bins, ...], columns: Iterable[str]) -> bool:
    """Whether these statistics are not of the one or two of the columns that a clique bounds together."""
    return bool(cells) or not named <= set(columns) or len(named) > 2


def _halves(
    columns: tuple[str, ...],
    weight: Fraction,
    share: Fraction,
    single: Movement,
    pair: Movement,
    norm: Norm,
    moves: Moves,
) -> Reach:
    """Same mask, a = b = m: products at most weight m^2/2 (l1) or weight m^2 (l2 squared), m^2 = m + 2 C(m, 2)."""
    unit = weight / 2 if norm == 1 else weight
    terms = [Term(frozenset({i}), round_up((unit + share + single.both) / 2**norm)) for i in columns]
    terms += [Term(frozenset({i, j}), round_up((2 * unit + pair.both) / 2**norm)) for i, j in combinations(columns, 2)]
    for (named, cells), move in moves.items():
        if _outside(named, cells, columns):
            terms.append(Term(named, round_up(move.both / 2**norm)))
    return Reach(norm, terms)
