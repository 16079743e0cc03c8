"""`amplify`: a mechanism and a law in, a guarantee out; applied once, last, outermost."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction

from absentia.errors import HazardRefused, InputError
from absentia.exact import probability, shown
from absentia.guarantee import Guarantee, Piece
from absentia.law.blocks import Blocks
from absentia.law.forms import Forms
from absentia.law.reachlaw import ReachLaw
from absentia.theory.base import ClassBase, base_of
from absentia.theory.blackbox import DependentRows, SteeredRows, by_distance, masked
from absentia.theory.bound import Bound
from absentia.theory.channel import nonnegative
from absentia.theory.mixed import MixedKnown, together_at
from absentia.theory.noise import BlackBox, Noise, Norm
from absentia.theory.pair import (
    HIDDEN_MASK,
    MASKS_APART,
    ROWS_INDEPENDENT,
    STRETCH,
    AtDistance,
    KnownMask,
    Relation,
    base_at,
    dominating_pair,
)
from absentia.theory.relaxed import NoPromise, Relaxed, RelaxedKnown

__all__ = ["RELATIONS", "amplify", "full_reach", "share"]

Structure = ReachLaw | Blocks | Forms
RELATIONS = ("substitute", "add_remove", "attribute")

NO_MISSINGNESS = "of missing entries only that rows draw their masks independently: every entry may be observed"
KNOWN_DEPENDENT = (
    "the figure is about the release alone: where masks depend on values, a known mask may itself reveal values,"
    " which no mechanism can mend"
)
ROUNDING = Fraction(1, 10**9)
"""By how much a stated distance may lie below the full reach, which is rounded up"""

ATTRIBUTE = "neighbours differ in the named features only, and missingness is MAR or MCAR"


def amplify(
    mechanism: Noise | BlackBox | Bound | Sequence[Noise],
    law: Structure | None = None,
    *,
    p_star: object = None,
    sensitivity: object = None,
    relation: str = "substitute",
    dependent_rows: int = 0,
    eta: object = 1,
    dense_share: object = None,
) -> Guarantee:
    """The guarantee of a mechanism that runs on data masked by `law`.

    Laplace or Gaussian noise with a ReachLaw: T2 (T3 at delta = 0). With Blocks: T9 too. With Forms: T10, T10K too.
    A black box, or noise of which only the distance between two rows is known (`sensitivity`), with `p_star`: T1.
    `sensitivity`: the largest distance between any two masked rows, the all-missing one included; beside a law, where
    it is below twice the full reach, T1 and T3 use it too. `dependent_rows` = g, `eta`: T8, which needs no p_star and
    leaves one aside. `dense_share` = P(more than k observed), the black box being stated
    for rows with at most k: T6. The smallest valid figure is given.

    >>> amplify(BlackBox("1"), p_star="1/2").epsilon(delta=0)
    0.6201145069582776
    """
    _refuse_wrong_words(law, relation, dependent_rows, eta)
    if isinstance(mechanism, Sequence):
        if any(x is not None for x in (p_star, sensitivity, dense_share)) or dependent_rows:
            raise InputError(
                "mechanism", "one noise for each block", "no p_star, sensitivity, dense_share or dependent_rows"
            )
        return _mixed_blocks(mechanism, law, _not_attribute(relation))
    if isinstance(mechanism, Noise) and law is not None and p_star is None and not dependent_rows:
        if dense_share is not None:
            raise InputError(
                "dense_share", dense_share, "nothing beside a reach law, which already says how far rows go"
            )
        return _additive(mechanism, law, sensitivity, _not_attribute(relation))
    base = _base(mechanism, law, sensitivity, relation)
    if dense_share is not None:
        return _relaxed(base, law, p_star, relation, dependent_rows, dense_share)
    if dependent_rows:
        steered, known = (_steered(base, mechanism, law, sensitivity, relation, dependent_rows, h) for h in (eta, 1))
        return _around(steered, base, known, relation, True)
    return _around(masked(base, share(law, p_star), relation), base, base, relation, law is None or law.data_dependent)


def _refuse_wrong_words(law: object, relation: str, dependent_rows: int, eta: object) -> None:
    if relation not in RELATIONS:
        raise InputError("relation", relation, f"one of {', '.join(RELATIONS)}")
    if isinstance(dependent_rows, bool) or not isinstance(dependent_rows, int) or dependent_rows < 0:
        raise InputError("dependent_rows", dependent_rows, "an int >= 0")
    if probability(eta, "eta") != 1 and not dependent_rows:
        raise InputError("eta", eta, "nothing without dependent_rows: it is T8's bound on how far masks may follow")
    if law is not None and not isinstance(law, Structure):
        raise InputError("law", law, "a ReachLaw, Blocks or Forms")


# -- additive noise --------------------------------------------------------------------------------------------------


def _additive(noise: Noise, law: Structure, sensitivity: object, relation: Relation) -> Guarantee:
    total = law if isinstance(law, ReachLaw) else law.total(noise.norm)
    stretch, far = STRETCH[relation], _farthest(noise, law, sensitivity, relation)
    apart: tuple[Bound, ...] = ()
    if far < stretch * full_reach(law, noise.norm):
        apart = by_distance(noise, far, Fraction(total.max), share(law, None))
    known: tuple[Bound, ...] = (KnownMask(noise, total.atoms, stretch), *apart[:1])
    if total.data_dependent:
        most = min(far, stretch * Fraction(total.max))
        known = (replace(base_at(noise, most), result="base at the largest reach"),)
    caveats = (KNOWN_DEPENDENT,) if total.data_dependent else ()
    split = tuple(b.atoms for b in law.blocks) if isinstance(law, Blocks) and law.blocks else (total.atoms,)
    subject = f"{type(noise).__name__}({noise.size:g})"
    return Guarantee(
        (*_sharper(noise, law, relation), dominating_pair(noise, total.atoms, relation), *apart),
        relation,
        subject,
        Guarantee((base_at(noise, far),), relation, subject, caveats=(NO_MISSINGNESS,)),
        Guarantee(known, relation, subject, caveats=caveats),
        pieces=(Piece(noise, split, far, min(far, stretch * Fraction(total.max)), total.data_dependent),),
    )


def full_reach(law: Structure, norm: Norm) -> Fraction:
    """The reach of a row with nothing missing."""
    return Fraction(law.full_reach if isinstance(law, ReachLaw) else law.full_reach(norm))


def _farthest(noise: Noise, law: Structure, sensitivity: object, relation: str) -> Fraction:
    """How far one record may move the query: twice the full reach or the stated distance; the full reach, if alone."""
    full = full_reach(law, noise.norm)
    stated = 2 * full if sensitivity is None else nonnegative(sensitivity, "sensitivity")
    if stated < full * (1 - ROUNDING):
        raise InputError(
            "sensitivity", sensitivity,
            f"at least the full reach, {shown(full)}: the largest distance between any two masked rows,"
            " the all-missing one included",
        )  # fmt: skip
    return full if relation == "add_remove" else min(2 * full, max(stated, full))


def _sharper(noise: Noise, law: Structure, relation: Relation) -> Sequence[Bound]:
    """T9 for blocks; T10 and T10K for forms under Gaussian noise."""
    if isinstance(law, Blocks):
        return law.bounds(noise, relation)
    if isinstance(law, Forms) and noise.family == "gaussian":
        return law.bounds(noise.size, relation)
    return ()


def _mixed_blocks(noises: Sequence[object], law: Structure | None, relation: Relation) -> Guarantee:
    """One noise for each block: T9 with families mixed across blocks; T2 of one family, T1 of any mixture beside it."""
    if not isinstance(law, Blocks):
        raise InputError("law", law, "Blocks, beside one noise for each block")
    if not all(isinstance(noise, (Noise, BlackBox)) for noise in noises):
        raise InputError("mechanism", noises, "Laplace, Gaussian or BlackBox for each block")
    each = [noise for noise in noises if isinstance(noise, (Noise, BlackBox))]
    subject = "one noise for each block"
    full, worst = (_at_points(each, reaches, relation) for reaches in (law.full_reaches, law.largest_reaches))
    t1, stretch = masked(worst[-1], law.shown, relation), STRETCH[relation]
    return Guarantee(
        (*law.bounds(each, relation), *law.whole(each, relation), t1),
        relation,
        subject,
        Guarantee(full, relation, subject, caveats=(NO_MISSINGNESS,)),
        Guarantee(worst, relation, subject, caveats=(KNOWN_DEPENDENT,)),
        pieces=tuple(
            Piece(noise, (b.atoms,), stretch * Fraction(b.full_reach), stretch * Fraction(b.max), b.data_dependent)
            for noise, b in zip(each, law.blocks, strict=False)
        ),
    )


def _at_points(noises: Sequence[Noise | BlackBox], reaches: Sequence[float], relation: Relation) -> tuple[Bound, ...]:
    """What several noises promise where block b moves by at most reaches[b]: composed losses, and T7's closed form."""
    composed = Blocks([ReachLaw.point(x) for x in reaches]).bounds(noises, relation)
    losses = together_at([(noise, STRETCH[relation] * Fraction(x)) for noise, x in zip(noises, reaches, strict=True)])
    return (
        *composed,
        MixedKnown(((Fraction(1), losses.pure, losses.square),), "base", (ROWS_INDEPENDENT,), losses.delta),
    )


def _not_attribute(relation: str) -> Relation:
    if relation == "attribute":
        raise HazardRefused(
            "H2",
            "An attribute-level guarantee was asked from a reach law.",
            "T2, T3 and T9 do not transfer to neighbours that differ in some features only: the other features may"
            " reveal the mask.",
            "Use the black-box form, amplify(BlackBox(...), p_star=p_J, relation='attribute') with p_J the probability"
            " that one of those features is observed (T1, MAR), or the figure if the mask is known.",
        )
    return "add_remove" if relation == "add_remove" else "substitute"


# -- black boxes -----------------------------------------------------------------------------------------------------


def _base(mechanism: object, law: Structure | None, sensitivity: object, relation: str) -> Bound:
    if isinstance(mechanism, (BlackBox, Bound)):
        if sensitivity is not None:
            raise InputError(
                "sensitivity", sensitivity, "nothing beside a black box, whose guarantee already counts it"
            )
        return _unamplified(base_of(mechanism))
    if not isinstance(mechanism, Noise):
        raise InputError("mechanism", mechanism, "Laplace, Gaussian, BlackBox, or one noise for each block of Blocks")
    if law is not None:
        return base_at(mechanism, _farthest(mechanism, law, sensitivity, relation))
    if sensitivity is not None:
        return base_at(mechanism, sensitivity)
    raise InputError("law", None, "a reach law, or p_star and sensitivity (how far apart two rows may be)")


def _unamplified(base: Bound) -> Bound:
    """The base, refused where it counts on missing entries already."""
    if {HIDDEN_MASK, MASKS_APART} & {*base.assumptions}:
        raise InputError(
            "mechanism", base.result, "a guarantee between masked rows of any masks: this one counts on missing entries"
            " already, and they amplify once",
        )  # fmt: skip
    return base


def share(law: Structure | None, p_star: object) -> Fraction:
    """P(a row shows something): what the law says, or p_star where there is none."""
    if (law is None) == (p_star is None):
        raise InputError("p_star", p_star, "either a law or p_star (P(a row shows something)), not both")
    if law is not None:
        return law.shown if isinstance(law, Blocks) else (law if isinstance(law, ReachLaw) else law.total(2)).p_exact
    return probability(p_star, "p_star")


def _around(bound: Bound, base: Bound, known: Bound, relation: str, dependent: bool) -> Guarantee:
    """The figure beside its base and what holds if the mask is known."""
    subject = "noise of known distance" if isinstance(base, AtDistance) else "black box"
    return Guarantee(
        (bound,),
        relation,
        subject,
        Guarantee((base,), relation, subject, caveats=(NO_MISSINGNESS,)),
        Guarantee((known,), relation, subject, caveats=(KNOWN_DEPENDENT,) if dependent else ()),
        caveats=(ATTRIBUTE,) if relation == "attribute" else (),
    )


def _relaxed(base: Bound, law: Structure | None, p_star: object, relation: str, rows: int, dense: object) -> Guarantee:
    """T6; nothing is promised where every entry may be observed, nor if the mask is known and may depend on values."""
    if relation == "attribute" or rows:
        given = "attribute" if relation == "attribute" else f"{rows} dependent rows"
        raise InputError(
            "dense_share", given, "neighbours that differ in a whole row, and independent rows (T6)",
            remedy="Leave dense_share out: T1 covers attributes, T8 dependent rows.",
        )  # fmt: skip
    subject, p = "black box on rows with few entries", share(law, p_star)
    nothing = Guarantee((NoPromise(),), relation, subject)
    known = Guarantee((RelaxedKnown(base, p, dense),), relation, subject)
    if law is not None and law.data_dependent:
        known = nothing
    return Guarantee((Relaxed(base, p, dense),), relation, subject, nothing, known)


def _steered(
    base: Bound, mechanism: object, law: Structure | None, sensitivity: object, relation: str, rows: int, eta: object
) -> Bound:
    """T8: one record may steer the masks of `rows` other rows, each of which is then another row in its place."""
    if isinstance(mechanism, Noise) and isinstance(base, AtDistance):
        own = base.atoms[0][0]
        other = own if law is None else _farthest(mechanism, law, sensitivity, "substitute")
        return SteeredRows(base_at(mechanism, Fraction(own) + rows * Fraction(other)), rows, eta)
    kind: Relation = "add_remove" if relation == "add_remove" else "substitute"
    if isinstance(base, AtDistance):  # group privacy of additive noise: that many times the distance
        return SteeredRows(base.times(rows * (2 if kind == "add_remove" else 1) + 1), rows, eta)
    if isinstance(base, ClassBase):
        return DependentRows(base.at, base.floor, rows, eta, kind)
    raise InputError("dependent_rows", rows, "0 for a black box given by a profile; state it as (epsilon, delta)")
