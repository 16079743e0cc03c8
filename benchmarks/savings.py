"""Same plan, same budget, with and without missingness: python benchmarks/savings.py [releases]

Two plans are built for each line: one uses the missingness, one does not. Both release the same exact sums of the same
table many times, through the library's own sampler; their root mean squared errors are divided, number by number.
`predicted` is what the plan says before any data is opened. The real tables are not bundled (ABSENTIA_DATA names their
folder, default ../shared/data); a line whose table is absent says so.
"""

from __future__ import annotations

import importlib.util
import os
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

import absentia as ab
from absentia.missing.process import Process
from absentia.noise.sampling import draw, grid_for
from absentia.query.base import Query

ROOT = Path(__file__).resolve().parents[1]
SURVEY = ROOT / "examples" / "survey"
DATA = Path(os.environ.get("ABSENTIA_DATA", ROOT.parent / "shared" / "data"))
GAUSSIAN, LAPLACE = ab.Budget("1", "1e-6"), ab.Budget("1")


@dataclass(frozen=True)
class Case:
    """One line of the table: a table, what is asked of it, and how its holes came about."""

    group: str
    name: str
    table: Any
    schema: ab.Schema
    queries: Sequence[Query]
    missing: Process
    noise: str = "gaussian"

    @property
    def budget(self) -> ab.Budget:
        return GAUSSIAN if self.noise == "gaussian" else LAPLACE

    def plan(self, used: bool) -> ab.Plan:
        """The plan that uses the missingness, or the same without."""
        process = self.missing if used else ab.missing.without(self.schema)
        return ab.plan(self.schema, self.queries, process, budget=self.budget, noise=self.noise)


@dataclass(frozen=True)
class Saving:
    """How many times larger the error is without the missingness; `share`: of the asked entries, how many are seen."""

    share: float
    predicted: float
    measured: float
    result: str


def saving(case: Case, releases: int) -> Saving:
    """Predicted by the plan before any data is opened, and measured over many releases of the same table."""
    used, plain = case.plan(True), case.plan(False)
    sums = ab.aggregate(case.table, case.schema, used.statistics)
    pairs = zip(errors(plain, sums, releases), errors(used, sums, releases), strict=True)
    logs = [np.log(np.mean(e0**2, axis=0) / np.mean(e1**2, axis=0)) / 2 for e0, e1 in pairs]
    measured = float(np.exp(np.mean(np.concatenate(logs))))
    return Saving(seen(case), used.saving, measured, used.guarantee.answer(delta=case.budget.delta).result)


def errors(plan: ab.Plan, sums: Any, releases: int) -> Iterator[np.ndarray]:
    """Released minus exact for every sum, releases x its outputs (of a query that its user runs: its noise)."""
    make = type(plan.noise)
    for s, scale in plan.scales.items():
        exact = np.ravel(sums.values[s])
        drawn = draw(make(scale), np.tile(exact, (releases, 1)), grid_for(scale), unit=sums.units[s])
        yield drawn * grid_for(scale) - exact * float(sums.units[s])
    for scale in plan.own_scales.values():
        yield draw(make(scale), np.zeros((releases, 1), dtype=np.int64), grid_for(scale)) * grid_for(scale)


def seen(case: Case) -> float:
    """The mean share of the asked columns that a row shows."""
    columns = sorted(frozenset().union(*(q.columns for q in case.queries)))
    return sum(case.missing.observed_count([c]).mean for c in columns) / len(columns)


# -- the bundled survey ----------------------------------------------------------------------------------------------

BLOCKS = [["bmi", "waist", "activity"], ["systolic", "cholesterol", "diabetes"], ["smoker", "sleep", "wellbeing"]]
FOUR = ["age", "bmi", "systolic", "sleep"]  # the core and one question of each block: three of four are asked
NUMBERS = ["age", "bmi", "waist", "activity", "systolic", "cholesterol", "sleep", "wellbeing"]
BMI, TABLES = [15, 20, 25, 30, 45], ["age_group", "diabetes", "smoker"]


def planned_cases() -> Iterator[Case]:
    """The survey as it was collected: two of three blocks, and a core that everybody answers."""
    table, schema = SURVEY / "people.csv", ab.Schema.load(SURVEY / "schema.toml")
    three = ab.missing.three_form(schema, BLOCKS, because="the form is drawn by chance")
    asked: dict[str, list[Query]] = {
        "one number from four columns": [ab.custom("score", dict.fromkeys(FOUR, 1))],
        "sums of four columns": [ab.linear([[1]], [c]) for c in FOUR],
        "means of four columns": [ab.mean(c) for c in FOUR],
        "four histograms": [ab.histogram("bmi", bins=BMI), *(ab.histogram(c) for c in TABLES)],
    }
    for noise in ("laplace", "gaussian"):
        for name, queries in asked.items():
            yield Case("survey, three forms and a core", name, table, schema, queries, three, noise)
    bundled = ab.Plan.load(SURVEY / "plan.toml").queries
    yield Case("survey, three forms and a core", "the bundled plan", table, schema, bundled, three)


def drawn_cases() -> Iterator[Case]:
    """The same people, had each item been drawn by its own chance."""
    schema = ab.Schema.load(SURVEY / "schema.toml")
    asked: dict[str, list[Query]] = {
        "sums of eight columns": [ab.linear([[1]], [c]) for c in NUMBERS],
        "means of eight columns": [ab.mean(c) for c in NUMBERS],
        "four histograms": [ab.histogram("bmi", bins=BMI), *(ab.histogram(c) for c in TABLES)],
    }
    for rate in ("0.05", "0.3", "0.5"):
        drawn = ab.missing.random_items(
            schema, dict.fromkeys(schema.columns, rate), because="each item by its own draw"
        )
        table = drawn.mask(people(), seed=1)
        for noise in ("laplace", "gaussian"):
            for name, queries in asked.items():
                yield Case(f"survey, each item drawn at {rate}", name, table, schema, queries, drawn, noise)


@cache
def people() -> pl.DataFrame:
    """The complete answers behind the bundled survey."""
    spec = importlib.util.spec_from_file_location("generate", SURVEY / "generate.py")
    assert spec is not None
    assert spec.loader is not None
    generate = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(generate)
    schema = ab.Schema.load(SURVEY / "schema.toml")
    numbers = [c for c, column in schema.columns.items() if column.kind == "number"]
    return pl.DataFrame(generate.people()).with_columns(pl.col(numbers).cast(pl.Float64))


# -- real tables: the law is declared, and nobody has proved it ------------------------------------------------------

ASSUMED = "assumed for this benchmark: completely at random, with the rates of the table itself"


def real_cases() -> Iterator[Case]:
    """nhanes, selfreport, housevotes84; a guarantee would need a reason from outside the table (THEORY 6)."""
    if not DATA.is_dir():
        return
    bmi, chl, hm, wm, bm = (number(*ends) for ends in ((15, 45), (80, 330), (140, 210), (40, 150), (15, 60)))
    edu, vote = ({"kind": "category", "values": values} for values in (["Low", "Middle", "High"], ["n", "y"]))
    hyp = {"kind": "category", "values": [1, 2]}
    yield real("nhanes: two means, a histogram", {"bmi": bmi, "chl": chl, "hyp": hyp})
    yield real("selfreport: means of measured values", {"hm": hm, "wm": wm, "bm": bm})
    yield real("selfreport: two means, a histogram", {"hm": hm, "wm": wm, "edu": edu})
    yield real("housevotes84: sixteen histograms", {f"V{i}": vote for i in range(1, 17)})


def number(low: float, high: float) -> dict[str, Any]:
    return {"kind": "number", "bounds": [low, high]}


def real(name: str, columns: dict[str, dict[str, Any]]) -> Case:
    """A mean or a histogram of each column, under the rate of each pattern where there are few, else of each column."""
    schema = ab.Schema.from_dict({"columns": columns})
    queries: list[Query] = [ab.mean(c) if d["kind"] == "number" else ab.histogram(c) for c, d in columns.items()]
    path = DATA / f"{name.split(':')[0]}.csv"
    shown = pl.read_csv(path, columns=list(columns), infer_schema=False).select(pl.all().is_not_null())
    patterns = Counter(tuple(c for c, there in row.items() if there) for row in shown.to_dicts())
    if len(patterns) <= 8:
        masses = [Fraction(many, len(shown)) for many in patterns.values()]
        process: Process = ab.missing.patterns(schema, [list(p) for p in patterns], masses, because=ASSUMED)
    else:
        rates = {c: Fraction(int(shown[c].sum()), len(shown)) for c in schema.columns}
        process = ab.missing.independent(schema, rates, because=ASSUMED)
    return Case("real tables, law assumed", name, path, schema, queries, process)


HEAD = f"{'seen':>7}{'predicted':>11}{'measured':>10}{'noise left':>12}  result"


def main(releases: int) -> None:
    print(f"epsilon 1; delta 1e-6 with Gaussian noise, 0 with Laplace; errors of {releases} releases each way")
    group = ""
    for cases in (planned_cases, drawn_cases, real_cases):
        for case in cases():
            if case.group != group:
                group = case.group
                print(
                    f"\n{group:<44}{'noise':>9}{'seen':>7}{'predicted':>11}{'measured':>10}{'noise left':>12}  result"
                )
            found = saving(case, releases)
            figures = f"{found.share:>7.3f}{found.predicted:>11.3f}{found.measured:>10.3f}{1 / found.measured:>12.3f}"
            print(f"  {case.name:<42}{case.noise:>9}{figures}  {found.result}", flush=True)
    if not DATA.is_dir():
        print(f"\nreal tables: not found (looked in {DATA.name}/; ABSENTIA_DATA names their folder)")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 20_000)
