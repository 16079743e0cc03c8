"""The ledger: a budget that cannot be overspent. Charge, make durable, then draw."""

from __future__ import annotations

import html
import os
from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction
from types import TracebackType
from typing import Any, Protocol

from absentia.errors import BudgetRefused, HazardRefused, InputError
from absentia.exact import exact, probability
from absentia.guarantee import finite
from absentia.ledger.account import BINDINGS, Account, Binding, Charge, adaptive_guarantee, rows_of
from absentia.ledger.book import Book
from absentia.ledger.chain import Receipt, Row
from absentia.missing.process import Process
from absentia.planning.batch import Batch

__all__ = ["Ledger"]

READINGS = ("with_missingness", "without_missingness", "if_mask_known")


class Planned(Protocol):
    """What a ledger reads of a plan."""

    @property
    def batch(self) -> Batch: ...
    @property
    def missing(self) -> Process: ...
    @property
    def identity(self) -> str: ...
    @property
    def relation(self) -> str: ...
    @property
    def dependent_rows(self) -> int: ...
    @property
    def budget(self) -> Any: ...


class Ledger:
    """The book of one dataset: law, budget, relation and envelope fixed at opening; charges recomputed through T7."""

    def __init__(self, book: Book) -> None:
        self.book = book

    @staticmethod
    def create(
        path: str | os.PathLike[str], plan: Planned, *, budget: Any = None, binding: Binding = "with_missingness"
    ) -> Ledger:
        """A new ledger for the dataset that the plan is about.

        `budget`: the total, the plan's own by default. `binding`: which figure the budget limits. Where the total
        leaves room beyond the plan, later Gaussian releases must stay within a multiple of the plan's reach that is
        fixed here (a path-wise amplified figure is not a stopping rule).
        """
        if binding not in BINDINGS:
            raise InputError("binding", binding, " or ".join(BINDINGS))
        total = plan.budget if budget is None else budget
        account = Account(
            plan.missing,
            exact(total.epsilon, "budget.epsilon"),
            probability(total.delta, "budget.delta"),
            plan.relation,
            plan.dependent_rows,
            binding,
            plan.identity,
            plan.batch,
        )
        account = replace(account, envelope=largest_envelope(account))
        return Ledger(Book.create(path, account.terms()))

    @staticmethod
    def open(path: str | os.PathLike[str]) -> Ledger:
        """The ledger in an existing file, its chain checked."""
        return Ledger(Book.open(path))

    # -- charging ---------------------------------------------------------------------------------------------------

    def charge(self, plan: Planned, purpose: str) -> Receipt:
        """The receipt of a charge that is on the disk; only then may noise be drawn. Refused when it does not fit."""
        account = self.account
        if plan.relation != account.relation or plan.dependent_rows != account.dependent_rows:
            raise InputError("relation", plan.relation, f"the ledger's: {account.relation}")
        if plan.missing.to_dict() != account.missing.to_dict():
            raise HazardRefused(
                "H19",
                "The plan states another missingness law than the ledger.",
                "One dataset has one mask, and the book accounts for it by one law.",
                "Plan with the ledger's law, or amend the ledger's law first.",
            )
        return self._append(Charge(plan.identity, plan.batch), purpose)

    def charge_black_box(
        self, *, epsilon: object, delta: object = "0", columns: tuple[str, ...] | list[str], purpose: str
    ) -> Receipt:
        """The receipt of a charge for a mechanism that the user runs, stated as (epsilon, delta) on masked data."""
        e, d = exact(epsilon, "epsilon"), probability(exact(delta, "delta"), "delta")
        if e < 0 or not columns:
            raise InputError("epsilon", epsilon, "epsilon >= 0 and at least one column that the mechanism reads")
        return self._append(Charge("", None, e, d, tuple(columns)), purpose)

    def _append(self, charge: Charge, purpose: str) -> Receipt:
        if not purpose.strip():
            raise InputError("purpose", purpose, "what the release is for, in words: the book is read by people")

        def guard(rows: tuple[Row, ...], payload: dict[str, Any]) -> None:
            before = Account.from_rows(rows_of(rows))
            check_budget(before, Charge.from_dict(payload))

        return self.book.append("charge", charge.to_dict(), guard, purpose=purpose, plan=charge.plan)

    def amend(self, missing: Process, purpose: str) -> Receipt:
        """The receipt of a new missingness law (certified, or corrected); refused when what is spent would exceed the budget."""

        def guard(rows: tuple[Row, ...], payload: dict[str, Any]) -> None:
            after = Account.from_rows([*rows_of(rows), ("amend", payload)])
            if not after.within_budget():
                raise BudgetRefused(
                    "Under the new law the charges so far exceed the budget.",
                    "A budget is never overspent in hindsight.",
                    "Keep the present law.",
                )

        return self.book.append("amend", {"missing": missing.to_dict()}, guard, purpose=purpose)

    # -- reading ----------------------------------------------------------------------------------------------------

    @property
    def account(self) -> Account:
        return Account.from_rows(rows_of(self.book.rows()))

    def spent(self) -> dict[str, float]:
        """Epsilon spent under the three readings, each recomputed from base losses."""
        return self.account.spent()

    def remaining(self) -> dict[str, float]:
        """What is left of the budget's epsilon under the three readings (never below 0)."""
        account = self.account
        return {k: max(0.0, float(account.epsilon) - v) for k, v in account.spent().items()}

    def verify(self, receipt: Receipt | Mapping[str, Any] | None = None) -> Receipt:
        """The newest receipt, after chain and totals were recomputed; LedgerDamaged when anything disagrees."""
        newest = self.book.verify(receipt)
        self.account.spent()
        return newest

    def export(self) -> dict[str, Any]:
        """The whole book and its figures as JSON-able values."""
        return {**self.book.export(), "summary": self.summary()}

    def summary(self) -> dict[str, Any]:
        """budget, spent, remaining, releases: what `ledger show --json` prints."""
        account, rows = self.account, self.book.rows()
        spent = account.spent()
        return {
            "schema_version": 1,
            "dataset": self.book.dataset,
            "budget": {"epsilon": str(account.epsilon), "delta": str(account.delta)},
            "binding": account.binding,
            "relation": account.relation,
            "missingness": account.missing.to_dict(),
            "spent": {k: finite(v) for k, v in spent.items()},
            "remaining": {k: max(0.0, float(account.epsilon) - v) for k, v in spent.items()},
            "releases": [
                {"sequence": r.sequence, "time": r.time, "kind": r.kind, "purpose": r.purpose, "plan": r.plan}
                for r in rows
                if r.kind != "open"
            ],
            "head": self.book.head.to_dict(),
        }

    def show(self) -> str:
        """The book as text, at most 80 columns."""
        s = self.summary()
        lines = [
            f"ledger of dataset {s['dataset']}",
            f"budget: epsilon {s['budget']['epsilon']}, delta {s['budget']['delta']} ({s['relation']});"
            f" binding: {s['binding'].replace('_', ' ')}",
            f"{'reading':<24}{'spent':>14}{'remaining':>14}",
        ]
        for k in READINGS:
            spent = "none" if s["spent"][k] is None else f"{s['spent'][k]:.6g}"
            lines.append(f"{k.replace('_', ' '):<24}{spent:>14}{s['remaining'][k]:>14.6g}")
        lines.append(f"{'#':>3}  {'time (UTC)':<20}{'kind':<8}purpose")
        for r in s["releases"]:
            lines.append(f"{r['sequence']:>3}  {r['time'][:19]:<20}{r['kind']:<8}{r['purpose'][:40]}")
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        return f"<pre>{html.escape(self.show())}</pre>"

    def close(self) -> None:
        self.book.close()

    def __enter__(self) -> Ledger:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def check_budget(before: Account, charge: Charge) -> None:
    """Raises unless the charge fits: requested, remaining, difference, and what would fit."""
    after = before.after(charge)
    if after.within_budget():
        return
    spent = before.spent()[before.binding]
    alone = replace(before, charges=(charge,)).spent()[before.binding]
    budget = float(before.epsilon)
    if not after.covered():
        why = (
            "Later Gaussian releases must stay within the envelope fixed at opening: queries chosen in the light of"
            " earlier answers can be steered towards the masks that those answers make likely."
        )
        total = "outside the envelope"
    else:
        why = f"The total is recomputed from base losses (T7), {before.binding.replace('_', ' ')}."
        total = f"epsilon {after.spent()[before.binding]:.6g}"
    fits = fitting_share(before, charge)
    remedy = (
        f"The same release with {1 / fits:.4g} times the noise would fit."
        if fits > 0
        else "No amount of noise makes this release fit this book; open a new one only for newly collected data."
    )
    raise BudgetRefused(
        f"Requested epsilon {alone:.6g} at delta {before.delta}; spent {spent:.6g} of {budget:g}, remaining"
        f" {max(0.0, budget - spent):.6g}, short by {max(0.0, alone - max(0.0, budget - spent)):.6g}; the total would be"
        f" {total}.",
        why,
        remedy,
    )


def fitting_share(before: Account, charge: Charge) -> float:
    """The largest share of the charge's signal that still fits, to two digits below; 0 when none does."""
    if charge.batch is None:
        return 0.0
    low, high = 0.0, 1.0
    for _ in range(8):
        middle = (low + high) / 2
        smaller = replace(charge, batch=charge.batch.scaled(Fraction(middle)), plan="")
        low, high = (middle, high) if before.after(smaller).within_budget() else (low, middle)
    return low


def largest_envelope(account: Account) -> Batch:
    """The largest multiple of the plan's reach whose adaptive figure meets the budget (never less than is proved)."""
    batch = account.envelope
    if batch.family == "laplace" or account.dependent_rows or account.binding == "without_missingness":
        return batch

    def meets(factor: float) -> bool:
        figure = adaptive_guarantee(account, batch.scaled(Fraction(factor)))
        return Fraction(figure.epsilon(account.delta)) <= account.epsilon

    low, high = 0.0, 1.0
    while meets(high) and high < 2**20:
        low, high = high, 2 * high
    for _ in range(16):
        middle = (low + high) / 2
        low, high = (middle, high) if meets(middle) else (low, middle)
    return batch.scaled(Fraction(low))
