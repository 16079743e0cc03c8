"""Every way in which absentia says no: a stable code, the rule, and what to do instead.

The text of a refusal depends on public things only (plan, schema, law), never on a cell of the data.
"""

from __future__ import annotations

from decimal import Decimal, localcontext
from fractions import Fraction

from absentia.plain import visible

__all__ = ["AbsentiaError", "AuditContradiction", "BudgetRefused", "HazardRefused", "InputError", "LedgerDamaged"]


class AbsentiaError(Exception):
    """A refusal: `code` is stable, `exit_code` is what the command line returns."""

    exit_code = 1

    def __init__(self, code: str, what: str, rule: str, remedy: str) -> None:
        self.code, self.what, self.rule, self.remedy = code, visible(what), visible(rule), visible(remedy)
        super().__init__(" ".join(part for part in (f"[{code}] {self.what}", self.rule, self.remedy) if part))

    def to_dict(self) -> dict[str, str]:
        return {"code": self.code, "error": self.what, "rule": self.rule, "remedy": self.remedy}


class InputError(AbsentiaError, ValueError):
    """A field has a value that is not allowed; nothing was computed."""

    exit_code = 2

    def __init__(self, field: str, given: object, allowed: str, code: str = "E-INPUT", remedy: str = "") -> None:
        self.field, self.given, self.allowed = field, given, allowed
        super().__init__(code, f"{field}: given {_short(given)}; allowed: {allowed}.", "", remedy)


class BudgetRefused(AbsentiaError):
    """The budget does not cover what was asked; nothing was drawn."""

    exit_code = 3

    def __init__(self, what: str, rule: str, remedy: str, code: str = "B-BUDGET") -> None:
        super().__init__(code, what, rule, remedy)


class HazardRefused(AbsentiaError):
    """What was asked would break the promise; `code` names the hazard (H1-H22, H-...)."""

    exit_code = 4


class LedgerDamaged(AbsentiaError):
    """The book does not agree with itself or with a receipt."""

    exit_code = 5


class AuditContradiction(AbsentiaError):
    """A measured lower bound exceeds a claimed upper bound."""

    exit_code = 6


def _short(value: object) -> str:
    """The value as it was written, not as Python spells it."""
    if value is None or isinstance(value, bool):
        text = "nothing" if value is None else str(value).lower()
    else:
        text = _decimal(value) if isinstance(value, Fraction) else repr(value)
    return text if len(text) <= 80 else text[:77] + "..."


def _decimal(q: Fraction) -> str:
    """The decimal that a fraction is, when it is short; else the quotient."""
    with localcontext() as context:
        context.prec = 25
        found = Decimal(q.numerator) / Decimal(q.denominator)
    return format(found.normalize(), "g") if Fraction(found) == q else str(q)
