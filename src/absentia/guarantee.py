"""A guarantee: the proved curve delta(epsilon), its two companions, and where every figure came from."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING, NamedTuple, NoReturn

from absentia.errors import HazardRefused, InputError
from absentia.exact import echoed, list_of, number, probability, shown
from absentia.theory.bound import Bound
from absentia.theory.noise import BlackBox, Noise
from absentia.theory.pure import Atoms

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["Figure", "Guarantee", "Piece"]

REFERENCE = Fraction(1, 10**6)
"""The delta at which `result` names the result that answers when several apply."""

LARGEST = Fraction(10**100)
"""A delta asked at a larger epsilon is the one here: it never rises."""

SPOKEN = ("with the missingness law", "without missingness", "if the mask is known")
"""What the three readings are called in text"""

Answer = Callable[[Bound, bool], float]
"""What a bound answers, proved or not"""


@dataclass(frozen=True)
class Figure:
    """One point of a guarantee: (epsilon, delta)-DP, the result it came from and what that result assumes."""

    epsilon: float
    delta: float
    result: str
    assumptions: tuple[str, ...]
    certified: bool = True

    def to_dict(self) -> dict[str, object]:
        return {
            "epsilon": finite(self.epsilon),
            "delta": self.delta,
            "result": self.result,
            "assumptions": list(self.assumptions),
            "certified": self.certified,
        }


class Piece(NamedTuple):
    """One additive release: its noise, the reach laws of its independent blocks, how far apart two rows may be."""

    noise: Noise | BlackBox
    blocks: tuple[Atoms, ...]
    far: Fraction
    known: Fraction
    """The same where the mask is known"""
    dependent: bool
    """Whether masks may depend on values"""


@dataclass(frozen=True, eq=False)
class Guarantee:
    """The point-wise smallest of several proved curves.

    `without_missingness`: the same release if nothing were missing, or if the law is wrong. `if_mask_known`: against
    an observer who knows which entries of the record were observed. An amplified guarantee is final: releases on
    the same data are composed before amplification (T7), never after.
    """

    bounds: tuple[Bound, ...]
    relation: str
    subject: str
    companion_without: Guarantee | None = None
    companion_known: Guarantee | None = None
    caveats: tuple[str, ...] = ()
    pieces: tuple[Piece, ...] = field(default=(), repr=False)
    """The additive releases behind it: what fresh masks compose"""

    @property
    def without_missingness(self) -> Guarantee:
        """The figure that needs no assumption about missing entries."""
        return self if self.companion_without is None else self.companion_without

    @property
    def if_mask_known(self) -> Guarantee:
        """The figure against somebody who knows the record's mask."""
        return self if self.companion_known is None else self.companion_known

    @property
    def readings(self) -> dict[str, Guarantee]:
        """The three under the names that books and JSON give them, in the order in which they are shown."""
        return {
            "with_missingness": self,
            "without_missingness": self.without_missingness,
            "if_mask_known": self.if_mask_known,
        }

    @property
    def with_companions(self) -> tuple[tuple[str, Guarantee], ...]:
        """The three figures that are always shown together, each with its name, in this order."""
        return tuple(zip(SPOKEN, self.readings.values(), strict=True))

    def lines(self, delta: object) -> list[str]:
        """The three epsilons at a delta with their results, as a table of text."""
        found = [(name, g.answer(delta=delta)) for name, g in self.with_companions]
        return [f"  {name:<26}{shown(figure.epsilon):>12}   {figure.result}" for name, figure in found]

    @property
    def amplified(self) -> bool:
        return self.companion_without is not None

    def epsilon(self, delta: object, *, certified: bool = True) -> float:
        """The smallest proved epsilon at delta, rounded up; inf when no result gives one."""
        return self.answer(delta=delta, certified=certified).epsilon

    def delta(self, epsilon: object, *, certified: bool = True) -> float:
        """The smallest proved delta at epsilon, rounded up."""
        return self.answer(epsilon=epsilon, certified=certified).delta

    def answer(self, *, delta: object = None, epsilon: object = None, certified: bool = True) -> Figure:
        """The figure at a delta or at an epsilon, with its result and assumptions."""
        if (delta is None) == (epsilon is None):
            raise InputError("answer", (delta, epsilon), "exactly one of delta and epsilon")
        if delta is not None:
            d = probability(delta, "delta")
            value, bound = self._smallest(self.used_at(d), lambda b, sure: b.epsilon(d, certified=sure), certified)
            return self._figure(value, echoed(d), bound, d == 0, certified)
        e = number(epsilon, "epsilon")
        if e < 0:
            raise InputError("epsilon", epsilon, "a number >= 0")
        e = min(e, LARGEST)
        value, bound = self._smallest(self.bounds, lambda b, sure: delta_used(b, e, sure), certified)
        return self._figure(echoed(e), value, bound, value == 0, certified)

    def used_at(self, delta: Fraction) -> tuple[Bound, ...]:
        """The results that may answer at delta: T9 rests on float transforms and is not used between 0 and 1e-11."""
        return tuple(b for b in self.bounds if delta == 0 or delta >= b.least)

    def _figure(self, epsilon: float, delta: float, bound: Bound, pure: bool, certified: bool) -> Figure:
        if epsilon == math.inf:
            return Figure(epsilon, delta, "none", (), certified=False)
        result = (bound.pure_result if pure else None) or bound.result
        assumptions = tuple(dict.fromkeys((*bound.assumptions, *self.caveats)))
        return Figure(epsilon, delta, result, assumptions, certified)

    def _smallest(self, bounds: tuple[Bound, ...], value: Answer, certified: bool) -> tuple[float, Bound]:
        """The smallest answer; only bounds that a float search puts within 1e-3 of the best are proved."""
        if not bounds:
            return math.inf, self.bounds[0]
        if len(bounds) == 1:
            return value(bounds[0], certified), bounds[0]
        guesses = [(value(b, False), b) for b in bounds]
        if not certified:
            return min(guesses, key=lambda pair: pair[0])
        best = min(guess for guess, _ in guesses)
        near = [b for guess, b in guesses if guess <= best * 1.001 or not math.isfinite(best)]
        return min(((value(b, True), b) for b in near), key=lambda pair: pair[0])

    @property
    def result(self) -> str:
        """The result that answers (at delta = 1e-6 where several apply); every figure names its own."""
        if len(self.bounds) == 1:
            return self.bounds[0].result
        return self._smallest(self.bounds, lambda b, sure: b.epsilon(REFERENCE, certified=sure), False)[1].result

    @property
    def assumptions(self) -> tuple[str, ...]:
        """Everything that the results behind this guarantee assume, each once."""
        return tuple(dict.fromkeys([*(a for b in self.bounds for a in b.assumptions), *self.caveats]))

    # -- other readings of the same curve ----------------------------------------------------------------------

    def curve(self, epsilons: Iterable[object], *, certified: bool = True) -> list[tuple[float, float]]:
        """(epsilon, delta) at every epsilon asked; certified=False is a float search, for plots."""
        asked = list_of(epsilons, "epsilons", "a list of numbers >= 0")
        return [(echoed(number(e, "epsilon")), self.delta(e, certified=certified)) for e in asked]

    def tradeoff(self, alpha: object, *, certified: bool = True) -> float:
        """A proved lower bound of f(alpha), the smallest type II error of any test at level alpha (f-DP).

        The largest of 1 - delta - e^eps alpha and e^-eps (1 - delta - alpha) over the curve, rounded down; each point
        gives a valid bound.
        """
        from absentia.readings import tradeoff

        return tradeoff(self, probability(alpha, "alpha"), certified)

    def renyi(self, order: object) -> float:
        """A proved upper bound of the Renyi divergence of that order between neighbours."""
        from absentia.readings import renyi

        return renyi(self, number(order, "order"))

    def plot(self, ax: Axes | None = None, largest: float | None = None) -> Axes:
        """The curve with its two companions on a matplotlib axis."""
        from absentia.readings import plot

        return plot(self, ax, largest)

    # -- what must not be done ---------------------------------------------------------------------------------

    def __bool__(self) -> NoReturn:
        raise TypeError("a guarantee is a curve, neither true nor false: ask .epsilon(delta) or .delta(epsilon)")

    def __add__(self, other: object) -> NoReturn:
        refuse_sum(self, other)

    __radd__ = __add__

    def to_dict(self, delta: object) -> dict[str, object]:
        """The three figures at one delta, JSON-ready, with result and assumptions."""
        return {
            **self.answer(delta=delta).to_dict(),
            "relation": self.relation,
            "subject": self.subject,
            "without_missingness": self.without_missingness.answer(delta=delta).to_dict(),
            "if_mask_known": self.if_mask_known.answer(delta=delta).to_dict(),
        }

    def __str__(self) -> str:
        """The three figures at delta 0, or where there is none at delta 1e-6."""
        delta = Fraction(0) if math.isfinite(self.epsilon(0, certified=False)) else REFERENCE
        head = f"{self.subject}: epsilon at delta {float(delta):g} ({self.relation}), proved and rounded up"
        return "\n".join([head, *self.lines(delta)])

    def _repr_html_(self) -> str:
        from absentia.readings import as_html

        return as_html(self)


def refuse_sum(one: Guarantee, other: object) -> NoReturn:
    """Amplified guarantees of one dataset must not be added; the refusal shows by how much it would be wrong."""
    numbers = ""
    if isinstance(other, Guarantee):
        claimed = sum(g.epsilon(REFERENCE) for g in (one, other))
        without = sum(g.without_missingness.epsilon(REFERENCE) for g in (one, other))
        numbers = (
            f" Here the sum would claim epsilon {shown(claimed, 4)} at delta 2e-6; without missingness the two cost up"
            f" to {shown(without, 4)}."
        )
    raise HazardRefused(
        "H19",
        "Two guarantees of releases were to be added." + numbers,
        "Releases on one dataset share one mask, so what the first reveals about the mask weakens the second: two"
        " randomised responses with e^epsilon = 2 and p* = 1/10 have ratio 13/10, their sum claims 121/100; ten have"
        " 103.3 against a claimed 2.59 (T7).",
        "Compose the mechanisms first and amplify once: absentia.together(...). Where the masks were drawn afresh for"
        " each release, absentia.fresh_masks(...) composes.",
    )


def delta_used(bound: Bound, epsilon: Fraction, certified: bool) -> float:
    """What a result says of delta at epsilon: nothing between 0 and the least delta at which it is used."""
    value = bound.delta(epsilon, certified=certified)
    return value if value == 0 else max(value, echoed(bound.least))


def finite(value: float) -> float | None:
    """JSON has no infinity: None stands for 'no finite value'."""
    return value if math.isfinite(value) else None
