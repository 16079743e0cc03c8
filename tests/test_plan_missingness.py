"""[missingness] tables: processes made of others, by constructor or stored form, whatever the form around them."""

from __future__ import annotations

import copy
import json
from typing import Any

import pytest
from click.testing import CliRunner

from absentia import missing
from absentia.cli.plan import plan as command
from absentia.errors import InputError
from absentia.missing.process import Process
from absentia.planning.kinds import missing_of
from absentia.planning.plan import Plan
from absentia.planning.planfile import plan_of
from absentia.planning.schema import Schema

NUMBER = {"kind": "number", "bounds": [0, 100]}
DOCUMENT = {"columns": dict.fromkeys(("bmi", "chl", "age"), NUMBER)}
SCHEMA = Schema.from_dict(DOCUMENT)
WORDS = {"because": "protocol", "by": "office"}
FORMS = {"asked": [["bmi"], ["chl"]], **WORDS}
RATES = {"observed": {"bmi": "0.5"}, **WORDS}
DESIGN = missing.planned(SCHEMA, **FORMS)
ANSWERS = missing.independent(SCHEMA, **RATES)
PLANNED = {"kind": "planned", **FORMS}
INDEPENDENT = {"kind": "independent", **RATES}

MADE: list[tuple[dict[str, Any], Process]] = [
    ({"kind": "nonresponse_on", "design": PLANNED}, missing.nonresponse_on(DESIGN)),
    (
        {"kind": "unit_nonresponse", "process": PLANNED, "probability_of_nothing": 0, "data_dependent": True, **WORDS},
        missing.unit_nonresponse(DESIGN, 0, True, **WORDS),
    ),
    ({"kind": "product", "parts": [PLANNED, INDEPENDENT]}, missing.product(DESIGN, ANSWERS)),
    (
        {"kind": "mixture", "parts": [PLANNED, INDEPENDENT], "mass": ["0.3", "0.7"]},
        missing.mixture([DESIGN, ANSWERS], ["0.3", "0.7"]),
    ),
    ({"kind": "gamma", "base": INDEPENDENT, "gamma": "2"}, missing.gamma(ANSWERS, 2)),
    (
        {"kind": "nonresponse_on", "design": {"kind": "gamma", "base": PLANNED, "gamma": 2}},
        missing.nonresponse_on(missing.gamma(DESIGN, 2)),
    ),
]  # fmt: skip


def plan_under(table: dict[str, Any]) -> dict[str, Any]:
    query = [{"kind": "mean", "column": "bmi"}]
    budget = {"epsilon": "1", "delta": "1e-6"}
    return {"schema": copy.deepcopy(DOCUMENT), "query": query, "budget": budget, "missingness": table}


@pytest.mark.parametrize(("table", "process"), MADE, ids=lambda v: v.get("kind") if isinstance(v, dict) else "")
def test_a_process_made_of_others_has_a_table(table: dict[str, Any], process: Process) -> None:
    assert missing_of(table, SCHEMA) == process
    p = plan_of(plan_under(table))
    assert p.missing == process
    assert Plan.from_dict(json.loads(json.dumps(p.to_dict()))) == p


@pytest.mark.parametrize(("table", "process"), MADE, ids=lambda v: v.get("kind") if isinstance(v, dict) else "")
def test_stored_tables_fit_inside_constructors_and_constructors_inside_stored_tables(
    table: dict[str, Any], process: Process
) -> None:
    inner = {"planned": DESIGN.to_dict(), "independent": ANSWERS.to_dict()}

    def swapped(value: Any) -> Any:
        if isinstance(value, list):
            return [swapped(v) for v in value]
        if not isinstance(value, dict):
            return value
        return inner.get(value.get("kind", ""), {k: swapped(v) for k, v in value.items()})

    assert missing_of(swapped(table), SCHEMA) == process
    stored = process.to_dict()
    design, answers = stored_as(stored, "planned", PLANNED), stored_as(stored, "independent", INDEPENDENT)
    assert missing_of(design, SCHEMA) == process == missing_of(answers, SCHEMA)


def stored_as(value: Any, name: str, table: dict[str, Any]) -> Any:
    """The stored form with this table in place of each process of that name."""
    if isinstance(value, list):
        return [stored_as(v, name, table) for v in value]
    if not isinstance(value, dict):
        return value
    return table if value.get("process") == name else {k: stored_as(v, name, table) for k, v in value.items()}


@pytest.mark.parametrize(
    ("table", "field"),
    [
        ({"kind": "nonresponse_on"}, "design"),
        ({"kind": "nonresponse_on", "design": "planned"}, "design"),
        ({"kind": "nonresponse_on", "design": {"kind": "luck"}}, "design.kind"),
        ({"kind": "nonresponse_on", "design": {"kind": "planned", "asked": [["q"]]}}, "design.asked[0][0]"),
        ({"kind": "nonresponse_on", "design": {"process": "planned", "asked": [["q"]]}}, "design.asked[0][0]"),
        ({"kind": "product", "parts": []}, "parts"),
        ({"kind": "product", "parts": PLANNED}, "parts"),
        ({"kind": "product", "parts": [PLANNED, 3]}, "parts[1]"),
        ({"kind": "mixture", "parts": [PLANNED, {**INDEPENDENT, "colour": "red"}]}, "parts[1].colour"),
        ({"kind": "mixture", "parts": [PLANNED], "mass": ["0.5"]}, "mass"),
        ({"kind": "unit_nonresponse", "process": PLANNED, "probability_of_nothing": 2}, "probability_of_nothing"),
        (
            {"kind": "unit_nonresponse", "process": PLANNED, "probability_of_nothing": 0, "data_dependent": "no"},
            "data_dependent",
        ),
        ({"kind": "gamma", "base": PLANNED, "gamma": "0.5"}, "gamma"),
        ({"kind": "gamma", "base": 3, "gamma": "2"}, "base"),
        ({"process": "product", "parts": [{"kind": "planned", "asked": "bmi"}]}, "parts[0].asked"),
        ({"process": "product", "parts": [{"process": "gamma", "base": {"kind": 1}}]}, "parts[0].base.kind"),
        ({"process": "gamma", "gamma": 2}, "base"),
        ({"process": 3}, "process"),
    ],
)  # fmt: skip
def test_a_wrong_field_is_named_by_its_path(table: dict[str, Any], field: str) -> None:
    with pytest.raises(InputError) as refused:
        missing_of(table, SCHEMA)
    assert refused.value.field == f"missingness.{field}"
    assert refused.value.allowed


def test_the_script_of_such_a_plan_says_the_same(tmp_path: Any) -> None:
    file = tmp_path / "plan.toml"
    file.write_text(
        "query = [{kind = 'mean', column = 'bmi'}]\nbudget = {epsilon = '1', delta = '1e-6'}\n"
        "[schema.columns.bmi]\nkind = 'number'\nbounds = [0, 100]\n"
        "[missingness]\nkind = 'nonresponse_on'\n"
        "design = {kind = 'subsampling', rate = '0.5', because = 'drawn', by = 'office'}\n"
    )
    found = CliRunner().invoke(command, [str(file), "--emit-python"], catch_exceptions=False)
    assert found.exit_code == 0
    space: dict[str, Any] = {}
    exec(found.output, space)
    assert space["plan"] == Plan.load(file)
