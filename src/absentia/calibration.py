"""The smallest noise that keeps a promise, proved and rounded up; and what a black box may spend before masking."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

from scipy.optimize import brentq

from absentia.amplification import Structure, amplify, share
from absentia.errors import HazardRefused, InputError
from absentia.exact import exact, number, probability, round_down, round_up
from absentia.theory.blackbox import inverse
from absentia.theory.bound import Bound, log_of
from absentia.theory.noise import BlackBox, Gaussian, Laplace, Noise

__all__ = ["calibrate", "calibrate_black_box", "noise_within", "smallest_scale"]

FAMILIES: dict[str, type[Laplace] | type[Gaussian]] = {"laplace": Laplace, "gaussian": Gaussian}
CLOSE = 1e-10
"""Relative width at which a search for a scale stops, on the safe side."""


def calibrate(
    family: str | type[Laplace] | type[Gaussian],
    law: Structure | None = None,
    *,
    epsilon: object,
    delta: object = "0",
    relation: str = "substitute",
    sensitivity: object = None,
    p_star: object = None,
    without_missingness: bool = False,
) -> Laplace | Gaussian:
    """The least noise whose certified guarantee is (epsilon, delta), rounded up, at most 1e-9 above the optimum.

    `law`, `sensitivity` and `p_star` mean what they mean in `amplify`: a law, or p_star with the distance between rows.
    `without_missingness` calibrates the companion figure instead: the noise that needs no assumption.

    >>> from absentia.law.reachlaw import ReachLaw
    >>> 1 <= calibrate("laplace", ReachLaw.point(1), epsilon="2").size <= 1 + 1e-9
    True
    """
    make = _family(family)
    e, d = exact(epsilon, "epsilon"), exact(delta, "delta")
    probability(d, "delta")
    if e < 0:
        raise InputError("epsilon", epsilon, "a number >= 0")
    if d == 0 and make is Gaussian:
        raise InputError("delta", delta, "a number > 0: Gaussian noise gives no pure guarantee")

    def bounds(scale: float) -> tuple[Bound, ...]:
        g = amplify(make(scale), law, relation=relation, sensitivity=sensitivity, p_star=p_star)
        return (g.without_missingness if without_missingness else g).bounds

    bounds(1.0)  # refuses what `amplify` refuses, by the same names
    unit, shows = _unit(law, sensitivity, make), share(law, p_star)
    if unit == 0:
        field, given = ("sensitivity", sensitivity) if law is None else ("law", law)
        raise InputError(field, given, "a positive reach: this query never moves")
    if d >= (1 if without_missingness else shows):
        raise InputError("delta", delta, f"less than P(a row shows something), {float(shows):.6g}: any noise keeps it")

    def nth(k: int) -> Callable[[float], Bound]:
        return lambda scale: bounds(scale)[k]

    used = [k for k, bound in enumerate(bounds(unit)) if d == 0 or d >= bound.least]
    found = [smallest_scale(nth(k), e, d, unit) for k in used]
    best = min((s for s in found if s is not None), default=None)
    if best is None:
        raise HazardRefused(
            "H1",
            f"No {make.family} noise was found for epsilon {epsilon}, delta {delta}.",
            "The promise must be reachable by one of the results that apply.",
            "Ask for a larger epsilon or delta.",
        )
    return make(best)


def _family(family: object) -> type[Laplace] | type[Gaussian]:
    make = FAMILIES.get(family.lower()) if isinstance(family, str) else family
    if make is Laplace or make is Gaussian:
        return make
    raise InputError("family", family, "laplace or gaussian")


def _unit(law: Structure | None, sensitivity: object, make: type[Noise]) -> float:
    """Where a search for the scale starts: the largest distance that counts, up to a factor."""
    if law is None:
        return round_up(number(sensitivity, "sensitivity"))
    full = law.full_reach
    return full if isinstance(full, float) else full(make.norm)


def smallest_scale(bound: Callable[[float], Bound], epsilon: Fraction, delta: Fraction, unit: float) -> float | None:
    """The smallest scale at which this bound proves the promise; None when it never does."""

    def excess(scale: float, certified: bool) -> float:
        """Above 0 while the promise is broken; smooth in ln scale."""
        if delta == 0:
            value, wanted = bound(scale).epsilon(delta, certified=certified), epsilon
        else:
            value, wanted = bound(scale).delta(epsilon, certified=certified), delta
        gap = math.log(max(min(value, 1e300), 5e-324)) - log_of(wanted)
        met = value < math.inf and Fraction(value) <= wanted
        return min(gap, -1e-300) if met else max(gap, 1e-300)

    rough = _float_root(lambda s: excess(s, False), unit)
    found = None if rough is None else _proved_root(lambda s: excess(s, True), rough)
    return None if found is None else _read_back(bound, found, epsilon, delta)


def _read_back(bound: Callable[[float], Bound], scale: float, epsilon: Fraction, delta: Fraction) -> float | None:
    """That scale, or a little more, so that the epsilon which is proved at delta keeps the promise as well."""
    step = CLOSE / 3
    while Fraction(min(bound(scale).epsilon(delta), 1e300)) > epsilon:
        scale, step = scale * (1 + step), 4 * step
        if step > 1:
            return None
    return scale


def _float_root(excess: Callable[[float], float], start: float) -> float | None:
    """Where a falling function changes its sign, found in floating point; None when it never does."""

    def at(t: float) -> float:
        return excess(math.exp(t))

    # all in t = ln scale: a scale at which the promise is just met may break it one rounding further
    low, high, step = math.log(start / 4), math.log(start), math.log(16)
    while at(high) > 0:
        low, high = high, high + step
        if high > 575:
            return None
    while at(low) <= 0:
        low, high = low - step, low
        if low < -575:
            return math.exp(high)
    return math.exp(float(brentq(at, low, high, xtol=1e-12, rtol=1e-14)))


def _proved_root(excess: Callable[[float], float], start: float) -> float | None:
    """A scale at which the promise is proved, within CLOSE of the smallest; the float root is usually right at once."""
    known: dict[float, float] = {}

    def at(t: float) -> float:
        if t not in known:
            known[t] = excess(math.exp(t))
        return known[t]

    centre, width = math.log(start), CLOSE / 3
    low, high = centre - width, centre + width
    while at(high) > 0:
        low, high, width = high, high + 15 * width, 16 * width
        if width > 100:
            return None
    width = CLOSE / 3
    while at(low) <= 0:
        low, high, width = low - 15 * width, low, 16 * width
        if width > 100:
            return math.exp(high)
    if high - low > CLOSE:
        brentq(at, low, high, xtol=CLOSE / 4, rtol=1e-15)
        low = max(t for t, value in known.items() if value > 0)
        high = min(t for t, value in known.items() if value <= 0 and t > low)
        while high - low > CLOSE:
            middle = (low + high) / 2
            low, high = (middle, high) if at(middle) > 0 else (low, middle)
    return math.exp(high)


def calibrate_black_box(p_star: object, *, epsilon: object, delta: object = "0") -> BlackBox:
    """The loosest black box that T1 amplifies to (epsilon, delta): ln(1 + (e^epsilon - 1)/p), delta/p; rounded down.

    >>> float(calibrate_black_box("1/2", epsilon="1").epsilon)
    1.4898801256447498
    """
    p, d = probability(p_star, "p_star"), exact(delta, "delta")
    if p == 0:
        raise InputError(
            "p_star", p_star, "a number in (0, 1]: with p_star = 0 nothing is ever released about a record"
        )
    probability(d, "delta")
    return BlackBox(Fraction(inverse(exact(epsilon, "epsilon"), p)), Fraction(round_down(min(d / p, Fraction(1)))))


def noise_within(family: str | type[Laplace] | type[Gaussian], error: object, confidence: object) -> Laplace | Gaussian:
    """The most noise that stays within +-error with that confidence: what a wanted accuracy allows to spend."""
    from scipy.special import ndtri

    make = _family(family)
    half, level = float(exact(error, "error")), float(exact(confidence, "confidence"))
    if half <= 0:
        raise InputError("error", error, "a number > 0")
    if not 0 < level < 1:
        raise InputError("confidence", confidence, "a number in (0, 1)")
    if make is Laplace:
        return Laplace(half / -math.log1p(-level))
    return Gaussian(half / float(ndtri((1 + level) / 2)))
