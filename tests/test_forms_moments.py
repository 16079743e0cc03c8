"""The moments of T10 against enumeration, and the bracket of T10K against 50 digits."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import mpmath
import pytest
from flint import arb
from hypothesis import given, settings
from hypothesis import strategies as st

from absentia.exact import above, ball, precision
from absentia.theory.forms_design import Stratum, listed, uniform
from absentia.theory.forms_kahane import bracket_peak, bracket_peak_ball
from absentia.theory.forms_moment import Moments

S = Fraction(7, 10)
"""1/sigma^2 throughout."""


def enumerated(
    forms: list[tuple[int, ...]], mass: list[Fraction], squared: list[Fraction], n: int, centred: bool
) -> float:
    """ln E exp(s sum_{i<j} R_{O_i O_j}) over all n-tuples of forms, at 50 digits."""
    seen = [sum((m for f, m in zip(forms, mass, strict=True) if b in f), Fraction(0)) for b in range(len(squared))]

    def overlap(f: tuple[int, ...], g: tuple[int, ...]) -> Fraction:
        c = seen if centred else [Fraction(0)] * len(squared)
        return sum((w * ((b in f) - c[b]) * ((b in g) - c[b]) for b, w in enumerate(squared)), Fraction(0))

    table = {(f, g): S * overlap(f, g) for f in forms for g in forms}
    with mpmath.workdps(50):
        total = mpmath.mpf(0)
        for drawn in itertools.product(range(len(forms)), repeat=n):
            exponent = sum((table[forms[i], forms[j]] for i, j in itertools.combinations(drawn, 2)), Fraction(0))
            total += mpmath.exp(as_mpf(exponent)) * as_mpf(math.prod((mass[i] for i in drawn), start=Fraction(1)))
        return mpmath.log(total)


def as_mpf(q: Fraction) -> mpmath.mpf:
    return mpmath.mpf(q.numerator) / q.denominator


def proved(strata: tuple[Stratum, ...], n: int, centred: bool = False) -> float:
    with precision(200):
        return above(sum((Moments(stratum, S, centred).ball(n) for stratum in strata), arb(0)))


fractions = st.fractions(min_value=0, max_value=2, max_denominator=12)


@st.composite
def lists_of_forms(draw: st.DrawFn) -> tuple[list[tuple[int, ...]], list[Fraction], list[Fraction]]:
    d = draw(st.integers(1, 4))
    form = st.sets(st.integers(0, d - 1)).map(lambda f: tuple(sorted(f)))
    forms = draw(st.lists(form, min_size=1, max_size=5, unique=True))
    raw = draw(st.lists(st.integers(1, 9), min_size=len(forms), max_size=len(forms)))
    mass = [Fraction(x, sum(raw)) for x in raw]
    return forms, mass, draw(st.lists(fractions, min_size=d, max_size=d))


@settings(max_examples=120, deadline=None)
@given(lists_of_forms(), st.integers(2, 4))
def test_moments_of_any_list_are_never_below_enumeration(problem: tuple, n: int) -> None:
    forms, mass, squared = problem
    strata = listed(forms, mass, squared)
    true = enumerated(forms, mass, squared, n, centred=False)
    assert proved(strata, n) >= true - mpmath.mpf(10) ** -15 * (1 + abs(true))
    estimate = sum(Moments(stratum, S).log(n) for stratum in strata)
    assert estimate == pytest.approx(proved(strata, n), rel=1e-9, abs=1e-9)


@settings(max_examples=120, deadline=None)
@given(lists_of_forms(), st.integers(2, 4))
def test_centred_moments_are_never_below_enumeration(problem: tuple, n: int) -> None:
    forms, mass, squared = problem
    strata = listed(forms, mass, squared)
    if all(Moments(stratum, S, centred=True).centred for stratum in strata):
        true = enumerated(forms, mass, squared, n, centred=True)
        assert proved(strata, n, centred=True) >= true - mpmath.mpf(10) ** -15 * (1 + abs(true))


@pytest.mark.parametrize("centred", [False, True])
@pytest.mark.parametrize("n", [2, 3, 5])
def test_the_list_formula_is_exact_when_all_pairs_share_equally(n: int, centred: bool) -> None:
    """The seven booklets of 3 clusters out of 7: any two share one."""
    forms = [tuple(sorted((b + shift) % 7 for b in (0, 1, 3))) for shift in range(7)]
    mass, squared = [Fraction(1, 7)] * 7, [Fraction(2, 5)] * 7
    if n == 5:
        forms, mass, squared = forms[:3], [Fraction(1, 2), Fraction(1, 3), Fraction(1, 6)], squared
    true = enumerated(forms, mass, squared, n, centred=False)
    if centred:
        strata = listed(forms, mass, squared)
        assert n == 5 or proved(strata, n, True) == pytest.approx(
            float(enumerated(forms, mass, squared, n, True)), rel=1e-14
        )
    assert proved(listed(forms, mass, squared), n) == pytest.approx(float(true), rel=1e-14)


@pytest.mark.parametrize(("k", "d"), [(1, 3), (2, 3), (2, 4), (3, 4), (2, 5)])
@pytest.mark.parametrize("n", [2, 3])
def test_k_of_d_is_never_below_enumeration(k: int, d: int, n: int) -> None:
    """The product form alone (the list withheld), with unequal reaches."""
    squared = [Fraction(1 + b, 4) for b in range(d)]
    forms = list(itertools.combinations(range(d), k))
    mass = [Fraction(1, len(forms))] * len(forms)
    (full,) = uniform(k, squared)
    bare = Stratum(full.squared, full.seen, full.pull, True, k=k)
    true = enumerated(forms, mass, squared, n, centred=False)
    assert proved((bare,), n) >= true
    assert true <= proved((full,), n) <= proved((bare,), n)
    assert proved(listed(forms, mass, squared), n) == proved((full,), n)


def test_the_product_form_would_be_unsound_on_cyclic_windows() -> None:
    """Windows of 5 among 40 in a circle: neighbours come together, and the product form falls below the moment."""
    forms = [tuple(sorted((b + i) % 40 for i in range(5))) for b in range(40)]
    mass, squared = [Fraction(1, 40)] * 40, [Fraction(3)] * 40
    (windows,) = listed(forms, mass, squared)
    assert not windows.associated
    wrong = Stratum(windows.squared, windows.seen, windows.pull, associated=True)
    true = enumerated(forms, mass, squared, 2, centred=False)
    assert proved((wrong,), 2) < float(true) - 1
    assert true <= proved((windows,), 2)


def test_which_designs_are_known_to_be_negatively_associated() -> None:
    def only(forms: list[tuple[int, ...]], mass: list[Fraction], d: int) -> Stratum:
        (stratum,) = listed(forms, mass, [Fraction(1)] * d)
        return stratum

    half, third = Fraction(1, 2), Fraction(1, 3)
    assert only([(0, 1), (0, 2), (1, 2)], [Fraction(1, 2), Fraction(1, 3), Fraction(1, 6)], 3).associated  # one missing
    assert only([(0,), (1,), ()], [third] * 3, 2).associated  # at most one seen
    assert only(list(itertools.combinations(range(4), 2)), [Fraction(1, 6)] * 6, 4).associated  # every pair alike
    unequal = [Fraction(1, 6)] * 4 + [Fraction(1, 12), Fraction(1, 4)]
    assert not only(list(itertools.combinations(range(4), 2)), unequal, 4).associated
    assert not only([(0, 1), (1, 2), (2, 3), (0, 3)], [Fraction(1, 4)] * 4, 4).associated
    assert only([(0, 1), (2, 3)], [half] * 2, 4).squared == (2, 2)  # two merged blocks, one seen


def test_core_and_columns_seen_together_are_merged() -> None:
    """A core in every form is its own stratum; twins become one block whose squared reaches add."""
    strata = listed([(0, 1, 2), (0, 3)], [Fraction(1, 4), Fraction(3, 4)], [Fraction(w) for w in (5, 1, 2, 4)])
    assert [stratum.squared for stratum in strata] == [(5,), (3, 4)]
    assert [stratum.seen for stratum in strata] == [(1,), (Fraction(1, 4), Fraction(3, 4))]
    assert all(stratum.associated for stratum in strata)


@pytest.mark.parametrize("m", [2, 3, 7, 30, 400, 5000])
@pytest.mark.parametrize("M", [1e-9, 1e-3, 0.1, 0.48, 1.0, 3.0, 30.0])
def test_bracket_peak_is_proved_and_sharp(m: int, M: float) -> None:
    """The certified supremum is above a 50-digit maximum of e^{-mv} B(v), by no more than 1e-10 of itself."""
    estimate, z = bracket_peak(m, M)
    with precision(256):
        claim = above(bracket_peak_ball(m, ball(M)))

    with mpmath.workdps(60):

        def h(x: mpmath.mpf) -> mpmath.mpf:
            v = M * x + mpmath.mpf(M) ** 2 / 2
            return mpmath.log(mpmath.exp(v) * mpmath.ncdf(x + M) - mpmath.ncdf(x)) - m * v

        steps = [
            mpmath.mpf(z) + (1 + abs(mpmath.mpf(z))) * mpmath.mpf(t)
            for t in (0, 1e-12, -1e-12, 1e-7, -1e-7, 0.01, -0.01)
        ]
        highest = max(h(x) for x in steps)
        assert claim >= highest - mpmath.mpf(10) ** -14 * (1 + abs(highest))
        assert claim <= highest + 1e-10 * (10 + abs(highest))
        assert estimate == pytest.approx(float(highest), rel=1e-9, abs=1e-7)
