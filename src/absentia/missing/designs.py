"""Planned missingness: designs that decide by chance which columns a unit is asked. No assumption is needed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import combinations
from math import comb
from typing import Any

from absentia.errors import InputError
from absentia.exact import integer, list_of, probability
from absentia.missing.independent import Independent, independent
from absentia.missing.patterns import Patterns
from absentia.missing.process import said_in, spelled
from absentia.missing.sampled import LISTED, blocks_of
from absentia.missing.text import field_of, masses_of, names_of, subsets_of

__all__ = [
    "planned",
    "random_items",
    "rotating_panel",
    "rotation",
    "split_questionnaire",
    "subsampling",
    "three_form",
]


def planned(
    columns: object,
    asked: Sequence[Iterable[str]],
    mass: Iterable[object] | None = None,
    because: str = "",
    by: str = "",
) -> Patterns:
    """Forms that list the columns asked, given by chance with these probabilities; others are asked of everybody.

    >>> three = planned(["age", "x", "y", "z"], asked=[["x", "y"], ["x", "z"], ["y", "z"]])
    >>> three.observed_count(["x", "y", "z"]).reach
    (2.0,)
    """
    names = names_of(columns)
    forms = subsets_of(names, asked, "asked")
    if not any(forms):
        raise InputError("asked", asked, "at least one form that asks something")
    everybody = frozenset(names) - frozenset().union(*forms)
    return Patterns(
        columns=names,
        observed=tuple(form | everybody for form in forms),
        mass=masses_of(mass, len(forms)),
        because=because,
        by=by,
        kind="design",
    )


@spelled("planned", "asked", "mass")
def _planned(data: Mapping[str, Any]) -> Patterns:
    """[missingness] in a plan: asked = [[...], ...], mass = [...]."""
    process = planned(field_of(data, "columns", list), field_of(data, "asked", list), data.get("mass"))
    return replace(process, **said_in(data))


def three_form(
    columns: object,
    blocks: Sequence[Iterable[str]],
    mass: Iterable[object] | None = None,
    because: str = "",
    by: str = "",
) -> Patterns:
    """Each unit is asked two of the three blocks; columns in no block are the core, asked of everybody."""
    three = blocks_of(names_of(columns), blocks)
    if len(three) != 3:
        remedy = "split_questionnaire takes any number of blocks."
        raise InputError("blocks", blocks, "three blocks of columns", remedy=remedy)
    return split_questionnaire(columns, three, 2, mass, because, by)


def split_questionnaire(
    columns: object,
    blocks: Sequence[Iterable[str]],
    asked: int,
    mass: Iterable[object] | None = None,
    because: str = "",
    by: str = "",
) -> Patterns:
    """Every choice of `asked` blocks is a form, with a core of the columns in no block; listed in full."""
    split = blocks_of(names_of(columns), blocks)
    integer(asked, "asked", 1, len(split))
    if comb(len(split), asked) > LISTED:
        raise InputError("asked", asked, f"at most {LISTED} forms; matrix_sampling takes any number")
    forms = [frozenset().union(*chosen) for chosen in combinations(split, asked)]
    return planned(columns, forms, mass, because, by)


def rotation(
    columns: object,
    clusters: Sequence[Iterable[str]],
    offsets: Sequence[int] = (0, 1, 3, 9),
    because: str = "",
    by: str = "",
) -> Patterns:
    """Booklets by turning one booklet around: booklet i has clusters i + offsets, modulo their number.

    With 13 clusters and offsets 0, 1, 3, 9 every two clusters meet in exactly one of the 13 booklets (a balanced
    incomplete block design, as in large educational assessments).
    """
    parts = blocks_of(names_of(columns), clusters)
    d, allowed = len(parts), f"different positions modulo {len(parts)}, each an int"
    turns = list_of(offsets, "offsets", allowed)
    whole = all(isinstance(turn, int) and not isinstance(turn, bool) for turn in turns)
    if not turns or not whole or len({turn % d for turn in turns}) != len(turns):
        raise InputError("offsets", offsets, allowed)
    booklets = [frozenset().union(*(parts[(i + turn) % d] for turn in turns)) for i in range(d)]
    return planned(columns, booklets, None, because, by)


def rotating_panel(
    columns: object, waves: Sequence[Iterable[str]], stay: int, because: str = "", by: str = ""
) -> Patterns:
    """Rotation groups enter one wave after the other and stay for `stay` waves; a unit's group is drawn uniformly.

    Groups that entered before the first wave or leave after the last are included, so each wave has `stay` groups.
    """
    parts = blocks_of(names_of(columns), waves)
    integer(stay, "stay", 1, len(parts))
    starts = range(1 - stay, len(parts))
    forms = [frozenset().union(*parts[max(0, start) : start + stay]) for start in starts]
    return planned(columns, forms, None, because, by)


def subsampling(columns: object, rate: object, because: str = "", by: str = "") -> Patterns:
    """Each unit is measured with probability `rate`, independently of the others, and shows nothing otherwise."""
    names, p = names_of(columns), probability(rate, "rate")
    return Patterns(
        columns=names,
        observed=(frozenset(names), frozenset()),
        mass=(p, 1 - p),
        because=because,
        by=by,
        kind="design",
    )


def random_items(columns: object, asked: Mapping[str, object], because: str = "", by: str = "") -> Independent:
    """Each unit is asked each column independently with the given probability: the design with the least noise (T9)."""
    return independent(columns, asked, because=because, by=by, kind="design")
