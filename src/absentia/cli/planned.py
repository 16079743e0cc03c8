"""The plan that a command is given: a TOML file, or TOML on standard input."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from absentia.planning.plan import Plan
from absentia.planning.planfile import document_of, parsed, plan_of, with_schema

__all__ = ["document", "plan_in"]


def plan_in(file: str) -> Plan:
    """The plan in the file, or on stdin for '-'."""
    return plan_of(document(file))


def document(file: str) -> dict[str, Any]:
    """What the plan says, its schema with it; read from '-', the schema's path is relative to the working directory."""
    if file != "-":
        return document_of(file)
    return with_schema(parsed(sys.stdin.buffer.read(), "plan", file), Path())
