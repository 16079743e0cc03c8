"""One release's base loss, and how a row of the book is read back."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, NamedTuple, TypeVar

from absentia.errors import HazardRefused, InputError, LedgerDamaged
from absentia.exact import exact, probability
from absentia.planning.batch import Batch

__all__ = ["NOTHING", "Charge", "Loss", "loss_of", "read_row"]

T = TypeVar("T")


class Loss(NamedTuple):
    """(epsilon, delta) that add up in the plain way."""

    epsilon: Fraction
    delta: Fraction

    def covers(self, other: Loss) -> bool:
        return other.epsilon <= self.epsilon and other.delta <= self.delta


NOTHING = Loss(Fraction(0), Fraction(0))


@dataclass(frozen=True)
class Charge:
    """One release's base loss: a batch in units of its noise, or a black box that reads some columns."""

    plan: str
    batch: Batch | None = None
    box: Loss = NOTHING
    columns: frozenset[str] = frozenset()

    def loss(self, relation: str, rows: int) -> Loss:
        """What it costs in the plain way, with `rows` dependent rows: a black box, or Laplace noise."""
        if self.batch is None:
            if rows and self.box.delta:
                raise InputError("dependent_rows", rows, "0 where a black box has a delta above 0")
            return Loss(self.box.epsilon * steps(relation, rows), self.box.delta)
        if self.batch.family != "laplace":
            raise HazardRefused(
                "H-FAMILY",
                "A Gaussian release was asked of a book that was opened with a Laplace plan.",
                "Gaussian releases after the first answer need a unit of distances that was fixed at opening.",
                "Plan with Laplace noise, or open the book with the Gaussian plan and a part set aside for Laplace.",
            )
        return Loss(self.batch.distance(relation, rows), Fraction(0))

    @property
    def reads(self) -> frozenset[str]:
        return self.columns if self.batch is None else self.batch.reach.columns

    def to_dict(self) -> dict[str, Any]:
        if self.batch is not None:
            return {"batch": self.batch.to_dict(), "plan": self.plan}
        epsilon, delta = map(str, self.box)
        return {"epsilon": epsilon, "delta": delta, "columns": sorted(self.columns), "plan": self.plan}

    @staticmethod
    def from_dict(data: Mapping[str, Any]) -> Charge:
        if "batch" in data:
            return Charge(str(data["plan"]), Batch.from_dict(data["batch"]))
        columns = data["columns"]
        if not isinstance(columns, list) or not all(isinstance(c, str) for c in columns):
            raise InputError("columns", columns, "a list of names")
        return Charge(str(data["plan"]), None, loss_of(data), frozenset(columns))


def steps(relation: str, rows: int) -> int:
    """How many neighbouring tables lead to that of such a record: a substitution is one step, or two of add_remove."""
    return 1 + rows * (2 if relation == "add_remove" else 1)


def read_row(sequence: int, row: tuple[str, Mapping[str, Any]], read: Callable[[Mapping[str, Any]], T]) -> T:
    """What a row's payload says; LedgerDamaged when it does not say it. The chain cannot tell: it may be sealed so."""
    kind, payload = row
    try:
        return read(payload)
    except (InputError, LookupError, TypeError, ValueError, ArithmeticError, AttributeError) as e:
        raise LedgerDamaged(
            "L-DAMAGED",
            f"Row {sequence} ({kind}) does not hold what such a row holds.",
            "Totals are recomputed from base losses, so every row must be understood.",
            "Put back an undamaged copy that verifies against the newest receipt; where a newer absentia wrote the"
            " row, update this one.",
        ) from e


def loss_of(data: Mapping[str, Any]) -> Loss:
    """The loss that a row states in exact decimals."""
    loss = Loss(exact(data["epsilon"], "epsilon"), probability(exact(data["delta"], "delta"), "delta"))
    if loss.epsilon < 0:
        raise InputError("epsilon", loss.epsilon, "a number >= 0")
    return loss
