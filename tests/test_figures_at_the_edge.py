"""Figures at extreme laws, noises and deltas: never a crash, never loose, and read back as they were promised."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import absentia as ab
from absentia.law.reachlaw import ReachLaw
from absentia.theory.bound import log_of
from absentia.theory.pair import Worst

POINT = ReachLaw.point
FIVE = ab.Blocks([ReachLaw([0, 1], ["1/2", "1/2"])] * 5)


@pytest.mark.parametrize("family", [ab.Gaussian, ab.Laplace])
@pytest.mark.parametrize("reach", [20, 1e6])
def test_blocks_whose_losses_all_lie_above_a_cut(family: type[ab.Gaussian], reach: float) -> None:
    g = ab.amplify(family(1), ab.Blocks([POINT(reach)] * 2))
    assert 1 - 1e-12 < g.delta(1) <= 1
    total = ab.amplify(family(1), ab.Blocks([POINT(reach)] * 2).total(family.norm))
    assert g.epsilon("1e-6") <= total.epsilon("1e-6") * (1 + 1e-9)


def test_companions_of_mixed_and_fresh_releases_far_apart() -> None:
    law = ab.Blocks([ReachLaw([0, 5], [0.5, 0.5]), ReachLaw([0, 0.4], [0.5, 0.5])])
    assert 0.99 < ab.amplify([ab.Gaussian(0.5), ab.Laplace(0.5)], law).without_missingness.delta(0) <= 1
    fresh = ab.fresh_masks([ab.amplify(ab.Gaussian(1), ReachLaw([0, 20], [0.5, 0.5]))] * 2)
    assert 0.99 < fresh.without_missingness.delta(1) <= 1


def test_reaches_beyond_doubles_are_refused_by_name() -> None:
    for law in (POINT(1e160), ReachLaw([0, 1e160], [0.5, 0.5]), ab.Blocks([POINT(1e160)] * 2)):
        with pytest.raises(ab.InputError, match="noise scales") as refusal:
            ab.amplify(ab.Gaussian(1), law)
        assert refusal.value.field == "law"


def test_a_law_that_hardly_ever_shows_anything() -> None:
    assert log_of(1 - Fraction(1, 10**15)) == pytest.approx(-1e-15, rel=1e-12)
    g = ab.amplify(ab.Gaussian(1), ReachLaw([0, 0.1], [1 - 1e-15, 1e-15]), relation="add_remove")
    assert 0 < g.epsilon("1e-25") < 1e-15


def disproved(bound: Any, epsilon: float, delta: Fraction) -> bool:
    sides = bound.directions if isinstance(bound, Worst) else (bound,)
    return not all(side._proves(epsilon, delta) for side in sides)


@pytest.mark.parametrize("relation", ["add_remove", "substitute"])
def test_tight_where_floats_carry_few_digits(relation: str) -> None:
    q = 2.064322856095199e-12
    law = ReachLaw([0, 0.6634735417833624], [1 - q, q])
    (bound,) = ab.amplify(ab.Gaussian(9.65299710765352), law, relation=relation).bounds
    found = bound.epsilon(Fraction(1, 10**20))
    assert disproved(bound, found * (1 - 1e-9), Fraction(1, 10**20))


@pytest.mark.parametrize("relation", ["add_remove", "substitute"])
@pytest.mark.parametrize("delta", ["0.3468468468468468", "0.346846846846846", "0.34684684684684"])
def test_tight_on_a_plateau_of_delta(relation: str, delta: str) -> None:
    law = ReachLaw([0, 15.620133947915383], [0.6531531531531531, 0.34684684684684686])
    (bound,) = ab.amplify(ab.Gaussian(0.9776752966194993), law, relation=relation).bounds
    found = bound.epsilon(Fraction(delta))
    assert found == 0 or disproved(bound, found * (1 - 1e-9), Fraction(delta))


@pytest.mark.parametrize("law", [FIVE, ReachLaw([0, 1], ["1/2", "1/2"])])
def test_calibrated_noise_reads_back(law: Any) -> None:
    noise = ab.calibrate("gaussian", law, epsilon="1", delta="1e-6")
    assert 1 - 1e-6 < ab.amplify(noise, law).epsilon("1e-6") <= 1


def test_a_profile_rounds_up() -> None:
    third = ab.amplify(ab.BlackBox(profile=lambda _: Fraction(1, 3)), p_star=1)  # type: ignore[arg-type,return-value]
    assert Fraction(third.delta(0)) >= Fraction(1, 3)


def test_a_profile_is_asked_from_below() -> None:
    """The largest double was asked first, where most profiles overflow."""
    gauss = ab.Gaussian(1)
    box = ab.BlackBox(profile=lambda e: gauss.hockey_stick(1, math.exp(e)))
    stated = ab.amplify(gauss, p_star="1/2", sensitivity=1).epsilon("1e-6")
    assert ab.amplify(box, p_star="1/2").epsilon("1e-6") == pytest.approx(stated, rel=1e-9)
    assert ab.amplify(box, p_star="1/2").delta(1000) <= 1
    assert ab.amplify(ab.BlackBox(profile=lambda _: 0.5), p_star=1).epsilon("0.1") == math.inf


@pytest.mark.parametrize("profile", [lambda e: 1 / (e - e), lambda e: None, lambda e: float("nan"), lambda e: -1, 3])
def test_what_is_no_profile_is_refused(profile: Any) -> None:
    with pytest.raises(ab.InputError) as refusal:
        ab.amplify(ab.BlackBox(profile=profile), p_star=1).delta(1)
    assert refusal.value.field == "profile"


def test_a_hockey_stick_is_a_probability() -> None:
    assert ab.Gaussian(1).hockey_stick("1e6", "1e-5") == 1


def test_a_curve_is_proved_unless_asked_otherwise() -> None:
    g = ab.amplify(ab.Gaussian(1), FIVE)
    assert g.curve([1]) == [(1.0, g.delta(1))]
    assert g.curve([1], certified=False) == [(1.0, g.delta(1, certified=False))]


def test_p_star_is_no_budget_and_may_be_a_float() -> None:
    assert ab.calibrate_black_box(0.5, epsilon="1") == ab.calibrate_black_box("1/2", epsilon="1")


ARRAYS: dict[str, Callable[[], Any]] = {
    "delta": lambda: ab.amplify(ab.Gaussian(1), FIVE).epsilon(np.array([0.1, 0.2])),
    "p_star": lambda: ab.amplify(ab.BlackBox(1), p_star=np.array([0.5])),
    "epsilons": lambda: ab.amplify(ab.Gaussian(1), FIVE).curve(2.5),  # type: ignore[arg-type]
}


@pytest.mark.parametrize("field", ARRAYS)
def test_an_array_is_no_number_and_a_number_no_list(field: str) -> None:
    with pytest.raises(ab.InputError) as refusal:
        ARRAYS[field]()
    assert refusal.value.field == field
