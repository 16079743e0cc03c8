"""What the rows of a book add up to: base losses compose first (T7), missingness is counted once, on the total."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property, reduce
from operator import add
from typing import Any, Literal

from absentia.amplification import Structure, amplify
from absentia.composition import MixedKnown
from absentia.errors import InputError
from absentia.exact import exact
from absentia.guarantee import Guarantee
from absentia.law.forms import Forms
from absentia.missing import from_dict as process_from
from absentia.missing.process import Process
from absentia.planning.batch import Batch
from absentia.query.reach import Reach, Term
from absentia.theory.blackbox import BlackBoxAmplified
from absentia.theory.pair import ROWS_INDEPENDENT

__all__ = ["BINDINGS", "Account", "Binding", "Charge"]

Binding = Literal["with_missingness", "without_missingness"]
BINDINGS = ("with_missingness", "without_missingness")


@dataclass(frozen=True)
class Charge:
    """One release's base loss: a batch in units of its noise, or a black box that reads some columns."""

    plan: str
    batch: Batch | None = None
    epsilon: Fraction = Fraction(0)
    delta: Fraction = Fraction(0)
    columns: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        if self.batch is not None:
            return {"batch": self.batch.to_dict(), "plan": self.plan}
        return {
            "epsilon": str(self.epsilon),
            "delta": str(self.delta),
            "columns": list(self.columns),
            "plan": self.plan,
        }

    @staticmethod
    def from_dict(data: Mapping[str, Any]) -> Charge:
        if "batch" in data:
            return Charge(str(data["plan"]), Batch.from_dict(data["batch"]))
        epsilon, delta = exact(data["epsilon"], "epsilon"), exact(data["delta"], "delta")
        return Charge(str(data["plan"]), None, epsilon, delta, tuple(data["columns"]))


@dataclass(frozen=True)
class Account:
    """The terms fixed at opening and the charges so far; every figure is recomputed from them."""

    missing: Process
    epsilon: Fraction
    delta: Fraction
    relation: str
    dependent_rows: int
    binding: Binding
    opening: str
    envelope: Batch
    charges: tuple[Charge, ...] = ()

    @staticmethod
    def from_rows(rows: Iterable[tuple[str, Mapping[str, Any]]]) -> Account:
        """The account of (kind, payload) rows: the opening terms, then charges and amendments in order."""
        opening, *later = list(rows)
        terms = opening[1]
        account = Account(
            process_from(terms["missing"]),
            exact(terms["budget"]["epsilon"], "budget.epsilon"),
            exact(terms["budget"]["delta"], "budget.delta"),
            str(terms["relation"]),
            int(terms["dependent_rows"]),
            terms["binding"],
            str(terms["plan"]),
            Batch.from_dict(terms["envelope"]),
        )
        for kind, payload in later:
            if kind == "charge":
                account = account.after(Charge.from_dict(payload))
            elif kind == "amend":
                account = replace(account, missing=process_from(payload["missing"]))
        return account

    def terms(self) -> dict[str, Any]:
        """What the opening row stores."""
        return {
            "missing": self.missing.to_dict(),
            "budget": {"epsilon": str(self.epsilon), "delta": str(self.delta)},
            "relation": self.relation,
            "dependent_rows": self.dependent_rows,
            "binding": self.binding,
            "plan": self.opening,
            "envelope": self.envelope.to_dict(),
        }

    def after(self, charge: Charge) -> Account:
        return replace(self, charges=(*self.charges, charge))

    # -- what the charges are together ----------------------------------------------------------------------------

    @property
    def batches(self) -> list[Batch]:
        return [c.batch for c in self.charges if c.batch is not None]

    @property
    def one_family(self) -> bool:
        """Only additive noise of one family: the reaches stack."""
        return len(self.batches) == len(self.charges) and len({b.family for b in self.batches}) == 1

    @property
    def fixed(self) -> bool:
        """One release, of the plan that was fixed at opening: no query depended on an earlier answer."""
        return len(self.charges) == 1 and self.charges[0].plan == self.opening

    @cached_property
    def total(self) -> Batch:
        return reduce(add, self.batches)

    def guarantee(self) -> Guarantee | None:
        """The guarantee of everything charged so far; None when nothing was.

        A later Gaussian release may follow earlier answers, so the figure is that of the smallest multiple of the
        envelope that covers all charges (THEORY section 5), by the results that hold for adaptive queries.
        """
        if not self.charges:
            return None
        if not self.one_family:
            return self._mixed()
        if self.fixed or self.dependent_rows or self.total.family == "laplace":
            return self.total.guarantee(self.missing, self.relation, self.dependent_rows)
        share = covering(self.total.reach, self.envelope.reach)
        return adaptive_guarantee(self, (self.envelope if share is None else self.envelope.scaled(share)))

    @property
    def asked_delta(self) -> Fraction:
        """Adaptive Laplace queries are filtered by the pure figure (T3); everything else at the budget's delta."""
        pure = self.charges and self.one_family and self.total.family == "laplace" and not self.fixed
        return Fraction(0) if pure and self.binding == "with_missingness" else self.delta

    def spent(self) -> dict[str, float]:
        """Epsilon under the three readings."""
        g = self.guarantee()
        if g is None:
            return dict.fromkeys(("with_missingness", "without_missingness", "if_mask_known"), 0.0)
        d = self.asked_delta
        return {
            "with_missingness": g.epsilon(d),
            "without_missingness": g.without_missingness.epsilon(d),
            "if_mask_known": g.if_mask_known.epsilon(d),
        }

    def covered(self) -> bool:
        """Whether adaptive Gaussian charges stay within the envelope fixed at opening, on every observed set."""
        if not self.charges or not self.one_family or self.fixed or self.total.family == "laplace":
            return True
        if self.binding == "without_missingness" or self.dependent_rows:
            return True  # a plain Gaussian total is a valid stopping rule
        share = covering(self.total.reach, self.envelope.reach)
        return share is not None and share <= 1

    def within_budget(self) -> bool:
        return self.covered() and Fraction(self.spent()[self.binding]) <= self.epsilon

    def _mixed(self) -> Guarantee:
        """Noise families and black boxes on one mask: everything at its worst distance, then T1 once (T7)."""
        stretch = 1 if self.relation == "add_remove" else 2
        pure = sum((c.epsilon for c in self.charges), Fraction(0))
        extra = min(Fraction(1), sum((c.delta for c in self.charges), Fraction(0)))
        square = Fraction(0)
        events = [Term(frozenset(c.columns), 1, any=True) for c in self.charges if c.batch is None]
        for b in self.batches:
            at = stretch * Fraction(b.reach.full)
            pure, square = (pure + at, square) if b.family == "laplace" else (pure, square + at * at)
            events.append(Term(b.reach.columns, 1, any=True))
        base = MixedKnown(((Fraction(1), pure, square),), "base", (ROWS_INDEPENDENT,), extra)
        shown = self.missing.law(Reach(1, events)).p_exact
        subject = "several mechanisms on one mask"
        plain = Guarantee((base,), self.relation, subject)
        if self.dependent_rows:
            raise InputError("dependent_rows", self.dependent_rows, "0 where noise families or black boxes are mixed")
        return Guarantee((BlackBoxAmplified(base, shown),), self.relation, subject, plain, plain)


def covering(reach: Reach, envelope: Reach) -> Fraction | None:
    """The smallest factor c, rounded up, with reach <= c * envelope on every observed set, event by event."""
    room = {(t.columns, t.any): Fraction(t.weight) for t in envelope.terms}
    if any((t.columns, t.any) not in room for t in reach.terms) or not set(reach.mixed) <= set(envelope.mixed):
        return None
    share = max((Fraction(t.weight) / room[(t.columns, t.any)] for t in reach.terms), default=Fraction(0))
    if reach.norm == 1:
        return share
    from absentia.law.convolution import root_up

    return Fraction(root_up(share, 2))


def adaptive_guarantee(account: Account, envelope: Batch) -> Guarantee:
    """The guarantee of any queries, chosen one after another, that stay within the envelope (PROOFS 6 (e), T10)."""
    structure: Structure = envelope.structure(account.missing)
    if isinstance(structure, Forms):
        structure = replace(structure, adaptive=True)
    return amplify(envelope.noise, structure, relation=account.relation)


def rows_of(rows: Sequence[Any]) -> list[tuple[str, Mapping[str, Any]]]:
    return [(row.kind, row.payload) for row in rows]
