"""The pages on the paper are executed: every python block runs, every erratum asserts its counterexample."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[1] / "docs"
BLOCK = re.compile(r"^```python\n(.*?)^```$", re.DOTALL | re.MULTILINE)
SECTION = re.compile(r"^## (.*?)$", re.MULTILINE)


def sections(page: str) -> dict[str, list[str]]:
    """Heading -> the code blocks below it."""
    text = (DOCS / page).read_text("utf-8")
    _, *parts = SECTION.split(text)
    return {heading: BLOCK.findall(body) for heading, body in zip(parts[::2], parts[1::2], strict=True)}


def blocks() -> list[object]:
    return [
        pytest.param(code, id=f"{page}-{heading.split('.')[0].replace(' ', '-')}-{i}")
        for page in ("paper.md", "errata.md")
        for heading, found in sections(page).items()
        for i, code in enumerate(found)
    ]


@pytest.mark.parametrize("code", blocks())
def test_the_block_runs(code: str) -> None:
    assert "assert" in code or "pytest.raises" in code
    exec(compile(code, "<docs>", "exec"), {})


def test_every_result_and_every_erratum_has_its_section_and_code() -> None:
    results = " ".join(heading for heading, found in sections("paper.md").items() if found)
    assert all(f"P{i}" in results for i in range(1, 11))
    errata = {heading.split(".")[0]: found for heading, found in sections("errata.md").items()}
    assert all(errata[f"E{i}"] for i in range(1, 13))


@pytest.mark.parametrize("page", ["paper.md", "errata.md"])
def test_links_lead_somewhere(page: str) -> None:
    text = (DOCS / page).read_text("utf-8")
    for target in re.findall(r"\]\(([^)]+)\)", text):
        path, _, anchor = target.partition("#")
        linked = DOCS / (path or page)
        assert linked.exists(), target
        if anchor:
            headings = SECTION.findall(linked.read_text("utf-8"))
            slugs = {re.sub(r"[^\w\- ]", "", h.lower()).replace(" ", "-") for h in headings}
            assert anchor in slugs, target


def test_every_result_of_the_paper_is_importable_from_one_place() -> None:
    """P1-P10: formulas, the calculus of P9, the worlds of P3 and P10."""
    from absentia.theory import paper

    for name in ("mar", "mnar_pair", "always_observed", "laplace", "gaussian", "corollary", "relaxed_laplace",
                 "sensitivity", "query", "stack", "dependent_masks"):  # fmt: skip
        assert callable(getattr(paper, name))
        assert name in paper.__all__
