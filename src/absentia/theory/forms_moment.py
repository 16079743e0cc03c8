"""ln E exp(s sum_{i<j} R_{O_i O_j}) over n independent forms of one stratum: the (n-1) D_n of T10.

R_{OO'} is the squared reach that two forms share and s = 1/sigma^2. Every function here bounds it from above, as an
estimate in doubles (`log`) or as a proof in balls (`ball`).
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable
from fractions import Fraction
from typing import Any

import numpy as np
from flint import arb, arb_poly
from scipy.special import gammaln, logsumexp, xlog1py, xlogy

from absentia.exact import ball, precision
from absentia.theory.forms_design import Stratum

__all__ = ["Moments"]

LONGEST_SERIES = 1024
"""The list formula is a power series; beyond this degree it is not tried and T10 stops at this order."""


class Moments:
    """The moments of one stratum at one noise level: the smallest of the formulas that apply to it.

    `centred` asks for the moments with R - A_O - A_O' + S in place of R (T10K), which exist for level and for listed
    strata; elsewhere the plain ones are given and `centred` is False.
    """

    def __init__(self, stratum: Stratum, s: Fraction, centred: bool = False) -> None:
        self.stratum, self.s = stratum, s
        self.centred = centred and (stratum.level or bool(stratum.forms))
        self._shift = s * stratum.mean_square if self.centred and stratum.level else Fraction(0)
        self._product = stratum.associated and (not self.centred or stratum.level)
        self._series: list[arb] = []
        self._classes = _arrays(Counter(zip(stratum.seen, stratum.squared, strict=True)), s) if self._product else None

    @property
    def longest(self) -> int:
        """The largest order that can be computed."""
        return 1 << 13 if self._product else LONGEST_SERIES

    def log(self, n: int) -> float:
        """The moment in doubles, for the search."""
        values = []
        if self._classes is not None:
            values.append(_log_product(n, *self._classes))
        if self.stratum.forms and n <= LONGEST_SERIES:
            values.append(self._log_list(n))
        return min(values) - float(self._shift) * n * (n - 1) / 2

    def ball(self, n: int) -> arb:
        """The moment in balls: the upper end of the ball bounds it."""
        values = []
        if self._product:
            values.append(_product_ball(n, Counter(zip(self.stratum.seen, self.stratum.squared, strict=True)), self.s))
        if self.stratum.forms and n <= LONGEST_SERIES:
            series = _list_series(n, self._overlaps, self.stratum.mass, self.s)
            values.append(_coefficient(n, series[n], self._overlaps[0], self.s))
        smallest = values[0] if len(values) == 1 or values[0].mid() <= values[1].mid() else values[1]
        return smallest - ball(self._shift * n * (n - 1) / 2)

    @property
    def _overlaps(self) -> tuple[Fraction, tuple[Fraction, ...]]:
        plain = not self.centred or self.stratum.level
        return self.stratum.overlaps if plain else self.stratum.centred_overlaps

    def _log_list(self, n: int) -> float:
        with precision(64):
            if n >= len(self._series):
                length = min(LONGEST_SERIES, max(48, 2 * n))
                self._series = _list_series(length, self._overlaps, self.stratum.mass, self.s)
            value = _coefficient(n, self._series[n], self._overlaps[0], self.s)
            return float(value.mid()) if value.is_finite() else math.inf


def _arrays(classes: Counter[tuple[Fraction, Fraction]], s: Fraction) -> tuple[np.ndarray[Any, Any], ...]:
    columns = [(float(p), float(w * s), float(count)) for (p, w), count in classes.items()]
    return tuple(np.array(column) for column in zip(*columns, strict=True))


def _log_product(n: int, p: np.ndarray[Any, Any], w: np.ndarray[Any, Any], count: np.ndarray[Any, Any]) -> float:
    """sum_b ln sum_k C(n,k) (1-p_b)^{n-k} p_b^k e^{k(k-1) r_b^2/2}: the blocks as if independent."""
    k = np.arange(n + 1.0)
    choose = gammaln(n + 1) - gammaln(k + 1) - gammaln(n - k + 1)
    terms = choose + xlogy(k, p[:, None]) + xlog1py(n - k, -p[:, None]) + np.outer(w / 2, k * (k - 1))
    return float(count @ logsumexp(terms, axis=1))


def _product_ball(n: int, classes: Counter[tuple[Fraction, Fraction]], s: Fraction) -> arb:
    return sum((count * _block_ball(n, p, s * w).log() for (p, w), count in classes.items()), arb(0))


def _block_ball(n: int, p: Fraction, w: Fraction) -> arb:
    """sum_k C(n,k) (1-p)^{n-k} p^k e^{k(k-1) w/2}, each term from the one before."""
    if p == 1:
        return ball(w * n * (n - 1) / 2).exp()
    odds, step, growth = ball(p / (1 - p)), ball(w).exp(), arb(1)
    term = ball(1 - p) ** n
    total = term
    for k in range(n):
        term = term * odds * growth * (n - k) / (k + 1)
        total += term
        growth *= step
    return total


def _list_series(
    n: int, overlaps: tuple[Fraction, tuple[Fraction, ...]], mass: Iterable[Fraction], s: Fraction
) -> list[arb]:
    """The coefficients up to x^n of prod_f sum_m (pi_f x)^m / m! e^{s (G_ff - G) m(m-1)/2}."""
    G, own = overlaps
    product = arb_poly([1])
    for (pi, weight), count in Counter(zip(mass, own, strict=True)).items():
        form = arb_poly(_form_coefficients(n, ball(pi), ball(s * (weight - G)).exp()))
        product = _times(product, _power(form, count, n), n)
    return [product[m] for m in range(n + 1)]


def _times(a: arb_poly, b: arb_poly, n: int) -> arb_poly:
    return (a * b).truncate(n + 1)


def _power(a: arb_poly, count: int, n: int) -> arb_poly:
    if count == 1:
        return a
    half = _power(a, count // 2, n)
    square = _times(half, half, n)
    return _times(square, a, n) if count % 2 else square


def _form_coefficients(n: int, pi: arb, step: arb) -> list[arb]:
    term, growth, terms = arb(1), arb(1), [arb(1)]
    for m in range(n):
        term = term * pi * growth / (m + 1)
        growth *= step
        terms.append(term)
    return terms


def _coefficient(n: int, coefficient: arb, G: Fraction, s: Fraction) -> arb:
    """ln( e^{s G n(n-1)/2} n! [x^n] ... ): equal to the moment when all pairs of forms share exactly G."""
    return ball(s * G * n * (n - 1) / 2) + arb(n + 1).lgamma() + coefficient.log()
