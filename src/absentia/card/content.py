"""What a card holds: the release, what follows from it, the words about it, and a seal over everything."""

from __future__ import annotations

import hashlib
import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from absentia import missing as processes
from absentia.backends import OpenDP
from absentia.card.structure import SCHEMA_VERSION
from absentia.card.words import words_of
from absentia.errors import AbsentiaError
from absentia.guarantee import finite
from absentia.missing.complete import Complete
from absentia.missing.process import Process

if TYPE_CHECKING:
    from absentia.guarantee import Guarantee
    from absentia.planning.planned import Plan
    from absentia.release import Release

__all__ = ["document_of", "seal_of"]

GAMMAS = ("1", "1.1", "1.25", "1.5", "2", "3", "5", "10")


def document_of(release: Release) -> dict[str, Any]:
    """The whole card; all of it follows from the plan, the noisy sums, the receipt and the rows of the book."""
    plan, told = release.plan, release.to_dict()
    document: dict[str, Any] = {
        "schema_version": SCHEMA_VERSION,
        "release": told,
        "gamma": gamma_of(release),
        "hazards": [{"code": code, "text": text} for code, text in plan.hazards],
        "saving": finite(plan.saving),
        "observed": observed_of(plan),
    }
    document["words"] = words_of(document, plan)
    return {**document, "seal": seal_of(document)}


def seal_of(document: dict[str, Any]) -> str:
    """The SHA-256 of everything but the seal: it finds slips and torn files, not a forger, who can compute it too."""
    bare = {k: v for k, v in document.items() if k != "seal"}
    return hashlib.sha256(json.dumps(bare, sort_keys=True, separators=(",", ":"), allow_nan=False).encode()).hexdigest()


def gamma_of(release: Release) -> list[dict[str, Any]]:
    """Epsilon against how wrong the law may be; empty where no law lowers the figure."""
    plan = release.plan
    if isinstance(plan.missing, Complete) or plan.dependent_rows:
        return []
    try:
        return [_point(release, odds) for odds in GAMMAS]
    except AbsentiaError:  # a process whose odds cannot be moved; the answers are drawn, so the card must be written
        return []


def _point(release: Release, odds: str) -> dict[str, Any]:
    plan = release.plan
    found = release.guarantee if odds == "1" else _guarantee(release, processes.gamma(plan.missing, odds))
    figure = found.answer(delta=plan.budget.delta)
    return {"gamma": odds, "epsilon": finite(figure.epsilon), "result": figure.result}


def _guarantee(release: Release, process: Process) -> Guarantee:
    plan = release.plan
    if isinstance(release.drawn, OpenDP):
        other = replace(plan, missing=process)
        return replace(release.drawn, plan=other, asked=other).guarantee
    return plan.batch.guarantee(process, plan.relation, plan.dependent_rows)


def observed_of(plan: Plan) -> dict[str, Any] | None:
    """How much of a row the law lets be seen, among the columns that the plan reads; None without a law."""
    if isinstance(plan.missing, Complete):
        return None
    try:
        law = plan.missing.observed_count(sorted(plan.reach.columns))
    except AbsentiaError:
        return None
    return {"columns": len(plan.reach.columns), "anything": law.p_star, "mean": float(law.mean), "most": law.max}
