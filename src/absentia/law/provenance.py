"""How a law is known, who says so and why; and what a law made of several may say of itself: no more than its parts."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Literal, Protocol, TypedDict

__all__ = ["KINDS", "Kind", "Said", "claims"]

Kind = Literal["design", "declared", "certified"]
KINDS: tuple[Kind, ...] = ("declared", "certified", "design")
"""From the weakest claim to the strongest."""


class Claimed(Protocol):
    """A law or a process, with its words."""

    @property
    def because(self) -> str: ...
    @property
    def by(self) -> str: ...
    @property
    def kind(self) -> str: ...


class Said(TypedDict):
    """The words, as keyword arguments."""

    because: str
    by: str
    kind: Kind


def claims(parts: Sequence[Claimed], because: str = "", by: str = "") -> Said:
    """What is given, or what the parts say where every one of them says it; known as well as the weakest part is."""
    kinds = {part.kind for part in parts}
    return {
        "because": because or _joined(part.because for part in parts),
        "by": by or _joined(part.by for part in parts),
        "kind": next(kind for kind in KINDS if kind in kinds),
    }


def _joined(words: Iterable[str]) -> str:
    said = list(dict.fromkeys(words))
    return "; ".join(said) if all(word.strip() for word in said) else ""
