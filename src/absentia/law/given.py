"""Lists as they are given: read, or refused with the name of their field."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from absentia.errors import InputError

__all__ = ["list_of"]


def list_of(value: object, field: str, allowed: str) -> list[Any]:
    """The items of a list, tuple, array or other collection; a text or a table is none."""
    if isinstance(value, (str, bytes, Mapping)) or not isinstance(value, Iterable):
        raise InputError(field, value, allowed)
    return list(value)
