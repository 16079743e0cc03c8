"""P9: atoms and closure rules hold on random data (exact rationals), and what is outside is refused."""

from __future__ import annotations

from fractions import Fraction
from math import sqrt

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from absentia.errors import InputError
from absentia.theory.paper_lipschitz import declared, histogram, linear, lipschitz, query, second_moments, stack

values = st.fractions(-1, 1, max_denominator=16)
small = st.fractions(-3, 3, max_denominator=8)


def rows(d: int) -> st.SearchStrategy[list[Fraction]]:
    return st.lists(values, min_size=d, max_size=d)


def l1(vector: list[Fraction]) -> Fraction:
    return sum(map(abs, vector), Fraction(0))


def promised(L: tuple[Fraction, ...], x: list[Fraction], y: list[Fraction]) -> Fraction:
    """sum_j L_j |x_j - y_j| on the row that differs (already zero-imputed)."""
    return sum((a * abs(b - c) for a, b, c in zip(L, x, y, strict=True)), Fraction(0))


@settings(max_examples=40)
@given(st.data(), st.integers(1, 3), st.integers(1, 3), st.integers(1, 3))
def test_linear_queries(data: st.DataObject, n: int, q: int, d: int) -> None:
    """(L) with a matrix of its own for every row; attained for one column at a time."""
    matrices = [[[data.draw(small) for _ in range(d)] for _ in range(q)] for _ in range(n)]
    z = [data.draw(rows(d)) for _ in range(n)]
    i, other = data.draw(st.integers(0, n - 1)), data.draw(rows(d))

    def f(table: list[list[Fraction]]) -> list[Fraction]:
        return [
            sum(B[o][j] * row[j] for B, row in zip(matrices, table, strict=True) for j in range(d)) for o in range(q)
        ]

    moved = [*z[:i], other, *z[i + 1 :]]
    L = linear(*matrices).constants
    assert l1([a - b for a, b in zip(f(z), f(moved), strict=True)]) <= promised(L, z[i], other)
    for j in range(d):
        assert L[j] == max(sum(abs(B[o][j]) for o in range(q)) for B in matrices)


@settings(max_examples=40)
@given(st.data(), st.integers(1, 3), st.integers(1, 4), st.fractions(Fraction(1, 4), 2, max_denominator=4))
def test_second_moments(data: st.DataObject, n: int, d: int, B: Fraction) -> None:
    """(Q) on [-B, B]^d."""
    z = [[B * v for v in data.draw(rows(d))] for _ in range(n)]
    other = [B * v for v in data.draw(rows(d))]
    change = [(z[0][a] * z[0][b] - other[a] * other[b]) / n for a in range(d) for b in range(d)]
    assert l1(change) <= promised(second_moments(d, n, B).constants, z[0], other)


@settings(max_examples=40)
@given(st.data(), st.integers(1, 3), small, small)
def test_closure_on_linear_queries(data: st.DataObject, d: int, a: Fraction, b: Fraction) -> None:
    """Combination, post-map (sum of absolute values: 1-Lipschitz in l1) and stack, by their worst row."""
    B = [[data.draw(small) for _ in range(d)] for _ in range(2)]
    C = [[data.draw(small) for _ in range(d)] for _ in range(2)]
    x, y = data.draw(rows(d)), data.draw(rows(d))

    def image(matrix: list[list[Fraction]], z: list[Fraction]) -> list[Fraction]:
        return [sum(m * v for m, v in zip(row, z, strict=True)) for row in matrix]

    f, g = linear(B), linear(C)
    fx, fy, gx, gy = image(B, x), image(B, y), image(C, x), image(C, y)
    combined = [a * (p - q) + b * (r - s) for p, q, r, s in zip(fx, fy, gx, gy, strict=True)]
    assert l1(combined) <= promised((a * f + b * g).constants, x, y)
    assert (f - g).constants == (f + g).constants
    assert abs(l1(fx) - l1(fy)) * abs(a) <= promised(f.then(abs(a)).constants, x, y)
    both = [p - q for p, q in zip(fx + gx, fy + gy, strict=True)]
    assert l1(both) <= promised(stack(f, g).constants, x, y)
    l2 = sum(v * v for v in both)
    assert l2 <= promised(stack(f, g, norm=2).constants, x, y) ** 2


def test_norms_go_one_way() -> None:
    mean = linear([[1, 2]])
    assert mean.within(2).constants == mean.constants
    assert stack(mean, declared([1, 1], norm=2), norm=2).norm == 2
    assert (mean + declared([1, 1], norm=2)).norm == 2
    assert mean.then(2, norm=2).norm == 2
    for asks_l1 in (lambda: declared([1], norm=2).within(1), lambda: stack(declared([1], norm=2)),
                    lambda: declared([1], norm=2).then(1, norm=1)):  # fmt: skip
        with pytest.raises(InputError, match="l2 only"):
            asks_l1()


@given(st.lists(st.fractions(0, 10, max_denominator=50), min_size=1, max_size=4))
def test_l2_stack_rounds_up_and_hardly(L: list[Fraction]) -> None:
    (root,) = stack(*(declared([a]) for a in L), norm=2).constants
    square = sum(a * a for a in L)
    assert square <= root**2 <= square * (1 + Fraction(1, 2**50))
    assert float(root) == pytest.approx(sqrt(square))


def test_specifications_build_the_same_queries() -> None:
    spec = {
        "sum": [
            {"then": "0.5", "of": {"lipschitz": 2, "columns": 2}},
            {"times": -3, "of": {"histogram": 2, "one_hot": True}},
        ]
    }
    assert query(spec) == lipschitz(2, 2).then("0.5") + (-3) * histogram(2, one_hot=True)
    assert query({"second_moments": 2, "n": 4, "bound": 3}) == second_moments(2, 4, 3)
    assert query({"stack": [{"linear": [[3]]}, {"linear": [[4]]}], "norm": 2}).constants == (5,)


OUTSIDE = [
    {"count": 3}, {"quantile": 0.5}, {"imputed": "row mean"}, {"pair_count": [0, 1]}, {}, {"linear": [[1]], "extra": 1},
    {"sum": []}, {"sum": [{"count": 1}]}, {"histogram": 2, "one_hot": False}, {"stack": []},
    {"linear": []}, {"linear": [[1], [1, 2]]}, {"second_moments": 2, "n": 0}, {"lipschitz": -1, "columns": 2},
    {"sum": [{"linear": [[1]]}, {"linear": [[1, 2]]}]}, {"then": -1, "of": {"linear": [[1]]}},
    {"stack": [{"linear": [[1]]}], "norm": 3}, {"lipschitz": 1, "columns": 0},
    {"lipschitz": float("nan"), "columns": 1},
]  # fmt: skip


@pytest.mark.parametrize("spec", OUTSIDE, ids=str)
def test_queries_outside_the_calculus_are_refused(spec: dict[str, object]) -> None:
    with pytest.raises(InputError):
        query(spec)


def test_the_refusal_says_why_a_count_is_not_lipschitz() -> None:
    with pytest.raises(InputError, match="zero imputation hides what it counts"):
        query({"count": 3})
