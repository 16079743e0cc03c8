"""The public description of a table: what each column may hold, which codes mean missing, who is one person.

Nothing here is read from the data. A column that is not named is out of scope.
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from types import MappingProxyType
from typing import Any

from absentia.errors import InputError
from absentia.exact import integer
from absentia.plain import toml_key
from absentia.planning.columns import (
    Code,
    Column,
    Long,
    UnitRule,
    codes_of,
    columns_of,
    long_of,
    name_of,
    only,
    renamed,
    unit_rule_of,
)

__all__ = ["Column", "Long", "Schema", "UnitRule", "skeleton"]

VERSION = 1
MAX_ROWS = 2**40


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

    @property
    def rows_are_public(self) -> bool:
        """Whether a table has exactly n rows that count, whatever a record holds; of persons, cells decide."""
        return self.unit is None and self.long is None

    @classmethod
    def load(cls, path: str | Path) -> Schema:
        """The schema written in a TOML file."""
        try:
            document = tomllib.loads(Path(path).read_text(encoding="utf-8"))
        except OSError as e:
            raise InputError("schema", str(path), f"a readable TOML file ({e.strerror})", "E-FILE", _ABSENT) from None
        except (tomllib.TOMLDecodeError, UnicodeDecodeError) as e:
            raise InputError("schema", str(path), f"TOML ({e})", code="E-TOML", remedy=_BLANKS) from None
        return cls.from_dict(document)

    @classmethod
    def from_dict(cls, document: Mapping[str, Any]) -> Schema:
        """The schema that a parsed TOML or JSON document spells."""
        known = {"version", "missing", "n", "unit", "unit_rule", "columns", "long"}
        only(document, known, "")
        if document.get("version", VERSION) != VERSION:
            raise InputError("version", document["version"], str(VERSION))
        codes = codes_of(document.get("missing", []), "missing")
        n = None if document.get("n") is None else integer(document["n"], "n", 1, MAX_ROWS)
        columns = columns_of(document.get("columns"), codes)
        unit = document.get("unit")
        if unit is not None:
            name_of(unit, "unit")
        rule = unit_rule_of(document.get("unit_rule"), unit is not None or "long" in document)
        for name in columns if rule else ():
            if name.startswith("__"):
                raise InputError(f"columns.{name}", name, "a name that does not begin with two underscores")
        if "long" not in document:
            return cls(columns, codes, n, unit, rule)
        if unit is not None:
            raise InputError("unit", unit, "nothing when [long] is given: the user column is the unit")
        long = long_of(document["long"], columns)
        if rule and rule.at_most > 1:
            raise InputError("unit_rule.at_most", rule.at_most, "1 in long form: one row per user after grouping")
        wide = {str(i): renamed(long.value_column, str(i)) for i in long.items or ()}
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


_ABSENT = "Check the path; `absentia schema TABLE -o schema.toml` writes a skeleton."
_BLANKS = "A skeleton leaves every bound blank on purpose: fill them in from public knowledge, never from the data."


def skeleton(header: Sequence[str]) -> str:
    """The text of a schema file for a table with this header, every bound left blank on purpose."""
    lines = [
        f"version = {VERSION}",
        'missing = ["", "NA"]        # codes that mean missing, in every column',
        "# n = 1000                  # how many people, when that is public",
        '# unit = "person"           # the column that names a person, if rows repeat',
        "",
        "# Fill every blank from public knowledge, never from the data.",
        "# Delete the columns that are out of scope.",
        '# kind = "number" needs bounds = [low, high]',
        '# kind = "category" needs values = [...] in place of bounds',
        '# kind = "boolean" needs neither',
        "# A date is a category with listed values, or the `by` of [unit_rule].",
    ]
    for name in header:
        lines += ["", f"[columns.{toml_key(name)}]", "kind = ", "bounds = "]
    return "\n".join(lines) + "\n"
