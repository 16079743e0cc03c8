"""Coverage of 95 % intervals over simulated releases, query by query: python benchmarks/coverage.py [releases]

Rows are drawn from a population, entries go missing completely at random, noise is drawn; intervals about the table
are compared with the table, the others with the population.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from query_world import coverage

if __name__ == "__main__":
    releases = int(sys.argv[1]) if len(sys.argv) > 1 else 2000
    for noise in ("gaussian", "laplace"):
        start = time.perf_counter()
        found = coverage(noise, releases)
        print(f"{noise} noise, {releases} releases of 4000 rows, {time.perf_counter() - start:.0f} s")
        for query, share in found.items():
            print(f"  {query:<34}{share:7.2%}")
