"""T10 and T10K: the figures they are known for, their certificates, and what they refuse."""

from __future__ import annotations

import math
from fractions import Fraction

import mpmath
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from absentia.errors import HazardRefused, InputError
from absentia.law.forms import Forms
from absentia.theory.forms import RenyiForms
from absentia.theory.forms_design import Design, uniform
from absentia.theory.forms_kahane import KahaneForms

DELTA = Fraction(1, 10**6)
SIGMAS = ("T10", (4, 13), "10.44"), ("T10", (5, 100), "5.11"), ("T10", (2, 3), "10.7"), ("T10", (10, 1000), "4.1")
SHARPER = ("T10K", (4, 13), "9.58"), ("T10K", (3, 4), "12.74"), ("T10K", (2, 3), "9.86"), ("T10K", (5, 100), "4.74")


def bound_of(design: Forms, result: str, sigma: object):
    (found,) = [b for b in design.bounds(sigma) if b.result == result]
    return found


@pytest.mark.parametrize(("result", "kd", "sigma"), [*SIGMAS, *SHARPER, ("T10K", (10, 1000), "3.89")])
def test_sigma_that_reaches_epsilon_one(result: str, kd: tuple[int, int], sigma: str) -> None:
    bound = bound_of(Forms.k_of_d(*kd), result, sigma)
    assert bound.epsilon(DELTA) <= 1
    assert bound.delta(Fraction(1)) <= 1e-6


@pytest.mark.parametrize(("kd", "sigma", "product"), [((4, 13), "10.42", 1.0006), ((5, 100), "5.09", 1.0029)])
def test_product_form_figures_are_not_better_than_they_should_be(
    kd: tuple[int, int], sigma: str, product: float
) -> None:
    assert bound_of(Forms.k_of_d(*kd), "T10", sigma).epsilon(DELTA) == pytest.approx(product, abs=2e-4)


def test_three_forms_written_out_do_as_well_as_two_of_three() -> None:
    listed = Forms(reach=[1, 1, 1], forms=[[0, 1], [0, 2], [1, 2]], mass=["1/3"] * 3)
    for a, b in zip(listed.bounds("9.86"), Forms.k_of_d(2, 3).bounds("9.86"), strict=True):
        assert a.epsilon(DELTA) == b.epsilon(DELTA)
        assert a.delta(Fraction(1)) == b.delta(Fraction(1))


def test_balanced_booklets_do_better_than_any_four_of_thirteen() -> None:
    """13 booklets of 4 of 13 clusters: any two share exactly one, and the list formula knows it."""
    for balanced, free in zip(Forms.balanced(13, 4).bounds("9.57"), Forms.k_of_d(4, 13).bounds("9.57"), strict=True):
        assert balanced.epsilon(DELTA) < free.epsilon(DELTA)


def test_columns_always_seen_together_are_one_block() -> None:
    """The figures of 100 unit columns with one mask are those of one block of reach 10."""
    together = Forms([1] * 100, [list(range(100)), []], ["0.05", "0.95"])
    single = Forms([10], [[0], []], ["0.05", "0.95"])
    for a, b in zip(together.bounds("16"), single.bounds("16"), strict=True):
        assert a.epsilon(DELTA) == b.epsilon(DELTA)


def reference_epsilon(result: str, k: int, d: int, sigma: str, delta: str) -> mpmath.mpf:
    """THEORY's formulas for k of d unit blocks, product form, minimised over the order at 50 digits."""
    s, p = 1 / mpmath.mpf(sigma) ** 2, mpmath.mpf(k) / d
    S, V, log_delta = d * p * p * s, d * p * s, mpmath.log(mpmath.mpf(delta))

    def moment(n: int) -> mpmath.mpf:
        terms = [
            mpmath.binomial(n, j) * p**j * (1 - p) ** (n - j) * mpmath.exp(j * (j - 1) * s / 2) for j in range(n + 1)
        ]
        return d * mpmath.log(mpmath.fsum(terms))

    def t10(n: int) -> mpmath.mpf:
        a = mpmath.mpf(n) / 2
        renyi = (a - 0.5) / (a - 1) * moment(n) / (n - 1) + ((2 * a - 2) * S + V) / 2
        return renyi + mpmath.log(1 - 1 / a) - (log_delta + mpmath.log(a)) / (a - 1)

    def t10k(m: int) -> mpmath.mpf:
        M, kappa = 2 * mpmath.sqrt(S), (V - S) / 2

        def slope(v: mpmath.mpf) -> mpmath.mpf:
            up = mpmath.exp(v) * mpmath.ncdf(v / M + M / 2)
            return up / (up - mpmath.ncdf(v / M - M / 2)) - m

        v = mpmath.findroot(slope, (-6 * M, 6 * M), solver="anderson", tol=1e-40)
        peak = mpmath.log(mpmath.exp(v) * mpmath.ncdf(v / M + M / 2) - mpmath.ncdf(v / M - M / 2)) - m * v
        return kappa + (peak + moment(m) - m * (m - 1) * S / 2 - log_delta) / (m - 1)

    with mpmath.workdps(50):
        return min(map(t10, range(3, 80))) if result == "T10" else min(map(t10k, range(12, 40)))


@pytest.mark.parametrize("result", ["T10", "T10K"])
@pytest.mark.parametrize(("kd", "sigma"), [((4, 13), "9.7"), ((5, 100), "4.9")])
def test_certified_epsilon_against_fifty_digits(result: str, kd: tuple[int, int], sigma: str) -> None:
    reference = reference_epsilon(result, *kd, sigma, "1e-6")
    claim = bound_of(Forms.k_of_d(*kd), result, sigma).epsilon(DELTA)
    assert reference <= claim <= reference * (1 + mpmath.mpf(10) ** -11)


def test_add_and_remove_are_the_formulas_of_their_proofs() -> None:
    """One of two blocks: which direction is worst depends on epsilon; both are recomputed here from scratch."""
    s, S, V = 1 / 4, 1 / 8, 1 / 4  # reach 1, sigma 2, p = 1/2, two blocks
    kappa, shift = (V - S) / 2, math.sqrt(S)
    kahane, renyi = Forms.k_of_d(1, 2).bounds(2, "add_remove")
    moments = {
        n: math.log(
            sum(math.comb(n, j) * math.exp(s * (math.comb(j, 2) + math.comb(n - j, 2))) for j in range(n + 1)) / 2**n
        )
        for n in range(2, 60)
    }

    def from_renyi(order: float, divergence: float, epsilon: float) -> float:
        return math.exp((order - 1) * (divergence - epsilon + math.log(1 - 1 / order)) - math.log(order))

    for epsilon in (0.3, 0.7, 1.5):
        added = min(from_renyi(n, log_moment / (n - 1), epsilon) for n, log_moment in moments.items())
        removed = min(from_renyi(1 + j / 8, (j / 8 * S + V) / 2, epsilon) for j in range(1, 120))
        assert renyi.delta(Fraction(epsilon)) == pytest.approx(max(added, removed), rel=1e-9)
        e = epsilon - kappa
        gone = float(mpmath.ncdf(-e / shift + shift / 2) - math.exp(e) * mpmath.ncdf(-e / shift - shift / 2))
        arrived = min(
            kahane_line(m, shift, epsilon, log_moment - m * (m - 1) * S / 2)
            for m, log_moment in list(moments.items())[:40]
        )
        assert kahane.delta(Fraction(epsilon)) == pytest.approx(max(arrived, gone), rel=1e-8)


def kahane_line(m: int, M: float, epsilon: float, log_moment: float) -> float:
    """Gamma_m E T^m with kappa = 0, the supremum by a plain search."""

    def log_bracket(v: float) -> float:
        inside = mpmath.exp(v) * mpmath.ncdf(v / M + M / 2) - mpmath.ncdf(v / M - M / 2)
        return float(mpmath.log(inside)) - m * v

    with mpmath.workdps(25):
        low, high = -3.0 * m * M * M - 3, 3.0
        for _ in range(60):
            left, right = low + (high - low) / 3, high - (high - low) / 3
            low, high = (low, right) if log_bracket(left) > log_bracket(right) else (left, high)
        return math.exp(log_bracket(low) - (m - 1) * epsilon + log_moment)


designs = st.one_of(
    st.tuples(st.integers(1, 6), st.integers(0, 5)).map(lambda kd: Forms.k_of_d(kd[0], sum(kd), "0.7")),
    st.lists(st.integers(1, 9), min_size=2, max_size=5).map(
        lambda raw: Forms.one_missing([Fraction(x, 8) for x in raw], [Fraction(x, sum(raw)) for x in raw])
    ),
    st.sampled_from([(7, 3), (13, 4)]).map(lambda dk: Forms.balanced(*dk)),
    st.lists(st.sets(st.integers(0, 4)), min_size=1, max_size=6).map(
        lambda forms: Forms([1, "0.5", 1, "1/3", 1], [sorted(f) for f in forms], [Fraction(1, len(forms))] * len(forms))
    ),
)


@settings(max_examples=40, deadline=None)
@given(designs, st.floats(0.8, 30), st.sampled_from(["substitute", "add_remove"]), st.integers(1, 60))
def test_the_two_questions_agree_and_certificates_hug_the_estimate(design, sigma, relation, digits) -> None:
    delta = Fraction(1, 10**digits)
    for bound in design.bounds(sigma, relation):
        epsilon = bound.epsilon(delta)
        estimate = bound.epsilon(delta, certified=False)
        assert epsilon == pytest.approx(estimate, rel=1e-8, abs=1e-10)
        if 0 < epsilon < math.inf:
            assert bound.delta(Fraction(epsilon)) <= float(delta) * (1 + 1e-9)
            assert bound.delta(Fraction(epsilon) * 9 / 10) >= float(delta)


@settings(max_examples=40, deadline=None)
@given(designs, st.floats(1, 20), st.floats(1.0, 1.5))
def test_more_reach_or_less_noise_never_helps(design, sigma, factor) -> None:
    louder = design.scaled(factor)
    for near, far, quiet in zip(design.bounds(sigma), louder.bounds(sigma), design.bounds(sigma / factor), strict=True):
        assert near.epsilon(DELTA) <= far.epsilon(DELTA) * (1 + 1e-12)
        assert far.epsilon(DELTA) == pytest.approx(quiet.epsilon(DELTA), rel=1e-9)


def test_order_of_strata_and_splitting_a_core_do_not_matter() -> None:
    parts = [Forms.k_of_d(2, 3), Forms.balanced(7, 3, "0.5")]
    one = Forms.strata(parts, core=["0.3", "0.4"])
    other = Forms.strata([Forms([Fraction(1, 2)], [[0]], [1]), *parts[::-1]])
    for a, b in zip(one.bounds("12"), other.bounds("12"), strict=True):
        assert a.epsilon(DELTA) == pytest.approx(b.epsilon(DELTA), rel=1e-12)


def test_unequal_forms_fall_back_continuously() -> None:
    """A design that misses balance by 1e-7 costs next to nothing: the centred split has no cliff."""
    exact = Forms.one_missing([1, 1, 1], ["1/3"] * 3).bounds("9.86")[0].epsilon(DELTA)
    nearly = Forms.one_missing([1, 1, 1], ["0.3333333", "0.3333333", "0.3333334"]).bounds("9.86")[0].epsilon(DELTA)
    assert exact < nearly < exact + 1e-5


def test_k_of_d_with_one_large_block_is_never_better_than_without_it() -> None:
    level = Forms.k_of_d(4, 13).bounds("9.57")[0].epsilon(DELTA)
    raised = Forms.k_of_d(4, 13, [*["1"] * 12, "1.001"]).bounds("9.57")[0].epsilon(DELTA)
    assert level < raised < level + 0.01


def test_t10k_is_refused_where_it_is_not_proved() -> None:
    residual = Forms.k_of_d(4, 13, nothing_missing_on_top=False)
    adaptive = Forms.k_of_d(4, 13, adaptive=True)
    for design in (residual, adaptive):
        assert [b.result for b in design.bounds("10.44")] == ["T10"]
        with pytest.raises(HazardRefused, match="T10"):
            KahaneForms(design.design, "10.44")
    assert "missing row by row" in " ".join(residual.bounds(1)[0].assumptions)


def test_no_column_ever_seen_leaks_nothing() -> None:
    for design in (Forms.k_of_d(0, 5), Forms.k_of_d(2, 5, 0), Forms([1, 2], [[]], [1])):
        for bound in (*design.bounds(1), *design.bounds(1, "add_remove")):
            assert bound.epsilon(Fraction(0)) == 0
            assert bound.delta(Fraction(0)) == 0


def test_extreme_but_legal_input() -> None:
    kahane, renyi = Forms.k_of_d(4, 13).bounds(10)
    for bound in (kahane, renyi):
        assert bound.epsilon(Fraction(0)) == math.inf
        assert bound.epsilon(Fraction(1)) == 0
        assert bound.delta(Fraction(700)) <= 5e-324
        assert 8 < bound.epsilon(Fraction(1, 10**300)) < 11
        assert bound.delta(Fraction(1, 10**9)) < 0.2
    rare = Forms([1], [[0], []], ["1e-12", Fraction(10**12 - 1, 10**12)]).bounds(1)
    assert all(0 < bound.delta(Fraction(1)) < 1e-13 for bound in rare)
    far = Forms.k_of_d(4, 13, 10**6).bounds(1)
    assert 4.9e12 < far[1].epsilon(DELTA) < 1e14


@pytest.mark.parametrize("sigma", [0, -1, float("nan"), float("inf"), "one", None])
def test_bad_sigma(sigma: object) -> None:
    for cls in (RenyiForms, KahaneForms):
        with pytest.raises(InputError, match="sigma"):
            cls(Design(uniform(1, [Fraction(1)] * 2)), sigma)


def test_unknown_relation() -> None:
    with pytest.raises(InputError, match="relation"):
        Forms.k_of_d(1, 2).bounds(1, "swap")
