"""The odds bound, level by level: exact, worst cases attained, and the questions asked backwards."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from absentia import missing
from absentia.amplification import amplify
from absentia.law.blocks import Blocks
from absentia.law.reachlaw import ReachLaw
from absentia.query.reach import Reach, Term
from absentia.theory.noise import Gaussian, Laplace

COLUMNS = ("a", "b", "c")
laws = st.lists(st.integers(1, 30), min_size=2, max_size=5).map(
    lambda w: ReachLaw(list(range(len(w))), [Fraction(x, sum(w)) for x in w])
)
share = st.fractions(0, 1, max_denominator=50)
odds = st.fractions(1, 20, max_denominator=12)


@given(laws, odds)
@settings(max_examples=200, deadline=None)
def test_every_level_gets_the_odds_bound(law: ReachLaw, factor: Fraction) -> None:
    worse = missing.gamma(law, factor)
    for x in law.reach[1:]:
        s = sum(q for y, q in law.atoms if y >= x)
        stay = (1 - s) / s / factor  # odds of staying below, divided
        found = sum(q for y, q in worse.atoms if y >= x)
        assert 0 <= found - 1 / (1 + stay) < Fraction(1, 10**14)
    assert law.dominated_by(worse) or factor == 1
    assert worse.data_dependent == (factor > 1)


@given(laws, odds, odds)
@settings(max_examples=100, deadline=None)
def test_odds_multiply_and_one_changes_nothing(law: ReachLaw, a: Fraction, b: Fraction) -> None:
    twice, once = missing.gamma(missing.gamma(law, a), b), missing.gamma(law, a * b)
    assert [float(q) for _, q in twice.atoms] == pytest.approx([float(q) for _, q in once.atoms], abs=1e-13)
    assert missing.gamma(law, 1).atoms == law.atoms


@given(
    st.fractions(0, 1, max_denominator=50),
    st.fractions(0, 1, max_denominator=50),
    st.fractions(0, 1, max_denominator=50),
)
@settings(max_examples=300, deadline=None)
def test_no_two_types_of_record_can_beat_the_bound(p: Fraction, q: Fraction, first: Fraction) -> None:
    """Two types of record with show-probabilities p and q: their average and odds ratio bound the larger one."""
    if not (0 < p <= q < 1 and 0 < first < 1):
        return
    marginal = first * p + (1 - first) * q
    ratio = (q / (1 - q)) / (p / (1 - p))
    bound = missing.gamma(ReachLaw([0, 1], [1 - marginal, marginal]), ratio).p_exact
    assert bound >= q


def test_processes_carry_gamma_to_laws_and_blocks() -> None:
    base = missing.independent(COLUMNS, dict.fromkeys(COLUMNS, "0.5"))
    worse = missing.gamma(base, 3)
    reach = Reach(2, [Term(frozenset({c}), 1.0) for c in COLUMNS])
    assert worse.law(reach).atoms == missing.gamma(base.law(reach), 3).atoms
    blocks = worse.joint(reach)
    assert isinstance(blocks, Blocks)
    assert [b.p_star for b in blocks.blocks] == [0.75] * 3
    assert worse.data_dependent
    assert not base.data_dependent


def test_the_curve_rises_and_ends_without_benefit() -> None:
    law = ReachLaw([0, 1], ["0.7", "0.3"])
    curve = missing.gamma_curve(Laplace(2), law, [1, 2, 5, 10**6])
    values = [epsilon for _, epsilon in curve]
    assert [g for g, _ in curve] == ["1", "2", "5", "1000000"]
    assert values == sorted(values)
    assert values[0] == amplify(Laplace(2), law).epsilon(delta=0)
    assert values[-1] == pytest.approx(1.0, abs=1e-5)  # twice the reach over the scale


@pytest.mark.parametrize(("noise", "delta"), [(Laplace(1), "0"), (Gaussian(3), "1e-6")])
def test_what_must_hold_is_the_edge(noise: Laplace | Gaussian, delta: str) -> None:
    law = ReachLaw([0, 1], ["0.8", "0.2"])
    needed = missing.what_must_hold(noise, law, "1", delta)
    assert needed.gamma is not None
    assert needed.p_star is not None
    step = Fraction(1, 10**4)
    for gamma, holds in ((Fraction(needed.gamma), True), (Fraction(needed.gamma) + step, False)):
        assert (amplify(noise, missing.gamma(law, gamma)).epsilon(delta=delta) <= 1) == holds
    for p, holds in ((Fraction(needed.p_star), True), (Fraction(needed.p_star) + step, False)):
        assert (amplify(noise, ReachLaw([0, 1], [1 - p, p])).epsilon(delta=delta) <= 1) == holds


def test_what_cannot_hold_or_always_holds() -> None:
    law = ReachLaw([0, 1], ["0.5", "0.5"])
    assert missing.what_must_hold(Laplace("0.5"), law, "0.1").gamma is None
    always = missing.what_must_hold(Laplace(100), law, "1")
    assert (always.gamma, always.p_star) == ("1000000", "1")
