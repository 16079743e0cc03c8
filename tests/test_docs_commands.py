"""Every `absentia ...` line of README, docs and examples is one that the command line understands."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import click
import pytest

from absentia.cli.app import COMMANDS, cli

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")), *sorted((ROOT / "examples").rglob("README.md"))]
FENCE = re.compile(r"^```([^\n]*)\n(.*?)^```", re.MULTILINE | re.DOTALL)
INLINE = re.compile(r"`(absentia [^`]+)`", re.DOTALL)


def lines(page: Path) -> list[str]:
    text = page.read_text(encoding="utf-8")
    plain = [block for kind, block in FENCE.findall(text) if kind.strip() in ("", "sh", "bash", "console")]
    blocks = [line for block in plain for line in block.replace("\\\n", " ").splitlines()]
    found = [line[line.index("absentia ") :] for line in blocks if re.search(r"(^|\| |\$ )absentia ", line)]
    return found + [" ".join(inline.split()) for inline in INLINE.findall(FENCE.sub("", text))]


def understood(line: str) -> None:
    """Nothing, or a usage error: names of commands and options, and how many arguments there are."""
    words = shlex.split(line, comments=True)[1:]
    words = words[: words.index(">")] if ">" in words else words
    context, command = click.Context(cli), cli
    while isinstance(command, click.Group) and words and not words[0].startswith("-"):
        alternatives = words[0].split("|")
        for alternative in alternatives:
            found = command.get_command(context, alternative)
            assert found is not None, f"{line}: no command {alternative}"
        command, words = found, words[1:]
        if len(alternatives) > 1:
            return
    if isinstance(command, click.Group) or not words or "..." in words:
        return
    command.make_context(command.name, words)


CASES = [(page, line) for page in PAGES for line in lines(page)]


@pytest.mark.parametrize(("page", "line"), CASES, ids=lambda x: x if isinstance(x, str) else x.stem)
def test_a_documented_command_is_understood(page: Path, line: str) -> None:
    understood(line)


def test_wrong_lines_would_be_found() -> None:
    for wrong in ("plan plan.toml --colour", "plan --json", "ledger burn x", "mend x", "plan a.toml b.toml"):
        with pytest.raises((AssertionError, click.UsageError)):
            understood(f"absentia {wrong}")


def test_there_are_lines_for_every_command() -> None:
    seen = {line.split()[1] for _, line in CASES if len(line.split()) > 1}
    assert set(COMMANDS) - seen == set()
