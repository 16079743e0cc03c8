"""absentia: differential privacy for data with holes. This file is the map."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

_MAP = {
    # how entries go missing, and what that makes of a query's reach
    "ReachLaw": "absentia.law.reachlaw",
    "Blocks": "absentia.law.blocks",
    "Forms": "absentia.law.forms",
    "Reach": "absentia.query.reach",
    "Term": "absentia.query.reach",
    # noise, and what is promised
    "Laplace": "absentia.theory.noise",
    "Gaussian": "absentia.theory.noise",
    "BlackBox": "absentia.theory.noise",
    "amplify": "absentia.amplification",
    "Guarantee": "absentia.guarantee",
    "Figure": "absentia.guarantee",
    "calibrate": "absentia.calibration",
    "calibrate_black_box": "absentia.calibration",
    "noise_within": "absentia.calibration",
    # several releases
    "together": "absentia.composition",
    "fresh_masks": "absentia.composition",
    "Filter": "absentia.composition",
    # a table and what is asked of it
    "Schema": "absentia.planning.schema",
    "Bins": "absentia.query.statistic",
    "count": "absentia.query.columns",
    "sum": "absentia.query.columns:total",
    "total": "absentia.query.columns",
    "mean": "absentia.query.columns",
    "variance": "absentia.query.columns",
    "histogram": "absentia.query.tables",
    "marginal": "absentia.query.tables",
    "quantiles": "absentia.query.quantiles",
    "median": "absentia.query.quantiles",
    "moments": "absentia.query.moments",
    "covariance": "absentia.query.models",
    "correlation": "absentia.query.models",
    "pca": "absentia.query.models",
    "regression": "absentia.query.models",
    "linear": "absentia.query.custom",
    "custom": "absentia.query.custom",
    # plan before data, charge before noise
    "Budget": "absentia.planning.budget",
    "plan": "absentia.planning.plan",
    "Plan": "absentia.planning.plan",
    "Ledger": "absentia.ledger.ledger",
    "Release": "absentia.release",
    "certify": "absentia.ledger.certification",
    "profile": "absentia.table.profile",
    "aggregate": "absentia.table.aggregate",
    # refusals
    "AbsentiaError": "absentia.errors",
    "AuditContradiction": "absentia.errors",
    "BudgetRefused": "absentia.errors",
    "HazardRefused": "absentia.errors",
    "InputError": "absentia.errors",
    "LedgerDamaged": "absentia.errors",
}
"""Every exported name and where it lives (module, or module:name), in the order of use; loaded when first used."""

__all__ = ["__version__", "missing", *_MAP]

if TYPE_CHECKING:
    from absentia import missing as missing
    from absentia.amplification import amplify as amplify
    from absentia.calibration import calibrate as calibrate
    from absentia.calibration import calibrate_black_box as calibrate_black_box
    from absentia.calibration import noise_within as noise_within
    from absentia.composition import Filter as Filter
    from absentia.composition import fresh_masks as fresh_masks
    from absentia.composition import together as together
    from absentia.errors import AbsentiaError as AbsentiaError
    from absentia.errors import AuditContradiction as AuditContradiction
    from absentia.errors import BudgetRefused as BudgetRefused
    from absentia.errors import HazardRefused as HazardRefused
    from absentia.errors import InputError as InputError
    from absentia.errors import LedgerDamaged as LedgerDamaged
    from absentia.guarantee import Figure as Figure
    from absentia.guarantee import Guarantee as Guarantee
    from absentia.law.blocks import Blocks as Blocks
    from absentia.law.forms import Forms as Forms
    from absentia.law.reachlaw import ReachLaw as ReachLaw
    from absentia.ledger.certification import certify as certify
    from absentia.ledger.ledger import Ledger as Ledger
    from absentia.planning.budget import Budget as Budget
    from absentia.planning.plan import Plan as Plan
    from absentia.planning.plan import plan as plan
    from absentia.planning.schema import Schema as Schema
    from absentia.query.columns import count as count
    from absentia.query.columns import mean as mean
    from absentia.query.columns import total as sum  # noqa: F401
    from absentia.query.columns import total as total
    from absentia.query.columns import variance as variance
    from absentia.query.custom import custom as custom
    from absentia.query.custom import linear as linear
    from absentia.query.models import correlation as correlation
    from absentia.query.models import covariance as covariance
    from absentia.query.models import pca as pca
    from absentia.query.models import regression as regression
    from absentia.query.moments import moments as moments
    from absentia.query.quantiles import median as median
    from absentia.query.quantiles import quantiles as quantiles
    from absentia.query.reach import Reach as Reach
    from absentia.query.reach import Term as Term
    from absentia.query.statistic import Bins as Bins
    from absentia.query.tables import histogram as histogram
    from absentia.query.tables import marginal as marginal
    from absentia.release import Release as Release
    from absentia.table.aggregate import aggregate as aggregate
    from absentia.table.profile import profile as profile
    from absentia.theory.noise import BlackBox as BlackBox
    from absentia.theory.noise import Gaussian as Gaussian
    from absentia.theory.noise import Laplace as Laplace


def __getattr__(name: str) -> Any:
    if name == "missing":
        return import_module("absentia.missing")
    if name not in _MAP:
        raise AttributeError(f"module 'absentia' has no attribute {name!r}")
    module, _, renamed = _MAP[name].partition(":")
    value = getattr(import_module(module), renamed or name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
