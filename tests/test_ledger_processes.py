"""Real processes: killed at any moment, or many at once. Nothing acknowledged is lost, nothing is overspent."""

from __future__ import annotations

import os
import random
import signal
import threading
import time
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from absentia.errors import BudgetRefused
from absentia.ledger.book import Book
from absentia.ledger.chain import Receipt, Row
from ledger_helpers import TERMS, fork, spent, wait, within


def writer(path: Path, acks: Path, budget: int) -> Callable[[], None]:
    """Charges 1 for ever; notes every receipt in a file that outlives it; a refusal is noted too."""

    def limit(rows: tuple[Row, ...], payload: dict[str, Any]) -> None:
        if sum(row.kind == "charge" for row in rows) >= budget:
            raise BudgetRefused("spent", "a rule", "a remedy")

    def run() -> None:
        out = os.open(acks, os.O_CREAT | os.O_APPEND | os.O_WRONLY)
        with Book.open(path) as book:
            while True:
                try:
                    receipt = book.append("charge", {"cost": "1"}, limit)
                    os.write(out, f"{receipt.sequence} {receipt.head} {receipt.time}\n".encode())
                except BudgetRefused:
                    os.write(out, b"refused\n")
                    time.sleep(0.001)

    return run


def kill_writers(path: Path, kills: int, writers: int, budget: int, seed: int) -> tuple[int, int, int]:
    """(acknowledged, charged, refused) after so many SIGKILLs; asserts what must hold."""
    Book.create(path, TERMS).close()
    acks, rng = path.with_name("acks"), random.Random(seed)
    run = writer(path, acks, budget)
    alive = [fork(run) for _ in range(writers)]
    for _ in range(kills):
        time.sleep(rng.uniform(0, 0.03))
        victim = alive.pop(rng.randrange(len(alive)))
        os.kill(victim, signal.SIGKILL)
        assert wait(victim) == -signal.SIGKILL
        alive.append(fork(run))
    for child in alive:
        os.kill(child, signal.SIGKILL)
        wait(child)
    lines = [line.split() for line in acks.read_text().splitlines()]
    with Book.open(path) as book:
        book.verify()
        rows = book.rows()
        given = [Receipt(book.dataset, int(s[0]), s[1], s[2]) for s in lines if len(s) == 3]
        issued = {row.receipt(book.dataset) for row in rows}
        assert set(given) <= issued
        assert len(set(given)) == len(given)
        assert spent(rows) <= budget
        if any(line == ["refused"] for line in lines):
            assert spent(rows) == budget
    return len(given), len(rows) - 1, lines.count(["refused"])


def test_a_hundred_kills_lose_nothing_that_was_acknowledged(tmp_path: Path) -> None:
    acknowledged, charged, _ = kill_writers(tmp_path / "study.ledger", 100, 4, 10**9, 1)
    assert 50 < acknowledged <= charged <= acknowledged + 100 + 4


def test_kills_around_the_end_of_the_budget_never_overspend(tmp_path: Path) -> None:
    acknowledged, charged, refused = kill_writers(tmp_path / "study.ledger", 40, 4, 100, 2)
    assert charged == 100 >= acknowledged
    assert refused > 0


@pytest.mark.campaign
def test_ten_thousand_kills(tmp_path: Path) -> None:
    for round_ in range(100):
        place = tmp_path / str(round_)
        place.mkdir()
        kill_writers(place / "study.ledger", 100, 4, 300 if round_ % 2 else 10**9, 100 + round_)


def crowd(path: Path, processes: int, budget: Fraction, cost: str) -> int:
    """Every process charges until it is refused once. Returns how many charges were acknowledged in all."""
    Book.create(path, TERMS).close()

    def spend(mine: Path) -> None:
        count = 0
        with Book.open(path) as book:
            try:
                while True:
                    book.append("charge", {"cost": cost}, within(budget))
                    count += 1
            except BudgetRefused:
                mine.write_text(str(count))

    files = [path.with_name(f"count{i}") for i in range(processes)]
    children = [fork(lambda mine=mine: spend(mine)) for mine in files]  # type: ignore[misc]
    assert [wait(child) for child in children] == [0] * processes
    with Book.open(path) as book:
        book.verify()
        assert spent(book.rows()) == budget
    return sum(int(mine.read_text()) for mine in files)


def test_sixteen_processes_spend_exactly_the_budget(tmp_path: Path) -> None:
    assert crowd(tmp_path / "study.ledger", 16, Fraction(30), "1/7") == 210


@pytest.mark.campaign
def test_sixty_four_processes_spend_exactly_the_budget(tmp_path: Path) -> None:
    for round_ in range(20):
        place = tmp_path / str(round_)
        place.mkdir()
        assert crowd(place / "study.ledger", 64, Fraction(100), "1/10") == 1000


def test_racing_creators_make_one_book(tmp_path: Path) -> None:
    path = tmp_path / "study.ledger"

    def create() -> None:
        Book.create(path, TERMS).close()

    codes = [wait(child) for child in [fork(create) for _ in range(8)]]
    assert sorted(codes) == [0] + [1] * 7
    with Book.open(path) as book:
        assert len(book.rows()) == 1
    assert [name for name in os.listdir(tmp_path) if name.startswith(".")] == []


def test_an_open_book_goes_through_a_fork(tmp_path: Path) -> None:
    with Book.create(tmp_path / "study.ledger", TERMS) as book:
        book.append("charge", {"cost": "1"})

        def both() -> None:
            for _ in range(20):
                book.append("charge", {"cost": "1"}, within(Fraction(100)))

        child = fork(both)
        both()
        assert wait(child) == 0
        book.append("charge", {"cost": "1"})
        assert spent(book.rows()) == 42
        book.verify()


def test_a_parent_that_closes_does_not_take_the_childs_log_away(tmp_path: Path) -> None:
    """With the parent's connection open across the fork, SQLite loses the child's last row: see ledger/forks.py."""
    for opens_its_own in (True, False):
        path = tmp_path / f"{opens_its_own}.ledger"
        book = Book.create(path, TERMS)
        (child_reads, parent_writes), (parent_reads, child_writes) = os.pipe(), os.pipe()

        def charge_twice(book: Book = book, own: bool = opens_its_own) -> None:
            mine = Book.open(book.path) if own else book
            mine.append("charge", {"cost": "1"})
            os.write(child_writes, b"x")  # noqa: B023
            os.read(child_reads, 1)  # noqa: B023
            mine.append("charge", {"cost": "1"})

        child = fork(charge_twice)
        os.read(parent_reads, 1)
        book.close()
        os.write(parent_writes, b"x")
        assert wait(child) == 0
        with Book.open(path) as after:
            assert spent(after.rows()) == 2


def test_threads_charge_while_the_process_forks(tmp_path: Path) -> None:
    with Book.create(tmp_path / "study.ledger", TERMS) as book:

        def charge() -> None:
            for _ in range(30):
                book.append("charge", {"cost": "1"})

        threads = [threading.Thread(target=charge) for _ in range(3)]
        for thread in threads:
            thread.start()
        children = [fork(charge) for _ in range(4)]
        for thread in threads:
            thread.join()
        assert [wait(child) for child in children] == [0] * 4
        assert spent(book.rows()) == 7 * 30
        book.verify()


def test_killed_inside_the_transaction_nothing_is_charged_and_nobody_waits(tmp_path: Path) -> None:
    path = tmp_path / "study.ledger"
    Book.create(path, TERMS).close()

    def die(rows: tuple[Row, ...], payload: dict[str, Any]) -> None:
        os.kill(os.getpid(), signal.SIGKILL)

    def charge() -> None:
        Book.open(path).append("charge", {"cost": "1"}, die)

    with Book.open(path) as book:
        assert wait(fork(charge)) == -signal.SIGKILL
        start = time.monotonic()
        assert book.append("charge", {"cost": "1"}).sequence == 1
        assert time.monotonic() - start < 5
