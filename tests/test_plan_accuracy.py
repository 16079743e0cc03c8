"""Expected errors, answer by answer, and answers at the edge of what is possible."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from absentia import missing
from absentia.planning.budget import Budget
from absentia.planning.plan import plan
from absentia.planning.schema import Schema
from absentia.query.columns import count, mean, variance
from absentia.query.models import correlation, covariance
from absentia.query.moments import moments
from absentia.query.tables import histogram

SCHEMA = Schema.from_dict(
    {
        "n": 2000,
        "columns": {
            **{name: {"kind": "number", "bounds": [-1, 1]} for name in ("x0", "x1", "x2")},
            "g": {"kind": "category", "values": ["a", "b", "c"]},
            "w": {"kind": "number", "bounds": [0, 2], "weight": True},
        },
    }
)
ONE = Budget("1", "1e-6")
THREE = missing.three_form(SCHEMA, [["x0"], ["x1"], ["x2"]], because="design", by="us")


def test_expected_errors_of_moments_and_of_what_is_built_on_them() -> None:
    """Every answer of moments has its line; other answers have the lines of the sums that they are built on."""
    pair = ["x0", "x1"]
    p = plan(SCHEMA, [moments(pair), covariance(pair), correlation(pair), variance("x0")], THREE, budget=ONE)
    told, spread, built, (alone,) = (p.accuracy().of(q.name) for q in p.queries)
    assert [x.cell for x in told] == ["mean x0", "mean x1", "var x0", "cov x0, x1", "var x1"]
    assert [x.cell for x in spread] == ["var x0", "cov x0, x1", "var x1"]
    assert [x.cell for x in built] == ["built on var x0", "built on cov x0, x1", "built on var x1"]
    assert [(x.best, x.worst) for x in told[2:]] == [(x.best, x.worst) for x in built]
    assert (told[2].best, told[2].worst, told[2].unit) == (alone.best, alone.worst, alone.unit)


def test_moments_by_groups_are_of_one_group() -> None:
    by = plan(SCHEMA, [moments(["x0"], by="g"), mean("x0", by="g"), variance("x0", by="g")], THREE, budget=ONE)
    mean_, var, *alone = by.accuracy()
    assert [(x.best, x.worst) for x in (mean_, var)] == [(x.best, x.worst) for x in alone]


def test_counts_stay_within_the_public_n() -> None:
    """As at 0: shown at the bound, the whole half-width inwards; not where weights or several rows may exceed it."""
    queries = [count("x0"), histogram("g"), count("x1", weight="w")]
    people = replace(SCHEMA, n=500)
    p = plan(people, queries, missing.without(people), budget=ONE)
    rows = p.answers({s: np.full(s.shape(people), 526.8) for s in p.statistics})
    half = p.accuracy().of("count(x0)")[0].best
    for r in rows[:-1]:
        assert (r.estimate, r.high) == (500, 500)
        assert r.low == pytest.approx(500 - half)
        assert "beyond what is possible" in r.note
    assert rows[-1].estimate == 526.8
    repeated = Schema.from_dict({**people.to_dict(), "unit": "id", "unit_rule": {"keep": "first", "at_most": 3}})
    for other in (
        plan(people, count("x0"), missing.without(people), budget=ONE, relation="add_remove"),
        plan(repeated, count("x0"), missing.without(repeated), budget=ONE),
        plan(replace(people, n=None), count("x0"), missing.without(people), budget=ONE),
    ):
        (r,) = other.answers({s: np.array(526.8) for s in other.statistics})
        assert (r.estimate, r.high > 527) == (526.8, True)
