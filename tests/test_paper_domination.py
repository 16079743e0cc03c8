"""What is exact is never above what was published for the same noise: T3 <= P6, T2 <= P7 and P8, T6 <= P8, T1 = P2."""

from __future__ import annotations

from fractions import Fraction

from hypothesis import given, settings
from hypothesis import strategies as st

from absentia.query import sensitivity
from absentia.theory import blackbox, paper, relaxed
from absentia.theory.noise import Gaussian, Laplace
from absentia.theory.pair import dominating_pair
from absentia.theory.paper_lipschitz import second_moments

shares = st.fractions(Fraction(1, 1000), 1, max_denominator=1000)
losses = st.fractions(Fraction(1, 100), 1, max_denominator=100)
columns = st.lists(st.sampled_from([Fraction(1, 4), Fraction(1), Fraction(2), Fraction(5)]), min_size=1, max_size=5)
Atoms = tuple[tuple[Fraction, Fraction], ...]


def law(p: Fraction, reach: Fraction, full: Fraction | None = None, r: Fraction = Fraction(0)) -> Atoms:
    """Nothing with 1-p, `reach` with p-r, `full` with r."""
    atoms = ((Fraction(0), 1 - p), (reach, p - r), (full if full is not None else reach, r))
    return tuple((x, q) for x, q in atoms if q > 0)


@given(shares, st.fractions(Fraction(1, 100), 20, max_denominator=100), columns, st.data())
def test_t3_is_never_above_p6(p: Fraction, e: Fraction, L: list[Fraction], data: st.DataObject) -> None:
    k = data.draw(st.integers(1, len(L)))
    published = paper.laplace(e, p, L, k)
    reach = sum(sorted(L)[len(L) - k :], Fraction(0))
    assert dominating_pair(Laplace(published.scale), law(p, reach)).epsilon(Fraction(0)) <= published.epsilon


@settings(max_examples=40)
@given(shares, losses, st.sampled_from(["1e-12", "1e-6", "0.001", "0.1", "1"]), columns, st.data())
def test_t2_is_never_above_p7(p: Fraction, e: Fraction, d: str, L: list[Fraction], data: st.DataObject) -> None:
    k = data.draw(st.integers(1, len(L)))
    published = paper.gaussian(e, d, p, L, k)
    reach = sum(sorted(L)[len(L) - k :], Fraction(0))
    pair = dominating_pair(Gaussian(published.sigma), law(p, reach))
    assert pair.delta(Fraction(published.epsilon)) <= published.delta


@settings(max_examples=60)
@given(shares, losses, st.integers(1, 6), st.data())
def test_t2_and_t6_are_never_above_row_level_p8(p: Fraction, e: Fraction, d: int, data: st.DataObject) -> None:
    """r of the row that differs alone: the paper's own r is larger."""
    k, r = data.draw(st.integers(1, d)), p * data.draw(st.fractions(0, Fraction(99, 100), max_denominator=100))
    published = paper.relaxed_laplace(e, p, [1] * d, k, eta=r, r=r)
    pair = dominating_pair(Laplace(paper.laplace(e, p, [1] * d).scale), law(p, Fraction(k), Fraction(d), r))
    assert pair.delta(Fraction(published.epsilon)) <= published.delta
    row_level = relaxed.relaxed_laplace(e, Fraction(k, d) * e, p, r)
    assert row_level.epsilon <= published.epsilon
    assert row_level.delta <= published.delta


@given(shares, st.fractions(0, 700, max_denominator=1000), st.floats(0, 1))
def test_t1_is_p2_without_its_assumption(p: Fraction, e: Fraction, d: float) -> None:
    assert tuple(blackbox.amplified(e, d, p)) == tuple(paper.mar(e, d, p))


@given(shares, shares, losses)
def test_p2_grows_with_p_and_never_exceeds_the_base(p: Fraction, other: Fraction, e: Fraction) -> None:
    low, high = (paper.mar(e, "0.01", x) for x in sorted((p, other)))
    assert low.epsilon <= high.epsilon <= paper.mar(e, "0.01", 1).epsilon
    assert low.delta <= high.delta <= 0.01


@given(st.integers(1, 8), st.integers(1, 100))
def test_exact_second_moments_are_a_quarter_of_the_papers_constants(d: int, n: int) -> None:
    """Everything observed: d^2/n (d even or odd) against 4 d^2/n."""
    exact = sensitivity.second_moments(d, d, n, norm=1).sensitivity
    published = paper.sensitivity(second_moments(d, n).constants)
    assert exact <= published / 4 * (1 + 1e-15)
