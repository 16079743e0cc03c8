"""The page on forms runs as written."""

from __future__ import annotations

import doctest
import re
from pathlib import Path

import pytest

from absentia.law import difference_set, forms
from absentia.theory import forms as renyi
from absentia.theory import forms_kahane

PAGE = Path(__file__).parents[1] / "docs" / "forms.md"


def test_the_page_runs_from_top_to_bottom() -> None:
    blocks = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    assert len(blocks) >= 3
    exec("\n".join(blocks), {})


@pytest.mark.parametrize("module", [forms, difference_set, renyi, forms_kahane])
def test_docstrings_give_exact_numbers(module) -> None:
    failed, attempted = doctest.testmod(module)
    assert (failed, attempted > 0) == (0, True)
