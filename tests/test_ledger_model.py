"""A random life of a book beside a model of exact fractions."""

from __future__ import annotations

import os
import shutil
import signal
import tempfile
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from absentia.errors import BudgetRefused, LedgerDamaged
from absentia.ledger.book import Book
from absentia.ledger.chain import Receipt, Row
from ledger_helpers import TERMS, copy_book, fork, spent, wait, within

costs = st.fractions(0, 2, max_denominator=1000)


class Interrupted(BaseException):
    """What a crash of the caller looks like from inside the transaction."""


class Life(RuleBasedStateMachine):
    @initialize(budget=st.fractions(0, 8, max_denominator=100))
    def create(self, budget: Fraction) -> None:
        self.place = Path(tempfile.mkdtemp(prefix="absentia-ledger-"))
        self.path = self.place / "study.ledger"
        self.budget, self.total = budget, Fraction(0)
        self.books = [Book.create(self.path, TERMS)]
        self.receipts: list[Receipt] = [self.books[0].head]
        self.payloads: list[tuple[str, dict[str, Any]]] = [("open", dict(TERMS))]
        self.backup: int | None = None

    def add(self, which: int, kind: str, payload: dict[str, Any]) -> None:
        guard = within(self.budget) if kind == "charge" else None
        self.receipts.append(self.books[which % len(self.books)].append(kind, payload, guard))
        self.payloads.append((kind, payload))

    @rule(which=st.integers(0, 2), cost=costs)
    def charge(self, which: int, cost: Fraction) -> None:
        if self.total + cost > self.budget:
            with pytest.raises(BudgetRefused):
                self.add(which, "charge", {"cost": str(cost)})
        else:
            self.add(which, "charge", {"cost": str(cost)})
            self.total += cost

    @rule(which=st.integers(0, 2), text=st.text(max_size=5), kind=st.sampled_from(["note", "amend"]))
    def write(self, which: int, text: str, kind: str) -> None:
        self.add(which, kind, {"text": text})

    @rule(which=st.integers(0, 2))
    def crash_in_the_guard(self, which: int) -> None:
        def crash(rows: tuple[Row, ...], payload: dict[str, Any]) -> None:
            raise Interrupted

        with pytest.raises(Interrupted):
            self.books[which % len(self.books)].append("charge", {"cost": "0"}, crash)

    @rule()
    def kill_in_the_guard(self) -> None:
        def die(rows: tuple[Row, ...], payload: dict[str, Any]) -> None:
            os.kill(os.getpid(), signal.SIGKILL)

        def charge() -> None:
            Book.open(self.path).append("charge", {"cost": "0"}, die)

        assert wait(fork(charge)) == -signal.SIGKILL

    @precondition(lambda self: len(self.books) < 3)
    @rule()
    def open_another(self) -> None:
        self.books.append(Book.open(self.path))

    @rule()
    def close_all_and_reopen(self) -> None:
        for book in self.books:
            book.close()
        self.books = [Book.open(self.path)]

    @rule()
    def back_up(self) -> None:
        copy_book(self.path, self.place / "backup.ledger")
        self.backup = len(self.receipts)

    @precondition(lambda self: self.backup is not None)
    @rule()
    def open_the_backup(self) -> None:
        """An old copy is sound in itself; every later receipt convicts it."""
        scratch = copy_book(self.place / "backup.ledger", self.place / "scratch.ledger")
        with Book.open(scratch) as old:
            assert self.backup is not None
            assert len(old.rows()) == self.backup
            old.verify(self.receipts[self.backup - 1])
            for receipt in self.receipts[self.backup :]:
                with pytest.raises(LedgerDamaged):
                    old.verify(receipt)

    @invariant()
    def the_book_is_the_model(self) -> None:
        for book in self.books:
            rows = book.rows()
            assert [(row.kind, row.payload) for row in rows] == self.payloads
            assert [row.receipt(book.dataset) for row in rows] == self.receipts
            assert spent(rows) == self.total <= self.budget
        self.books[0].verify(self.receipts[len(self.receipts) // 2])

    def teardown(self) -> None:
        for book in getattr(self, "books", []):
            book.close()
        shutil.rmtree(getattr(self, "place", ""), ignore_errors=True)


QUICK = settings(max_examples=20, stateful_step_count=20, deadline=None, suppress_health_check=list(HealthCheck))


def test_a_random_life_agrees_with_the_model() -> None:
    run_state_machine_as_test(Life, settings=QUICK)


@pytest.mark.campaign
def test_long_random_lives_agree_with_the_model() -> None:
    run_state_machine_as_test(Life, settings=settings(QUICK, max_examples=2000, stateful_step_count=50))
