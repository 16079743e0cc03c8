"""Bit sources for tests: repeatable, and recorded."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


class Stream:
    """A repeatable stream of words; remembers what it gave."""

    def __init__(self, seed: int) -> None:
        self._bits = np.random.Philox(seed)
        self.given: list[int] = []

    def words(self, count: int) -> NDArray[np.uint64]:
        out = np.asarray(self._bits.random_raw(count), dtype=np.uint64)
        if count < 100:
            self.given.extend(int(w) for w in out)
        return out


class Fixed:
    """The given words first, then zeros."""

    def __init__(self, words: list[int]) -> None:
        self._words = list(words)

    def words(self, count: int) -> NDArray[np.uint64]:
        taken, self._words = self._words[:count], self._words[count:]
        return np.array(taken + [0] * (count - len(taken)), dtype=np.uint64)
