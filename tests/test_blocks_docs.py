"""The page on independent blocks runs as written."""

from __future__ import annotations

import doctest
import re
from pathlib import Path
from types import ModuleType

import pytest

from absentia.adapters import accounting
from absentia.law import blocks as law_blocks
from absentia.theory import blocks, latent

PAGE = Path(__file__).parents[1] / "docs" / "blocks.md"


def test_the_page_runs_from_top_to_bottom() -> None:
    pieces = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    assert len(pieces) >= 5
    exec("\n".join(pieces), {})


@pytest.mark.parametrize("module", [law_blocks, blocks, latent, accounting])
def test_docstrings_give_exact_numbers(module: ModuleType) -> None:
    failed, attempted = doctest.testmod(module)
    assert (failed, attempted > 0) == (0, True)
