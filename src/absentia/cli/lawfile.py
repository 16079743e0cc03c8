"""A law file: one law of the reach, a design that shows every row one form, or blocks with masks of their own."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from absentia.amplification import Structure
from absentia.errors import InputError
from absentia.law.blocks import Blocks
from absentia.law.forms import Forms
from absentia.law.reachlaw import ReachLaw

__all__ = ["law_of"]

MOST = 10**5


def law_of(spec: Mapping[str, Any]) -> Structure:
    """The law that the file states; an InputError names the field that is wrong."""
    if "forms" in spec:
        return _forms(spec)
    return _blocks(spec) if "blocks" in spec else ReachLaw.from_dict(dict(spec))


def _forms(spec: Mapping[str, Any]) -> Forms:
    """T10: `reach` of every block, `forms` as lists of block numbers, their `mass` (left out: all alike), a `core`."""
    _only(spec, ("reach", "forms", "mass", "core"))
    forms = _listed(spec, "forms")
    mass = _listed(spec, "mass") if "mass" in spec else [Fraction(1, len(forms) or 1)] * len(forms)
    design = Forms(_listed(spec, "reach"), forms, mass)
    return Forms.strata([design], _listed(spec, "core")) if "core" in spec else design


def _blocks(spec: Mapping[str, Any]) -> Blocks:
    """T9: a law for each block; `count` says how many blocks are like it."""
    _only(spec, ("blocks",))
    laws: list[ReachLaw] = []
    for i, block in enumerate(_listed(spec, "blocks")):
        if not isinstance(block, Mapping):
            raise InputError(f"law.blocks[{i}]", block, "a table with reach and mass")
        count = block.get("count", 1)
        if isinstance(count, bool) or not isinstance(count, int) or not 1 <= count <= MOST - len(laws):
            raise InputError(f"law.blocks[{i}].count", count, f"an int from 1, at most {MOST} blocks in all")
        laws += [ReachLaw.from_dict({k: v for k, v in block.items() if k != "count"})] * count
    return Blocks(laws)


def _only(spec: Mapping[str, Any], fields: tuple[str, ...]) -> None:
    for name in spec:
        if name not in fields:
            raise InputError(f"law.{name}", spec[name], f"only {', '.join(fields)} in such a law")


def _listed(spec: Mapping[str, Any], name: str) -> list[Any]:
    found = spec.get(name)
    if not isinstance(found, list):
        raise InputError(f"law.{name}", found, "a list")
    return found
