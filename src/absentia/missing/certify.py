"""A law certified from private data: simultaneous upper confidence bounds from a noisy histogram of observed-per-row.

The histogram counts the rows that show k of the declared columns, for k in stretches that start at `levels`; rows
that show nothing are left out, since a public n implies them. Two neighbours differ by at most 2 in l1 and the reach
is 1 for every row that shows something: Term(columns, 1, any=True). It is one more release on the same masks (T7).
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from functools import lru_cache
from itertools import pairwise
from math import comb, floor

import numpy as np
from flint import arb
from scipy.special import bdtr, ndtri

from absentia.errors import HazardRefused, InputError
from absentia.exact import ball, exact, integer, list_of, number, precision
from absentia.missing.counts import Counts
from absentia.missing.text import names_of, written
from absentia.query.reach import Reach, Term
from absentia.theory.noise import Gaussian, Laplace, Noise

__all__ = ["certified", "noise_tail", "observed_histogram_reach", "survival_bound", "survival_bounds"]

CELLS = 32  # pieces into which the noise is cut when it is joined with the sampling
MARGIN = 1e-9  # relative width added to a search result before it is proved; four tries, each ten times wider


def observed_histogram_reach(columns: object, norm: int = 1) -> Reach:
    """The reach of the histogram of observed-per-row: 1 as soon as a row shows anything."""
    return Reach(1 if norm == 1 else 2, (Term(frozenset(names_of(columns)), 1.0, any=True),))


def noise_tail(noise: Noise, parts: int, x: Fraction) -> arb:
    """P(sum of `parts` draws of the noise > x) as a ball, x >= 0.

    Laplace, x in units of the scale: e^-x sum_j x^j/j! c_j with c_j = sum_{r < parts-j} C(parts+r-1, r) 2^-(parts+r);
    Gaussian: the normal tail.

    >>> noise_tail(Laplace(1), 1, Fraction(0)) == arb("0.5")
    True
    """
    t = ball(x / Fraction(noise.size))
    if isinstance(noise, Gaussian):
        return (t / (2 * arb(parts)).sqrt()).erfc() / 2
    total, term, weight = arb(0), arb(1), _gamma_weights(parts)
    for j in range(parts):
        total += term * weight[parts - j]
        term = term * t / (j + 1)
    return (-t).exp() * total


def _gamma_weights(parts: int) -> list[arb]:
    """Partial sums of C(parts+r-1, r) 2^-(parts+r), r = 0, 1, ...: entry i holds the first i terms."""
    sums = [Fraction(0)]
    for r in range(parts):
        sums.append(sums[-1] + Fraction(comb(parts + r - 1, r), 2 ** (parts + r)))
    return [ball(q) for q in sums]


def survival_bound(
    noisy: Fraction,
    n: int,
    parts: int,
    noise: Noise,
    beta: Fraction,
    rounding: Fraction = Fraction(0),
    proved: bool = True,
) -> Fraction:
    """An upper bound on s, wrong with probability at most beta, from one noisy count of n rows.

    The count is a number of successes among n rows whose probabilities average s (up to n s - 1 successes, equal
    probabilities are the worst case: Hoeffding 1956), plus `parts` draws of the noise, each rounded by at most
    `rounding`. The bound is the s at which P(binomial + noise <= what was seen) is at most beta: noise and sampling
    together, the noise cut in cells, each counted at its most favourable end. `proved`: verified in ball arithmetic;
    otherwise in floats.
    """
    seen = noisy + parts * rounding
    counts = [(mass, n if at is None else min(n, floor(seen - at))) for mass, at in _noise_cells(noise, parts, beta)]
    counts = [(mass, most) for mass, most in counts if most >= 0]
    found = _search(counts, n, float(beta))
    if not proved:
        return found
    for attempt in range(4):
        if found >= 1:
            break
        found = min(Fraction(1), Fraction(float(found) * (1 + MARGIN * 10**attempt)))
        with precision(128):
            if _chance(counts, n, found) <= ball(beta):
                return found
    return Fraction(1)


@lru_cache(maxsize=1024)
def _noise_cells(noise: Noise, parts: int, beta: Fraction) -> tuple[tuple[arb, Fraction | None], ...]:
    """(chance, lowest noise) of cells that cover the line; None where the noise has no lower end.

    Cells are equal between two points beyond which the noise falls with probability far below beta.
    """
    with precision(128):
        far = noise.size * (2.0 * parts) ** 0.5 * max(-float(ndtri(float(beta) / 50)), 1.0)
        while float(noise_tail(noise, parts, Fraction(far))) > beta / 50:
            far *= 1.25
        edges = [Fraction(float(x)) for x in np.linspace(-far, far, CELLS + 1)]
        up_to = [_up_to(noise, parts, edge) for edge in edges]
        inner = [(q - p, edge) for (p, q), edge in zip(pairwise(up_to), edges, strict=False)]
        return (up_to[0], None), *inner, (noise_tail(noise, parts, edges[-1]), edges[-1])


def _up_to(noise: Noise, parts: int, x: Fraction) -> arb:
    """P(sum of the noise <= x)."""
    return 1 - noise_tail(noise, parts, x) if x >= 0 else noise_tail(noise, parts, -x)


def _search(counts: Sequence[tuple[arb, int]], n: int, beta: float) -> Fraction:
    """The smallest s, in floats, at which the chance of seeing so little is at most beta."""
    mass = np.array([float(m) for m, _ in counts])
    most = np.array([float(k) for _, k in counts])
    low, high = 0.0, 1.0
    for _ in range(40):
        s = (low + high) / 2
        if float(mass @ np.where(most + 1 > n * s, 1.0, bdtr(most, n, s))) <= beta:
            high = s
        else:
            low = s
    return Fraction(high)


def _chance(counts: Sequence[tuple[arb, int]], n: int, s: Fraction) -> arb:
    """P(binomial + noise <= what was seen), cell by cell, as a ball; 1 where Hoeffding's comparison does not reach."""
    total = arb(0)
    for mass, k in counts:
        total += mass * (
            arb(1) if k + 1 > n * s else (1 - ball(s)).beta_lower(arb(n - k), arb(k + 1), regularized=True)
        )
    return total


def survival_bounds(
    noisy: Sequence[object],
    n: int,
    noise: Noise,
    confidence: object,
    rounding: object = 0,
    proved: bool = True,
) -> list[Fraction]:
    """Bounds on P(a row shows at least the i-th level), all at once with the given confidence.

    The noisy counts are those of the stretches of observed-per-row, lowest first. Each tail is a sum of counts; the
    error probability is shared equally, and no tail is larger than the one below it.
    """
    counts = [number(value, f"counts[{i}]") for i, value in enumerate(noisy)]
    beta = (1 - level_of(confidence)) / len(counts)
    grid = number(rounding, "rounding")
    if grid < 0:
        raise InputError("rounding", rounding, "a number >= 0")
    out: list[Fraction] = []
    for i in range(len(counts)):
        tail = sum(counts[i:], Fraction(0))
        bound = survival_bound(tail, n, len(counts) - i, noise, beta, grid, proved)
        out.append(min(bound, out[-1]) if out else bound)
    return out


def certified(
    columns: object,
    counts: Sequence[object],
    n: int,
    noise: Noise,
    confidence: object = "0.95",
    levels: Sequence[int] | None = None,
    rounding: object = 0,
    because: str = "",
    by: str = "",
) -> Counts:
    """The law certified by a noisy histogram: counts[i] rows show levels[i] columns or more, but fewer than the next.

    `levels` starts at 1 (default 1, 2, ..., all); a row of a stretch is taken to show the most of it. `rounding` is the
    largest distance by which each noisy count was rounded (half the grid of the release; 1 for discrete Laplace noise,
    which is continuous Laplace noise rounded towards the next integer or less). It bounds the average over the rows of
    the table, so that it holds for every record under MCAR; otherwise put `gamma` around it.
    """
    names = names_of(columns)
    starts = range(1, len(names) + 1) if levels is None else list_of(levels, "levels", "increasing numbers of columns")
    noisy = list_of(counts, "counts", "a noisy count for each level")
    _check(names, starts, noisy, n, noise, confidence)
    bounds = survival_bounds(noisy, n, noise, confidence, rounding)
    tops = [*(start - 1 for start in starts[1:]), len(names)]
    mass = [Fraction(0)] * (len(names) + 1)
    mass[0] = 1 - bounds[0]
    for top, value, beyond in zip(tops, bounds, [*bounds[1:], Fraction(0)], strict=True):
        mass[top] += value - beyond
    sure = written(level_of(confidence))
    return Counts(
        columns=names,
        mass=tuple(mass),
        confidence=sure,
        because=because or f"certified from a noisy histogram of {n} rows",
        by=by,
        kind="certified",
    )


def _check(
    names: Sequence[str], starts: Sequence[int], counts: Sequence[object], n: object, noise: Noise, confidence: object
) -> None:
    whole = all(isinstance(start, int) and not isinstance(start, bool) for start in starts)
    if not whole or not starts or starts[0] != 1 or list(starts) != sorted(set(starts)) or starts[-1] > len(names):
        raise InputError("levels", starts, f"increasing numbers of columns from 1 to at most {len(names)}")
    if len(counts) != len(starts):
        raise InputError("counts", len(counts), f"{len(starts)} noisy counts, one for each level")
    integer(n, "n", 1)
    if not isinstance(noise, (Laplace, Gaussian)):
        raise HazardRefused(
            "H-DIAGNOSTIC",
            "The counts carry no noise.",
            "A response rate read off the data is a diagnostic, never a guarantee.",
            "Release the histogram with Laplace or Gaussian noise and give that noise.",
        )
    level_of(confidence)


def level_of(confidence: object) -> Fraction:
    """The confidence as an exact number; asked of it before anything is charged, too."""
    level = exact(confidence, "confidence")
    if not Fraction(1, 2) <= level < 1:
        raise InputError("confidence", confidence, 'a probability in [1/2, 1), such as "0.95"')
    return level
