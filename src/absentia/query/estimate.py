"""From noisy statistics to rows of an answer: estimates, standard errors, intervals. Post-processing only."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from scipy.optimize import brentq
from scipy.special import log_ndtr, ndtri

from absentia.query.statistic import Bins

__all__ = [
    "AS_OF_BETA",
    "OF_OBSERVED",
    "OF_TABLE",
    "Reading",
    "Row",
    "cell_names",
    "excess_kurtosis",
    "half_width",
    "hidden",
    "row",
]

OF_TABLE = "about this table: the interval holds the noise; sampling error is stated apart"
OF_OBSERVED = (
    "of observed entries (available cases): also of all entries when they go missing completely at random;"
    " biased by an unknown amount under MAR or MNAR"
)


AS_OF_BETA = "; sampling error as of a beta law with this mean and variance between the bounds"
OUTSIDE = "; its errors carried it beyond what is possible, and it is shown at the bound (a biased value)"


@dataclass(frozen=True)
class Row:
    """One number of an answer, in the schema's units, with its errors and where it needs care.

    Where the noise hides it there is no estimate (NaN): `se_noise` is infinite, the interval is what is public.
    """

    query: str
    cell: str
    estimate: float
    se_noise: float
    se_sampling: float
    low: float
    high: float
    note: str

    def __post_init__(self) -> None:
        for name in ("estimate", "se_noise", "se_sampling", "low", "high"):
            object.__setattr__(self, name, float(getattr(self, name)))
        if not self.known:
            object.__setattr__(self, "estimate", math.nan)

    @property
    def known(self) -> bool:
        """Whether the noise leaves something of the number to see."""
        return math.isfinite(self.se_noise)

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready; None where no finite number can be given."""
        return {k: (None if isinstance(v, float) and not math.isfinite(v) else v) for k, v in asdict(self).items()}


@dataclass(frozen=True)
class Reading:
    """How an answer is read: the public n, the confidence of intervals, the family of the noise.

    `most`: what a plain count cannot exceed, where the number of rows is public and a person has one.
    """

    n: int | None = None
    confidence: float = 0.95
    family: str = "gaussian"
    most: float = math.inf

    def binomial_error(self, count: float, heaviest: float = 1.0) -> float:
        """The standard deviation of a count over samples: binomial when n is public, else Poisson; weights: at most."""
        share = min(count / self.n, 1.0) if self.n and heaviest == 1 else 0.0
        return math.sqrt(max(count, 0.0) * heaviest * (1 - share))


def excess_kurtosis(mean: Any, variance: Any) -> Any:
    """Of the beta law on [-1, 1] with this mean and variance: -1.2 when uniform, 0 when narrow, to 6 when exponential.

    What a variance's sampling error is read from: var(s^2) = variance^2 (2 + excess)/n. Two moments and the bounds are
    all that is released; of the laws that have them this one holds the uniform, the normal (as a limit), the
    exponential (as a limit) and two values.
    """
    p, q = (1 + mean) / 2, (1 - mean) / 2
    room = 4 * p * q  # the largest variance with this mean
    v = np.clip(variance, 1e-12, room * (1 - 1e-9) + 1e-12)
    total = np.maximum(room / v - 1, 1e-9)  # a + b of the beta law, a = p (a + b)
    a, b = np.maximum(p, 1e-9) * total, np.maximum(q, 1e-9) * total
    return 6 * ((a - b) ** 2 * (total + 1) - a * b * (total + 2)) / (a * b * (total + 2) * (total + 3))


def half_width(se_noise: float, se_sampling: float, reading: Reading) -> float:
    """t with P(|noise + sampling| <= t) = confidence, sampling normal and the noise of its family.

    Several Laplace noises are read as one of the same variance, which has the longest interval of them.
    """
    if not math.isfinite(se_noise) or not math.isfinite(se_sampling):
        return math.inf
    beta = (1 - reading.confidence) / 2
    both = math.hypot(se_noise, se_sampling)
    normal = -float(ndtri(beta)) * both
    if reading.family == "gaussian" or se_noise <= 1e-6 * both:
        return normal
    b = se_noise / math.sqrt(2)
    if se_sampling <= 1e-6 * both:
        return -b * math.log(2 * beta)
    gap = lambda t: _laplace_normal_tail(t, b, se_sampling) - beta  # noqa: E731
    return float(brentq(gap, 0.0, 2 * normal + 20 * b))


def _laplace_normal_tail(t: float, b: float, s: float) -> float:
    """P(L + N > t) for Laplace noise of scale b and a normal of standard deviation s."""
    shift = s * s / (2 * b * b)
    up = math.exp(shift - t / b + float(log_ndtr(t / s - s / b)))
    down = math.exp(shift + t / b + float(log_ndtr(-t / s - s / b)))
    return math.exp(float(log_ndtr(-t / s))) + (up - down) / 2


def row(
    query: str,
    cell: str,
    estimate: float,
    se_noise: float,
    se_sampling: float,
    reading: Reading,
    note: str = "",
    limits: tuple[float, float] = (-math.inf, math.inf),
    table: bool = False,
    shift: float = 0.0,
) -> Row:
    """The row of an estimate; `table`: the interval is about the table itself, so it holds the noise only.

    An estimate beyond the limits is shown at the limit, and the interval reaches its whole half-width inwards from
    there: it holds what the interval around the estimate has within the limits, and is never empty.
    `shift`: how far errors push this estimate on average; the interval reaches as much further the other way.
    """
    t = half_width(se_noise, 0.0 if table else se_sampling, reading)
    clipped = min(max(estimate, limits[0]), limits[1])
    if clipped != estimate:
        note += OUTSIDE
    ends = (clipped - t - max(shift, 0.0), clipped + t - min(shift, 0.0))
    low, high = (min(max(edge, limits[0]), limits[1]) for edge in ends)
    return Row(query, cell, clipped, se_noise, se_sampling, low, high, note)


def hidden(query: str, cell: str, limits: tuple[float, float], note: str) -> Row:
    """The row of a number that the noise hides: no estimate, and what is public for an interval."""
    return Row(query, cell, math.nan, math.inf, math.inf, *limits, note)


def cell_names(schema: Any, cells: Sequence[str | Bins]) -> list[str]:
    """The name of every cell in C order: "smoker=yes, age=[18, 65)"; one empty name when there are no cells."""
    axes = [_names(schema, cell) for cell in cells]
    return [", ".join(combination) for combination in itertools.product(*axes)]


def _names(schema: Any, cell: str | Bins) -> list[str]:
    if not isinstance(cell, Bins):
        return [f"{cell}={value}" for value in schema.columns[cell].values]
    column = schema.columns[cell.column]
    pairs = list(itertools.pairwise(cell.reaching(column.low, column.high).edges))
    return [f"{cell.column}=[{a:g}, {b:g}{']' if i == len(pairs) - 1 else ')'}" for i, (a, b) in enumerate(pairs)]
