"""OpenDP's noise for a plan: its own map, T1 only, charged as a black box, never less than the plan promises."""

from __future__ import annotations

import json
import math
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.optimize import brentq

import absentia as ab
from absentia.backends import STEP, OpenDP, backend_of, base_loss, keeps, moved_by, shows
from absentia.errors import BudgetRefused, HazardRefused
from absentia.ledger.ledger import Ledger
from absentia.query.statistic import Statistic
from absentia.table.aggregate import Aggregates, aggregate
from absentia.theory.noise import Gaussian, Laplace
from release_world import LAW, ONE, QUERIES, SCHEMA, N, book_of, planned, table

PURE = ab.Budget("1")
COMPLETE = ab.missing.without(SCHEMA)


def opendp(plan: ab.Plan) -> OpenDP:
    found = backend_of(plan, "opendp")
    assert isinstance(found, OpenDP)
    return found


def of_sum(missing: Any, noise: str, budget: ab.Budget, **options: Any) -> ab.Plan:
    return ab.plan(SCHEMA, ab.linear([[1]], ["bmi"]), missing, noise=noise, budget=budget, **options)


def test_laplace_by_hand() -> None:
    """One sum in [-1, 1], nothing missing: scale 2 for epsilon 1, and two grid steps of rounding among 2^20."""
    found = opendp(of_sum(COMPLETE, "laplace", PURE))
    (scale,) = found.plan.scales.values()
    assert scale == pytest.approx(2 * found.ratio, rel=1e-9)
    assert 1 < found.ratio < 1 + 1e-5
    assert found.guarantee.answer(delta=0).result == "T1"
    assert 1 - 3e-6 < found.guarantee.epsilon(0) <= 1


def test_laplace_is_amplified_by_t1_only() -> None:
    """p = 1/2: T1 allows a base of ln(1 + 2(e - 1)); T3 allows a scale of 1."""
    plan = of_sum(LAW, "laplace", PURE)
    found = opendp(plan)
    (asked,), (scale,) = plan.scales.values(), found.plan.scales.values()
    assert asked == pytest.approx(1, rel=1e-9)
    assert scale == pytest.approx(2 / math.log(1 + 2 * (math.e - 1)), rel=1e-5)
    assert found.ratio == pytest.approx(scale / asked, rel=1e-9)


def test_a_row_counts_as_shown_only_if_it_moves_something() -> None:
    """Of a mean by group a row shows nothing unless it shows the value, however often the group is known."""
    known = ab.missing.independent(SCHEMA, {"bmi": "1/2"}, because="by lot")
    for queries, columns, p in (
        ([ab.mean("bmi", by="hyp")], {"bmi"}, Fraction(1, 2)),
        ([ab.mean("bmi", by="hyp"), ab.histogram("hyp")], {"bmi", "hyp"}, Fraction(1)),
    ):
        plan = ab.plan(SCHEMA, queries, known, budget=ONE)
        assert moved_by(plan) == columns
        assert shows(plan) == p
        for seen in ({"hyp", "chl"}, {"chl"}):  # what shows none of these columns moves nothing
            assert columns & seen or plan.reach(seen) == 0


def test_gaussian_is_what_zcdp_allows() -> None:
    """One sum, nothing missing: no less than the analytic noise, no more than the plain bound of zCDP."""
    plan = of_sum(COMPLETE, "gaussian", ONE)
    found = opendp(plan)
    (analytic,), (sigma,) = plan.scales.values(), found.plan.scales.values()
    log = math.log(1e6)
    plain = brentq(lambda s: 2 / s**2 + 2 * math.sqrt(2 / s**2 * log) - 1, 1, 100)
    assert 1.02 * analytic < sigma < plain


@pytest.mark.parametrize("noise", ["gaussian", "laplace"])
@pytest.mark.parametrize("relation", ["substitute", "add_remove"])
@pytest.mark.parametrize("law", [LAW, COMPLETE], ids=["independent", "complete"])
def test_the_promise_is_kept_and_used(noise: str, relation: str, law: Any) -> None:
    budget = ONE if noise == "gaussian" else PURE
    plan = ab.plan(SCHEMA, QUERIES, law, budget=budget, noise=noise, relation=relation)
    found = opendp(plan)
    spent = found.guarantee.epsilon(budget.delta)
    assert Fraction(spent) <= budget.epsilon
    assert spent > 0.9
    assert found.ratio > 1
    assert [b / a for a, b in zip(plan.scales.values(), found.plan.scales.values(), strict=True)] == pytest.approx(
        [found.ratio] * len(plan.scales), rel=1e-12
    )
    less = opendp_at(plan, found.ratio * (1 - 1e-4))
    assert not keeps(less, less.batch.distance(relation), base_loss(plan))
    three = [g.epsilon(budget.delta) for g in (found.guarantee, found.guarantee.without_missingness)]
    assert three[0] <= three[1] < math.inf


def opendp_at(plan: ab.Plan, ratio: float) -> ab.Plan:
    from absentia.backends import grown

    return grown(plan, ratio)


def test_rounding_to_the_grid_is_counted_where_a_row_can_move() -> None:
    """A table of 2000 cells: two rows move at most two of them, so rounding costs two steps and not two thousand."""
    wide = ab.Schema.from_dict({"columns": {"x": {"kind": "number", "bounds": [0, 1]}}})
    plan = ab.plan(
        wide,
        ab.histogram("x", bins=np.linspace(0, 1, 2001).tolist()),
        ab.missing.without(wide),
        budget=PURE,
        noise="laplace",
    )
    assert opendp(plan).ratio < 1 + 1e-5


def test_every_statistic_enters_in_units_of_its_noise() -> None:
    """What comes out is each exact sum with its own noise, on its own grid, drawn afresh each time."""
    plan = planned()
    sums = aggregate(table(), plan.schema, plan.statistics)
    found = opendp(plan)
    noisy = found.draw(sums)
    again = found.draw(sums)
    for s, scale in found.plan.scales.items():
        exact = sums.values[s] * sums.units[s]
        assert noisy[s].shape == exact.shape
        assert np.abs(noisy[s] - exact).max() < 9 * scale
        steps = noisy[s] / (STEP * scale)
        assert np.abs(steps - np.rint(steps)).max() < 1e-3
        assert not np.array_equal(noisy[s], again[s])


def test_the_noise_drawn_has_the_scale_that_is_stated() -> None:
    plan = ab.plan(SCHEMA, [ab.linear([[1]], ["bmi"]), ab.count("chl")], LAW, budget=ONE)
    found = opendp(plan)
    zero = Aggregates(
        N, {s: np.zeros((), dtype=np.int64) for s in plan.statistics}, dict.fromkeys(plan.statistics, 1.0)
    )
    draws = [found.draw(zero) for _ in range(3000)]
    for s, scale in found.plan.scales.items():
        measured = float(np.std([d[s] for d in draws]))
        assert abs(measured / scale - 1) < 5 / math.sqrt(2 * len(draws))
    first, second = plan.statistics
    both = np.corrcoef([d[first] for d in draws], [d[second] for d in draws])
    assert abs(both[0, 1]) < 5 / math.sqrt(len(draws))


def test_sums_beyond_64_bits_are_clipped_and_never_wrap() -> None:
    plan = of_sum(LAW, "gaussian", ab.Budget("1000", "1e-6"))
    found = opendp(plan)
    (s,) = plan.statistics
    for sign in (1, -1):
        huge = Aggregates(1, {s: np.array(sign * 2**62)}, {s: 2.0**10})
        out = float(found.draw(huge)[s])
        assert math.copysign(1, out) == sign
        assert abs(out) >= 2.0**62 * found.grid(s) * (1 - 1e-9)


# -- end to end -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("noise", ["gaussian", "laplace"])
def test_the_first_release_needs_no_ceremony(tmp_path: Path, noise: str) -> None:
    plan = planned(noise=noise)
    with book_of(tmp_path, plan) as book:
        done = plan.release(table(), book, purpose="Table 2", noise_backend="opendp")
        assert 0.9 < book.spent()["with_missingness"] <= 1
        assert all(math.isfinite(x) for x in book.spent().values())
        row = book.book.rows()[-1].payload
        with pytest.raises(BudgetRefused):
            plan.release(table(), book, purpose="again", noise_backend="opendp")
        with pytest.raises(BudgetRefused):
            plan.release(table(), book, purpose="again")
    assert row["columns"] == ["bmi", "chl", "hyp"]
    assert row["plan"] == done.plan.identity != plan.identity
    stated = json.loads(done.to_json())
    assert stated["noise"]["backend"] == "opendp"
    assert stated["noise"]["times_planned"] == done.drawn.ratio > 1
    assert stated["guarantee"]["result"] == "T1"
    assert stated["guarantee"]["epsilon"] <= 1
    assert stated["plan"]["scales"] == list(done.plan.scales.values())
    assert [s["scale"] for s in stated["noise"]["statistics"]] == stated["plan"]["scales"]
    assert ab.Plan.from_dict(stated["plan"]) == done.plan


def test_errors_are_those_of_the_larger_noise(tmp_path: Path) -> None:
    plan = planned([ab.count("bmi")])
    with book_of(tmp_path, plan) as book:
        done = plan.release(table(), book, purpose="Table 2", noise_backend="opendp")
    (row,) = done.rows
    assert row.se_noise == pytest.approx(next(iter(plan.noise_sd.values())) * done.drawn.ratio, rel=1e-9)


def test_after_gaussian_releases_it_needs_a_part_set_aside(tmp_path: Path) -> None:
    first, box = planned(budget=ab.Budget("1/2", "1e-7")), planned(budget=ab.Budget("1/4", "1e-7"))
    with book_of(tmp_path, first, budget=ONE) as book:
        first.release(table(), book, purpose="first")
        with pytest.raises(BudgetRefused) as refusal:
            box.release(table(), book, purpose="second", noise_backend="opendp")
        assert "--aside" in refusal.value.remedy
        assert len(book.book.rows()) == 2
    e, d = base_loss(box)
    with Ledger.create(tmp_path / "b", first, budget=ab.Budget("2", "1e-5"), aside=ab.Budget(e, d)) as book:
        first.release(table(), book, purpose="first")
        box.release(table(), book, purpose="second", noise_backend="opendp")
        assert book.spent()["with_missingness"] <= 2
        with pytest.raises(BudgetRefused):
            box.release(table(), book, purpose="third", noise_backend="opendp")


def test_a_law_under_which_nothing_shows_still_gets_noise() -> None:
    hidden = ab.missing.independent(SCHEMA, {"bmi": "1e-9"}, because="by lot")
    found = opendp(ab.plan(SCHEMA, ab.total("bmi"), hidden, budget=PURE, noise="laplace"))
    assert 0 < found.plan.scales[Statistic((("bmi", 1),))] < math.inf


def test_what_opendp_cannot_do_is_refused() -> None:
    own = ab.plan(SCHEMA, ab.custom("score", {"bmi": "1"}), LAW, budget=ONE)
    dependent = planned(dependent_rows=1)
    for plan in (own, dependent):
        with pytest.raises(HazardRefused) as refusal:
            backend_of(plan, "opendp")
        assert refusal.value.code == "H-OPENDP"
        assert "noise_backend" in refusal.value.remedy
    found = opendp(planned(noise="laplace", budget=PURE, dependent_rows=1))
    assert found.guarantee.answer(delta=0).result == "T8"
    assert found.guarantee.epsilon(0) <= 1


def test_the_own_backend_is_the_plan() -> None:
    plan = planned()
    own = backend_of(plan, "absentia")
    assert (own.plan, own.ratio, own.guarantee) == (plan, 1.0, plan.guarantee)
    assert isinstance(plan.noise, Gaussian)
    assert isinstance(planned(noise="laplace").noise, Laplace)
