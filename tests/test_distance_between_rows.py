"""`sensitivity`, the largest distance between any two masked rows: beside a law, without one, for dependent rows."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest

import absentia as ab
from absentia.law.reachlaw import ReachLaw
from absentia.theory.pair import base_at

HALF = ReachLaw([0, 1], ["1/2", "1/2"])
POINT = ReachLaw.point(1)


@pytest.mark.parametrize("relation", ["substitute", "add_remove"])
@pytest.mark.parametrize("rows", [0, 1])
def test_no_less_than_the_full_reach(relation: str, rows: int) -> None:
    with pytest.raises(ab.InputError, match="at least the full reach, 1") as refusal:
        ab.amplify(ab.Laplace(1), POINT, sensitivity=0, relation=relation, dependent_rows=rows)
    assert refusal.value.field == "sensitivity"
    with pytest.raises(ab.InputError, match="full reach"):
        ab.calibrate("laplace", ReachLaw([0, 1], ["1/2", "1/2"], 2), epsilon="1", sensitivity="1.9")


def test_a_count_uses_t1_and_t3_at_its_distance() -> None:
    """One indicator: ratios e to the all-missing row and between any two, so ln(1 + p (e - 1)) and not K(1) - K(-1)."""
    g = ab.amplify(ab.Laplace(1), HALF, sensitivity=1)
    assert g.epsilon(0) == pytest.approx(math.log1p((math.e - 1) / 2), rel=1e-12)
    assert g.epsilon(0) < 0.99 * ab.amplify(ab.Laplace(1), HALF).epsilon(0)
    assert g.if_mask_known.epsilon("1e-6") <= g.without_missingness.epsilon("1e-6") == pytest.approx(1 - 2e-6)
    gauss = ab.amplify(ab.Gaussian(2), HALF, sensitivity=1)
    masked = ab.amplify(ab.Gaussian(2), p_star="1/2", sensitivity=1)
    assert gauss.epsilon("1e-6") == masked.epsilon("1e-6") < ab.amplify(ab.Gaussian(2), HALF).epsilon("1e-6")


def test_calibration_uses_them_too() -> None:
    noise = ab.calibrate("laplace", HALF, epsilon="1", sensitivity=1)
    assert noise.size == pytest.approx(1 / math.log1p(2 * (math.e - 1)), rel=1e-8)
    assert ab.calibrate("gaussian", HALF, epsilon="1", delta="1e-6", sensitivity=1).size < 0.7 * float(
        ab.calibrate("gaussian", HALF, epsilon="1", delta="1e-6").size
    )


def test_add_remove_takes_nothing_from_it() -> None:
    with_it, without = (ab.amplify(ab.Gaussian(1), POINT, relation="add_remove", **s) for s in ({"sensitivity": 1}, {}))  # type: ignore[arg-type]
    for (_, a), (_, b) in zip(with_it.with_companions, without.with_companions, strict=True):
        assert a.epsilon("1e-6") == b.epsilon("1e-6")


@pytest.mark.parametrize(
    ("relation", "stated", "moved"), [("substitute", None, 6), ("substitute", 1, 3), ("add_remove", None, 5)]
)
def test_steered_rows_are_substituted_rows(relation: str, stated: object, moved: int) -> None:
    """Two other rows follow: each is another row in its place, whatever happens to the first (T8, P10)."""
    g = ab.amplify(ab.Laplace(1), POINT, sensitivity=stated, relation=relation, dependent_rows=2)
    assert g.epsilon(0) == g.if_mask_known.epsilon(0) == moved
    assert any("reveal values" in a for a in g.if_mask_known.assumptions)


def test_whoever_knows_the_mask_is_not_helped_by_eta() -> None:
    g = ab.amplify(ab.Laplace(1), POINT, dependent_rows=1, eta="1/2")
    assert g.epsilon(0) < g.if_mask_known.epsilon(0) == 4


def test_a_black_box_for_records_added_or_removed_pays_twice_for_each_steered_row() -> None:
    for mechanism in (ab.BlackBox("1/4"), base_at(ab.Laplace(4), 1)):
        figures = [
            ab.amplify(mechanism, relation=relation, dependent_rows=2).epsilon(0)
            for relation in ("substitute", "add_remove")
        ]
        assert figures == [0.75, 1.25]


def test_plans_with_dependent_rows_pay_for_substituted_rows() -> None:
    schema = ab.Schema.from_dict({"columns": {"x": {"kind": "number", "bounds": [-1, 1]}}})
    law = ab.missing.independent(["x"], {"x": "1/2"}, because="test", by="test")
    plan = ab.plan(
        schema, ab.total("x"), law, budget=ab.Budget("1"), noise="laplace", relation="add_remove", dependent_rows=1
    )
    (scale,) = plan.scales.values()
    assert scale == pytest.approx(3, rel=1e-8)  # the record itself moves the sum by 1, the row that follows by 2


def test_rows_with_few_entries_promise_nothing_to_whoever_knows_a_mask_that_tells() -> None:
    box, share = ab.BlackBox(1, "1e-6"), "1/4"
    told = ab.amplify(box, ReachLaw([0, 1], HALF.mass, data_dependent=True), dense_share=share)
    assert told.if_mask_known.epsilon("1/2") == math.inf
    assert ab.amplify(box, HALF, dense_share=share).if_mask_known.epsilon("1/2") < math.inf


def test_missing_entries_amplify_once() -> None:
    g = ab.amplify(ab.Gaussian(1), HALF)
    for bound in (*g.bounds, *g.if_mask_known.bounds, *ab.amplify(ab.BlackBox(1), p_star="1/2").bounds):
        with pytest.raises(ab.InputError, match="amplify once") as refusal:
            ab.amplify(bound, p_star="1/2")
        assert refusal.value.field == "mechanism"
    (base,) = g.without_missingness.bounds
    assert ab.amplify(base, p_star=Fraction(1, 2)).epsilon("1e-6") > g.epsilon("1e-6")
