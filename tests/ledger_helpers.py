"""Guards, processes and copies for the ledger's tests."""

from __future__ import annotations

import os
import shutil
import sys
import traceback
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

from absentia.errors import BudgetRefused
from absentia.ledger.book import Guard
from absentia.ledger.chain import Row

TERMS = {"budget": {"epsilon": "1", "delta": "1e-6"}, "law": {"kind": "design", "because": "three forms", "by": "me"}}


def spent(rows: tuple[Row, ...]) -> Fraction:
    return sum((Fraction(row.payload["cost"]) for row in rows if row.kind == "charge"), Fraction(0))


def within(total: Fraction) -> Guard:
    """Refuses what would take the sum of the costs over the total."""

    def guard(rows: tuple[Row, ...], payload: dict[str, Any]) -> None:
        if spent(rows) + Fraction(payload["cost"]) > total:
            raise BudgetRefused("too much", "a rule", "a remedy")

    return guard


def fork(action: Callable[[], None]) -> int:
    """The id of a child process that does the action and ends: 0, or 1 with a traceback."""
    child = os.fork()
    if child:
        return child
    code = 1
    try:
        action()
        code = 0
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stderr.flush()
        os._exit(code)


def wait(child: int) -> int:
    """The exit code, or minus the signal."""
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def copy_book(source: Path, target: Path) -> Path:
    """The ledger and its log as they stand, under another name."""
    for end in ("", "-wal"):
        if Path(f"{source}{end}").exists():
            shutil.copyfile(f"{source}{end}", f"{target}{end}")
        else:
            Path(f"{target}{end}").unlink(missing_ok=True)
    Path(f"{target}-shm").unlink(missing_ok=True)
    return target
