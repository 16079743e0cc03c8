"""The reach law: exact masses, rounding towards the dominating side, stochastic order, constructors, bad input."""

from __future__ import annotations

import math
from fractions import Fraction as F  # noqa: N817
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

import absentia as ab
from absentia.exact import root_up
from absentia.law.blocks import Blocks
from absentia.theory.paper import entries_observed

reaches = st.lists(st.floats(0, 1e3), min_size=1, max_size=8, unique=True)


@st.composite
def laws(draw: st.DrawFn) -> ab.ReachLaw:
    x = draw(reaches)
    weights = draw(st.lists(st.integers(1, 1000), min_size=len(x), max_size=len(x)))
    return ab.ReachLaw(x, [F(w, sum(weights)) for w in weights])


@given(laws())
def test_masses_sum_to_exactly_one_and_dominate(law: ab.ReachLaw) -> None:
    assert sum(q for _, q in law.atoms) == 1
    assert list(law.reach) == sorted(set(law.reach))
    assert law.survival(0) == 1
    assert law.survival(law.max) >= float(law.atoms[-1][1])


@given(laws(), st.integers(1, 10))
def test_coarsening_never_lowers(law: ab.ReachLaw, atoms: int) -> None:
    coarse = law.coarsened(atoms)
    assert len(coarse.reach) <= atoms
    assert law.dominated_by(coarse)
    assert coarse.full_reach == law.full_reach


@given(st.lists(laws(), min_size=1, max_size=4))
def test_envelope_dominates_each_and_is_the_smallest(members: list[ab.ReachLaw]) -> None:
    top = ab.ReachLaw.envelope(members)
    assert all(m.dominated_by(top) for m in members)
    for x in top.reach:
        assert top.survival(x) <= max(m.survival(x) for m in members) * (1 + 1e-15) + 1e-300


@given(laws(), st.floats(1e-3, 1e3))
def test_scaling_rounds_up(law: ab.ReachLaw, c: float) -> None:
    for x, y in zip(law.reach, law.scaled(c).reach, strict=False):
        assert F(y) >= F(x) * F(c)
    assert law.scaled(1) == law


@given(
    st.lists(st.tuples(st.integers(0, 5), st.fractions(0, 1, max_denominator=20)), min_size=1, max_size=5),
    st.sampled_from([1, 2]),
)
def test_independent_features_equal_enumeration(parts: list[tuple[int, F]], norm: int) -> None:
    law = ab.ReachLaw.independent([w for w, _ in parts], [p for _, p in parts], norm)  # type: ignore[arg-type]
    truth: dict[int, F] = {}
    for seen in product([0, 1], repeat=len(parts)):
        power = sum(w**norm for (w, _), s in zip(parts, seen, strict=True) if s)
        mass = math.prod((p if s else 1 - p for (_, p), s in zip(parts, seen, strict=True)), start=F(1))
        truth[power] = truth.get(power, F(0)) + mass
    for power in truth:
        above = sum(m for x, m in truth.items() if x >= power)
        assert 0 <= F(law.survival(root_up(F(power), norm))) - above <= F(1, 10**12)


def test_ten_thousand_features_dominate_the_exact_mean() -> None:
    law = ab.ReachLaw.independent([1.0] * 10_000, ["0.05"] * 10_000, 1)
    assert len(law.reach) <= 10_001
    assert 500 <= law.mean <= 500 * (1 + 1e-6)
    weights = [1 + (k % 97) / 97 for k in range(2_000)]
    seen = [((k * 7) % 100) / 100 for k in range(2_000)]
    law = ab.ReachLaw.independent(weights, seen, 1)
    exact = sum(w * p for w, p in zip(weights, seen, strict=True))
    assert exact <= law.mean <= 1.01 * exact


def test_paper_laws_and_counts() -> None:
    two = ab.ReachLaw.from_paper("0.5", [1, 1, 1, 1], k=2)
    assert (two.reach, two.full_reach, two.p_star) == ((0.0, 2.0), 4.0, 0.5)
    three = ab.ReachLaw.from_paper("0.5", [1, 1, 1, 1], rho=0.5, eta="0.1")
    assert three.reach == (0.0, 2.0, 4.0)
    assert three.survival(4) == 0.1
    counts = ab.ReachLaw.from_counts(["0.5", "0.25", "0.25"], [1, 3, 2], norm=1)
    assert counts.reach == (0.0, 3.0, 5.0)
    assert counts.full_reach == 6.0


def test_floor_of_rho_d_is_exact_for_every_share_of_a_hundred() -> None:
    for d in range(1, 101):
        for k in range(d + 1):
            assert entries_observed(F(k, d), d) == k
            assert entries_observed(k / d, d) == k
    assert entries_observed(0.29, 100) == 29
    assert math.floor(0.29 * 100) == 28


def test_a_shortfall_goes_to_the_largest_an_excess_leaves_the_smallest() -> None:
    assert ab.ReachLaw([0, 1], [0.5, 0.5 - 5e-10]).atoms[1][1] >= F(1, 2)
    assert ab.ReachLaw([0, 1], [0.5 + 5e-10, 0.5]).atoms == ((0.0, F(1, 2)), (1.0, F(1, 2)))


@given(laws())
def test_dictionaries_round_trip(law: ab.ReachLaw) -> None:
    assert ab.ReachLaw.from_dict(law.to_dict()) == law


@pytest.mark.parametrize(
    ("reach", "mass", "field"),
    [
        ([0, 1], [0.5, 0.6], "mass"),
        ([0, 1], [0.5, 0.5, 0.0], "mass"),
        ([], [], "mass"),
        ([-1, 1], [0.5, 0.5], "reach[0]"),
        ([0, math.nan], [0.5, 0.5], "reach[1]"),
        ([0, math.inf], [0.5, 0.5], "reach[1]"),
        ([0, 1], [1.5, -0.5], "mass[1]"),
        ([0, 1], [math.nan, 0.5], "mass[0]"),
        ([0, 1], ["a", 0.5], "mass[0]"),
    ],
)
def test_bad_laws_name_the_field(reach: list[float], mass: list[float], field: str) -> None:
    with pytest.raises(ab.InputError) as refusal:
        ab.ReachLaw(reach, mass)
    assert refusal.value.field == field
    assert refusal.value.exit_code == 2


def test_full_reach_is_at_least_the_law() -> None:
    with pytest.raises(ab.InputError, match="full_reach"):
        ab.ReachLaw([0, 2], [0.5, 0.5], full_reach=1)
    with pytest.raises(ab.InputError, match=r"law\.typo"):
        ab.ReachLaw.from_dict({"reach": [0], "mass": [1], "typo": 1})


@given(st.fractions(0, 10**6), st.sampled_from([1, 2]))
def test_roots_round_up_to_the_next_double(x: F, norm: int) -> None:
    r = root_up(x, norm)
    assert F(r) ** norm >= x
    assert r == 0 or F(math.nextafter(r, 0)) ** norm < x


def test_a_stack_never_reaches_beyond_the_row_that_shows_all() -> None:
    law = ab.ReachLaw.independent([1000] + [0.01] * 99, ["1e-6"] + ["0.5"] * 99, norm=2)
    assert 1000 <= law.full_reach < 1000.00001
    assert law.max <= law.full_reach
    assert law.mean <= 10.1  # weights below a step of the grid are one weight that is always seen


@pytest.mark.parametrize("grid", [-1, 0, 2.5, True])
def test_a_grid_has_steps(grid: int) -> None:
    with pytest.raises(ab.InputError) as refusal:
        ab.ReachLaw.independent([1, 2], ["1/2", "1/2"], grid=grid)
    assert refusal.value.field == "grid"


def test_every_constructor_says_whether_masks_depend_on_values() -> None:
    half = ["1/2", "1/2"]
    for law in (
        ab.ReachLaw.from_patterns([0, 1], half, data_dependent=True),
        ab.ReachLaw.combined([[0, 1]], half, 1, data_dependent=True),
        ab.ReachLaw.independent([1], ["1/2"], data_dependent=True),
        ab.ReachLaw.from_paper("1/2", [1], k=1, data_dependent=True),
        ab.ReachLaw.from_paper("1/2", [1], k=1, eta="1/4", data_dependent=True),
        ab.ReachLaw.from_counts(half, [1], data_dependent=True),
    ):
        assert law.data_dependent


def test_a_law_of_several_says_no_more_than_each_of_them() -> None:
    drawn = ab.ReachLaw.point(1).claimed("protocol", "office", "design")
    assumed = ab.ReachLaw([0, 1], ["1/2", "1/2"])
    bounded = assumed.claimed("histogram", "office", "certified")
    for parts, words in (
        ([drawn, drawn], ("protocol", "office", "design")),
        ([drawn, assumed], ("", "", "declared")),
        ([assumed, drawn], ("", "", "declared")),
        ([drawn, bounded], ("protocol; histogram", "office", "certified")),
    ):
        for law in (ab.ReachLaw.envelope(parts), Blocks(parts).total(1)):
            assert (law.because, law.by, law.kind) == words
    classes = Blocks(classes=[("1/2", [drawn]), ("1/2", [assumed])])
    assert classes.total(2).kind == "declared"
