"""Amputation: complete tables made incomplete by a stated process. For simulation; it never touches a guarantee.

Rows are drawn independently and every parameter is fixed and public, so that the process that made the holes is known
exactly. Nothing is standardised, ranked or calibrated on the frame (that would tie the masks of different rows
together); a target rate is met on average over a *declared* reference distribution only.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from absentia.errors import InputError
from absentia.exact import integer, list_of, number, probability
from absentia.missing.domain import Domain, Records, Span, bounds_of, domain_of, is_category, text_of
from absentia.missing.models import PatternModel, mar, mnar_patterns
from absentia.missing.patterns import Patterns, patterns
from absentia.missing.process import Observed, Process
from absentia.missing.score import Score, logistic
from absentia.missing.selfmask import ColumnModel, mnar_logistic
from absentia.missing.text import by_column, masses_of, names_of, subsets_of, table_of, written

__all__ = ["amputation", "column_amputation", "intercept_for", "masked", "reference_records"]

Reference = Literal["uniform", "normal"]
POINTS = 12  # 2^12 points of the reference distribution
NORMAL_SPREAD = 3.0  # the normal reference has standard deviation 1/3: the bounds lie at three standard deviations


def masked(process: Process, frame: Any, seed: int) -> Any:
    """The frame with the entries of the process's columns made missing, from this seed."""
    integer(seed, "seed", 0)
    engine = type(frame).__module__.partition(".")[0]
    if engine not in ("polars", "pandas") or type(frame).__name__ != "DataFrame":
        raise InputError("frame", type(frame).__name__, "a Polars or pandas DataFrame")
    for name in process.columns:
        if [str(label) for label in frame.columns if label == name] != [name]:
            raise InputError("frame.columns", list(frame.columns), f"a frame with one column named {name!r}")
    spans = {name: span for name, span in process.spans if name in process.reads}
    records = Records(process.spans, {name: _values(frame[name], span, name) for name, span in sorted(spans.items())})
    seen = process.draw(len(frame), np.random.default_rng(seed), records)
    holes = frame.clone() if engine == "polars" else frame.copy()
    for j, name in enumerate(process.columns):
        holes = _without(holes, name, seen[:, j])
    return holes


def _without(frame: Any, name: str, seen: Observed) -> Any:
    """The frame with the other entries of this column made missing."""
    if not hasattr(frame, "with_columns"):
        frame[name] = frame[name].where(seen)
        return frame
    import polars as pl

    kept = pl.select(pl.when(pl.Series(seen)).then(frame[name].rename("kept")).otherwise(None)).to_series()
    return frame.with_columns(kept.rename(name))  # a series: an expression would read some names as patterns


def _values(series: Any, span: Span, name: str) -> NDArray[Any]:
    """What the process reads of a column: texts among the declared values, or numbers within the bounds."""
    complete = "complete values in the columns that the process reads"
    if bool(np.asarray(series.is_null() if hasattr(series, "is_null") else series.isna()).any()):
        raise InputError(f"frame.{name}", "a missing value", complete)
    if span is not None and is_category(span):
        texts = [text_of(value) for value in series.to_numpy().tolist()]
        if not set(texts) <= set(span):
            raise InputError(f"frame.{name}", "another value", f"the values {', '.join(map(str, span))}")
        return np.array(texts, dtype=np.str_)
    try:
        numbers = np.asarray(series.to_numpy(), dtype=float)
    except (TypeError, ValueError):
        raise InputError(f"frame.{name}", str(series.dtype), "a column of numbers") from None
    if np.isnan(numbers).any():
        raise InputError(f"frame.{name}", "a missing value", complete)
    low, high = bounds_of(span)
    clipped: NDArray[np.float64] = np.clip(numbers, float(low), float(high))
    return clipped


def reference_records(domain: Domain, columns: Iterable[str], reference: Reference) -> dict[str, NDArray[Any]]:
    """Points that stand for the declared reference: columns independent; numbers uniform on the bounds, or normal
    around the midpoint with a standard deviation of a third of the half-width (clipped); categories uniform. Numbers
    are rescaled to [-1, 1].
    """
    named, spans = sorted(columns), dict(domain)
    if reference not in ("uniform", "normal"):
        raise InputError("reference", reference, '"uniform" or "normal"')
    if not named:
        return {}
    from scipy.stats import qmc  # slow to load, and of use to simulations only

    points = (qmc.Sobol(len(named), scramble=False).random_base2(POINTS) + 0.5**POINTS / 2) % 1
    return {name: _spread(points[:, i], spans[name], reference) for i, name in enumerate(named)}


def _spread(u: NDArray[np.float64], span: Span, reference: Reference) -> NDArray[Any]:
    if span is not None and is_category(span):
        values: NDArray[np.str_] = np.array(span)[np.minimum((u * len(span)).astype(int), len(span) - 1)]
        return values
    z: NDArray[np.float64] = ndtri(u) / NORMAL_SPREAD if reference == "normal" else 2 * u - 1
    return np.minimum(np.maximum(z, -1), 1)


def intercept_for(rate: Fraction, score: Score, domain: Domain, reference: Reference) -> Fraction:
    """The intercept (six decimals) at which logistic(score) averages `rate` over the reference distribution."""
    if not 0 < rate < 1:
        raise InputError("proportion", written(rate), "a probability strictly between 0 and 1 for a logistic model")
    records = reference_records(domain, score.columns, reference)
    slope = score.at(1 << POINTS, records.__getitem__) - float(score.intercept)
    low, high = -60.0 - float(np.abs(slope).max()), 60.0 + float(np.abs(slope).max())
    for _ in range(80):
        middle = (low + high) / 2
        low, high = (middle, high) if float(np.mean(logistic(slope + middle))) < rate else (low, middle)
    return Fraction(round(high, 6)).limit_denominator(10**6)


def amputation(
    columns: object,
    missing: Sequence[Iterable[str]],
    mass: Iterable[object] | None = None,
    proportion_of_rows: object = None,
    proportion_of_cells: object = None,
    mechanism: Literal["mcar", "mar", "mnar"] = "mcar",
    weights: Sequence[Mapping[str, object]] | None = None,
    domain: Mapping[str, object] | None = None,
    reference: Reference = "uniform",
    because: str = "amputation",
    by: str = "",
) -> Patterns | PatternModel:
    """The process that makes rows incomplete by patterns (each lists the columns that go missing).

    Exactly one of `proportion_of_rows` (rows with a missing entry) and `proportion_of_cells` (missing entries among
    all entries of `columns`). `mass` shares the incomplete rows among the patterns. For "mar" and "mnar", `weights`
    gives each pattern's slopes, and the proportion holds on average over the declared reference distribution.

    >>> amputation(["a", "b"], [["a"]], proportion_of_cells="0.25").observed_count().atoms
    ((1.0, Fraction(1, 2)), (2.0, Fraction(1, 2)))
    """
    names = names_of(columns)
    lost = subsets_of(names, missing, "missing")
    if not lost or not all(lost):
        raise InputError("missing", missing, "at least one pattern, each with at least one missing column")
    share = masses_of(mass, len(lost))
    rate = _rate_of_rows(names, lost, share, proportion_of_rows, proportion_of_cells)
    if mechanism == "mcar":
        everything = frozenset(names)
        shown = [everything, *(everything - columns for columns in lost)]
        return patterns(names, shown, [1 - rate, *(rate * q for q in share)], because, by)
    if mechanism not in ("mar", "mnar"):
        raise InputError("mechanism", mechanism, '"mcar", "mar" or "mnar"')
    words = f"a table of slopes for each of the {len(lost)} patterns"
    listed = [table_of(slopes, f"weights[{i}]", words) for i, slopes in enumerate(list_of(weights, "weights", words))]
    if len(listed) != len(lost):
        raise InputError("weights", weights, words)
    spans = domain_of(columns, domain)
    given = []
    for i, (columns_lost, q, slopes) in enumerate(zip(lost, share, listed, strict=True)):
        bare = Score.parse({"intercept": 0, **slopes}, spans, f"weights[{i}]")
        intercept = written(intercept_for(rate, bare, spans, reference))
        given.append({"missing": sorted(columns_lost), "mass": q, "score": {**slopes, "intercept": intercept}})
    build = mar if mechanism == "mar" else mnar_patterns
    return build(columns, given, domain, because, by)


def column_amputation(
    columns: object,
    proportion_of_column: Mapping[str, object],
    weights: Mapping[str, Mapping[str, object]],
    domain: Mapping[str, object] | None = None,
    reference: Reference = "uniform",
    because: str = "amputation",
    by: str = "",
) -> ColumnModel:
    """The process in which each named column loses this share of its entries, by logistic weights of its own.

    {"bmi": "0.3"} with {"bmi": {"bmi": "2"}} is self-masking; the share holds on average over the reference.
    """
    names, spans = names_of(columns), domain_of(columns, domain)
    given = {}
    shares = by_column(names, proportion_of_column, "proportion_of_column", "a share for each column")
    slopes_of = by_column(list(shares), weights, "weights", "a table of slopes for columns with a proportion")
    for name, share in shares.items():
        slopes = table_of(slopes_of.get(name, {}), f"weights.{name}", "a table of slopes")
        bare = Score.parse({"intercept": 0, **slopes}, spans, f"weights.{name}")
        rate = probability(share, f"proportion_of_column.{name}")
        given[name] = {**slopes, "intercept": written(intercept_for(rate, bare, spans, reference))}
    return mnar_logistic(columns, given, domain, because, by)


def _rate_of_rows(
    names: Sequence[str], lost: Sequence[frozenset[str]], share: Sequence[Fraction], rows: object, cells: object
) -> Fraction:
    """The share of incomplete rows that was asked for, or that gives the asked share of missing cells."""
    if (rows is None) == (cells is None):
        raise InputError("proportion_of_rows", rows, "exactly one of proportion_of_rows and proportion_of_cells")
    if rows is not None:
        return probability(rows, "proportion_of_rows")
    a_row = sum((q * len(columns) for q, columns in zip(share, lost, strict=True)), Fraction(0)) / len(names)
    if number(cells, "proportion_of_cells") > a_row:
        raise InputError(
            "proportion_of_cells", cells, f"at most {written(a_row)}, the share when every row is incomplete"
        )
    return probability(cells, "proportion_of_cells") / a_row
