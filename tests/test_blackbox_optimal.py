"""T1 and Theorem 2 are optimal: linear programs over all (epsilon, delta)-DP mechanisms, proved in rationals."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from absentia.auditing.exact import class_profile, class_value, profile, records
from absentia.auditing.linear_program import Program, worst_mechanism, worst_release
from absentia.errors import InputError
from absentia.theory import channel
from absentia.theory.paper_pipeline import Pipeline, as_is, independent_rows

RATIOS = st.sampled_from([Fraction(2), Fraction(3), Fraction(3, 2), Fraction(7, 5)])
DELTAS = st.sampled_from([Fraction(0), Fraction(1, 100), Fraction(1, 7)])


def laws(size: int, total: int = 12) -> st.SearchStrategy[tuple[Fraction, ...]]:
    cuts = st.lists(st.integers(0, total), min_size=size - 1, max_size=size - 1).map(sorted)
    return cuts.map(lambda c: tuple(Fraction(b - a, total) for a, b in zip([0, *c], [*c, total], strict=True)))


def orders(ratio: Fraction) -> list[Fraction]:
    return [1 + (ratio - 1) * Fraction(k, 5) for k in range(6)]


@settings(max_examples=60)
@given(st.integers(1, 12), RATIOS, DELTAS)
def test_t1_is_the_worst_mechanism_exactly(k: int, ratio: Fraction, delta: Fraction) -> None:
    """Two records seen fully with probability p: no (eps, delta)-DP mechanism exceeds T1 and one attains it."""
    p, claim = Fraction(k, 12), class_profile(ratio, delta).amplified(Fraction(k, 12))
    for alpha in orders(ratio):
        gain = {"z": p, "z'": -alpha * p, "NA": (1 - p) * (1 - alpha)}
        best = worst_mechanism(gain, [("z", "z'"), ("z", "NA"), ("z'", "NA")], ratio, delta)
        assert best.proved
        assert best.upper == claim(alpha)


@settings(max_examples=60)
@given(st.integers(2, 6).flatmap(lambda k: st.tuples(laws(k), laws(k))), RATIOS, DELTAS, st.integers(0, 5))
def test_theorem_2_is_the_worst_mechanism_exactly(
    pair: tuple[tuple[Fraction, ...], tuple[Fraction, ...]], ratio: Fraction, delta: Fraction, step: int
) -> None:
    """For any two laws of the masked row; the certified float lies just above."""
    Q, R = (dict(enumerate(law)) for law in pair)
    alpha = orders(ratio)[step]
    neighbours = [(i, j) for i in Q for j in Q if i < j]
    best = worst_mechanism({i: Q[i] - alpha * R[i] for i in Q}, neighbours, ratio, delta)
    assert best.proved
    assert best.upper == class_value(Q, R, ratio, delta, alpha)
    figures = channel.channel_exact(math.log(ratio), delta, pair[0], pair[1], math.log(alpha))
    assert figures.delta == pytest.approx(float(best.upper), rel=1e-9, abs=1e-12)
    assert figures.tv >= profile(Q, R)(Fraction(1))
    assert class_value(Q, R, ratio, Fraction(0), Fraction(math.exp(figures.epsilon_pure) * (1 + 1e-12))) == 0
    assert figures.epsilon_pure <= figures.epsilon_tv * (1 + 1e-15)


@settings(max_examples=25, deadline=None)
@given(st.data(), RATIOS, DELTAS)
def test_no_mechanism_on_two_masked_rows_exceeds_t1(data: st.DataObject, ratio: Fraction, delta: Fraction) -> None:
    """All mechanisms on both rows of a dataset, any missingness: never above T1 and exactly Theorem 2's value."""
    rows = records(1)
    law = {z: dict(zip(product((0, 1), repeat=1), data.draw(laws(2)), strict=True)) for z in rows}
    z, other, rest = data.draw(st.permutations(rows))
    alpha = data.draw(st.sampled_from(orders(ratio)))
    masks = independent_rows(law.__getitem__)
    best = worst_release(masks, (z, rest), (other, rest), ratio, delta, alpha)
    row = Pipeline(masks, lambda masked: {masked: Fraction(1)}, as_is)
    p_bar = max(1 - law[x][(1,)] for x in (z, other))
    assert best.proved
    assert best.upper == class_value(row.masked((z,)), row.masked((other,)), ratio, delta, alpha)
    assert best.upper <= (class_profile(ratio, delta).amplified(p_bar)(alpha) if p_bar else 0)


def test_the_bounds_hold_without_luck() -> None:
    """A loose float answer still gives a true lower and a true upper bound."""
    gain = {"a": Fraction(1, 3), "b": Fraction(-1, 3)}
    best = worst_mechanism(gain, [("a", "b")], Fraction(10**9 + 7, 10**9), Fraction(1, 10**7 + 19))
    assert best.lower <= best.upper
    assert best.upper - best.lower < Fraction(1, 10**5)
    for x, y in (("a", "b"), ("b", "a")):  # the event is a mechanism of the class
        alpha, d = Fraction(10**9 + 7, 10**9), Fraction(1, 10**7 + 19)
        assert best.event[x] <= alpha * best.event[y] + d
        assert 1 - best.event[x] <= alpha * (1 - best.event[y]) + d


def test_an_infeasible_point_moves_just_as_far_as_needed() -> None:
    program = Program([Fraction(1), Fraction(-1)], [(0, Fraction(1), 1, Fraction(-2), Fraction(0))])  # x <= 2 y
    assert program.feasible([Fraction(2, 3), Fraction(1, 3)]) == [Fraction(2, 3), Fraction(1, 3)]
    x, y = program.feasible([Fraction(1), Fraction(0)])
    assert (x, y) == (Fraction(2, 3), Fraction(1, 3))
    assert program.dual_value([Fraction(1)]) >= program.value([x, y])


def test_an_impossible_class_is_refused() -> None:
    with pytest.raises(InputError, match="ratio"):
        worst_mechanism({"a": Fraction(1)}, [], Fraction(1, 2), Fraction(0))
