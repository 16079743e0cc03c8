"""The book does what it says: rows, receipts, guards, exports, and refusals of bad input."""

from __future__ import annotations

import json
import os
import sqlite3
import stat
import threading
import warnings
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from absentia.errors import BudgetRefused, InputError, LedgerDamaged
from absentia.ledger import book as book_module
from absentia.ledger.book import Book, ClockWarning
from absentia.ledger.chain import Receipt, Row, canonical, verify_export
from ledger_helpers import TERMS, within


@pytest.fixture
def book(tmp_path: Path) -> Any:
    with Book.create(tmp_path / "study.ledger", TERMS) as made:
        yield made


def test_what_is_appended_is_read_back_in_order(book: Book) -> None:
    first = book.append("charge", {"cost": "1/3", "scale": 0.1}, purpose="Table 2", plan="ab" * 32)
    second = book.append("note", {"text": "Größe"})
    assert (first.sequence, second.sequence) == (1, 2)
    opening, charge, note = book.rows()
    assert (opening.kind, opening.payload, book.terms) == ("open", TERMS, TERMS)
    assert charge.payload == {"cost": "1/3", "scale": 0.1}
    assert (charge.purpose, charge.plan, charge.kind) == ("Table 2", "ab" * 32, "charge")
    assert note.payload == {"text": "Größe"}
    assert book.head == second == book.verify(first) == book.verify(second.to_dict())
    assert opening.time <= charge.time <= note.time


def test_reopening_and_a_second_handle_see_every_row(book: Book) -> None:
    with Book.open(book.path) as other:
        receipt = other.append("charge", {"cost": "1"})
        assert book.head == receipt
        mine = book.append("charge", {"cost": "2"})
        assert other.rows() == book.rows()
    with Book.open(book.path) as later:
        assert later.verify(mine) == mine
        assert later.dataset == book.dataset
        assert later.terms == TERMS


def test_guard_sees_all_rows_and_its_refusal_leaves_no_trace(book: Book) -> None:
    guard = within(Fraction(1))
    for _ in range(3):
        book.append("charge", {"cost": "1/3"}, guard)
    before = book.rows()
    with pytest.raises(BudgetRefused):
        book.append("charge", {"cost": "1/1000000000000000000000"}, guard)
    with pytest.raises(ZeroDivisionError):
        book.append("charge", {"cost": "0"}, lambda rows, payload: 1 // 0)  # type: ignore[arg-type,return-value]
    assert book.rows() == before
    assert book.append("charge", {"cost": "0"}, guard).sequence == 4


def test_a_guard_cannot_change_what_is_written(book: Book) -> None:
    def meddle(rows: tuple[Row, ...], payload: dict[str, Any]) -> None:
        payload["cost"] = "0"
        rows[0].payload["budget"] = "infinite"

    book.append("charge", {"cost": "1"}, meddle)
    assert book.rows()[1].payload == {"cost": "1"}
    assert book.terms == TERMS


def test_durability_settings_hold_in_the_file_and_the_connection(book: Book) -> None:
    db = book._db
    assert db is not None
    assert db.execute("PRAGMA journal_mode").fetchone() == ("wal",)
    assert db.execute("PRAGMA synchronous").fetchone() == (2,)


def test_identity_is_random_and_says_nothing_of_the_terms(tmp_path: Path) -> None:
    books = [Book.create(tmp_path / f"{i}.ledger", TERMS) for i in range(20)]
    assert len({book.dataset for book in books}) == 20
    assert len({book.head.head for book in books}) == 20
    assert all(len(book.dataset) == 32 for book in books)


def test_an_existing_file_is_never_written_over(tmp_path: Path) -> None:
    path = tmp_path / "study.ledger"
    Book.create(path, TERMS).close()
    before = path.read_bytes()
    with pytest.raises(InputError, match="stands yet"):
        Book.create(path, TERMS)
    assert path.read_bytes() == before
    path.unlink()
    Path(f"{path}-wal").write_bytes(b"left over from another file")
    with pytest.raises(InputError, match="stands yet"):
        Book.create(path, TERMS)


def test_creation_leaves_one_file_and_honours_the_umask(tmp_path: Path) -> None:
    before = os.umask(0o077)
    try:
        Book.create(tmp_path / "study.ledger", TERMS).close()
    finally:
        os.umask(before)
    assert os.listdir(tmp_path) == ["study.ledger"]
    assert stat.S_IMODE((tmp_path / "study.ledger").stat().st_mode) == 0o600


def test_failed_creation_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise sqlite3.OperationalError("disk full")

    monkeypatch.setattr(book_module.store, "insert", full)
    with pytest.raises(LedgerDamaged):
        Book.create(tmp_path / "study.ledger", TERMS)
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize(
    ("kind", "payload"),
    [
        ("charge", {"cost": float("nan")}),
        ("charge", {"cost": {1, 2}}),
        ("charge", {("a",): 1}),
        ("charge", ["cost"]),
        ("charge", "cost"),
        ("spend", {"cost": "1"}),
        ("open", {"cost": "1"}),
    ],
)
def test_bad_rows_are_refused_and_not_written(book: Book, kind: str, payload: Any) -> None:
    with pytest.raises(InputError):
        book.append(kind, payload)
    assert len(book.rows()) == 1


def test_bad_labels_terms_and_paths_are_refused(book: Book, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="purpose"):
        book.append("note", {}, purpose="\ud800")
    with pytest.raises(InputError, match="plan"):
        book.append("note", {}, plan=None)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="terms"):
        Book.create(tmp_path / "other.ledger", ["budget"])  # type: ignore[arg-type]
    with pytest.raises(InputError, match="exists"):
        Book.create(tmp_path / "absent" / "other.ledger", TERMS)
    for absent in (tmp_path / "absent.ledger", tmp_path):
        with pytest.raises(InputError, match="exists"):
            Book.open(absent)
    assert sorted(os.listdir(tmp_path)) == ["study.ledger", "study.ledger-shm", "study.ledger-wal"]


def test_a_closed_book_says_so(book: Book) -> None:
    book.close()
    book.close()
    with pytest.raises(InputError, match="closed"):
        book.append("note", {})
    with pytest.raises(InputError, match="closed"):
        book.rows()


def test_clock_moved_back_only_warns(book: Book, monkeypatch: pytest.MonkeyPatch) -> None:
    book.append("note", {"n": 1})
    monkeypatch.setattr(book_module, "_now", lambda: "2001-01-01T00:00:00.000000+00:00")
    with pytest.warns(ClockWarning):
        book.append("note", {"n": 2})
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # not behind the row before it: nothing to warn of
        receipt = book.append("note", {"n": 3})
    assert [row.payload.get("n") for row in book.rows()] == [None, 1, 2, 3]
    assert book.verify(receipt) == receipt


def test_export_verifies_without_the_file(book: Book) -> None:
    receipt = book.append("charge", {"cost": "1/3", "reach": [0.5, 1e-300]}, purpose="Table 2")
    book.append("note", {"text": "é"})
    export = json.loads(json.dumps(book.export()))
    assert verify_export(export, receipt) == list(book.rows())
    assert set(export) == {"header", "rows", "head"}
    assert export["rows"][1]["payload"] == {"cost": "1/3", "reach": [0.5, 1e-300]}


def test_edited_exports_are_seen(book: Book) -> None:
    earlier = book.head.to_dict()
    receipt = book.append("charge", {"cost": "1/3"})
    text = json.dumps(book.export())
    for edit in (
        lambda e: e["rows"][1]["payload"].update(cost="1/9"),
        lambda e: e["rows"][0].update(time="2001-01-01T00:00:00.000000+00:00"),
        lambda e: e["header"].update(format=0),
        lambda e: e["header"].update(software="0.0.0"),
        lambda e: e["rows"].pop(),
        lambda e: e["rows"].pop(0),
        lambda e: e.update(head=earlier),
        lambda e: (e["rows"].pop(), e.update(head={**e["head"], "sequence": 0, "head": e["rows"][0]["hash"]})),
    ):
        export = json.loads(text)
        edit(export)
        with pytest.raises(LedgerDamaged):
            verify_export(export, receipt)
    for broken in ({}, {"header": {}, "rows": [], "head": {}}, {**json.loads(text), "rows": [1]}):
        with pytest.raises(InputError):
            verify_export(broken)


def test_receipts_survive_json_and_nothing_else_passes_for_one(book: Book) -> None:
    receipt = book.head
    assert Receipt.from_dict(json.loads(json.dumps(receipt.to_dict()))) == receipt
    for wrong in ({}, {**receipt.to_dict(), "sequence": True}, {**receipt.to_dict(), "more": 1}):
        with pytest.raises(InputError, match="receipt"):
            book.verify(wrong)
    for field, value in (("sequence", 7), ("head", "0" * 64), ("time", "2001"), ("dataset", "0" * 32)):
        with pytest.raises(LedgerDamaged):
            book.verify({**receipt.to_dict(), field: value})


def test_threads_share_one_book(book: Book) -> None:
    refused = []

    def spend() -> None:
        for _ in range(10):
            try:
                book.append("charge", {"cost": "1/7"}, within(Fraction(5)))
            except BudgetRefused:
                refused.append(1)

    threads = [threading.Thread(target=spend) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(book.rows()) == 1 + 35
    assert len(refused) == 80 - 35
    book.verify()


json_st = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)


@given(st.dictionaries(st.text(), json_st, max_size=5))
def test_canonical_text_is_one_text_and_loses_nothing(value: dict[str, Any]) -> None:
    text = canonical(value)
    assert json.loads(text) == value
    assert canonical(json.loads(text)) == text
    assert canonical(dict(reversed(list(value.items())))) == text
    assert text.isascii()
