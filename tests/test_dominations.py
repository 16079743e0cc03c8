"""Which result is never worse than which: properties over random laws, noises and budgets."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from absentia.law.reachlaw import ReachLaw
from absentia.theory import paper
from absentia.theory.base import ClassBase
from absentia.theory.blackbox import BlackBoxAmplified, DependentRows
from absentia.theory.bound import Bound, proved_above
from absentia.theory.hybrid import hybrid_delta
from absentia.theory.noise import BlackBox, Gaussian, Laplace, Noise
from absentia.theory.pair import KnownMask, dominating_pair
from absentia.theory.pure import pure_epsilon
from absentia.theory.relaxed import Relaxed, RelaxedLaplace, relaxed, relaxed_laplace

scales = st.floats(0.2, 20)
noises = st.one_of(scales.map(Laplace), scales.map(Gaussian))
shares = st.floats(0.001, 1)
orders = st.floats(0, 6).map(Fraction)
budgets = st.floats(0.01, 1)
constants = st.lists(st.floats(0.1, 5), min_size=1, max_size=5)


@st.composite
def laws(draw: st.DrawFn) -> ReachLaw:
    k = draw(st.integers(1, 5))
    reach = draw(st.lists(st.one_of(st.just(0.0), st.floats(1e-3, 6)), min_size=k, max_size=k))
    weights = draw(st.lists(st.integers(1, 50), min_size=k, max_size=k))
    return ReachLaw(reach, [Fraction(w, sum(weights)) for w in weights])


def at_most(low: float, high: float) -> bool:
    """low <= high, both proved upper bounds that may be a few doubles above their true values."""
    return low <= high * (1 + 1e-14) + 1e-320


def black_box(noise: Noise, law: ReachLaw) -> Bound:
    """T1 for the noise taken as a black box: its own profile at twice the largest reach."""
    return BlackBoxAmplified(dominating_pair(noise, ((law.max, Fraction(1)),)), law.p_exact)


def dominating(noise: Noise, law: ReachLaw) -> Bound:
    return dominating_pair(noise, law.atoms)


def known_mask(noise: Noise, law: ReachLaw) -> Bound:
    return KnownMask(noise, law.atoms)


@given(noises, laws(), orders)
def test_t2_is_never_above_t1_t5_or_the_hybrid(noise: Noise, law: ReachLaw, epsilon: Fraction) -> None:
    pair, known = dominating(noise, law).delta(epsilon), known_mask(noise, law).delta(epsilon)
    between = hybrid_delta(noise, law.atoms, epsilon)
    assert at_most(pair, black_box(noise, law).delta(epsilon))
    assert at_most(pair, between)
    assert at_most(between, known)


@settings(max_examples=40)
@given(noises, laws(), st.floats(1e-12, 0.3).map(Fraction))
def test_the_same_for_epsilon_at_delta(noise: Noise, law: ReachLaw, delta: Fraction) -> None:
    pair, known = dominating(noise, law).epsilon(delta), known_mask(noise, law).epsilon(delta)
    assert pair <= known * (1 + 1e-9)
    assert pair <= black_box(noise, law).epsilon(delta) * (1 + 1e-9)


@given(st.floats(0.01, 8), shares, constants, st.data())
def test_t2_and_t3_are_never_above_p6(epsilon: float, p: float, L: list[float], data: st.DataObject) -> None:
    k = data.draw(st.integers(1, len(L)))
    published = paper.laplace(epsilon, p, L, k)
    law = ReachLaw.from_paper(p, L, k)
    t3 = proved_above(lambda: pure_epsilon(law.atoms, published.scale))
    pair = dominating_pair(Laplace(published.scale), law.atoms)
    assert at_most(t3, published.epsilon)
    assert at_most(pair.epsilon(Fraction(0)), published.epsilon)
    assert pair.delta(Fraction(math.nextafter(t3, math.inf))) == 0
    if p < 0.99:
        assert t3 < published.epsilon


@given(budgets, st.floats(1e-12, 0.1), shares, constants, st.data())
def test_t2_is_never_above_p7(epsilon: float, delta: float, p: float, L: list[float], data: st.DataObject) -> None:
    k = data.draw(st.integers(1, len(L)))
    published = paper.gaussian(epsilon, delta, p, L, k)
    pair = dominating_pair(Gaussian(published.sigma), ReachLaw.from_paper(p, L, k).atoms)
    assert at_most(pair.delta(Fraction(published.epsilon)), published.delta)


@st.composite
def relaxed_worlds(draw: st.DrawFn) -> tuple[list[float], int, Fraction, Fraction]:
    """(constants, k, p, r): more than k features are seen with probability r <= p."""
    L = draw(st.lists(st.floats(0.1, 5), min_size=2, max_size=5))
    k = draw(st.integers(1, len(L) - 1))
    r, p = sorted(Fraction(draw(st.integers(1, 99)), 100) for _ in range(2))
    return L, k, p, r


@given(st.floats(0.01, 6), relaxed_worlds(), orders)
def test_t2_is_never_above_t6_nor_t6_above_p8_for_laplace(
    epsilon: float, world: tuple[list[float], int, Fraction, Fraction], order: Fraction
) -> None:
    L, k, p, r = world
    published = paper.relaxed_laplace(epsilon, p, L, k, eta=r, r=r)
    law = ReachLaw.from_paper(p, L, k, eta=r)
    scale = Fraction(paper.sensitivity(L)) / Fraction(epsilon)
    pair = dominating_pair(Laplace(float(scale)), law.atoms)
    tilde = Fraction(paper.sensitivity(L, k)) / scale
    improved, curve = relaxed_laplace(epsilon, tilde, p, r), RelaxedLaplace(epsilon, tilde, p, r)
    assert at_most(improved.epsilon, published.epsilon)
    assert at_most(improved.delta, published.delta)
    assert pair.delta(Fraction(published.epsilon)) <= published.delta * (1 + 1e-12)
    assert pair.delta(order) <= curve.delta(order) * (1 + 1e-12) + 1e-15
    assert curve.delta(Fraction(improved.epsilon)) <= improved.delta * (1 + 1e-12)


@given(budgets, st.floats(1e-12, 0.1), relaxed_worlds())
def test_t2_is_never_above_t6_nor_t6_above_p8_for_gauss(
    epsilon: float, delta: float, world: tuple[list[float], int, Fraction, Fraction]
) -> None:
    L, k, p, r = world
    published = paper.relaxed_gaussian(epsilon, delta, p, L, k, eta=r, r=r)
    sigma = paper.gaussian(epsilon, delta, p, L).sigma
    tilde = Fraction(epsilon) * Fraction(paper.sensitivity(L, k)) / Fraction(paper.sensitivity(L))
    sparse = relaxed(tilde, delta, p, r)
    assert at_most(sparse.epsilon, published.epsilon)
    assert at_most(sparse.delta, published.delta)
    law = ReachLaw.from_paper(p, L, k, eta=r)
    pair = dominating_pair(Gaussian(sigma), law.atoms)
    own = Relaxed(dominating_pair(Gaussian(sigma), ((law.reach[1], Fraction(1)),)), p, r)
    assert at_most(pair.delta(Fraction(published.epsilon)), published.delta)
    for e in (Fraction(0), Fraction(1, 5), Fraction(published.epsilon)):
        assert pair.delta(e) <= own.delta(e) * (1 + 1e-12)


@given(st.floats(0.01, 6), st.floats(0, 0.1), shares, shares, st.floats(0, 1.2))
def test_t1_is_never_above_p1(epsilon: float, delta: float, p: float, p_prime: float, part: float) -> None:
    """Over the whole curve in lambda, and at any single order."""
    low, high = sorted((p, p_prime))
    t1 = BlackBoxAmplified(BlackBox(epsilon, delta), high)
    for point in paper.mnar_curve(epsilon, delta, p_max=high, p_min=low, points=7):
        assert t1.delta(Fraction(point.epsilon)) <= point.delta * (1 + 1e-12)
    out = part * epsilon
    assert t1.delta(Fraction(out)) <= paper.mnar_delta(epsilon, delta, out, p_max=high, p_min=low) * (1 + 1e-12)


@given(noises, laws(), st.lists(st.one_of(st.just(0.0), st.floats(1e-3, 3)), min_size=5, max_size=5), orders)
def test_monotone_in_stochastic_order(noise: Noise, law: ReachLaw, lifts: list[float], epsilon: Fraction) -> None:
    """Every reach may only grow: each of T1, T2, T3, T5 grows with it."""
    lifted = ReachLaw([x + dx for x, dx in zip(law.reach, lifts, strict=False)], [q for _, q in law.atoms])
    assume(law.dominated_by(lifted))
    for result in (dominating, known_mask, black_box):
        assert at_most(result(noise, law).delta(epsilon), result(noise, lifted).delta(epsilon))
    assert at_most(*(proved_above(lambda w=w: pure_epsilon(w.atoms)) for w in (law, lifted)))


@given(noises, st.lists(laws(), min_size=2, max_size=3), orders)
def test_the_envelope_covers_every_record(noise: Noise, given_laws: list[ReachLaw], epsilon: Fraction) -> None:
    covered = dominating_pair(noise, ReachLaw.envelope(given_laws).atoms).delta(epsilon)
    for law in given_laws:
        assert law.dominated_by(ReachLaw.envelope(given_laws))
        assert at_most(dominating(noise, law).delta(epsilon), covered)


@given(noises, laws(), st.integers(1, 4), orders)
def test_coarsening_is_on_the_safe_side(noise: Noise, law: ReachLaw, atoms: int, epsilon: Fraction) -> None:
    coarse = law.coarsened(atoms)
    assert law.dominated_by(coarse)
    assert at_most(dominating(noise, law).delta(epsilon), dominating(noise, coarse).delta(epsilon))


@given(st.floats(0.01, 3), st.floats(0, 0.1), shares, orders)
def test_t8_without_other_rows_is_t1(epsilon: float, delta: float, p: float, order: Fraction) -> None:
    alone = DependentRows(epsilon, delta, 0, p)
    assert alone.delta(order) == BlackBoxAmplified(ClassBase(epsilon, delta), p).delta(order)
    assert alone.delta(order) <= DependentRows(epsilon, delta, 1, p).delta(order)


def test_flat_losses_and_vanishing_reaches() -> None:
    """Gaussian losses that a float cannot tell from 0: far atoms at epsilon 0, reaches near the smallest double."""
    far = ReachLaw([0, 2], ["1/2", "1/2"])
    assert dominating(Gaussian("0.203125"), far).delta(Fraction(0)) == pytest.approx(0.5, rel=1e-6)
    for reach in (1e-20, 1e-200, 2e-311, 5e-324):
        tiny = dominating(Gaussian(1), ReachLaw([0, reach], ["1/2", "1/2"]))
        assert reach / math.sqrt(2 * math.pi) <= tiny.delta(Fraction(0)) <= max(reach, 1e-100)
        assert tiny.delta(Fraction(1)) < 1e-300
        assert tiny.epsilon(Fraction(1, 10**6)) == 0


@pytest.mark.parametrize("noise", [Laplace(1), Gaussian(1)])
def test_nothing_missing_is_the_noise_itself(noise: Noise) -> None:
    """p* = 1 and one reach: T1, T2 and T5 are the hockey-stick at twice the reach."""
    law, e = ReachLaw.point("0.75"), Fraction("0.3")
    own = noise.hockey_stick("1.5", Fraction(math.exp(float(e))))
    for bound in (dominating(noise, law), known_mask(noise, law), black_box(noise, law)):
        assert bound.delta(e) == pytest.approx(own, rel=1e-12)
