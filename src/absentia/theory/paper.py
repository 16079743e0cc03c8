"""The paper as published: P1-P2 (`paper_mar`) and P4-P8 (`paper_fwl`).

P3's witness and P10's counterexample are worlds, not formulas: see `absentia.auditing.pipeline`. P9 is a calculus of
queries: see `absentia.query.lipschitz`.
"""

from absentia.theory.paper_fwl import (
    GaussianRelease,
    LaplaceRelease,
    corollary,
    entries_observed,
    gaussian,
    laplace,
    relaxed_gaussian,
    relaxed_laplace,
    sensitivity,
)
from absentia.theory.paper_mar import MnarPoint, mar, mnar_curve, mnar_delta, mnar_pair

__all__ = [
    "GaussianRelease",
    "LaplaceRelease",
    "MnarPoint",
    "corollary",
    "entries_observed",
    "gaussian",
    "laplace",
    "mar",
    "mnar_curve",
    "mnar_delta",
    "mnar_pair",
    "relaxed_gaussian",
    "relaxed_laplace",
    "sensitivity",
]
