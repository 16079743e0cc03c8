"""The card of a release: a page for people, JSON for programs, YAML for a registry of deployments."""

from __future__ import annotations

import html
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from absentia.card.structure import check_structure, parsed
from absentia.errors import InputError

if TYPE_CHECKING:
    from absentia.release import Release

__all__ = ["Card"]


class Card:
    """What a release promised, gave and cost, in one document; `save` and `load` it, `verify` it without the data."""

    def __init__(self, document: Mapping[str, Any]) -> None:
        check_structure(document)
        self.document = dict(document)

    @staticmethod
    def of(release: Release) -> Card:
        """The card of a release."""
        from absentia.card.content import document_of

        return Card(document_of(release))

    @staticmethod
    def load(path: str | os.PathLike[str]) -> Card:
        """The card in a card.json, its structure checked; `verify` checks what it says."""
        try:
            text = Path(path).read_bytes()
        except OSError as e:
            raise InputError("card", str(path), f"a readable card.json ({e.strerror})", "E-FILE") from None
        return Card(parsed(text, str(path)))

    def verify(self, ledger: str | os.PathLike[str] | None = None) -> tuple[str, ...]:
        """What was checked, in words; LedgerDamaged with the path of the first field that contradicts the others.

        With `ledger`, the book itself is held to the card's receipt and rows.
        """
        from absentia.card.verify import verify

        return verify(self.document, ledger)

    def to_dict(self) -> dict[str, Any]:
        return dict(self.document)

    def to_json(self) -> str:
        """Sorted and stable; ASCII, so that no text in it can steer a terminal."""
        return json.dumps(self.document, sort_keys=True, indent=2, allow_nan=False) + "\n"

    def to_html(self) -> str:
        """One page, complete in itself."""
        from absentia.card.page import page

        return page(self.document)

    def to_yaml(self) -> str:
        """The entry for a registry of deployments; what a release cannot know is left to the custodian."""
        from absentia.card.registry import entry

        return entry(self.document)

    def save(self, path: str | os.PathLike[str]) -> Path:
        """The path written: .html, .json or .yaml says which form."""
        target = Path(path)
        forms = {".html": self.to_html, ".json": self.to_json, ".yaml": self.to_yaml, ".yml": self.to_yaml}
        if target.suffix.lower() not in forms:
            raise InputError("path", str(path), "a name that ends in .html, .json or .yaml")
        target.write_text(forms[target.suffix.lower()](), encoding="utf-8")
        return target

    def __repr__(self) -> str:
        release = self.document["release"]
        return f"Card({release['plan_identity'][:16]}, {len(release['rows'])} answers)"

    def _repr_html_(self) -> str:
        page = html.escape(self.to_html(), quote=True)
        return (
            f'<iframe sandbox srcdoc="{page}" title="Release card" style="width:100%;height:48rem;border:0"></iframe>'
        )
