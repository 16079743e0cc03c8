"""Run as a script: many processes release from one book, and are killed. Prints what they were told, as JSON.

A process of its own, because engines start threads that must not be forked: here nothing has started one before.
"""

from __future__ import annotations

import json
import os
import random
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path

import polars  # noqa: F401  (imported once, before the forks)

import absentia as ab
from absentia.errors import BudgetRefused
from absentia.ledger.ledger import Ledger
from absentia.release import release
from absentia.table.aggregate import aggregate  # noqa: F401
from ledger_helpers import fork, wait


def worker(place: Path, plan: ab.Plan, until_refused: bool) -> Callable[[], None]:
    """Releases for ever (or until refused), each answer saved before it is acknowledged in a file that outlives it."""

    def run() -> None:
        out = os.open(place / "acks", os.O_CREAT | os.O_APPEND | os.O_WRONLY)
        while True:
            try:
                with Ledger.open(place / "study.ledger") as book:
                    done = release(plan, str(place / "people.csv"), book, "one of many")
            except BudgetRefused:
                os.write(out, b"refused\n")
                if until_refused:
                    return
                time.sleep(0.01)
                continue
            answer = {"receipt": done.receipt.to_dict(), "estimates": [r.estimate for r in done.rows]}
            os.write(out, (json.dumps(answer) + "\n").encode())

    return run


def killed(place: Path, plan: ab.Plan, kills: int) -> int:
    """How many were killed; three are alive at any time."""
    rng, run = random.Random(7), worker(place, plan, until_refused=False)
    alive = [fork(run) for _ in range(3)]
    for _ in range(kills):
        time.sleep(rng.uniform(0, 0.25))
        victim = alive.pop(rng.randrange(3))
        os.kill(victim, signal.SIGKILL)
        assert wait(victim) == -signal.SIGKILL, "a worker died by itself"
        alive.append(fork(run))
    for child in alive:
        os.kill(child, signal.SIGKILL)
        assert wait(child) == -signal.SIGKILL, "a worker died by itself"
    return kills + 3


def crowd(place: Path, plan: ab.Plan, processes: int) -> int:
    run = worker(place, plan, until_refused=True)
    children = [fork(run) for _ in range(processes)]
    return sum(wait(child) == 0 for child in children)


def main(action: str, place: Path, count: int) -> None:
    plan = ab.Plan.load(place / "plan.toml")
    plan.check()
    ended = {"kill": killed, "crowd": crowd}[action](place, plan, count)
    lines = (place / "acks").read_text().splitlines()
    answers = [json.loads(line) for line in lines if line != "refused"]
    print(json.dumps({"ended": ended, "answers": answers, "refused": lines.count("refused")}))


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]), int(sys.argv[3]))
