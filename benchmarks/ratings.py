"""A long table of 20,000,263 ratings by 138,493 users on 26,744 items: its mask counts against the raw engine.

    python benchmarks/ratings.py [--file ratings.parquet] [--long 200000263]

The file is generated when it is absent. The raw engine answers the same questions with its own group-bys: distinct
items of each user, their histogram, users of each item.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from tables import measured, report

from absentia.planning.schema import Schema
from absentia.query.statistic import Statistic
from absentia.table.aggregate import aggregate, profile_counts

USERS, ITEMS, RATINGS = 138_493, 26_744, 20_000_263


def write_ratings(path: Path, seed: int = 3) -> None:
    """Users of 20 to 9,254 ratings in file order, items by a power law; some items are rated twice by one user."""
    rng = np.random.default_rng(seed)
    sizes = np.minimum(20 + rng.pareto(1.2, USERS) * 60, 9254)
    sizes = np.clip((sizes * (RATINGS / sizes.sum())).astype(int), 1, 9254)
    short = RATINGS - sizes.sum()
    sizes[: abs(short)] += np.sign(short)
    popularity = np.cumsum(1 / np.arange(1, ITEMS + 1) ** 0.9)
    items = np.searchsorted(popularity / popularity[-1], rng.random(RATINGS)).clip(0, ITEMS - 1) + 1
    users = np.repeat(np.arange(1, USERS + 1), sizes)
    stars = rng.integers(1, 11, RATINGS) / 2
    pl.DataFrame({"userId": users.astype(np.int32), "movieId": items.astype(np.int32), "rating": stars}).write_parquet(
        path
    )


def schema() -> Schema:
    long = {"user": "userId", "item": "movieId", "value": "rating", "items": list(range(1, ITEMS + 1))}
    return Schema.from_dict({"n": USERS, "long": long, "columns": {"rating": {"kind": "number", "bounds": [0.5, 5]}}})


def ours(path: Path) -> dict[str, Any]:
    masks = profile_counts(path, schema())
    return {"users": masks.rows, "entries": int(masks.observed.sum()), "median": median(masks.per_row)}


def median(histogram: np.ndarray) -> int:
    return int(np.searchsorted(np.cumsum(histogram), histogram.sum() / 2))


def distinct(path: Path) -> dict[str, Any]:
    """The same answer: every item counted once a user."""
    lazy = pl.scan_parquet(path).filter(pl.col("rating").is_not_nan())
    users = lazy.group_by("userId").agg(pl.col("movieId").n_unique().alias("k"))
    per_row = users.group_by("k").agg(pl.len().alias("m")).collect(engine="streaming")
    items = lazy.group_by("movieId").agg(pl.col("userId").n_unique().alias("m")).collect(engine="streaming")
    return {"users": int(per_row["m"].sum()), "entries": int(items["m"].sum())}


def with_repeats(path: Path) -> dict[str, Any]:
    """A cheaper question: repeated ratings counted as often as they occur, so a user may exceed the items."""
    lazy = pl.scan_parquet(path).filter(pl.col("rating").is_not_nan())
    users = lazy.group_by("userId").agg(pl.len().alias("k"))
    per_row = users.group_by("k").agg(pl.len().alias("m")).collect(engine="streaming")
    items = lazy.group_by("movieId").agg(pl.len().alias("m")).collect(engine="streaming")
    return {"users": int(per_row["m"].sum()), "entries": int(items["m"].sum())}


def item_sums(path: Path) -> dict[str, Any]:
    """Exact sums and counts of the 50 most rated items, one kept entry a user and item."""
    wanted = [Statistic(((str(i), e),)) for i in range(1, 51) for e in (0, 1)]
    return {"observed": int(sum(v for s, v in aggregate(path, schema(), wanted).values.items() if not s.powers[0][1]))}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--file", type=Path)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        path = options.file or Path(folder) / "ratings.parquet"
        if not path.exists():
            write_ratings(path)
        runs: dict[Callable[..., dict[str, Any]], dict[str, Any]] = {}
        for name, function in (("absentia profile", ours), ("Polars, same answer", distinct), ("Polars, repeats counted", with_repeats), ("absentia, sums of 50 items", item_sums)):  # fmt: skip # noqa: E501
            report(name, runs.setdefault(function, measured(function, path)))
        assert runs[ours]["entries"] == runs[distinct]["entries"]
        ratios = [runs[ours][k] / runs[distinct][k] for k in ("seconds", "processor")]
        print(f"absentia / Polars, same answer: {ratios[0]:.2f} in time, {ratios[1]:.2f} in processor time (goal 1.3)")


if __name__ == "__main__":
    main()
