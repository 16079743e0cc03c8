"""plan.toml and the command: every field wrong in turn is named with its path, and nothing else happens."""

from __future__ import annotations

import copy
import json
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from absentia.cli.plan import plan as command
from absentia.errors import AbsentiaError, HazardRefused, InputError
from absentia.planning.kinds import PROCESSES, QUERIES, query_of
from absentia.planning.plan import Plan
from absentia.planning.planfile import plan_of

TEXT = """
version = 1
noise = "gaussian"
relation = "substitute"
n = 2060
confidence = 0.95

[schema]
n = 2060
[schema.columns.bmi]
kind = "number"
bounds = [10, 60.5]
[schema.columns.chl]
kind = "number"
bounds = [100, 400]
[schema.columns.age]
kind = "number"
bounds = [0, 100]
[schema.columns.hyp]
kind = "category"
values = ["no", "yes"]
[schema.columns.w]
kind = "number"
bounds = [0, 2]
weight = true

[budget]
epsilon = 1.1
delta = "1e-6"

[missingness]
kind = "planned"
asked = [["bmi", "chl"], ["bmi", "hyp"], ["hyp", "chl"]]
mass = ["0.5", 0.25, "1/4"]
because = "three-form design"
by = "the designer"

[[query]]
kind = "mean"
column = "bmi"
by = ["hyp"]
share = 2

[[query]]
kind = "histogram"
column = "age"
bins = [0, 30, 60.5, 100]

[[query]]
kind = "moments"
columns = ["bmi", "chl"]
"""


def document() -> dict[str, Any]:
    return tomllib.loads(TEXT, parse_float=str)


def test_a_plan_file_is_read_exactly(tmp_path: Path) -> None:
    (tmp_path / "plan.toml").write_text(TEXT)
    p = Plan.load(tmp_path / "plan.toml")
    assert str(p.budget.epsilon) == "11/10"
    assert p.schema.columns["bmi"].bounds == (10.0, 60.5)
    assert p.guarantee.epsilon("1e-6") <= 1.1
    assert [q.name for q in p.queries] == ["mean(bmi) by hyp", "histogram(age)", "moments(bmi, chl)"]
    assert str(p.missing.mass[1]) == "1/4"  # type: ignore[attr-defined]
    schema, rest = TEXT.split("[budget]")
    (tmp_path / "schema.toml").write_text(schema.split("[schema]")[1].replace("[schema.", "["))
    (tmp_path / "apart.toml").write_text(f'n = 2060\nschema = "schema.toml"\n[budget]{rest}')
    assert Plan.load(tmp_path / "apart.toml") == p


WRONG: list[tuple[str, Any, str]] = [
    ("version", 2, "version"),
    ("noise", "uniform", "noise"),
    ("relation", "both", "relation"),
    ("n", 0, "n"),
    ("n", "many", "n"),
    ("confidence", "2", "confidence"),
    ("confidence", [], "confidence"),
    ("colour", "red", "colour"),
    ("dependent_rows", -1, "dependent_rows"),
    ("dependent_rows", "1.5", "dependent_rows"),
    ("rows_dependent", "yes", "rows_dependent"),
    ("schema", 7, "schema"),
    ("schema.columns.bmi.kind", "text", "schema.columns.bmi.kind"),
    ("schema.columns.bmi.bounds", [60, 10], "schema.columns.bmi.bounds"),
    ("schema.columns.bmi.bounds", ["a", "b"], "schema.columns.bmi.bounds"),
    ("schema.columns.hyp.values", [], "schema.columns.hyp.values"),
    ("schema.n", -5, "schema.n"),
    ("schema.columns", {}, "schema.columns"),
    ("budget", 1, "budget.epsilon"),
    ("budget.epsilon", 0, "budget.epsilon"),
    ("budget.epsilon", "much", "budget.epsilon"),
    ("budget.epsilon", 0.5, "budget.epsilon"),
    ("budget.delta", "0", "budget.delta"),
    ("budget.delta", "1", "budget.delta"),
    ("budget.gamma", "1", "budget.gamma"),
    ("missingness", "planned", "missingness"),
    ("missingness.kind", "luck", "missingness.kind"),
    ("missingness.asked", "bmi", "missingness.asked"),
    ("missingness.asked", [["weight"]], "missingness.asked[0][0]"),
    ("missingness.mass", ["0.5", "0.5"], "missingness.mass"),
    ("missingness.mass", ["a", "b", "c"], "missingness.mass[0]"),
    ("missingness.colour", "red", "missingness.colour"),
    ("query", [], "query"),
    ("query", {"kind": "mean"}, "query"),
    ("query.0.kind", "mode", "query[0].kind"),
    ("query.0.column", "weight", "query[0].column"),
    ("query.0.column", "hyp", "query[0].by"),
    ("query.0.column", 3, "query[0].column"),
    ("query.0.by", ["age"], "query[0].by"),
    ("query.0.by", ["nobody"], "query[0].by"),
    ("query.0.by", 5, "query[0].by"),
    ("query.0.share", 0, "query[0].share"),
    ("query.0.share", "lots", "query[0].share"),
    ("query.0.weight", "age", "query[0].weight"),
    ("query.0.colour", "red", "query[0].colour"),
    ("query.1.bins", [3, 2, 1], "query[1].bins.edges"),
    ("query.1.bins", ["low", "high"], "query[1].bins[0]"),
    ("query.1.bins", 4, "query[1].bins"),
    ("query.2.columns", [], "query[2].columns"),
    ("query.2.columns", ["bmi", "bmi"], "query[2].columns"),
    ("query.2.columns", ["bmi", "hyp"], "query[2].column"),
    ("accuracy", [], "accuracy"),
]


@pytest.mark.parametrize(("path", "value", "field"), WRONG, ids=lambda v: str(v)[:40])
def test_every_wrong_field_is_named(path: str, value: Any, field: str) -> None:
    found = document()
    *parents, last = path.split(".")
    table: Any = found
    for key in parents:
        table = table[int(key)] if key.isdigit() else table[key]
    table[last] = value
    if path == "accuracy":
        del found["budget"]
    with pytest.raises(InputError) as refusal:
        plan_of(found)
    assert refusal.value.field == field
    assert refusal.value.allowed
    assert refusal.value.exit_code == 2


@pytest.mark.parametrize(
    "field", ["schema", "query", "missingness", "budget", "query.0.kind", "query.0.column", "missingness.asked"]
)
def test_every_needed_field_is_named(field: str) -> None:
    found = document()
    *parents, last = field.split(".")
    table: Any = found
    for key in parents:
        table = table[int(key)] if key.isdigit() else table[key]
    del table[last]
    with pytest.raises(InputError) as refusal:
        plan_of(found)
    assert last in refusal.value.field


def without(found: dict[str, Any], *path: str) -> dict[str, Any]:
    table = found
    for key in path[:-1]:
        table = table[key]
    del table[path[-1]]
    return found


REFUSED: list[tuple[str, Callable[[dict[str, Any]], Any]]] = [
    ("H4", lambda d: without(d, "schema", "columns", "bmi", "bounds")),
    ("H13", lambda d: without(d, "missingness", "because")),
    ("H14", lambda d: {**d, "rows_dependent": True}),
    ("H18", lambda d: {**d, "query": [{"kind": "custom", "name": "f", "constants": {}}]}),
]


@pytest.mark.parametrize(("code", "change"), REFUSED, ids=[code for code, _ in REFUSED])
def test_hazards_are_refused_by_code(code: str, change: Callable[[dict[str, Any]], Any]) -> None:
    with pytest.raises(HazardRefused) as refusal:
        plan_of(change(document()))
    assert (refusal.value.code, refusal.value.exit_code) == (code, 4)
    assert refusal.value.remedy


SPECS: dict[str, dict[str, Any]] = {
    "count": {"column": "bmi"}, "sum": {"column": "bmi"}, "mean": {"column": "bmi", "weight": "w"},
    "variance": {"column": "bmi"}, "histogram": {"column": "age", "bins": ["0", "50.5", "100"]},
    "marginal": {"columns": ["hyp", "age"], "bins": {"age": [0, 50, 100]}},
    "quantiles": {"column": "age", "at": ["0.1", "1/2"]}, "median": {"column": "age", "bins": [0, 50, 100]},
    "moments": {"columns": ["bmi", "chl"], "by": ["hyp"]}, "covariance": {"columns": ["bmi", "chl"]},
    "correlation": {"columns": ["bmi", "chl"]}, "pca": {"columns": ["bmi", "chl"], "components": 1},
    "regression": {"target": "bmi", "on": ["age"]}, "linear": {"matrix": [[1, "0.5"]], "columns": ["bmi", "chl"]},
    "custom": {"name": "f", "constants": {"bmi": "1/3"}},
}  # fmt: skip


@pytest.mark.parametrize("kind", QUERIES)
def test_every_query_survives_a_round_trip(kind: str) -> None:
    q = query_of({"kind": kind, **SPECS[kind], "share": "3/2"})
    assert query_of(json.loads(json.dumps(q.to_dict()))) == q
    found = document() | {"query": [q.to_dict()]}
    p = plan_of(found)
    assert Plan.from_dict(json.loads(json.dumps(p.to_dict()))) == p


def test_every_process_has_a_constructor_that_takes_the_schema() -> None:
    import inspect

    for name, make in PROCESSES.items():
        assert next(iter(inspect.signature(make).parameters)) == "columns", name


def test_the_stored_form_of_a_process_is_accepted() -> None:
    found = document()
    p = plan_of(found)
    found["missingness"] = p.missing.to_dict()
    assert plan_of(found) == p


@pytest.mark.parametrize(
    "field", ["version", "scales", "noise", "relation", "budget", "missingness", "query", "schema"]
)
def test_a_stored_plan_with_a_field_gone_is_refused(field: str) -> None:
    data = plan_of(document()).to_dict()
    broken = copy.deepcopy(data)
    del broken[field]
    with pytest.raises(AbsentiaError):
        Plan.from_dict(broken)
    with pytest.raises(AbsentiaError):
        Plan.from_dict(data | {field: 3})


def test_a_plans_own_n_is_the_schemas(tmp_path: Path) -> None:
    """20 beside 3000 would be accepted silently, and every expected error would be that of 20 people."""
    found = document()
    n = found["schema"].setdefault("n", 3000)
    assert plan_of(found | {"n": n}).n == n
    with pytest.raises(InputError, match=f"the schema's n: {n}.*correct n in the schema") as refusal:
        plan_of(found | {"n": 20})
    assert refusal.value.field == "n"
    with pytest.raises(InputError) as refusal:
        Plan.from_dict(plan_of(found).to_dict() | {"n": 20})
    assert refusal.value.field == "plan.n"
    del found["schema"]["n"]
    assert plan_of(found | {"n": 20}).n == 20


def run(tmp_path: Path, *options: str) -> str:
    file = tmp_path / "plan.toml"
    file.write_text(TEXT)
    result = CliRunner().invoke(command, [str(file), *options], catch_exceptions=False)
    assert result.exit_code == 0
    return result.output


def test_the_command_fits_a_terminal(tmp_path: Path) -> None:
    text = run(tmp_path, "--what-if", "gamma=2", "--what-if", "without")
    assert max(map(len, text.splitlines())) <= 80
    for word in ("without missingness", "if the mask is known", "blocks", "hazards", "gamma = 2", "half-width"):
        assert word in text
    assert "Promise" in run(tmp_path, "--explain")


def test_the_command_in_json_and_python(tmp_path: Path) -> None:
    found = json.loads(run(tmp_path, "--json", "--what-if", "eta=0.1"))
    p = Plan.load(tmp_path / "plan.toml")
    assert found["identity"] == p.identity
    assert found["guarantee"]["with_missingness"]["epsilon"] == p.guarantee.epsilon("1e-6")
    assert found["what_if"][0]["assumption"].startswith("eta = 0.1")
    assert Plan.from_dict(found["plan"]) == p
    text = run(tmp_path, "--emit-python", "--what-if", "gamma=2")
    compile(text, "emitted", "exec")
    assert 'what_if(gamma="2")' in text


def test_the_command_refuses_what_it_does_not_know(tmp_path: Path) -> None:
    (tmp_path / "plan.toml").write_text(TEXT)
    for file, option in (
        (tmp_path / "plan.toml", "colour=red"),
        (tmp_path / "plan.toml", "gamma"),
        (tmp_path / "no.toml", ""),
    ):
        result = CliRunner().invoke(command, [str(file), *(["--what-if", option] if option else [])])
        assert isinstance(result.exception, InputError)
