"""Sensitivity to values that decide what is missing: odds that differ between records by at most Gamma."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, ClassVar, NamedTuple, Self, overload

import numpy as np

from absentia.amplification import amplify
from absentia.errors import InputError
from absentia.exact import exact, number, round_up
from absentia.law.blocks import Blocks
from absentia.law.forms import Forms
from absentia.law.reachlaw import ReachLaw
from absentia.missing.atoms import Atoms, worse
from absentia.missing.domain import Records
from absentia.missing.process import Observed, Process, part_of, provenance, stored
from absentia.missing.text import written
from absentia.query.reach import Reach
from absentia.theory.noise import Noise

__all__ = ["Needed", "Worse", "gamma", "gamma_curve", "what_must_hold"]

_DIGITS = 4  # decimals of the largest Gamma and p*, rounded down


@stored
@dataclass(frozen=True, kw_only=True)
class Worse(Process):
    """`base` holds on average over records; between two records the odds of every level differ by at most `odds`.

    With marginal P(r > x) = s, no record exceeds x with probability more than odds s / (odds s + 1 - s).
    """

    name: ClassVar[str] = "gamma"
    parameters: ClassVar[tuple[str, ...]] = ("gamma", "base")
    base: Process
    odds: Fraction

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.odds > 1:
            object.__setattr__(self, "data_dependent", True)

    @property
    def inside(self) -> tuple[Process, ...]:
        return (self.base,)

    @property
    def reads(self) -> frozenset[str]:
        return self.base.reads

    def covers(self, reach: Reach) -> None:
        self.base.covers(reach)

    def powers(self, reach: Reach) -> Atoms:
        """The base law with the odds bound at every level of its survival function; exact."""
        return worse(self.base.powers(reach), self.odds)

    def joint(self, reach: Reach) -> ReachLaw | Blocks | Forms:
        """Blocks stay blocks, each with the odds bound (they must be independent given the record); else the law."""
        base = self.base.joint(reach)
        if not isinstance(base, Blocks) or base.classes:
            return self.law(reach)
        return Blocks([self.marked(gamma(block, self.odds)) for block in base.blocks])

    def restricted(self, columns: object) -> Worse:
        base = self.base.restricted(columns)
        return replace(self, columns=base.columns, base=base)

    def draw(self, rows: int, rng: np.random.Generator, records: Records) -> Observed:
        """The base process: the odds bound is a set of processes, of which it is one."""
        return self.base.draw(rows, rng, records)

    def fields(self) -> dict[str, Any]:
        return {"gamma": written(self.odds), "base": self.base.to_dict()}

    @classmethod
    def parse(cls, data: Mapping[str, Any]) -> Self:
        base = part_of(data, data.get("base"), "base")
        return cls(columns=base.columns, base=base, odds=_odds(data.get("gamma")), **provenance(data))


@overload
def gamma(subject: ReachLaw, odds: object) -> ReachLaw: ...
@overload
def gamma(subject: Process, odds: object) -> Worse: ...
def gamma(subject: ReachLaw | Process, odds: object) -> ReachLaw | Worse:
    """The law or process when odds between records differ by at most this factor (1: they do not), level by level.

    >>> gamma(ReachLaw(reach=[0, 1], mass=["0.5", "0.5"]), 3).p_star
    0.75
    """
    factor = _odds(odds)
    if isinstance(subject, Process):
        return Worse(
            columns=subject.columns,
            base=subject,
            odds=factor,
            because=subject.because,
            by=subject.by,
            kind=subject.kind,
        )
    if not isinstance(subject, ReachLaw):
        raise InputError("subject", subject, "a reach law or a missingness process")
    atoms = worse({Fraction(x): mass for x, mass in subject.atoms}, factor)
    return ReachLaw(
        [round_up(x) for x in atoms],
        list(atoms.values()),
        subject.full_reach,
        subject.data_dependent or factor > 1,
        subject.because,
        subject.by,
        subject.kind,
    )


def gamma_curve(
    noise: Noise, law: ReachLaw, gammas: Iterable[object] = (1, "1.5", 2, 3, 5, 10), delta: object = 0
) -> list[tuple[str, float]]:
    """(Gamma, epsilon at delta) for each Gamma: how fast the benefit fades."""
    return [(written(_odds(g)), amplify(noise, gamma(law, g)).epsilon(delta=delta)) for g in gammas]


class Needed(NamedTuple):
    """The largest Gamma and the largest p* at which epsilon is still reached; None when no value is small enough."""

    gamma: str | None
    p_star: str | None


def what_must_hold(noise: Noise, law: ReachLaw, epsilon: object, delta: object = 0) -> Needed:
    """What must be true for this epsilon at delta: the largest Gamma around the law, and the largest p* of its shape.

    Both are rounded down to four decimals and checked at the returned value; Gamma is searched up to 10^6.
    """
    target = exact(epsilon, "epsilon")

    def kept(candidate: ReachLaw) -> bool:
        return amplify(noise, candidate).epsilon(delta=delta) <= target

    return Needed(
        _largest(lambda g: kept(gamma(law, g)), Fraction(1), Fraction(10**6)),
        _largest(lambda p: kept(_with_p_star(law, p)), Fraction(0), Fraction(1)),
    )


def _with_p_star(law: ReachLaw, p: Fraction) -> ReachLaw:
    """The law with the same shape among rows that move the query, and p* = p."""
    if not law.p_exact:
        return law
    shown = [(x, mass * p / law.p_exact) for x, mass in law.atoms if x > 0]
    reach, mass = [0.0, *(x for x, _ in shown)], [1 - p, *(q for _, q in shown)]
    return ReachLaw(reach, mass, law.full_reach, law.data_dependent, law.because, law.by, law.kind)


def _largest(holds: Callable[[Fraction], bool], low: Fraction, high: Fraction) -> str | None:
    """The largest value, to four decimals, at which a condition that only fails from some point on still holds."""
    if not holds(low):
        return None
    if holds(high):
        return written(high)
    unit = Fraction(1, 10**_DIGITS)
    a, b = int(low / unit), int(high / unit)
    while b - a > 1:
        middle = (a + b) // 2 if b < 4 * a or a == 0 else max(a + 1, round((a * b) ** 0.5))
        a, b = (middle, b) if holds(middle * unit) else (a, middle)
    return written(a * unit)


def _odds(value: object) -> Fraction:
    q = number(value, "gamma")
    if q < 1:
        raise InputError("gamma", value, "a number >= 1 (1: values do not matter)")
    return q
