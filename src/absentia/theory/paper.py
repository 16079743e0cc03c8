"""The paper as published, P1 to P10, each importable from here.

P1-P2 (`paper_mar`), P4-P8 (`paper_fwl`), P9 the calculus of feature-wise Lipschitz queries (`paper_lipschitz`), P3's
witness and P10's counterexample as worlds that can be run (`paper_pipeline`).
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
from absentia.theory.paper_lipschitz import (
    Lipschitz,
    declared,
    histogram,
    linear,
    lipschitz,
    query,
    second_moments,
    stack,
)
from absentia.theory.paper_mar import MnarPoint, mar, mnar_curve, mnar_delta, mnar_pair
from absentia.theory.paper_pipeline import Pipeline, Scenario, always_observed, dependent_masks, independent_rows

__all__ = [
    "GaussianRelease",
    "LaplaceRelease",
    "Lipschitz",
    "MnarPoint",
    "Pipeline",
    "Scenario",
    "always_observed",
    "corollary",
    "declared",
    "dependent_masks",
    "entries_observed",
    "gaussian",
    "histogram",
    "independent_rows",
    "laplace",
    "linear",
    "lipschitz",
    "mar",
    "mnar_curve",
    "mnar_delta",
    "mnar_pair",
    "query",
    "relaxed_gaussian",
    "relaxed_laplace",
    "second_moments",
    "sensitivity",
    "stack",
]
