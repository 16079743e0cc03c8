"""Small releases whose cards the tests look at: a calm one, one of every kind, one with hostile names."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

import absentia as ab
from absentia.missing.process import Process

ROWS = 20_000
HOSTILE = (
    "<script>alert(1)</script>",
    "\"'><img src=x onerror=alert(1)>",
    "]]></svg></style><h1>",
    "a\u202e\u2066txt.exe",
    "line\nbreak\ttab\x1b[31m\x9b",
    "&lt;b&gt; {{7*7}} ${x} `y` %s",
    "z" + "\u0301" * 60,
    "\U0001f600 \u05e9\u05dc\u05d5\u05dd # : - ? | > ! * & %",
    "n" * 10_000,
    "\ufeff\u2028\u2029\u00ad\ufffe",
)
"""Names that try to end what holds them, to steer the reader's terminal, or to fill the page."""


def schema(names: Mapping[str, str] | None = None, values: Sequence[str] = ("no", "yes"), n: int | None = ROWS) -> Any:
    """A number and two categories, under the given names."""
    found = {"x": "x", "c": "c", "d": "d", **(names or {})}
    columns = {
        found["x"]: {"kind": "number", "bounds": [0, 100]},
        found["c"]: {"kind": "category", "values": list(values)},
        found["d"]: {"kind": "category", "values": ["p", "q"]},
    }
    return ab.Schema.from_dict({"columns": columns, **({"n": n} if n else {})})


def table(of: Any, rows: int = ROWS) -> pl.DataFrame:
    """Random rows of the schema, two entries in five missing."""
    rng = np.random.default_rng(7)
    out: dict[str, Any] = {}
    for name, column in of.columns.items():
        full: Any = rng.normal(50, 25, rows).tolist() if column.kind == "number" else rng.choice(column.values, rows)
        out[name] = [str(v) if isinstance(v, str) else v for v in full]
        out[name] = [v if keep else None for v, keep in zip(out[name], rng.random(rows) < 0.6, strict=True)]
    return pl.DataFrame(out)


def independent(of: Any, because: str = "drawn by chance", by: str = "study office", **more: Any) -> Process:
    found: Process = ab.missing.independent(of, dict.fromkeys(of.columns, "0.6"), because=because, by=by, **more)
    return found


def released(plan: Any, where: Path, purpose: str = "Table 1", backend: str = "absentia", **opening: Any) -> Any:
    """The release of a plan on a random table; the book stands at `where`."""
    with ab.Ledger.create(where, plan, **opening) as book:
        return plan.release(table(plan.schema), book, purpose=purpose, noise_backend=backend)


def calm(where: Path) -> Any:
    """A mean and a histogram: small enough to be verified many times."""
    s = schema()
    plan = ab.plan(s, [ab.mean("x"), ab.histogram("c")], independent(s), budget=ab.Budget("1", "1e-6"))
    return released(plan, where)


def kinds() -> dict[str, Any]:
    """Plans that put different things on the page."""
    s, open_ended = schema(), schema(n=None)
    missing, one = independent(s), ab.Budget("1", "1e-6")
    everything = [
        ab.count("x"), ab.total("x"), ab.variance("x"), ab.mean("x", by=["c"]), ab.marginal(["c", "d"]),
        ab.median("x", bins=[0, 20, 40, 60, 100]), ab.moments(["x"]), ab.linear([[1], [-2]], ["x"]),
    ]  # fmt: skip
    return {
        "everything": ab.plan(s, everything, missing, budget=one),
        "laplace": ab.plan(s, [ab.mean("x")], missing, budget=ab.Budget("1"), noise="laplace"),
        "without": ab.plan(s, [ab.mean("x")], ab.missing.without(s), budget=one),
        "own": ab.plan(s, [ab.custom("my score", {"x": "0.5"})], missing, budget=one),
        "added": ab.plan(
            open_ended, [ab.mean("x")], independent(open_ended), budget=ab.Budget("1", "1e-6"), relation="add_remove"
        ),
        "wrong": ab.plan(s, [ab.mean("x")], ab.missing.gamma(missing, 2), budget=one),
        "silent": ab.plan(s, [ab.mean("x", by=["c"])], missing, budget=ab.Budget("0.00001", "1e-9")),
        "dependent": ab.plan(s, [ab.mean("x")], missing, budget=one, dependent_rows=2),
    }


def hostile(name: str) -> Any:
    """A plan in which columns, values, reasons and people bear the name."""
    s = schema({"x": name, "c": name + "2"}, values=["no", name])
    missing = independent(s, because=name, by=name)
    asked = [ab.mean(name), ab.histogram(name + "2", by=["d"]), ab.custom(name, {name: 1})]
    return ab.plan(s, asked, missing, budget=ab.Budget("1", "1e-6"))
