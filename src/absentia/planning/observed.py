"""How many rows are expected to show a set of columns, as far as the missingness says before data is opened."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

from absentia.missing.complete import Complete
from absentia.missing.independent import Independent
from absentia.missing.mixture import Mixture
from absentia.missing.patterns import Patterns
from absentia.missing.process import Process
from absentia.missing.sampled import Sampled
from absentia.query.reach import Reach, Term

__all__ = ["chance_of", "chance_of_any", "exactly_known", "seen_by"]


def exactly_known(missing: Process) -> bool:
    """Whether the process says with which probability columns are observed, rather than a bound on it."""
    if isinstance(missing, Mixture):
        return not missing.at_least_nothing and all(exactly_known(part) for part in missing.parts)
    return isinstance(missing, (Patterns, Independent, Sampled, Complete))


def chance_of(missing: Process, columns: frozenset[str]) -> tuple[Fraction, Fraction]:
    """(least, most) probability that a row shows all of these columns."""
    most = missing.law(Reach(1, (Term(columns, 1.0),))).p_exact
    return (most if exactly_known(missing) else Fraction(0)), most


def chance_of_any(missing: Process, columns: frozenset[str]) -> Fraction:
    """The largest probability that a row shows any of these columns: the p of T1; 1 where nothing is known."""
    if not columns or isinstance(missing, Complete):
        return Fraction(1)
    return missing.law(Reach(1, (Term(columns, 1.0, any=True),))).p_exact


def seen_by(missing: Process, n: int | None) -> Callable[[frozenset[str]], tuple[float, float]]:
    """The expected number of rows that show all of these columns: (at least, at most); per row when n is not public."""
    rows = 1 if n is None else n
    cache: dict[frozenset[str], tuple[float, float]] = {}

    def seen(columns: frozenset[str]) -> tuple[float, float]:
        if columns not in cache:
            low, high = chance_of(missing, columns)
            cache[columns] = float(low * rows), float(high * rows)
        return cache[columns]

    return seen
