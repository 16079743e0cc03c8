"""plan.toml: what it may say, how it is read, and which field is wrong when it cannot be. Decimals stay exact text."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

from absentia.errors import HazardRefused, InputError
from absentia.planning.budget import Budget
from absentia.planning.checks import checked, public_rows
from absentia.planning.kinds import missing_of, prefixed, query_of
from absentia.planning.plan import Plan, plan
from absentia.planning.schema import Schema
from absentia.query import custom

__all__ = ["FIELDS", "document_of", "load", "parsed", "plan_of", "restored", "schema_of", "with_schema"]

FIELDS = {
    "version", "schema", "query", "missingness", "noise", "budget", "accuracy", "relation", "dependent_rows",
    "rows_dependent", "n", "confidence", "delta",
}  # fmt: skip


def load(path: str | Path) -> Plan:
    """The plan that a TOML file describes; a schema named by path is read beside it."""
    return plan_of(document_of(path))


def document_of(path: str | Path) -> dict[str, Any]:
    """What the file says, its schema with it."""
    file = Path(path)
    return with_schema(read_toml(file, "plan"), file.parent)


def with_schema(document: dict[str, Any], folder: Path) -> dict[str, Any]:
    """The document, a schema named by path read from there."""
    if not isinstance(document.get("schema"), str):
        return document
    return {**document, "schema": schema_of(read_toml(folder / document["schema"], "schema"))}


def read_toml(file: Path, field: str) -> dict[str, Any]:
    """The parsed file, every decimal as the text that was written."""
    try:
        return parsed(file.read_bytes(), field, str(file))
    except OSError as e:
        raise InputError(field, str(file), f"a readable TOML file ({e.strerror})", code="E-FILE") from None


def parsed(text: bytes, field: str, file: str) -> dict[str, Any]:
    """The TOML in the text, which stands in the file."""
    try:
        return tomllib.loads(text.decode("utf-8"), parse_float=str)
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as e:
        raise InputError(field, file, f"TOML ({e})", code="E-TOML") from None


def schema_of(document: Any) -> Schema:
    """The schema of a document whose decimals are text; missing bounds are a refusal of their own (H4)."""
    if isinstance(document, Schema):
        return document
    if not isinstance(document, Mapping):
        raise InputError("schema", document, "the path of a schema file, or a [schema] table")
    for name, column in _tables(document.get("columns")):
        if column.get("kind") == "number" and "bounds" not in column:
            raise HazardRefused(
                "H4",
                f"schema.columns.{name} has no bounds.",
                "Bounds decide how much noise hides one row; read from the data they would give away its extremes.",
                f"Add bounds = [low, high] to columns.{name} from public knowledge.",
            )
    try:
        return Schema.from_dict(_as_floats(document))
    except InputError as e:
        raise prefixed(e, "schema") from None


def _tables(document: Any) -> list[tuple[str, Mapping[str, Any]]]:
    return [(k, v) for k, v in document.items() if isinstance(v, Mapping)] if isinstance(document, Mapping) else []


def _as_floats(document: Mapping[str, Any]) -> dict[str, Any]:
    """Bounds as doubles: a schema's bounds are binary numbers."""
    fixed = {
        name: {**c, "bounds": [_double(b) for b in c["bounds"]]} if isinstance(c.get("bounds"), list) else c
        for name, c in _tables(document.get("columns"))
    }
    if not isinstance(document.get("columns"), Mapping):
        return dict(document)
    return {**document, "columns": {**document["columns"], **fixed}}


def _double(value: Any) -> Any:
    try:
        return float(value) if isinstance(value, str) else value
    except ValueError:
        return value


def plan_of(document: Mapping[str, Any]) -> Plan:
    """The plan of a parsed document."""
    for key in document:
        if key not in FIELDS:
            raise InputError(key, key, "one of " + ", ".join(sorted(FIELDS)))
    if document.get("version", 1) != 1:
        raise InputError("version", document["version"], "1")
    schema = schema_of(document.get("schema"))
    listed = document.get("query")
    if not isinstance(listed, list) or not listed:
        raise InputError("query", listed, "at least one [[query]] table")
    queries = [query_of(q, f"query[{i}]") for i, q in enumerate(listed)]
    targets = document.get("accuracy")
    return plan(
        schema,
        queries,
        missing_of(document.get("missingness"), schema),
        budget=Budget.from_dict(document["budget"]) if "budget" in document else None,
        accuracy=_targets(targets) if targets is not None else None,
        noise=document.get("noise", "gaussian"),
        relation=document.get("relation", "substitute"),
        dependent_rows=document.get("dependent_rows"),
        rows_dependent=_flag(document.get("rows_dependent", False)),
        dataset_n=public_rows(schema, document.get("n"), "n"),
        confidence=_confidence(document.get("confidence", 0.95)),
        delta=document.get("delta", "1e-6"),
    )


def _targets(value: Any) -> list[Any]:
    targets = [value] if isinstance(value, Mapping) else value
    if not isinstance(targets, list) or not targets:
        raise InputError("accuracy", value, 'a list of tables such as {query = "mean(bmi)", within = "0.2"}')
    return targets


def _flag(value: Any) -> bool:
    if not isinstance(value, bool):
        raise InputError("rows_dependent", value, "true or false")
    return value


def _confidence(value: Any) -> float:
    try:
        return float(value) if not isinstance(value, bool) else 0.0
    except (TypeError, ValueError, OverflowError):
        raise InputError("confidence", value, "a number strictly between 0 and 1") from None


def restored(data: Mapping[str, Any]) -> Plan:
    """The plan that `Plan.to_dict` wrote, scales included, after the certified figure was checked again."""
    if not isinstance(data, Mapping) or data.get("version") != 1:
        raise InputError("plan.version", data.get("version") if isinstance(data, Mapping) else data, "1")
    schema = schema_of(data.get("schema"))
    listed = data.get("query")
    if not isinstance(listed, list):
        raise InputError("plan.query", listed, "a list of queries")
    queries = tuple(query_of(q, f"query[{i}]") for i, q in enumerate(listed))
    process, family, relation = missing_of(data.get("missingness"), schema), data.get("noise"), data.get("relation")
    budget, confidence = Budget.from_dict(data.get("budget")), _confidence(data.get("confidence", 0.95))
    g = checked(schema, queries, process, str(family), str(relation), data.get("dependent_rows"), False, confidence)
    n = None if data.get("n") is None else public_rows(schema, data["n"], "plan.n")
    statistics = dict.fromkeys(s for q in queries for s in q.statistics(schema))
    scales = data.get("scales")
    if not isinstance(scales, list) or len(scales) != len(statistics) or not all(_positive(x) for x in scales):
        raise InputError("plan.scales", scales, f"{len(statistics)} numbers above 0")
    own = data.get("own_scales", {})
    wanted = {q.name for q in queries if isinstance(q, custom.Own)}
    if not isinstance(own, Mapping) or set(own) != wanted or not all(_positive(x) for x in own.values()):
        raise InputError("plan.own_scales", own, f"a number above 0 for each of {sorted(wanted)}")
    found = Plan(
        schema, queries, process, str(family), budget, str(relation), g, n, confidence,
        MappingProxyType(dict(zip(statistics, map(float, scales), strict=True))), MappingProxyType(dict(own)),
    )  # fmt: skip
    found.check()
    return found


def _positive(x: Any) -> bool:
    return isinstance(x, (int, float)) and not isinstance(x, bool) and 0 < x < float("inf")
