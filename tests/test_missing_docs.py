"""The examples of the two pages on missingness are run as they stand, and their files are read."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

from absentia import missing

DOCS = Path(__file__).parent.parent / "docs"


def fences(page: str, language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", (DOCS / page).read_text(encoding="utf-8"), re.DOTALL)


@pytest.mark.parametrize("page", ["missingness.md", "certified-law.md"])
def test_examples_run(page: str) -> None:
    blocks = fences(page, "python")
    assert blocks
    space: dict[str, object] = {}
    for block in blocks:
        exec(compile(block, page, "exec"), space)


def test_the_plan_file_is_read() -> None:
    table, _ = fences("missingness.md", "toml")  # both are read by tests/test_docs_plans.py
    process = missing.from_dict(tomllib.loads(table)["missingness"], schema=["age", "bmi", "chl", "hyp"])
    assert isinstance(process, missing.Patterns)
    assert process.kind == "design"
    assert all("age" in seen for seen in process.observed)


def test_every_constructor_is_on_the_page() -> None:
    """Whoever adds a process has to say on the page what it is for."""
    text = (DOCS / "missingness.md").read_text(encoding="utf-8") + (DOCS / "certified-law.md").read_text(
        encoding="utf-8"
    )
    verbs = [name for name in missing.__all__ if name[0].islower()]
    assert [name for name in verbs if name not in text] == []
