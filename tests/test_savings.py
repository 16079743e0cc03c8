"""The headline savings: what the plan predicts, and what many simulated releases measure (benchmarks/savings.py)."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

import absentia as ab

sys.path.insert(0, str(Path(__file__).parents[1] / "benchmarks"))

from savings import Case, drawn_cases, planned_cases, real_cases, saving

CASES = {(c.group, c.name, c.noise): c for cases in (planned_cases, drawn_cases) for c in cases()}
THREE = "survey, three forms and a core"
HEADLINES = {
    (THREE, "one number from four columns", "laplace"): (4 / 3, "T3"),
    (THREE, "one number from four columns", "gaussian"): (4 / 3, "T2"),
    (THREE, "sums of four columns", "laplace"): (4 / 3, "T3"),
    (THREE, "means of four columns", "laplace"): (4 / 3, "T5"),
    (THREE, "sums of four columns", "gaussian"): (1.3068, "T10K"),
    ("survey, each item drawn at 0.05", "sums of eight columns", "gaussian"): (16.200, "T9"),
    ("survey, each item drawn at 0.3", "sums of eight columns", "gaussian"): (3.3336, "T9"),
    ("survey, each item drawn at 0.5", "sums of eight columns", "gaussian"): (2.0018, "T9"),
}


@pytest.mark.parametrize("key", HEADLINES)
def test_headline(key: tuple[str, str, str]) -> None:
    predicted, result = HEADLINES[key]
    found = saving(CASES[key], 4000)
    assert found.result == result
    assert found.predicted == pytest.approx(predicted, rel=2e-4)
    assert found.measured == pytest.approx(predicted, rel=0.08)  # 4 numbers, Laplace: 2 % is one standard deviation


def test_the_bundled_plan_saves_nearly_a_quarter() -> None:
    case = CASES[THREE, "the bundled plan", "gaussian"]
    assert case.plan(True).saving == pytest.approx(1.239, abs=2e-3)


def test_what_is_predicted_is_the_ratio_of_the_two_plans() -> None:
    for key in ((THREE, "means of four columns", "gaussian"), (THREE, "four histograms", "laplace")):
        used, plain = CASES[key].plan(True), CASES[key].plan(False)
        for s, scale in used.scales.items():
            assert plain.scales[s] / scale == pytest.approx(used.saving, rel=1e-8)


def test_real_tables_save_what_their_assumed_law_predicts(real_data: Path) -> None:
    cases = list(real_cases())
    assert {c.name.split(":")[0] for c in cases} == {"nhanes", "selfreport", "housevotes84"}
    for case in cases:
        found = saving(case, 1000)
        assert found.predicted > 1.02, case.name
        assert found.measured == pytest.approx(found.predicted, rel=0.06), case.name


def test_a_promise_met_to_the_last_bit_at_the_first_scale_tried() -> None:
    """The search once started exactly on the optimum and found no change of sign."""
    case = next(c for c in CASES.values() if c.group.endswith("0.5") and "means" in c.name and c.noise == "laplace")
    assert isinstance(case, Case)
    assert isinstance(case.plan(True), ab.Plan)
