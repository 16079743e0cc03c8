"""P9: the calculus of feature-wise Lipschitz (FWL) queries. Atoms state their constants, the rules derive the rest.

A query that no rule builds is refused: its reach has to be stated instead (`absentia.query.reach`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal

from absentia.errors import InputError
from absentia.exact import list_of, number, root_up

__all__ = ["Lipschitz", "declared", "histogram", "linear", "lipschitz", "query", "second_moments", "stack"]

Number = int | str | float | Fraction

OUTSIDE = {
    "count": "the count of observed entries: zero imputation hides what it counts (reach 1 a column)",
    "imputed": "imputation from the other entries of the row: one entry moves many (use the full reach)",
    "quantile": "a quantile or a median: no bound on what one entry moves",
    "pair_count": "counts of observed pairs: zero imputation hides what they count (reach 1 a pair)",
}
"""Queries that are often asked for here and are not FWL, with what makes them so."""


@dataclass(frozen=True)
class Lipschitz:
    """A query with ||f(x) - f(x')|| <= sum_j L_j |I(x)_j - I(x')_j| on the row that differs, I imputing zero (P4).

    `norm` 1: the constants hold in l1, hence in every l_p; `norm` 2: in l2 only.

    >>> mean = linear([["1/4", 0], [0, "1/4"]])
    >>> (2 * mean + lipschitz(1, columns=2)).constants
    (Fraction(3, 2), Fraction(3, 2))
    """

    constants: tuple[Fraction, ...]
    norm: Literal[1, 2] = 1

    def __post_init__(self) -> None:
        if not self.constants:
            raise InputError("constants", self.constants, "one constant a column")
        if not all(isinstance(L, Fraction) and L >= 0 for L in self.constants):
            raise InputError("constants", self.constants, "Fractions of at least 0 (see `declared`)")
        _norm(self.norm)

    def __add__(self, other: Lipschitz) -> Lipschitz:
        """f + g: constants add (closure under linear combinations)."""
        if not isinstance(other, Lipschitz):
            return NotImplemented
        _same_columns((self, other))
        total = tuple(a + b for a, b in zip(self.constants, other.constants, strict=True))
        return Lipschitz(total, _norm(max(self.norm, other.norm)))

    def __rmul__(self, factor: Number) -> Lipschitz:
        """a f: constants times |a|."""
        return self.then(abs(number(factor, "factor")))

    def __sub__(self, other: Lipschitz) -> Lipschitz:
        return self + (-1) * other

    def then(self, lam: Number, norm: Literal[1, 2] | None = None) -> Lipschitz:
        """g(f) for a map g that is lam-Lipschitz in l_norm (f's own norm when omitted): constants times lam."""
        factor, inner = number(lam, "lam"), self if norm is None else self.within(norm)
        if factor < 0:
            raise InputError("lam", lam, "a Lipschitz constant of at least 0")
        return Lipschitz(tuple(factor * L for L in inner.constants), inner.norm)

    def within(self, norm: Literal[1, 2]) -> Lipschitz:
        """The same constants stated in l_norm: l1 gives every l_p, never the other way round."""
        if norm < self.norm:
            raise InputError("norm", norm, "2: constants known in l2 only say nothing in l1")
        return Lipschitz(self.constants, _norm(norm))


def declared(constants: Sequence[Number], norm: Literal[1, 2] = 1) -> Lipschitz:
    """A query whose constants were proved elsewhere.

    >>> declared([1, "0.5"]).constants
    (Fraction(1, 1), Fraction(1, 2))
    """
    given = list_of(constants, "constants", "a list with one constant a column")
    return Lipschitz(tuple(number(L, f"constants[{j}]") for j, L in enumerate(given)), norm)


def linear(*matrices: Sequence[Sequence[Number]]) -> Lipschitz:
    """(L) f = sum_i B_i I(z_i): L_j = max_i ||B_i e_j||_1. One matrix serves all rows.

    With different matrices the neighbours must differ at one *position*: under permutations it is false (E2).

    >>> linear([[1, 0], ["1/2", 3]]).constants
    (Fraction(3, 2), Fraction(3, 1))
    """
    if not matrices:
        raise InputError("matrices", matrices, "at least one matrix")
    sums = [_column_sums(matrix, f"matrices[{i}]") for i, matrix in enumerate(matrices)]
    if len({len(row) for row in sums}) > 1:
        raise InputError("matrices", [len(row) for row in sums], "matrices with the same number of columns")
    return Lipschitz(tuple(max(column) for column in zip(*sums, strict=True)))


def lipschitz(constant: Number, columns: int) -> Lipschitz:
    """(S) f is L-Lipschitz from l1 to l1 in the imputed data: L_j = L for every column.

    >>> lipschitz("0.5", columns=2).constants
    (Fraction(1, 2), Fraction(1, 2))
    """
    return Lipschitz((number(constant, "constant"),) * positive(columns, "columns"))


def second_moments(columns: int, n: int, bound: Number = 1) -> Lipschitz:
    """(Q) (1/n) sum_i z_i z_i^T on [-B, B]^d: L_j = 2Bd/n.

    The exact sensitivity is smaller: d^2 B^2/n instead of these constants' 4 d^2 B^2/n when everything is seen.

    >>> second_moments(columns=3, n=6).constants
    (Fraction(1, 1), Fraction(1, 1), Fraction(1, 1))
    """
    B, d, rows = number(bound, "bound"), positive(columns, "columns"), positive(n, "n")
    if B < 0:
        raise InputError("bound", bound, "a number of at least 0")
    return Lipschitz((2 * B * d / rows,) * d)


def histogram(columns: int, *, one_hot: bool) -> Lipschitz:
    """A histogram of one-hot columns, a linear query: L_j = 1. Refused for columns that are not one-hot encoded (E8).

    >>> histogram(2, one_hot=True).constants
    (Fraction(1, 1), Fraction(1, 1))
    """
    if not one_hot:
        raise InputError(
            "one_hot", one_hot, "True: a histogram of raw values jumps at its bin edges and is not Lipschitz",
            remedy="Encode each category as its own 0/1 column, or state the reach (1 a column).",
        )  # fmt: skip
    return Lipschitz((Fraction(1),) * positive(columns, "columns"))


def stack(*queries: Lipschitz, norm: Literal[1, 2] = 1) -> Lipschitz:
    """(f, g, ...) as one output: in l1 constants add, in l2 they add in squares (rounded up), column by column.

    >>> stack(linear([[3]]), linear([[4]]), norm=2).constants
    (Fraction(5, 1),)
    """
    if not queries:
        raise InputError("queries", queries, "at least one query")
    _same_columns(queries)
    columns = list(zip(*(q.within(norm).constants for q in queries), strict=True))
    if norm == 1:
        return Lipschitz(tuple(sum(column, Fraction(0)) for column in columns), 1)
    return Lipschitz(tuple(Fraction(root_up(sum((L * L for L in column), Fraction(0)), 2)) for column in columns), 2)


def query(spec: Mapping[str, Any]) -> Lipschitz:
    """The query that a plain dictionary describes; anything outside the calculus is refused.

    >>> query({"stack": [{"linear": [[1, 2]]}, {"times": "0.5", "of": {"lipschitz": 1, "columns": 2}}]}).constants
    (Fraction(3, 2), Fraction(5, 2))
    """
    if not isinstance(spec, Mapping):
        raise InputError("query", spec, "a dictionary that describes a query")
    match dict(spec):
        case {"linear": matrix, **rest} if not rest:
            return linear(matrix)
        case {"lipschitz": constant, "columns": columns, **rest} if not rest:
            return lipschitz(constant, columns)
        case {"second_moments": columns, "n": n, **rest} if not rest.keys() - {"bound"}:
            return second_moments(columns, n, **rest)
        case {"histogram": columns, "one_hot": one_hot, **rest} if not rest:
            return histogram(columns, one_hot=one_hot)
        case {"then": lam, "of": inner, **rest} if not rest.keys() - {"norm"}:
            return query(inner).then(lam, **rest)
        case {"times": factor, "of": inner, **rest} if not rest:
            return query(inner).then(abs(number(factor, "times")))
        case {"sum": parts, **rest} if not rest and parts:
            total, *others = (query(part) for part in list_of(parts, "sum", "a list of queries"))
            for part in others:
                total = total + part
            return total
        case {"stack": parts, **rest} if not rest.keys() - {"norm"}:
            return stack(*(query(part) for part in list_of(parts, "stack", "a list of queries")), **rest)
    why = "; ".join(OUTSIDE[key] for key in spec if key in OUTSIDE)
    raise InputError(
        "query", sorted(spec), "linear, lipschitz, second_moments, one-hot histogram, then, times, sum, stack",
        remedy=f"Not feature-wise Lipschitz: {why}." if why else "State its reach instead.",
    )  # fmt: skip


def _column_sums(matrix: Sequence[Sequence[Number]], field: str) -> list[Fraction]:
    """||B e_j||_1 for every column j."""
    given = [
        list_of(row, field, "a matrix: a list of rows") for row in list_of(matrix, field, "a matrix: a list of rows")
    ]
    rows = [[abs(number(b, f"{field}[{i}][{j}]")) for j, b in enumerate(row)] for i, row in enumerate(given)]
    if not rows or not rows[0] or len({len(row) for row in rows}) > 1:
        raise InputError(field, [len(row) for row in rows], "a matrix: rows of one length, at least one column")
    return [sum(column, Fraction(0)) for column in zip(*rows, strict=True)]


def _same_columns(queries: Sequence[Lipschitz]) -> None:
    widths = [len(q.constants) for q in queries]
    if len(set(widths)) > 1:
        raise InputError("constants", widths, "queries of the same columns (0 where a query ignores a column)")


def positive(value: int, field: str) -> int:
    """The count, an integer of at least 1."""
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise InputError(field, value, "an integer of at least 1")
    return value


def _norm(norm: int) -> Literal[1, 2]:
    if norm not in (1, 2):
        raise InputError("norm", norm, "1 or 2")
    return 1 if norm == 1 else 2
