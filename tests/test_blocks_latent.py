"""Latent classes and the frozen value Blocks: against direct integration, enumeration and the plain results."""

from __future__ import annotations

import itertools
import math
import time
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from absentia.errors import InputError
from absentia.law.blocks import Blocks
from absentia.law.reachlaw import ReachLaw
from absentia.theory.blocks import IndependentBlocks
from absentia.theory.latent import LatentClasses
from absentia.theory.noise import BlackBox, Gaussian, Laplace
from absentia.theory.pair import dominating_pair

MICRO = Fraction(1, 10**6)
HALF = Fraction(1, 2)


def column(p: object, reach: object = 1) -> ReachLaw:
    return ReachLaw([0, reach], [1 - Fraction(str(p)), Fraction(str(p))])


def plane(classes: list[tuple[float, float, float]], records: tuple[float, float]) -> np.ndarray:
    """The density of two unit-noise outputs on a grid: classes (mass, p, reach), each output seen with p."""
    y = np.linspace(-9, 9, 901)
    phi = lambda at: np.exp(-((y - at) ** 2) / 2) / math.sqrt(2 * math.pi)  # noqa: E731
    total = np.zeros((len(y), len(y)))
    for mass, p, reach in classes:
        sides = [(1 - p) * phi(0) + p * phi(reach * z) for z in records]
        total += mass * np.outer(*sides)
    return total * (y[1] - y[0]) ** 2


@pytest.mark.parametrize("relation", ["substitute", "add_remove"])
@pytest.mark.parametrize(
    "classes",
    [
        [(0.5, 0.5, 1.0), (0.5, 0.0, 0.0)],
        [(0.25, 0.75, 1.5), (0.5, 0.25, 1.0), (0.25, 0.0, 0.0)],
        [(0.5, 0.75, 1.0), (0.5, 0.25, 0.5)],
    ],
)
def test_classes_bound_every_pair_of_records(classes: list[tuple[float, float, float]], relation: Any) -> None:
    """Two outputs, both records' signs and sizes tried, the hockey-stick summed over the plane."""
    given_law = [(Fraction(m), [(Gaussian(1), column(Fraction(p), r).atoms)] * 2 if r else []) for m, p, r in classes]
    bound = LatentClasses.of(given_law, relation)
    pairs = [((1, 1), (-1, -1)), ((1, 1), (0, 0)), ((1, -1), (-1, 1)), ((1, 1), (-1, 1)), ((1, 0.5), (-1, -1))]
    if relation == "add_remove":
        pairs = [((1, 1), (0, 0)), ((1, -1), (0, 0)), ((0.5, 1), (0, 0))]
    for epsilon in (0.1, 0.6, 1.5):
        claimed = bound.delta(Fraction(epsilon))
        for one, other in pairs:
            P, Q = plane(classes, one), plane(classes, other)
            for first, second in ((P, Q), (Q, P)):
                truth = float(np.clip(first - math.exp(epsilon) * second, 0, None).sum())
                assert truth <= claimed * (1 + 1e-6) + 1e-12


def test_added_record_with_nonresponse_is_exact() -> None:
    """One block, half of the records silent: the same as one law with the masses multiplied."""
    for direction in (Gaussian(2), Laplace(2)):
        bound = LatentClasses.of([(HALF, [(direction, column(1).atoms)]), (HALF, [])], "add_remove")
        exact = dominating_pair(direction, column(HALF).atoms, "add_remove")
        assert exact.epsilon(MICRO) * (1 - 1e-9) <= bound.epsilon(MICRO) <= exact.epsilon(MICRO) * 1.002
    assert bound.epsilon(Fraction(0)) == pytest.approx(exact.epsilon(Fraction(0)), rel=1e-12)


def test_one_class_is_no_class() -> None:
    block = [(Gaussian(5), column("0.2").atoms)] * 10
    plain, one = IndependentBlocks.of(block), LatentClasses.of([(Fraction(1), block)])
    assert one.epsilon(MICRO) == pytest.approx(plain.epsilon(MICRO), rel=1e-6)
    assert one.delta(HALF) == pytest.approx(plain.delta(HALF), rel=1e-12)


def test_nonresponse_class_helps_and_is_above_t2() -> None:
    block = [(Gaussian(2), column(1).atoms)]
    half = LatentClasses.of([(HALF, block), (HALF, [])])
    assert dominating_pair(Gaussian(2), column(HALF).atoms).epsilon(MICRO) <= half.epsilon(MICRO)
    assert half.epsilon(MICRO) < dominating_pair(Gaussian(2), column(1).atoms).epsilon(MICRO)
    assert half.delta(Fraction(half.epsilon(MICRO))) <= 1e-6


def test_only_silent_classes() -> None:
    silent = LatentClasses.of([(Fraction(1), [])])
    assert silent.delta(Fraction(0)) == 0
    assert silent.epsilon(MICRO) == 0


def test_class_masses_must_sum_to_one() -> None:
    with pytest.raises(InputError, match="sum to 1"):
        LatentClasses.of([(HALF, [])])
    with pytest.raises(InputError, match="sum to exactly 1"):
        Blocks(classes=[("1/2", [column(HALF)])])
    with pytest.raises(InputError, match="not both"):
        Blocks([column(HALF)], classes=[(1, [])])
    with pytest.raises(InputError, match="as many blocks"):
        Blocks(classes=[("1/2", [column(HALF)]), ("1/2", [column(HALF)] * 2)])


# -- Blocks ------------------------------------------------------------------------------------------------------------


@settings(max_examples=60, deadline=None)
@given(
    laws=st.lists(
        st.lists(st.tuples(st.integers(0, 6), st.integers(1, 9)), min_size=1, max_size=3, unique_by=lambda x: x[0]),
        min_size=1,
        max_size=4,
    ),
    norm=st.sampled_from([1, 2]),
)
def test_total_is_the_law_of_the_stack(laws: list[list[tuple[int, int]]], norm: Any) -> None:
    """Against enumeration of all patterns; reaches are small integers, so the lattice is exact."""
    given_laws = [ReachLaw([x for x, _ in law], [Fraction(w, sum(v for _, v in law)) for _, w in law]) for law in laws]
    total = Blocks(given_laws).total(norm)
    truth: dict[int, Fraction] = {}
    for choice in itertools.product(*(law.atoms for law in given_laws)):
        weight = sum(int(x) ** norm for x, _ in choice)
        truth[weight] = truth.get(weight, Fraction(0)) + math.prod((q for _, q in choice), start=Fraction(1))
    for weight in truth:
        at = weight if norm == 1 else math.sqrt(weight)
        exact = sum((q for w, q in truth.items() if w >= weight), Fraction(0))
        claimed = sum((q for x, q in total.atoms if x >= at * (1 - 1e-15)), Fraction(0))
        assert exact <= claimed <= exact + Fraction(1, 10**12)
    assert total.max <= Blocks(given_laws).full_reach(norm) * (1 + 1e-15)


def test_total_on_a_grid_dominates() -> None:
    laws = [ReachLaw([0, 1 + math.pi * j / 40, 3], [HALF, Fraction(1, 3), Fraction(1, 6)]) for j in range(40)]
    total = Blocks(laws).total(1)
    mean = sum((Fraction(x) * q for law in laws for x, q in law.atoms), Fraction(0))
    assert float(mean) <= total.mean <= float(mean) * 1.02
    exact = ReachLaw.independent([1] * 30, ["0.3"] * 30, norm=2)
    assert exact.dominated_by(Blocks([column("0.3")] * 30).total(2).scaled(1 + 1e-12))


def test_total_of_classes_is_the_mixture() -> None:
    some = Blocks(classes=[("1/2", [column(1)] * 3), ("1/4", [column(1, 2)] * 3), ("1/4", [])])
    assert [float(q) for _, q in some.total(1).atoms] == pytest.approx([0.25, 0.5, 0.25], rel=1e-12)
    assert some.total(1).reach == (0.0, 3.0, 6.0)
    assert some.full_reach(1) == 6
    assert some.scaled(2).full_reach(1) == 12


def test_ten_thousand_features_in_seconds() -> None:
    started = time.process_time()
    total = Blocks([column("0.05")] * 10_000).total(2)
    assert time.process_time() - started < 5
    assert total.mean == pytest.approx(math.sqrt(500), rel=1e-2)
    assert Blocks([column("0.05")] * 10_000).bounds(Gaussian(50))[0].epsilon(MICRO) < 1


def test_one_noise_for_each_block() -> None:
    blocks = Blocks([column("0.3")] * 3)
    noises = [Gaussian(2), Laplace(3), BlackBox("0.2", "1e-8")]
    mixed = blocks.bounds(noises)[0]
    parts = IndependentBlocks.of([(noise, column("0.3").atoms) for noise in noises])
    assert mixed.epsilon(MICRO) == parts.epsilon(MICRO)
    assert blocks.bounds(Gaussian(2))[0].epsilon(MICRO) == IndependentBlocks.of(
        [(Gaussian(2), column("0.3").atoms)] * 3
    ).epsilon(MICRO)
    with pytest.raises(InputError, match="one for each of the 3 blocks"):
        blocks.bounds(noises[:2])


def test_blocks_are_values() -> None:
    assert Blocks([column("0.3")] * 3) == Blocks([column("0.3")] * 3)
    assert Blocks([column("0.3")] * 3).data_dependent is False
    assert Blocks([column("0.3")]).to_dict() == {"blocks": [column("0.3").to_dict()]}
    assert len(Blocks(classes=[(1, [column("0.3")])]).to_dict()["classes"]) == 1  # type: ignore[arg-type]
