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
    # refusals
    "AbsentiaError": "absentia.errors",
    "AuditContradiction": "absentia.errors",
    "BudgetRefused": "absentia.errors",
    "HazardRefused": "absentia.errors",
    "InputError": "absentia.errors",
    "LedgerDamaged": "absentia.errors",
}
"""Every exported name and where it lives, in the order in which a user meets them; loaded on first use."""

__all__ = ["__version__", "missing", *_MAP]  # noqa: PLE0604

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
    from absentia.query.reach import Reach as Reach
    from absentia.query.reach import Term as Term
    from absentia.theory.noise import BlackBox as BlackBox
    from absentia.theory.noise import Gaussian as Gaussian
    from absentia.theory.noise import Laplace as Laplace


def __getattr__(name: str) -> Any:
    if name == "missing":
        return import_module("absentia.missing")
    if name not in _MAP:
        raise AttributeError(f"module 'absentia' has no attribute {name!r}")
    value = getattr(import_module(_MAP[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
