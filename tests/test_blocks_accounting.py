"""The dp_accounting adapter: what goes over agrees with what dp_accounting builds itself."""

from __future__ import annotations

import subprocess
import sys
from fractions import Fraction
from typing import Any

import pytest
from dp_accounting.pld import pld_privacy_accountant
from dp_accounting.privacy_accountant import NeighboringRelation

from absentia.adapters.accounting import to_event, to_pld
from absentia.errors import InputError
from absentia.law.reachlaw import ReachLaw
from absentia.theory.blocks import FreshMasks, IndependentBlocks
from absentia.theory.noise import BlackBox, Gaussian, Laplace
from absentia.theory.pair import KnownMask, dominating_pair

MICRO = Fraction(1, 10**6)
COLUMN = ReachLaw([0, 1], ["0.9", "0.1"]).atoms
ALWAYS = ReachLaw.point(2).atoms
LEVELS = ReachLaw([0, 1, 2], ["0.7", "0.2", "0.1"]).atoms


@pytest.mark.parametrize("relation", ["substitute", "add_remove"])
@pytest.mark.parametrize(
    "blocks",
    [
        [(Gaussian(5), COLUMN)] * 20,
        [(Gaussian(4), LEVELS)] * 3 + [(Laplace(5), COLUMN)] * 2,
        [(BlackBox("0.3", "1e-8"), COLUMN)] * 4,
    ],
)
def test_their_composition_of_our_losses_is_ours(blocks: Any, relation: Any) -> None:
    bound = IndependentBlocks.of(blocks, relation)
    theirs = to_pld(bound)
    assert theirs.get_epsilon_for_delta(1e-6) == pytest.approx(bound.epsilon(MICRO), rel=1e-3)
    assert theirs.get_delta_for_epsilon(0.3) == pytest.approx(bound.delta(Fraction("0.3")), rel=1e-2)


@pytest.mark.parametrize("relation", ["substitute", "add_remove"])
@pytest.mark.parametrize("noise", [Gaussian(2), Laplace(2)])
def test_a_t2_guarantee_goes_over(noise: Any, relation: Any) -> None:
    bound = dominating_pair(noise, LEVELS, relation)
    assert to_pld(bound).get_epsilon_for_delta(1e-6) == pytest.approx(bound.epsilon(MICRO), rel=1e-3)
    assert to_pld(bound).get_epsilon_for_delta(1e-6) >= bound.epsilon(MICRO) * (1 - 1e-9)


@pytest.mark.parametrize(
    ("blocks", "relation", "theirs"),
    [
        ([(Gaussian(5), COLUMN)] * 20, "substitute", NeighboringRelation.REPLACE_ONE),
        ([(Gaussian(5), COLUMN)] * 20, "add_remove", NeighboringRelation.ADD_OR_REMOVE_ONE),
        ([(Laplace(5), COLUMN)] * 20, "add_remove", NeighboringRelation.ADD_OR_REMOVE_ONE),
        (
            [(Gaussian(9), ReachLaw.point(2).atoms), (Gaussian(5), COLUMN)],
            "substitute",
            NeighboringRelation.REPLACE_ONE,
        ),
    ],
)
def test_events_mean_the_same(blocks: Any, relation: Any, theirs: NeighboringRelation) -> None:
    bound = FreshMasks.of(blocks, relation)
    accountant = pld_privacy_accountant.PLDAccountant(theirs)
    accountant.compose(to_event(bound))
    assert accountant.get_epsilon(1e-6) == pytest.approx(bound.epsilon(MICRO), rel=1e-3)


def test_what_has_no_event_is_refused() -> None:
    with pytest.raises(InputError, match="Gaussian noise"):
        to_event(IndependentBlocks.of([(Laplace(5), COLUMN)] * 2))
    with pytest.raises(InputError, match="Gaussian noise"):
        to_event(IndependentBlocks.of([(Gaussian(5), LEVELS)] * 2))
    with pytest.raises(InputError, match="black box"):
        to_event(IndependentBlocks.of([(BlackBox("0.1"), COLUMN)] * 2))
    with pytest.raises(InputError, match="composed T2 pairs"):
        to_pld(KnownMask(Gaussian(1), COLUMN))


def test_nothing_shown_is_the_identity() -> None:
    nothing = IndependentBlocks.of([(Gaussian(1), ReachLaw([0], [1]).atoms)])
    assert to_pld(nothing).get_epsilon_for_delta(0.0) == 0


def test_dp_accounting_is_imported_only_when_asked() -> None:
    code = (
        "import sys, absentia.adapters.accounting; assert not any(m.startswith('dp_accounting') for m in sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
