"""The plan's promise: proved, within budget, tight, never worse than without missingness; one book adds up."""

from __future__ import annotations

import json
from dataclasses import replace
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from absentia import missing
from absentia.amplification import amplify
from absentia.calibration import calibrate
from absentia.errors import BudgetRefused, HazardRefused, InputError
from absentia.law.blocks import Blocks
from absentia.law.forms import Forms
from absentia.law.reachlaw import ReachLaw
from absentia.missing.process import Process
from absentia.planning.batch import Batch
from absentia.planning.budget import Budget
from absentia.planning.plan import Plan, plan
from absentia.planning.schema import Schema
from absentia.query.base import Query
from absentia.query.columns import count, mean, total
from absentia.query.custom import custom
from absentia.query.models import pca, regression
from absentia.query.moments import moments
from absentia.query.statistic import Statistic
from absentia.query.tables import histogram

NAMES = [f"x{i}" for i in range(6)]
SCHEMA = Schema.from_dict(
    {
        "n": 2000,
        "columns": {
            **{name: {"kind": "number", "bounds": [-1, 1]} for name in NAMES},
            "g": {"kind": "category", "values": ["a", "b", "c"]},
        },
    }
)
ONE = Budget("1", "1e-6")
PURE = Budget("1")
THREE = missing.three_form(SCHEMA, [["x0", "x1"], ["x2", "x3"], ["x4", "x5"]], because="design", by="us")
APART = missing.independent(SCHEMA, dict.fromkeys(NAMES, "0.3"), because="assigned by chance", by="us", kind="design")
PROCESSES: dict[str, Process] = {
    "three-form": THREE,
    "independent": APART,
    "counts": missing.counts(SCHEMA, ["0.2", "0.2", "0.2", "0.2", "0.2"], because="declared"),
    "bounds": missing.bounds(SCHEMA, "0.5", k=3, because="declared"),
    "gamma": missing.gamma(APART, 2),
    "nonresponse": missing.nonresponse_on(THREE, because="some do not answer"),
    "without": missing.without(SCHEMA),
}
QUERIES: list[Query] = [mean("x0"), total("x1"), histogram("g"), moments(["x2", "x3"]), count("x4", by="g")]


@pytest.mark.parametrize("noise", ["gaussian", "laplace"])
@pytest.mark.parametrize("name", PROCESSES)
def test_every_promise_is_kept_and_used(name: str, noise: str) -> None:
    budget = ONE if noise == "gaussian" else PURE
    p = plan(SCHEMA, QUERIES, PROCESSES[name], budget=budget, noise=noise)
    g, d = p.guarantee, budget.delta
    spent = Fraction(g.epsilon(d))
    assert Fraction(999, 1000) < spent <= budget.epsilon
    assert g.epsilon(d) <= g.if_mask_known.epsilon(d) * (1 + 1e-12)
    assert g.if_mask_known.epsilon(d) <= g.without_missingness.epsilon(d) * (1 + 1e-12)
    assert p.saving >= 1 - 1e-9
    assert p.scales.keys() == set(p.statistics)
    assert p == Plan.from_dict(json.loads(json.dumps(p.to_dict())))


def test_without_missingness_is_the_plain_noise() -> None:
    """One sum: sigma is the analytic Gaussian's at distance 2; one count: at distance 1."""
    for query, distance in ((total("x0"), 2), (count("x0"), 1)):
        p = plan(SCHEMA, query, missing.without(SCHEMA), budget=ONE)
        wanted = calibrate("gaussian", ReachLaw.point(Fraction(distance, 2)), epsilon="1", delta="1e-6").size
        assert list(p.scales.values()) == [pytest.approx(wanted, rel=1e-9)]


@pytest.mark.parametrize("noise", ["laplace", "gaussian"])
def test_without_missingness_is_true_of_tables_with_holes(noise: str) -> None:
    """A count moves with the mask alone: with `without` it is protected as if any entry might be missing."""
    queries = [count("x0"), total("x0", share="1/100"), moments(["x0", "x1", "x2"])]
    g = plan(SCHEMA, queries, missing.without(SCHEMA), budget=ONE, noise=noise).guarantee
    figures = {x.epsilon("1e-6") for x in (g, g.without_missingness, g.if_mask_known)}
    assert len(figures) == 1, figures


def test_laplace_sum_by_hand() -> None:
    """T3 for a sum seen with probability 1/2: (1 + e^{1/b})/(1 + e^{-1/b}) = e^{1/b}, so b = 1/epsilon, half of 2."""
    half = missing.independent(SCHEMA, {"x0": "1/2"}, because="coin")
    p = plan(SCHEMA, total("x0"), half, budget=PURE, noise="laplace")
    assert list(p.scales.values()) == [pytest.approx(1.0, rel=1e-9)]
    assert p.saving == pytest.approx(2.0, rel=1e-9)


def test_three_form_saves_a_third_of_noise_on_a_scalar() -> None:
    """A quarter of each column missing under a core: 1.33 for one l1 workload in the high-privacy limit."""
    design = missing.split_questionnaire(SCHEMA, [[c] for c in NAMES[:4]], 3, because="four forms")
    p = plan(SCHEMA, [total(c) for c in NAMES[:4]], design, budget=Budget("1"), noise="laplace")
    assert p.saving == pytest.approx(4 / 3, rel=1e-6)


@pytest.mark.parametrize(("rate", "most"), [("0.05", 0.12), ("0.3", 0.40), ("0.5", 0.60)])
def test_independent_assignment_needs_about_the_observed_share(rate: str, most: float) -> None:
    names = [f"x{i}" for i in range(40)]
    schema = Schema.from_dict({"columns": {name: {"kind": "number", "bounds": [-1, 1]} for name in names}})
    process = missing.independent(schema, dict.fromkeys(schema.columns, rate), because="assigned by chance")
    p = plan(schema, [total(c) for c in schema.columns], process, budget=ONE)
    assert p.guarantee.answer(delta=ONE.delta).result == "T9"
    assert 0.99 * float(rate) < 1 / p.saving < most
    assert len(p.blocks) == 40


def test_the_structure_follows_the_process() -> None:
    asked = [total(c) for c in NAMES]
    assert isinstance(plan(SCHEMA, asked, APART, budget=ONE).structure, Blocks)
    assert isinstance(plan(SCHEMA, asked, THREE, budget=ONE).structure, Forms)
    joined = plan(SCHEMA, [*asked, moments(["x0", "x1"])], APART, budget=ONE)
    assert [b.columns for b in joined.blocks if len(b.columns) > 1] == [("x0", "x1")]
    assert "moments" in next(b for b in joined.blocks if len(b.columns) > 1).because


def test_shared_statistics_are_released_once_at_the_larger_share() -> None:
    apart = plan(SCHEMA, [mean("x0"), count("x0")], THREE, budget=ONE)
    assert len(apart.scales) == 3
    p = plan(SCHEMA, [mean("x0", share=4), mean("x1"), count("x0")], THREE, budget=ONE)
    s0, s1, c0 = (p.scales[Statistic(((c, e),))] for c, e in (("x0", 1), ("x1", 1), ("x0", 0)))
    assert s1 / s0 == pytest.approx(2)
    assert c0 / s0 == pytest.approx(2**0.5)


@settings(max_examples=15, deadline=None)
@given(st.integers(1, 4), st.sampled_from(["gaussian", "laplace"]), st.sampled_from(["three-form", "counts"]))
def test_a_book_of_batches_is_one_batch(parts: int, noise: str, name: str) -> None:
    """T7: the sum of batches of single queries promises what amplifying their stacked reach promises."""
    total_batch: Batch | None = None
    for i in range(parts):
        p = plan(SCHEMA, total(NAMES[i]), PROCESSES[name], budget=Budget("1", "1e-6"), noise=noise)
        total_batch = p.batch if total_batch is None else total_batch + p.batch
    assert total_batch is not None
    g = total_batch.guarantee(PROCESSES[name])
    plain = amplify(total_batch.noise, PROCESSES[name].joint(total_batch.reach))
    assert g.epsilon("1e-6") <= plain.epsilon("1e-6") * (1 + 1e-12)
    assert Batch.from_dict(json.loads(json.dumps(total_batch.to_dict()))) == total_batch


def test_dependent_rows_need_a_factor_and_lose_amplification() -> None:
    with pytest.raises(HazardRefused) as refusal:
        plan(SCHEMA, mean("x0"), THREE, budget=ONE, rows_dependent=True)
    assert refusal.value.code == "H14"
    one, two = (plan(SCHEMA, total("x0"), THREE, budget=PURE, noise="laplace", dependent_rows=g) for g in (1, 2))
    assert list(one.scales.values()) == [pytest.approx(4)]
    assert list(two.scales.values()) == [pytest.approx(6)]
    assert one.guarantee.answer(delta=0).result == "T8"
    assert one.guarantee.without_missingness.epsilon(0) == pytest.approx(0.5)


def test_refusals() -> None:
    with pytest.raises(HazardRefused) as reason:
        plan(SCHEMA, mean("x0"), missing.planned(SCHEMA, asked=[["x0"], ["x1"]]), budget=ONE)
    assert reason.value.code == "H13"
    with pytest.raises(HazardRefused) as reach:
        custom("f", {})
    assert reach.value.code == "H18"
    with pytest.raises(InputError) as floating:
        Budget(0.1)  # type: ignore[arg-type]
    assert floating.value.field == "budget.epsilon"
    with pytest.raises(InputError):
        plan(SCHEMA, mean("x0"), THREE, budget=Budget("1"))
    several = Schema.from_dict(SCHEMA.to_dict() | {"unit": "person", "unit_rule": {"at_most": 2}})
    with pytest.raises(HazardRefused) as rows:
        plan(several, mean("x0"), THREE, budget=ONE)
    assert rows.value.code == "H3"
    assert plan(several, mean("x0"), missing.without(several), budget=ONE).saving == pytest.approx(1)


def test_a_design_invents_no_reason() -> None:
    """What describes a design is no reason to believe it: somebody must stand for it."""
    blocks = [["x0", "x1"], ["x2", "x3"], ["x4", "x5"]]
    silent = (
        missing.three_form(SCHEMA, blocks),
        missing.split_questionnaire(SCHEMA, blocks, 1),
        missing.rotation(SCHEMA, blocks, (0, 1)),
        missing.rotating_panel(SCHEMA, blocks, 2),
        missing.subsampling(SCHEMA, "0.5"),
        missing.random_items(SCHEMA, {"x0": "0.5"}),
        missing.matrix_sampling(SCHEMA, blocks, 2),
    )
    for design in silent:
        assert design.because == ""
        with pytest.raises(HazardRefused) as reason:
            plan(SCHEMA, total("x0"), design, budget=ONE)
        assert reason.value.code == "H13"
    with pytest.raises(InputError, match="three blocks"):
        missing.three_form(SCHEMA, blocks[:2], because="two")


def test_a_plan_that_breaks_its_budget_is_refused() -> None:
    data = plan(SCHEMA, mean("x0"), THREE, budget=ONE).to_dict()
    data["scales"] = [x * 0.999 for x in data["scales"]]
    with pytest.raises(BudgetRefused):
        Plan.from_dict(data)


def test_identity_follows_every_public_thing() -> None:
    base = plan(SCHEMA, mean("x0"), THREE, budget=ONE)
    others = [
        plan(SCHEMA, mean("x1"), THREE, budget=ONE),
        plan(SCHEMA, mean("x0"), APART, budget=ONE),
        plan(SCHEMA, mean("x0"), THREE, budget=Budget("2", "1e-6")),
        plan(SCHEMA, mean("x0"), THREE, budget=PURE, noise="laplace"),
        plan(replace(SCHEMA, n=7), mean("x0"), THREE, budget=ONE),
        plan(SCHEMA, mean("x0"), THREE, budget=ONE, dependent_rows=1),
        plan(SCHEMA, mean("x0"), THREE, budget=ONE, relation="add_remove"),
    ]
    assert len({p.identity for p in [base, *others]}) == 8
    assert base.identity == plan(SCHEMA, [mean("x0")], THREE, budget=Budget("1.0", "0.000001")).identity


def test_what_if() -> None:
    p = plan(SCHEMA, [total(c) for c in NAMES], APART, budget=ONE)
    declared, *curve, plain = p.what_if()
    assert (declared.epsilon <= 1, declared.noise) == (True, 1)
    epsilons = [o.epsilon for o in curve]
    assert epsilons == sorted(epsilons)
    assert epsilons[0] == pytest.approx(1, rel=1e-6)
    assert plain.epsilon == p.guarantee.without_missingness.epsilon("1e-6") >= epsilons[-1]
    assert plain.noise == p.saving
    (_, eta) = p.what_if(eta="0.1")
    assert min(eta.epsilon, eta.noise) > 1
    (_, bound) = p.what_if(p_star="0.9")
    assert bound.epsilon > 1


def test_advice_names_answers_that_noise_would_hide() -> None:
    """With the epsilon that it names they show in such a world, and a little below it they do not."""
    asked = [regression("x0", ["x1", "x2"]), mean("x3"), mean("x3", by="g")]
    half = missing.independent(SCHEMA, {"x1": "0.8"}, because="design")

    def advice(epsilon: str) -> dict[str, str]:
        p = plan(SCHEMA, asked, half, budget=Budget(epsilon, "1e-6"))
        return {text.split(" is likely")[0].split(" may")[0]: text for text in p.advice if "come back empty" in text}

    tight, fit = advice("0.02"), asked[0].name
    assert set(tight) == {q.name for q in asked}
    assert "is likely to" in tight[fit]
    needed = float(tight[fit].split("epsilon ")[1].split()[0])
    assert " may " in advice(f"{needed:g}")[fit]
    assert "is likely to" in advice(f"{0.85 * needed:g}")[fit]
    assert advice("20") == {}
    unknown = Schema.from_dict({k: v for k, v in SCHEMA.to_dict().items() if k != "n"})
    assert not any("empty" in text for text in plan(unknown, asked, half, budget=Budget("0.02", "1e-6")).advice)


def test_advice_names_what_would_gain() -> None:
    fixed = missing.matrix_sampling(SCHEMA, [[c] for c in NAMES], 2, because="design")
    p = plan(SCHEMA, [total(c) for c in NAMES], fixed, budget=ONE)
    assert isinstance(p.structure, Forms)
    many = Schema.from_dict({"n": 9999, "columns": {f"x{i}": {"kind": "number", "bounds": [-1, 1]} for i in range(30)}})
    rare = missing.independent(many, dict.fromkeys(many.columns, "0.1"), because="by chance", kind="design")
    joined = plan(many, [*(total(c) for c in many.columns), pca(list(many.columns)[:12])], rare, budget=ONE)
    assert any("pca" in text and "joins blocks" in text for text in joined.advice)
    pairs = [[f"x{i}", f"x{(i + 1) % 30}"] for i in range(30)]
    cyclic = missing.planned(many, asked=pairs, because="rotation")
    rotated = plan(many, [total(c) for c in many.columns], cyclic, budget=ONE)
    assert any("by itself" in text for text in rotated.advice)
    none = plan(SCHEMA, histogram("g"), THREE, budget=ONE)
    assert any(text.startswith("No gain here") for text in none.advice)


def test_accuracy_first_gives_the_smallest_budget() -> None:
    queries = [mean("x0"), histogram("g")]
    target = [{"query": "mean(x0)", "within": "0.1"}, {"query": "histogram(g)", "within": "60"}]
    p = plan(SCHEMA, queries, THREE, accuracy=target)
    widths = [max(x.worst for x in p.accuracy("0.95").of(q.name)) for q in queries]
    assert 0.999 < max(widths[0] / 0.1, widths[1] / 60) <= 1
    less = Budget(p.budget.epsilon * Fraction(998, 1000), p.budget.delta)
    smaller = plan(SCHEMA, queries, THREE, budget=less)
    assert max(x.worst for x in smaller.accuracy("0.95").of("histogram(g)")) > 60
    with pytest.raises(BudgetRefused) as conflict:
        plan(SCHEMA, queries, THREE, accuracy=[{"query": "mean(x0)", "within": "1e-6"}])
    assert "mean(x0)" in str(conflict.value)
    with pytest.raises(BudgetRefused, match="not known"):
        plan(SCHEMA, queries, PROCESSES["bounds"], accuracy=[{"query": "mean(x0)", "within": "0.5"}])


def test_a_law_that_only_bounds_leaves_the_worst_case_open() -> None:
    p = plan(SCHEMA, mean("x0"), PROCESSES["bounds"], budget=ONE)
    (line,) = p.accuracy()
    assert line.best < line.worst == float("inf")
    assert "or more" in str(p.accuracy())


def test_a_custom_query_gets_its_own_noise() -> None:
    p = plan(SCHEMA, [custom("f", {"x0": 1, "x1": 2}), total("x2")], THREE, budget=ONE)
    assert set(p.own_scales) == {"custom(f)"}
    assert p.own_scales["custom(f)"] == pytest.approx(3 * next(iter(p.scales.values())))
    assert Plan.from_dict(p.to_dict()) == p


def test_post_processing_shares_the_moments() -> None:
    three = ["x0", "x1", "x2"]
    alone = plan(SCHEMA, moments(three), THREE, budget=ONE)
    more = plan(SCHEMA, [moments(three), pca(three), regression("x0", ["x1"])], THREE, budget=ONE)
    assert dict(alone.scales) == dict(more.scales)


def test_explain_is_a_numbered_derivation() -> None:
    p = plan(SCHEMA, QUERIES, THREE, budget=ONE)
    text = p.explain()
    for i in range(1, 9):
        assert f"\n{i}. " in text
    for word in ("T7", "T2", "Proofs 10, 11", "ound up", p.identity[:16]):
        assert word in text
    assert max(len(line) for line in text.splitlines()) <= 80
    assert max(len(line) for line in p.summary().splitlines()) <= 80


def test_names_are_escaped_in_notebooks() -> None:
    hostile = Schema.from_dict({"n": 10, "columns": {"<script>": {"kind": "number", "bounds": [0, 1]}}})
    p = plan(hostile, mean("<script>"), missing.without(hostile), budget=ONE)
    assert "<script>" not in p._repr_html_()
    assert "&lt;script&gt;" in p._repr_html_()
