"""The rounded continuous draw, decided by ball arithmetic from a growing interval of uniform bits.

Write the output in grid steps as floor(f + a X), with X standard Laplace or normal, a = scale / grid and f the
fraction left of the centre after adding one half. The first bit gives X its sign; the others are a binary expansion
of V = P(|X| > |x|), uniform on [0, 1] whatever the sign. n bits put V in an interval of length 2^-n. The tail
function S decides: floor(f + a X) = m exactly when |X| lies between two known rationals lo < hi, that is when
S(hi) <= V <= S(lo). Balls prove both; where they cannot yet, 64 further bits are drawn and the precision grows.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Literal

from flint import arb
from scipy.special import ndtri

from absentia.exact import ball, precision
from absentia.noise.bits import BitSource

__all__ = ["Family", "decide", "draw_exact"]

Family = Literal["laplace", "gaussian"]
WORD = 64  # the sign, then 63 bits of V


def survival(family: Family, x: arb) -> arb:
    """S(x) = P(|X| > x), for x >= 0."""
    return (-x).exp() if family == "laplace" else (x / arb(2).sqrt()).erfc()


def density(family: Family, x: arb) -> arb:
    """-S'(x), for x >= 0."""
    return (-x).exp() if family == "laplace" else (-x * x / 2).exp() * (2 / arb.pi()).sqrt()


def quantile_estimate(family: Family, v: arb, resolution: arb) -> arb:
    """About the x with S(x) = v, good to `resolution`; only an estimate: the caller proves what it makes of it."""
    if family == "laplace":
        return -v.log()
    in_range = float(v) > 2.0**-1000
    x = arb(-ndtri(float(v) / 2)) if in_range else (-2 * v.log()).sqrt().mid()
    for _ in range(100):  # Newton on log S, which is concave: at most one overshoot, then quadratic
        tail = survival(family, x)
        step = ((tail / v).log() * tail / density(family, x)).mid()
        x = (x + step).max(arb(0)).mid()
        if step * step * (1 + x) < resolution:
            break
    return x


def decide(family: Family, sign: int, w: int, bits: int, a: Fraction, f: Fraction) -> int | None:
    """The m with m <= f + a X < m + 1 for every V in [w, w + 1] / 2^bits, or None when these bits do not settle it."""
    with precision(bits + WORD + int(a).bit_length()):
        x = quantile_estimate(family, arb((2 * w + 1, -bits - 1)), ball(min(1 / a, Fraction(1)) / 64))
        guess = (ball(f) + sign * ball(a) * x).mid().floor().unique_fmpz()
        if guess is None:  # another thread lowered the precision: balls stay true, but say less
            return None
        m = int(guess)
        near, far = (m - f, m + 1 - f) if sign > 0 else (f - m - 1, f - m)
        inside = survival(family, ball(far / a)) <= arb((w, -bits))
        outside = near <= 0 or survival(family, ball(near / a)) >= arb((w + 1, -bits))
        return m if inside and outside else None


def draw_exact(family: Family, word: int, a: Fraction, f: Fraction, source: BitSource) -> int:
    """floor(f + a X) for the X whose bits begin with `word` and continue from `source`."""
    sign = -1 if word >> (WORD - 1) else 1
    w, bits = word & ((1 << (WORD - 1)) - 1), WORD - 1
    while (m := decide(family, sign, w, bits, a, f)) is None:
        w, bits = (w << WORD) | int(source.words(1)[0]), bits + WORD
    return m
