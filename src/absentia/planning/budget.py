"""The budget of a plan: exact decimals, because 0.1 as a binary number is not a tenth."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from absentia.errors import InputError
from absentia.exact import exact
from absentia.missing.text import written

__all__ = ["Budget"]


@dataclass(frozen=True, init=False)
class Budget:
    """(epsilon, delta) as exact numbers; a float is refused.

    >>> Budget("0.1", "1e-6").epsilon
    Fraction(1, 10)
    """

    epsilon: Fraction
    delta: Fraction

    def __init__(self, epsilon: object, delta: object = "0") -> None:
        e, d = exact(epsilon, "budget.epsilon"), exact(delta, "budget.delta")
        if not 0 < e <= 1000:
            raise InputError("budget.epsilon", epsilon, "a number above 0, at most 1000")
        if not 0 <= d < 1:
            raise InputError("budget.delta", delta, "a number from 0 to below 1")
        object.__setattr__(self, "epsilon", e)
        object.__setattr__(self, "delta", d)

    def to_dict(self) -> dict[str, str]:
        return {"epsilon": written(self.epsilon), "delta": written(self.delta)}

    @staticmethod
    def from_dict(data: Any) -> Budget:
        """The [budget] table of a plan."""
        if not isinstance(data, Mapping) or "epsilon" not in data:
            raise InputError("budget.epsilon", data, 'a table such as epsilon = "1", delta = "1e-6"')
        for key in data:
            if key not in ("epsilon", "delta"):
                raise InputError(f"budget.{key}", key, "epsilon and delta only")
        return Budget(data["epsilon"], data.get("delta", "0"))

    def __str__(self) -> str:
        return f"epsilon {written(self.epsilon)}, delta {written(self.delta)}"
