"""The SQLite file under a book: write-ahead log, every commit synced, rows that cannot be updated or deleted."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from functools import cache
from pathlib import Path

from absentia.errors import AbsentiaError, HazardRefused, InputError, LedgerDamaged
from absentia.ledger.chain import Header, Row, damaged
from absentia.ledger.place import DURABLE_FIRST, WRITABLE

__all__ = [
    "FORMAT",
    "check_structure",
    "connect",
    "initialise",
    "insert",
    "read_header",
    "read_rows",
    "translated",
    "writing",
]

FORMAT = 1
APPLICATION = 0x61627374  # "abst"
BUSY_SECONDS = 120.0
SCHEMA = """
CREATE TABLE header (format INTEGER NOT NULL, dataset TEXT NOT NULL, created TEXT NOT NULL, software TEXT NOT NULL);
CREATE TABLE rows (
    sequence INTEGER PRIMARY KEY, time TEXT NOT NULL, kind TEXT NOT NULL, purpose TEXT NOT NULL, plan TEXT NOT NULL,
    text TEXT NOT NULL, salt TEXT NOT NULL, previous TEXT NOT NULL, hash TEXT NOT NULL
);
CREATE TRIGGER rows_stay BEFORE DELETE ON rows BEGIN SELECT RAISE(ABORT, 'rows are never removed'); END;
CREATE TRIGGER rows_keep BEFORE UPDATE ON rows BEGIN SELECT RAISE(ABORT, 'rows are never changed'); END;
CREATE TRIGGER header_stays BEFORE DELETE ON header BEGIN SELECT RAISE(ABORT, 'the header is never removed'); END;
CREATE TRIGGER header_keeps BEFORE UPDATE ON header BEGIN SELECT RAISE(ABORT, 'the header is never changed'); END;
"""


def connect(path: Path) -> sqlite3.Connection:
    """A connection to an existing ledger whose durability settings were read back; anything else is refused."""
    db = sqlite3.connect(
        f"{path.as_uri()}?mode=rw", uri=True, isolation_level=None, timeout=BUSY_SECONDS, check_same_thread=False
    )
    try:
        _check_format(db, path)  # before any setting is written: the file may be somebody else's
        make_durable(db)
        check_structure(db)
    except BaseException:
        db.close()
        raise
    return db


def check_structure(db: sqlite3.Connection) -> None:
    """Nothing, or LedgerDamaged: the tables and triggers are those of a new ledger, and there are no others.

    A trigger of somebody else's could undo what a charge writes.
    """
    if _structure(db) != _written_structure():
        raise damaged("The file holds other tables or triggers than a ledger has.")


def _structure(db: sqlite3.Connection) -> list[tuple[str, str, str]]:
    return db.execute("SELECT type, name, sql FROM sqlite_schema ORDER BY name").fetchall()


@cache
def _written_structure() -> list[tuple[str, str, str]]:
    with closing(sqlite3.connect(":memory:")) as db:
        db.executescript(SCHEMA)
        return _structure(db)


def initialise(path: Path, header: Header, first: Row) -> None:
    """A complete ledger with its first row in a new file, all of it in the main file and none in a log."""
    db = sqlite3.connect(path, isolation_level=None)
    try:
        db.execute(f"PRAGMA application_id = {APPLICATION}")
        db.execute(f"PRAGMA user_version = {FORMAT}")
        make_durable(db)
        db.executescript(SCHEMA)
        db.execute("BEGIN IMMEDIATE")
        entries = (header.format, header.dataset, header.created, header.software)
        db.execute("INSERT INTO header VALUES (?, ?, ?, ?)", entries)
        insert(db, first)
        db.execute("COMMIT")
        db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    finally:
        db.close()


def make_durable(db: sqlite3.Connection) -> None:
    """WAL with synchronous FULL: COMMIT returns after the log is synced. Asserted, because both can be refused."""
    mode = db.execute("PRAGMA journal_mode = WAL").fetchone()[0]
    db.execute("PRAGMA synchronous = FULL")
    db.execute("PRAGMA fullfsync = ON")  # where fsync alone does not reach the disk
    db.execute("PRAGMA checkpoint_fullfsync = ON")
    db.execute("PRAGMA trusted_schema = OFF")
    if mode != "wal" or db.execute("PRAGMA synchronous").fetchone()[0] < 2:
        raise HazardRefused(
            "H-DURABLE",
            "SQLite cannot keep this file with a write-ahead log and synchronous commits.",
            "A charge must be durable before noise is drawn.",
            "Keep the ledger on a local disk of an ordinary kind.",
        )


@contextmanager
def writing(db: sqlite3.Connection) -> Iterator[None]:
    """One transaction that sees no other writer; committed and synced when the block ends, else undone."""
    _begin(db)
    try:
        yield
        db.execute("COMMIT")
    except BaseException:
        if db.in_transaction:
            with suppress(sqlite3.Error):
                db.execute("ROLLBACK")
        raise


def _begin(db: sqlite3.Connection) -> None:
    """The write lock. SQLite waits in steps that grow to 100 ms; many short charges pass sooner if asked often."""
    deadline = time.monotonic() + BUSY_SECONDS
    db.execute("PRAGMA busy_timeout = 3")
    try:
        while True:
            try:
                db.execute("BEGIN IMMEDIATE")
                return
            except sqlite3.OperationalError as error:
                if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY or time.monotonic() > deadline:
                    raise
    finally:
        db.execute(f"PRAGMA busy_timeout = {int(1000 * BUSY_SECONDS)}")


def insert(db: sqlite3.Connection, row: Row) -> None:
    """The row written, and read again; durable when the transaction is."""
    entries = (row.sequence, row.time, row.kind, row.purpose, row.plan, row.text, row.salt, row.previous, row.hash)
    db.execute("INSERT INTO rows VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)", entries)
    if read_rows(db, row.sequence) != [row]:
        raise damaged(f"Row {row.sequence} was written and does not stand.")


def read_rows(db: sqlite3.Connection, start: int = 0) -> list[Row]:
    """The rows from a sequence number on, in order, each of the types that it was written with."""
    found = db.execute(
        "SELECT sequence, time, kind, purpose, plan, text, salt, previous, hash FROM rows "
        "WHERE sequence >= ? ORDER BY sequence",
        (start,),
    )
    return [_row(entries) for entries in found]


def _row(entries: tuple[object, ...]) -> Row:
    if type(entries[0]) is not int or any(type(entry) is not str for entry in entries[1:]):
        raise damaged(f"Row {entries[0]} does not hold what a row holds.")
    return Row(*entries)  # type: ignore[arg-type]


def read_header(db: sqlite3.Connection) -> Header:
    """The header, which the file states twice: in its table and in its format number."""
    found = db.execute("SELECT format, dataset, created, software FROM header").fetchall()
    if len(found) != 1:
        raise damaged("The ledger has no header, or several.")
    header = Header(*found[0])
    if header.format != db.execute("PRAGMA user_version").fetchone()[0]:
        raise damaged("The ledger's format and its header disagree.")
    if (
        not isinstance(header.dataset, str)
        or len(header.dataset) != 32
        or set(header.dataset) - set("0123456789abcdef")
    ):
        raise damaged("The ledger's dataset identity is not one.")
    return header


def _check_format(db: sqlite3.Connection, path: Path) -> None:
    if db.execute("PRAGMA application_id").fetchone()[0] != APPLICATION:
        raise LedgerDamaged(
            "L-NOT-A-LEDGER",
            f"{path} is not a ledger, or its first page is damaged.",
            "Nothing is written into a file that does not say it is a ledger.",
            "If it is empty, its creation was interrupted and nothing was charged: remove it and create again.",
        )
    version = db.execute("PRAGMA user_version").fetchone()[0]
    if version > FORMAT:
        raise InputError(
            "ledger format", version, f"up to {FORMAT}", "L-VERSION", "Update absentia to open this ledger."
        )


@contextmanager
def translated(path: Path) -> Iterator[None]:
    """SQLite's errors in our words. None of them means that a charge was acknowledged."""
    try:
        yield
    except sqlite3.Error as error:
        raise _in_our_words(path, getattr(error, "sqlite_errorcode", 0) & 0xFF, str(error)) from error
    except UnicodeDecodeError as error:  # the sqlite3 module meets damaged text, sometimes in its own message
        raise _in_our_words(path, sqlite3.SQLITE_CORRUPT, "text that is not UTF-8") from error


def _in_our_words(path: Path, code: int, error: str) -> AbsentiaError:
    rule = DURABLE_FIRST
    if code in (sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR):
        return HazardRefused("H-DISK", f"The disk did not take the charge ({error}).", rule, "Make room and ask again.")
    if code in (sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PERM):
        return HazardRefused("H-READONLY", f"{path} cannot be written ({error}).", rule, WRITABLE)
    if code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
        return AbsentiaError("L-BUSY", f"Other writers held {path} for {BUSY_SECONDS:.0f} s.", rule, "Ask again.")
    return damaged(f"SQLite cannot read {path} ({error}).")
