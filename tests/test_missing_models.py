"""Envelopes of MAR and MNAR models against brute force over grids of records."""

from __future__ import annotations

import math
from collections.abc import Mapping
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from absentia import missing
from absentia.query.reach import Reach, Term

COLUMNS = ("x", "y", "g")
DOMAIN = {"x": [0, 10], "y": [-1, 1], "g": ["p", "q", "r"]}
Record = Mapping[str, float | str]
coefficient = st.integers(-12, 12).map(lambda k: k / 4)
weights = st.tuples(*[st.integers(1, 16)] * 4).map(lambda w: tuple(x / 4 for x in w))


def records(steps: int) -> list[Record]:
    ends = np.linspace(-1, 1, steps)
    return [{"x": x, "y": y, "g": g} for x, y, g in product(ends, ends, "pqr")]


def logistic(score: Mapping[str, object], z: Record) -> float:
    total = float(score["intercept"])  # type: ignore[arg-type]
    for name, value in score.items():
        if isinstance(value, Mapping):
            total += float(value.get(z[name], 0))
        elif name != "intercept":
            total += float(value) * float(z[name])  # type: ignore[arg-type]
    return 1 / (1 + math.exp(-total))


def reach_of(w: tuple[float, ...], norm: int = 1) -> Reach:
    joint = Term(frozenset({"x", "y"}), w[3])
    return Reach(norm, [*(Term(frozenset({c}), v) for c, v in zip(COLUMNS, w, strict=False)), joint])  # type: ignore[arg-type]


def survival(sets: Mapping[frozenset[str], float], reach: Reach, x: float) -> float:
    return sum(q for seen, q in sets.items() if reach(seen) >= x)


def by_column(rules: Mapping[str, float]) -> dict[frozenset[str], float]:
    """The observed set when each column is missing with the given probability, independently."""
    out: dict[frozenset[str], float] = {}
    for shown in product([0, 1], repeat=len(COLUMNS)):
        seen = frozenset(c for c, s in zip(COLUMNS, shown, strict=True) if s)
        chances = [(1 - rules.get(c, 0.0)) if c in seen else rules.get(c, 0.0) for c in COLUMNS]
        out[seen] = out.get(seen, 0.0) + math.prod(chances)
    return out


scores = st.fixed_dictionaries(
    {"intercept": coefficient},
    optional={
        "x": coefficient,
        "y": coefficient,
        "g": st.fixed_dictionaries({}, optional={"p": coefficient, "r": coefficient}),
    },
)


def stated(score: Mapping[str, object]) -> dict[str, object]:
    return {k: ({a: str(b) for a, b in v.items()} if isinstance(v, Mapping) else str(v)) for k, v in score.items()}


@given(st.dictionaries(st.sampled_from(COLUMNS), scores, min_size=1), weights)
@settings(max_examples=60, deadline=None)
def test_logistic_envelope_dominates_every_record(
    given_scores: dict[str, dict[str, object]], w: tuple[float, ...]
) -> None:
    process = missing.mnar_logistic(COLUMNS, {c: stated(s) for c, s in given_scores.items()}, DOMAIN)
    reach = reach_of(w)
    law = process.law(reach)
    for z in records(4):
        sets = by_column({c: logistic(s, z) for c, s in given_scores.items()})
        assert all(survival(sets, reach, x) <= law.survival(x) + 1e-14 for x in law.reach)


@given(st.lists(st.tuples(st.sets(st.sampled_from(COLUMNS), min_size=1), scores), min_size=1, max_size=3), weights)
@settings(max_examples=60, deadline=None)
def test_pattern_envelope_dominates_every_record(
    given_patterns: list[tuple[set[str], dict[str, object]]], w: tuple[float, ...]
) -> None:
    mass = 1 / 4
    process = missing.mnar_patterns(
        COLUMNS, [{"missing": sorted(m), "mass": mass, "score": stated(s)} for m, s in given_patterns], DOMAIN
    )
    reach, everything = reach_of(w), frozenset(COLUMNS)
    law = process.law(reach)
    for z in records(4):
        sets = {everything: 1.0}
        for lost, score in given_patterns:
            q = mass * logistic(score, z)
            sets[everything] -= q
            sets[everything - lost] = sets.get(everything - lost, 0.0) + q
        assert all(survival(sets, reach, x) <= law.survival(x) + 1e-14 for x in law.reach)


@given(coefficient, coefficient, coefficient, coefficient, weights)
@settings(max_examples=60, deadline=None)
def test_self_masking_is_attained_at_a_corner(a: float, b: float, c: float, d: float, w: tuple[float, ...]) -> None:
    process = missing.mnar_self_masking(COLUMNS, {"x": (str(a), str(b)), "y": (str(c), str(d))}, DOMAIN)
    reach = reach_of(w)
    law = process.law(reach)
    corner = by_column({"x": 1 / (1 + math.exp(-(a - abs(b)))), "y": 1 / (1 + math.exp(-(c - abs(d))))})
    assert all(law.survival(x) == pytest.approx(survival(corner, reach, x), abs=1e-13) for x in law.reach)


def test_mar_is_attained_when_one_record_is_worst_for_all_patterns() -> None:
    patterns = [
        {"missing": ["x"], "mass": "0.5", "score": {"intercept": "0", "y": "2", "g": {"p": "1"}}},
        {"missing": ["x", "g"], "mass": "0.25", "score": {"intercept": "1", "y": "1"}},
    ]
    process = missing.mar(COLUMNS, patterns, DOMAIN)
    assert process.at_random
    low, lower = 0.5 / (1 + math.exp(2)), 0.25 / 2
    law = process.observed_count()
    assert law.reach == (1.0, 2.0, 3.0)
    assert [float(q) for _, q in law.atoms] == pytest.approx([lower, low, 1 - low - lower], abs=1e-15)


def test_splitting_the_domain_tightens_conflicting_scores() -> None:
    """Two columns pull in opposite directions on y: no record shows both often; the envelope must know."""
    score = {"x": {"intercept": "0", "y": "6"}, "g": {"intercept": "0", "y": "-6"}}
    process = missing.mnar_logistic(COLUMNS, score, DOMAIN)
    both = Reach(1, [Term(frozenset({"x", "g"}), 1.0)])
    truth = max((1 - 1 / (1 + math.exp(-6 * y))) * (1 - 1 / (1 + math.exp(6 * y))) for y in np.linspace(-1, 1, 10001))
    naive = (1 - 1 / (1 + math.exp(6))) ** 2
    assert truth <= process.law(both).p_star <= truth * 1.05 < naive / 3


def test_censoring_knows_only_its_two_probabilities() -> None:
    process = missing.mnar_censoring(COLUMNS, {"x": ("7.5", "0.9", "0.2"), "y": ("-1", "0.4", "0.1")}, DOMAIN)
    assert process.law(Reach(1, [Term(frozenset({"x"}), 1.0)])).p_star == pytest.approx(0.8)
    assert process.law(Reach(1, [Term(frozenset({"y"}), 1.0)])).p_star == pytest.approx(0.6)  # nothing below the bound


def test_model_on_top_of_a_design_mixes_its_forms() -> None:
    """Asked and answered, form by form, against the product computed by hand at the worst corner."""
    design = missing.planned(COLUMNS, [["x"], ["y"]])
    model = missing.mnar_self_masking(COLUMNS, {"x": ("0", "1"), "y": ("0", "1")}, DOMAIN)
    law = missing.product(model, design).observed_count(["x", "y"])
    answers = 1 - 1 / (1 + math.exp(1))
    assert law.data_dependent
    assert [float(q) for _, q in law.atoms] == pytest.approx([1 - answers, answers], abs=1e-15)
    assert missing.nonresponse_on(design).observed_count(["x", "y"]).reach == (1.0,)
