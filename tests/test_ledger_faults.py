"""Damage, tampering, bad places: what is wrong is seen, and nothing is charged where it could not be kept."""

from __future__ import annotations

import os
import random
import resource
import shutil
import signal
import sqlite3
from collections import namedtuple
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pytest

from absentia.errors import AbsentiaError, HazardRefused, InputError, LedgerDamaged
from absentia.ledger import place, store
from absentia.ledger.book import Book
from absentia.ledger.chain import Receipt, Row, seal
from absentia.noise import bits
from ledger_helpers import TERMS, copy_book, fork, wait


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A closed ledger of five charges."""
    target = tmp_path / "study.ledger"
    with Book.create(target, TERMS) as book:
        for n in range(5):
            book.append("charge", {"cost": f"1/{n + 2}"}, purpose=f"Table {n}")
    return target


def last_receipt(path: Path) -> Receipt:
    with Book.open(path) as book:
        return book.head


def tamper(path: Path, *statements: str) -> None:
    """What somebody does who may write the file and knows SQLite: the triggers are put back afterwards."""
    db = sqlite3.connect(path)
    triggers = db.execute("SELECT name, sql FROM sqlite_schema WHERE type = 'trigger'").fetchall()
    for name, _ in triggers:
        db.execute(f"DROP TRIGGER {name}")
    for statement in statements:
        db.execute(statement)
    for _, text in triggers:
        with suppress(sqlite3.OperationalError):  # its table is gone
            db.execute(text)
    db.commit()
    db.close()


EDITS = [
    'UPDATE rows SET text = \'{"cost":"1/9"}\' WHERE sequence = 2',
    "UPDATE rows SET time = '2001-01-01T00:00:00.000000+00:00' WHERE sequence = 5",
    "UPDATE rows SET purpose = 'Table 9' WHERE sequence = 1",
    "UPDATE rows SET kind = 'note' WHERE sequence = 3",
    "UPDATE rows SET plan = 'ff' WHERE sequence = 3",
    "UPDATE rows SET salt = '' WHERE sequence = 3",
    "UPDATE rows SET hash = '00' WHERE sequence = 5",
    "UPDATE rows SET text = 7 WHERE sequence = 4",
    "UPDATE rows SET text = x'ff00' WHERE sequence = 4",
    "DELETE FROM rows WHERE sequence = 3",
    "DELETE FROM rows WHERE sequence = 0",
    "DELETE FROM rows",
    "UPDATE rows SET sequence = sequence + 10 WHERE sequence > 3",
    "UPDATE header SET software = '0.0.0'",
    "UPDATE header SET format = 0",
    "UPDATE header SET dataset = '00000000000000000000000000000000'",
    "UPDATE header SET dataset = 'no'",
    "DELETE FROM header",
    "PRAGMA user_version = 0",
    "DROP TABLE rows",
]


@pytest.mark.parametrize("statement", EDITS)
def test_every_edit_is_seen_at_opening(path: Path, statement: str) -> None:
    tamper(path, statement)
    with pytest.raises(LedgerDamaged):
        Book.open(path)


@pytest.mark.parametrize("statement", ["UPDATE rows SET purpose = ''", "DELETE FROM rows", "DELETE FROM header"])
def test_the_file_itself_refuses_careless_edits(path: Path, statement: str) -> None:
    db = sqlite3.connect(path)
    with pytest.raises(sqlite3.IntegrityError, match="never"):
        db.execute(statement)
    db.close()
    assert last_receipt(path).sequence == 5


QUIET = "CREATE TRIGGER quiet AFTER INSERT ON rows BEGIN DELETE FROM rows WHERE sequence = NEW.sequence; END"


@pytest.mark.parametrize("others", [(QUIET,), ("DROP TRIGGER rows_stay",), ("CREATE VIEW v AS SELECT 1",)])
def test_other_triggers_than_the_ledgers_own_are_seen(path: Path, others: tuple[str, ...]) -> None:
    db = sqlite3.connect(path)
    for statement in others:
        db.execute(statement)
    db.commit()
    db.close()
    with pytest.raises(LedgerDamaged, match="tables or triggers"):
        Book.open(path)


def test_a_charge_that_a_trigger_takes_back_is_no_charge(path: Path) -> None:
    with Book.open(path) as book:
        db = sqlite3.connect(path)
        db.execute("DROP TRIGGER rows_stay")
        db.execute(QUIET)
        db.commit()
        db.close()
        with pytest.raises(LedgerDamaged):
            book.append("charge", {"cost": "1"})
        with pytest.raises(LedgerDamaged):
            book.verify()


def test_a_chain_rewritten_from_the_inside_is_seen_by_a_receipt(path: Path) -> None:
    """Whoever rewrites every hash makes a book that agrees with itself, but not with a receipt."""
    receipt = last_receipt(path)
    with Book.open(path) as book:
        header, rows = book.header, list(book.rows())
    forged: list[Row] = []
    for row in rows:
        text = row.text.replace("1/3", "1/30")
        kept = {name: getattr(row, name) for name in ("time", "kind", "purpose", "plan", "salt")}
        forged.append(seal(header, forged[-1] if forged else None, text=text, **kept))
    tamper(path, "DELETE FROM rows")
    db = sqlite3.connect(path)
    for row in forged:
        store.insert(db, row)
    db.commit()
    db.close()
    with Book.open(path) as book:
        assert book.rows()[2].payload == {"cost": "1/30"}
        with pytest.raises(LedgerDamaged) as refusal:
            book.verify(receipt)
    assert refusal.value.code == "L-FORK"


def test_truncation_rollback_fork_and_exchange_are_seen_by_a_receipt(path: Path, tmp_path: Path) -> None:
    old = copy_book(path, tmp_path / "old.ledger")
    twin = copy_book(path, tmp_path / "twin.ledger")
    with Book.open(path) as book, Book.open(twin) as other:
        receipt = book.append("charge", {"cost": "1"})
        other.append("charge", {"cost": "1"})
        with pytest.raises(LedgerDamaged) as forked:
            other.verify(receipt)
    with Book.open(old) as book, pytest.raises(LedgerDamaged) as rolled_back:
        book.verify(receipt)
    tamper(path, "DELETE FROM rows WHERE sequence > 4")
    with Book.open(path) as book, pytest.raises(LedgerDamaged) as truncated:
        book.verify(receipt)
    with Book.create(tmp_path / "other.ledger", TERMS) as book, pytest.raises(LedgerDamaged) as exchanged:
        book.verify(receipt)
    codes = [refusal.value.code for refusal in (forked, rolled_back, truncated, exchanged)]
    assert codes == ["L-FORK", "L-ROLLBACK", "L-ROLLBACK", "L-OTHER"]


def test_a_file_put_in_the_place_of_an_open_book_is_not_charged(path: Path, tmp_path: Path) -> None:
    old = copy_book(path, tmp_path / "old.ledger")
    with Book.open(path) as book:
        book.append("charge", {"cost": "1"})
        os.replace(old, path)
        with pytest.raises(LedgerDamaged) as refusal:
            book.append("charge", {"cost": "1"})
        assert refusal.value.code == "L-MOVED"
    os.remove(path)


def test_a_file_that_is_gone_is_not_charged(path: Path) -> None:
    with Book.open(path) as book:
        os.remove(path)
        with pytest.raises(LedgerDamaged) as refusal:
            book.append("charge", {"cost": "1"})
    assert refusal.value.code == "L-MOVED"
    assert not path.exists()


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (sqlite3.SQLITE_FULL, "H-DISK"),
        (sqlite3.SQLITE_IOERR_FSYNC, "H-DISK"),
        (sqlite3.SQLITE_READONLY_DIRECTORY, "H-READONLY"),
        (sqlite3.SQLITE_CANTOPEN, "H-READONLY"),
        (sqlite3.SQLITE_LOCKED, "L-BUSY"),
        (sqlite3.SQLITE_CORRUPT, "L-DAMAGED"),
        (sqlite3.SQLITE_NOTADB, "L-DAMAGED"),
        (sqlite3.SQLITE_CONSTRAINT, "L-DAMAGED"),
    ],
)
def test_a_commit_that_fails_is_no_charge_and_has_its_code(
    path: Path, monkeypatch: pytest.MonkeyPatch, error: int, code: str
) -> None:
    def fail(*_: object) -> None:
        raised = sqlite3.OperationalError("planted")
        raised.sqlite_errorcode = error
        raise raised

    with Book.open(path) as book:
        with monkeypatch.context() as patch:
            patch.setattr(store, "insert", fail)
            with pytest.raises(AbsentiaError) as refusal:
                book.append("charge", {"cost": "1"})
        assert refusal.value.code == code
        assert book.append("charge", {"cost": "1"}).sequence == 6


def test_a_header_edited_behind_an_open_book_is_seen(path: Path) -> None:
    with Book.open(path) as book:
        tamper(path, "UPDATE header SET software = '0.0.0'")
        with pytest.raises(LedgerDamaged):
            book.verify()


def test_an_edit_behind_an_open_book_is_seen(path: Path) -> None:
    with Book.open(path) as book:
        book.rows()
        tamper(path, "UPDATE rows SET purpose = 'x' WHERE sequence = 5")
        with pytest.raises(LedgerDamaged):
            book.append("charge", {"cost": "1"})
    db = sqlite3.connect(path)
    assert db.execute("SELECT count(*) FROM rows").fetchone() == (6,)
    db.close()


def test_an_earlier_edit_behind_an_open_book_is_seen_by_verify(path: Path) -> None:
    with Book.open(path) as book:
        book.rows()
        tamper(path, "UPDATE rows SET purpose = 'x' WHERE sequence = 2")
        with pytest.raises(LedgerDamaged):
            book.verify()


def test_newer_formats_are_refused_and_left_alone(path: Path) -> None:
    tamper(path, "PRAGMA user_version = 2")
    before = path.read_bytes()
    with pytest.raises(InputError) as refusal:
        Book.open(path)
    assert refusal.value.code == "L-VERSION"
    assert path.read_bytes() == before


def test_other_files_are_refused_and_left_alone(tmp_path: Path) -> None:
    for name, content in (("empty", b""), ("text", b"epsilon = 1\n" * 400), ("short", b"SQLite format 3\0")):
        (tmp_path / name).write_bytes(content)
    db = sqlite3.connect(tmp_path / "database")
    db.execute("CREATE TABLE header (a)")
    db.close()
    for name in ("empty", "text", "short", "database"):
        before = (tmp_path / name).read_bytes()
        with pytest.raises(LedgerDamaged):
            Book.open(tmp_path / name)
        assert (tmp_path / name).read_bytes() == before


def test_a_flipped_bit_anywhere_is_seen_or_changes_nothing(path: Path, tmp_path: Path) -> None:
    content, receipt = path.read_bytes(), last_receipt(path)
    with Book.open(path) as book:
        rows = book.rows()
    rng, seen = random.Random(4), 0
    used = [i for i, byte in enumerate(content) if byte]
    for position in rng.sample(used, 120) + rng.sample(range(len(content)), 30) + list(range(0, 100, 5)):
        damaged = bytearray(content)
        damaged[position] ^= 1 << rng.randrange(8)
        other = tmp_path / f"{position}.ledger"
        other.write_bytes(damaged)
        try:
            with Book.open(other) as book:
                book.verify(receipt)
                assert book.rows() == rows
        except AbsentiaError:
            seen += 1
    assert seen > 100


def acknowledged(path: Path, count: int) -> tuple[bytes, bytes, bytes, list[tuple[int, Receipt]]]:
    """The file before and after its log is folded in, the log, and how long the log was at every receipt."""
    with Book.create(path, TERMS) as book:
        log = Path(f"{path}-wal")
        receipts = []
        for n in range(count):
            receipts.append((log.stat().st_size if log.exists() else 0, book.append("charge", {"cost": f"1/{n + 2}"})))
        sizes = [size for size, _ in receipts[1:]] + [log.stat().st_size]
        before, written = path.read_bytes(), log.read_bytes()
    return before, path.read_bytes(), written, [(size, r) for size, (_, r) in zip(sizes, receipts, strict=True)]


@pytest.mark.parametrize("tail", ["missing", "zeros", "noise"])
def test_power_lost_at_any_byte_of_the_log(tmp_path: Path, tail: str) -> None:
    """What was synced survives; what was being written is there completely or not at all."""
    before, _, log, receipts = acknowledged(tmp_path / "study.ledger", 12)
    rng = random.Random(7)
    cuts = [size + d for size, _ in receipts for d in (-1, 0, 1)] + [rng.randrange(len(log)) for _ in range(20)]
    for cut in (c for c in cuts if c <= len(log)):
        lost = len(log) - cut
        torn = {"missing": b"", "zeros": bytes(lost), "noise": rng.randbytes(lost)}[tail]
        other = tmp_path / f"{cut}.ledger"
        other.write_bytes(before)
        Path(f"{other}-wal").write_bytes(log[:cut] + torn)
        with Book.open(other) as book:
            durable = [receipt for size, receipt in receipts if size <= cut]
            for receipt in durable:
                book.verify(receipt)
            assert len(book.rows()) == 1 + len(durable)
            book.append("charge", {"cost": "1"})


def test_power_lost_while_the_log_is_folded_into_the_file(tmp_path: Path) -> None:
    before, after, log, receipts = acknowledged(tmp_path / "study.ledger", 60)
    assert len(after) > len(before)
    rng, page = random.Random(3), 4096
    for n in range(15):
        mixed = bytearray(before.ljust(len(after), b"\0") if n % 2 else before)
        for start in range(0, len(mixed), page):
            if rng.random() < 0.5:
                mixed[start : start + page] = after[start : start + page]
        other = tmp_path / f"{n}.ledger"
        other.write_bytes(mixed)
        Path(f"{other}-wal").write_bytes(log)
        with Book.open(other) as book:
            assert book.verify(receipts[0][1]) == receipts[-1][1]


MOUNTS = """
21 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw
30 21 0:40 / /home rw - nfs4 server:/home rw
31 30 8:2 / /home/me/local rw - xfs /dev/sdb1 rw
32 21 0:41 / /mnt/two\\040words rw - cifs //server/share rw
33 21 0:42 / /over rw - ext4 /dev/sdc1 rw
34 21 0:43 / /over rw - fuse.sshfs host: rw
broken line
"""


@pytest.mark.parametrize(
    ("where", "kind"),
    [
        ("/var/x", "ext4"),
        ("/home/me/x", "nfs4"),
        ("/home/me/local/x", "xfs"),
        ("/home2/x", "ext4"),
        ("/mnt/two words/x", "cifs"),
        ("/over/x", "fuse.sshfs"),
    ],
)
def test_filesystem_type_follows_the_mounts(where: str, kind: str) -> None:
    assert place.filesystem_type(Path(where), MOUNTS) == kind
    assert place.filesystem_type(Path(where), "") is None


Usage = namedtuple("Usage", "total used free")


def no_access(*_: object) -> bool:
    return False


def no_bits(_: int) -> bytes:
    raise OSError("no entropy")


def on_nfs(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    mounts = tmp_path / "mountinfo"
    mounts.write_text(f"1 1 0:1 / / rw - ext4 a rw\n2 1 0:2 / {tmp_path} rw - nfs4 b rw\n")
    monkeypatch.setattr(place, "MOUNTS", mounts)


BAD_PLACES: dict[str, Callable[[pytest.MonkeyPatch, Path], None]] = {
    "H-DISK": lambda patch, _: patch.setattr(shutil, "disk_usage", lambda _: Usage(1, 1, 0)),
    "H-READONLY": lambda patch, _: patch.setattr(place.os, "access", no_access),
    "H7": lambda patch, _: patch.setattr(bits.os, "urandom", no_bits),
    "H-NETWORK": on_nfs,
}


@pytest.mark.parametrize("code", BAD_PLACES)
def test_bad_places_are_refused_before_anything_is_charged(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: str
) -> None:
    before = path.read_bytes()
    with monkeypatch.context() as patch:
        BAD_PLACES[code](patch, tmp_path)
        with pytest.raises(HazardRefused) as refusal:
            Book.create(tmp_path / "new.ledger", TERMS)
        assert refusal.value.code == code
        assert not (tmp_path / "new.ledger").exists()
        with pytest.raises(HazardRefused) as refusal, Book.open(path) as book:
            book.append("charge", {"cost": "1"})
        assert refusal.value.code == code
    assert path.read_bytes() == before
    assert last_receipt(path).sequence == 5


def test_links(path: Path, tmp_path: Path) -> None:
    """A symbolic link is the same book with the same log; a second hard name would have its own log and is refused."""
    soft, hard = tmp_path / "soft.ledger", tmp_path / "hard.ledger"
    soft.symlink_to(path)
    with Book.open(soft) as one, Book.open(path) as two:
        receipt = one.append("charge", {"cost": "1"})
        assert two.head == receipt
    os.link(path, hard)
    for name in (path, hard):
        with pytest.raises(HazardRefused) as refusal:
            Book.open(name)
        assert refusal.value.code == "H-LINK"
    hard.unlink()
    assert last_receipt(path) == receipt
    (tmp_path / "other").mkdir()
    (tmp_path / "dangling.ledger").symlink_to(tmp_path / "other" / "new.ledger")
    Book.create(tmp_path / "dangling.ledger", TERMS).close()
    assert last_receipt(tmp_path / "other" / "new.ledger").sequence == 0


def test_a_disk_that_really_refuses_bytes(path: Path) -> None:
    """A child may write only so much; what it acknowledged is there, what it was refused is not."""
    acks = path.with_name("acks")

    def fill() -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, 200_000))
        with Book.open(path) as book, acks.open("a") as out:
            refused = None
            while refused is None:
                try:
                    receipt = book.append("charge", {"cost": "1", "padding": "x" * 2000})
                    print(receipt.sequence, file=out, flush=True)
                except HazardRefused as refusal:
                    refused = refusal.code
            assert refused == "H-DISK"

    assert wait(fork(fill)) == 0
    written = [int(line) for line in acks.read_text().split()]
    assert len(written) > 10
    assert last_receipt(path).sequence == written[-1]
    with Book.open(path) as book:
        assert book.append("charge", {"cost": "1"}).sequence == written[-1] + 1


def test_writers_that_hold_too_long_are_named_as_busy(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store, "BUSY_SECONDS", 0.05)
    blocker = sqlite3.connect(path, isolation_level=None)
    blocker.execute("BEGIN IMMEDIATE")
    with Book.open(path) as book, pytest.raises(AbsentiaError) as refusal:
        book.append("charge", {"cost": "1"})
    assert refusal.value.code == "L-BUSY"
    blocker.close()
    assert last_receipt(path).sequence == 5


def test_a_disk_without_durable_commits_is_refused(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Weak(sqlite3.Connection):
        def execute(self, sql: str, *more: object) -> sqlite3.Cursor:  # type: ignore[override]
            return super().execute(sql.replace("journal_mode = WAL", "journal_mode"), *more)

    db = sqlite3.connect(path.with_name("new"), factory=Weak)
    with pytest.raises(HazardRefused) as refusal:
        store.make_durable(db)
    assert refusal.value.code == "H-DURABLE"
    db.close()


def test_receipt_of_the_same_row_with_another_time_is_not_the_receipt(path: Path) -> None:
    receipt = last_receipt(path)
    with Book.open(path) as book, pytest.raises(LedgerDamaged):
        book.verify(replace(receipt, time="2001-01-01T00:00:00.000000+00:00"))
