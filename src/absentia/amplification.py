"""`amplify`: a mechanism and a law in, a guarantee out; applied once, last, outermost."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from absentia.errors import HazardRefused, InputError
from absentia.exact import number, probability
from absentia.guarantee import Guarantee
from absentia.law.blocks import Blocks
from absentia.law.forms import Forms
from absentia.law.reachlaw import ReachLaw
from absentia.theory.base import base_of
from absentia.theory.blackbox import BlackBoxAdded, BlackBoxAmplified, BlackBoxRemoved, group_private
from absentia.theory.bound import Bound
from absentia.theory.channel import nonnegative
from absentia.theory.noise import BlackBox, Noise
from absentia.theory.pair import HIDDEN_MASK, KnownMask, Relation, Worst, dominating_pair
from absentia.theory.relaxed import NoPromise, Relaxed, RelaxedKnown

__all__ = ["RELATIONS", "amplify", "base_at"]

Structure = ReachLaw | Blocks | Forms
RELATIONS = ("substitute", "add_remove", "attribute")

NO_MISSINGNESS = "none about missing entries: every entry may be observed"
KNOWN_DEPENDENT = (
    "the figure is about the release alone: where masks depend on values, a known mask may itself reveal values,"
    " which no mechanism can mend"
)
ATTRIBUTE = "neighbours differ in the named features only, and missingness is MAR or MCAR"


@dataclass(frozen=True)
class AtDistance(KnownMask):
    """The plain profile of a noise at one distance: what it promises with no help from missing entries."""

    result: str = "base"
    assumptions: tuple[str, ...] = ()


def base_at(noise: Noise, distance: object) -> AtDistance:
    """The curve of a noise between two rows at most `distance` apart."""
    return AtDistance(noise, ((nonnegative(distance, "sensitivity"), Fraction(1)),), 1)


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
    `sensitivity` beside a law: the exact distance between two rows with nothing missing, where it is below twice the
    full reach. `dependent_rows` = g, `eta`: T8. `dense_share` = P(more than k observed), the black box being stated
    for rows with at most k: T6. The smallest valid figure is given.

    >>> amplify(BlackBox("1"), p_star="1/2").epsilon(delta=0)
    0.6201145069582776
    """
    if relation not in RELATIONS:
        raise InputError("relation", relation, f"one of {', '.join(RELATIONS)}")
    if isinstance(dependent_rows, bool) or not isinstance(dependent_rows, int) or dependent_rows < 0:
        raise InputError("dependent_rows", dependent_rows, "an int >= 0")
    if law is not None and not isinstance(law, Structure):
        raise InputError("law", law, "a ReachLaw, Blocks or Forms")
    if isinstance(mechanism, Noise) and law is not None and p_star is None and not dependent_rows:
        if dense_share is not None:
            raise InputError(
                "dense_share", dense_share, "nothing beside a reach law, which already says how far rows go"
            )
        return _additive(mechanism, law, sensitivity, _not_attribute(relation))
    if isinstance(mechanism, Sequence) and isinstance(law, Blocks):
        if any(x is not None for x in (p_star, sensitivity, dense_share)) or dependent_rows:
            raise InputError(
                "mechanism", "one noise for each block", "no p_star, sensitivity, dense_share or dependent_rows"
            )
        if not all(isinstance(noise, (Noise, BlackBox)) for noise in mechanism):
            raise InputError("mechanism", mechanism, "Laplace, Gaussian or BlackBox for each block")
        return _mixed_blocks(mechanism, law, _not_attribute(relation))
    if isinstance(mechanism, (Noise, BlackBox, Bound)):
        base, distance_known = _base(mechanism, law, sensitivity, relation)
        p = _share(law, p_star)
        independent = law is not None and not law.data_dependent
        return _black_box(base, p, relation, dependent_rows, eta, dense_share, distance_known, independent)
    raise InputError("mechanism", mechanism, "Laplace, Gaussian, BlackBox, or one noise for each block of Blocks")


# -- additive noise --------------------------------------------------------------------------------------------------


def _additive(noise: Noise, law: Structure, sensitivity: object, relation: Relation) -> Guarantee:
    total = law if isinstance(law, ReachLaw) else law.total(noise.norm)
    stretch = 1 if relation == "add_remove" else 2
    bounds = [*_sharper(noise, law, relation), dominating_pair(noise, total.atoms, relation)]
    distance = stretch * Fraction(total.full_reach)
    if sensitivity is not None:
        distance = min(distance, nonnegative(sensitivity, "sensitivity"))
    known: Bound = KnownMask(noise, total.atoms, stretch)
    if total.data_dependent:
        known = AtDistance(noise, ((stretch * Fraction(total.max), Fraction(1)),), 1, "base at the largest reach")
    caveats = (KNOWN_DEPENDENT,) if total.data_dependent else ()
    subject = f"{type(noise).__name__}({noise.size:g})"
    return Guarantee(
        tuple(bounds),
        relation,
        subject,
        Guarantee((base_at(noise, distance),), relation, subject, caveats=(NO_MISSINGNESS,)),
        Guarantee((known,), relation, subject, caveats=caveats),
        pieces=((noise, total.atoms),),
    )


def _sharper(noise: Noise, law: Structure, relation: Relation) -> Sequence[Bound]:
    """T9 for blocks; T10 and T10K for forms under Gaussian noise."""
    if isinstance(law, Blocks):
        return law.bounds(noise, relation)
    if isinstance(law, Forms) and noise.family == "gaussian":
        return law.bounds(noise.size, relation)
    return ()


def _mixed_blocks(noises: Sequence[Noise], law: Blocks, relation: Relation) -> Guarantee:
    """One noise for each block: T9 with families mixed across blocks."""
    subject = "one noise for each block"
    stacks = [law.blocks, *(laws for _, laws in law.classes if laws)]
    columns = list(zip(*(laws for laws in stacks if laws), strict=True))  # of every class, block by block
    full = Blocks([ReachLaw.point(max(b.full_reach for b in laws)) for laws in columns])
    worst = Blocks([ReachLaw.point(max(b.max for b in laws)) for laws in columns])
    return Guarantee(
        tuple(law.bounds(noises, relation)),
        relation,
        subject,
        Guarantee(tuple(full.bounds(noises, relation)), relation, subject, caveats=(NO_MISSINGNESS,)),
        Guarantee(tuple(worst.bounds(noises, relation)), relation, subject, caveats=(KNOWN_DEPENDENT,)),
        pieces=tuple(zip(noises, (b.atoms for b in law.blocks), strict=False)),
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


def _base(
    mechanism: Noise | BlackBox | Bound, law: Structure | None, sensitivity: object, relation: str
) -> tuple[Bound, bool]:
    if not isinstance(mechanism, Noise):
        if sensitivity is not None:
            raise InputError(
                "sensitivity", sensitivity, "nothing beside a black box, whose guarantee already counts it"
            )
        return base_of(mechanism), False
    if sensitivity is not None:
        return base_at(mechanism, sensitivity), True
    if law is not None:
        full = law.full_reach if isinstance(law, ReachLaw) else law.full_reach(mechanism.norm)
        return base_at(mechanism, (1 if relation == "add_remove" else 2) * Fraction(full)), False
    raise InputError("law", None, "a reach law, or p_star and sensitivity (how far apart two rows may be)")


def _share(law: Structure | None, p_star: object) -> Fraction:
    if (law is None) == (p_star is None):
        raise InputError("p_star", p_star, "either a law or p_star (P(a row shows something)), not both")
    if law is not None:
        return (law if isinstance(law, ReachLaw) else law.total(2)).p_exact
    return probability(p_star, "p_star")


def _black_box(
    base: Bound,
    p: Fraction,
    relation: str,
    rows: int,
    eta: object,
    dense: object,
    distance_known: bool,
    independent: bool,
) -> Guarantee:
    """T1, or T6 or T8 in its place; `independent`: the law says that masks do not depend on values."""
    if dense is not None:
        return _relaxed(base, p, relation, rows, dense)
    if rows:
        bounds: tuple[Bound, ...] = (_dependent(base, rows, eta),)
    elif relation == "add_remove":
        bounds = (Worst((BlackBoxAdded(base, p), BlackBoxRemoved(base, p))),)
    else:
        bounds = (BlackBoxAmplified(base, p),)
        if distance_known and isinstance(base, KnownMask) and base.noise.family == "laplace":
            bounds[0].pure_result = "T3"  # type: ignore[attr-defined]  # radius = diameter: T1 and T3 agree
    subject = "black box" if not distance_known else "noise of known distance"
    plain = Guarantee((base,), relation, subject, caveats=(NO_MISSINGNESS,))
    known = Guarantee((base,), relation, subject, caveats=() if independent else (KNOWN_DEPENDENT,))
    caveats = (ATTRIBUTE,) if relation == "attribute" else ()
    return Guarantee(bounds, relation, subject, plain, known, caveats=caveats)


def _relaxed(base: Bound, p: Fraction, relation: str, rows: int, dense: object) -> Guarantee:
    """T6; nothing is promised where every entry may be observed, because the base says nothing about dense rows."""
    if relation == "attribute" or rows:
        given = "attribute" if relation == "attribute" else f"{rows} dependent rows"
        raise InputError(
            "dense_share", given, "neighbours that differ in a whole row, and independent rows (T6)",
            remedy="Leave dense_share out: T1 covers attributes, T8 dependent rows.",
        )  # fmt: skip
    subject = "black box on rows with few entries"
    plain = Guarantee((NoPromise(),), relation, subject)
    known = Guarantee((RelaxedKnown(base, p, dense),), relation, subject)
    return Guarantee((Relaxed(base, p, dense),), relation, subject, plain, known)


def _dependent(base: Bound, rows: int, eta: object) -> Bound:
    """T8: one record may steer the masks of `rows` other rows."""
    if isinstance(base, AtDistance):  # group privacy of additive noise: c times the distance
        (x, _), *_rest = base.atoms
        grown: Bound = base_at(base.noise, (rows + 1) * number(x, "distance"))
    else:
        at, floor = getattr(base, "at", None), getattr(base, "floor", None)
        if at is None or floor is None:
            raise InputError(
                "dependent_rows", rows, "0 for a black box given by a profile; state it as (epsilon, delta)"
            )
        e, d, _ = group_private(at, floor, rows)
        grown = base_of(BlackBox(e, d))
    bound = BlackBoxAmplified(grown, eta)
    follow = f"one record changes the law of the masks of at most {rows} other rows"
    bound.result, bound.assumptions = "T8", (follow, HIDDEN_MASK, *grown.assumptions)
    return bound
