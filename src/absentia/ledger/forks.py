"""No SQLite connection goes through a fork.

A child inherits SQLite's record of the parent's locks but not the locks. If the parent then closes as the last user, it
folds in and removes the log that the child still writes to, and charges that the child acknowledged are lost (a test
shows it). So every open book puts its connection down before a fork and takes a new one when next used, on both sides.
"""

from __future__ import annotations

import os
from typing import Protocol
from weakref import WeakSet

__all__ = ["put_down_before_forks"]


class Connected(Protocol):
    def suspend(self) -> None: ...

    def resume(self) -> None: ...


_connected: WeakSet[Connected] = WeakSet()
_suspended: list[Connected] = []


def put_down_before_forks(book: Connected) -> None:
    """From now on `book` is suspended before every fork of this process and resumed after it, while it lives."""
    _connected.add(book)


def _before() -> None:
    books = sorted(_connected, key=id)  # one order for all threads
    for book in books:
        book.suspend()
    _suspended[:] = books


def _after() -> None:
    books = _suspended.copy()
    _suspended.clear()
    for book in books:
        book.resume()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before, after_in_parent=_after, after_in_child=_after)
