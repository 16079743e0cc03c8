"""Every argument that would lower a figure is refused; what a figure states is never below what was asked."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import pytest

import absentia as ab
from absentia.exact import integer
from absentia.theory import paper

HALF = ["1/2", "1/2"]
LAW = ab.ReachLaw([0, "0.5"], ["0.25", "0.75"])
MIXED = [(ab.Laplace(1), [1, 0]), (ab.Gaussian(1), [1, 0])]
REFUSED: dict[str, Callable[[], Any]] = {
    "dependent_rows": lambda: ab.amplify(ab.Laplace(1), p_star=1, sensitivity=1, dependent_rows=-1),
    "dependent_rows ": lambda: ab.amplify(ab.Laplace(1), p_star=1, sensitivity=1, dependent_rows=0.5),  # type: ignore[arg-type]
    "sensitivity": lambda: ab.amplify(ab.Gaussian(1), LAW, sensitivity=-1),
    "sensitivity ": lambda: ab.amplify(ab.Gaussian(1), p_star="0.5", sensitivity=-1),
    "dense_share": lambda: ab.amplify(ab.Gaussian(1), LAW, dense_share="0.1"),
    "law": lambda: ab.amplify(ab.Gaussian(1), {"reach": [0, 1]}),  # type: ignore[arg-type]
    "mass": lambda: ab.together(MIXED, mass=["0.1", "0.1"]),
    "full[0]": lambda: ab.together(MIXED, mass=HALF, full=[0, 1]),
    "full": lambda: ab.together(MIXED, mass=HALF, full=[1]),
    "mass ": lambda: ab.Filter.pure(["0.5", "0.1"], epsilon="1"),
    "epsilon": lambda: ab.Filter.pure(HALF, epsilon="-1"),
    "reach": lambda: ab.Filter.pure(HALF, epsilon="1").spend(ab.BlackBox(1), [0, 1]),  # type: ignore[arg-type]
    "family": lambda: ab.noise_within("normal", "1", "0.95"),
    "blocks": lambda: ab.Blocks([1, 2]),  # type: ignore[list-item]
    "norm": lambda: ab.ReachLaw.combined([[0, 1]], HALF, 3),  # type: ignore[arg-type]
    "tables[1]": lambda: ab.ReachLaw.combined([[0, 1], [0]], HALF, 1),
    "k": lambda: ab.ReachLaw.from_paper("0.5", [1, 1], k=1.5),  # type: ignore[arg-type]
    "atoms": lambda: LAW.coarsened(1.5),  # type: ignore[arg-type]
    "mechanism": lambda: ab.amplify([ab.Laplace(1)], ab.Blocks([LAW]), dependent_rows=3),
    "mechanism ": lambda: ab.amplify([None], ab.Blocks([LAW])),  # type: ignore[list-item]
    "law ": lambda: ab.calibrate("gaussian", None, epsilon="1", delta="1e-6"),  # type: ignore[arg-type]
    "delta": lambda: ab.calibrate("gaussian", LAW, epsilon="1", delta="0.8"),
    "delta ": lambda: ab.calibrate("laplace", ab.ReachLaw([0, 1], [1, 0]), epsilon="1"),
    "reach[1]": lambda: ab.ReachLaw([0, "1e400"], HALF),
    "x": lambda: LAW.survival(float("nan")),
    "other": lambda: LAW.dominated_by(None),  # type: ignore[arg-type]
    "constants": lambda: paper.sensitivity(None),  # type: ignore[arg-type]
    "constants ": lambda: paper.laplace(1, 1, b"1"),  # type: ignore[arg-type]
    "pairs": lambda: paper.mnar_curve(1, 0, pairs=-1),  # type: ignore[arg-type]
    "pairs ": lambda: paper.mnar_curve(1, 0, pairs=[(1, 0, 1)]),  # type: ignore[list-item]
    "query": lambda: paper.query(None),  # type: ignore[arg-type]
    "sum": lambda: paper.query({"sum": 3}),
    "matrices[0]": lambda: paper.linear(3),  # type: ignore[arg-type]
}


@pytest.mark.parametrize("field", REFUSED)
def test_refused_and_named(field: str) -> None:
    with pytest.raises(ab.InputError) as refusal:
        REFUSED[field]()
    assert refusal.value.field == field.strip()


def test_noise_within_takes_the_family_by_name() -> None:
    assert ab.noise_within("laplace", "2", "0.95") == ab.noise_within(ab.Laplace, "2", "0.95")
    assert ab.noise_within("gaussian", "2", "0.95") == ab.noise_within(ab.Gaussian, "2", "0.95")


def test_a_figure_states_what_was_asked_and_never_nothing() -> None:
    g = ab.amplify(ab.Gaussian(1), LAW)
    assert g.answer(delta="1e-6").delta == 1e-6
    assert g.answer(delta="1e-400").delta > 0  # below every double: 0 would claim pure privacy of Gaussian noise
    assert g.delta("1e400") > 0


def test_a_shortfall_of_mixed_masses_goes_to_the_worst_pattern() -> None:
    short = ab.together(MIXED, mass=["0.5", Fraction(1, 2) - Fraction(1, 10**10)])
    moved = ab.together(MIXED, mass=[Fraction(1, 2) + Fraction(1, 10**10), Fraction(1, 2) - Fraction(1, 10**10)])
    assert short.delta("1") == moved.delta("1")


def test_mixed_noises_with_latent_classes_keep_the_three_figures_in_order() -> None:
    column = ab.ReachLaw([0, 1], HALF, full_reach=2)
    classes = [("1/2", [column, column]), ("1/2", [])]
    g = ab.amplify([ab.Laplace(1), ab.Gaussian(1)], ab.Blocks(classes=classes))
    plain = ab.amplify([ab.Laplace(1), ab.Gaussian(1)], ab.Blocks([ab.ReachLaw.point(2)] * 2))
    assert g.epsilon("1e-6") < g.if_mask_known.epsilon("1e-6") < g.without_missingness.epsilon("1e-6")
    assert g.without_missingness.epsilon("1e-6") == plain.epsilon("1e-6")


@pytest.mark.parametrize(("law", "said"), [(LAW, False), (ab.ReachLaw([0, 1], HALF, data_dependent=True), True)])
def test_a_black_box_says_what_a_known_mask_may_reveal(law: ab.ReachLaw, said: bool) -> None:
    known = ab.amplify(ab.BlackBox("1"), law).if_mask_known.assumptions
    assert any("may itself reveal values" in line for line in known) == said


@pytest.mark.parametrize("value", [True, 1.0, "1", None, 0, 4])
def test_an_integer_is_one_and_in_range(value: object) -> None:
    with pytest.raises(ab.InputError, match="an integer from 1 to 3") as refused:
        integer(value, "k", 1, 3)
    assert refused.value.field == "k"
    assert (integer(1, "k", 1, 3), integer(3, "k", 1, 3), integer(10**9, "k", 1)) == (1, 3, 10**9)
