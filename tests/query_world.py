"""A small simulated population and the exact sums of its tables, computed apart from the library's own kernel."""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from absentia import missing
from absentia.planning.budget import Budget
from absentia.planning.plan import Plan, plan
from absentia.planning.schema import Schema
from absentia.query.base import Query
from absentia.query.columns import count, mean, total, variance
from absentia.query.models import correlation, regression
from absentia.query.moments import moments
from absentia.query.quantiles import median, quantiles
from absentia.query.statistic import Bins, Statistic
from absentia.query.tables import histogram, marginal

SCHEMA = Schema.from_dict(
    {
        "columns": {
            "bmi": {"kind": "number", "bounds": [10, 60]},
            "chl": {"kind": "number", "bounds": [100, 400]},
            "age": {"kind": "number", "bounds": [0, 100]},
            "w": {"kind": "number", "bounds": [0, 2], "weight": True},
            "sex": {"kind": "category", "values": ["f", "m"]},
            "hyp": {"kind": "boolean"},
        }
    }
)
RATES = {"bmi": "0.8", "chl": "0.6", "age": "0.9", "hyp": "0.7"}
CENTRE = {"bmi": 27.0, "chl": 240.0, "age": 48.0}
SPREAD = {"bmi": 5.0, "chl": 35.0, "age": 14.0}

Table = dict[str, np.ndarray]


def population(n: int, rng: np.random.Generator) -> Table:
    """n complete rows: a common factor joins the numbers, which are normal within their bounds."""
    factor = rng.normal(size=n)
    table: Table = {}
    for name, weight in (("bmi", 0.5), ("chl", 0.6), ("age", 0.4)):
        column = SCHEMA.columns[name]
        z = weight * factor + np.sqrt(1 - weight**2) * rng.normal(size=n)
        table[name] = np.clip(CENTRE[name] + SPREAD[name] * z, column.low, column.high)
    table["sex"] = rng.integers(0, 2, n)
    table["hyp"] = (rng.random(n) < 0.3).astype(int)
    table["w"] = rng.uniform(0.5, 1.5, n)
    return table


def masks(table: Table, rng: np.random.Generator) -> Table:
    """Each column observed independently with its own rate."""
    n = len(table["sex"])
    return {c: rng.random(n) < float(RATES.get(c, 1)) for c in table}


def exact(statistics: Sequence[Statistic], table: Table, seen: Table) -> dict[Statistic, np.ndarray]:
    """Every statistic of a masked table, straight from its definition."""
    return {s: _one(s, table, seen) for s in statistics}


def _one(s: Statistic, table: Table, seen: Table) -> np.ndarray:
    n = len(next(iter(table.values())))
    kept = np.logical_and.reduce([seen[c] for c in s.columns])
    value = np.ones(n) if s.weight is None else table[s.weight].copy()
    for c, e in s.powers:
        if e:
            column = SCHEMA.columns[c]
            value = value * ((table[c] - column.midpoint) / column.halfwidth) ** e
    cell = np.zeros(n, dtype=int)
    for axis in s.cells:
        if isinstance(axis, Bins):
            inner = np.clip(np.searchsorted(axis.edges, table[axis.column], "right") - 1, 0, len(axis) - 1)
            cell = cell * len(axis) + inner
        else:
            cell = cell * len(SCHEMA.columns[axis].values) + table[axis]
    shape = s.shape(SCHEMA)
    return np.bincount(cell[kept], value[kept], minlength=int(np.prod(shape, dtype=int))).reshape(shape)


def noisy(p: Plan, sums: Mapping[Statistic, np.ndarray], rng: np.random.Generator) -> dict[Statistic, np.ndarray]:
    """The sums with the plan's noise (a simulation: the release path has its own exact sampler)."""
    draw = rng.normal if p.noise_family == "gaussian" else rng.laplace
    return {s: v + draw(scale=p.scales[s], size=v.shape) for s, v in sums.items()}


QUERIES: tuple[Query, ...] = (
    count("bmi"), total("chl"), mean("bmi"), mean("chl", by="sex"), mean("age", weight="w"), variance("bmi"),
    histogram("hyp"), histogram("age", bins=[0, 30, 45, 60, 100]), marginal(["sex", "hyp"]),
    moments(["bmi", "chl", "age"]),
    correlation(["bmi", "chl"]), regression("chl", ["bmi", "age"]), median("age"),
    quantiles("bmi", at=["1/4", "9/10"]),
)  # fmt: skip


def simulated_plan(noise: str, n: int, epsilon: str = "4") -> Plan:
    """All queries at once, on columns that are hidden independently."""
    process = missing.independent(SCHEMA, RATES, because="simulation")
    budget = Budget(epsilon, "1e-6" if noise == "gaussian" else "0")
    return plan(SCHEMA, QUERIES, process, budget=budget, noise=noise, dataset_n=n)


def truths(p: Plan, queries: Sequence[Query]) -> dict[tuple[str, str], float]:
    """What each interval about the population should hold: the answers on a very large complete table."""
    table = population(2_000_000, np.random.default_rng(7))
    seen = {c: np.ones(len(v), dtype=bool) for c, v in table.items()}
    return answered(queries, exact(p.statistics, table, seen))


def answered(queries: Sequence[Query], sums: Mapping[Statistic, np.ndarray]) -> dict[tuple[str, str], float]:
    """The answers when there is no noise."""
    sd = dict.fromkeys(sums, 1e-9)
    return {(r.query, r.cell): r.estimate for q in queries for r in q.answer(SCHEMA, sums, sd)}


def coverage(
    noise: str, runs: int, n: int = 4000, seed: int = 1, queries: Sequence[Query] = QUERIES
) -> dict[str, float]:
    """The share of intervals that hold what they are about (the table or the population), query by query."""
    p, rng = simulated_plan(noise, n), np.random.default_rng(seed)
    wanted, hits = truths(p, queries), defaultdict(list)
    tables = [q for q in queries if q.kind in ("count", "sum", "histogram", "marginal")]
    how: dict[str, Any] = {"confidence": p.confidence, "family": noise}
    for _ in range(runs):
        table = population(n, rng)
        sums = exact(p.statistics, table, masks(table, rng))
        target = wanted | answered(tables, sums)
        values = noisy(p, sums, rng)
        for q in queries:
            for r in q.answer(SCHEMA, values, p.noise_sd, n, **how):
                hits[q.name].append(r.low <= target[r.query, r.cell] <= r.high)
    return {query: float(np.mean(found)) for query, found in hits.items()}


def all_rows(columns: Mapping[str, Sequence[Any]]) -> list[dict[str, Any]]:
    """Every masked row over small domains; None is missing."""
    names = list(columns)
    return [dict(zip(names, row, strict=True)) for row in itertools.product(*([*v, None] for v in columns.values()))]
