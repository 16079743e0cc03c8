"""A card checked without the data: everything in it is computed again, and the first contradiction is named."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, TypeVar

import numpy as np

from absentia.backends import Backend, Continuous, OpenDP
from absentia.card.content import document_of, seal_of
from absentia.card.structure import check_structure
from absentia.errors import AbsentiaError, InputError, LedgerDamaged
from absentia.exact import shown
from absentia.ledger.account import Account
from absentia.ledger.chain import Header, Receipt, Row, canonical, check_receipt, verify_export
from absentia.ledger.ledger import Ledger, same_terms, stated
from absentia.planning.plan import Plan
from absentia.release import Release

__all__ = ["verify"]

CLOSE = 1e-9
"""Recomputed floating-point numbers may differ by this between machines; the seal holds every digit."""
NOT_INSTALLED = "H-OPENDP"  # nothing is wrong with the card: its noise's own map is not at hand here
ODD = (ArithmeticError, LookupError, TypeError, ValueError, AttributeError, RecursionError, AssertionError)
Document = Mapping[str, Any]
T = TypeVar("T")


def verify(document: Document, ledger: str | os.PathLike[str] | None = None) -> tuple[str, ...]:
    """What was checked, in words; refuses with the path of the first field that contradicts the others."""
    check_structure(document)
    told = document["release"]
    plan = _within("release.plan", lambda: Plan.from_dict(told["plan"]))
    _compare("release.plan", told["plan"], plan.to_dict())
    _compare("release.plan_identity", told["plan_identity"], plan.identity)
    drawn = _backend(told, plan)
    rows = _book(told, drawn)
    again = _within("release", partial(_again, told, plan, drawn))
    _compare_all(document, again)
    if document["seal"] != seal_of(dict(document)):
        raise _contradiction("seal", "it is not the seal of this card: a digit or a letter of it was changed")
    return (*_said(document, plan, rows), *([_held(ledger, told)] if ledger is not None else []))


def _backend(told: Document, plan: Plan) -> Backend:
    """Who drew the noise: with the plan's own scales, which already hold what the backend drew."""
    if told["noise"]["backend"] == "absentia":
        return Continuous(plan)
    return OpenDP(plan, float(told["noise"]["times_planned"]), plan)


def _again(told: Document, plan: Plan, drawn: Backend) -> Document:
    """The whole card, built from the plan, the noisy sums, the receipt and the rows of the book."""
    noisy = {s: np.reshape(v, s.shape(plan.schema)) for s, v in zip(plan.scales, _values(told, plan), strict=True)}
    receipt = Receipt.from_dict(told["receipt"])
    book = stated({key: told["ledger"][key] for key in ("header", "rows", "head")})
    backend = told["noise"]["backend"]
    release = Release(plan, tuple(plan.answers(noisy)), noisy, receipt, told["purpose"], book, drawn, backend)
    return document_of(release)


def _values(told: Document, plan: Plan) -> list[Any]:
    """The noisy sums of every statistic, as many as it has cells."""
    found = told["noise"]["statistics"]
    if len(found) != len(plan.scales):
        raise _contradiction("release.noise.statistics", f"the plan has {len(plan.scales)} sums, the card {len(found)}")
    for i, (s, entry) in enumerate(zip(plan.scales, found, strict=True)):
        cells = int(np.prod(s.shape(plan.schema)))
        if len(entry["values"]) != cells:
            raise _contradiction(f"release.noise.statistics[{i}].values", f"the plan has {cells} cells here")
    return [entry["values"] for entry in found]


# -- the book --------------------------------------------------------------------------------------------------------


def _book(told: Document, drawn: Backend) -> list[Row]:
    """The rows of the book: chained, ending at the head, one of them the receipt's, which is this plan's charge."""
    book, receipt = told["ledger"], Receipt.from_dict(told["receipt"])
    rows = _within("release.ledger", partial(verify_export, book))
    _within("release.receipt", lambda: check_receipt(Header(**book["header"]), rows, receipt))
    mine = rows[receipt.sequence]
    for path, given, expected in (
        ("release.purpose", told["purpose"], mine.purpose),
        ("release.time", told["time"], mine.time),
        ("release.plan_identity", told["plan_identity"], mine.plan),
    ):
        _compare(path, given, expected)
    at = f"release.ledger.rows[{receipt.sequence}]"
    _within(at, partial(_charge, at, rows, receipt.sequence, drawn))
    return rows


def _charge(at: str, rows: Sequence[Row], sequence: int, drawn: Backend) -> None:
    """The receipt's row is what this plan's release charges, under the book's terms, and the book keeps its budget."""
    kinds = [(row.kind, row.payload) for row in rows]
    same_terms(Account.from_rows(kinds[:sequence]), drawn.plan)
    if rows[sequence].kind != "charge" or canonical(rows[sequence].payload) != canonical(drawn.cost().to_dict()):
        raise _contradiction(f"{at}.payload", "it is not the charge of this plan")
    if Account.from_rows(kinds).refusal():
        raise _contradiction("release.ledger.rows", "together they spend more than the budget")


def _held(ledger: str | os.PathLike[str], told: Document) -> str:
    """What the book itself says about the receipt and the card's rows."""
    with Ledger.open(ledger) as book:
        book.verify(told["receipt"])
        standing = book.export()["rows"]
    carried = told["ledger"]["rows"]
    _compare("release.ledger.rows", carried, standing[: len(carried)])
    later = len(standing) - len(carried)
    since = f"; {later} more rows were written since" if later else ""
    return f"The book itself holds the receipt's row as it was issued{since}."


# -- comparing -------------------------------------------------------------------------------------------------------


def _compare_all(document: Document, again: Document) -> None:
    """The release first, then what follows from it, then the words, which only their own version can write again.

    The figures among the words are compared whoever wrote them.
    """
    same_software = document["release"]["software"] == again["release"]["software"]
    told = {**document["release"], "software": again["release"]["software"]}
    _compare("release", told, again["release"])
    for key in ("gamma", "saving", "observed"):
        _compare(key, document[key], again[key])
    if same_software:
        _compare("hazards", document["hazards"], again["hazards"])
        _compare("words", document["words"], again["words"])
    _compare("words.promise", *(_figures_of(card["words"]) for card in (document, again)))


def _figures_of(words: Document) -> list[dict[str, Any]]:
    return [{key: p.get(key) for key in ("reading", "epsilon", "result", "even_bet")} for p in words["promise"]]


def _compare(path: str, given: Any, expected: Any) -> None:
    found = _difference(path, given, expected)
    if found is not None:
        raise _contradiction(*found)


def _difference(path: str, given: Any, expected: Any) -> tuple[str, str] | None:
    """Path and words of the first leaf that differs."""
    if isinstance(given, Mapping) and isinstance(expected, Mapping):
        for key in sorted({*given, *expected}):
            inner = f"{path}.{key}"
            if key not in given or key not in expected:
                return inner, "it is not there" if key not in given else "it does not belong there"
            found = _difference(inner, given[key], expected[key])
            if found is not None:
                return found
        return None
    if _listed(given) and _listed(expected):
        for i, (a, b) in enumerate(zip(given, expected, strict=False)):
            found = _difference(f"{path}[{i}]", a, b)
            if found is not None:
                return found
        return None if len(given) == len(expected) else (path, f"{len(given)} entries where {len(expected)} follow")
    return None if _same(given, expected) else (path, f"the card says {_brief(given)}; recomputed: {_brief(expected)}")


def _listed(value: Any) -> bool:
    return isinstance(value, (list, tuple))


def _same(a: Any, b: Any) -> bool:
    if isinstance(a, bool) or isinstance(b, bool) or not (_number(a) and _number(b)):
        return type(a) is type(b) and bool(a == b)
    return bool(a == b) or abs(a - b) <= CLOSE * max(1.0, abs(a), abs(b))


def _number(value: Any) -> bool:
    return isinstance(value, (int, float))


def _brief(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."


def _within(path: str, make: Callable[[], T]) -> T:
    """What `make` gives; when it refuses or stumbles over hostile values, the path says where in the card."""
    try:
        return make()
    except InputError as e:
        raise InputError(f"{path}.{e.field.removeprefix('plan.')}", e.given, e.allowed, "E-CARD", e.remedy) from None
    except LedgerDamaged as e:
        raise e if e.code == "C-CARD" else _contradiction(path, e.what) from None
    except AbsentiaError as e:
        raise e if e.code == NOT_INSTALLED else _contradiction(path, e.what) from None
    except ODD as e:
        raise _contradiction(path, f"it cannot be computed again ({type(e).__name__})") from None


def _contradiction(path: str, what: str) -> LedgerDamaged:
    return LedgerDamaged(
        "C-CARD",
        f"{path}: {what.removesuffix('.')}.",
        "Everything on a card follows from its plan, its noisy sums, its receipt and the rows of its book.",
        "Ask whoever published the card for the file that absentia wrote.",
    )


# -- in words --------------------------------------------------------------------------------------------------------


def _said(document: Document, plan: Plan, rows: Sequence[Row]) -> tuple[str, ...]:
    told = document["release"]
    g, charges = told["guarantee"], sum(row.kind == "charge" for row in rows)
    three = ", ".join(shown(x["epsilon"]) for x in (g, g["without_missingness"], g["if_mask_known"]))
    lines = [
        f"The plan is {plan.identity[:16]}, and its noise keeps its budget ({plan.budget}).",
        f"Epsilon with missingness, without it, and if the mask is known: {three}; proved again.",
        f"All {len(told['rows'])} answers follow from the {len(told['noise']['statistics'])} noisy sums.",
        f"The Gamma curve ({len(document['gamma'])} points) and the saving follow from the plan.",
        f"The book's {len(rows)} rows are chained; its totals follow from {charges} charges and keep its budget.",
        f"Row {told['receipt']['sequence']}, the receipt's, is the charge of this plan.",
        "The seal fits. It finds slips, not forgers; the receipt binds plan, law, noise and budget.",
    ]
    if told["software"] != _software():
        lines.insert(4, f"Sentences and hazards are {told['software']}'s: sealed, but not written again; figures are.")
    else:
        lines.insert(4, "The sentences and the hazards follow from the plan and the figures.")
    return tuple(lines)


def _software() -> str:
    from importlib.metadata import version

    return f"absentia {version('absentia')}"
