"""Real releases in real processes: killed at any moment, or many at once."""

from __future__ import annotations

import json
import math
import subprocess
import sys
from pathlib import Path
from typing import Any

import absentia as ab
from absentia.ledger.chain import Receipt
from absentia.ledger.ledger import Ledger
from release_world import table

PLAN = """
noise = "laplace"
[schema]
n = 400
[schema.columns]
bmi = {{kind = "number", bounds = [10, 60]}}
chl = {{kind = "number", bounds = [50, 400]}}
hyp = {{kind = "category", values = ["no", "yes"]}}
[budget]
epsilon = "{epsilon}"
[missingness]
kind = "{kind}"
because = "by lot"
{rates}
[[query]]
kind = "count"
column = "bmi"
"""


def nursery(place: Path, action: str, count: int, epsilon: str, total: str, kind: str) -> dict[str, Any]:
    """What the processes were told, after they released from a book with that total budget."""
    rates = 'observed = {bmi = "1/2", chl = "1/2", hyp = "1/2"}' if kind == "independent" else ""
    (place / "plan.toml").write_text(PLAN.format(epsilon=epsilon, kind=kind, rates=rates))
    table().write_csv(place / "people.csv")
    plan = ab.Plan.load(place / "plan.toml")
    Ledger.create(place / "study.ledger", plan, budget=ab.Budget(total)).close()
    script = [sys.executable, str(Path(__file__).with_name("release_nursery.py")), action, str(place), str(count)]
    done = subprocess.run(script, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return dict(json.loads(done.stdout))


def receipts(told: dict[str, Any]) -> set[Receipt]:
    found = [Receipt.from_dict(a["receipt"]) for a in told["answers"]]
    assert len(set(found)) == len(found)
    return set(found)


def test_a_hundred_kills_of_real_releases(tmp_path: Path) -> None:
    """Nothing acknowledged is lost, no answer is without its charge, the book verifies and is never overspent."""
    told = nursery(tmp_path, "kill", 100, epsilon="1/100", total="1", kind="independent")
    acknowledged = receipts(told)
    assert told["ended"] == 103
    assert len(acknowledged) > 50
    with Ledger.open(tmp_path / "study.ledger") as book:
        rows = book.book.rows()
        for receipt in sorted(acknowledged, key=lambda r: r.sequence)[-3:]:
            book.verify(receipt)
        issued = {row.receipt(book.book.dataset) for row in rows if row.kind == "charge"}
        assert acknowledged <= issued
        assert len(issued) <= len(acknowledged) + told["ended"]
        assert 0 < book.spent()["with_missingness"] <= 1
        assert all(math.isfinite(x) for a in told["answers"] for x in a["estimates"])


def test_sixteen_processes_spend_exactly_the_budget(tmp_path: Path) -> None:
    told = nursery(tmp_path, "crowd", 16, epsilon="1/40", total="1", kind="without")
    assert told["ended"] == 16
    assert told["refused"] == 16
    assert len(receipts(told)) == 40
    with Ledger.open(tmp_path / "study.ledger") as book:
        assert {r.receipt(book.book.dataset) for r in book.book.rows()[1:]} == receipts(told)
        assert 1 - 1e-9 < book.spent()["without_missingness"] <= 1
        book.verify()
