"""Finitely many privacy losses, and their move to a common grid on which losses add by convolution."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

__all__ = ["GridLosses", "Losses", "on_grid"]

UP = 1 + 2.0**-47  # covers a dozen rounded operations on positive doubles


@dataclass(frozen=True)
class Losses:
    """Masses on increasing levels of privacy loss, and the mass of an infinite loss."""

    level: NDArray[np.float64]
    mass: NDArray[np.float64]
    infinite: float

    @property
    def usable(self) -> bool:
        """Whether any finite loss is left to transform."""
        return bool(self.mass.max() > 0 and np.isfinite(self.level).all() and np.isfinite(self.mass).all())

    def capped(self, cut: float) -> Losses:
        """The same with every loss above `cut` raised to infinity (ii)."""
        if self.level[-1] <= cut:
            return self
        kept = self.level <= cut
        if not kept.any():
            return Losses(np.zeros(1), np.zeros(1), 1.0)
        return Losses(self.level[kept], self.mass[kept], (self.infinite + float(self.mass[~kept].sum())) * UP)


@dataclass(frozen=True)
class GridLosses:
    """Masses on the losses index * gap (gap a power of two, so products are exact), and the infinite mass."""

    index: NDArray[np.int64]
    mass: NDArray[np.float64]
    infinite: float
    gap: float

    @property
    def levels(self) -> NDArray[np.float64]:
        return np.asarray(self.index * self.gap, dtype=np.float64)


def on_grid(losses: Losses, gap: float) -> GridLosses:
    """Every level split between the two multiples of the gap around it (i); masses rounded up.

    Level g*gap + r keeps e^{-r} expm1(r - gap)/expm1(-gap) of its mass at g, the rest goes to g+1. Levels
    beyond what an index can hold are raised, to infinity above.
    """
    losses = losses.capped(2.0**50 * gap)
    level = np.maximum(losses.level, -(2.0**50) * gap)
    below = np.floor(level / gap)
    r = np.clip(level - below * gap, 0.0, gap)
    up = losses.mass * (np.expm1(-r) / np.expm1(-gap)) * UP
    stay = losses.mass * (np.exp(-r) * np.expm1(r - gap) / np.expm1(-gap)) * UP
    index, where = np.unique(np.concatenate([below, below + 1]).astype(np.int64), return_inverse=True)
    mass = np.bincount(where, np.concatenate([stay, up])) * (1 + len(index) * 2.0**-52)
    return GridLosses(index, np.asarray(mass, dtype=np.float64), losses.infinite, gap)
