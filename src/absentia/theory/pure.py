"""T3: pure differential privacy, exact. The loss is K(1) - K(-1), K the log moment generating function of the reach."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from flint import arb

from absentia.exact import ball

__all__ = ["log_mgf", "pure_epsilon"]

Atoms = Sequence[tuple[Fraction | float, Fraction]]
"""(reach, mass) with exact masses that sum to 1."""


def log_mgf(atoms: Atoms, t: int, scale: Fraction | float = 1) -> arb:
    """A ball around K(t) = ln E exp(t R/scale)."""
    b = ball(scale)
    top = max(x for x, _ in atoms) if t > 0 else min(x for x, _ in atoms)
    peak = t * ball(top) / b
    total = sum((ball(q) * (t * ball(x) / b - peak).exp() for x, q in atoms), arb(0))
    return total.log() + peak


def pure_epsilon(atoms: Atoms, scale: Fraction | float = 1) -> arb:
    """A ball around eps' = K(1) - K(-1) (T3).

    Assumptions: rows draw their masks independently (any missingness); the mechanism's log-likelihood ratio to
    the all-missing row is at most R/scale, e.g. Laplace noise of that scale.
    """
    return log_mgf(atoms, 1, scale) - log_mgf(atoms, -1, scale)
