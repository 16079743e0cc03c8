"""What the pages say about plan files is true: every TOML block loads, and every kind is on the page."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any

import pytest

from absentia.planning.kinds import MADE_OF, PROCESSES, QUERIES
from absentia.planning.planfile import FIELDS, plan_of, schema_of

DOCS = Path(__file__).parents[1] / "docs"
BLOCK = re.compile(r"^```toml *\n(.*?)^```", re.MULTILINE | re.DOTALL)
PLANNING = (DOCS / "planning.md").read_text(encoding="utf-8")
SCHEMA, PLAN, *OTHERS = (tomllib.loads(text, parse_float=str) for text in BLOCK.findall(PLANNING))
ELSEWHERE = [
    tomllib.loads(text, parse_float=str)
    for page in sorted(DOCS.glob("*.md"))
    if page.name not in ("planning.md", "law-file.md")  # whose TOML states laws: tests/test_law_file.py
    for text in BLOCK.findall(page.read_text(encoding="utf-8"))
]


def laid_over(block: dict[str, Any]) -> dict[str, Any]:
    """The page's plan with the fields of the block in place of its own."""
    plan = {k: v for k, v in PLAN.items() if not (k == "budget" and "accuracy" in block)}
    return {**plan, **block, "schema": schema_of(SCHEMA)}


def subject(block: dict[str, Any]) -> str:
    return block.get("missingness", {}).get("kind") or ", ".join(block)


def test_the_complete_example_is_a_plan() -> None:
    plan = plan_of(laid_over({}))
    assert plan.guarantee.epsilon("1e-6") <= 1
    assert [q.name for q in plan.queries] == ["mean(bmi)", "histogram(hyp) by sex", "mean(chl)"]


@pytest.mark.parametrize("block", OTHERS, ids=subject)
def test_every_other_block_fits_into_it(block: dict[str, Any]) -> None:
    plan = plan_of(laid_over(block))
    for target in block.get("accuracy", []):
        assert all(
            x.worst <= float(target["within"]) for x in plan.accuracy(target.get("confidence")).of(target["query"])
        )


@pytest.mark.parametrize("block", ELSEWHERE, ids=lambda block: ", ".join(block)[:40])
def test_blocks_of_other_pages_load(block: dict[str, Any]) -> None:
    if "columns" in block or "long" in block:
        schema_of(block)
    else:
        plan_of(laid_over(block))


def test_every_kind_is_shown_in_a_block() -> None:
    shown = [block["missingness"].get("kind") for block in (PLAN, *OTHERS) if "missingness" in block]
    assert {*PROCESSES, *MADE_OF} - set(shown) == set()
    asked = [query["kind"] for block in (PLAN, *OTHERS) for query in block.get("query", [])]
    assert set(QUERIES) - set(asked) == set()


def test_every_field_and_kind_is_explained() -> None:
    table = PLANNING.split("## Fields of the file")[1].split("## Queries")[0]
    assert [field for field in sorted(FIELDS) if f"{field}`" not in table and f"[{field}]" not in table] == []
    queries = (DOCS / "queries.md").read_text(encoding="utf-8")
    assert [kind for kind in QUERIES if f"`{kind}`" not in queries] == []
