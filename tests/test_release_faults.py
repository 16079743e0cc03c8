"""The ledger's own troubles, met by a release: no answer where nothing was charged; a wrong clock only warns."""

from __future__ import annotations

import os
import sqlite3
from pathlib import Path
from typing import Any

import pytest

import absentia.backends as backends
from absentia.errors import AbsentiaError, LedgerDamaged
from absentia.ledger import book as books
from absentia.ledger import place, store
from absentia.ledger.book import ClockWarning
from absentia.ledger.ledger import Ledger
from ledger_helpers import copy_book
from release_world import book_of, planned, table


@pytest.fixture
def undrawn(monkeypatch: pytest.MonkeyPatch) -> None:
    def never(*_: Any, **__: Any) -> Any:
        raise AssertionError("noise was drawn")

    monkeypatch.setattr(backends, "draw", never)


def refused(book: Ledger, code: str) -> AbsentiaError:
    with pytest.raises(AbsentiaError) as refusal:
        planned().release(table(), book, purpose="Table 2")
    assert refusal.value.code == code
    return refusal.value


def test_a_clock_that_went_back_only_warns(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plan = planned()
    with book_of(tmp_path, plan) as book:
        monkeypatch.setattr(books, "_now", lambda: "1999-01-01T00:00:00.000000+00:00")
        with pytest.warns(ClockWarning):
            done = plan.release(table(), book, purpose="Table 2")
        assert (done.receipt.sequence, done.receipt.time[:4]) == (1, "1999")
        assert book.verify(done.receipt) == done.receipt


def test_a_ledger_held_by_somebody_else(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, undrawn: None) -> None:
    monkeypatch.setattr(store, "BUSY_SECONDS", 0.2)
    with book_of(tmp_path, planned()) as book:
        holder = sqlite3.connect(tmp_path / "study.ledger", isolation_level=None)
        holder.execute("BEGIN IMMEDIATE")
        assert "Ask again" in refused(book, "L-BUSY").remedy
        holder.execute("ROLLBACK")
        holder.close()
        assert len(book.book.rows()) == 1


def test_a_ledger_on_a_network_file_system(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    book_of(tmp_path, planned()).close()
    mounts = tmp_path / "mountinfo"
    mounts.write_text(f"1 1 0:1 / / rw - ext4 a rw\n2 1 0:2 / {tmp_path} rw - nfs4 b rw\n")
    monkeypatch.setattr(place, "MOUNTS", mounts)
    with pytest.raises(AbsentiaError) as refusal:
        Ledger.open(tmp_path / "study.ledger")
    assert (refusal.value.code, refusal.value.exit_code) == ("H-NETWORK", 4)


@pytest.mark.parametrize("how", ["another file in its place", "gone", "edited"])
def test_a_ledger_that_is_no_longer_the_one_that_was_opened(tmp_path: Path, how: str, undrawn: None) -> None:
    path = tmp_path / "study.ledger"
    with book_of(tmp_path, planned()) as book:
        if how == "another file in its place":
            os.replace(copy_book(path, tmp_path / "copy"), path)
        elif how == "gone":
            path.unlink()
        else:
            raw = sqlite3.connect(path)
            raw.execute("DROP TRIGGER rows_keep")
            raw.execute("UPDATE rows SET purpose = 'another'")
            raw.commit()
            raw.close()
        refusal = refused(book, "L-DAMAGED" if how == "edited" else "L-MOVED")
        assert isinstance(refusal, LedgerDamaged)
        assert refusal.exit_code == 5


def test_a_rolled_back_ledger_is_convicted_by_the_receipt(tmp_path: Path) -> None:
    """Somebody puts the ledger back as it was and releases again: the first receipt does not fit the new book."""
    plan, path = planned(), tmp_path / "study.ledger"
    book_of(tmp_path, plan).close()
    copy_book(path, tmp_path / "kept")
    with Ledger.open(path) as book:
        first = plan.release(table(), book, purpose="Table 2")
    copy_book(tmp_path / "kept", path)
    with Ledger.open(path) as book:
        with pytest.raises(LedgerDamaged, match="L-ROLLBACK"):
            book.verify(first.receipt)
        second = plan.release(table(), book, purpose="Table 2")
        book.verify(second.receipt)
        with pytest.raises(LedgerDamaged, match="L-FORK"):
            book.verify(first.receipt)
