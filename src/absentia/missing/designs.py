"""Planned missingness: designs that decide by chance which columns a unit is asked. No assumption is needed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations
from math import comb
from typing import Any

from absentia.errors import InputError
from absentia.exact import probability
from absentia.missing.independent import Independent, independent
from absentia.missing.patterns import Patterns
from absentia.missing.process import spelled
from absentia.missing.sampled import LISTED, blocks_of, share_of
from absentia.missing.text import field_of, masses_of, names_of, subset_of

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
    forms = [subset_of(names, form, f"asked[{i}]") for i, form in enumerate(asked)]
    if not forms:
        raise InputError("asked", asked, "at least one form")
    everybody = frozenset(names) - frozenset().union(*forms)
    for i, form in enumerate(forms):
        if not form and len(forms) == 1:
            raise InputError(f"asked[{i}]", [], "a form that asks something")
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
    said = {key: str(data.get(key, "")) for key in ("because", "by")}
    return planned(field_of(data, "columns", list), field_of(data, "asked", list), data.get("mass"), **said)


def three_form(
    columns: object,
    blocks: Sequence[Iterable[str]],
    mass: Iterable[object] | None = None,
    because: str = "",
    by: str = "",
) -> Patterns:
    """Each unit is asked two of the three blocks; columns in no block are the core, asked of everybody."""
    if len(blocks) != 3:
        remedy = "split_questionnaire takes any number of blocks."
        raise InputError("blocks", blocks, "three blocks of columns", remedy=remedy)
    return split_questionnaire(columns, blocks, 2, mass, because, by)


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
    share_of(asked, len(split), "asked")
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
    d = len(parts)
    if not offsets or len({o % d for o in offsets}) != len(offsets):
        raise InputError("offsets", offsets, f"different positions modulo {d}")
    booklets = [frozenset().union(*(parts[(i + o) % d] for o in offsets)) for i in range(d)]
    return planned(columns, booklets, None, because, by)


def rotating_panel(
    columns: object, waves: Sequence[Iterable[str]], stay: int, because: str = "", by: str = ""
) -> Patterns:
    """Rotation groups enter one wave after the other and stay for `stay` waves; a unit's group is drawn uniformly.

    Groups that entered before the first wave or leave after the last are included, so each wave has `stay` groups.
    """
    parts = blocks_of(names_of(columns), waves)
    share_of(stay, len(parts), "stay")
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
