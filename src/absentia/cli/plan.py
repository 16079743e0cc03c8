"""absentia plan: the promise, the noise and the errors of a plan file, before any data is opened."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Iterable, Mapping
from typing import Any

import click

from absentia.cli.planned import document
from absentia.cli.text import echo, echo_json, working
from absentia.errors import InputError
from absentia.plain import WIDTH
from absentia.planning.kinds import PROCESSES
from absentia.planning.plan import Plan
from absentia.planning.planfile import plan_of, schema_of
from absentia.planning.whatif import Outcome

__all__ = ["plan"]


@click.command()
@click.argument("file", metavar="PLAN.TOML")
@click.option("--what-if", "asked", multiple=True, metavar="NAME=X", help="gamma=2, p_star=0.9, eta=0.05 or without.")
@click.option("--explain", "derivation", is_flag=True, help="The derivation, step by step.")
@click.option("--emit-python", is_flag=True, help="The equivalent Python script.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object, numbers at full precision.")
def plan(file: str, asked: tuple[str, ...], derivation: bool, emit_python: bool, as_json: bool) -> None:
    """What a plan ('-': on stdin) promises and how exact its answers will be; opens no data.

    \b
    absentia plan plan.toml
    absentia plan plan.toml --what-if gamma=2 --what-if without
    """
    with working("computing the plan"):
        said = document(file)
        found = plan_of(said)
        outcomes = [outcome for text in asked for outcome in _outcomes(found, text)]
        if emit_python:
            echo(script(said, found, asked, derivation))
        elif as_json:
            echo_json(as_dict(found, outcomes))
        else:
            echo(found.explain() if derivation else found.summary())
            if outcomes:
                echo("\n" + table(outcomes))


def _outcomes(found: Plan, text: str) -> tuple[Outcome, ...]:
    """The outcomes of one --what-if, without the repeated line "as declared"."""
    name, _, value = text.partition("=")
    if text == "without":
        return found.what_if(without=True)[1:]
    if name not in ("gamma", "p_star", "eta") or not value:
        raise InputError("--what-if", text, "gamma=X, p_star=P, eta=E or without")
    return found.what_if(**{name: value})[1:]  # type: ignore[arg-type]


def table(outcomes: list[Outcome]) -> str:
    """What-if as lines of 80 columns."""
    lines = [f"{'what if':<44}{'epsilon':>12}  {'result':<8}{'noise needed':>12}"]
    return "\n".join([*lines, *map(str, outcomes)])


def as_dict(found: Plan, outcomes: list[Outcome]) -> dict[str, Any]:
    """Everything the command shows."""
    d = found.budget.delta
    g = found.guarantee
    three = {"with_missingness": g, "without_missingness": g.without_missingness, "if_mask_known": g.if_mask_known}
    return {
        "identity": found.identity,
        "plan": found.to_dict(),
        "guarantee": {key: one.answer(delta=d).to_dict() for key, one in three.items()},
        "saving": found.saving,
        "blocks": [b.to_dict() for b in found.blocks],
        "accuracy": found.accuracy().to_dict(),
        "hazards": [{"code": code, "text": text} for code, text in found.hazards],
        "advice": list(found.advice),
        "what_if": [o.to_dict() for o in outcomes],
    }


# -- the equivalent script -------------------------------------------------------------------------------------------


def script(document: Mapping[str, Any], found: Plan, asked: tuple[str, ...], derivation: bool) -> str:
    """The Python that says and prints the same."""
    queries = ",\n".join(textwrap.indent(call(q, "ab.", "kind"), "    ") for q in document["query"])
    missing = document["missingness"]
    if missing.get("kind") in PROCESSES:
        process = call(missing, "ab.missing.", "kind", "schema")
    else:
        process = f"ab.missing.from_dict({literal(found.missing.to_dict())})"
    lines = [
        "import absentia as ab\n",
        f"schema = ab.Schema.from_dict({literal(schema_of(document['schema']).to_dict())})",
        f"queries = [\n{queries},\n]",
        f"missing = {process}",
        f"plan = {spelled('ab.plan', ['schema', 'queries', 'missing', *options(document)])}",
        f"print({'plan.explain()' if derivation else 'plan'})",
    ]
    for text in asked:
        name, _, value = text.partition("=")
        given = f"{name}={'True' if not value else json.dumps(value)}"
        lines += [f"for outcome in plan.what_if({given})[1:]:", "    print(outcome)"]
    return "\n".join(lines)


def options(document: Mapping[str, Any]) -> list[str]:
    """The keyword arguments of `ab.plan` that the file gives."""
    found = {k: v for k, v in document.items() if k not in ("version", "schema", "query", "missingness", "budget", "n")}
    if "n" in document:
        found["dataset_n"] = document["n"]
    if "confidence" in document:
        found["confidence"] = float(document["confidence"])
    if isinstance(found.get("accuracy"), Mapping):
        found["accuracy"] = [found["accuracy"]]
    budget = [f"budget={call(document['budget'], 'ab.Budget')}"] if "budget" in document else []
    return [*budget, *(f"{k}={literal(v)}" for k, v in found.items())]


def call(table: Mapping[str, Any], name: str, key: str = "", *first: str) -> str:
    """The constructor that a table names by `key`, with the table's other fields."""
    return spelled(
        name + str(table.get(key, "")), [*first, *(f"{k}={literal(v)}" for k, v in table.items() if k != key)]
    )


def spelled(name: str, arguments: list[str]) -> str:
    line = f"{name}({', '.join(arguments)})"
    if len(line) <= WIDTH and "\n" not in line:
        return line
    return f"{name}(\n" + entries(arguments) + ")"


def literal(value: Any) -> str:
    """The value in Python, one entry a line where it is long."""
    line = repr(value)
    if len(line) <= WIDTH - 16 or not isinstance(value, (dict, list)):
        return line
    if isinstance(value, dict):
        return "{\n" + entries(f"{k!r}: {literal(v)}" for k, v in value.items()) + "}"
    return "[\n" + entries(map(literal, value)) + "]"


def entries(texts: Iterable[str]) -> str:
    """Each on lines of its own, indented."""
    return "".join(textwrap.indent(text, "    ") + ",\n" for text in texts)
