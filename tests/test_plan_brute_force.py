"""Plans of two or three columns beside the exact output laws, computed here from nothing but the definitions.

All masks and pairs of extreme records are enumerated; the law of the noisy answers of one row is a mixture of
densities. In one and two dimensions its hockey-stick is integrated; in more it is sampled. No figure may be below.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import absentia as ab
from absentia.query.statistic import Statistic

Array = NDArray[np.float64]
Record = dict[str, Any]
Masks = Callable[[Record], dict[frozenset[str], float]]
NUMBERS = ("x", "y")
NAMES = (*NUMBERS, "c")
SCHEMA = ab.Schema.from_dict(
    {
        "columns": {
            "x": {"kind": "number", "bounds": [-1, 1]},
            "y": {"kind": "number", "bounds": [-1, 1]},
            "c": {"kind": "category", "values": ["a", "b"]},
        }
    }
)
EXTREME = [dict(zip(NAMES, values, strict=True)) for values in itertools.product((-1.0, 1.0), (-1.0, 1.0), ("a", "b"))]


# -- masks ------------------------------------------------------------------------------------------------------------


def products(rates: dict[str, float]) -> dict[frozenset[str], float]:
    """The masks of columns that are observed independently; those not named always are."""
    out = {}
    for seen in itertools.product((True, False), repeat=len(rates)):
        hidden = {c for c, s in zip(rates, seen, strict=True) if not s}
        out[frozenset(NAMES) - hidden] = math.prod(r if s else 1 - r for r, s in zip(rates.values(), seen, strict=True))
    return out


def mixed(parts: Iterable[tuple[float, dict[frozenset[str], float]]]) -> dict[frozenset[str], float]:
    out: dict[frozenset[str], float] = {}
    for weight, masks in parts:
        for mask, p in masks.items():
            out[mask] = out.get(mask, 0.0) + weight * p
    return out


def some_law(kind: str, rng: np.random.Generator) -> tuple[Any, Masks]:
    """A process of the library, and its masks written down here."""
    rate = {c: float(rng.integers(1, 10)) / 10 for c in NAMES}
    exact: dict[str, object] = {c: str(p) for c, p in rate.items()}
    if kind == "independent":
        return ab.missing.independent(SCHEMA, exact, because="lot"), lambda z: products(rate)
    if kind == "forms":
        asked = [["x", "y"], ["x", "c"], ["y", "c"]]
        forms = {frozenset(form): 1 / 3 for form in asked}
        return ab.missing.planned(SCHEMA, asked, because="lot"), lambda z: forms
    if kind == "patterns":
        seen = [["x"], ["y", "c"], list(NAMES), []]
        mass = [0.4, 0.3, 0.1, 0.2]
        found = {frozenset(s): m for s, m in zip(seen, mass, strict=True)}
        return ab.missing.patterns(SCHEMA, seen, [str(m) for m in mass], because="lot"), lambda z: found
    if kind == "nobody home":
        inner = ab.missing.independent(SCHEMA, exact, because="lot")
        nothing = {frozenset[str](): 1.0}
        masks = mixed([(0.5, nothing), (0.5, products(rate))])
        return ab.missing.unit_nonresponse(inner, "1/2", because="lot"), lambda z: masks
    if kind == "classes":
        other = {"x": 0.2, "c": 0.9}
        masks = mixed([(0.25, products(rate)), (0.75, products(other))])
        given: list[dict[str, object]] = [exact, {"x": "0.2", "c": "0.9"}]
        return ab.missing.classes(SCHEMA, given, ["1/4", "3/4"], because="lot"), lambda z: masks
    process = ab.missing.mnar_self_masking(SCHEMA, {"x": ("0.5", "1.5"), "y": ("1", "-1")}, because="shame")
    hides = {"x": (0.5, 1.5), "y": (1.0, -1.0)}
    return process, lambda z: products({c: 1 - 1 / (1 + math.exp(-(a + b * z[c]))) for c, (a, b) in hides.items()})


LAWS = ("independent", "forms", "patterns", "nobody home", "classes", "self-masking")
BATCHES: dict[str, list[Any]] = {
    "sum": [ab.linear([[1]], ["x"])],
    "count": [ab.count("x")],
    "two sums": [ab.linear([[1, 2]], ["x", "y"])],
    "mean": [ab.mean("x")],
    "histogram": [ab.histogram("c")],
    "sum and count": [ab.linear([[1]], ["x"]), ab.count("y", share=3)],
    "grouped mean": [ab.mean("y", by="c")],
    "moments": [ab.moments(["x", "y"])],
    "all": [ab.mean("x"), ab.variance("y"), ab.histogram("c"), ab.moments(["x", "y"])],
}


# -- the exact law of one row's answers -------------------------------------------------------------------------------


def contribution(s: Statistic, z: Record, seen: frozenset[str]) -> Array:
    """What a row adds to a statistic, cell by cell."""
    shape = s.shape(SCHEMA)
    out = np.zeros(shape)
    if s.columns <= seen:
        place = tuple(("a", "b").index(z[str(c)]) for c in s.cells)
        out[place] = math.prod(float(z[name]) ** e for name, e in s.powers)
    return out.ravel()


@dataclass(frozen=True)
class Law:
    """A mixture of unit noise around centres (masks x outputs)."""

    centres: Array
    weights: Array
    family: str

    def log_density(self, y: Array) -> Array:
        total = np.full(len(y), -np.inf)
        for centre, weight in zip(self.centres, self.weights, strict=True):
            away = y - centre
            size = -(away**2).sum(1) / 2 if self.family == "gaussian" else -np.abs(away).sum(1)
            total = np.logaddexp(total, size + math.log(weight))
        constant = math.log(math.sqrt(2 * math.pi)) if self.family == "gaussian" else math.log(2)
        return np.asarray(total - constant * y.shape[1])

    def draw(self, n: int, rng: np.random.Generator) -> Array:
        picked = self.centres[rng.choice(len(self.weights), n, p=self.weights / self.weights.sum())]
        noise = rng.standard_normal if self.family == "gaussian" else rng.laplace
        return np.asarray(picked + noise(size=picked.shape))


def law_of(plan: ab.Plan, masks: dict[frozenset[str], float], z: Record | None) -> Law:
    """The law of the noisy answers of one row in units of the noise; None: no row."""
    centres: dict[tuple[float, ...], float] = {}
    for seen, p in masks.items():
        parts = [contribution(s, z, seen) if z else contribution(s, EXTREME[0], frozenset()) for s in plan.scales]
        centre = np.concatenate([c / x for c, x in zip(parts, plan.scales.values(), strict=True)])
        key = tuple(centre)
        centres[key] = centres.get(key, 0.0) + p
    kept = [(c, w) for c, w in centres.items() if w > 0]
    return Law(np.array([c for c, _ in kept]), np.array([w for _, w in kept]), plan.noise_family)


def integrated(P: Law, Q: Law, epsilon: float) -> float:
    """The hockey-stick on a grid (one or two outputs), to about 1e-3 of itself."""
    far = 8.0 if P.family == "gaussian" else 25.0
    step = 0.01 if P.centres.shape[1] == 1 else 0.08
    both = np.concatenate([P.centres, Q.centres])
    axes = [np.arange(low - far, high + far, step) for low, high in zip(both.min(0), both.max(0), strict=True)]
    y = np.stack([a.ravel() for a in np.meshgrid(*axes, indexing="ij")], axis=1)
    p, q = P.log_density(y), Q.log_density(y)
    excess = np.exp(p) - np.exp(epsilon + q)
    return float(np.maximum(excess, 0).sum() * step ** len(axes))


def sampled(P: Law, Q: Law, epsilon: float, rng: np.random.Generator, n: int = 50_000) -> float:
    """A value that the hockey-stick exceeds but once in a million."""
    y = P.draw(n, rng)
    loss = np.maximum(0.0, -np.expm1(epsilon + Q.log_density(y) - P.log_density(y)))
    return float(loss.mean() - 4.75 * loss.std() / math.sqrt(n))


def attack(plan: ab.Plan, masks: Masks, epsilon: float, rng: np.random.Generator) -> float:
    """The largest loss found over pairs of extreme records (add_remove: a record and none, both ways)."""
    if plan.relation == "substitute":
        pairs = [(a, b) for a, b in itertools.product(EXTREME, EXTREME) if a != b]
        laws = [(law_of(plan, masks(a), a), law_of(plan, masks(b), b)) for a, b in pairs]
    else:
        none = law_of(plan, {frozenset(): 1.0}, None)
        rows = [law_of(plan, masks(a), a) for a in EXTREME]
        laws = [pair for row in rows for pair in ((row, none), (none, row))]
    outputs = laws[0][0].centres.shape[1]
    if outputs == 1 or (outputs == 2 and plan.noise_family == "gaussian"):
        return max(integrated(P, Q, epsilon) for P, Q in laws)
    farthest = sorted(laws, key=lambda pair: -float(np.linalg.norm(pair[0].centres.mean(0) - pair[1].centres.mean(0))))
    return max(sampled(P, Q, epsilon, rng) for P, Q in farthest[:8])


# -- the comparison ---------------------------------------------------------------------------------------------------

CASES = [(law, batch) for law in LAWS for batch in BATCHES]


@pytest.mark.parametrize(("law", "batch"), CASES, ids=[f"{law}: {batch}" for law, batch in CASES])
def test_no_figure_is_below_the_exact_loss(law: str, batch: str) -> None:
    rng = np.random.default_rng(CASES.index((law, batch)))
    missing, masks = some_law(law, rng)
    noise = ("gaussian", "laplace")[int(rng.integers(2))]
    relation = ("substitute", "add_remove")[int(rng.random() < 0.3)]
    delta = "0.02" if noise == "gaussian" else "0"
    budget = ab.Budget("7/10", delta)
    plan = ab.plan(SCHEMA, BATCHES[batch], missing, budget=budget, noise=noise, relation=relation)
    for epsilon in (0.7, 0.35):
        claimed = plan.guarantee.delta(epsilon)
        assert attack(plan, masks, epsilon, rng) <= claimed * 1.003 + 1e-9, epsilon
    assert plan.guarantee.delta(0.7 + 1e-9) <= float(delta) + 1e-9


def test_the_attack_finds_what_is_there() -> None:
    """A sum seen by lot is the worst case of T2: the figure is attained, so a smaller one would be caught."""
    rng = np.random.default_rng(0)
    half: Masks = lambda z: products({"x": 0.5})  # noqa: E731
    law = ab.missing.independent(SCHEMA, {"x": "1/2"}, because="lot")
    for noise, delta in (("gaussian", "0.001"), ("laplace", "0")):
        plan = ab.plan(SCHEMA, BATCHES["sum"], law, budget=ab.Budget("7/10", delta), noise=noise)
        for epsilon in (0.35, 0.6):
            assert attack(plan, half, epsilon, rng) == pytest.approx(plan.guarantee.delta(epsilon), rel=0.003)
    both: Masks = lambda z: products({"x": 0.5, "y": 0.5})  # noqa: E731
    law = ab.missing.independent(SCHEMA, {"x": "1/2", "y": "1/2"}, because="lot")
    for noise, less in (("gaussian", 1.05), ("laplace", 1.25)):  # the second by sampling
        plan = ab.plan(SCHEMA, BATCHES["two sums"], law, budget=ab.Budget("7/10", "0.02"), noise=noise)
        weak = replace(plan, scales=MappingProxyType({s: x / less for s, x in plan.scales.items()}))
        assert attack(plan, both, 0.7, rng) <= 0.02 * 1.003
        assert attack(weak, both, 0.7, rng) > 0.02


@pytest.mark.parametrize("noise", ["gaussian", "laplace"])
@pytest.mark.parametrize("batch", BATCHES)
def test_two_masked_rows_are_never_further_apart_than_stated(noise: str, batch: str) -> None:
    """Any two records under any two masks: the distance of the figure without missingness, and the reach."""
    plan = ab.plan(SCHEMA, BATCHES[batch], ab.missing.without(SCHEMA), budget=ab.Budget("7/10", "0.02"), noise=noise)
    every = [frozenset(s) for k in range(4) for s in itertools.combinations(NAMES, k)]
    rows = {(i, seen): law_of(plan, {seen: 1.0}, z).centres[0] for i, z in enumerate(EXTREME) for seen in every}
    order = 2 if noise == "gaussian" else 1
    widest = max(float(np.linalg.norm(a - b, order)) for a, b in itertools.combinations(rows.values(), 2))
    d = plan.batch.distances
    assert widest <= d.largest * (1 + 1e-12)
    for (_, seen), centre in rows.items():
        assert float(np.linalg.norm(centre, order)) <= d.reach(seen) * (1 + 1e-12)
        for other in range(len(EXTREME)):
            gap = float(np.linalg.norm(centre - rows[(other, seen)], order))
            assert gap <= 2 * d.same_mask(seen) * (1 + 1e-12)
    if batch in ("sum", "count", "histogram", "two sums"):
        assert widest >= d.largest * (1 - 1e-9)
