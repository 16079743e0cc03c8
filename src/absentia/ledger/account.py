"""What the rows of a book add up to: base losses compose first (T7), missingness is counted once, on the total.

Later queries may follow earlier answers, so what limits them is fixed before the first answer (THEORY section 5): a
unit of distances, of which Gaussian releases may use a multiple, and a part set aside for everything else.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property, reduce
from operator import add
from typing import Any, Literal

from absentia.amplification import RELATIONS, amplify
from absentia.composition import MixedKnown
from absentia.errors import InputError
from absentia.exact import round_up
from absentia.guarantee import Guarantee
from absentia.law.convolution import root_up
from absentia.ledger.beside import BesidePure, Stated
from absentia.ledger.charge import NOTHING, Charge, Loss, distance, loss_of, read_row
from absentia.missing import from_dict as process_from
from absentia.missing.process import Process
from absentia.planning.batch import Batch
from absentia.planning.observed import chance_of_any
from absentia.theory.blackbox import BlackBoxAdded, BlackBoxAmplified, BlackBoxRemoved, amplified
from absentia.theory.bound import Bound
from absentia.theory.noise import BlackBox
from absentia.theory.pair import HIDDEN_MASK, ROWS_INDEPENDENT, Worst

__all__ = ["BINDINGS", "NOTHING", "READINGS", "Account", "Binding", "Charge", "Loss", "distance", "rows_of"]

Binding = Literal["with_missingness", "without_missingness"]
BINDINGS = ("with_missingness", "without_missingness")
READINGS = (*BINDINGS, "if_mask_known")
SUBJECT = "everything charged to the book"


@dataclass(frozen=True)
class Account:
    """The terms fixed at opening and the charges so far; every figure is recomputed from them.

    `unit`: distances of which later Gaussian releases may use a multiple. `aside`: what black boxes and Laplace
    releases may add up to beside them; the first charge, if it is one of these, stands in for a smaller `aside`.
    """

    missing: Process
    limit: Loss
    relation: str
    dependent_rows: int
    binding: Binding
    unit: Batch
    aside: Loss
    schema: Mapping[str, Any]
    charges: tuple[Charge, ...] = ()

    @staticmethod
    def from_rows(rows: Iterable[tuple[str, Mapping[str, Any]]]) -> Account:
        """The account of (kind, payload) rows: the opening terms, then charges and amendments in order."""
        opening, *later = list(rows)
        account = read_row(0, opening, Account._opened)
        charges = [read_row(i, row, Charge.from_dict) for i, row in enumerate(later, 1) if row[0] == "charge"]
        laws = [read_row(i, row, _law) for i, row in enumerate(later, 1) if row[0] == "amend"]
        return replace(account, charges=tuple(charges), missing=laws[-1] if laws else account.missing)

    @staticmethod
    def _opened(terms: Mapping[str, Any]) -> Account:
        relation, rows, binding = terms["relation"], terms["dependent_rows"], terms["binding"]
        if relation not in RELATIONS[:2] or binding not in BINDINGS or type(rows) is not int or rows < 0:
            raise InputError("terms", [relation, rows, binding], "a relation, a number of rows and a binding")
        limit, aside, unit = loss_of(terms["budget"]), loss_of(terms["aside"]), Batch.from_dict(terms["unit"])
        return Account(_law(terms), limit, relation, rows, binding, unit, aside, dict(terms["schema"]))

    def terms(self) -> dict[str, Any]:
        """What the opening row stores."""
        return {
            "missing": self.missing.to_dict(),
            "budget": {k: str(v) for k, v in self.limit._asdict().items()},
            "relation": self.relation,
            "dependent_rows": self.dependent_rows,
            "binding": self.binding,
            "unit": self.unit.to_dict(),
            "aside": {k: str(v) for k, v in self.aside._asdict().items()},
            "schema": dict(self.schema),
        }

    def after(self, charge: Charge) -> Account:
        return replace(self, charges=(*self.charges, charge))

    # -- the parts of the total --------------------------------------------------------------------------------------

    @property
    def family(self) -> str:
        return self.unit.family

    @property
    def alone(self) -> bool:
        """One release: no query followed an answer, so its own figure holds."""
        return len(self.charges) == 1

    @cached_property
    def noises(self) -> Batch | None:
        """The additive releases of the book's family, together."""
        found = [c.batch for c in self.charges if c.batch is not None and c.batch.family == self.family]
        return reduce(add, found) if found else None

    @cached_property
    def others(self) -> Loss:
        """What everything else adds up to."""
        return self._sum([c for c in self.charges if c.batch is None or c.batch.family != self.family])

    def _sum(self, charges: Sequence[Charge]) -> Loss:
        losses = [c.loss(self.relation, self.dependent_rows) for c in charges]
        return Loss(sum((x.epsilon for x in losses), Fraction(0)), sum((x.delta for x in losses), Fraction(0)))

    @property
    def room_aside(self) -> Loss:
        """What `others` may add up to, fixed before the first answer: set aside at opening, or the first charge."""
        first = self.charges[0] if self.charges else None
        if first is None or (first.batch is not None and first.batch.family == self.family):
            return self.aside
        return Loss(*map(max, zip(self.aside, self._sum([first]), strict=True)))

    @cached_property
    def share(self) -> Fraction | None:
        """The multiple of the unit that covers the Gaussian releases; None when none does."""
        return Fraction(0) if self.noises is None else covering(self.noises, self.unit)

    def chance_shown(self, columns: frozenset[str] | None = None) -> Fraction:
        """The largest probability that a row shows any of the columns (default: any that the law speaks about)."""
        return chance_of_any(self.missing, columns or frozenset(self.missing.columns))

    # -- figures -----------------------------------------------------------------------------------------------------

    def guarantee(self, others: Loss | None = None) -> Guarantee | None:
        """The guarantee of everything charged so far (with `others` in place of what they add up to); None: nothing."""
        if not self.charges:
            return None
        if self.alone and others is None:
            return self._first(self.charges[0])
        beside = self.others if others is None else others
        if self.family == "laplace":
            return self._laplace(beside)
        return self._gaussian(beside)

    def _first(self, charge: Charge) -> Guarantee:
        if charge.batch is not None:
            return charge.batch.guarantee(self.missing, self.relation, self.dependent_rows)
        box = BlackBox(charge.box.epsilon, charge.box.delta)
        p, rows = self.chance_shown(charge.columns), self.dependent_rows
        return amplify(box, p_star=p, relation=self.relation, dependent_rows=rows)

    def _laplace(self, others: Loss) -> Guarantee:
        """T3 of the total, a valid stopping rule path by path; with black boxes beside it, T1 of the plain sums."""
        if others == NOTHING and self.noises is not None:
            return self.noises.guarantee(self.missing, self.relation, self.dependent_rows)
        e, d = others
        if self.noises is not None:
            e += distance(self.noises, self.relation) * (self.dependent_rows + 1)
        return self._plain_sums(e, d)

    def _plain_sums(self, e: Fraction, d: Fraction) -> Guarantee:
        reads = frozenset().union(*(c.reads for c in self.charges)) if d == 0 else None
        p = Fraction(1) if self.dependent_rows else self.chance_shown(reads)
        grown = amplified(e, d, p)
        result, words = ("T8" if self.dependent_rows else "T1"), (ROWS_INDEPENDENT, HIDDEN_MASK)
        base = Stated(round_up(e), round_up(d), "base", (ROWS_INDEPENDENT,))
        plain = Guarantee((base,), self.relation, SUBJECT)
        return Guarantee((Stated(*grown, result, words),), self.relation, SUBJECT, plain, plain)

    def _gaussian(self, others: Loss) -> Guarantee:
        """The covering multiple of the unit, adaptive; beside it the others: pure loss in full, or T1 of everything."""
        if self.noises is None:
            return self._plain_sums(*others)
        rows, relation = self.dependent_rows, self.relation
        squared = (distance(self.noises, relation)) ** 2
        base = MixedKnown(((Fraction(1), others.epsilon, squared),), "base", (ROWS_INDEPENDENT,), others.delta)
        plain = Guarantee((base,), relation, SUBJECT)
        if rows:
            grown = MixedKnown(((Fraction(1), others.epsilon, squared * (rows + 1) ** 2),), "T8", (), others.delta)
            return Guarantee((grown,), relation, SUBJECT, plain, Guarantee((grown,), relation, SUBJECT))
        if self.share is None:
            return Guarantee((base,), relation, SUBJECT, plain, plain)
        sharp = self.unit.scaled(self.share).guarantee(self.missing, relation, adaptive=True)
        if others == NOTHING:
            return sharp
        bounds: list[Bound] = [self._masked(base)]
        known: list[Bound] = [base]
        if others.delta == 0:
            bounds += [BesidePure(b, others.epsilon) for b in sharp.bounds]
            known += [BesidePure(b, others.epsilon) for b in sharp.if_mask_known.bounds]
        return Guarantee(tuple(bounds), relation, SUBJECT, plain, Guarantee(tuple(known), relation, SUBJECT))

    def _masked(self, base: Bound) -> Bound:
        """T1 of everything, whatever column a later query may read."""
        p = self.chance_shown()
        if self.relation == "add_remove":
            return Worst((BlackBoxAdded(base, p), BlackBoxRemoved(base, p)))
        return BlackBoxAmplified(base, p)

    @property
    def asked_delta(self) -> Fraction:
        """Several Laplace releases are limited by the pure figure (T3); everything else at the budget's delta."""
        pure = len(self.charges) > 1 and self.family == "laplace" and self.others == NOTHING
        return Fraction(0) if pure and self.binding == "with_missingness" else self.limit.delta

    def spent(self) -> dict[str, float]:
        """Epsilon under the three readings."""
        g = self.guarantee()
        return {k: self._epsilon(g, k) for k in READINGS}

    def _epsilon(self, g: Guarantee | None, reading: str) -> float:
        if g is None:
            return 0.0
        if reading == "with_missingness":
            return g.epsilon(self.asked_delta)
        other = g.without_missingness if reading == "without_missingness" else g.if_mask_known
        return other.epsilon(self.asked_delta)

    def binding_epsilon(self, g: Guarantee | None) -> float:
        """The figure that the budget limits; where rows depend on one another, T8 always binds."""
        found = self._epsilon(g, self.binding)
        return max(found, self._epsilon(g, "with_missingness")) if self.dependent_rows else found

    # -- the decision ------------------------------------------------------------------------------------------------

    def refusal(self) -> str:
        """Why these charges are more than the budget allows: "", "total", "unit" or "aside".

        Raises for a charge whose plain loss cannot be stated: no later total could be.
        """
        if not self.room_aside.covers(self.others) and not self.alone and self.family == "gaussian":
            return "aside"
        if self.alone or not self.charges:
            g = self.guarantee()
        elif self.family == "laplace":
            g = self.guarantee(self.others)
        else:
            plain = self.binding == "without_missingness" or self.dependent_rows
            if self.share is None and not plain:
                return "unit"
            g = self.guarantee(self.room_aside)
        return "" if self.binding_epsilon(g) <= self.limit.epsilon else "total"


def covering(total: Batch, unit: Batch) -> Fraction | None:
    """The smallest factor c, rounded up, such that every distance of `total` is at most c times that of `unit`.

    Event by event: sufficient on every observed set. None when some event, or some mixing of columns, is not in `unit`.
    """
    if not set(total.reach.mixed) <= set(unit.reach.mixed):
        return None
    found = [Fraction(total.distances.largest) / Fraction(unit.distances.largest)]
    for wide, narrow in (
        (unit.reach, total.reach),
        (unit.distances.same_mask, total.distances.same_mask),
    ):
        room = {(t.columns, t.any): Fraction(t.weight) for t in wide.terms}
        if any((t.columns, t.any) not in room for t in narrow.terms):
            return None
        most = max((Fraction(t.weight) / room[(t.columns, t.any)] for t in narrow.terms), default=Fraction(0))
        found.append(Fraction(root_up(most, unit.reach.norm)))
    return max(found)


def _law(payload: Mapping[str, Any]) -> Process:
    return process_from(payload["missing"])


def rows_of(rows: Sequence[Any]) -> list[tuple[str, Mapping[str, Any]]]:
    return [(row.kind, row.payload) for row in rows]
