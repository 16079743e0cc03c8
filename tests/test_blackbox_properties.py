"""T1, T6, T8 and Theorems 2-4: 50-digit references, laws of nature, edges, refusals."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

import mpmath as mp
import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from absentia.errors import InputError
from absentia.theory import channel
from absentia.theory.base import ClassBase, ProfileBase, smallest_double
from absentia.theory.blackbox import (
    BlackBoxAdded,
    BlackBoxAmplified,
    BlackBoxRemoved,
    DependentRows,
    amplified,
    dependent_rows,
    hiding_shortfall,
    inverse,
)
from absentia.theory.bound import Bound
from absentia.theory.noise import BlackBox
from absentia.theory.relaxed import Relaxed, RelaxedLaplace, relaxed, relaxed_laplace

shares = st.one_of(st.floats(0, 1, allow_subnormal=False), st.floats(1e-12, 1e-6))
positive_shares = st.one_of(st.floats(1e-3, 1), st.floats(1e-12, 1e-3))
epsilons = st.one_of(st.floats(0, 8), st.floats(1e-9, 1e-6), st.floats(8, 700))
mild = st.floats(1e-3, 8)
deltas = st.one_of(st.just(0.0), st.floats(1e-300, 1e-4), st.floats(1e-4, 1))


def q(x: object) -> mp.mpf:
    x = Fraction(x)  # type: ignore[arg-type]
    return mp.mpf(x.numerator) / x.denominator


def above(value: float, reference: mp.mpf, slack: float = 1e-12) -> bool:
    """reference <= value <= reference (1 + slack), up to the reference's own 50 digits and the smallest double."""
    own = mp.mpf(10) ** -45
    return bool(reference * (1 - own) - own**9 <= value <= reference * (1 + mp.mpf(slack)) + mp.mpf(5e-324))


@given(epsilons, deltas, shares)
@example(700.0, 1e-300, 1e-12)
@example(1e-9, 1e-300, 1e-12)
def test_t1_is_the_formula_rounded_up(e: float, d: float, p: float) -> None:
    with mp.workdps(80):
        out = amplified(e, d, p)
        assert above(out.epsilon, mp.log1p(q(p) * mp.expm1(q(e))))
        assert above(out.delta, q(p) * q(d))


@given(epsilons, positive_shares)
@example(1e-9, 1e-12)
@example(700.0, 1e-12)
def test_the_inverse_is_safe_and_sharp(out: float, p: float) -> None:
    with mp.workdps(80):
        base = inverse(out, p)
        reference = mp.log1p(mp.expm1(q(out)) / q(p))
        assert reference * (1 - mp.mpf(1e-12)) - mp.mpf(5e-324) <= base <= reference
        assert mp.log1p(q(p) * mp.expm1(q(base))) <= q(out)


def mp_class(e: mp.mpf, d: mp.mpf, out: mp.mpf) -> mp.mpf:
    return max(d, d + (1 - d) * (mp.exp(e) - mp.exp(out)) / (1 + mp.exp(e)))


@given(epsilons, deltas, positive_shares, st.floats(0, 1.2))
@example(700.0, 1e-300, 1e-12, 0.999999)
def test_the_curve_is_the_class_profile(e: float, d: float, p: float, part: float) -> None:
    """BlackBoxAmplified and class_exact_profile are one formula, at every order."""
    out = part * amplified(e, d, p).epsilon
    with mp.workdps(700):
        base = mp.log1p(mp.expm1(q(out)) / q(p))
        reference = q(p) * mp_class(q(e), q(d), base)
        for value in (
            channel.class_exact_profile(e, d, p, out),
            BlackBoxAmplified(BlackBox(e, d), p).delta(Fraction(out)),
        ):
            assert above(value, reference)


def mp_pair(e: mp.mpf, d: mp.mpf, p: mp.mpf, p2: mp.mpf, out: mp.mpf) -> mp.mpf:
    a, a_out = mp.exp(e), mp.exp(out)
    h = p + max(0, (1 - p) - a_out * (1 - p2))
    return max(0, d * h, ((a - 1 + 2 * d) * h - (a_out - 1) * (1 - d)) / (1 + a))


@given(epsilons, deltas, shares, shares, epsilons)
def test_theorem_2_for_a_pair(e: float, d: float, p: float, p2: float, out: float) -> None:
    with mp.workdps(700):
        assert above(channel.class_exact_pair(e, d, p, p2, out), mp_pair(q(e), q(d), q(p), q(p2), q(out)))


@given(mild, shares, shares)
def test_the_pure_pair_is_never_above_t1(e: float, p: float, p2: float) -> None:
    with mp.workdps(80):
        t = mp.expm1(q(e))
        reference = max(mp.log1p(q(p) * t), -mp.log1p(q(p2) * mp.expm1(-q(e))))
        value = channel.pair_exact_pure(e, p, p2)
        assert above(value, reference)
        assert value <= amplified(e, 0, max(p, p2)).epsilon


@given(st.floats(1e-6, 350), st.floats(1, 2), shares, shares)
def test_theorem_4(r: float, stretch: float, p: float, p2: float) -> None:
    D = min(r * stretch, 2 * r)
    with mp.workdps(700):
        x, y = mp.exp(q(r)), mp.exp(q(D))

        def ratio(p: mp.mpf, p2: mp.mpf, up: mp.mpf, down: mp.mpf) -> mp.mpf:
            return mp.log((1 - p + p * up) / (1 - p2 + p2 * down))

        one = channel.radius_diameter(r, D, p)
        assert above(one, ratio(q(p), q(p), x, x / y))
        pair = channel.radius_diameter_pair(r, D, p, p2)
        assert above(pair, max(mp.mpf(0), ratio(q(p), q(p2), x, x / y), ratio(q(p), q(p2), y / x, 1 / x)))
        assert pair <= math.nextafter(channel.radius_diameter(r, D, max(p, p2)), math.inf)
        assert one <= amplified(D, 0, p).epsilon  # knowing the radius never hurts


@given(st.floats(1e-6, 50), st.floats(1, 2), positive_shares, deltas, deltas)
def test_theorem_4_with_deltas(r: float, stretch: float, p: float, dr: float, dD: float) -> None:
    D = min(r * stretch, 2 * r)
    found = channel.radius_diameter_approx(r, D, p, dr, dD)
    with mp.workdps(200):
        x, y = mp.exp(q(r)), mp.exp(q(D))
        a = (1 - q(p) + q(p) * x) / (1 - q(p) + q(p) * x / y)
        mar, worst = (a - 1) * (1 - q(p)) / x * q(dr) + q(p) * a / y * q(dD), q(p) * max(q(dr), q(dD))
        assert above(found.epsilon, mp.log(a))
        assert above(found.delta, worst)
        assert above(found.delta_mar, min(mar, worst))


@given(mild, deltas, shares, shares)
def test_t6_is_the_formula_rounded_up(e: float, d: float, p: float, r: float) -> None:
    p, r = max(p, r), min(p, r)
    assume(r < 1)
    with mp.workdps(700):
        kappa = (q(p) - q(r)) / (1 - q(r))
        value = relaxed(e, d, p, r)
        assert above(value.epsilon, mp.log1p(kappa * mp.expm1(q(e))))
        assert above(value.delta, q(r) + (q(p) - q(r)) * q(d))
        star = mp.log((1 - kappa + kappa * mp.exp(q(e) / 2)) / (1 - kappa + kappa * mp.exp(-q(e) / 2)))
        improved = relaxed_laplace(2 * e, e, p, r)
        assert above(improved.epsilon, star)
        assert above(improved.delta, q(r) * max(0, -mp.expm1((star - 2 * q(e)) / 2)))
        assert improved.epsilon <= value.epsilon


@given(st.floats(1e-6, 5), deltas, st.integers(0, 6), shares)
def test_t8_is_the_formula_rounded_up(e: float, d: float, g: int, eta: float) -> None:
    with mp.workdps(80):
        c = g + 1
        value = dependent_rows(e, d, g, eta)
        assert above(value.epsilon, mp.log1p(q(eta) * mp.expm1(c * q(e))))
        assert above(value.delta, q(eta) * min(mp.mpf(1), q(d) * sum(mp.exp(i * q(e)) for i in range(c))))


BOUNDS: list[Callable[[float, float, float], Bound]] = [
    lambda e, d, p: ClassBase(e, d),
    lambda e, d, p: BlackBoxAmplified(BlackBox(e, d), p),
    lambda e, d, p: BlackBoxAdded(ClassBase(e, d), p),
    lambda e, d, p: BlackBoxRemoved(ClassBase(e, d), p),
    lambda e, d, p: DependentRows(e, d, 2, p),
    lambda e, d, p: Relaxed(ClassBase(e, d), p, p / 4),
    lambda e, d, p: RelaxedLaplace(2 * e, e, p, p / 4),
    lambda e, d, p: BlackBoxAmplified(BlackBox(profile=lambda x: max(d, math.exp(-x) / (1 + e))), p),
]


@pytest.mark.parametrize("build", BOUNDS)
@settings(max_examples=40)
@given(mild, st.floats(0, 0.1), st.floats(0.001, 1), st.floats(0, 9), st.floats(0, 9), st.floats(1e-9, 1))
def test_every_curve_falls_and_inverts(
    build: Callable[[float, float, float], Bound], e: float, d: float, p: float, x: float, y: float, target: float
) -> None:
    bound = build(e, d, p)
    low, high = Fraction(min(x, y)), Fraction(max(x, y))
    assert 0 <= bound.delta(high) <= bound.delta(low) <= 1
    epsilon = bound.epsilon(Fraction(target))
    if math.isfinite(epsilon):
        assert bound.delta(Fraction(epsilon)) <= target
        if epsilon > 1e-6:  # and not much below: the inverse is sharp
            assert bound.delta(Fraction(epsilon * (1 - 1e-9))) >= target * (1 - 1e-6)
    else:
        assert bound.delta(Fraction(10**6)) > target


@pytest.mark.parametrize("build", BOUNDS)
def test_every_bound_names_its_assumptions(build: Callable[[float, float, float], Bound]) -> None:
    bound = build(1.0, 1e-6, 0.5)
    assert bound.assumptions
    assert all(isinstance(text, str) and text for text in bound.assumptions)


@given(mild, st.floats(0, 0.1), st.floats(0, 9))
def test_p_one_changes_nothing_and_p_zero_hides_all(e: float, d: float, x: float) -> None:
    base = ClassBase(e, d)
    assert BlackBoxAmplified(base, 1).delta(Fraction(x)) == base.delta(Fraction(x))
    assert BlackBoxAmplified(base, 0).delta(Fraction(x)) == 0
    assert BlackBoxAmplified(base, 0).epsilon(Fraction(0)) == 0
    assert inverse(x, 0) == math.inf


@given(mild, st.floats(0, 0.1), shares, shares, st.floats(0, 9))
def test_more_shown_never_protects_better(e: float, d: float, p: float, p2: float, x: float) -> None:
    less, more = sorted((p, p2))
    box = BlackBox(e, d)
    assert BlackBoxAmplified(box, less).delta(Fraction(x)) <= BlackBoxAmplified(box, more).delta(Fraction(x))
    assert amplified(e, d, less) <= amplified(e, d, more)


@given(mild, st.floats(0, 0.1), positive_shares, st.floats(0, 9))
def test_removing_is_never_above_adding(e: float, d: float, p: float, x: float) -> None:
    removed, added = BlackBoxRemoved(ClassBase(e, d), p), BlackBoxAdded(ClassBase(e, d), p)
    assert removed.delta(Fraction(x)) <= added.delta(Fraction(x)) * (1 + 1e-15)


@given(mild, st.floats(1e-9, 0.1), st.floats(0, 9))
def test_uncertified_figures_are_close(e: float, d: float, x: float) -> None:
    base = ClassBase(e, d)
    assert base.delta(Fraction(x), certified=False) == pytest.approx(base.delta(Fraction(x)), rel=1e-9)


def test_removed_is_zero_once_the_absent_row_explains_everything() -> None:
    removed = BlackBoxRemoved(ClassBase(5, "0.1"), "1/2")
    assert removed.epsilon(Fraction(0)) == math.nextafter(math.log(2), 1)  # the smallest double above ln 2
    assert removed.delta(Fraction("0.7")) == 0 < removed.delta(Fraction("0.69"))


def test_a_nested_bound_is_a_base() -> None:
    """A bound may be the base: T1 at 1/2 twice is T1 at 1/4."""
    once = BlackBoxAmplified(BlackBox(2, "1e-5"), "1/4")
    twice = BlackBoxAmplified(BlackBoxAmplified(BlackBox(2, "1e-5"), "1/2"), "1/2")
    for e in ("0.1", "0.5", "1"):
        assert twice.delta(Fraction(e)) == pytest.approx(once.delta(Fraction(e)), rel=1e-12)
        assert twice.delta(Fraction(e)) >= once.delta(Fraction(e))


def test_attribute_level() -> None:
    """One column is always observed (p* = 1); the other half of the time: neighbours in the latter gain T1 at 1/2."""
    both, first = frozenset({0, 1}), frozenset({0})
    assert hiding_shortfall({both: "0.5", first: "0.5"}, {both: "0.5", first: "0.5"}, [1]) == Fraction(1, 2)
    assert hiding_shortfall({both: "0.5", first: "0.5"}, {both: "0.5", first: "0.5"}, [0]) == 1
    assert hiding_shortfall({both: "0.5", first: "0.5"}, {both: "0.9", first: "0.1"}, [1]) == Fraction(9, 10)


def test_smallest_double() -> None:
    assert smallest_double(lambda e: e >= 0.3) == 0.3
    assert smallest_double(lambda e: True) == 0.0
    assert smallest_double(lambda e: False) == math.inf
    assert smallest_double(lambda e: e > 0) == 5e-324


REFUSED: list[tuple[str, Callable[[], object]]] = [
    ("p_bar", lambda: amplified(1, 0, 1.5)),
    ("p_bar", lambda: amplified(1, 0, math.nan)),
    ("epsilon", lambda: amplified(-1, 0, 0.5)),
    ("epsilon", lambda: amplified(math.inf, 0, 0.5)),
    ("delta", lambda: amplified(1, 2, 0.5)),
    ("epsilon_out", lambda: inverse(-1, 0.5)),
    ("g", lambda: dependent_rows(1, 0, "0.5", 1)),
    ("g", lambda: dependent_rows(1, 0, -1, 1)),
    ("eta", lambda: dependent_rows(1, 0, 1, -0.1)),
    ("r_bar", lambda: relaxed(1, 0, "0.2", "0.3")),
    ("epsilon_tilde", lambda: relaxed_laplace(1, 2, "0.5", "0.1")),
    ("D", lambda: channel.radius_diameter(1, 3, 0.5)),
    ("D", lambda: channel.radius_diameter(1, "0.5", 0.5)),
    ("r", lambda: channel.radius_diameter(-1, 0, 0.5)),
    ("Q", lambda: channel.channel_exact(1, 0, [0.5, 0.4], [0.5, 0.5], 0.1)),
    ("Q[1]", lambda: channel.channel_exact(1, 0, [0.5, -0.5], [0.5, 0.5], 0.1)),
    ("Q_prime", lambda: channel.channel_exact(1, 0, [0.5, 0.5], [1.0], 0.1)),
    ("law", lambda: hiding_shortfall({frozenset(): "0.5"}, {frozenset(): 1}, [0])),
    ("profile", lambda: ProfileBase(lambda e: math.nan).delta(Fraction(1))),
    ("profile", lambda: ProfileBase(lambda e: -1.0).delta(Fraction(1))),
]


@pytest.mark.parametrize(("field", "call"), REFUSED)
def test_bad_input_is_refused_by_name(field: str, call: Callable[[], object]) -> None:
    with pytest.raises(InputError) as refusal:
        call()
    assert refusal.value.field == field
    assert refusal.value.exit_code == 2
