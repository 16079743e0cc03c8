"""Coverage of 95 % intervals over simulated releases: python benchmarks/coverage.py [releases] [world ...]

Rows are drawn from a population, entries go missing completely at random, noise is drawn; intervals about the table
are compared with the table, the others with the population. `hidden`: answers that only give the public bounds because
the noise hides the denominator. `bias`: the mean of (estimate - truth) / standard error.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from query_world import MORE, QUERIES, RATES, World, simulated

WORLDS = {
    "plain": World(),
    "small": World(n=200, epsilon="20"),
    "sparse": World(n=40_000, rates=dict.fromkeys(RATES, "0.05")),
    "extreme": World(rare=0.002),
    "drowned": World(n=200, epsilon="0.5"),
}
BOTH_SIDES = ("count", "sum", "mean", "histogram", "moments")
LEAST, MOST = 0.93, 0.97


def verdict(kind: str, weighted: bool, held: float) -> str:
    """Whether the coverage is what the page promises; above it is called wide where only a lower end is promised."""
    if held < LEAST:
        return "LOW"
    return ("HIGH" if kind in BOTH_SIDES and not weighted else "wide") if held > MOST else ""


def main(releases: int, worlds: list[str]) -> None:
    kinds = {q.name: (q.kind, q.weight is not None) for q in (*QUERIES, *MORE)}
    for name in worlds:
        world = WORLDS[name]
        rates = ", ".join(f"{c} {rate}" for c, rate in world.rates.items())
        print(f"{name}: {releases} releases of {world.n} rows, epsilon {world.epsilon}; observed: {rates}")
        for noise in ("gaussian", "laplace"):
            start = time.perf_counter()
            found = simulated(noise, releases, world, queries=(*QUERIES, *MORE))
            head = f"{noise} noise, {time.perf_counter() - start:.0f} s"
            print(f"  {head:<38}{'coverage':>9}{'hidden':>9}{'bias':>8}")
            for query, f in found.items():
                print(f"    {query:<36}{f.held:>9.2%}{f.hidden:>9.2%}{f.bias:>8.2f}  {verdict(*kinds[query], f.held)}")
        print(flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 2000, sys.argv[2:] or ["plain"])
