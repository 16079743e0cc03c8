"""T2 where floats carry few digits: values from 80-digit arithmetic, met within 1e-9 and never from below."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest

import absentia as ab
from absentia.exact import round_up

RARE = ab.ReachLaw([0, 1], [1 - Fraction(1, 10**12), Fraction(1, 10**12)])
FAR = ab.ReachLaw([0, 1e6], ["1/2", "1/2"])
HALF = ab.ReachLaw([0, 1], ["1/2", "1/2"])


def close_above(value: float, true: float) -> bool:
    return true * (1 - 1e-15) <= value <= true * (1 + 1e-9)


@pytest.mark.parametrize("noise", [ab.Gaussian(1), ab.Laplace(1)])
def test_delta_at_epsilon_0_with_far_atoms(noise: ab.Gaussian | ab.Laplace) -> None:
    assert close_above(ab.amplify(noise, FAR).delta(0), 0.5)


def test_epsilon_of_rare_rows_is_tight() -> None:
    assert close_above(ab.amplify(ab.Gaussian(1), RARE).epsilon("1e-13"), 3.110776496378948e-12)


def test_epsilon_at_a_delta_next_to_the_mass_of_an_atom_is_tight() -> None:
    law = ab.ReachLaw([0, 0.001, 50], [0.9, 0.0999, 0.0001])
    assert close_above(ab.amplify(ab.Gaussian(0.5), law).epsilon("1e-4"), 4158.7801984487121)


@pytest.mark.parametrize(("epsilon", "true"), [(0.0, 3.82924922548026277e-13), (1e-12, 1.90610115236700255e-13)])
def test_rare_records_added_or_removed_are_tight(epsilon: float, true: float) -> None:
    assert close_above(ab.amplify(ab.Gaussian(1), RARE, relation="add_remove").delta(epsilon), true)


def test_an_epsilon_just_below_the_limit_of_the_loss_is_answered() -> None:
    g = ab.amplify(ab.Gaussian(1), HALF, relation="add_remove")  # math.log(2) lies below ln 2, by less than a double
    assert close_above(g.delta(math.log(2)), 0.0549277817222252499)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("noise", [ab.Gaussian(1), ab.Laplace(1)])
def test_blocks_that_move_a_million_scales_give_an_answer_not_a_warning(noise: ab.Gaussian | ab.Laplace) -> None:
    g = ab.amplify(noise, ab.Blocks([FAR] * 2))
    for epsilon in (0, 1, 700):
        assert close_above(g.delta(epsilon), 0.75)  # what a row shows is told apart for sure: 1 - 1/2 * 1/2


def test_delta_1_promises_nothing_and_costs_nothing() -> None:
    g = ab.amplify(ab.Gaussian("0.001"), ab.ReachLaw.point(2))  # delta(0) is 1 but for e^-2000000
    assert g.epsilon(1) == g.without_missingness.epsilon(1) == 0


@pytest.mark.parametrize("delta", ["1e-9", "0.9999999e-9", "1.0000001e-9", "5e-10"])
def test_a_delta_at_the_mass_of_an_atom_is_answered_where_the_curve_falls(delta: str) -> None:
    g = ab.amplify(ab.Gaussian(1), ab.ReachLaw([1e-5, 1e5], [1 - 1e-9, 1e-9]))
    e, asked = g.epsilon(delta), round_up(Fraction(delta))
    assert e < (1 if delta == "1.0000001e-9" else 5.0001e9)
    assert g.delta(e) <= asked <= g.delta(e * (1 - 1e-9))
