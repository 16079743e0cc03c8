"""T1, T6, T8 and Theorems 2-4 against 17-digit reference values (validation/blackbox.json)."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from absentia.theory import blackbox, channel, relaxed

CASES = json.loads((Path(__file__).parents[1] / "validation" / "blackbox.json").read_text())["cases"]


def named(names: list[str], values: Any) -> dict[str, float]:
    return dict(zip(names, values, strict=True))


FORMULAS: dict[str, Callable[[dict[str, Any]], dict[str, float]]] = {
    "c1_any_missingness": lambda i: named(
        ["eps_out", "delta_out"], blackbox.amplified(i["eps"], i["delta"], i["p_bar"])
    ),
    "amplification_inverse": lambda i: {"eps_base": blackbox.inverse(i["eps_out"], i["p_bar"])},
    "pair_exact_pure": lambda i: {"eps_out": channel.pair_exact_pure(i["eps"], i["p"], i["p_prime"])},
    "class_exact_pair": lambda i: {
        "delta_out": channel.class_exact_pair(i["eps"], i["delta"], i["p"], i["p_prime"], i["eps_out"])
    },
    "class_exact_profile": lambda i: {
        "delta_out": channel.class_exact_profile(i["eps"], i["delta"], i["p_bar"], i["eps_out"])
    },
    "channel_exact": lambda i: named(
        ["delta_out", "tv", "eps_pure", "eps_theoremG"],
        channel.channel_exact(i["eps"], i["delta"], i["Q"], i["Q_prime"], i["eps_out"]),
    ),
    "c2_laplace_radius": lambda i: {
        "eps_out": channel.radius_diameter(Fraction(i["eps_tilde"]) / 2, i["eps_tilde"], i["p_bar"]),
        "eps_paper": blackbox.amplified(i["eps_tilde"], 0, i["p_bar"]).epsilon,
    },
    "radius_diameter_pure": lambda i: {"eps_out": channel.radius_diameter(i["r"], i["D"], i["p_bar"])},
    "radius_diameter_approx": lambda i: named(
        ["eps_out", "delta_mar", "delta_mnar"],
        channel.radius_diameter_approx(i["r"], i["D"], i["p"], i["delta_r"], i["delta_D"]),
    ),
    "c5_relaxed_row": lambda i: named(
        ["eps_out", "delta_out"], relaxed.relaxed(i["eps_tilde"], i["delta"], i["p_bar"], i["r_bar"])
    ),
    "c5_relaxed_laplace_improved": lambda i: named(
        ["eps_out", "delta_out"], relaxed.relaxed_laplace(i["eps"], i["eps_tilde"], i["p_bar"], i["r_bar"])
    ),
    "c6_composition": lambda i: {
        "sound": blackbox.amplified(i["T"] * Fraction(i["eps"]), 0, i["p"]).epsilon,
        "naive_unsound": i["T"] * blackbox.amplified(i["eps"], 0, i["p"]).epsilon,
    },
    "c11_dependent_rows": lambda i: named(
        ["eps_out", "delta_out"], blackbox.dependent_rows(i["eps"], i["delta"], i["g"], i["eta"])
    ),
}
ROUNDED_DOWN = {"eps_base"}


def last_digit(text: str) -> Fraction:
    """One unit of the last of 17 significant digits."""
    value = abs(float(text))
    return Fraction(10) ** (math.floor(math.log10(value)) - 16) if value else Fraction(0)


@pytest.mark.parametrize("case", CASES, ids=[c["id"] for c in CASES])
def test_reference(case: dict[str, Any]) -> None:
    got = FORMULAS[case["formula"]](case["inputs"])
    assert got.keys() == case["expected"].keys()
    for name, text in case["expected"].items():
        reference, value = Fraction(text), Fraction(got[name])
        assert abs(value - reference) <= Fraction(1, 10**12) * abs(reference)
        if name in ROUNDED_DOWN:
            assert value <= reference + last_digit(text)
        else:
            assert value >= reference - last_digit(text)


def test_every_formula_has_a_case() -> None:
    assert {c["formula"] for c in CASES} == set(FORMULAS)
