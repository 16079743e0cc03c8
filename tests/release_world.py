"""A small survey, its plans and its book: what the tests of releases work on."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

import absentia as ab
from absentia.ledger.ledger import Ledger

N = 400
SCHEMA = ab.Schema.from_dict(
    {
        "n": N,
        "columns": {
            "bmi": {"kind": "number", "bounds": [10, 60]},
            "chl": {"kind": "number", "bounds": [50, 400]},
            "hyp": {"kind": "category", "values": ["no", "yes"]},
        },
    }
)
LAW = ab.missing.independent(SCHEMA, {"bmi": "1/2", "chl": "1/2", "hyp": "3/4"}, because="by lot", by="office")
QUERIES = [ab.mean("bmi", by="hyp"), ab.histogram("hyp"), ab.moments(["bmi", "chl"])]
ONE = ab.Budget("1", "1e-6")


def planned(queries: Any = None, noise: str = "gaussian", budget: ab.Budget = ONE, **options: Any) -> ab.Plan:
    """The plan of this survey."""
    return ab.plan(SCHEMA, QUERIES if queries is None else queries, LAW, budget=budget, noise=noise, **options)


def table(n: int = N, seed: int = 1) -> pl.DataFrame:
    """Rows with holes, each entry missing by its own lot."""
    rng = np.random.default_rng(seed)
    hidden = rng.random((3, n))
    return pl.DataFrame(
        {
            "bmi": np.where(hidden[0] < 0.5, np.nan, rng.uniform(10, 60, n).round(1)),
            "chl": np.where(hidden[1] < 0.5, np.nan, rng.uniform(50, 400, n).round(0)),
            "hyp": [None if h < 0.25 else v for h, v in zip(hidden[2], rng.choice(["no", "yes"], n), strict=True)],
        }
    ).fill_nan(None)


def book_of(path: Path, plan: ab.Plan, **options: Any) -> Ledger:
    return Ledger.create(path / "study.ledger", plan, **options)


PLAN_TOML = """
[schema]
n = 400
[schema.columns]
bmi = {kind = "number", bounds = [10, 60]}
chl = {kind = "number", bounds = [50, 400]}
hyp = {kind = "category", values = ["no", "yes"]}

[budget]
epsilon = "1"
delta = "1e-6"

[missingness]
kind = "independent"
observed = {bmi = "1/2", chl = "1/2", hyp = "3/4"}
because = "by lot"
by = "office"

[[query]]
kind = "mean"
column = "bmi"
by = ["hyp"]

[[query]]
kind = "histogram"
column = "hyp"
"""
