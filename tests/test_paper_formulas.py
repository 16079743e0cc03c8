"""P1, P2, P4-P8 against 50-digit references written from the statements, and at the edges of the legal range."""

from __future__ import annotations

import math
from fractions import Fraction

import mpmath as mp
import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from absentia.errors import InputError
from absentia.theory import blackbox, paper

probabilities = st.floats(0, 1, allow_subnormal=False)
epsilons = st.one_of(st.floats(0, 10), st.floats(1e-12, 1e-6), st.floats(10, 700))
small_epsilons = st.floats(1e-9, 1)
deltas = st.one_of(st.just(0.0), st.floats(1e-300, 1e-3), probabilities)
constants = st.lists(st.floats(2**-20, 1e6), min_size=1, max_size=6)


def amplified(e: mp.mpf, p: mp.mpf) -> mp.mpf:
    return mp.log1p(p * mp.expm1(e))


def q(x: object) -> mp.mpf:
    x = Fraction(x)  # type: ignore[arg-type]
    return mp.mpf(x.numerator) / x.denominator


def assert_just_above(value: float, reference: mp.mpf, ulps: int = 4) -> None:
    """value >= reference, and at most `ulps` doubles above it."""
    slack = mp.mpf(10) ** -45 * abs(reference)  # the reference's own rounding
    assert mp.mpf(value) >= reference - slack
    step = math.ulp(value)
    assert mp.mpf(value) - reference <= ulps * mp.mpf(step)


@pytest.fixture(autouse=True)
def _digits() -> object:
    with mp.workdps(50):
        yield


@given(epsilons, deltas, probabilities)
@example(1e-9, 1e-300, 1e-12)
@example(700.0, 1e-300, 1e-12)
@example(700.0, 1.0, 1.0)
@example(0.0, 0.0, 0.5)
def test_p2_is_the_formula_rounded_up(epsilon: float, delta: float, p: float) -> None:
    with mp.workdps(80):
        promise = paper.mar(epsilon, delta, p)
        assert_just_above(promise.epsilon, amplified(q(epsilon), q(p)), 1)
        assert_just_above(promise.delta, q(p) * q(delta), 1)


@given(epsilons, deltas, probabilities, probabilities, probabilities)
def test_p1_point_is_the_formula_rounded_up(e: float, d: float, p: float, p_prime: float, lam: float) -> None:
    with mp.workdps(80):
        E, D, P, R, L = map(q, (e, d, p, p_prime, lam))
        e1 = amplified(E, P)
        d1 = P * D + mp.exp(e1) * abs(P - R)
        point = paper.mnar_pair(e, d, p, p_prime, lam)
        assert_just_above(point.epsilon, mp.log1p(L * mp.expm1(E) + (1 - L) * mp.expm1(e1)), 2)
        expected = L * D + (1 - L) * d1
        assert mp.isinf(point.delta) or mp.mpf(point.delta) >= expected * (1 - mp.mpf(10) ** -70)
        assert expected == 0 or point.delta <= 1.0000000001 * float(expected) or mp.mpf(point.delta) < 1e-300


@given(st.floats(0.01, 5), st.floats(0, 0.1), probabilities, probabilities)
def test_p1_range_is_the_supremum_over_every_pair_inside(e: float, d: float, a: float, b: float) -> None:
    low, high = min(a, b), max(a, b)
    inside = [low + (high - low) * i / 4 for i in range(4)] + [high]
    pairs = [(x, y) for x in inside for y in inside]
    by_range = paper.mnar_curve(e, d, p_max=high, p_min=low, points=5)
    by_pairs = paper.mnar_curve(e, d, pairs=pairs, points=5)
    for ours, every in zip(by_range, by_pairs, strict=True):
        assert ours.epsilon >= every.epsilon * (1 - 1e-15)
        assert ours.delta >= every.delta * (1 - 1e-15)


@given(st.floats(0.01, 5), st.floats(0, 0.1), probabilities, probabilities, st.floats(0, 6))
def test_p1_profile_is_the_lower_edge_of_the_curve(e: float, d: float, a: float, b: float, target: float) -> None:
    low, high = min(a, b), max(a, b)
    found = paper.mnar_delta(e, d, target, p_max=high, p_min=low)
    curve = paper.mnar_curve(e, d, p_max=high, p_min=low, points=21)
    reached = [min(1.0, x.delta) for x in curve if x.epsilon <= target]
    beyond = [x.delta for x in curve if x.epsilon > target]
    assert all(found <= delta * (1 + 1e-9) for delta in reached)
    assert found >= min([1.0, curve[0].delta, *reached, *beyond[:1]]) * (1 - 1e-9)
    assert reached or found == 1


@given(st.floats(0.01, 5), st.floats(0, 0.1), probabilities, probabilities, probabilities)
def test_p1_never_beats_t1(e: float, d: float, p: float, p_prime: float, lam: float) -> None:
    """T1 at max(p, p') dominates the larger of both orders of every point of the curve."""
    points = [paper.mnar_pair(e, d, x, y, lam) for x, y in ((p, p_prime), (p_prime, p))]
    t1 = blackbox.amplified(e, d, max(p, p_prime))
    assert t1.epsilon <= max(x.epsilon for x in points)
    assert t1.delta <= max(x.delta for x in points) * (1 + 1e-15)


@given(small_epsilons, probabilities, constants, st.data())
def test_p6_is_the_formula_rounded_up(e: float, p: float, L: list[float], data: st.DataObject) -> None:
    with mp.workdps(80):
        k = data.draw(st.integers(0, len(L)))
        C, tilde = 2 * sum(map(q, L)), 2 * sum(map(q, sorted(L)[len(L) - k :]))
        release = paper.laplace(e, p, L, k)
        assert_just_above(release.scale, C / q(e), 1)
        assert_just_above(release.epsilon_tilde, tilde / C * q(e), 1)
        assert_just_above(release.epsilon, amplified(tilde / C * q(e), q(p)), 1)


@given(small_epsilons, st.floats(1e-300, 1), probabilities, constants, st.data())
def test_p7_is_the_formula_rounded_up(e: float, d: float, p: float, L: list[float], data: st.DataObject) -> None:
    with mp.workdps(80):
        k = data.draw(st.integers(0, len(L)))
        C, tilde = 2 * sum(map(q, L)), 2 * sum(map(q, sorted(L)[len(L) - k :]))
        c = mp.sqrt(2 * mp.log(mp.mpf(5) / 4 / q(d)))
        release = paper.gaussian(e, d, p, L, k)
        assert_just_above(release.c, c, 1)
        assert_just_above(release.sigma, c * C / q(e), 4)
        assert_just_above(release.epsilon, amplified(tilde / C * q(e), q(p)), 1)
        assert_just_above(release.delta, q(p) * q(d), 1)


@given(small_epsilons, probabilities, st.integers(1, 30), st.data())
def test_the_corollary_bounds_p6_with_equal_constants(e: float, p: float, d: int, data: st.DataObject) -> None:
    k = data.draw(st.integers(0, d))
    assert paper.laplace(e, p, [0.7] * d, k).epsilon <= paper.corollary(e, p, Fraction(k, d)) * (1 + 4e-16)


@given(small_epsilons, probabilities, st.floats(0, 0.99), st.floats(0, 1))
def test_p8_is_the_formula_rounded_up(e: float, p: float, r: float, eta: float) -> None:
    assume(r <= min(p, eta))
    with mp.workdps(80):
        share = (q(p) - q(r)) / (1 - q(r))
        laplace = paper.relaxed_laplace(e, p, [1, 1, 1], 2, eta, r)
        assert_just_above(laplace.epsilon, amplified(q(Fraction(2, 3)) * q(e), share), 1)
        assert laplace.delta == eta
        gaussian = paper.relaxed_gaussian(e, "1e-6", p, [1, 1, 1], 2, eta, r)
        assert gaussian.epsilon == laplace.epsilon
        assert_just_above(gaussian.delta, q(eta) + q(p) * q(Fraction(1, 10**6)), 1)


def test_extreme_but_legal_input() -> None:
    assert paper.mar("1e-9", "1e-300", "1e-12").epsilon == pytest.approx(1.0000000005e-21, rel=1e-13)
    assert paper.mar(700, 0, "1e-12").epsilon == pytest.approx(700 - 12 * math.log(10), rel=1e-15)
    assert paper.mar(10**300, 0, "0.5").epsilon == 1e300
    assert paper.mar(5000, 0, "0.5").epsilon == pytest.approx(5000 - math.log(2), rel=1e-15)
    assert paper.mar(700, "1e-300", "1e-12").delta == pytest.approx(1e-312, rel=1e-9)
    assert paper.mnar_pair(700, 0, 1, 0, 0).delta == pytest.approx(math.exp(700), rel=1e-12)
    assert paper.sensitivity([1e-300] * 4, 3) >= 6e-300
    assert paper.laplace("1e-9", 1, [1], 1).epsilon == 1e-9


REFUSED = {
    "p_star above 1": (lambda: paper.mar(1, 0, 1.5), "p_star"),
    "p_star NaN": (lambda: paper.mar(1, 0, math.nan), "p_star"),
    "epsilon below 0": (lambda: paper.mar(-1, 0, 0.5), "epsilon"),
    "epsilon text": (lambda: paper.mar("much", 0, 0.5), "epsilon"),
    "delta above 1": (lambda: paper.mar(1, 2, 0.5), "delta"),
    "p_prime": (lambda: paper.mnar_pair(1, 0, 0.5, -0.1, 0), "p_prime"),
    "lam": (lambda: paper.mnar_pair(1, 0, 0.5, 0.1, 2), "lam"),
    "no pairs": (lambda: paper.mnar_curve(1, 0, pairs=[]), "pairs"),
    "neither": (lambda: paper.mnar_curve(1, 0), "pairs"),
    "both": (lambda: paper.mnar_curve(1, 0, pairs=[(0, 1)], p_max=1), "p_max"),
    "p_min above p_max": (lambda: paper.mnar_curve(1, 0, p_max=0.1, p_min=0.2), "p_min"),
    "one point": (lambda: paper.mnar_curve(1, 0, p_max=1, p_min=0, points=1), "points"),
    "pair out of range": (lambda: paper.mnar_curve(1, 0, pairs=[(0.5, 3)]), "pairs[0][1]"),
    "k > d": (lambda: paper.sensitivity([1, 1], 3), "k"),
    "k not an integer": (lambda: paper.sensitivity([1, 1], 1.0), "k"),  # type: ignore[arg-type]
    "negative k": (lambda: paper.laplace(1, 0.5, [1], -1), "k"),
    "no constants": (lambda: paper.sensitivity([]), "constants"),
    "negative constant": (lambda: paper.sensitivity([1, -1]), "constants[1]"),
    "infinite constant": (lambda: paper.sensitivity([1, math.inf]), "constants[1]"),
    "only zeros": (lambda: paper.laplace(1, 0.5, [0, 0]), "constants"),
    "laplace epsilon 0": (lambda: paper.laplace(0, 0.5, [1]), "epsilon"),
    "P7 above 1": (lambda: paper.gaussian("1.001", "1e-6", 0.5, [1]), "epsilon"),
    "P7 delta 0": (lambda: paper.gaussian(1, 0, 0.5, [1]), "delta"),
    "P7 c too small": (lambda: paper.gaussian(1, "1e-5", 0.5, [1], c="4.8448052"), "c"),
    "P8 Gaussian above 1": (lambda: paper.relaxed_gaussian(2, "1e-6", 0.5, [1], 1, 0.1), "epsilon"),
    "P8 r above eta": (lambda: paper.relaxed_laplace(1, 0.5, [1], 1, 0.1, r=0.2), "r"),
    "P8 r above p*": (lambda: paper.relaxed_laplace(1, 0.1, [1], 1, 0.5, r=0.2), "r"),
    "corollary above 1": (lambda: paper.corollary(2, 0.5, 0.5), "epsilon"),
    "rho above 1": (lambda: paper.entries_observed("1.1", 10), "rho"),
    "d = 0": (lambda: paper.entries_observed("0.1", 0), "d"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_bad_input_is_refused_with_the_name_of_the_field(name: str) -> None:
    call, field = REFUSED[name]
    with pytest.raises(InputError) as refusal:
        call()
    assert refusal.value.field == field
    assert refusal.value.exit_code == 2


def test_c_just_above_the_threshold_is_accepted() -> None:
    release = paper.gaussian(1, "1e-5", "0.5", [1, 1], 1, c="4.8448053")
    assert release.sigma == pytest.approx(4.8448053 * 4, rel=1e-15)
