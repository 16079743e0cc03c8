"""Exact sensitivities that are below twice the reach: second moments and (sum, observed count) pairs.

They belong to the figure *without missingness*, so that what missingness gains is never overstated.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Literal, NamedTuple

from absentia.errors import InputError
from absentia.exact import number, root_up, round_up
from absentia.theory.paper_lipschitz import positive

__all__ = ["Sensitivity", "mean_count", "second_moments"]

Number = int | str | float | Fraction


class Sensitivity(NamedTuple):
    """The largest distance between two masked rows, and the reach of a row with k entries; both rounded up."""

    sensitivity: float
    reach: float


def second_moments(k: int, d: int, n: int, norm: Literal[1, 2], bound: Number = 1) -> Sensitivity:
    """For (1/n) sum z z^T, full matrix, values in [-B, B], at most k of d entries observed, zero imputation.

    l1: B^2 (2k^2 - m^2 - [m odd and k > m])/n with m = max(0, 2k-d). l2: sqrt(2) k B^2/n when k < d or k is even;
    k = d odd: B^2 sqrt(2k^2-2)/n, and B^2/n for d = 1. Reach: (k B)^2/n and k B^2/n. Exact (over any two masks).

    >>> second_moments(3, 3, 1, norm=1), second_moments(3, 3, 1, norm=2)
    (Sensitivity(sensitivity=9.0, reach=9.0), Sensitivity(sensitivity=4.0, reach=3.0))
    """
    _observed(k, d)
    B, unit = number(bound, "bound"), Fraction(1, positive(n, "n"))
    if B < 0:
        raise InputError("bound", bound, "a number of at least 0")
    unit *= B * B
    m = max(0, 2 * k - d)
    if _is_l1(norm):
        return Sensitivity(round_up(unit * (2 * k * k - m * m - (m % 2 == 1 and k > m))), round_up(unit * k * k))
    square = 2 * k * k if k < d or k % 2 == 0 else max(1, 2 * k * k - 2)
    return Sensitivity(root_up(unit**2 * square, 2), round_up(unit * k))


def mean_count(k: int, d: int, norm: Literal[1, 2], half_width: Number = 1, count_weight: Number = 1) -> Sensitivity:
    """For the pair (centred sum, omega * observed count) of every column, |z_j - c_j| <= h, at most k of d observed.

    The largest A a + B s over a columns seen in both rows and s seen in one (a + s <= d, 2a + s <= 2k): with
    A = 2h, B = h + omega in l1 and A = 4h^2, B = h^2 + omega^2 in l2 squared. For k = d counts are free up to
    omega = h (l1) or sqrt(3) h (l2). Reach: k (h + omega), sqrt(k (h^2 + omega^2)). Exact.

    >>> mean_count(3, 5, norm=1, count_weight=2)
    Sensitivity(sensitivity=15.0, reach=9.0)
    """
    _observed(k, d)
    h, w = number(half_width, "half_width"), number(count_weight, "count_weight")
    if h < 0 or w < 0:
        raise InputError("half_width" if h < 0 else "count_weight", float(min(h, w)), "a number of at least 0")
    both, one = (2 * h, h + w) if _is_l1(norm) else (4 * h * h, h * h + w * w)
    corners = ((0, 0), (k, 0), (0, min(d, 2 * k)), (max(0, 2 * k - d), min(2 * k, 2 * (d - k))))
    largest = max(both * a + one * s for a, s in corners if a + s <= d and 2 * a + s <= 2 * k)
    return Sensitivity(root_up(largest, norm), root_up(k * one, norm))


def _is_l1(norm: int) -> bool:
    if norm not in (1, 2):
        raise InputError("norm", norm, "1 or 2")
    return norm == 1


def _observed(k: int, d: int) -> None:
    positive(d, "d")
    if isinstance(k, bool) or not isinstance(k, int) or not 0 <= k <= d:
        raise InputError("k", k, f"an integer from 0 to {d}, the number of columns")
