"""The public description of a table: what each column may hold, which codes mean missing, who is one person.

Nothing here is read from the data. A column that is not named is out of scope.
"""

from __future__ import annotations

import json
import math
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal, cast

from absentia.errors import InputError

__all__ = ["Column", "Long", "Schema", "UnitRule", "skeleton"]

Kind = Literal["number", "category", "boolean"]
Code = str | int | float
VERSION = 1
BOOLEAN = ("false", "true")
MAX_ROWS = 2**40


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


@dataclass(frozen=True)
class Schema:
    """A public description of a table, frozen; build it with `Schema.load` or `Schema.from_dict`.

    >>> people = Schema.from_dict({"n": 10, "columns": {"bmi": {"kind": "number", "bounds": [10, 60]}}})
    >>> people.numbers, people.columns["bmi"].bounds, people.n
    (('bmi',), (10.0, 60.0), 10)
    """

    columns: Mapping[str, Column]
    missing: tuple[Code, ...] = ()
    n: int | None = None
    unit: str | None = None
    unit_rule: UnitRule | None = None
    long: Long | None = None
    version: int = VERSION

    def __post_init__(self) -> None:
        object.__setattr__(self, "columns", MappingProxyType(dict(self.columns)))

    def __hash__(self) -> int:
        return hash(json.dumps(self.to_dict(), sort_keys=True))

    def __reduce__(self) -> tuple[Any, ...]:
        return (Schema.from_dict, (self.to_dict(),))

    @cached_property
    def numbers(self) -> tuple[str, ...]:
        """Number columns, survey weights left out."""
        return tuple(c.name for c in self.columns.values() if c.kind == "number" and not c.weight)

    @cached_property
    def categories(self) -> tuple[str, ...]:
        """Category and boolean columns."""
        return tuple(c.name for c in self.columns.values() if c.kind != "number")

    @cached_property
    def weights(self) -> tuple[str, ...]:
        """Survey-weight columns; bounds [0, maximum]."""
        return tuple(c.name for c in self.columns.values() if c.weight)

    @property
    def rows_per_unit(self) -> int:
        """How many rows of one person can count; above 1 a row's mask law is not the person's."""
        return self.unit_rule.at_most if self.unit_rule else 1

    def column(self, name: str, field: str = "column") -> Column:
        """The column called `name`, or an InputError that lists what there is."""
        if name not in self.columns:
            raise InputError(field, name, "one of " + ", ".join(list(self.columns)[:20]), code="E-COLUMN")
        return self.columns[name]

    @classmethod
    def load(cls, path: str | Path) -> Schema:
        """The schema written in a TOML file."""
        try:
            document = tomllib.loads(Path(path).read_text(encoding="utf-8"))
        except OSError as e:
            raise InputError("schema", str(path), f"a readable TOML file ({e.strerror})", code="E-FILE") from None
        except (tomllib.TOMLDecodeError, UnicodeDecodeError) as e:
            raise InputError("schema", str(path), f"TOML ({e})", code="E-TOML", remedy=_BLANKS) from None
        return cls.from_dict(document)

    @classmethod
    def from_dict(cls, document: Mapping[str, Any]) -> Schema:
        """The schema that a parsed TOML or JSON document spells."""
        known = {"version", "missing", "n", "unit", "unit_rule", "columns", "long"}
        _only(document, known, "")
        if document.get("version", VERSION) != VERSION:
            raise InputError("version", document["version"], str(VERSION))
        codes = _codes(document.get("missing", []), "missing")
        n = None if document.get("n") is None else _integer(document["n"], "n", 1, MAX_ROWS)
        columns = _columns(document.get("columns"), codes)
        unit = document.get("unit")
        if unit is not None:
            _name(unit, "unit")
        rule = _unit_rule(document.get("unit_rule"), unit is not None or "long" in document, unit is not None)
        if "long" not in document:
            return cls(columns, codes, n, unit, rule)
        if unit is not None:
            raise InputError("unit", unit, "nothing when [long] is given: the user column is the unit")
        long = _long(document["long"], columns)
        if rule and rule.at_most > 1:
            raise InputError("unit_rule.at_most", rule.at_most, "1 in long form: one row per user after grouping")
        wide = {str(i): _renamed(long.value_column, str(i)) for i in long.items or ()}
        return cls(wide, codes, n, None, rule, long)

    def to_dict(self) -> dict[str, Any]:
        """The document that `from_dict` reads back to an equal schema."""
        out: dict[str, Any] = {"version": self.version, "missing": list(self.missing)}
        if self.n is not None:
            out["n"] = self.n
        if self.unit is not None:
            out["unit"] = self.unit
        if self.unit_rule is not None:
            rule = self.unit_rule
            order = {"by": rule.by} if rule.by else {}
            out["unit_rule"] = {"keep": rule.keep, **order, "at_most": rule.at_most}
        columns: Iterable[Column] = self.columns.values()
        if self.long is not None:
            universe = {"items": list(self.long.items)} if self.long.items else {"n_items": self.long.n_items}
            out["long"] = {"user": self.long.user, "item": self.long.item, "value": self.long.value, **universe}
            columns = (self.long.value_column,)
        out["columns"] = {c.name: self._column_dict(c) for c in columns}
        return out

    def _column_dict(self, c: Column) -> dict[str, Any]:
        out: dict[str, Any] = {"kind": c.kind}
        if c.bounds is not None:
            out["bounds"] = list(c.bounds)
        if c.kind == "category":
            out["values"] = list(c.values)
        own = [code for code in c.missing if code not in self.missing]
        return out | ({"missing": own} if own else {}) | ({"weight": True} if c.weight else {})


_BLANKS = "A skeleton leaves every bound blank on purpose: fill them in from public knowledge, never from the data."


def skeleton(header: Sequence[str]) -> str:
    """The text of a schema file for a table with this header, every bound left blank on purpose."""
    lines = [
        f"version = {VERSION}",
        'missing = ["", "NA"]        # codes that mean missing, in every column',
        "# n = 1000                  # how many people, when that is public",
        '# unit = "person"           # the column that names a person; left out: one row is one person',
        "",
        "# Fill every blank from public knowledge, never from the data. Delete the columns that are out of scope.",
        '# kind = "number" needs bounds = [low, high]; "category" needs values = [...]; "boolean" needs nothing.',
    ]
    for name in header:
        lines += ["", f"[columns.{json.dumps(name, ensure_ascii=False)}]", "kind = ", "bounds = "]
    return "\n".join(lines) + "\n"


def _only(document: object, known: set[str], path: str) -> None:
    if not isinstance(document, Mapping):
        raise InputError(path or "schema", document, "a table of fields")
    for key in document:
        if key not in known:
            raise InputError(f"{path}.{key}".strip("."), key, "one of " + ", ".join(sorted(known)))


def _name(value: object, path: str) -> str:
    if not isinstance(value, str) or not value:
        raise InputError(path, value, "the name of a column")
    return value


def _integer(value: object, path: str, low: int, high: int) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
        raise InputError(path, value, f"an integer from {low} to {high}")
    return value


def _codes(value: object, path: str) -> tuple[Code, ...]:
    if not isinstance(value, (list, tuple)):
        raise InputError(path, value, "a list of codes")
    for i, code in enumerate(value):
        if isinstance(code, bool) or not isinstance(code, (str, int, float)):
            raise InputError(f"{path}[{i}]", code, "a text or a number")
    return tuple(value)


def _columns(document: object, codes: tuple[Code, ...]) -> dict[str, Column]:
    if not isinstance(document, Mapping) or not document:
        raise InputError("columns", document, "at least one [columns.<name>] table")
    return {_name(k, "columns"): _column(k, v, codes) for k, v in document.items()}


def _column(name: str, document: Any, codes: tuple[Code, ...]) -> Column:
    path = f"columns.{name}"
    _only(document, {"kind", "bounds", "values", "missing", "weight"}, path)
    kind = document.get("kind")
    if kind not in ("number", "category", "boolean"):
        raise InputError(f"{path}.kind", kind, '"number", "category" or "boolean"')
    allowed = {"number": {"kind", "bounds", "missing", "weight"}, "category": {"kind", "values", "missing"}}
    _only(document, allowed.get(kind, {"kind", "missing"}), path)
    own = _codes(document.get("missing", []), f"{path}.missing")
    missing = codes + tuple(c for c in own if c not in codes)
    if kind == "boolean":
        return Column(name, "boolean", values=BOOLEAN, missing=missing)
    if kind == "category":
        return Column(name, "category", values=_values(document.get("values"), f"{path}.values"), missing=missing)
    weight = document.get("weight", False)
    if not isinstance(weight, bool):
        raise InputError(f"{path}.weight", weight, "true or false")
    bounds = _bounds(document.get("bounds"), f"{path}.bounds")
    if weight and bounds[0] != 0:
        raise InputError(f"{path}.bounds", list(bounds), "[0, maximum] for a survey weight")
    return Column(name, "number", bounds=bounds, missing=missing, weight=weight)


def _bounds(value: object, path: str) -> tuple[float, float]:
    allowed = "[low, high], two finite numbers, low < high, at most 1e300 apart"
    if not isinstance(value, (list, tuple)) or len(value) != 2:
        raise InputError(path, value, allowed)
    for v in value:
        if isinstance(v, bool) or not isinstance(v, (int, float)) or not abs(v) <= 1e300:
            raise InputError(path, value, allowed)
    low, high = float(value[0]) + 0.0, float(value[1]) + 0.0
    if not (low < high and 1e-300 < high - low <= 1e300):
        raise InputError(path, value, allowed)
    return low, high


def _values(value: object, path: str) -> tuple[Code, ...]:
    allowed = "a list of distinct non-empty values, all texts or all numbers"
    if not isinstance(value, (list, tuple)) or not value:
        raise InputError(path, value, allowed)
    texts = all(isinstance(v, str) for v in value)
    numbers = all(isinstance(v, (int, float)) and not isinstance(v, bool) and math.isfinite(v) for v in value)
    clean = tuple(v.strip() for v in value) if texts else tuple(value)
    if not (texts or numbers) or "" in clean or len(set(clean)) != len(clean):
        raise InputError(path, value, allowed)
    return clean


def _unit_rule(document: Any, has_unit: bool, needed: bool) -> UnitRule | None:
    if document is None:
        if needed:
            raise InputError("unit_rule", None, 'keep = "first" or "last" with by = a column, or at_most = m')
        return None
    if not has_unit:
        raise InputError("unit_rule", document, "nothing unless `unit` names a column")
    _only(document, {"keep", "by", "at_most"}, "unit_rule")
    keep, by = document.get("keep", "first"), document.get("by")
    if keep not in ("first", "last"):
        raise InputError("unit_rule.keep", keep, '"first" or "last"')
    if by is not None:
        _name(by, "unit_rule.by")
    elif "keep" in document and "at_most" not in document:
        raise InputError("unit_rule.by", None, "the column that orders the rows of one person")
    return UnitRule(keep, by, _integer(document.get("at_most", 1), "unit_rule.at_most", 1, 10**6))


def _long(document: Any, columns: Mapping[str, Column]) -> Long:
    _only(document, {"user", "item", "value", "items", "n_items"}, "long")
    user, item, value = (_name(document.get(k), f"long.{k}") for k in ("user", "item", "value"))
    if set(columns) != {value}:
        raise InputError("columns", sorted(columns), f"exactly the value column, {value}, when [long] is given")
    if ("items" in document) == ("n_items" in document):
        raise InputError("long.items", None, "the list `items`, or their number `n_items`, and not both")
    if "items" in document:
        items = _values(document["items"], "long.items")
        return Long(user, item, value, items, len(items), columns[value])
    return Long(user, item, value, None, _integer(document["n_items"], "long.n_items", 1, 10**9), columns[value])


def _renamed(column: Column, name: str) -> Column:
    return Column(name, column.kind, column.bounds, column.values, column.missing, column.weight)
