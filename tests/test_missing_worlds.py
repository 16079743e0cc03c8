"""Whole worlds: records that hide values, masks, noise; the true divergence against the guarantee from the process."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from itertools import product

import numpy as np
import pytest
from numpy.typing import NDArray

from absentia import missing
from absentia.amplification import amplify
from absentia.query.reach import Reach, Term
from absentia.theory.noise import Gaussian, Laplace

COLUMNS = ("x", "y")
Sets = Mapping[frozenset[str], float]
Grid = NDArray[np.float64]
ENDS = (-1.0, 0.0, 1.0)
EPSILONS = (0.0, 0.2, 0.5, 1.0, 1.5)


def shown(hidden: Mapping[str, float]) -> Sets:
    """The observed set when columns hide independently given the record."""
    sets = {}
    for seen in product([False, True], repeat=2):
        chance = math.prod(1 - hidden[c] if s else hidden[c] for c, s in zip(COLUMNS, seen, strict=True))
        sets[frozenset(c for c, s in zip(COLUMNS, seen, strict=True) if s)] = chance
    return sets


def logistic(t: float) -> float:
    return 1 / (1 + math.exp(-t))


def self_masking(z: tuple[float, float]) -> Sets:
    return shown({"x": logistic(0.5 + 2 * z[0]), "y": logistic(-0.5 - z[1])})


def crossed(z: tuple[float, float]) -> Sets:
    return shown({"x": logistic(1 + 3 * z[1]), "y": logistic(1 - 3 * z[0])})


def by_pattern(z: tuple[float, float]) -> Sets:
    both, only = 0.6 * logistic(1 + z[0]), 0.4 * logistic(2 * z[1])
    return {frozenset(): both, frozenset({"y"}): only, frozenset({"x", "y"}): 1 - both - only}


MODELS: dict[str, tuple[missing.Process, Callable[[tuple[float, float]], Sets]]] = {
    "self-masking": (missing.mnar_self_masking(COLUMNS, {"x": ("0.5", "2"), "y": ("-0.5", "-1")}), self_masking),
    "crossed": (
        missing.mnar_logistic(COLUMNS, {"x": {"intercept": 1, "y": 3}, "y": {"intercept": 1, "x": -3}}),
        crossed,
    ),
    "patterns": (
        missing.mnar_patterns(
            COLUMNS,
            [
                {"missing": ["x", "y"], "mass": "0.6", "score": {"intercept": 1, "x": 1}},
                {"missing": ["x"], "mass": "0.4", "score": {"intercept": 0, "y": 2}},
            ],
        ),
        by_pattern,
    ),
}


def divergences(densities: list[Grid], cell: float) -> dict[float, float]:
    """The largest hockey-stick over pairs of records, by direct integration (a lower value than the exact one)."""
    return {
        e: max(float(np.maximum(p - math.exp(e) * q, 0).sum()) * cell for p in densities for q in densities)
        for e in EPSILONS
    }


@pytest.mark.parametrize("name", MODELS)
def test_laplace_sum_of_two_columns(name: str) -> None:
    """One released sum with Laplace noise: T2 from the envelope is never below the truth of any two records."""
    process, sets = MODELS[name]
    t = np.arange(-30, 30, 0.005)
    densities = []
    for z in product(ENDS, ENDS):
        values = dict(zip(COLUMNS, z, strict=True))
        parts = [q * np.exp(-np.abs(t - sum(values[c] for c in seen))) / 2 for seen, q in sets(z).items()]
        densities.append(np.sum(parts, axis=0))
    reach = Reach(1, [Term(frozenset({c}), 1.0) for c in COLUMNS])
    guarantee = amplify(Laplace(1), process.law(reach))
    for e, true in divergences(densities, 0.005).items():
        assert true <= guarantee.delta(epsilon=str(e)) + 1e-5
    assert guarantee.epsilon(delta=0) < guarantee.without_missingness.epsilon(delta=0)


@pytest.mark.parametrize("name", MODELS)
def test_gaussian_vector_of_two_columns(name: str) -> None:
    """Both columns released with Gaussian noise: the joint structure (T9 where it applies) is never below the truth."""
    process, sets = MODELS[name]
    t = np.arange(-7, 7, 0.04)
    line = {m: np.exp(-((t - m) ** 2) / 2) / math.sqrt(2 * math.pi) for m in ENDS}
    densities = []
    for z in product(ENDS, ENDS):
        parts = [
            q * np.outer(line[z[0] if "x" in seen else 0.0], line[z[1] if "y" in seen else 0.0])
            for seen, q in sets(z).items()
        ]
        densities.append(np.sum(parts, axis=0))
    reach = Reach(2, [Term(frozenset({c}), 1.0) for c in COLUMNS])
    guarantee = amplify(Gaussian(1), process.joint(reach))
    for e, true in divergences(densities, 0.04**2).items():
        assert true <= guarantee.delta(epsilon=str(e)) + 1e-5
