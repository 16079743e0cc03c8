"""Reading tables: time and memory against a bare NumPy kernel and the raw engines.

    python benchmarks/tables.py [wide] [products] [engines] [stream] [--rows 2000000] [--longest 100000000]

Every figure is measured in a fresh process; data are generated into a temporary folder.
"""

from __future__ import annotations

import argparse
import hashlib
import itertools
import json
import multiprocessing
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
from threadpoolctl import threadpool_limits

from absentia.planning.schema import Schema
from absentia.query.statistic import Statistic
from absentia.table.aggregate import aggregate, survey
from absentia.table.source import Source

NUMBERS = [f"x{j}" for j in range(18)] + ["i0"]


def write_wide(path: Path, rows: int) -> None:
    """18 normal columns, one integer, one category; 30 % missing cell by cell: the most patterns there are."""
    rng = np.random.default_rng(1)
    columns: dict[str, Any] = {f"x{j}": rng.normal(size=rows) for j in range(18)}
    columns |= {"i0": rng.integers(0, 100, rows), "s0": np.array(list("abcd"))[rng.integers(0, 4, rows)]}
    table = pa.table({name: pa.array(v, mask=rng.random(rows) < 0.3) for name, v in columns.items()})
    pq.write_table(table, path, compression="zstd", row_group_size=2**17)


def wide_schema(rows: int) -> Schema:
    columns: dict[str, Any] = {name: {"kind": "number", "bounds": [-3, 3]} for name in NUMBERS[:-1]}
    columns |= {"i0": {"kind": "number", "bounds": [0, 99]}, "s0": {"kind": "category", "values": list("abcd")}}
    return Schema.from_dict({"n": rows, "columns": columns})


def all_wide(names: list[str]) -> list[Statistic]:
    """Sums, counts, squares, all pair products, all pair counts."""
    pairs = list(itertools.combinations(names, 2))
    singles = [Statistic(((name, e),)) for name in names for e in (0, 1, 2)]
    return singles + [Statistic(((a, e), (b, e))) for a, b in pairs for e in (0, 1)]


def bare_kernel(path: Path) -> dict[str, Any]:
    """Decode, clip, Z Z', O O', counts, patterns, in floating point, two threads: the least that one pass can be."""
    schema = pq.read_schema(path)
    groups = iter(range(pq.ParquetFile(path).metadata.num_row_groups))
    lock, d = threading.Lock(), len(schema.names)

    def worker() -> list[Any]:
        out: list[Any] = [0, 0, 0, 0, []]
        while True:
            with lock:
                group = next(groups, None)
            if group is None:
                return out
            for batch in pq.ParquetFile(path).iter_batches(2**16, row_groups=[group], use_threads=False):
                n = batch.num_rows
                Z, O = np.zeros((d, n)), np.zeros((d, n), np.float32)  # noqa: E741
                for j, column in enumerate(batch.columns):
                    seen = np.unpackbits(np.frombuffer(column.buffers()[0], np.uint8), bitorder="little")[:n]
                    O[j] = seen
                    if pa.types.is_string(column.type):
                        continue
                    x = np.frombuffer(column.buffers()[1], column.type.to_pandas_dtype())[:n]
                    np.clip(x, -3, 3, out=Z[j], casting="unsafe")
                    Z[j] *= seen
                out[0] += Z @ Z.T
                out[1] += O @ O.T
                out[2] += Z.sum(axis=1)
                out[3] += np.bincount((np.ones(d, np.float32) @ O).astype(int), minlength=d + 1)
                keys = (2.0 ** np.arange(min(d, 48)) @ O[:48]).astype(np.int64)
                out[4].append(np.unique(keys, return_counts=True))

    with threadpool_limits(1, "blas"), ThreadPoolExecutor(2) as pool:
        parts = [f.result() for f in [pool.submit(worker) for _ in range(2)]]
    keys = np.concatenate([k for part in parts for k, _ in part[4]])
    counts = np.concatenate([c for part in parts for _, c in part[4]])
    merged = pl.DataFrame({"k": keys, "c": counts}).group_by("k").agg(pl.col("c").sum())
    return {"patterns": len(merged)}


def ours(path: Path, rows: int) -> dict[str, Any]:
    _, masks = survey(path, wide_schema(rows), [*all_wide(NUMBERS), Statistic(cells=("s0",))])
    assert masks is not None
    return {"patterns": len(masks.patterns)}


def polars_queries(path: Path, rows: int) -> dict[str, Any]:
    """The same answers as five queries of the raw engine."""
    lazy, columns = pl.scan_parquet(path), [*NUMBERS, "s0"]
    shown = [pl.col(name).is_not_null() for name in columns]
    z = {name: pl.col(name).clip(-3, 3).fill_null(0) for name in NUMBERS}
    pairs = list(itertools.combinations(NUMBERS, 2))
    queries = [
        lazy.group_by(pl.sum_horizontal(shown).alias("k")).agg(pl.len(), *[pl.col(c).count() for c in columns]),
        lazy.group_by([s.alias(c) for s, c in zip(shown, columns, strict=True)]).agg(pl.len()),
        lazy.select(**{f"s{c}": e.sum() for c, e in z.items()}, **{f"q{c}": (e * e).sum() for c, e in z.items()}),
        lazy.select(**{f"{a} {b}": (z[a] * z[b]).sum() for a, b in pairs}),
        lazy.select(**{f"{a} {b}": (pl.col(a).is_not_null() & pl.col(b).is_not_null()).sum() for a, b in pairs}),
    ]
    return {"patterns": len([q.collect(engine="streaming") for q in queries][1])}


def write_many(path: Path, rows: int, d: int) -> None:
    rng = np.random.default_rng(2)
    columns = {f"c{j}": pa.array(rng.normal(size=rows), mask=rng.random(rows) < 0.3) for j in range(d)}
    pq.write_table(pa.table(columns), path, compression="zstd", row_group_size=2**16)


def many_schema(d: int, rows: int) -> Schema:
    columns = {f"c{j}": {"kind": "number", "bounds": [-3, 3]} for j in range(d)}
    return Schema.from_dict({"n": rows, "columns": columns})


def products(engine: str, path: Path, d: int, rows: int) -> dict[str, Any]:
    """All d (d + 1) / 2 products on one engine; the time leaves out how the engine got its table."""
    names = [f"c{j}" for j in range(d)]
    wanted = [Statistic(((a, 1), (b, 1))) for a, b in itertools.combinations(names, 2)]
    wanted += [Statistic(((a, 2),)) for a in names]
    table = opened(engine, path)
    started = time.perf_counter()
    found = aggregate(table, many_schema(d, rows), wanted)
    seconds = time.perf_counter() - started
    return {"seconds": seconds, "digest": digest(found.values)}


def opened(engine: str, path: Path) -> Any:
    if engine == "polars":
        return pl.read_parquet(path)
    if engine == "pandas":
        return pl.read_parquet(path).to_pandas()
    if engine == "arrow":
        return pq.read_table(path)
    if engine == "duckdb":
        import duckdb

        return duckdb.connect().read_parquet(str(path))
    if engine == "csv":
        pl.read_parquet(path).write_csv(path.with_suffix(".csv"))
        return path.with_suffix(".csv")
    return path


def digest(values: Any) -> str:
    return hashlib.sha256(b"".join(v.tobytes() for v in values.values())).hexdigest()[:12]


def stream(rows: int) -> dict[str, Any]:
    """Generated batches of 20 columns, never held: cost and memory against n."""
    rng = np.random.default_rng(3)
    names = [f"c{j}" for j in range(20)]
    pool = [pa.array(rng.normal(size=2**16), mask=rng.random(2**16) < 0.3) for _ in range(23)]

    def streams(columns: Any) -> Iterator[Any]:
        for start in range(0, rows, 2**16):
            i, size = start // 2**16, min(2**16, rows - start)
            arrays = [pool[(i + 3 * j) % 23].slice(0, size) for j in range(len(columns))]
            yield [pa.RecordBatch.from_arrays(arrays, names=list(columns))]

    wanted = all_wide(names)
    found, masks = survey(Source(tuple(names), streams), many_schema(20, rows), wanted)
    assert masks is not None
    assert masks.rows == rows == found.rows
    return {"patterns": len(masks.patterns)}


def measured(function: Callable[..., dict[str, Any]], *arguments: Any, repeats: int = 3) -> dict[str, Any]:
    """The best of `repeats` runs in a fresh process each, with processor time and peak memory."""
    context = multiprocessing.get_context("spawn")
    runs = []
    for _ in range(repeats):
        with context.Pool(1) as pool:
            runs.append(pool.apply(_timed, (function, *arguments)))
    return min(runs, key=lambda run: run["seconds"])


def _timed(function: Callable[..., dict[str, Any]], *arguments: Any) -> dict[str, Any]:
    started, before = time.perf_counter(), time.process_time()
    out = function(*arguments)
    times = {"seconds": time.perf_counter() - started, "processor": time.process_time() - before}
    status = Path("/proc/self/status").read_text()
    return times | out | {"peak_mb": int(status.split("VmHWM:")[1].split()[0]) // 1024}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("parts", nargs="*", default=["wide", "products", "engines", "stream"])
    parser.add_argument("--rows", type=int, default=2_000_000)
    parser.add_argument("--longest", type=int, default=10_000_000)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        wide, many = Path(folder) / "wide.parquet", Path(folder) / "many.parquet"
        if "wide" in options.parts:
            write_wide(wide, options.rows)
            report("bare kernel", bare := measured(bare_kernel, wide))
            report("absentia, everything in one pass", one := measured(ours, wide, options.rows))
            report("Polars, five queries", measured(polars_queries, wide, options.rows))
            ratios = [one[k] / bare[k] for k in ("seconds", "processor")]
            print(f"absentia / bare kernel: {ratios[0]:.2f} in time, {ratios[1]:.2f} in processor time (goal 1.5)")
        if "products" in options.parts:
            write_many(many, 200_000, 200)
            for engine in ("parquet", "arrow", "polars", "pandas", "duckdb"):
                report(f"200 columns, 20,100 products, {engine}", measured(products, engine, many, 200, 200_000))
            report("200 columns, bare kernel", measured(bare_kernel, many))
        if "engines" in options.parts:
            write_many(wide, 100_000, 20)
            for engine in ("parquet", "csv", "arrow", "polars", "pandas", "duckdb"):
                report(f"100,000 x 20, {engine}", measured(products, engine, wide, 20, 100_000, repeats=1))
        if "stream" in options.parts:
            for rows in (10**k for k in range(4, 9)):
                if rows <= options.longest:
                    report(f"stream of {rows:,} rows x 20", run := measured(stream, rows, repeats=1))
                    print(f"    {1e9 * run['seconds'] / rows:.0f} ns a row")


def report(name: str, run: dict[str, Any]) -> None:
    print(name, json.dumps({k: round(v, 3) if isinstance(v, float) else v for k, v in run.items()}), flush=True)


if __name__ == "__main__":
    main()
