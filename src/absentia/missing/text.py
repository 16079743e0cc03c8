"""Exact numbers, column names and columns of a schema, read and written the same way by every process."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal, localcontext
from fractions import Fraction
from typing import Any

from absentia.errors import InputError
from absentia.exact import list_of, number, probability

__all__ = [
    "by_column",
    "field_of",
    "finite",
    "flag_of",
    "masses_of",
    "names_of",
    "subset_of",
    "subsets_of",
    "table_of",
    "written",
]

SLACK = Fraction(1, 10**9)
_LONGEST = 25
_LARGEST = 10**100


def written(q: Fraction) -> str:
    """The number as an exact decimal when that is short, else as a quotient.

    >>> written(Fraction(1, 8)), written(Fraction(1, 3))
    ('0.125', '1/3')
    """
    if q.denominator == 1:
        return str(q.numerator)
    with localcontext() as context:
        context.prec = _LONGEST
        decimal = Decimal(q.numerator) / Decimal(q.denominator)
    text = format(decimal.normalize(), "f")
    return text if Fraction(decimal) == q and len(text) <= _LONGEST else f"{q.numerator}/{q.denominator}"


def names_of(columns: object, field: str = "columns") -> tuple[str, ...]:
    """The column names of a schema, or of a list of names; each once."""
    source: Any = getattr(columns, "columns", columns)
    if isinstance(source, str) or not isinstance(source, Iterable):
        raise InputError(field, columns, "a schema or a list of column names")
    names = tuple(source)
    if not names or not all(isinstance(name, str) and name for name in names):
        raise InputError(field, names, "at least one column name")
    twice = sorted({name for name in names if names.count(name) > 1}) if len(set(names)) < len(names) else []
    if twice:
        raise InputError(field, twice[0], "every column name once")
    return names


def subset_of(columns: Sequence[str], names: object, field: str) -> frozenset[str]:
    """The names as a set, all of them among the columns."""
    chosen = list_of(names, field, "a list of column names")
    known = set(columns)
    for i, name in enumerate(chosen):
        if not isinstance(name, str) or name not in known:
            remedy = "Correct the name, or describe the column in the schema."
            raise InputError(f"{field}[{i}]", name, f"a column of the schema ({_listed(columns)})", remedy=remedy)
    return frozenset(chosen)


def subsets_of(columns: Sequence[str], lists: object, field: str) -> tuple[frozenset[str], ...]:
    """Each list of names as a set, all of them among the columns."""
    given = list_of(lists, field, "a list of lists of column names")
    return tuple(subset_of(columns, names, f"{field}[{i}]") for i, names in enumerate(given))


def table_of(value: object, field: str, allowed: str) -> Mapping[str, Any]:
    """The table; its keys are texts."""
    if not isinstance(value, Mapping) or not all(isinstance(key, str) for key in value):
        raise InputError(field, value, allowed)
    return value


def by_column(columns: Sequence[str], value: object, field: str, allowed: str) -> Mapping[str, Any]:
    """The table of what is said about some of the columns."""
    table, known = table_of(value, field, allowed), set(columns)
    for name in table:
        if name not in known:
            raise InputError(f"{field}.{name}", name, f"a column of the schema ({_listed(columns)})")
    return table


def finite(value: object, field: str) -> Fraction:
    """The exact rational behind `value`, small enough for arithmetic in doubles."""
    q = number(value, field)
    if abs(q) > _LARGEST:
        raise InputError(field, value, "a number between -1e100 and 1e100")
    return q


def masses_of(mass: object, count: int, field: str = "mass") -> tuple[Fraction, ...]:
    """`count` probabilities that sum to 1 within 1e-9 (then divided by their sum); None is uniform."""
    if mass is None:
        return tuple(Fraction(1, count) for _ in range(count))
    listed = list_of(mass, field, f"{count} probabilities")
    given = [probability(value, f"{field}[{i}]") for i, value in enumerate(listed)]
    if len(given) != count:
        raise InputError(field, len(given), f"{count} probabilities, one for each")
    total = sum(given, Fraction(0))
    if abs(total - 1) > SLACK:
        remedy = "Give each form or pattern its share of the rows, nothing left over: fractions such as 1/3 are exact."
        raise InputError(field, float(total), "probabilities that sum to 1 within 1e-9", remedy=remedy)
    return tuple(q / total for q in given)


def field_of(data: Mapping[str, Any], name: str, kind: type | tuple[type, ...]) -> Any:
    """The field of a stored process; an error names it when it is absent or of another kind."""
    value = data.get(name)
    if not isinstance(value, kind):
        words = {int: "an integer", list: "a list", dict: "a table"}
        kinds = kind if isinstance(kind, tuple) else (kind,)
        raise InputError(f"missing.{name}", value, " or ".join(words.get(k, k.__name__) for k in kinds))
    return value


def flag_of(data: Mapping[str, Any], name: str, default: bool = False) -> bool:
    """The yes or no of a stored process."""
    value = data.get(name, default)
    if not isinstance(value, bool):
        raise InputError(f"missing.{name}", value, "true or false")
    return value


def _listed(columns: Sequence[str]) -> str:
    return ", ".join(columns[:8]) + (", ..." if len(columns) > 8 else "")
