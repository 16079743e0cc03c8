"""The structure of card.json, read from the JSON Schema that is shipped with the package."""

from __future__ import annotations

import json
import re
from functools import cache
from importlib.resources import files
from typing import Any

from absentia.errors import InputError

__all__ = ["SCHEMA_VERSION", "check_structure", "parsed", "schema"]

SCHEMA_VERSION = 1
DEEPEST = 60
KINDS: dict[str, tuple[type, ...]] = {
    "object": (dict,), "array": (list,), "string": (str,), "boolean": (bool,), "null": (type(None),),
    "integer": (int,), "number": (int, float),
}  # fmt: skip


@cache
def schema() -> dict[str, Any]:
    """The JSON Schema of card.json."""
    text = files("absentia.card").joinpath(f"card-{SCHEMA_VERSION}.schema.json").read_text(encoding="utf-8")
    return dict(json.loads(text))


def parsed(text: str | bytes, where: str) -> dict[str, Any]:
    """The document in a card's text; refused when it is not JSON, has a key twice, or is not built like a card."""
    try:
        found = json.loads(text, object_pairs_hook=_once, parse_constant=_finite)
    except (ValueError, RecursionError) as e:
        raise InputError("card", where, f"valid JSON ({str(e)[:120]})", "E-CARD") from None
    if isinstance(found, dict) and "release" not in found and "plan_identity" in found:
        remedy = "This is a release.json; verify the card.json beside it."
        raise InputError("card", where, "a card.json", "E-CARD", remedy)
    check_structure(found)
    return dict(found)


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("a key stands twice")
    return found


def _finite(word: str) -> float:
    raise ValueError(f"{word} is not a number that JSON can hold")


def check_structure(document: Any) -> None:
    """Nothing, or an InputError with the path of the first field that is not built as the schema says."""
    _check(document, schema(), "", 0)


def _check(value: Any, rule: dict[str, Any], path: str, depth: int) -> None:
    """The part of JSON Schema that our schema uses; a test compares the verdicts with a full validator's."""
    if depth > DEEPEST:
        raise _wrong(path, "...", f"at most {DEEPEST} levels")
    if "$ref" in rule:
        rule = schema()["$defs"][rule["$ref"].rsplit("/", 1)[1]]
    kinds = rule.get("type")
    if kinds is not None and not any(_is(value, kind) for kind in ([kinds] if isinstance(kinds, str) else kinds)):
        raise _wrong(path, value, kinds if isinstance(kinds, str) else " or ".join(kinds))
    _limits(value, rule, path)
    if isinstance(value, dict):
        _fields(value, rule, path, depth)
    elif isinstance(value, list) and "items" in rule:
        for i, item in enumerate(value):
            _check(item, rule["items"], f"{path}[{i}]", depth + 1)


def _limits(value: Any, rule: dict[str, Any], path: str) -> None:
    if "const" in rule and (value != rule["const"] or isinstance(value, bool)):
        raise _wrong(path, value, json.dumps(rule["const"]))
    if "enum" in rule and value not in rule["enum"]:
        raise _wrong(path, value, " or ".join(map(str, rule["enum"])))
    if "pattern" in rule and isinstance(value, str) and not re.search(rule["pattern"], value):
        raise _wrong(path, value, f"a text like {rule['pattern']}")
    if "minimum" in rule and _is(value, "number") and value < rule["minimum"]:
        raise _wrong(path, value, f"at least {rule['minimum']}")
    if "minItems" in rule and isinstance(value, list) and len(value) < rule["minItems"]:
        raise _wrong(path, value, f"at least {rule['minItems']} entries")


def _fields(value: dict[str, Any], rule: dict[str, Any], path: str, depth: int) -> None:
    known = rule.get("properties", {})
    for name in rule.get("required", ()):
        if name not in value:
            raise _wrong(f"{path}.{name}", None, "a value")
    for name, item in value.items():
        if name in known:
            _check(item, known[name], f"{path}.{name}", depth + 1)
        elif rule.get("additionalProperties", True) is False:
            raise _wrong(f"{path}.{name}", item, "the fields of this version only")


def _is(value: Any, kind: str) -> bool:
    if isinstance(value, bool):
        return kind == "boolean"
    if kind == "integer" and isinstance(value, float):
        return value.is_integer()  # JSON Schema counts 1.0 as an integer
    return isinstance(value, KINDS[kind])


def _wrong(path: str, given: object, allowed: str) -> InputError:
    return InputError(path.lstrip(".") or "card", given, allowed, "E-CARD", "A card is a file that absentia wrote.")
