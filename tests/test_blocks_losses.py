"""The machinery of T9: losses that dominate, a transform whose error is bounded, properties of the curve."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from absentia.errors import InputError
from absentia.exact import ball, precision
from absentia.law.reachlaw import ReachLaw
from absentia.theory.blocks import FreshMasks, IndependentBlocks
from absentia.theory.fourier import Cumulant, composed, convolved
from absentia.theory.loss import LossPair
from absentia.theory.loss_grid import GridLosses, Losses, on_grid
from absentia.theory.noise import BlackBox, Gaussian, Laplace
from absentia.theory.pair import ORIGIN, dominating_pair

MICRO = Fraction(1, 10**6)


def atoms(*pairs: tuple[object, object]) -> Any:
    return ReachLaw([x for x, _ in pairs], [Fraction(str(q)) for _, q in pairs]).atoms


COLUMN = atoms((0, "0.9"), (1, "0.1"))


def grid_delta(losses: GridLosses, epsilon: float) -> float:
    return losses.infinite + float(np.sum(np.clip(-np.expm1(epsilon - losses.levels), 0, None) * losses.mass))


@pytest.mark.parametrize("noise", [Gaussian(1), Laplace("0.7")])
@pytest.mark.parametrize(
    "law",
    [COLUMN, atoms((1, 1)), atoms((0, "0.5"), ("0.25", "0.25"), (2, "0.25")), atoms((0, "0.999999"), (3, "0.000001"))],
)
def test_discretised_losses_dominate_at_every_order(noise: Any, law: Any) -> None:
    """H_alpha of the finite losses against the certified T2 curve, orders below 0 by H_a = 1 - a + a H_{1/a}."""
    losses = LossPair(noise, law, law).on_grid(2.0**-9, 1e-12, math.inf, 1.0, proved=True)
    exact = dominating_pair(noise, law)
    for epsilon in (0.0, 2.0**-10, 0.1, 0.37, 1.0, 2.0, 4.0):
        truth = exact.delta(Fraction(epsilon))
        assert grid_delta(losses, epsilon) >= truth * (1 - 1e-12)
        assert grid_delta(losses, epsilon) <= truth * 1.01 + losses.gap / 4
        below = -math.expm1(-epsilon) + math.exp(-epsilon) * truth
        assert grid_delta(losses, -epsilon) >= below * (1 - 1e-12)


def test_masses_are_proved_and_sum_to_one() -> None:
    pair = LossPair(Gaussian(2), COLUMN, COLUMN)
    proved, guessed = (pair.on_grid(2.0**-10, 1e-14, math.inf, 5.0, proved=p) for p in (True, False))
    assert 1 <= proved.mass.sum() + proved.infinite <= 1 + 1e-12
    assert np.array_equal(proved.index, guessed.index)
    assert np.allclose(proved.mass, guessed.mass, rtol=1e-5, atol=1e-12)


@settings(max_examples=200, deadline=None)
@given(
    levels=st.lists(st.floats(-5, 5), min_size=1, max_size=8, unique=True),
    masses=st.lists(st.floats(1e-9, 1), min_size=8, max_size=8),
    order=st.floats(-5, 5),
    cut=st.floats(-4, 6),
)
def test_moves_to_the_grid_never_lower_delta(
    levels: list[float], masses: list[float], order: float, cut: float
) -> None:
    level, mass = np.array(sorted(levels)), np.array(masses[: len(levels)]) / 8
    before = float(np.sum(np.clip(-np.expm1(order - level), 0, None) * mass))
    moved = on_grid(Losses(level, mass, 0.0).capped(cut), 2.0**-6)
    assert grid_delta(moved, order) >= before * (1 - 1e-12)
    assert moved.mass.sum() + moved.infinite >= min(1.0, mass.sum()) * (1 - 1e-12)


def exact_convolution(parts: list[tuple[GridLosses, int]]) -> dict[int, Fraction]:
    total = {0: Fraction(1)}
    for losses, count in parts:
        for _ in range(count):
            grown: dict[int, Fraction] = {}
            for i, p in total.items():
                for j, q in zip(losses.index.tolist(), losses.mass.tolist(), strict=True):
                    grown[i + j] = grown.get(i + j, Fraction(0)) + p * Fraction(q)
            total = grown
    return total


@settings(max_examples=40, deadline=None)
@given(
    masses=st.lists(st.lists(st.integers(1, 10**6), min_size=2, max_size=5), min_size=1, max_size=3),
    counts=st.lists(st.integers(1, 4), min_size=3, max_size=3),
    tilt=st.floats(0.01, 1.5),
)
def test_convolution_is_above_the_exact_one_and_close(masses: list[list[int]], counts: list[int], tilt: float) -> None:
    """Every entry of the tilted sum, untilted exactly in balls, against rational convolution."""
    parts = [
        (GridLosses(np.arange(len(m)) - 1, np.array(m, dtype=float) / sum(m), 0.0, 1.0), n)
        for m, n in zip(masses, counts, strict=False)
    ]
    z = Cumulant.of_grid(parts).each(tilt)
    c, relative = convolved(parts, tilt, z, 64)
    assert relative < 1e-11
    with precision(200):
        for j, q in exact_convolution(parts).items():
            shift = sum((n * ball(float(s)) for (_, n), s in zip(parts, z, strict=True)), ball(0))
            tilted = ball(q) * (ball(tilt) * j - shift).exp()
            assert ball(float(c[j % 64])) * ball(relative).exp() >= tilted
            assert float(c[j % 64]) <= float(tilted.mid()) + 1e-13


def test_wrapping_around_only_adds() -> None:
    """A window far too short for the sum: still above the exact delta wherever it claims one."""
    part = GridLosses(np.array([-3, 0, 4]), np.array([0.25, 0.5, 0.25]), 0.0, 0.25)
    truth = exact_convolution([(part, 12)])
    for theta in (0.2, 1.0, 3.0):
        bound = composed([(part, 12)], theta)
        for epsilon in np.arange(max(0.0, bound.low), 12.0, 0.37):
            exact = sum(float(q) * max(0.0, -math.expm1(epsilon - 0.25 * j)) for j, q in truth.items())
            assert bound.delta(float(epsilon)) >= exact * (1 - 1e-12)
        assert bound.delta(bound.low - 0.01) == 1.0


def test_epsilon_and_delta_are_inverse() -> None:
    blocks = IndependentBlocks.of([(Gaussian(5), COLUMN)] * 30 + [(Laplace(6), COLUMN)] * 10)
    for delta in ("0.01", "1e-4", "1e-6", "1e-9", "1e-15"):
        epsilon = blocks.epsilon(Fraction(delta))
        assert blocks.delta(Fraction(epsilon)) == pytest.approx(float(Fraction(delta)), rel=2e-3)
        estimate = blocks.epsilon(Fraction(delta), certified=False)
        assert estimate == pytest.approx(epsilon, rel=1e-6)


def test_the_curve_falls() -> None:
    blocks = IndependentBlocks.of([(Gaussian(5), COLUMN)] * 30)
    deltas = [blocks.delta(Fraction(e, 10)) for e in range(0, 30, 3)]
    assert all(a > b > 0 for a, b in itertools.pairwise(deltas))


@settings(max_examples=15, deadline=None)
@given(p=st.integers(1, 98), reach=st.floats(0.1, 2), k=st.integers(1, 40), c=st.floats(1e-6, 1e6))
def test_laws_of_nature(p: int, reach: float, k: int, c: float) -> None:
    """More mass, more reach or more blocks never help; the scale of reach and noise together does not matter."""

    def epsilon(share: int, r: float, blocks: int, sigma: float = 2.0) -> float:
        law = ReachLaw([0, r], [Fraction(100 - share, 100), Fraction(share, 100)]).atoms
        return IndependentBlocks.of([(Gaussian(sigma), law)] * blocks).epsilon(MICRO, certified=False)

    here = epsilon(p, reach, k)
    slack = 1 - 1e-3
    assert epsilon(p + 1, reach, k) >= here * slack
    assert epsilon(p, reach * 1.05, k) >= here * slack
    assert epsilon(p, reach, k + 1) >= here * slack
    assert epsilon(p, reach * c, k, 2.0 * c) == pytest.approx(here, rel=1e-3, abs=1e-9)


def test_order_of_blocks_and_grouping_do_not_matter() -> None:
    other = atoms((0, "0.5"), (2, "0.5"))
    mixed = [(Gaussian(9), COLUMN), (Laplace(20), other)] * 5
    one, two = IndependentBlocks.of(mixed), IndependentBlocks.of(mixed[::-1])
    assert one.epsilon(MICRO) == pytest.approx(two.epsilon(MICRO), rel=1e-9)
    assert FreshMasks.of(mixed).epsilon(MICRO) == one.epsilon(MICRO)
    assert FreshMasks.of(mixed).result == "T2 composed"


def test_nothing_shown_costs_nothing() -> None:
    blocks = IndependentBlocks.of([(Gaussian(1), atoms((0, 1)))] * 3)
    assert blocks.epsilon(MICRO) == 0
    assert blocks.delta(Fraction(0)) == 0


@pytest.mark.parametrize(
    ("blocks", "delta"),
    [
        ([(Gaussian(1), atoms((0, "0.999999999999"), (1, "0.000000000001")))] * 100, "1e-6"),
        ([(Gaussian("0.001"), atoms((0, "0.9999999"), (1, "0.0000001")))] * 3, "1e-6"),
        ([(Gaussian("0.001"), atoms((0, "0.5"), (1, "0.5")))] * 3, "1e-6"),
        ([(Laplace("0.001"), atoms((0, "0.5"), (1, "0.5")))] * 3, "1e-6"),
        ([(Gaussian(10**9), atoms((1, 1)))] * 3, "1e-12"),
        ([(Gaussian(1), COLUMN)] * 3, "1e-300"),
        ([(Gaussian(1), COLUMN)] * 3, "0.9"),
    ],
)
@pytest.mark.filterwarnings("error")
def test_extreme_input_gives_an_upper_bound_and_no_warning(blocks: Any, delta: str) -> None:
    """Never below one block alone, never above all of them always seen together and at once."""
    found = IndependentBlocks.of(blocks).epsilon(Fraction(delta))
    alone = dominating_pair(*blocks[0]).epsilon(Fraction(delta))
    noise, law = blocks[0]
    together = len(blocks) if noise.norm == 1 else math.sqrt(len(blocks))
    most = dominating_pair(noise, ReachLaw.point(max(x for x, _ in law) * together).atoms).epsilon(Fraction(delta))
    assert alone * (1 - 1e-12) <= found + 1e-20
    assert found <= most * 1.002 + 1e-12 or math.isinf(found)
    assert not math.isinf(found) or delta == "1e-300"


def test_add_remove_is_the_worse_direction() -> None:
    blocks = [(Gaussian(3), COLUMN)] * 20
    worst = IndependentBlocks.of(blocks, "add_remove")
    assert worst.epsilon(MICRO) < IndependentBlocks.of(blocks).epsilon(MICRO)
    pairs = [LossPair(Gaussian(3), COLUMN, ORIGIN), LossPair(Gaussian(3), ORIGIN, COLUMN)]
    sides = [IndependentBlocks(((pair, 20),), "T9", ()) for pair in pairs]
    assert worst.epsilon(MICRO) == max(side.epsilon(MICRO) for side in sides)


def test_a_profile_is_refused_in_a_block() -> None:
    with pytest.raises(InputError, match="a black box with epsilon and delta"):
        IndependentBlocks.of([(BlackBox(profile=lambda e: 0.1), COLUMN)]).epsilon(MICRO)


def test_a_bound_has_no_truth_value() -> None:
    with pytest.raises(TypeError):
        bool(IndependentBlocks.of([(Gaussian(1), COLUMN)]))
