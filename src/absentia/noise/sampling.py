"""Drawing the noise that the theorems are about: the continuous mechanism, rounded to a public grid.

centre + scale X is a point of the real line; what is returned is the nearest grid point. Rounding is post-processing,
so T2, T5, T9 and T10 hold for the output as they stand, with no allowance for arithmetic.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from absentia.errors import InputError
from absentia.exact import number, round_down
from absentia.noise.bits import BitSource, SystemBits
from absentia.noise.exact_draw import Family, draw_exact
from absentia.noise.fast_draw import draw_fast, usable
from absentia.theory.noise import Gaussian, Laplace

__all__ = ["draw", "grid_for", "nearest"]

CHUNK = 1 << 15
LIMIT = 1 << 62  # outputs beyond are returned as the limit: post-processing, and no exception that depends on data
FINENESS = 20


def grid_for(scale: object) -> float:
    """The public grid for noise of this scale: the largest power of two that is at most scale / 2^20.

    Depends on the scale alone. Rounding adds grid^2 / 12 to the variance, less than 2^-43 of scale^2.

    >>> grid_for(3.0) == 2.0**-19
    True
    """
    size = number(scale, "scale")
    if not 2.0**-900 < size < 2.0**900:
        raise InputError("scale", scale, "a number between 2^-900 and 2^900")
    return math.ldexp(1.0, math.frexp(round_down(size))[1] - 1 - FINENESS)


def draw(
    noise: Laplace | Gaussian,
    centre: ArrayLike,
    grid: float,
    *,
    unit: object = 1,
    source: BitSource | None = None,
) -> NDArray[np.int64]:
    """Integers k, one for each entry of `centre`: k * grid is the grid point nearest to centre * unit + noise.

    Exactly the law of the rounded continuous mechanism, for centres that are integers, doubles or Fractions, a unit
    that is an exact number and a grid that is a power of two. `source` replaces the system's bits in tests only.

    >>> noise = Laplace(1.0)
    >>> k = draw(noise, [12, -3], grid_for(noise.scale), unit=0.25)
    >>> k.dtype, k.shape
    (dtype('int64'), (2,))
    """
    family, scale = _family(noise)
    a = Fraction(scale) / _power_of_two(grid)
    points = np.asarray(centre)
    offsets = _offsets(points.reshape(-1), number(unit, "unit") / Fraction(grid))
    bits = SystemBits() if source is None else source
    out = np.empty(points.size, dtype=np.int64)
    for part in _chunks(points.size):
        out[part] = _draw_chunk(family, a, offsets, part, bits)
    return out.reshape(points.shape)


def nearest(centre: ArrayLike, grid: float, *, unit: object = 1) -> NDArray[np.int64]:
    """The grid integers nearest to centre * unit, without noise: not a release."""
    points = np.asarray(centre)
    whole = _offsets(points.reshape(-1), number(unit, "unit") / _power_of_two(grid)).whole
    return np.clip(whole, -LIMIT, LIMIT).reshape(points.shape)


@dataclass(frozen=True)
class _Offsets:
    """centre * unit / grid + 1/2, split into whole steps and the fraction f in [0, 1)."""

    points: NDArray[Any]
    ratio: Fraction  # unit / grid
    whole: NDArray[np.int64]
    fraction: NDArray[np.float64] | float

    def exact(self, i: int) -> tuple[int, Fraction]:
        return _split(self.points[i], self.ratio)

    def fractions(self, part: slice) -> NDArray[np.float64] | float:
        return self.fraction if isinstance(self.fraction, float) else self.fraction[part]


def _draw_chunk(family: Family, a: Fraction, offsets: _Offsets, part: slice, bits: BitSource) -> NDArray[np.int64]:
    words = bits.words(part.stop - part.start)
    if usable(a):
        steps, undecided = draw_fast(family, words, float(a), offsets.fractions(part))
        steps += offsets.whole[part]
        np.clip(steps, -LIMIT, LIMIT, out=steps)
    else:
        steps, undecided = np.empty(len(words), dtype=np.int64), np.arange(len(words))
    for i in undecided:
        whole, f = offsets.exact(part.start + int(i))
        k = whole + draw_exact(family, int(words[i]), a, f, bits)
        steps[i] = _clamp(k, LIMIT)
    return steps


def _offsets(points: NDArray[Any], ratio: Fraction) -> _Offsets:
    """Vectorised where every centre is an int64 and unit / grid a power of two; else one exact division each."""
    shift = _exponent(ratio)
    if points.dtype.kind == "i" and shift is not None and -62 <= shift <= 62:
        wide = points.astype(np.int64)
        room = LIMIT >> max(shift, 0)
        if not points.size or (wide.min() >= -room and wide.max() <= room - 1):
            if shift >= 0:
                return _Offsets(points, ratio, wide << shift, 0.5)
            low = np.int64((1 << -shift) - 1)
            moved = wide + np.int64(1 << (-shift - 1))
            return _Offsets(points, ratio, moved >> -shift, np.ldexp((moved & low).astype(np.float64), shift))
    pairs = [_split(point, ratio) for point in points]
    whole = np.array([_clamp(w, 3 * LIMIT // 2) for w, _ in pairs], dtype=np.int64)
    return _Offsets(points, ratio, whole, np.array([float(f) for _, f in pairs], dtype=np.float64))


def _split(point: Any, ratio: Fraction) -> tuple[int, Fraction]:
    shifted = number(point, "centre") * ratio + Fraction(1, 2)
    whole = math.floor(shifted)
    return whole, shifted - whole


def _clamp(k: int, limit: int) -> int:
    return max(-limit, min(limit, k))


def _chunks(size: int) -> Iterator[slice]:
    for start in range(0, size, CHUNK):
        yield slice(start, min(start + CHUNK, size))


def _family(noise: Laplace | Gaussian) -> tuple[Family, float]:
    if isinstance(noise, Laplace):
        return "laplace", noise.scale
    if isinstance(noise, Gaussian):
        return "gaussian", noise.sigma
    raise InputError("noise", type(noise).__name__, "Laplace or Gaussian: a black box draws its own noise")


def _power_of_two(grid: float) -> Fraction:
    step = number(grid, "grid")
    if step <= 0 or _exponent(step) is None:
        raise InputError("grid", grid, "a power of two, such as grid_for(scale)")
    return step


def _exponent(q: Fraction) -> int | None:
    """j when q = 2^j."""
    if q <= 0 or (q.numerator & (q.numerator - 1)) or (q.denominator & (q.denominator - 1)):
        return None
    return q.numerator.bit_length() - q.denominator.bit_length()
