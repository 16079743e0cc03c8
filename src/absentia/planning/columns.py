"""Columns, the unit's rule and long form as a schema document spells them; errors give the path of the bad field."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, cast

from absentia.errors import InputError
from absentia.exact import integer

__all__ = ["Code", "Column", "Long", "UnitRule"]

Kind = Literal["number", "category", "boolean"]
Code = str | int | float
BOOLEAN = ("false", "true")


@dataclass(frozen=True)
class Column:
    """One column: a number with public bounds, a category with public values, or a boolean.

    `missing` holds every code that means missing here, those of the whole table included.

    >>> Column("bmi", "number", bounds=(10, 60)).midpoint
    35.0
    """

    name: str
    kind: Kind
    bounds: tuple[float, float] | None = None
    values: tuple[Code, ...] = ()
    missing: tuple[Code, ...] = ()
    weight: bool = False

    @property
    def low(self) -> float:
        return cast("tuple[float, float]", self.bounds)[0]

    @property
    def high(self) -> float:
        return cast("tuple[float, float]", self.bounds)[1]

    @property
    def midpoint(self) -> float:
        """The value that a released mean counts in place of a missing entry: z = 0."""
        return self.low / 2 + self.high / 2

    @property
    def halfwidth(self) -> float:
        """What one unit of z is worth in the column's own unit."""
        return self.high / 2 - self.low / 2


@dataclass(frozen=True)
class UnitRule:
    """Which rows of one person count: the first or last by a column, or at most m; applied always.

    Ties are broken by the row's own content in scope, so the file's order never matters.
    """

    keep: Literal["first", "last"] = "first"
    by: str | None = None
    at_most: int = 1


@dataclass(frozen=True)
class Long:
    """A table of (user, item, value) triples; after grouping one row is one user and each item a column."""

    user: str
    item: str
    value: str
    items: tuple[Code, ...] | None = None
    n_items: int = 0
    value_column: Column = field(default=Column("", "boolean"))


def only(document: object, known: set[str], path: str) -> None:
    """Nothing, or an InputError: the document is a table that has these fields only."""
    if not isinstance(document, Mapping):
        raise InputError(path or "schema", document, "a table of fields")
    for key in document:
        if key not in known:
            raise InputError(f"{path}.{key}".strip("."), key, "one of " + ", ".join(sorted(known)))


def name_of(value: object, path: str) -> str:
    """The name of a column, as an engine can take it."""
    if not isinstance(value, str) or not value or "\0" in value:  # an engine stops the process at a NUL in a name
        raise InputError(path, value, "the name of a column")
    return value


def codes_of(value: object, path: str) -> tuple[Code, ...]:
    """Codes that mean missing, texts or numbers."""
    if not isinstance(value, (list, tuple)):
        raise InputError(path, value, "a list of codes")
    for i, code in enumerate(value):
        if isinstance(code, bool) or not isinstance(code, (str, int, float)):
            raise InputError(f"{path}[{i}]", code, "a text or a number")
        if code != code:
            raise InputError(f"{path}[{i}]", code, "anything but NaN, which is always missing")
    return tuple(value)


def columns_of(document: object, codes: tuple[Code, ...]) -> dict[str, Column]:
    """The columns that the [columns] tables describe; `codes` mean missing in every one."""
    if not isinstance(document, Mapping) or not document:
        raise InputError("columns", document, "at least one [columns.<name>] table")
    return {name_of(k, "columns"): _column(k, v, codes) for k, v in document.items()}


def _column(name: str, document: Any, codes: tuple[Code, ...]) -> Column:
    path = f"columns.{name}"
    only(document, {"kind", "bounds", "values", "missing", "weight"}, path)
    kind = document.get("kind")
    if kind not in ("number", "category", "boolean"):
        raise InputError(f"{path}.kind", kind, '"number", "category" or "boolean"')
    allowed = {"number": {"kind", "bounds", "missing", "weight"}, "category": {"kind", "values", "missing"}}
    only(document, allowed.get(kind, {"kind", "missing"}), path)
    own = codes_of(document.get("missing", []), f"{path}.missing")
    missing = codes + tuple(c for c in own if c not in codes)
    if kind == "boolean":
        return Column(name, "boolean", values=BOOLEAN, missing=missing)
    if kind == "category":
        values = _values(document.get("values"), f"{path}.values")
        _no_codes(values, missing, f"{path}.values")
        return Column(name, "category", values=values, missing=missing)
    weight = document.get("weight", False)
    if not isinstance(weight, bool):
        raise InputError(f"{path}.weight", weight, "true or false")
    bounds = _bounds(document.get("bounds"), f"{path}.bounds")
    if weight and bounds[0] != 0:
        raise InputError(f"{path}.bounds", list(bounds), "[0, maximum] for a survey weight")
    return Column(name, "number", bounds=bounds, missing=missing, weight=weight)


_PUBLIC = "Write the lower bound first; both come from public knowledge, never from the data."


def _bounds(value: object, path: str) -> tuple[float, float]:
    allowed = "[low, high], two finite numbers, low < high, at most 1e150 apart"
    if not isinstance(value, (list, tuple)) or len(value) != 2:
        raise InputError(path, value, allowed, remedy=_PUBLIC)
    for v in value:
        if isinstance(v, bool) or not isinstance(v, (int, float)) or not abs(v) <= 1e150:
            raise InputError(path, value, allowed, remedy=_PUBLIC)
    low, high = float(value[0]) + 0.0, float(value[1]) + 0.0
    if not (low < high and 1e-150 < high - low <= 1e150):
        raise InputError(path, value, allowed, remedy=_PUBLIC)
    return low, high


def _values(value: object, path: str) -> tuple[Code, ...]:
    allowed = "a list of distinct non-empty values, all texts or all numbers"
    if not isinstance(value, (list, tuple)) or not value:
        raise InputError(path, value, allowed)
    texts = all(isinstance(v, str) for v in value)
    numbers = all(isinstance(v, (int, float)) and not isinstance(v, bool) and abs(v) < math.inf for v in value)
    clean = tuple(v.strip() for v in value) if texts else tuple(value)
    if not (texts or numbers) or "" in clean or len(set(clean)) != len(clean):
        raise InputError(path, value, allowed)
    return clean


def _no_codes(values: tuple[Code, ...], missing: tuple[Code, ...], path: str) -> None:
    """Nothing, or an InputError when a value means missing too: it could never be seen."""
    codes = {str(code).strip() for code in missing}
    for i, value in enumerate(values):
        if value in missing or str(value) in codes:
            remedy = "A code that means missing in some columns only belongs into columns.<name>.missing of those."
            raise InputError(f"{path}[{i}]", value, "a value that is not a missing code of this column", remedy=remedy)


def unit_rule_of(document: Any, has_unit: bool) -> UnitRule | None:
    """The [unit_rule] table; the first row of a person where a unit is named and no rule."""
    if document is None:
        return UnitRule() if has_unit else None
    if not has_unit:
        raise InputError("unit_rule", document, "nothing unless `unit` names a column")
    only(document, {"keep", "by", "at_most"}, "unit_rule")
    keep, by = document.get("keep", "first"), document.get("by")
    if keep not in ("first", "last"):
        raise InputError("unit_rule.keep", keep, '"first" or "last"')
    if by is not None:
        name_of(by, "unit_rule.by")
    elif keep == "last" or ("keep" in document and "at_most" not in document):
        remedy = "Name the column of numbers or dates whose first or last row counts."
        raise InputError("unit_rule.by", None, "the column that orders the rows of one person", remedy=remedy)
    return UnitRule(keep, by, integer(document.get("at_most", 1), "unit_rule.at_most", 1, 10**6))


def long_of(document: Any, columns: Mapping[str, Column]) -> Long:
    """The [long] table, whose value column is the only one described."""
    only(document, {"user", "item", "value", "items", "n_items"}, "long")
    user, item, value = (name_of(document.get(k), f"long.{k}") for k in ("user", "item", "value"))
    if set(columns) != {value}:
        raise InputError("columns", sorted(columns), f"exactly the value column, {value}, when [long] is given")
    if ("items" in document) == ("n_items" in document):
        raise InputError("long.items", None, "the list `items`, or their number `n_items`, and not both")
    if "items" in document:
        items = _values(document["items"], "long.items")
        return Long(user, item, value, items, len(items), columns[value])
    return Long(user, item, value, None, integer(document["n_items"], "long.n_items", 1, 10**9), columns[value])


def renamed(column: Column, name: str) -> Column:
    """The same column under another name."""
    return Column(name, column.kind, column.bounds, column.values, column.missing, column.weight)
