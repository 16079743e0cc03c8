"""What the rows of a book add up to: base losses compose first (T7), missingness is counted once, on the total.

Later queries may follow earlier answers, so what limits them is fixed before the first answer (THEORY section 5): one
rule for the whole book, a unit of distances of which Gaussian releases may use a multiple, and a part set aside for
everything else.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property, reduce
from operator import add
from typing import Any, Literal

from absentia.amplification import RELATIONS, amplify
from absentia.errors import InputError
from absentia.exact import round_up
from absentia.guarantee import Guarantee
from absentia.ledger.beside import BesidePure, Stated
from absentia.ledger.charge import NOTHING, Charge, Loss, loss_of, read_row
from absentia.ledger.unit import covering
from absentia.missing import from_dict as process_from
from absentia.missing.process import Process
from absentia.planning.batch import Batch
from absentia.planning.observed import chance_of_any
from absentia.theory.blackbox import amplified, masked
from absentia.theory.bound import Bound
from absentia.theory.mixed import MixedKnown
from absentia.theory.noise import BlackBox
from absentia.theory.pair import HIDDEN_MASK, ROWS_INDEPENDENT

__all__ = ["BINDINGS", "READINGS", "Account", "Binding", "left", "rows_of"]

Binding = Literal["with_missingness", "without_missingness"]
BINDINGS = ("with_missingness", "without_missingness")
READINGS = (*BINDINGS, "if_mask_known")
SUBJECT = "everything charged to the book"
PLAINLY = Fraction(1, 10)
"""The part of delta at which composed base losses hold what the envelope does not; the rest is the envelope's."""


@dataclass(frozen=True)
class Account:
    """The terms fixed at opening and the charges so far; every figure is recomputed from them.

    `unit`: distances of which later Gaussian releases may use a multiple. `aside`: what black boxes and Laplace
    releases may add up to beside them; the first charge, if it is one, stands in for a smaller `aside`.
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

    def guarantee(self) -> Guarantee | None:
        """What is proved of the charges so far, had they all been fixed in advance; None: nothing was charged."""
        if not self.charges:
            return None
        if self.alone:
            return self._first(self.charges[0])
        return self._laplace(self.others) if self.family == "laplace" else self._gaussian(self.others)

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
            e += self.noises.distance(self.relation, self.dependent_rows)
        return self._plain_sums(e, d)

    def _plain_sums(self, e: Fraction, d: Fraction) -> Guarantee:
        # The columns read so far depend on the path: that is sound only where the ratio is bounded answer by answer.
        reads = frozenset().union(*(c.reads for c in self.charges)) if d == 0 else None
        p = Fraction(1) if self.dependent_rows else self.chance_shown(reads)
        grown = amplified(e, d, p)
        result, words = ("T8" if self.dependent_rows else "T1"), (ROWS_INDEPENDENT, HIDDEN_MASK)
        base = Stated(round_up(e), round_up(d), "base", (ROWS_INDEPENDENT,))
        plain = Guarantee((base,), self.relation, SUBJECT)
        return Guarantee((Stated(*grown, result, words),), self.relation, SUBJECT, plain, plain)

    def _gaussian(self, others: Loss) -> Guarantee:
        """The smallest of the envelope's figures, T1 of the composed base losses, and these, which need no law."""
        if self.noises is None:
            return self._plain_sums(*others)
        composed = self._composed(self.noises, others)
        if self.dependent_rows:
            return composed
        (base,) = composed.bounds
        within = self._envelope(others)
        sharp = (self._masked(base), base) if within is None else (*within.bounds, self._masked(base), base)
        known = (base,) if within is None else (*within.if_mask_known.bounds, base)
        plain = composed.without_missingness
        return replace(composed, bounds=sharp, companion_known=replace(plain, bounds=known))

    def _composed(self, noises: Batch, others: Loss) -> Guarantee:
        """Base losses composed, whatever the masks: squared Gaussian distances, pure losses and deltas add; T8."""

        def composed(rows: int, result: str, assumptions: tuple[str, ...]) -> Guarantee:
            squared = noises.distance(self.relation, rows) ** 2
            bound = MixedKnown(((Fraction(1), others.epsilon, squared),), result, assumptions, others.delta)
            return Guarantee((bound,), self.relation, SUBJECT)

        plain = composed(0, "base", (ROWS_INDEPENDENT,))
        grown = composed(self.dependent_rows, "T8", ()) if self.dependent_rows else plain
        return replace(grown, companion_without=plain, companion_known=grown)

    def _envelope(self, others: Loss) -> Guarantee | None:
        """Of anything within the covering multiple of the unit, which alone decides it; None when there is none.

        Beside it the others: pure loss in full, or T1 of everything.
        """
        if self.share is None:
            return None
        unit = self.unit.scaled(self.share)
        sharp = unit.guarantee(self.missing, self.relation, adaptive=True)
        if others == NOTHING:
            return sharp
        plain = self._composed(unit, others)
        (base,) = plain.bounds
        bounds, known = [self._masked(base)], [base]
        if others.delta == 0:
            bounds += [BesidePure(b, others.epsilon) for b in sharp.bounds]
            known += [BesidePure(b, others.epsilon) for b in sharp.if_mask_known.bounds]
        return replace(plain, bounds=tuple(bounds), companion_known=replace(plain, bounds=tuple(known)))

    def _masked(self, base: Bound) -> Bound:
        """T1 of everything, whatever column a later query may read."""
        return masked(base, self.chance_shown(), self.relation)

    def asked_delta(self, later: bool) -> Fraction:
        """Several Laplace releases are limited by the pure figure (T3); everything else at the budget's delta."""
        pure = later and self.family == "laplace" and self.others == NOTHING
        return Fraction(0) if pure and self.binding == "with_missingness" else self.limit.delta

    def spent(self) -> dict[str, float]:
        """Epsilon under the three readings."""
        g, delta = self.guarantee(), self.asked_delta(not self.alone)
        return {k: epsilon_of(g, k, delta) for k in READINGS}

    def binding_epsilon(self, g: Guarantee | None, delta: Fraction) -> float:
        """The figure that the budget limits; where rows depend on one another, T8 always binds."""
        found = epsilon_of(g, self.binding, delta)
        return max(found, epsilon_of(g, "with_missingness", delta)) if self.dependent_rows else found

    # -- the decision ------------------------------------------------------------------------------------------------

    @property
    def composes(self) -> bool:
        """Whether composed base losses alone limit Gaussian releases; otherwise the envelope does, or they do."""
        return self.binding == "without_missingness" or self.dependent_rows > 0

    def ahead(self) -> float:
        """What the charges count for when another is judged that may follow their answers; inf: nothing may follow.

        Each rule is a stopping rule, because one number fixed at opening decides it: the envelope's multiple, or the
        composed distance; for Laplace noise the path-wise figure. The smaller of two rules at one delta is none, since
        queries can be steered towards whichever the answers make the weaker; with a part of delta each it is: a path
        that ends within a rule was within it at every step, so that rule's part covers all such paths.
        """
        if not self.charges:
            return 0.0
        delta, room = self.asked_delta(True), self.room_aside
        if self.family == "laplace":
            return self.binding_epsilon(self._laplace(self.others), delta)
        if self.noises is None:
            return self.binding_epsilon(self._plain_sums(*room), delta)
        composed = self._composed(self.noises, room)
        if self.composes:
            return self.binding_epsilon(composed, delta)
        plainly, within = composed.epsilon(PLAINLY * delta), self._envelope(room)
        return plainly if within is None else min(plainly, within.epsilon((1 - PLAINLY) * delta))

    def counted(self) -> float:
        """The figure that is compared with the budget: a release alone counts its own."""
        return self.binding_epsilon(self.guarantee(), self.limit.delta) if self.alone else self.ahead()

    def refusal(self) -> str:
        """Why these charges are more than the budget allows: "", "total", "unit" or "aside".

        Raises for a charge whose plain loss cannot be stated: no later total could be.
        """
        beside = self.room_aside.covers(self.others)
        if not beside and not self.alone and self.family == "gaussian":
            return "aside"
        if self.counted() <= self.limit.epsilon:
            return ""
        held = self.alone or self.composes or self.family == "laplace" or self.share is not None
        return "total" if held else "unit"


def left(limit: Fraction, spent: float | None) -> Fraction:
    """What remains of an epsilon; 0 where six digits of the limit cannot tell it from nothing."""
    room = Fraction(0) if spent is None or math.isinf(spent) else limit - Fraction(spent)
    return room if room * 10**6 >= limit else Fraction(0)


def epsilon_of(g: Guarantee | None, reading: str, delta: Fraction) -> float:
    """Epsilon under one of the readings; 0 where nothing was charged."""
    return 0.0 if g is None else g.readings[reading].epsilon(delta)


def _law(payload: Mapping[str, Any]) -> Process:
    return process_from(payload["missing"])


def rows_of(rows: Sequence[Any]) -> list[tuple[str, Mapping[str, Any]]]:
    return [(row.kind, row.payload) for row in rows]
