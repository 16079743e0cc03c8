"""A whole release beside reading its aggregates alone: python benchmarks/release.py [rows]

2,000,000 x 20 Parquet, 30 % missing, made in a temporary folder; 20 means and the moments of 10 columns. The release is
everything: plan file, ledger, reading, durable charge, noise, answers, files with the card. Both are timed in this one
process, turn and turn about; the figure is the ratio of the medians.
"""

from __future__ import annotations

import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import absentia as ab

COLUMNS = [f"x{j}" for j in range(20)]
ROUNDS = 5


def write(path: Path, rows: int) -> None:
    """20 normal columns, 30 % missing cell by cell."""
    rng = np.random.default_rng(1)
    columns = {c: pa.array(rng.normal(size=rows), mask=rng.random(rows) < 0.3) for c in COLUMNS}
    pq.write_table(pa.table(columns), path, compression="zstd", row_group_size=2**17)


def planned(rows: int) -> ab.Plan:
    columns = {c: {"kind": "number", "bounds": [-4, 4]} for c in COLUMNS}
    schema = ab.Schema.from_dict({"n": rows, "columns": columns})
    missing = ab.missing.independent(schema, dict.fromkeys(COLUMNS, "0.7"), because="benchmark: drawn so")
    queries = [*(ab.mean(c) for c in COLUMNS), ab.moments(COLUMNS[:10])]
    return ab.plan(schema, queries, missing, budget=ab.Budget("1", "1e-6"))


def whole(path: Path, rows: int, folder: Path) -> dict[str, float]:
    """Seconds of each step of a release, ledger and files included."""
    spent: dict[str, float] = {}
    plan = timed(spent, "plan", lambda: planned(rows))
    book = timed(spent, "open the book", lambda: ab.Ledger.create(folder / "study.ledger", plan))
    with book:
        release = timed(spent, "release", lambda: plan.release(path, book, purpose="benchmark"))
    timed(spent, "files and card", lambda: release.save(folder / "out"))
    return spent


def timed(spent: dict[str, float], name: str, action: Callable[[], Any]) -> Any:
    start = time.perf_counter()
    result = action()
    spent[name] = time.perf_counter() - start
    return result


def main(rows: int = 2_000_000) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder, path = Path(name), Path(name) / "wide.parquet"
        write(path, rows)
        plan = planned(rows)
        reading: list[float] = []
        steps: list[dict[str, float]] = []
        for i in range(ROUNDS + 1):  # the first round is warm-up: imports, page cache
            alone: dict[str, float] = {}
            timed(alone, "read", lambda: ab.aggregate(path, plan.schema, plan.statistics))
            (folder / str(i)).mkdir()
            found = whole(path, rows, folder / str(i))
            if i:
                reading.append(alone["read"])
                steps.append(found)
    read = statistics.median(reading)
    total = statistics.median(sum(s.values()) for s in steps)
    print(f"{rows:,} x {len(COLUMNS)} Parquet, 20 means and the moments of 10 columns, median of {ROUNDS}")
    print(f"  reading the aggregates alone  {read:7.2f} s")
    print(f"  the whole release             {total:7.2f} s   {total / read:.2f} x (aim: at most 2)")
    for step in steps[0]:
        print(f"    {step:<28}{statistics.median(s[step] for s in steps):7.2f} s")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:2]))
