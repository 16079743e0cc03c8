"""Guarantees: three figures, provenance, refusals, composition (T7), filters, calibration, readings."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction as F  # noqa: N817

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.integrate import quad
from scipy.stats import norm

import absentia as ab

LAW = ab.ReachLaw(reach=[0, 0.5], mass=["0.28", "0.72"])


def test_a_guarantee_is_neither_true_nor_a_summand() -> None:
    g = ab.amplify(ab.Gaussian(2.0), LAW)
    with pytest.raises(TypeError, match="curve"):
        bool(g)
    with pytest.raises(ab.HazardRefused, match="121/100") as refusal:
        g + g
    assert refusal.value.code == "H19"
    assert refusal.value.exit_code == 4
    with pytest.raises(ab.HazardRefused):
        sum([g, g])


@pytest.mark.parametrize(
    ("call", "field"),
    [
        (lambda: ab.amplify(ab.Gaussian(2), LAW).epsilon(-1), "delta"),
        (lambda: ab.amplify(ab.Gaussian(2), LAW).epsilon("1.5"), "delta"),
        (lambda: ab.amplify(ab.Gaussian(2), LAW).delta(-1), "epsilon"),
        (lambda: ab.amplify(ab.Gaussian(2), LAW).delta(math.nan), "epsilon"),
        (lambda: ab.Gaussian(0), "sigma"),
        (lambda: ab.Gaussian(-1), "sigma"),
        (lambda: ab.Laplace(math.inf), "scale"),
        (lambda: ab.BlackBox("-1"), "epsilon"),
        (lambda: ab.BlackBox("1", "2"), "delta"),
        (lambda: ab.amplify(ab.BlackBox("1"), p_star="1.2"), "p_star"),
        (lambda: ab.amplify(ab.BlackBox("1"), p_star=-0.1), "p_star"),
        (lambda: ab.amplify(ab.Gaussian(2), LAW, relation="swap"), "relation"),
        (lambda: ab.amplify(ab.Gaussian(2)), "law"),
        (lambda: ab.calibrate("gaussian", LAW, epsilon=0.1, delta="1e-6"), "epsilon"),
        (lambda: ab.calibrate("gaussian", LAW, epsilon="1"), "delta"),
        (lambda: ab.calibrate("cauchy", LAW, epsilon="1"), "family"),
        (lambda: ab.ReachLaw.from_paper("0.5", [1, 1], k=3), "k"),
        (lambda: ab.together([]), "releases"),
    ],
)
def test_bad_input_names_the_field(call: object, field: str) -> None:
    with pytest.raises(ab.InputError) as refusal:
        call()  # type: ignore[operator]
    assert refusal.value.field == field


def test_three_figures_and_their_results() -> None:
    d = ab.amplify(ab.Gaussian(2.0), LAW).to_dict("1e-6")
    assert (d["result"], d["delta"]) == ("T2", 1e-6)
    assert d["epsilon"] < d["if_mask_known"]["epsilon"] < d["without_missingness"]["epsilon"]  # type: ignore[index]
    assert ab.amplify(ab.BlackBox("8", "1e-6"), p_star="0.72").result == "T1"
    assert ab.amplify(ab.Gaussian(4.27), ab.Blocks([ab.ReachLaw([0, 1], ["0.95", "0.05"])] * 100)).result == "T9"
    forms = ab.Forms(reach=[1, 1, 1], forms=[[0, 1], [0, 2], [1, 2]], mass=["1/3"] * 3)
    assert ab.amplify(ab.Gaussian(11), forms).result == "T10K"
    assert ab.amplify(ab.BlackBox("1"), p_star="0.9", dense_share="0.1").result == "T6"
    assert ab.amplify(ab.BlackBox("1"), p_star="0.9", dependent_rows=1).result == "T8"


def test_attribute_level_is_black_box_only() -> None:
    assert ab.amplify(ab.BlackBox("1"), p_star="1/2", relation="attribute").epsilon(0) == 0.6201145069582776
    with pytest.raises(ab.HazardRefused, match="reveal the mask"):
        ab.amplify(ab.Gaussian(1), LAW, relation="attribute")


def test_exact_sensitivity_lowers_the_base_only() -> None:
    g = ab.amplify(ab.Gaussian(1), ab.ReachLaw.point(1), sensitivity=1.5)
    plain = ab.amplify(ab.Gaussian(1), ab.ReachLaw.point(0.75)).epsilon("1e-6")
    assert g.without_missingness.epsilon("1e-6") == pytest.approx(plain, rel=1e-13)


def test_known_distance_only_uses_t1_and_t3() -> None:
    g = ab.amplify(ab.Laplace(1), p_star="0.5", sensitivity=1)
    assert g.answer(delta=0).result == "T3"
    assert g.epsilon(0) == 0.6201145069582776


@given(st.integers(1, 6), st.floats(0.1, 0.9), st.floats(0.5, 3))
def test_k_equal_releases_compose_before_amplification(k: int, p: float, sigma: float) -> None:
    mass = [1 - F(p), F(p)]
    one = ab.together([(ab.Gaussian(sigma), [0, 1])] * k, mass=mass).epsilon("1e-6")
    merged = ab.amplify(ab.Gaussian(sigma), ab.ReachLaw([0, math.sqrt(k)], mass)).epsilon("1e-6")
    assert one == pytest.approx(merged, rel=1e-12)
    laplace = ab.together([(ab.Laplace(sigma), [0, 1])] * k, mass=mass).epsilon(0)
    assert laplace == pytest.approx(ab.amplify(ab.Laplace(sigma), ab.ReachLaw([0, k], mass)).epsilon(0), rel=1e-12)


def test_mixed_families_go_through_the_mask() -> None:
    g = ab.together([(ab.Laplace(4), [0, 1]), (ab.Gaussian(4), [0, 1])], mass=["1/2", "1/2"])
    alone = ab.amplify(ab.Gaussian(4), ab.ReachLaw([0, 1], ["1/2", "1/2"])).epsilon("1e-6")
    assert alone < g.epsilon("1e-6") <= g.without_missingness.epsilon("1e-6")
    # randomised response times Gaussian, integrated directly: the base at distance 2
    e, s = 0.5, 0.5
    p, a = 1 / (1 + math.exp(-e)), math.exp(1.0)

    def excess(y: float) -> float:
        lead = norm.pdf(y - s) - 0 * a
        return max(0, p * lead - a * (1 - p) * norm.pdf(y)) + max(0, (1 - p) * lead - a * p * norm.pdf(y))

    truth = quad(excess, -12, 13, limit=500)[0]
    assert g.without_missingness.delta(1) == pytest.approx(truth, rel=1e-6)


def test_black_boxes_add_then_amplify_once() -> None:
    g = ab.together([ab.BlackBox("1", "1e-6"), ab.BlackBox("1", "1e-6")], p_star="1/2")
    assert g.epsilon("1e-6") == ab.amplify(ab.BlackBox("2", "2e-6"), p_star="1/2").epsilon("1e-6")


def test_fresh_masks_compose_and_stay_below_the_shared_mask() -> None:
    law = ab.ReachLaw([0, 1], ["0.9", "0.1"])
    one = ab.amplify(ab.Gaussian(2), law)
    fresh = ab.fresh_masks([one] * 10).epsilon("1e-6")
    shared = ab.together([(ab.Gaussian(2), [0, 1])] * 10, mass=["0.9", "0.1"]).epsilon("1e-6")
    assert one.epsilon("1e-6") < fresh < shared
    assert shared == pytest.approx(5.319, abs=2e-3)
    assert fresh == pytest.approx(1.451, abs=4e-3)


def test_pure_filter_is_path_wise_t3() -> None:
    book = ab.Filter.pure(["0.5", "0.5"], epsilon="1")
    book = book.spend(ab.Laplace(2.001), [0, 1]).spend(ab.Laplace(2.001), [0, 1])
    with pytest.raises(ab.BudgetRefused) as refusal:
        book.spend(ab.Laplace(100), [0, 1])
    assert refusal.value.exit_code == 3


def test_gaussian_filter_holds_the_envelope_on_every_pattern() -> None:
    book = ab.Filter.gaussian(["0.5", "0.5"], [1, 1], epsilon="8", delta="1e-6")
    book = book.spend(ab.Gaussian(2), [1.3, 0])
    with pytest.raises(ab.BudgetRefused, match="steered"):
        book.spend(ab.Gaussian(1), [0, 6])  # the steering query: reach 6 for whichever pattern looks seen
    with pytest.raises(ab.InputError):
        book.spend(ab.Laplace(1), [0, 1])


@given(st.floats(0.02, 1), st.sampled_from(["0.1", "1", "4"]), st.sampled_from(["1e-12", "1e-6", "1e-2"]))
def test_calibration_is_proved_and_tight(p: float, epsilon: str, delta: str) -> None:
    law = ab.ReachLaw([0, 1], [1 - F(p), F(p)])
    for family in ("gaussian", "laplace"):
        noise = ab.calibrate(family, law, epsilon=epsilon, delta=delta)
        assert F(ab.amplify(noise, law).delta(epsilon)) <= F(delta)
        less = type(noise)(noise.size * (1 - 1e-9))
        assert F(ab.amplify(less, law).delta(epsilon)) > F(delta)


def test_calibration_of_blocks_and_forms() -> None:
    column = ab.ReachLaw([0, 1], [F(9, 13), F(4, 13)])
    sigma = ab.calibrate("gaussian", ab.Blocks([column] * 13), epsilon="1", delta="1e-6").size
    assert 9.36 < sigma < 9.39
    assert ab.calibrate("gaussian", ab.Forms.k_of_d(4, 13), epsilon="1", delta="1e-6").size <= 9.60
    pure = ab.calibrate("laplace", ab.Blocks([column] * 13), epsilon="1").size
    assert ab.amplify(ab.Laplace(pure), ab.Blocks([column] * 13)).epsilon(0) <= 1


def test_inverse_of_t1_is_safe() -> None:
    box = ab.calibrate_black_box("0.3", epsilon="1", delta="1e-6")
    assert ab.amplify(box, p_star="0.3").epsilon("1e-6") <= 1
    assert ab.noise_within(ab.Laplace, "2", "0.95").scale == pytest.approx(2 / math.log(20))
    assert ab.noise_within(ab.Gaussian, "2", "0.95").sigma == pytest.approx(2 / 1.959963985)


def test_tradeoff_and_renyi_bracket_the_gaussian() -> None:
    g = ab.amplify(ab.Gaussian(1), ab.ReachLaw.point(0.5))  # N(1/2) against N(-1/2): mu = 1
    for alpha in (0.001, 0.05, 0.3, 0.5, 0.9):
        truth = norm.cdf(norm.ppf(1 - alpha) - 1)
        assert truth - 1e-9 <= g.tradeoff(alpha) <= truth + 1e-16
    assert g.renyi(3) == pytest.approx(1.5, rel=1e-12)
    assert g.renyi(3) >= 1.5
    masked = ab.amplify(ab.Gaussian(1), ab.ReachLaw([0, 0.5], ["0.5", "0.5"]))

    def power(y: float) -> float:
        p = 0.5 * norm.pdf(y) + 0.5 * norm.pdf(y - 0.5)
        return (p / (0.5 * norm.pdf(y) + 0.5 * norm.pdf(y + 0.5))) ** 3 * (0.5 * norm.pdf(y) + 0.5 * norm.pdf(y + 0.5))

    assert masked.renyi(3) == pytest.approx(math.log(quad(power, -15, 15)[0]) / 2, rel=1e-8)


def test_plot_and_notebook_table() -> None:
    g = ab.amplify(ab.Gaussian(1), LAW)
    assert len(g.plot().lines) == 3
    assert "without missingness" in g._repr_html_()
    curve = g.curve(np.linspace(0, 3, 7).tolist(), certified=True)
    assert all(a[1] >= b[1] for a, b in itertools.pairwise(curve))


def test_a_reach_of_mass_zero_is_what_a_complete_row_could_do() -> None:
    law = ab.ReachLaw(reach=[0, "0.5", 2], mass=["0.28", "0.72", 0])
    assert (law.max, law.full_reach) == (0.5, 2.0)
    full = ab.amplify(ab.Gaussian(1), law).without_missingness
    assert full.delta(1) == ab.amplify(ab.Gaussian(1), ab.ReachLaw.point(2)).delta(1)


def test_a_base_about_few_entries_promises_nothing_about_full_rows() -> None:
    box = ab.BlackBox("1", "1e-6")
    g = ab.amplify(box, p_star="0.5", dense_share="0.01")
    assert g.without_missingness.epsilon("1e-3") == math.inf
    assert g.without_missingness.delta(5) == 1
    assert g.if_mask_known.epsilon("0.01000049") >= 1 > g.epsilon("0.01000049")
    assert g.if_mask_known.delta(1) >= 0.01 + 0.49e-6
    for other in ({"relation": "attribute"}, {"dependent_rows": 1}):
        with pytest.raises(ab.InputError) as refusal:
            ab.amplify(box, p_star="0.5", dense_share="0.01", **other)
        assert refusal.value.field == "dense_share"


@pytest.mark.parametrize("delta", ["1e-3", "1e-6", "0.1"])
def test_removing_a_record_with_nothing_missing_keeps_the_base_promise(delta: str) -> None:
    box = ab.BlackBox("1", delta)  # the double of 1e-3 lies above 1/1000: a rounded-up curve alone never reaches it
    assert ab.amplify(box, p_star=1, relation="add_remove").epsilon(delta) == 1.0


@pytest.mark.parametrize(
    "text", ["1e-6", "0.1", "1/3", "2/3", "1e-300", "0.1234567890123456789", "9.9999999999999999e-7"]
)
def test_the_number_that_is_echoed_reads_at_least_as_the_one_asked(text: str) -> None:
    g = ab.amplify(ab.Gaussian(2), LAW)
    for echo in (g.answer(delta=text).delta, g.answer(epsilon=text).epsilon, g.curve([text])[0][0]):
        assert F(repr(echo)) >= F(text)
        assert F(repr(math.nextafter(echo, 0))) < F(text)
    assert repr(g.answer(delta="1e-6").delta) == "1e-06"


def test_no_finite_figure_names_no_result() -> None:
    for g in (ab.amplify(ab.Gaussian(2), LAW), ab.amplify(ab.Gaussian(2), ab.Blocks([LAW] * 2))):
        figure = g.answer(delta=0)
        assert (figure.epsilon, figure.result, figure.assumptions) == (math.inf, "none", ())


@pytest.mark.parametrize("relation", ["substitute", "add_remove"])
@pytest.mark.parametrize("law", [ab.ReachLaw.point(1), ab.Forms.k_of_d(13, 13)])
def test_where_nothing_is_missing_the_three_figures_are_one(law: object, relation: str) -> None:
    for noise in (ab.Gaussian("9.57"), ab.Laplace(7)):
        g = ab.amplify(noise, law, relation=relation)  # type: ignore[arg-type]  # a law of either kind
        for delta in ("1e-3", "1e-6", "1e-12"):
            assert len({x.epsilon(delta) for _, x in g.with_companions}) == 1


def test_eta_belongs_to_dependent_rows_which_need_no_p_star() -> None:
    with pytest.raises(ab.InputError) as refusal:
        ab.amplify(ab.BlackBox("1"), p_star="0.9", eta="0.5")
    assert refusal.value.field == "eta"
    t8 = ab.amplify(ab.BlackBox("1"), dependent_rows=1, eta="0.5")
    assert t8.epsilon(0) == ab.amplify(ab.BlackBox("1"), p_star="0.9", dependent_rows=1, eta="0.5").epsilon(0)
    assert any("0.5 in total variation" in a for a in t8.assumptions)
    assert ab.amplify(ab.Laplace(2), sensitivity=1, dependent_rows=1).epsilon(0) == 1
