"""Exchange with dp_accounting: a guarantee as a privacy loss distribution, and as an event where one exists.

In an accountant, composing means independent masks: fresh collections, or other data. Releases on one dataset compose
before amplification (T7), so hand over the guarantee of the whole book, once. Its arithmetic is dp_accounting's:
below a delta of about 1e-12 its transforms are not on the safe side.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from functools import reduce
from typing import TYPE_CHECKING, TypeAlias

from absentia.errors import InputError
from absentia.guarantee import Guarantee
from absentia.theory.blocks import Part, SumOfLosses
from absentia.theory.bound import Bound
from absentia.theory.loss import LossPair
from absentia.theory.loss_grid import GridLosses
from absentia.theory.noise import Gaussian, Laplace
from absentia.theory.pair import ORIGIN, Worst
from absentia.theory.pair_gaussian import GaussianPair
from absentia.theory.pair_laplace import LaplacePair, LaplaceRemoved

if TYPE_CHECKING:
    from dp_accounting.dp_event import DpEvent
    from dp_accounting.pld.pld_pmf import PLDPmf
    from dp_accounting.pld.privacy_loss_distribution import PrivacyLossDistribution

__all__ = ["to_event", "to_pld"]

Parts: TypeAlias = Sequence[tuple[Part, int]]
REFERENCE = Fraction(1, 10**6)


def to_pld(source: Guarantee | Bound, gap: float = 1e-4, lost: float = 1e-15) -> PrivacyLossDistribution:
    """dp_accounting's PrivacyLossDistribution of T2, T9 or composed T2 pairs, on losses `gap` apart.

    Losses are proved and rounded up block by block; dp_accounting composes them. Substitution gives a symmetric
    distribution (relation REPLACE_ONE), add/remove the pair of both directions. `lost` is the mass of a block's
    Gaussian tail that counts as an infinite loss.

    >>> from absentia.theory.blocks import IndependentBlocks
    >>> column = ((0.0, Fraction(9, 10)), (1.0, Fraction(1, 10)))
    >>> round(to_pld(IndependentBlocks.of([(Gaussian(5), column)] * 10)).get_epsilon_for_delta(1e-6), 3)
    0.514
    """
    from dp_accounting.pld import privacy_loss_distribution

    bound = additive(source)
    if not isinstance(bound, Worst):
        return privacy_loss_distribution.PrivacyLossDistribution(composed_pmf(parts_of(bound), gap, lost))
    removed, added = (composed_pmf(parts_of(side), gap, lost) for side in bound.directions)
    return privacy_loss_distribution.PrivacyLossDistribution(removed, added)


def to_event(source: Guarantee | Bound) -> DpEvent:
    """The DpEvent that stands for the same release, for accountants that take events.

    Under substitution (REPLACE_ONE): Gaussian noise and laws {0: 1-p, r: p}, as Poisson sampled Gaussians. Under
    add/remove (ADD_OR_REMOVE_ONE): any law with Gaussian noise, as a mixture of Gaussians; laws {0: 1-p, r: p} with
    Laplace noise. Anything else has no event; use `to_pld`.

    >>> from absentia.theory.blocks import IndependentBlocks
    >>> column = ((0.0, Fraction(9, 10)), (1.0, Fraction(1, 10)))
    >>> to_event(IndependentBlocks.of([(Gaussian(5), column)] * 10)).count
    10
    """
    from dp_accounting import dp_event

    bound = additive(source)
    one_sided = isinstance(bound, Worst)
    parts = parts_of(bound.directions[0] if isinstance(bound, Worst) else bound)
    events = [repeated(event_of(part, one_sided), count) for part, count in parts]
    return events[0] if len(events) == 1 else dp_event.ComposedDpEvent(events)


def additive(source: Guarantee | Bound) -> Bound:
    """The bound of a guarantee that is made of additive-noise pairs and promises least at delta = 1e-6."""
    known = (SumOfLosses, GaussianPair, LaplacePair, LaplaceRemoved)
    bounds = source.bounds if isinstance(source, Guarantee) else (source,)
    usable = [
        b for b in bounds if isinstance(b, known) or (isinstance(b, Worst) and isinstance(b.directions[0], known))
    ]
    if not usable:
        raise InputError("source", [b.result for b in bounds], "a guarantee by T2, T9 or composed T2 pairs")
    return min(usable, key=lambda b: b.epsilon(REFERENCE, certified=False))


def parts_of(bound: Bound) -> Parts:
    """The independent pairs of one direction, each with how often it occurs."""
    if isinstance(bound, SumOfLosses):
        return bound.parts
    if isinstance(bound, GaussianPair):
        return [(LossPair(Gaussian(bound.sigma), bound.up, bound.low), 1)]
    if isinstance(bound, LaplacePair):
        return [(LossPair(Laplace(bound.scale), bound.up, bound.low), 1)]
    if isinstance(bound, LaplaceRemoved):
        return [(LossPair(Laplace(bound.scale), ORIGIN, bound.atoms), 1)]
    raise InputError("source", bound.result, "T2, T9 or composed T2 pairs")


def composed_pmf(parts: Parts, gap: float, lost: float) -> PLDPmf:
    from dp_accounting.pld import pld_pmf

    if not parts:
        return pld_pmf.create_pmf({0: 1.0}, gap, 0.0, True)
    pieces = [
        pmf_of(part.on_grid(gap, lost, float("inf"), 1.0, proved=True)).self_compose(count) for part, count in parts
    ]
    return reduce(pld_pmf.compose_pmfs, pieces)


def pmf_of(losses: GridLosses) -> PLDPmf:
    from dp_accounting.pld import pld_pmf

    masses = dict(zip(losses.index.tolist(), losses.mass.tolist(), strict=True))
    return pld_pmf.create_pmf(masses, losses.gap, losses.infinite, True)


def repeated(event: DpEvent, count: int) -> DpEvent:
    from dp_accounting import dp_event

    return event if count == 1 else dp_event.SelfComposedDpEvent(event, count)


def event_of(part: Part, one_sided: bool) -> DpEvent:
    from dp_accounting import dp_event

    allowed = (
        "Gaussian noise (any law under add/remove, {0: 1-p, r: p} under substitution), or Laplace under add/remove"
    )
    if not isinstance(part, LossPair):
        raise InputError("source", "a black box, or masks that are shown", allowed)
    size, atoms = part.noise.size, part.up if part.up != ORIGIN else part.down
    if one_sided and part.gaussian:
        shifts, masses = [float(x) / size for x, _ in atoms], [float(q) for _, q in atoms]
        return dp_event.MixtureOfGaussiansDpEvent(1.0, shifts, masses)
    shown = [(float(x) / size, float(q)) for x, q in atoms if x > 0]
    if len(shown) != 1 or not (one_sided or part.gaussian):
        raise InputError("source", f"{type(part.noise).__name__} noise, {len(atoms)} atoms", allowed)
    (reach, p), kind = shown[0], dp_event.GaussianDpEvent if part.gaussian else dp_event.LaplaceDpEvent
    return kind(1 / reach) if p == 1 else dp_event.PoissonSampledDpEvent(p, kind(1 / reach))
