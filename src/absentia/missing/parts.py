"""Processes made of several others over the same columns: what products and mixtures share."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

from absentia.errors import InputError
from absentia.missing.domain import joined
from absentia.missing.process import Process, part_of, provenance
from absentia.missing.text import field_of, names_of

__all__ = ["OfParts", "process_of", "same_columns", "stored_parts"]


@dataclass(frozen=True, kw_only=True)
class OfParts(Process):
    """A process that draws from each of its parts."""

    parts: tuple[Process, ...]

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.parts:
            raise InputError("parts", [], "at least one process")
        same_columns(self.columns, self.parts)

    @property
    def inside(self) -> tuple[Process, ...]:
        return self.parts

    @property
    def reads(self) -> frozenset[str]:
        return frozenset().union(*(part.reads for part in self.parts))

    def restricted(self, columns: object) -> Self:
        return replace(self, columns=names_of(columns), parts=tuple(part.restricted(columns) for part in self.parts))


def stored_parts(data: Mapping[str, Any]) -> dict[str, Any]:
    """Columns, parts and words of a stored process, as keyword arguments."""
    given = field_of(data, "parts", list)
    parts = tuple(part_of(data, part, f"parts[{i}]") for i, part in enumerate(given))
    return {"columns": names_of(field_of(data, "columns", list)), "parts": parts, **provenance(data)}


def same_columns(columns: Sequence[str] | None, parts: Sequence[Process]) -> None:
    """Nothing, or an InputError: every part is a process about these columns (None: those of the first)."""
    for i, part in enumerate(parts):
        process_of(part, f"parts[{i}]")
        wanted = parts[0].columns if columns is None else tuple(columns)
        if part.columns != wanted:
            raise InputError(f"parts[{i}].columns", part.columns, f"the same columns in each part: {wanted}")
    joined((part.spans, part.reads) for part in parts)


def process_of(value: object, field: str) -> Process:
    """The process, which it must be."""
    if not isinstance(value, Process):
        raise InputError(field, value, "a missingness process, such as missing.planned(...)")
    return value
