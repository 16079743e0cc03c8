"""Privacy losses where the observer is shown the mask: those of the distance that was drawn, mask by mask (T5)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from flint import arb

from absentia.exact import round_up
from absentia.theory.loss import LossPair, Response
from absentia.theory.loss_grid import UP, GridLosses, Losses, on_grid
from absentia.theory.noise import BlackBox, Noise
from absentia.theory.pair import ORIGIN
from absentia.theory.pure import Atoms

__all__ = ["KnownLosses", "told"]


@dataclass(frozen=True)
class KnownLosses:
    """A public coin chooses one of several pairs; masses sum to 1."""

    drawn: tuple[tuple[Fraction, LossPair], ...]

    @property
    def trivial(self) -> bool:
        return all(pair.trivial for _, pair in self.drawn)

    def sketch(self) -> Losses:
        """The float pictures of all pairs, in increasing levels."""
        each = [(q, NOTHING if pair.trivial else pair.sketch()) for q, pair in self.drawn]
        if not all(losses.usable for _, losses in each):
            return Losses(np.zeros(1), np.zeros(1), 1.0)
        level, mass = (np.concatenate(x) for x in zip(*((s.level, s.mass * float(q)) for q, s in each), strict=True))
        order = np.argsort(level)
        return Losses(level[order], mass[order], sum(s.infinite * float(q) for q, s in each))

    def on_grid(self, gap: float, lost: float, cut: float, theta: float, *, proved: bool) -> GridLosses:
        """The grids of all pairs, masses times their chance and rounded up."""
        grids: list[tuple[float, GridLosses]] = []
        for q, pair in self.drawn:
            grid = on_grid(NOTHING, gap) if pair.trivial else pair.on_grid(gap, lost, cut, theta, proved=proved)
            grids.append((round_up(q), grid))
        index, where = np.unique(np.concatenate([g.index for _, g in grids]), return_inverse=True)
        mass = np.bincount(where, np.concatenate([g.mass * q for q, g in grids]))
        infinite = sum(g.infinite * q for q, g in grids)
        return GridLosses(index, np.asarray(mass * up(grids), dtype=np.float64), infinite * up(grids), gap)

    def pure_ball(self) -> arb | None:
        """The largest loss of any pair; None for Gaussian noise."""
        largest = arb(0)
        for _, pair in self.drawn:
            ball = arb(0) if pair.trivial else pair.pure_ball()
            if ball is None:
                return None
            largest = largest.max(ball)
        return largest


def told(noise: Noise | BlackBox, atoms: Atoms, both: bool) -> KnownLosses | Response:
    """The pair of a release whose mask is shown; a black box is what it is on any mask that shows something."""
    if isinstance(noise, BlackBox):
        return Response(noise, Fraction(any(x > 0 and q > 0 for x, q in atoms)))
    points: list[tuple[Fraction, Atoms]] = [(q, ((x, Fraction(1)),)) for x, q in atoms if q > 0]
    return KnownLosses(tuple((q, LossPair(noise, point, point if both else ORIGIN)) for q, point in points))


NOTHING = Losses(np.zeros(1), np.ones(1), 0.0)


def up(summed: Sequence[object]) -> float:
    """Covers the rounding of a product and of so many additions."""
    return UP + len(summed) * 2.0**-52
