"""Several releases: on one mask, on fresh masks, one after another under a filter."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import absentia as ab

HALF = ["1/2", "1/2"]
COLUMN = ab.ReachLaw([0, 1], ["0.95", "0.05"])


# -- fresh masks -------------------------------------------------------------------------------------------------------


def test_one_release_of_blocks_on_fresh_masks_keeps_t9() -> None:
    one = ab.amplify(ab.Gaussian("4.27"), ab.Blocks([COLUMN] * 100))
    fresh = ab.fresh_masks([one])
    assert fresh.epsilon("1e-6") == pytest.approx(one.epsilon("1e-6"), rel=1e-3)
    assert any("independent of one another given the complete record" in a for a in fresh.assumptions)


def test_designs_and_classes_compose_by_their_total_reach() -> None:
    for law in (ab.Forms.k_of_d(1, 3), ab.Blocks(classes=[("1/2", [COLUMN]), ("1/2", [])])):
        one = ab.amplify(ab.Gaussian(4), law)
        total = ab.amplify(ab.Gaussian(4), law.total(2))
        assert ab.fresh_masks([one] * 2).epsilon("1e-6") == ab.fresh_masks([total] * 2).epsilon("1e-6")


def test_mixed_blocks_on_fresh_masks() -> None:
    law = ab.Blocks([ab.ReachLaw([0, 1], HALF)] * 2)
    one = ab.amplify([ab.Gaussian(4), ab.Laplace(4)], law)
    twice = ab.fresh_masks([one] * 2)
    assert one.epsilon("1e-6") < twice.epsilon("1e-6") < twice.without_missingness.epsilon("1e-6")


def test_at_a_tiny_delta_fresh_masks_fall_back_to_the_plain_composition() -> None:
    one = ab.amplify(ab.Gaussian(4), ab.ReachLaw([0, 1], HALF))
    fresh = ab.fresh_masks([one] * 3)
    plain = ab.amplify(ab.Gaussian(4), ab.ReachLaw.point(3**0.5))
    for delta in ("1e-6", "1e-300"):
        assert fresh.without_missingness.epsilon(delta) == pytest.approx(plain.epsilon(delta), rel=1e-9)
    assert fresh.epsilon("1e-300") <= plain.epsilon("1e-300") * (1 + 1e-9)


def test_fresh_masks_of_dependent_masks_say_what_a_known_mask_may_tell() -> None:
    one = ab.amplify(ab.Gaussian(4), ab.ReachLaw([0, 1], HALF, data_dependent=True))
    assert any("reveal values" in a for a in ab.fresh_masks([one] * 2).if_mask_known.assumptions)


@pytest.mark.parametrize("noise", [ab.Gaussian(2), ab.Laplace(2)])
@pytest.mark.parametrize("relation", ["substitute", "add_remove"])
def test_shown_masks_on_fresh_data_compose_as_t5(noise: Any, relation: str) -> None:
    """One release is T5 itself; several lie between T2 and the plain composition."""
    one = ab.amplify(noise, ab.ReachLaw([0, 0.5, 1], ["0.5", "0.3", "0.2"]), relation=relation)
    alone, twice = (ab.fresh_masks([one] * k, relation) for k in (1, 2))
    for epsilon in ("0.1", "0.3"):
        assert alone.if_mask_known.delta(epsilon) == pytest.approx(one.if_mask_known.delta(epsilon), rel=2e-3)
        assert alone.if_mask_known.delta(epsilon) >= one.if_mask_known.delta(epsilon) * (1 - 1e-12)
        assert twice.delta(epsilon) < twice.if_mask_known.delta(epsilon) < twice.without_missingness.delta(epsilon)
    assert twice.if_mask_known.epsilon(0) == pytest.approx(2 * one.if_mask_known.epsilon(0), rel=1e-12)


# -- what must not be ignored ------------------------------------------------------------------------------------------

BOX, PAIR = ab.BlackBox(1), (ab.Laplace(1), [0, 1])
REFUSED: dict[str, Callable[[], Any]] = {
    "mass": lambda: ab.together([BOX], p_star=".5", mass=[1]),
    "full": lambda: ab.together([BOX], p_star=".5", full=[1]),
    "data_dependent": lambda: ab.together([BOX], p_star=".5", data_dependent=True),
    "p_star": lambda: ab.together([PAIR], mass=HALF, p_star=".5"),
    "releases": lambda: ab.together(-1),  # type: ignore[arg-type]
    "releases[0]": lambda: ab.together([("x", [0, 1])], mass=HALF),  # type: ignore[list-item]
    "releases[1]": lambda: ab.together([PAIR, BOX], mass=HALF),  # type: ignore[list-item]
    "releases[0] ": lambda: ab.together([(ab.Laplace(1), 3)], mass=HALF),  # type: ignore[list-item]
    "releases ": lambda: ab.together([ab.BlackBox(profile=lambda _: 0.1)], p_star=".5"),
    "mass ": lambda: ab.together([PAIR], mass=b"12"),  # type: ignore[arg-type]
    "full ": lambda: ab.together([PAIR], mass=HALF, full=3),  # type: ignore[arg-type]
    "guarantees": lambda: ab.fresh_masks([None]),  # type: ignore[list-item]
    "guarantees ": lambda: ab.fresh_masks([ab.amplify(BOX, p_star=1)]),
    "mass  ": lambda: ab.Filter.pure(3, epsilon="1"),  # type: ignore[arg-type]
    "unit": lambda: ab.Filter.gaussian([1], 3, epsilon="1", delta="1e-6"),  # type: ignore[arg-type]
    "reach": lambda: ab.Filter.pure([1], epsilon="1").spend(ab.Laplace(9), 3),  # type: ignore[arg-type]
}


@pytest.mark.parametrize("field", REFUSED)
def test_refused_and_named(field: str) -> None:
    with pytest.raises(ab.InputError) as refusal:
        REFUSED[field]()
    assert refusal.value.field == field.strip()


def test_iterators_and_arrays_are_read_whole() -> None:
    listed = ab.together([PAIR, PAIR], mass=HALF).epsilon(0)
    assert ab.together(iter([PAIR, PAIR]), mass=iter(HALF)).epsilon(0) == listed  # type: ignore[arg-type]
    array = [(ab.Laplace(1), np.array([0, 1]))] * 2
    assert ab.together(array, mass=np.array([0.5, 0.5])).epsilon(0) == listed  # type: ignore[arg-type]
    one = ab.amplify(ab.Gaussian(4), COLUMN)
    assert ab.fresh_masks(iter([one, one])).delta(1) == ab.fresh_masks([one, one]).delta(1)  # type: ignore[arg-type]


# -- filters -----------------------------------------------------------------------------------------------------------


def test_a_filter_is_a_value_and_says_so() -> None:
    first = ab.Filter.pure([1], epsilon="1")
    second = first.spend(ab.Laplace(4), [1])
    assert (first.spent, second.spent) == ((0,), (pytest.approx(0.25),))
    assert "Spend from the last" in (ab.Filter.spend.__doc__ or "")


def test_a_refusal_shows_by_how_little_it_is_one() -> None:
    """K(1) - K(-1) is 1 here; its proof ends one rounding above."""
    book = ab.Filter.pure(HALF, epsilon="1").spend(ab.Laplace(2), [0, 1])
    with pytest.raises(ab.BudgetRefused, match=r"1\.0000000000000002"):
        book.spend(ab.Laplace(2), [0, 1])
    assert math.isfinite(float(book.epsilon))
