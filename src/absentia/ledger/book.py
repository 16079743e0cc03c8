"""The durable book of one dataset: what was promised at opening, and every charge since.

`append` charges in one transaction: read the rows, ask the guard, insert, commit, sync; only then is there a receipt.
The book knows nothing of privacy: the guard is where the total is recomputed from base losses (T7) and refused.
"""

from __future__ import annotations

import json
import os
import threading
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from sqlite3 import Connection
from types import TracebackType
from typing import Any

from absentia.errors import InputError, LedgerDamaged
from absentia.ledger import place, store
from absentia.ledger.chain import Header, Receipt, Row, canonical, check_chain, check_receipt, damaged, seal
from absentia.ledger.forks import put_down_before_forks
from absentia.noise.bits import SystemBits

__all__ = ["Book", "ClockWarning", "Guard"]

Guard = Callable[[tuple[Row, ...], dict[str, Any]], None]  # raises to refuse; must neither append nor fork


_OPEN_ONE = (
    "A dataset has one ledger: look for it first. Where there is none yet, open it: absentia ledger init LEDGER PLAN"
    " (in Python: Ledger.create)."
)


class ClockWarning(UserWarning):
    """The clock stands before the last row's time; rows are ordered by sequence, so nothing else changes."""


class Book:
    """One open ledger file. Safe to share between threads, and to use on both sides of a fork."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._file = place.identity(path)
        self._lock = threading.RLock()
        self._db: Connection | None = None
        self._closed = False
        self._rows: list[Row] = []
        put_down_before_forks(self)
        try:
            with self._using() as db:
                self.header: Header = store.read_header(db)
                self._catch_up(db)
        except BaseException:
            self.close()
            raise

    @classmethod
    def create(cls, path: str | os.PathLike[str], terms: Mapping[str, Any]) -> Book:
        """A new open book whose first row holds the terms: law, budget, relation, envelope, who says so and why.

        The dataset's identity is 128 random bits. An existing file is never written over.
        """
        target = Path(path).resolve()
        text = _object_text(terms, "terms")
        place.check_directory(target)
        place.check_room(target, len(text))
        now = _now()
        header = Header(store.FORMAT, _random_hex(), now, version("absentia"))
        first = seal(header, None, time=now, kind="open", purpose="", plan="", text=text, salt=_random_hex())
        _install(target, header, first)
        return cls.open(target)

    @classmethod
    def open(cls, path: str | os.PathLike[str]) -> Book:
        """The book in an existing file, its whole chain checked."""
        target = Path(path).resolve()
        if not target.is_file():
            raise InputError("ledger", str(path), "a ledger that exists", "E-LEDGER", _OPEN_ONE)
        place.check_directory(target)
        return cls(target)

    @property
    def dataset(self) -> str:
        """The random identity of the dataset."""
        return self.header.dataset

    @property
    def terms(self) -> dict[str, Any]:
        """What was fixed at opening; amendments are rows of kind "amend"."""
        return self.rows()[0].payload

    @property
    def head(self) -> Receipt:
        """The receipt of the last row, whoever wrote it."""
        return self.rows()[-1].receipt(self.dataset)

    def rows(self) -> tuple[Row, ...]:
        """Every row so far, those of other processes included."""
        with self._using() as db:
            return self._catch_up(db)

    def append(
        self, kind: str, payload: Mapping[str, Any], guard: Guard | None = None, *, purpose: str = "", plan: str = ""
    ) -> Receipt:
        """The receipt of a row that is on the disk; the guard, shown all rows and the new payload, may refuse it.

        No other writer acts between what the guard sees and the commit. Whatever raises, no receipt was issued and
        nothing may be drawn; a row without a receipt (killed between commit and return) stays charged.
        """
        text = _object_text(payload, "payload")
        labels = {"purpose": _text(purpose, "purpose"), "plan": _text(plan, "plan")}
        if kind == "open":
            raise InputError("kind", kind, "charge, amend or note: the opening stands in the first row")
        salt = _random_hex()
        place.check_room(self.path, len(text))
        with self._using() as db, store.writing(db):
            rows = self._catch_up(db)
            if guard is not None:
                guard(rows, _fresh(text))
            row = seal(self.header, rows[-1], time=_time_after(rows[-1]), kind=kind, text=text, salt=salt, **labels)
            store.insert(db, row)
        return row.receipt(self.dataset)

    def verify(self, receipt: Receipt | Mapping[str, Any] | None = None) -> Receipt:
        """The receipt of the last row, after everything was read again from the disk; LedgerDamaged if it disagrees.

        Checks the file's structure, the header, the chain, and that the row of the given receipt stands as issued.
        """
        with self._using() as db:
            problems = db.execute("PRAGMA integrity_check").fetchall()
            if problems != [("ok",)]:
                raise damaged(f"SQLite finds {len(problems)} faults in the file.")
            store.check_structure(db)
            if store.read_header(db) != self.header:
                raise damaged("The header changed while the book was open.")
            self._rows.clear()
            rows = self._catch_up(db)
            if receipt is not None:
                check_receipt(
                    self.header, rows, receipt if isinstance(receipt, Receipt) else Receipt.from_dict(receipt)
                )
            return rows[-1].receipt(self.dataset)

    def export(self) -> dict[str, Any]:
        """The whole book as JSON-able values, which `chain.verify_export` checks without the file."""
        rows = self.rows()
        return {
            "header": vars(self.header).copy(),
            "rows": [row.to_dict() for row in rows],
            "head": rows[-1].receipt(self.dataset).to_dict(),
        }

    def close(self) -> None:
        self._closed = True
        self.suspend()
        self.resume()

    def suspend(self) -> None:
        """Without a connection, and with the lock held, until `resume`: what a fork may copy."""
        self._lock.acquire()
        if self._db is not None and not self._db.in_transaction:
            self._db.close()
            self._db = None

    def resume(self) -> None:
        self._lock.release()

    def __enter__(self) -> Book:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _catch_up(self, db: Connection) -> tuple[Row, ...]:
        """All rows: those seen before, whose end must still stand, and the new ones, checked."""
        last = self._rows[-1] if self._rows else None
        found = store.read_rows(db, 0 if last is None else last.sequence)
        if last is not None and (not found or found.pop(0) != last):
            raise damaged(f"Row {last.sequence} changed while the book was open.")
        check_chain(self.header, found, last)
        self._rows.extend(found)
        if not self._rows or self._rows[0].kind != "open":
            raise damaged("The book has no opening row.")
        return tuple(self._rows)

    @contextmanager
    def _using(self) -> Iterator[Connection]:
        with self._lock, store.translated(self.path):
            if self._closed:
                raise InputError("ledger", str(self.path), "an open book; this one was closed")
            if place.identity(self.path) != self._file:
                raise LedgerDamaged(
                    "L-MOVED",
                    f"Another file stands at {self.path} than the one that was opened.",
                    "A charge must be in the book that issued the receipts so far, or it is not counted.",
                    "Open the ledger again and verify it against the newest receipt.",
                )
            if self._db is None:
                self._db = store.connect(self.path)
            yield self._db


def _install(target: Path, header: Header, first: Row) -> None:
    """The complete file appears at `target` at once; the name is taken first, so that two creators cannot both win."""
    leftovers = [name for end in ("", "-wal", "-shm", "-journal") if (name := Path(f"{target}{end}")).exists()]
    try:
        if leftovers:
            raise FileExistsError
        os.close(os.open(target, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o660))
    except FileExistsError:
        raise InputError(
            "ledger", str(target), "a path where no ledger (nor its -wal, -shm or -journal file) stands yet"
        ) from None
    draft = target.with_name(f".{target.name}.{_random_hex()}")
    try:
        with store.translated(target):
            store.initialise(draft, header, first)
        draft.chmod(target.stat().st_mode & 0o777)
        os.replace(draft, target)
        _sync_directory(target.parent)
    except BaseException:
        for name in (draft, target):
            with suppress(FileNotFoundError):
                name.unlink()
        raise


def _sync_directory(directory: Path) -> None:
    if os.name == "posix":
        handle = os.open(directory, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def _object_text(value: Mapping[str, Any], field: str) -> str:
    if not isinstance(value, Mapping):
        raise InputError(field, type(value).__name__, "a JSON object")
    return canonical(dict(value), field)


def _fresh(text: str) -> dict[str, Any]:
    return dict(json.loads(text))


def _text(value: str, field: str) -> str:
    if not isinstance(value, str) or value.encode(errors="replace").decode() != value:
        raise InputError(field, type(value).__name__, "a text that UTF-8 can hold")
    return value


def _random_hex() -> str:
    """128 bits of the operating system, or the refusal (H7) before anything is charged."""
    return SystemBits().words(2).tobytes().hex()


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="microseconds")


def _time_after(last: Row) -> str:
    now = _now()
    if now < last.time:
        warnings.warn(f"the clock stands before row {last.sequence} ({last.time})", ClockWarning, stacklevel=3)
    return now
