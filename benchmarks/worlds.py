"""Prints what a campaign of exactly enumerated worlds finds: python benchmarks/worlds.py [worlds] [seed]."""

from __future__ import annotations

import sys
import time
from collections import Counter

from absentia.auditing.random_worlds import campaign


def main(worlds: int, seed: int) -> int:
    start = time.perf_counter()
    cells = campaign(worlds, seed)
    seconds = time.perf_counter() - start
    results = ["T1", "T2", "T3", "Thm 4"]
    print(f"{'rows x features':16}{'missing':9}{'worlds':>9}{'pairs':>13}  " + "".join(f"{r:>19}" for r in results))
    print(" " * 49 + "".join(f"{'above / attained':>19}" for _ in results))
    compared, violated, attained = Counter[str](), Counter[str](), Counter[str]()
    for cell in cells:
        t = cell.tally
        figures = "".join(f"{t.violated[r]:>9} /{t.attained[r]:>8}" for r in results)
        print(f"{cell.n} x {cell.d:<12}{cell.kind:9}{t.worlds:>9,}{t.pairs:>13,}  {figures}")
        compared, violated, attained = compared + t.compared, violated + t.violated, attained + t.attained
    total = sum(cell.tally.worlds for cell in cells)
    print(f"\n{total:,} distinct worlds, {sum(c.tally.pairs for c in cells):,} pairs of datasets, {seconds:.1f} s")
    for r in results:
        print(f"{r:6} compared in {compared[r]:>8,} worlds: above it {violated[r]}, attained in {attained[r]:,}")
    return int(sum(violated.values()) > 0)


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]) if len(sys.argv) > 1 else 100_000, int(sys.argv[2]) if len(sys.argv) > 2 else 0))
