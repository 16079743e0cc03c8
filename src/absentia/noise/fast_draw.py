"""The same draw in double precision, for the entries where rounding cannot matter.

With 63 bits of V >= 2^-15 and a <= 2^34 the computed f + a X is within a 2^-45 + 2^-51 of every value that further bits
could give (docs/sampling.md derives it). An entry counts as decided only when it is more than a 2^-36 + 2^-40 away
from a rounding boundary: five hundred times the error. All others go to the exact path with the bits they have.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from absentia.noise.exact_draw import Family

__all__ = ["draw_fast", "usable"]

LARGEST_STEPS = 1 << 34
SMALLEST_TAIL = 2.0**-15
MAGNITUDE = np.uint64((1 << 63) - 1)


def usable(a: Fraction) -> bool:
    """Whether the error bound holds at a = scale / grid."""
    return a <= LARGEST_STEPS


def guard(a: float) -> float:
    """How far from a rounding boundary an entry must lie to be decided in doubles."""
    return a * 2.0**-36 + 2.0**-40


def draw_fast(
    family: Family, words: NDArray[np.uint64], a: float, f: NDArray[np.float64] | float
) -> tuple[NDArray[np.int64], NDArray[np.intp]]:
    """floor(f + a X) of every word, and the positions of those that doubles cannot decide."""
    v = (words & MAGNITUDE).view(np.int64).astype(np.float64)
    v += 0.5
    v *= 2.0**-63
    deep = v < SMALLEST_TAIL
    y = np.log(v, out=v) if family == "laplace" else ndtri(np.multiply(v, 0.5, out=v), out=v)  # minus |X|
    y *= -a
    np.copysign(y, words.view(np.float64), out=y)  # the first bit of the word is the sign of X
    y += f
    m = np.floor(y)
    y -= m
    y -= 0.5
    np.abs(y, out=y)
    np.logical_or(deep, y > 0.5 - guard(a), out=deep)
    return m.astype(np.int64), np.flatnonzero(deep)
