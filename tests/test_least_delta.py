"""T9 rests on float transforms: no guarantee uses it between delta 0 and 1e-11, another result answers there."""

from __future__ import annotations

import math
from fractions import Fraction as F  # noqa: N817

import pytest

import absentia as ab
from absentia.exact import echoed
from absentia.ledger.beside import BesidePure
from absentia.theory.blocks import LEAST

COLUMN = ab.ReachLaw([0, 1], ["0.95", "0.05"])
BLOCKS = {
    "one law": ab.Blocks([COLUMN] * 12),
    "classes": ab.Blocks(classes=[("0.5", [COLUMN] * 12), ("0.3", [ab.ReachLaw.point(1)] * 12), ("0.2", [])]),
}
NOISES = {"gaussian": ab.Gaussian(4), "laplace": ab.Laplace(4), "each its own": [ab.Gaussian(4), ab.Laplace(4)] * 6}


@pytest.mark.parametrize("relation", ["substitute", "add_remove"])
@pytest.mark.parametrize("noise", NOISES)
@pytest.mark.parametrize("blocks", BLOCKS)
def test_below_the_least_delta_a_result_without_transforms_answers(blocks: str, noise: str, relation: str) -> None:
    g = ab.amplify(NOISES[noise], BLOCKS[blocks], relation=relation)
    for delta in ("9.9e-12", "1e-12", "1e-15", "1e-40"):
        figure = g.answer(delta=delta)
        assert figure.result in ("T1", "T2")
        assert math.isfinite(figure.epsilon)
        assert g.delta(figure.epsilon) <= max(F(echoed(F(delta))), F(echoed(LEAST)))
    others = [b for b in g.bounds if b.result != "T9"]
    for epsilon in (0, F(1, 2), 2, 5, 20):
        allowed = min(b.delta(F(epsilon)) for b in others)
        assert g.delta(epsilon) >= min(allowed, 1e-11)


def test_from_the_least_delta_on_t9_answers() -> None:
    g = ab.amplify(ab.Gaussian("4.27"), ab.Blocks([COLUMN] * 100))
    assert [g.answer(delta=d).result for d in ("1e-11", "9.99e-12")] == ["T9", "T2"]
    assert g.epsilon("1e-11") < 1.5 < 6.8 < g.epsilon("9.99e-12")


def test_a_scale_for_a_smaller_delta_comes_from_t2() -> None:
    hundred = ab.Blocks([COLUMN] * 100)
    found = ab.calibrate("gaussian", hundred, epsilon="1", delta="1e-12")
    by_t2 = ab.calibrate("gaussian", hundred.total(2), epsilon="1", delta="1e-12")
    assert found.size == pytest.approx(by_t2.size, rel=1e-9)
    figure = ab.amplify(found, hundred).answer(delta="1e-12")
    assert figure.epsilon <= 1
    assert figure.result == "T2"


def test_at_delta_zero_the_pure_losses_add_without_a_transform() -> None:
    g = ab.amplify(ab.Laplace(3), ab.Blocks([COLUMN] * 20))
    one = ab.amplify(ab.Laplace(3), COLUMN).epsilon(0)
    assert g.answer(delta=0).result == "T3"
    assert g.epsilon(0) == pytest.approx(20 * one, rel=1e-12)
    assert g.answer(epsilon=g.epsilon(0)).delta == 0


def test_a_pure_loss_beside_raises_the_least_delta() -> None:
    (t9,) = ab.Blocks([COLUMN] * 3).bounds(ab.Gaussian(4))
    beside = BesidePure(t9, F(2))
    assert float(beside.least) == pytest.approx(1e-11 * math.exp(2))


def test_one_noise_for_each_block_of_one_family_is_never_above_the_total() -> None:
    g = ab.amplify([ab.Gaussian(2), ab.Gaussian(4)], ab.Blocks([COLUMN] * 2))
    total = ab.ReachLaw(
        [0, 0.25, 0.5, math.sqrt(0.3125) * (1 + 1e-15)], [F(361, 400), F(19, 400), F(19, 400), F(1, 400)]
    )
    assert g.epsilon("1e-12") == pytest.approx(ab.amplify(ab.Gaussian(1), total).epsilon("1e-12"), rel=1e-3)


def test_mixed_noises_at_fixed_distances_hold_the_exact_pure_losses() -> None:
    shown = ab.Blocks([ab.ReachLaw.point(1)] * 2)
    g = ab.amplify([ab.Laplace(4), ab.BlackBox("0.25")], shown)
    assert g.epsilon("1e-30") == pytest.approx(0.75, rel=1e-12)  # 2/4 + 0.25: randomised response has no better
