"""Durable charges per second, beside the disk's own syncs per second; opening and verifying a long book.

python benchmarks/ledger.py [directory on the disk to measure]
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
from collections.abc import Callable
from multiprocessing import get_context
from pathlib import Path

from absentia.ledger.book import Book
from absentia.ledger.chain import Row

PAYLOAD = {"cost": "1/1000", "reach": [["bmi", "0.25"], ["chl", "0.25"]], "scale": "3.25", "noise": "gaussian"}
PURPOSE, PLAN = "Table 2, all regions", "ab" * 32


def seconds(action: Callable[[], object]) -> float:
    start = time.perf_counter()
    action()
    return time.perf_counter() - start


def charge(path: Path, count: int) -> None:
    total = [0]

    def guard(rows: tuple[Row, ...], payload: dict[str, object]) -> None:
        total[0] = len(rows)

    with Book.open(path) as book:
        for _ in range(count):
            book.append("charge", PAYLOAD, guard, purpose=PURPOSE, plan=PLAN)


def syncs(path: Path, count: int) -> None:
    handle = os.open(path, os.O_CREAT | os.O_WRONLY)
    for _ in range(count):
        os.write(handle, bytes(4120))
        os.fdatasync(handle)
    os.close(handle)


def crowd(path: Path, processes: int, each: int) -> None:
    context = get_context("fork")
    workers = [context.Process(target=charge, args=(path, each)) for _ in range(processes)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()


def main(where: str | None = None) -> None:
    with tempfile.TemporaryDirectory(dir=where) as name:
        directory = Path(name)
        alone = 500 / seconds(lambda: syncs(directory / "raw", 500))
        print(f"disk alone, 4 kB written and synced: {alone:8,.0f} a second")
        for processes, each in ((1, 1000), (4, 250), (16, 60)):
            path = directory / f"{processes}.ledger"
            Book.create(path, {"budget": "1"}).close()
            rate = processes * each / seconds(lambda: crowd(path, processes, each))  # noqa: B023
            print(f"durable charges, {processes:2} processes:        {rate:8,.0f} a second")
        path = directory / "long.ledger"
        Book.create(path, {"budget": "1"}).close()
        charge(path, 5000)
        print(f"open and check 5,000 rows:           {1000 * seconds(lambda: Book.open(path).close()):8,.0f} ms")
        with Book.open(path) as book:
            print(f"verify 5,000 rows from the disk:     {1000 * seconds(book.verify):8,.0f} ms")
            last = 1000 * seconds(lambda: book.append("charge", PAYLOAD, purpose=PURPOSE, plan=PLAN))
        print(f"one more charge then:                {last:8.1f} ms, {path.stat().st_size / 5001:.0f} bytes a row")


if __name__ == "__main__":
    main(*sys.argv[1:2])
