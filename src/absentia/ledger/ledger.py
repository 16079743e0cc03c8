"""The ledger: a budget that cannot be overspent. Charge, make durable, then draw."""

from __future__ import annotations

import html
import os
from collections.abc import Iterable, Mapping, Sequence
from functools import reduce
from operator import add
from types import TracebackType
from typing import TYPE_CHECKING, Any

from absentia.errors import BudgetRefused, HazardRefused, InputError
from absentia.exact import exact, probability, round_down
from absentia.guarantee import finite
from absentia.ledger.account import BINDINGS, Account, Binding, left, rows_of
from absentia.ledger.book import Book
from absentia.ledger.chain import Receipt, Row
from absentia.ledger.charge import NOTHING, Charge, Loss
from absentia.ledger.refusal import refused
from absentia.ledger.text import as_text, foreseen
from absentia.missing.process import Process
from absentia.missing.text import written
from absentia.planning.batch import Batch
from absentia.planning.schema import Schema

if TYPE_CHECKING:
    from absentia.planning.planned import Plan

__all__ = ["Ledger", "stated"]


class NoRoom(Exception):
    """The guard's answer, before words are found for it outside the lock: the account that had no room."""


class Ledger:
    """The book of one dataset: schema, law, relation, budget, unit fixed at opening; totals recomputed through T7."""

    def __init__(self, book: Book) -> None:
        self.book = book

    @staticmethod
    def create(
        path: str | os.PathLike[str],
        plan: Plan,
        *,
        budget: Any = None,
        binding: Binding = "with_missingness",
        later: Iterable[Plan] = (),
        aside: Any = None,
    ) -> Ledger:
        """A new ledger for the dataset that the plan is about.

        `budget`: the total, by default the plan's own. `binding`: which figure it limits. The first release is charged
        at its own figure. After it, releases may follow earlier answers, and the rule that holds them is fixed here:
        Gaussian noise within a multiple of the distances of the plan and of the `later` plans together (which raises
        the price of what uses only a part), or plain composition at a tenth of delta (alone, and at the whole of it,
        without missingness); `aside` for Laplace noise and black boxes beside it.
        """
        if binding not in BINDINGS:
            raise InputError("binding", binding, " or ".join(BINDINGS))
        total = plan.budget if budget is None else budget
        limit = Loss(exact(total.epsilon, "budget.epsilon"), probability(total.delta, "budget.delta"))
        part = (
            NOTHING if aside is None else Loss(exact(aside.epsilon, "aside.epsilon"), exact(aside.delta, "aside.delta"))
        )
        if not limit.covers(part):
            raise InputError("aside", written(part.epsilon), "a part of the budget, in epsilon and in delta")
        schema, plans = plan.schema.to_dict(), [plan, *later]
        unit: Batch = reduce(add, (p.batch for p in plans))
        account = Account(plan.missing, limit, plan.relation, plan.dependent_rows, binding, unit, part, schema)
        for other in plans:
            same_terms(account, other)
        return Ledger(Book.create(path, account.terms()))

    @staticmethod
    def open(path: str | os.PathLike[str]) -> Ledger:
        """The ledger in an existing file, its chain checked."""
        return Ledger(Book.open(path))

    # -- charging ---------------------------------------------------------------------------------------------------

    def charge(self, plan: Plan, purpose: str) -> Receipt:
        """The receipt of a charge that is on the disk; only then may noise be drawn. Refused when it does not fit."""
        return self.pay(Charge(plan.identity, plan.batch), purpose, plan)

    def charge_black_box(
        self, *, epsilon: object, delta: object = "0", columns: Iterable[str], purpose: str, plan: str = ""
    ) -> Receipt:
        """The same for a mechanism that is (epsilon, delta)-DP on masked data, whatever the masks of the two tables.

        `columns`: a row that shows none of them does not move the mechanism (all that it reads is always right).
        """
        e, d = exact(epsilon, "epsilon"), probability(exact(delta, "delta"), "delta")
        reads = frozenset([columns] if isinstance(columns, str) else columns)
        if e < 0:
            raise InputError("epsilon", epsilon, "a number >= 0")
        if not reads or not all(isinstance(c, str) and c for c in reads):
            raise InputError("columns", sorted(map(str, reads)), "at least one column that the mechanism reads")
        known = Schema.from_dict(self.account.schema).columns
        for name in sorted(reads - set(known)):
            raise InputError("columns", name, f"columns of the book's schema: {', '.join(list(known)[:12])}")
        return self.pay(Charge(plan, None, Loss(e, d), reads), purpose)

    def pay(self, charge: Charge, purpose: str, plan: Plan | None = None) -> Receipt:
        """The one way onto the book for what a release costs, under the terms of the plan that it is for."""
        if plan is not None:
            same_terms(self.account, plan)
        worded(purpose)

        def guard(rows: tuple[Row, ...], payload: dict[str, Any]) -> None:
            account = Account.from_rows(rows_of(rows)).after(Charge.from_dict(payload))
            if account.refusal():
                raise NoRoom(account)

        try:
            return self.book.append("charge", charge.to_dict(), guard, purpose=purpose, plan=charge.plan)
        except NoRoom as found:
            raise refused(found.args[0]) from None

    def amend(self, missing: Process, purpose: str) -> Receipt:
        """The receipt of a new missingness law, certified or corrected; refused when charges would then be too much."""
        if not missing.because.strip():
            raise HazardRefused(
                "H13",
                "The new missingness law has no reason.",
                "An assumption about missing entries that nobody stands for must not lower the noise.",
                "Say why it holds (because) and who says so (by).",
            )
        worded(purpose)

        def guard(rows: tuple[Row, ...], payload: dict[str, Any]) -> None:
            account = Account.from_rows([*rows_of(rows), ("amend", payload)])
            if account.refusal():
                raise BudgetRefused(
                    "Under the new law the charges so far exceed the budget.",
                    "A budget is never overspent in hindsight.",
                    "Keep the present law; no further release fits this book under the new one.",
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
        return {k: round_down(left(account.limit.epsilon, v)) for k, v in account.spent().items()}

    def verify(self, receipt: Receipt | Mapping[str, Any] | None = None) -> Receipt:
        """The newest receipt, after chain and totals were recomputed; LedgerDamaged when anything disagrees."""
        newest = self.book.verify(receipt)
        self.account.spent()
        return newest

    def export(self) -> dict[str, Any]:
        """The whole book and its figures as JSON-able values."""
        exported = self.book.export()
        return {**exported, "summary": summarised(exported)}

    def summary(self) -> dict[str, Any]:
        """budget, spent, remaining, releases: what `ledger show --json` prints.

        `counted`: what the charges count for when another release is judged, which may follow their answers (None:
        no other was foreseen). `later`: the columns that later Gaussian releases may use, alone and together.
        """
        account = self.account
        ahead = {"counted": finite(account.ahead()), "later": foreseen(account)}
        return {**summarised(self.book.export()), **ahead}

    def statement(self) -> dict[str, Any]:
        """The summary and the rows it follows from: what a release carries along."""
        return stated(self.book.export())

    def show(self) -> str:
        """The book as text: figures, what later releases may use, the law as a plan states it, every entry."""
        return as_text(self.summary(), self.account)

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


def summarised(exported: Mapping[str, Any]) -> dict[str, Any]:
    """The figures of an exported book, all recomputed from its rows: a card is checked by them without the file."""
    rows, dataset = exported["rows"], exported["header"]["dataset"]
    account = Account.from_rows((r["kind"], r["payload"]) for r in rows)
    spent = account.spent()
    return {
        "schema_version": 1,
        "dataset": dataset,
        "budget": {k: written(v) for k, v in account.limit._asdict().items()},
        "aside": {k: written(v) for k, v in account.room_aside._asdict().items()},
        "binding": account.binding,
        "relation": account.relation,
        "missingness": account.missing.to_dict(),
        "spent": {k: finite(v) for k, v in spent.items()},
        "remaining": {k: round_down(left(account.limit.epsilon, v)) for k, v in spent.items()},
        "releases": [{k: r[k] for k in ("sequence", "time", "kind", "purpose", "plan")} for r in rows[1:]],
        "head": dict(exported["head"]),
    }


def stated(exported: Mapping[str, Any]) -> dict[str, Any]:
    """The summary of an exported book, with header and rows: enough to check both without the file."""
    return {**summarised(exported), "header": dict(exported["header"]), "rows": list(exported["rows"])}


def worded(purpose: object) -> None:
    """Nothing, or a refusal of a purpose that says nothing."""
    if not isinstance(purpose, str) or not purpose.strip():
        raise InputError("purpose", purpose, "what the release is for, in words: the book is read by people")


def same_terms(account: Account, plan: Plan) -> None:
    """Refuses a plan about other data, other neighbours or another law than the book."""
    for field, mine, book in (
        ("relation", plan.relation, account.relation),
        ("dependent_rows", plan.dependent_rows, account.dependent_rows),
    ):
        if mine != book:
            raise InputError(field, mine, f"the ledger's: {book}")
    differing = differences(plan.schema.to_dict(), account.schema)
    if differing:
        raise InputError(
            f"schema.{differing[0]}", "another description", "the ledger's: one dataset has one schema", "E-SCHEMA",
            "Plan with the schema that the book was opened with; what counts as missing is part of the law.",
        )  # fmt: skip
    if unworded(plan.missing.to_dict()) != unworded(account.missing.to_dict()):
        raise HazardRefused(
            "H19",
            "The plan states another missingness law than the ledger.",
            "One dataset has one mask, and the book accounts for it by one law.",
            "Plan with the ledger's law, which `absentia ledger show` prints for a plan. Where that law is wrong, amend"
            " it first (Ledger.amend in Python; absentia certify amends it from the data).",
        )


def unworded(law: Any) -> Any:
    """A stored law without who says so and why, in its parts too: words change no figure.

    Only where a process is stored: a column may be named `by` as well.
    """
    if isinstance(law, Mapping):
        process = isinstance(law.get("process"), str) and isinstance(law.get("data_dependent"), bool)
        return {k: unworded(v) for k, v in law.items() if not (process and k in ("because", "by"))}
    return [unworded(v) for v in law] if isinstance(law, (list, tuple)) else law


def differences(mine: Mapping[str, Any], book: Mapping[str, Any]) -> Sequence[str]:
    """Paths at which two schemas differ, columns one level deeper."""
    found = []
    for key in sorted({*mine, *book}):
        a, b = mine.get(key), book.get(key)
        if key == "columns" and isinstance(a, Mapping) and isinstance(b, Mapping):
            found += [f"columns.{name}" for name in sorted({*a, *b}) if a.get(name) != b.get(name)]
        elif a != b:
            found.append(key)
    return found
