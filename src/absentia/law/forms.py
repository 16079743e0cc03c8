"""Blocks of columns masked together by a known design: forms, k of d, balanced booklets, strata of such."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from typing import Literal

from absentia.errors import InputError
from absentia.exact import above, ball, integer, list_of, number, precision, round_up
from absentia.law.atoms import SLACK
from absentia.law.difference_set import difference_set
from absentia.law.forms_total import Atoms, listed_atoms, stacked, uniform_atoms
from absentia.law.reachlaw import ReachLaw
from absentia.theory.bound import Bound
from absentia.theory.forms import Relation, RenyiForms
from absentia.theory.forms_design import Design, Stratum, listed, uniform
from absentia.theory.forms_kahane import KahaneForms

__all__ = ["Forms", "Group"]

ROUNDED = Fraction(1, 2**50)
"""Masses this close to 1 in all are fractions written as doubles, such as 1/3"""


@dataclass(frozen=True)
class Group:
    """Blocks drawn together: exactly k of them, every choice alike, or one form of a list."""

    blocks: tuple[int, ...]
    k: int | None = None
    forms: tuple[tuple[int, ...], ...] = ()
    mass: tuple[Fraction, ...] = ()

    def seen(self, block: int) -> Fraction:
        """The probability that the block is observed."""
        if self.k is not None:
            return Fraction(self.k, len(self.blocks))
        return sum((m for f, m in zip(self.forms, self.mass, strict=True) if block in f), Fraction(0))

    def strata(self, squared: Sequence[Fraction]) -> tuple[Stratum, ...]:
        if self.k is not None:
            return uniform(self.k, [squared[b] for b in self.blocks])
        return listed(self.forms, self.mass, squared)

    def atoms(self, weights: Sequence[Fraction]) -> Atoms:
        if self.k is not None:
            return uniform_atoms([weights[b] for b in self.blocks], self.k)
        return listed_atoms(weights, self.forms, self.mass)

    def shifted(self, by: int) -> Group:
        move: Callable[[Sequence[int]], tuple[int, ...]] = lambda blocks: tuple(b + by for b in blocks)  # noqa: E731
        return replace(self, blocks=move(self.blocks), forms=tuple(move(f) for f in self.forms))


@dataclass(frozen=True)
class Forms:
    """A design that shows each row one form: a set of blocks, each seen whole or not at all.

    `reach[b]` is the l2 reach of block b when it is seen; `forms` lists the blocks of each form and `mass` its
    probability, drawn independently for every row and of the data. Blocks always seen together count as one.
    `nothing_missing_on_top=False`: entries that were asked may still be missing, for any row-wise reason.
    `adaptive=True`: later queries may depend on earlier answers. Both leave T10 and exclude T10K.

    >>> Forms(reach=[1, 1, 1], forms=[[0, 1], [0, 2], [1, 2]], mass=["1/3"] * 3).p
    (Fraction(2, 3), Fraction(2, 3), Fraction(2, 3))
    """

    reach: Sequence[object]
    forms: Sequence[Sequence[int]] = ()
    mass: Sequence[object] = ()
    nothing_missing_on_top: bool = True
    adaptive: bool = False
    groups: tuple[Group, ...] = field(default=(), kw_only=True)

    def __post_init__(self) -> None:
        listed = list_of(self.reach, "reach", "one number for each block")
        reach = tuple(_reach(r, f"reach[{b}]") for b, r in enumerate(listed))
        object.__setattr__(self, "reach", reach)
        if not reach:
            raise InputError("reach", self.reach, "one number for each block, at least one block")
        stated = list_of(self.forms, "forms", "a list of forms, each a list of block numbers")
        forms = tuple(_form(f, len(reach), f"forms[{i}]") for i, f in enumerate(stated))
        masses = list_of(self.mass, "mass", "one probability for each form")
        if self.groups and not (forms or masses):
            _check_groups(self.groups, len(reach))
            return
        mass = _completed(forms, masses, reach)
        object.__setattr__(self, "forms", forms)
        object.__setattr__(self, "mass", mass)
        groups = (Group(tuple(range(len(reach))), None, forms, mass),)
        if self.groups and self.groups != groups:
            raise InputError(
                "groups",
                self.groups,
                "nothing beside forms and mass, from which they follow (groups=() to change them)",
            )
        object.__setattr__(self, "groups", groups)

    # -- constructors -----------------------------------------------------------------------------------------

    @staticmethod
    def k_of_d(k: int, d: int, reach: object = 1, nothing_missing_on_top: bool = True, adaptive: bool = False) -> Forms:
        """Exactly k of d blocks, every choice alike; `reach` is one number or one for each block.

        >>> Forms.k_of_d(4, 13).full_reach(1)
        13.0
        """
        reaches = _per_block(reach, d)
        group = Group(tuple(range(len(reaches))), integer(k, "k", 0, len(reaches)))
        return Forms(reaches, (), (), nothing_missing_on_top, adaptive, groups=(group,))

    @staticmethod
    def exactly_one_seen(reach: Sequence[object], mass: Sequence[object]) -> Forms:
        """One block for each row: block b with probability mass[b]."""
        reach = list_of(reach, "reach", "one number for each block")
        return Forms(reach, [[b] for b in range(len(reach))], mass)

    @staticmethod
    def one_missing(reach: Sequence[object], mass: Sequence[object]) -> Forms:
        """All blocks but one: block b is left out with probability mass[b] (the three-form design and its kin)."""
        reach = list_of(reach, "reach", "one number for each block")
        everything = range(len(reach))
        return Forms(reach, [[b for b in everything if b != out] for out in everything], mass)

    @staticmethod
    def rotations(base: Sequence[int], d: int, reach: object = 1) -> Forms:
        """The d cyclic shifts of one form of d blocks, each with probability 1/d: booklets and rotations.

        Not negatively associated in general: the list formula is used, which is exact when any two booklets share
        equally much (a base that is a perfect difference set, e.g. 0, 1, 3, 9 of 13).
        """
        reaches = _per_block(reach, d)
        first = _form(base, d, "base")
        return Forms(reaches, [[(b + shift) % d for b in first] for shift in range(d)], [Fraction(1, d)] * d)

    @staticmethod
    def balanced(d: int, k: int, reach: object = 1) -> Forms:
        """d booklets of k out of d clusters, any two clusters together equally often: rotations of a difference set.

        >>> Forms.balanced(13, 4).forms[0]
        (0, 1, 3, 9)
        """
        return Forms.rotations(difference_set(d, k), d, reach)

    @staticmethod
    def strata(parts: Sequence[Forms], core: Sequence[object] = ()) -> Forms:
        """Designs drawn independently of one another, and core blocks (their reaches) that every row shows."""
        parts = list_of(parts, "parts", "a list of designs")
        core = list_of(core, "core", "the reaches of the core blocks")
        if not (parts or core) or not all(isinstance(part, Forms) for part in parts):
            raise InputError("parts", parts, "at least one design or one core block")
        reach: list[object] = []
        groups: list[Group] = []
        for part in parts:
            groups += [group.shifted(len(reach)) for group in part.groups]
            reach += part.reach
        if core:
            groups.append(Group(tuple(range(len(reach), len(reach) + len(core))), len(core)))
        return Forms(
            [*reach, *core],
            nothing_missing_on_top=all(part.nothing_missing_on_top for part in parts),
            adaptive=any(part.adaptive for part in parts),
            groups=tuple(groups),
        )

    # -- what the theorems read -------------------------------------------------------------------------------

    @cached_property
    def reaches(self) -> tuple[Fraction, ...]:
        """The reach of each block, exactly."""
        return tuple(number(r, "reach") for r in self.reach)

    @cached_property
    def p(self) -> tuple[Fraction, ...]:
        """The probability that each block is asked, exactly."""
        seen = {b: group.seen(b) for group in self.groups for b in group.blocks}
        return tuple(seen[b] for b in range(len(self.reach)))

    @property
    def data_dependent(self) -> bool:
        """Whether a mask may depend on values: not the design's own, only what is missing on top of it."""
        return not self.nothing_missing_on_top

    @cached_property
    def design(self) -> Design:
        """The strata that T10 and T10K work on: merged blocks, exact squared reaches."""
        squared = [r * r for r in self.reaches]
        strata = tuple(stratum for group in self.groups for stratum in group.strata(squared))
        return Design(strata, not self.nothing_missing_on_top, self.adaptive)

    def bounds(self, sigma: object, relation: Relation = "substitute") -> tuple[Bound, ...]:
        """T10, and T10K where nothing is missing on top and queries are fixed in advance."""
        renyi = RenyiForms(self.design, sigma, relation)
        if self.adaptive or not self.nothing_missing_on_top:
            return (renyi,)
        return (KahaneForms(self.design, sigma, relation), renyi)

    def total(self, norm: Literal[1, 2]) -> ReachLaw:
        """The law of the total reach, for T2: the sum (norm 1) or root sum of squares (norm 2) of what is seen.

        >>> Forms.k_of_d(4, 13).total(2).reach
        (2.0,)
        """
        weights = [r**norm for r in self.reaches]
        atoms: Atoms = {Fraction(0): Fraction(1)}
        for group in self.groups:
            atoms = stacked(atoms, group.atoms(weights))
        full = self.full_reach(norm)
        reach = [min(_root(w, norm), full) for w in atoms]  # a grid may round up beyond what all blocks reach
        return ReachLaw(reach, list(atoms.values()), full, self.data_dependent, kind="design")

    def full_reach(self, norm: Literal[1, 2]) -> float:
        """The reach of a row that shows every block, rounded up."""
        return _root(sum((r**norm for r in self.reaches), Fraction(0)), norm)

    def scaled(self, factor: object) -> Forms:
        """The same design with every reach multiplied, exactly."""
        c = number(factor, "factor")
        if c < 0:
            raise InputError("factor", factor, "a number >= 0")
        return replace(self, reach=[r * c for r in self.reaches])


def _reach(value: object, field: str) -> Fraction:
    x = number(value, field)
    if x < 0:
        raise InputError(field, value, "a number >= 0")
    return x


def _per_block(reach: object, d: int) -> list[object]:
    integer(d, "d", 1)
    if not isinstance(reach, Iterable) or isinstance(reach, str):
        return [reach] * d
    reaches: list[object] = list(reach)
    if len(reaches) != d:
        raise InputError("reach", len(reaches), f"one number, or one for each of the {d} blocks")
    return reaches


def _form(form: object, d: int, field: str) -> tuple[int, ...]:
    blocks = tuple(list_of(form, field, f"different block numbers in [0, {d - 1}]"))
    whole = all(isinstance(b, int) and not isinstance(b, bool) and 0 <= b < d for b in blocks)
    if not whole or len(set(blocks)) != len(blocks):
        raise InputError(field, form, f"different block numbers in [0, {d - 1}]")
    return blocks


def _completed(
    forms: Sequence[tuple[int, ...]], mass: Sequence[object], reach: Sequence[Fraction]
) -> tuple[Fraction, ...]:
    """Masses that sum to exactly 1: what lacks goes to the form that shows most; doubles of fractions are scaled."""
    if len(mass) != len(forms) or not forms:
        raise InputError("mass", len(mass), f"one probability for each of the {len(forms)} forms, at least one form")
    exact = [_reach(m, f"mass[{i}]") for i, m in enumerate(mass)]
    total = sum(exact, Fraction(0))
    if abs(total - 1) > SLACK:
        raise InputError("mass", float(total), "masses that sum to 1 within 1e-9")
    if total < 1 - ROUNDED:
        most = max(range(len(forms)), key=lambda i: sum((reach[b] ** 2 for b in forms[i]), Fraction(0)))
        exact[most] += 1 - total
        total = Fraction(1)
    return tuple(m / total for m in exact)


def _check_groups(groups: Sequence[Group], d: int) -> None:
    """Every block in one group; k blocks of a group, or a list of its forms with masses that sum to 1."""
    known = all(isinstance(group, Group) for group in groups)
    if not known or sorted(b for group in groups for b in group.blocks) != list(range(d)):
        raise InputError("groups", groups, f"each of the blocks 0 to {d - 1} in exactly one group")
    for group in groups:
        own = set(group.blocks)
        drawn = isinstance(group.k, int) and not isinstance(group.k, bool) and 0 <= group.k <= len(own)
        masses = all(isinstance(m, Fraction) and m >= 0 for m in group.mass) and sum(group.mass) == 1
        listed = len(group.forms) == len(group.mass) and masses and all(own.issuperset(f) for f in group.forms)
        if not (drawn if group.k is not None else listed):
            raise InputError("groups", group, "k of its blocks, or forms of its blocks with masses that sum to 1")


def _root(weight: Fraction, norm: Literal[1, 2]) -> float:
    if norm == 1:
        return round_up(weight)
    with precision(128):
        return above(ball(weight).sqrt())
