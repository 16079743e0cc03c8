"""The public surface is pinned, and imports flow one way."""

from __future__ import annotations

import ast
from pathlib import Path

import absentia

SOURCE = Path(absentia.__file__).parent

ORDER = [
    "plain", "errors", "exact", "drawing", "theory", "law", "query", "noise", "guarantee", "readings", "amplification",
    "calibration", "composition", "missing", "planning", "table", "ledger", "backends", "release", "card", "auditing",
    "adapters", "cli",
]  # fmt: skip
"""A package may import from its own place in this list and from those before it."""

LAZY_UP = {
    ("guarantee", "readings"),  # .plot, .renyi, .tradeoff are methods of the value they read
    ("planning", "release"),  # plan.release(...) is a thin door
    ("release", "card"),  # release.card()
}
"""Doors that open inside a method, when it is called; never at import."""


def imported(node: ast.AST) -> list[str]:
    if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("absentia."):
        return [node.module.split(".")[1]]
    if isinstance(node, ast.ImportFrom) and node.module == "absentia":
        return [alias.name for alias in node.names]
    if isinstance(node, ast.Import):
        return [a.name.split(".")[1] for a in node.names if a.name.startswith("absentia.")]
    return []


def test_imports_flow_one_way() -> None:
    broken = []
    for path in sorted(SOURCE.rglob("*.py")):
        place = path.relative_to(SOURCE).parts[0].removesuffix(".py")
        if place in ("__init__", "__main__"):
            continue
        tree = ast.parse(path.read_text(encoding="utf-8"))
        top = set(ast.walk(tree)) - {n for f in ast.walk(tree) if isinstance(f, ast.FunctionDef) for n in ast.walk(f)}
        for node in ast.walk(tree):
            for target in imported(node):
                upward = target in ORDER and ORDER.index(target) > ORDER.index(place)
                if upward and (node in top or (place, target) not in LAZY_UP) and not typing_only(tree, node):
                    broken.append(f"{path.relative_to(SOURCE)} imports {target}")
    assert broken == []


def typing_only(tree: ast.AST, node: ast.AST) -> bool:
    blocks = [n for n in ast.walk(tree) if isinstance(n, ast.If) and ast.unparse(n.test) == "TYPE_CHECKING"]
    return any(node in set(ast.walk(block)) for block in blocks)


def test_every_package_has_its_place() -> None:
    places = {p.name.removesuffix(".py") for p in SOURCE.iterdir() if p.suffix == ".py" or (p / "__init__.py").exists()}
    assert places - {"__init__", "__main__"} == set(ORDER)


def test_exported_names_are_pinned() -> None:
    pinned = (Path(__file__).parent / "exported_names.txt").read_text(encoding="utf-8").split()
    assert sorted(absentia.__all__) == pinned
    for name in pinned:
        assert getattr(absentia, name) is not None


def test_importing_the_map_loads_no_engine() -> None:
    import subprocess
    import sys

    engines = ("polars", "scipy.stats", "matplotlib", "duckdb")
    code = (
        f"import sys, absentia as ab; ab.Ledger, ab.plan, ab.missing; print([m for m in {engines} if m in sys.modules])"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert out.stdout.strip() == "[]"
