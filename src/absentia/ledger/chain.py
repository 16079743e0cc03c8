"""The chain: rows that can only be added to, each sealed to all before it by a keyed hash.

A row's hash is HMAC-SHA256, keyed by the dataset's random identity, of the row and of the hash before it; the first row
is sealed to the header. Whoever holds a receipt (the hash of one row) detects every later edit, removal, rollback or
fork of what came before it. A salt in every row keeps a hash from telling anything about a guessable payload.
"""

from __future__ import annotations

import hashlib
import hmac
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal, get_args

from absentia.errors import InputError, LedgerDamaged

__all__ = [
    "Header",
    "Kind",
    "Receipt",
    "Row",
    "canonical",
    "check_chain",
    "check_receipt",
    "damaged",
    "seal",
    "verify_export",
]

Kind = Literal["open", "charge", "amend", "note"]


def canonical(value: object, field: str = "payload") -> str:
    """The one JSON text of a value: sorted keys, no spaces, ASCII; NaN and what JSON cannot hold are refused."""
    try:
        return json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False)
    except (TypeError, ValueError, RecursionError):
        raise InputError(field, type(value).__name__, "what JSON can hold, with text keys and finite numbers") from None


def keyed_hash(dataset: str, *parts: object) -> str:
    return hmac.new(bytes.fromhex(dataset), canonical(parts).encode(), hashlib.sha256).hexdigest()


@dataclass(frozen=True)
class Header:
    """Which dataset, which format, since when, written by which version."""

    format: int
    dataset: str
    created: str
    software: str

    @property
    def genesis(self) -> str:
        """What the first row is sealed to."""
        return keyed_hash(self.dataset, "absentia ledger", self.format, self.created, self.software)


@dataclass(frozen=True)
class Receipt:
    """Proof that a row was durable: keep it, and `verify` will hold the book to it."""

    dataset: str
    sequence: int
    head: str
    time: str

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)

    @staticmethod
    def from_dict(given: Mapping[str, Any]) -> Receipt:
        fields = {"dataset": str, "sequence": int, "head": str, "time": str}
        if set(given) != set(fields) or any(type(given[name]) is not kind for name, kind in fields.items()):
            raise InputError("receipt", sorted(map(str, given)), "dataset, sequence, head and time as they were issued")
        return Receipt(**given)


@dataclass(frozen=True)
class Row:
    """One line of the book. `text` is the payload's canonical JSON."""

    sequence: int
    time: str
    kind: str
    purpose: str
    plan: str
    text: str
    salt: str
    previous: str
    hash: str

    @property
    def payload(self) -> dict[str, Any]:
        """A fresh copy each time: nobody can change what another reader sees."""
        return dict(json.loads(self.text))

    def expected_hash(self, dataset: str) -> str:
        sealed = (self.sequence, self.time, self.kind, self.purpose, self.plan, self.text, self.salt, self.previous)
        return keyed_hash(dataset, *sealed)

    def receipt(self, dataset: str) -> Receipt:
        return Receipt(dataset, self.sequence, self.hash, self.time)

    def to_dict(self) -> dict[str, Any]:
        entries = asdict(self)
        del entries["text"]
        return {**entries, "payload": self.payload}


def seal(
    header: Header, last: Row | None, *, time: str, kind: str, purpose: str, plan: str, text: str, salt: str
) -> Row:
    """The next row after `last` (None: the first)."""
    if kind not in get_args(Kind):
        raise InputError("kind", kind, ", ".join(get_args(Kind)))
    sequence, previous = (0, header.genesis) if last is None else (last.sequence + 1, last.hash)
    bare = Row(sequence, time, kind, purpose, plan, text, salt, previous, "")
    return Row(**{**asdict(bare), "hash": bare.expected_hash(header.dataset)})


def check_chain(header: Header, rows: Iterable[Row], last: Row | None = None) -> None:
    """Nothing, when `rows` continue the chain after `last` (None: from the header); else LedgerDamaged."""
    sequence, previous = (0, header.genesis) if last is None else (last.sequence + 1, last.hash)
    for row in rows:
        if row.sequence != sequence:
            raise damaged(f"Row {sequence} is missing.")
        if row.previous != previous:
            raise damaged(f"Row {sequence} does not continue what stands before it.")
        if not hmac.compare_digest(row.hash, row.expected_hash(header.dataset)):
            raise damaged(f"Row {sequence} was altered.")
        sequence, previous = sequence + 1, row.hash


def check_receipt(header: Header, rows: Sequence[Row], receipt: Receipt) -> None:
    """Nothing, when the receipt's row stands in this book as it was issued; else LedgerDamaged."""
    if receipt.dataset != header.dataset:
        raise LedgerDamaged(
            "L-OTHER",
            "The receipt belongs to another dataset's ledger.",
            "A receipt binds one row of one book.",
            "Verify it against the ledger of its own dataset; if that is this one, another book stands in its place.",
        )
    if not 0 <= receipt.sequence < len(rows):
        raise LedgerDamaged(
            "L-ROLLBACK",
            f"The receipt is for row {receipt.sequence}, but the book ends at row {len(rows) - 1}.",
            "Rows are never removed, so an older copy stands in the book's place, or its end was cut off.",
            "Put back the newest copy, together with its -wal file; do not charge this one.",
        )
    if rows[receipt.sequence].receipt(header.dataset) != receipt:
        raise LedgerDamaged(
            "L-FORK",
            f"Row {receipt.sequence} is not the one for which the receipt was issued.",
            "The book was rewritten, or is a copy that was continued apart from the one that issued the receipt.",
            "Find the book in which this receipt verifies; charges in both count against the budget.",
        )


def verify_export(export: Mapping[str, Any], receipt: Receipt | None = None) -> list[Row]:
    """The rows of an exported book, checked without the file: chain, head, and a receipt if given."""
    try:
        header = Header(**export["header"])
        rows = [_row_from_export(entry) for entry in export["rows"]]
        head = Receipt.from_dict(export["head"])
    except (KeyError, TypeError, AttributeError):
        raise InputError("export", type(export).__name__, "what `ledger export` wrote") from None
    check_chain(header, rows)
    check_receipt(header, rows, head)
    if head.sequence != len(rows) - 1:
        raise damaged("The head is not the last row.")
    if receipt is not None:
        check_receipt(header, rows, receipt)
    return rows


def _row_from_export(entry: Mapping[str, Any]) -> Row:
    fields = dict(entry)
    return Row(text=canonical(fields.pop("payload")), **fields)


def damaged(what: str) -> LedgerDamaged:
    """The refusal of a book whose file, header and rows do not agree."""
    return LedgerDamaged(
        "L-DAMAGED",
        what,
        "Every row is sealed to all rows before it and to the header; a book that disagrees has no total to trust.",
        "Put back an undamaged copy that verifies against the newest receipt; do not charge this one.",
    )
