"""YAML for a registry of deployments: every field of its third tier, what a release cannot know left open."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from absentia.card.words import figures
from absentia.exact import shown
from absentia.plain import toml_key, toml_text

__all__ = ["TO_FILL_IN", "entry"]

TO_FILL_IN = "TO BE FILLED IN BY THE CUSTODIAN"
Document = Mapping[str, Any]


def entry(document: Document) -> str:
    """The entry as YAML. Texts are quoted as JSON quotes them, which YAML reads alike."""
    head = (
        "# An entry for a registry of deployments of differential privacy, written by absentia from card.json.\n"
        f'# What a release cannot know is marked "{TO_FILL_IN}".\n'
    )
    return head + "\n".join(_lines(fields(document), 0)) + "\n"


def fields(document: Document) -> dict[str, Any]:
    """The entry's fields, in the registry's order."""
    return {
        "url_slug": TO_FILL_IN,
        "deployment": {
            "basic": _basic(document),
            "dp_variant": _variant(document),
            "privacy_loss": _loss(document),
            "deployment_model": _model(document),
            "implementation": _implementation(document),
            "administrative": _administrative(document),
        },
    }


def _basic(document: Document) -> dict[str, Any]:
    release = document["release"]
    return {
        "name": release["purpose"],
        "data_curators": [{"data_curator_name": TO_FILL_IN, "data_curator_type": TO_FILL_IN}],
        "description": document["words"]["lead"],
        "intended_use": TO_FILL_IN,
        "data_product_type": "Summary statistics",
        "data_product_region": TO_FILL_IN,
        "data_product_sector": TO_FILL_IN,
        "publication_date": release["time"][:10],
    }


def _variant(document: Document) -> dict[str, Any]:
    release = document["release"]
    schema = release["plan"]["schema"]
    substitute = release["plan"]["relation"] == "substitute"
    public = ["bounds, categories and missing codes of all columns (public, not read from the data)"]
    if substitute:
        public.append("the number of rows")
    return {
        "variant_name": "Approximate DP" if release["guarantee"]["delta"] else "Pure DP",
        "data_domain": f"Tables with the columns {', '.join(schema['columns'])}, any entry of which may be missing.",
        "unprotected_quantities": "; ".join(public),
    }


def _loss(document: Document) -> dict[str, Any]:
    release, words = document["release"], document["words"]
    plan, g = release["plan"], release["guarantee"]
    one = "person" if plan["schema"].get("unit") or plan["schema"].get("long") else "row"
    how = "is exchanged for another" if plan["relation"] == "substitute" else "is added or removed"
    parameters = {"epsilon": g["epsilon"], "delta": g["delta"]}
    told = "; ".join(
        f"{p['name']}: epsilon {shown(f['epsilon'])} ({p['result']})"
        for p, f in zip(words["promise"], figures(release), strict=True)
    )
    rests = "; ".join(f"{k}: {v}" for k, v in words["law"])
    details = f"All at delta {plan['budget']['delta']}, proved and rounded up. {told}. {rests}."
    return {
        "privacy_unit": one,
        "privacy_unit_details": f"Adjacent tables differ in one {one}, which {how}, its missing entries included.",
        "privacy_parameters": {k: v for k, v in parameters.items() if v is not None},
        "privacy_parameters_details": details,
    }


def _model(document: Document) -> dict[str, Any]:
    words = document["words"]
    return {
        "model_name": "Central",
        "actors": TO_FILL_IN,
        "release_type": "One release",
        "release_type_details": words["budget"],
        "source_type": "Static",
        "source_type_details": TO_FILL_IN,
        "access_type": "Non-interactive",
        "access_type_details": words["mask"],
    }


def _implementation(document: Document) -> dict[str, Any]:
    release, words = document["release"], document["words"]
    hazards = " ".join(f"{h['code']}: {h['text']}" for h in document["hazards"])
    return {
        "preprocessing_and_hyperparameter_tuning": (
            "Values are clipped to public bounds and rescaled; nothing was read from the data before the release. "
            f"Anything done to the table before: {TO_FILL_IN}"
        ),
        "mechanisms": f"{words['noise']} Library: {release['software']}. Security of the data at rest: {TO_FILL_IN}",
        "composition": "All releases on the dataset are composed before missingness is taken into account, once (T7).",
        "post_processing": "All answers are computed from the noisy sums; intervals are clipped to public bounds.",
        "justification": f"{hazards} Why this budget: {TO_FILL_IN}",
    }


def _administrative(document: Document) -> dict[str, Any]:
    release = document["release"]
    receipt = release["receipt"]
    return {
        "evidence_sources": f"card.json (check it: absentia card verify card.json), seal {document['seal']}",
        "notes": (
            f"Receipt: row {receipt['sequence']} of the book of dataset {receipt['dataset']}, hash {receipt['head']};"
            f" plan {release['plan_identity']}."
        ),
        "registry_authors": [TO_FILL_IN],
        "status": "Draft",
        "tier": 3,
    }


# -- YAML ------------------------------------------------------------------------------------------------------------


def _lines(value: Mapping[str, Any], depth: int) -> list[str]:
    pad, out = "  " * depth, []
    for name, item in value.items():
        if isinstance(item, Mapping):
            out += [f"{pad}{toml_key(name)}:", *_lines(item, depth + 1)]
        elif isinstance(item, list):
            out.append(f"{pad}{toml_key(name)}:")
            for entry in item:
                first, *rest = (
                    _lines(entry, depth + 2) if isinstance(entry, Mapping) else [f"{pad}    {_scalar(entry)}"]
                )
                out += [f"{pad}  - {first.strip()}", *rest]
        else:
            out.append(f"{pad}{toml_key(name)}: {_scalar(item)}")
    return out


def _scalar(value: Any) -> str:
    if isinstance(value, str):
        return toml_text(value)
    if value is None:
        return "null"
    if isinstance(value, float):
        text = repr(value)
        return text if "." in text or "e" not in text else text.replace("e", ".0e")
    return str(value).lower() if isinstance(value, bool) else str(value)
