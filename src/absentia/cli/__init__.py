"""The command line: one module a command, loaded when it is asked for."""

from __future__ import annotations

from absentia.cli.app import cli, main

__all__ = ["cli", "main"]
