"""Plan, table, entropy, charge, noise: in this order, and whatever is refused is refused before the charge."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
import polars as pl
import pytest

import absentia as ab
import absentia.backends as backends
import absentia.release as releasing
from absentia.errors import AbsentiaError, BudgetRefused, HazardRefused, InputError
from absentia.ledger.ledger import Ledger
from absentia.noise.opendp_draw import OpenDPNoise
from absentia.table.aggregate import Aggregates, aggregate
from release_world import LAW, SCHEMA, N, book_of, planned, table


@pytest.fixture
def plan() -> ab.Plan:
    return planned()


def spy(monkeypatch: pytest.MonkeyPatch, owner: Any, name: str, seen: list[str], also: Callable[[], None]) -> None:
    """The real function, noted when it is called; `also` runs first."""
    real = getattr(owner, name)

    def noted(*args: Any, **kwargs: Any) -> Any:
        also()
        seen.append(name)
        return real(*args, **kwargs)

    monkeypatch.setattr(owner, name, noted)


@pytest.mark.parametrize("backend", ["absentia", "opendp"])
def test_the_charge_is_on_the_disk_before_noise_is_drawn(
    plan: ab.Plan, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, backend: str
) -> None:
    seen: list[str] = []
    path = tmp_path / "study.ledger"

    def charges() -> int:
        with Ledger.open(path) as other:  # through the file, as another process would see it
            return sum(row.kind == "charge" for row in other.book.rows())

    def before() -> None:
        assert charges() == 0

    def after() -> None:
        assert charges() == 1

    drawer = backends if backend == "absentia" else OpenDPNoise
    with book_of(tmp_path, plan) as book:
        spy(monkeypatch, ab.Plan, "check", seen, before)
        spy(monkeypatch, releasing, "aggregate", seen, before)
        spy(monkeypatch, releasing, "require_entropy", seen, before)
        spy(monkeypatch, Ledger, "pay", seen, before)
        spy(monkeypatch, drawer, "draw", seen, after)
        done = plan.release(table(), book, purpose="Table 2", noise_backend=backend)
        assert book.verify(done.receipt).sequence == 1
    assert list(dict.fromkeys(seen)) == ["check", "aggregate", "require_entropy", "pay", "draw"]


def test_a_charge_that_fails_leaves_no_answer(plan: ab.Plan, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def never(*_: Any, **__: Any) -> Any:
        raise AssertionError("noise was drawn")

    def fails(*_: Any, **__: Any) -> Any:
        raise OSError("the disk is gone")

    with book_of(tmp_path, plan) as book:
        monkeypatch.setattr(backends, "draw", never)
        with monkeypatch.context() as broken:
            broken.setattr(book.book, "append", fails)
            with pytest.raises(OSError, match="gone"):
                plan.release(table(), book, purpose="Table 2")
        assert book.spent()["with_missingness"] == 0


def tighter(plan: ab.Plan) -> ab.Plan:
    """The same plan with half its noise: it cannot keep its budget."""
    return replace(plan, scales=MappingProxyType({s: x / 2 for s, x in plan.scales.items()}))


def no_bits(_: int) -> bytes:
    raise OSError("no entropy")


TWO = ab.Budget("1/2", "1e-6")
OTHER_LAW = ab.missing.independent(SCHEMA, {"bmi": "1/3", "chl": "1/2", "hyp": "3/4"}, because="by lot", by="office")
WIDER = ab.Schema.from_dict(SCHEMA.to_dict() | {"columns": SCHEMA.to_dict()["columns"] | {"age": {"kind": "boolean"}}})

Refusal = tuple[str, type[AbsentiaError], str, dict[str, Any]]
REFUSED: list[Refusal] = [
    ("a plan that breaks its budget", BudgetRefused, "B-BUDGET", {"plan": tighter}),
    ("a column gone", InputError, "E-COLUMN", {"source": lambda: table().drop("bmi")}),
    ("another number of rows", InputError, "E-ROWS", {"source": lambda: table(N + 1)}),
    ("no table", InputError, "E-FILE", {"source": lambda: "nowhere.csv"}),
    ("something else than a table", InputError, "E-TABLE", {"source": lambda: 7}),
    ("no words", InputError, "E-INPUT", {"purpose": "  "}),
    ("no such backend", InputError, "E-INPUT", {"backend": "diffprivlib"}),
    ("another law", HazardRefused, "H19", {"plan": lambda _: ab.plan(SCHEMA, ab.mean("bmi"), OTHER_LAW, budget=TWO)}),
    ("another relation", InputError, "E-INPUT", {"plan": lambda _: planned(relation="add_remove")}),
    ("dependent rows", InputError, "E-INPUT", {"plan": lambda _: planned(noise="laplace", dependent_rows=1)}),
    ("another schema", InputError, "E-SCHEMA", {"plan": lambda _: ab.plan(WIDER, ab.mean("bmi"), LAW, budget=TWO)}),
    ("too large a budget", BudgetRefused, "B-BUDGET", {"plan": lambda _: planned(budget=ab.Budget("3", "1e-6"))}),
]


@pytest.mark.parametrize("backend", ["absentia", "opendp"])
@pytest.mark.parametrize(("what", "error", "code", "change"), REFUSED, ids=[r[0] for r in REFUSED])
def test_refused_before_the_charge(
    plan: ab.Plan, tmp_path: Path, what: str, error: type[AbsentiaError], code: str, change: Any, backend: str
) -> None:
    with book_of(tmp_path, plan) as book:
        asked = change["plan"](plan) if "plan" in change else plan
        source = change["source"]() if "source" in change else table()
        with pytest.raises(error) as refusal:
            asked.release(
                source, book, purpose=change.get("purpose", "Table 2"), noise_backend=change.get("backend", backend)
            )
        assert refusal.value.code == code, what
        assert len(book.book.rows()) == 1
        plan.release(table(), book, purpose="nothing was lost")


def test_a_scale_without_a_grid_is_refused_before_the_charge(
    plan: ab.Plan, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def without(scale: float) -> float:
        raise InputError("scale", scale, "a scale with a grid")

    monkeypatch.setattr(backends, "grid_for", without)
    with book_of(tmp_path, plan) as book:
        with pytest.raises(InputError, match="grid"):
            plan.release(table(), book, purpose="Table 2")
        assert len(book.book.rows()) == 1


def test_no_entropy_is_refused_before_the_charge(
    plan: ab.Plan, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with book_of(tmp_path, plan) as book:
        with monkeypatch.context() as dry:
            dry.setattr(os, "urandom", no_bits)
            with pytest.raises(HazardRefused) as refusal:
                plan.release(table(), book, purpose="Table 2")
        assert (refusal.value.code, refusal.value.exit_code) == ("H7", 4)
        assert len(book.book.rows()) == 1


def test_what_is_no_ledger_is_refused_before_the_table_is_read(plan: ab.Plan) -> None:
    class Unread:
        def __getattr__(self, name: str) -> Any:
            raise AssertionError(f"the table was asked for {name}")

    with pytest.raises(InputError) as refusal:
        plan.release(Unread(), "study.ledger", purpose="Table 2")
    assert refusal.value.field == "book"


def test_a_receipt_buys_one_release(plan: ab.Plan, tmp_path: Path) -> None:
    """The plan's whole budget is spent by one release; the same plan, receipt in hand, is refused."""
    with book_of(tmp_path, plan) as book:
        first = plan.release(table(), book, purpose="Table 2")
        for _ in range(2):
            with pytest.raises(BudgetRefused):
                plan.release(table(), book, purpose="Table 2 again")
        assert book.verify(first.receipt) == first.receipt


# -- the public number of rows ----------------------------------------------------------------------------------------


def test_the_number_of_rows_is_checked_where_it_is_public() -> None:
    counted = planned()
    releasing.check_rows(counted, N)
    with pytest.raises(InputError) as refusal:
        releasing.check_rows(counted, N - 1)
    assert (refusal.value.code, refusal.value.field) == ("E-ROWS", "n")
    assert str(N - 1) not in str(refusal.value)  # what the table holds is not said


@pytest.mark.parametrize("change", ["add_remove", "unit", "no n"])
def test_it_is_not_compared_where_it_is_private(change: str) -> None:
    document = SCHEMA.to_dict()
    if change == "unit":
        document |= {"unit": "person", "unit_rule": {"at_most": 1}}
    if change == "no n":
        del document["n"]
    schema = ab.Schema.from_dict(document)
    relation = "add_remove" if change == "add_remove" else "substitute"
    law = ab.missing.independent(schema, {"bmi": "1/2"}, because="by lot")
    found = ab.plan(schema, ab.mean("bmi"), law, budget=TWO, relation=relation)
    for rows in (1, N, 10 * N):
        releasing.check_rows(found, rows)


# -- one plan, any table ----------------------------------------------------------------------------------------------


def test_the_same_plan_reads_the_same_sums_from_every_kind_of_table(plan: ab.Plan, tmp_path: Path) -> None:
    import duckdb
    import pandas as pd

    frame = table()
    frame.write_csv(tmp_path / "people.csv")
    frame.write_parquet(tmp_path / "people.parquet")
    connection = duckdb.connect()
    connection.register("people", frame.to_arrow())
    sources: dict[str, Any] = {
        "csv": str(tmp_path / "people.csv"),
        "parquet": tmp_path / "people.parquet",
        "polars": frame,
        "lazy": frame.lazy(),
        "shuffled": frame.sample(fraction=1.0, shuffle=True, seed=5),
        "pandas": pd.DataFrame({c: frame[c].to_list() for c in frame.columns}),
        "arrow": frame.to_arrow(),
        "duckdb": connection.table("people"),
    }
    found: dict[str, Aggregates] = {k: aggregate(v, plan.schema, plan.statistics) for k, v in sources.items()}
    expected = found["polars"]
    assert expected.rows == N
    assert any(np.count_nonzero(v) for v in expected.values.values())
    for name, sums in found.items():
        assert sums == expected, name
    moved = frame.with_row_index().with_columns(
        pl.when(pl.col("index") == 3).then(pl.lit(59.0)).otherwise("bmi").alias("bmi")
    )
    assert aggregate(moved.drop("index"), plan.schema, plan.statistics) != expected
