"""The tables of a plan that name a constructor by their `kind`: each question, and the missingness process."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from functools import partial
from types import MappingProxyType
from typing import Any

from absentia import missing as processes
from absentia.errors import AbsentiaError, InputError
from absentia.exact import list_of
from absentia.missing.parts import process_of
from absentia.missing.process import Process
from absentia.planning.schema import Schema
from absentia.query import columns, custom, models, moments, quantiles, tables
from absentia.query.base import Query

__all__ = ["MADE_OF", "PROCESSES", "QUERIES", "missing_of", "prefixed", "query_of"]

QUERIES: Mapping[str, Callable[..., Query]] = MappingProxyType(
    {
        "count": columns.count,
        "sum": columns.total,
        "mean": columns.mean,
        "variance": columns.variance,
        "histogram": tables.histogram,
        "marginal": tables.marginal,
        "quantiles": quantiles.quantiles,
        "median": quantiles.median,
        "moments": moments.moments,
        "covariance": models.covariance,
        "correlation": models.correlation,
        "pca": models.pca,
        "regression": models.regression,
        "linear": custom.linear,
        "custom": custom.custom,
    }
)
"""The kinds of [[query]], each with its constructor: the table's fields are the constructor's arguments."""

PROCESSES: Mapping[str, Callable[..., Process]] = MappingProxyType(
    {
        "planned": processes.planned,
        "three_form": processes.three_form,
        "split_questionnaire": processes.split_questionnaire,
        "rotation": processes.rotation,
        "rotating_panel": processes.rotating_panel,
        "subsampling": processes.subsampling,
        "random_items": processes.random_items,
        "matrix_sampling": processes.matrix_sampling,
        "independent": processes.independent,
        "independent_blocks": processes.independent_blocks,
        "patterns": processes.patterns,
        "counts": processes.counts,
        "bounds": processes.bounds,
        "classes": processes.classes,
        "mar": processes.mar,
        "mnar_patterns": processes.mnar_patterns,
        "mnar_logistic": processes.mnar_logistic,
        "mnar_self_masking": processes.mnar_self_masking,
        "mnar_censoring": processes.mnar_censoring,
        "without": processes.without,
    }
)
"""The kinds of [missingness] that speak of the schema's columns."""


def _product(parts: object, because: str = "", by: str = "") -> Process:
    return processes.product(*list_of(parts, "parts", "a list of processes"), because=because, by=by)


def _gamma(base: Process, gamma: object) -> Process:
    return processes.gamma(process_of(base, "base"), gamma)


MADE_OF: Mapping[str, Callable[..., Process]] = MappingProxyType(
    {
        "nonresponse_on": processes.nonresponse_on,
        "unit_nonresponse": processes.unit_nonresponse,
        "product": _product,
        "mixture": processes.mixture,
        "gamma": _gamma,
    }
)
"""The kinds of [missingness] made of other processes, each a table of its own."""

INSIDE = ("base", "design", "parts", "process")
"""The fields that hold such tables, in a constructor or in the stored form."""


def prefixed(e: InputError, path: str) -> InputError:
    """The same error with the path of the table in front of its field."""
    return InputError(f"{path}.{e.field}", e.given, e.allowed, e.code, e.remedy)


def query_of(document: Any, path: str = "query") -> Query:
    """The query that a [[query]] table describes."""
    found: Query = _built(document, path, QUERIES)
    return found


def missing_of(document: Any, schema: Schema, path: str = "missingness") -> Process:
    """The process of a table: by constructor (`kind`) or stored form (`process`), and so each process inside it."""
    if not isinstance(document, Mapping):
        raise InputError(path, document, 'a table with kind = "planned", ... (kind = "without": nothing is missing)')
    known: dict[str, Callable[..., Process]] = {
        **{k: partial(make, schema) for k, make in PROCESSES.items()},
        **MADE_OF,
    }
    try:
        said = _with_inside(document, schema, path)
        if _is_stored(document):
            return processes.from_dict(said, schema)
        return _built(said, path, known)  # type: ignore[no-any-return]
    except InputError as e:
        said_of = InputError(e.field.removeprefix("missing."), e.given, e.allowed, e.code, e.remedy)
        raise (e if e.field.startswith(path) else prefixed(said_of, path)) from None


def _is_stored(document: Mapping[str, Any]) -> bool:
    return "process" in document and not isinstance(document["process"], Mapping)


def _with_inside(document: Mapping[str, Any], schema: Schema, path: str) -> dict[str, Any]:
    """The table with the processes that its own tables describe; a stored part of a stored process stays, to take over
    the columns around it."""

    def read(table: Any, at: str) -> Any:
        if not isinstance(table, Mapping):
            return table  # refused, with what is allowed there, by whoever takes it
        both_stored = _is_stored(document) and _is_stored(table)
        return _with_inside(table, schema, at) if both_stored else missing_of(table, schema, at)

    found = dict(document)
    for key in INSIDE:
        value = document.get(key)
        if isinstance(value, list):
            found[key] = [read(table, f"{path}.{key}[{i}]") for i, table in enumerate(value)]
        elif isinstance(value, Mapping):
            found[key] = read(value, f"{path}.{key}")
    return found


def _built(document: Any, path: str, known: Mapping[str, Callable[..., Any]]) -> Any:
    """The constructor named by `kind`, called with the other fields of the table."""
    if not isinstance(document, Mapping):
        raise InputError(path, document, "a table with `kind`")
    name = document.get("kind")
    if not isinstance(name, str) or name not in known:
        raise InputError(f"{path}.kind", name, "one of " + ", ".join(known))
    make = known[name]
    parameters = list(inspect.signature(make).parameters.values())
    names = [p.name for p in parameters]
    for field in document:
        if field != "kind" and field not in names:
            raise InputError(f"{path}.{field}", field, f"the fields of {name}: " + ", ".join(["kind", *names]))
    fields = {k: v for k, v in document.items() if k != "kind"}
    for p in parameters:
        if p.default is inspect.Parameter.empty and p.name not in fields:
            raise InputError(f"{path}.{p.name}", None, f"a value: {name} needs it")
    try:
        return make(**fields)
    except InputError as e:
        raise prefixed(e, path) from None
    except AbsentiaError:
        raise
    except (TypeError, AttributeError, ValueError, KeyError):
        raise InputError(path, dict(fields), f"the fields of {name}, each of its kind: " + ", ".join(names)) from None
