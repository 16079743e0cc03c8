"""Noise drawn by OpenDP, for those whose policy names it. Certified by OpenDP's own maps, not by our pair theorems.

The discrete laws that OpenDP draws are not the continuous ones of T2, T5, T9 and T10, so a guarantee is amplified as a
black box (T1). A Gaussian vector is certified through zCDP, which asks for more noise than the analytic bound.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from absentia.errors import HazardRefused, InputError
from absentia.exact import number, round_up
from absentia.noise.sampling import nearest
from absentia.theory.noise import BlackBox, Gaussian, Laplace

__all__ = ["THAT_BACKEND", "OpenDPNoise"]

MOST = 1e9  # epsilon beyond which OpenDP is not asked: its arithmetic overflows, and delta only falls
THAT_BACKEND = "A plan that names a backend is answered by that backend or not at all."


@dataclass(frozen=True)
class OpenDPNoise:
    """Noise of one scale on the integers of a public grid, drawn by OpenDP."""

    noise: Laplace | Gaussian
    grid: float

    def __post_init__(self) -> None:
        if not isinstance(self.noise, (Laplace, Gaussian)):
            raise InputError("noise", type(self.noise).__name__, "Laplace or Gaussian")

    def draw(self, centre: ArrayLike, *, unit: object = 1) -> NDArray[np.int64]:
        """Grid integers: centre * unit rounded to the grid, then OpenDP's discrete noise."""
        points = nearest(centre, self.grid, unit=unit)
        noisy = self._measurement(points.size)(points.reshape(-1).tolist())
        return np.array(noisy, dtype=np.int64).reshape(points.shape)

    def loss(self, distance: object, entries: int, *, moved: int | None = None) -> float:
        """epsilon (Laplace) or rho of zCDP (Gaussian) by OpenDP's map, for vectors at most `distance` apart.

        `moved`: how many entries can differ at all (default: every one); equal entries round alike.
        """
        return float(self._measurement(entries).map(self._steps(distance, entries if moved is None else moved)))

    def black_box(self, distance: object, entries: int, *, moved: int | None = None) -> BlackBox:
        """What `amplify` takes: the guarantee of this noise for masked datasets at most `distance` apart."""
        if isinstance(self.noise, Laplace):
            return BlackBox(epsilon=self.loss(distance, entries, moved=moved))
        steps = self._steps(distance, entries if moved is None else moved)
        profile = _opendp().c.make_zCDP_to_approxDP(self._measurement(entries)).map(steps)
        return BlackBox(profile=lambda epsilon: _delta(profile, epsilon))

    def _steps(self, distance: object, moved: int) -> float:
        """The distance in grid steps after rounding, which takes a moved entry of each vector half a step at most."""
        steps = number(distance, "distance") / Fraction(self.grid)
        rounding = Fraction(moved if self.noise.norm == 1 else math.isqrt(moved - 1) + 1)
        return round_up(steps + rounding)

    def _measurement(self, entries: int) -> Any:
        dp = _opendp()
        domain = dp.vector_domain(dp.atom_domain(T="i64"), size=entries)
        metric = dp.l1_distance(T="f64") if self.noise.norm == 1 else dp.l2_distance(T="f64")
        make = dp.m.make_laplace if self.noise.norm == 1 else dp.m.make_gaussian
        return make(domain, metric, scale=float(Fraction(self.noise.size) / Fraction(self.grid)))


def _delta(profile: Any, epsilon: float) -> float:
    """A bound of delta(epsilon) where OpenDP's arithmetic overflows too: delta at a smaller epsilon, or 1."""
    from opendp.mod import OpenDPException

    try:
        return float(profile.delta(min(epsilon, MOST)))
    except OpenDPException:
        return 1.0


def _opendp() -> Any:
    try:
        import opendp.prelude as dp
    except ImportError:
        raise HazardRefused(
            "H-OPENDP",
            "The noise backend opendp is not installed.",
            THAT_BACKEND,
            "Install absentia[opendp], or leave noise_backend out.",
        ) from None
    dp.enable_features("contrib")
    return dp
