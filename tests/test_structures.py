"""Blocks and Forms read what they are given once, whole, and refuse what does not fit together."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import absentia as ab
from absentia.law.forms import Group
from absentia.theory.blocks import IndependentBlocks
from absentia.theory.latent import LatentClasses

ONE = ab.ReachLaw.point(1)
HALF = ab.ReachLaw([0, 1], ["1/2", "1/2"])


def test_blocks_are_read_once() -> None:
    """An iterator that a check had exhausted left no blocks, and epsilon 0."""
    assert ab.Blocks(HALF for _ in range(2)) == ab.Blocks([HALF] * 2)
    assert ab.Blocks(np.array([HALF, HALF], dtype=object)) == ab.Blocks([HALF] * 2)
    listed = ab.Blocks(classes=[("1/2", [HALF]), ("1/2", [])])
    assert ab.Blocks(classes=zip(["1/2", "1/2"], [[HALF], []], strict=True)) == listed
    assert ab.Blocks(classes=[("1/2", iter([HALF])), ("1/2", [])]) == listed
    assert ab.amplify(ab.Gaussian(1), ab.Blocks(iter([ONE]))).epsilon("1e-6") > 5


def test_every_constructor_reads_an_iterator_once() -> None:
    """A second pass over an exhausted iterator finds nothing, which is the favourable side."""
    part = ab.Forms.k_of_d(1, 2, nothing_missing_on_top=False)
    assert ab.Forms.strata(iter([part])) == ab.Forms.strata([part])  # type: ignore[arg-type]
    assert ab.Forms.exactly_one_seen(iter([1, 2]), HALF.mass) == ab.Forms.exactly_one_seen([1, 2], HALF.mass)  # type: ignore[arg-type]
    assert ab.Forms.one_missing(iter([1, 2]), HALF.mass) == ab.Forms.one_missing([1, 2], HALF.mass)  # type: ignore[arg-type]
    assert ab.ReachLaw.envelope(iter([ONE, HALF])) == ab.ReachLaw.envelope([ONE, HALF])  # type: ignore[arg-type]
    assert ab.ReachLaw.envelope(np.array([ONE, HALF], dtype=object)) == ab.ReachLaw.envelope([ONE, HALF])  # type: ignore[arg-type]
    block, delta = (ab.Laplace(1), ONE.atoms), Fraction(0)
    for relation in ("substitute", "add_remove"):
        once, listed = IndependentBlocks.of(iter([block]), relation), IndependentBlocks.of([block], relation)  # type: ignore[arg-type]
        assert once.epsilon(delta) == listed.epsilon(delta) > 0
        by_class = LatentClasses.of(iter([(Fraction(1), iter([block]))]), relation)  # type: ignore[arg-type]
        assert by_class.epsilon(delta) == pytest.approx(listed.epsilon(delta))
    opened = ab.Filter.gaussian(iter(HALF.mass), iter([0, 1]), epsilon="1", delta="1e-6")  # type: ignore[arg-type]
    assert opened == ab.Filter.gaussian(HALF.mass, [0, 1], epsilon="1", delta="1e-6")


NOT_BLOCKS: dict[str, Callable[[], Any]] = {
    "no law": lambda: ab.Blocks([]),
    "no law in any class": lambda: ab.Blocks(classes=[(1, [])]),
    "both": lambda: ab.Blocks([ONE], classes=[(1, [ONE])]),
    "a number": lambda: ab.Blocks(-1),  # type: ignore[arg-type]
    "no pair": lambda: ab.Blocks(classes=[None]),  # type: ignore[list-item]
    "three": lambda: ab.Blocks(classes=[(1, [ONE], 2)]),  # type: ignore[list-item]
}


@pytest.mark.parametrize("case", NOT_BLOCKS)
def test_what_is_no_list_of_laws_is_refused(case: str) -> None:
    with pytest.raises(ab.InputError) as refusal:
        NOT_BLOCKS[case]()
    assert refusal.value.field.startswith(("blocks", "classes"))


def test_forms_derive_their_groups() -> None:
    """Groups that stayed behind when forms were replaced claimed less than the new forms cost."""
    one = ab.Forms([1, 1], [[0], []], ["1/2", "1/2"])
    with pytest.raises(ab.InputError) as refusal:
        replace(one, forms=[[0, 1], [0]])
    assert refusal.value.field == "groups"
    other = replace(one, forms=[[0, 1], [0]], groups=())
    assert other == ab.Forms([1, 1], [[0, 1], [0]], ["1/2", "1/2"])
    assert replace(one, adaptive=True).groups == one.groups


NOT_GROUPS: dict[str, Callable[[], Any]] = {
    "a block left out": lambda: ab.Forms([1, 1], groups=(Group((0,), 0),)),
    "a block twice": lambda: ab.Forms([1, 1], groups=(Group((0, 1), 0), Group((1,), 1))),
    "beside a form": lambda: ab.Forms([1, 1], [[0, 1]], [1], groups=(Group((0, 1), 0),)),
    "k too large": lambda: ab.Forms([1, 1], groups=(Group((0, 1), 3),)),
    "k no int": lambda: ab.Forms([1, 1], groups=(Group((0, 1), 1.0),)),  # type: ignore[arg-type]
    "a form of other blocks": lambda: ab.Forms([1], groups=(Group((0,), None, ((1,),), (Fraction(1),)),)),
    "masses that do not sum": lambda: ab.Forms([1], groups=(Group((0,), None, ((0,),), (Fraction(1, 2),)),)),
    "no group": lambda: ab.Forms([1], groups=(None,)),  # type: ignore[arg-type]
}


@pytest.mark.parametrize("case", NOT_GROUPS)
def test_groups_draw_from_every_block_once(case: str) -> None:
    with pytest.raises(ab.InputError) as refusal:
        NOT_GROUPS[case]()
    assert refusal.value.field == "groups"


def test_mass_that_lacks_goes_to_the_form_that_shows_most() -> None:
    lacking = ab.Forms([1, 1], [[0, 1], [0], []], ["0.0999999999", "0.2", "0.7"])
    assert lacking.mass == (Fraction("0.1"), Fraction("0.2"), Fraction("0.7"))
    assert ab.Forms([1, 1, 1], [[0], [1], [2]], [1 / 3] * 3).mass == (Fraction(1, 3),) * 3  # doubles of fractions
    with pytest.raises(ab.InputError):
        ab.Forms(reach=-1, forms=[[0]], mass=[1])  # type: ignore[arg-type]


def test_a_grid_never_reaches_beyond_all_blocks_together() -> None:
    wide, narrow = ab.ReachLaw([0, 1000], ["999999/1000000", "1/1000000"]), ab.ReachLaw([0, "0.0117"], ["1/2", "1/2"])
    total = ab.Blocks([wide, *[narrow] * 99]).total(2)
    assert total.full_reach < 1000.01
