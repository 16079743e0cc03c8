"""Every reference case of validation/golden.json through the one table that says which function computes it."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from absentia.auditing.golden import FORMULAS, cases, misses

GOLDEN = Path(__file__).parents[1] / "validation" / "golden.json"
COUNTS = {
    "paper_mar": 4, "paper_mnar_pair": 3, "c1_any_missingness": 2, "amplification_inverse": 2, "pair_exact_pure": 3,
    "class_exact_pair": 3, "class_exact_profile": 3, "channel_exact": 2, "fwl_sensitivity": 2, "paper_laplace_fwl": 2,
    "paper_corollary": 2, "paper_gaussian_fwl": 2, "gaussian_hockey_stick": 4, "gaussian_eps": 2,
    "laplace_hockey_stick": 2, "c2_laplace_radius": 4, "radius_diameter_pure": 3, "radius_diameter_approx": 2,
    "mgf_pure_eps": 2, "mgf_pure_eps_mnar": 1, "envelope": 1, "noise_c3_c4_pair": 11, "pair_gaussian_eps": 2,
    "c5_relaxed_row": 3, "c5_relaxed_laplace_improved": 2, "c6_composition": 2, "c6_shared_gaussian": 1,
    "c6_shared_laplace": 1, "c8_separable": 2, "c9_quadratic": 4, "c9_mean_count": 4, "c11_dependent_rows": 2,
}  # fmt: skip


def test_the_file_is_complete_and_every_formula_has_its_function() -> None:
    assert Counter(case["formula"] for case in cases()) == COUNTS
    assert FORMULAS.keys() == COUNTS.keys()
    assert json.loads(GOLDEN.read_text("utf-8"))["cases"] == cases()


@pytest.mark.parametrize("case", cases(), ids=lambda case: case["id"])
def test_golden_case(case: dict[str, Any]) -> None:
    assert misses(case) == []


@pytest.mark.parametrize("formula", sorted(COUNTS))
def test_the_check_sees_a_wrong_number(formula: str) -> None:
    """Every output of every formula, moved the forbidden way by 3e-16 (or either way by 1e-9), is reported."""
    case = next(c for c in cases() if c["formula"] == formula)
    for name, text in case["expected_str"].items():
        if isinstance(text, list) or float(text) == 0:
            continue
        direction = FORMULAS[formula].direction(name)
        shifts = {"up": (4e-16, 1e-9), "down": (-4e-16, -1e-9), "near": (1e-9, -1e-9)}[direction]
        value = FORMULAS[formula].evaluate(case["inputs"])[name]
        for shift in shifts:
            moved = repr(float(value) * (1 + shift))
            wrong = {**case, "expected_str": {**case["expected_str"], name: moved}}
            assert len(misses(wrong)) == 1, (name, shift)
