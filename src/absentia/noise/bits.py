"""Random bits: the operating system's, or a test's own stream. There are no seeds."""

from __future__ import annotations

import os
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from absentia.errors import HazardRefused

__all__ = ["BitSource", "SystemBits", "require_entropy"]


class BitSource(Protocol):
    """Anything that hands out independent uniform 64-bit words."""

    def words(self, count: int) -> NDArray[np.uint64]: ...


class SystemBits:
    """The operating system's generator (getrandom): safe across fork, never seeded by us."""

    def words(self, count: int) -> NDArray[np.uint64]:
        try:
            return np.frombuffer(os.urandom(8 * count), dtype=np.uint64)
        except (OSError, NotImplementedError):
            raise HazardRefused(
                "H7",
                "The operating system gives no random bits.",
                "Noise comes from the system's generator only; a substitute could be guessed.",
                "Make /dev/urandom (or getrandom) available to this process and ask again.",
            ) from None


def require_entropy() -> None:
    """Nothing, when random bits can be had now; else the refusal, before anything is charged or drawn."""
    SystemBits().words(1)
