"""A small simulated population and the exact sums of its tables, computed apart from the library's own kernel."""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any

import numpy as np

from absentia import missing
from absentia.planning.budget import Budget
from absentia.planning.plan import Plan, plan
from absentia.planning.schema import Schema
from absentia.query.base import Query
from absentia.query.columns import count, mean, total, variance
from absentia.query.custom import linear
from absentia.query.estimate import Reading, Row
from absentia.query.models import correlation, covariance, pca, regression
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


@dataclass(frozen=True)
class World:
    """Where releases are simulated: rows, observed rates, epsilon, and how rare the rare category is."""

    n: int = 4000
    rates: Mapping[str, str] = field(default_factory=lambda: RATES)
    epsilon: str = "4"
    rare: float = 0.3


WORLD = World()


def population(n: int, rng: np.random.Generator, rare: float = 0.3) -> Table:
    """n complete rows: a common factor joins the numbers, which are normal within their bounds."""
    factor = rng.normal(size=n)
    table: Table = {}
    for name, weight in (("bmi", 0.5), ("chl", 0.6), ("age", 0.4)):
        column = SCHEMA.columns[name]
        z = weight * factor + np.sqrt(1 - weight**2) * rng.normal(size=n)
        table[name] = np.clip(CENTRE[name] + SPREAD[name] * z, column.low, column.high)
    table["sex"] = rng.integers(0, 2, n)
    table["hyp"] = (rng.random(n) < rare).astype(int)
    table["w"] = rng.uniform(0.5, 1.5, n)
    return table


def masks(table: Table, rng: np.random.Generator, rates: Mapping[str, str] = RATES) -> Table:
    """Each column observed independently with its own rate."""
    n = len(table["sex"])
    return {c: rng.random(n) < float(rates.get(c, 1)) for c in table}


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
MORE: tuple[Query, ...] = (
    count("hyp", weight="w"), total("bmi", weight="w"), histogram("hyp", weight="w"), variance("age", weight="w"),
    mean("hyp"), mean("hyp", by="sex", weight="w"), covariance(["bmi", "chl"]), pca(["bmi", "chl", "age"]),
    linear([["1", "1"], ["1", "-1/2"]], ["bmi", "age"]),
)  # fmt: skip
ABOUT_TABLE = ("count", "sum", "histogram", "marginal", "linear")


def simulated_plan(noise: str, n: int, epsilon: str = "4", queries: Sequence[Query] = QUERIES) -> Plan:
    """All queries at once, on columns that are hidden independently."""
    return _planned(noise, World(n, epsilon=epsilon), queries)


def _planned(noise: str, world: World, queries: Sequence[Query]) -> Plan:
    process = missing.independent(SCHEMA, world.rates, because="simulation")
    budget = Budget(world.epsilon, "1e-6" if noise == "gaussian" else "0")
    return plan(SCHEMA, queries, process, budget=budget, noise=noise, dataset_n=world.n)


def truths(queries: Sequence[Query], rare: float = 0.3) -> dict[tuple[str, str], float]:
    """What each interval about the population should hold: the answers on a very large complete table."""
    table = _everybody(rare)
    seen = {c: np.ones(len(v), dtype=bool) for c, v in table.items()}
    return answered(queries, exact([s for q in queries for s in q.statistics(SCHEMA)], table, seen))


@cache
def _everybody(rare: float) -> Table:
    return population(2_000_000, np.random.default_rng(7), rare)


def answered(queries: Sequence[Query], sums: Mapping[Statistic, np.ndarray]) -> dict[tuple[str, str], float]:
    """The answers when there is no noise."""
    sd = dict.fromkeys(sums, 1e-9)
    return {(r.query, r.cell): r.estimate for q in queries for r in q.rows(SCHEMA, sums, sd, Reading())}


@dataclass(frozen=True)
class Found:
    """Over all numbers of a query and all releases: the share of intervals that hold what they are about, the share
    that only gives the public bounds, and the mean of (estimate - truth) / standard error where there is one.
    """

    held: float
    hidden: float
    bias: float


def coverage(
    noise: str, runs: int, n: int = 4000, seed: int = 1, queries: Sequence[Query] = QUERIES
) -> dict[str, float]:
    """The share of intervals that hold what they are about (the table or the population), query by query."""
    return {name: found.held for name, found in simulated(noise, runs, World(n), seed, queries).items()}


def simulated(
    noise: str, runs: int, world: World = WORLD, seed: int = 1, queries: Sequence[Query] = QUERIES
) -> dict[str, Found]:
    """Many releases, each on a fresh table with fresh masks and fresh noise."""
    every = tuple(dict.fromkeys((*QUERIES, *queries)))
    p, rng = _planned(noise, world, every), np.random.default_rng(seed)
    wanted, rows = truths(queries, world.rare), defaultdict(list)
    tables = [q for q in queries if q.kind in ABOUT_TABLE]
    how = Reading(world.n, p.confidence, noise)
    for _ in range(runs):
        table = population(world.n, rng, world.rare)
        sums = exact(p.statistics, table, masks(table, rng, world.rates))
        target = wanted | answered(tables, sums)
        values = noisy(p, sums, rng)
        for q in queries:
            answer = q.rows(SCHEMA, values, p.noise_sd, how)
            for r in _turned(answer, target) if q.kind == "pca" else answer:
                truth = target[r.query, r.cell]
                error = np.hypot(r.se_noise, 0.0 if q.kind in ABOUT_TABLE else r.se_sampling)
                off = (r.estimate - truth) / error if r.known else 0.0
                rows[q.name].append((r.low <= truth <= r.high, not error < np.inf, off))
    return {query: Found(*np.mean(np.array(found, dtype=float), axis=0).tolist()) for query, found in rows.items()}


def _turned(answer: Sequence[Row], target: Mapping[tuple[str, str], float]) -> list[Row]:
    """Components are directions up to their sign: each is turned to the side of the true one."""
    side: dict[str, float] = defaultdict(float)
    for r in (r for r in answer if r.known):
        side[r.cell.split(",")[0]] += r.estimate * target[r.query, r.cell]
    return [
        r if side[r.cell.split(",")[0]] >= 0 else replace(r, estimate=-r.estimate, low=-r.high, high=-r.low)
        for r in answer
    ]


def all_rows(columns: Mapping[str, Sequence[Any]]) -> list[dict[str, Any]]:
    """Every masked row over small domains; None is missing."""
    names = list(columns)
    return [dict(zip(names, row, strict=True)) for row in itertools.product(*([*v, None] for v in columns.values()))]
