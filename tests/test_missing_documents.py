"""What a stored process says about itself never claims more than its parts: a known mask may reveal values."""

from __future__ import annotations

from typing import Any

import pytest

from absentia import missing
from absentia.errors import InputError
from absentia.planning.schema import Schema
from absentia.query.reach import Reach, Term

COLUMNS = ["x", "y"]
REACH = Reach(1, [Term(frozenset({c}), 1.0) for c in COLUMNS])
DESIGN = missing.planned(COLUMNS, [["x"], ["y"]]).to_dict()
NOTHING = missing.patterns(COLUMNS, [[]]).to_dict()
HIDES_ITSELF = missing.mnar_self_masking(COLUMNS, {"x": ("0", "2")}).to_dict()

DOCUMENTS: dict[str, dict[str, Any]] = {
    "types that hide values": {"process": "mixture", "mass": ["0.5", "0.5"], "parts": [NOTHING, HIDES_ITSELF]},
    "answers that hide values": {"process": "product", "parts": [DESIGN, HIDES_ITSELF]},
    "any reason for not answering": {"process": "product", "independent": False, "parts": [DESIGN]},
    "at least nothing": {
        "process": "mixture",
        "mass": ["0.5", "0.5"],
        "parts": [NOTHING, DESIGN],
        "at_least_nothing": True,
    },
    "odds that differ": {"process": "gamma", "gamma": "3", "base": DESIGN},
    "odds around values": {"process": "gamma", "gamma": "1", "base": HIDES_ITSELF},
}


@pytest.mark.parametrize("document", DOCUMENTS.values(), ids=DOCUMENTS)
@pytest.mark.parametrize("said", [{}, {"data_dependent": False}])
def test_masks_that_depend_on_values_are_known_to(document: dict[str, Any], said: dict[str, Any]) -> None:
    process = missing.from_dict(document | said | {"columns": COLUMNS})
    assert process.data_dependent
    assert process.law(REACH).data_dependent
    assert missing.from_dict(process.to_dict()) == process


def test_a_mixture_of_designs_is_independent_of_values() -> None:
    document = {"process": "mixture", "columns": COLUMNS, "mass": ["0.5", "0.5"], "parts": [NOTHING, DESIGN]}
    assert not missing.from_dict(document).data_dependent


def test_who_says_so_survives_a_restriction() -> None:
    worse = missing.gamma(missing.planned(COLUMNS, [["x"], ["y"]]), 2).believed("odds of refusal", "field office")
    kept = worse.restricted(["x"])
    assert (kept.because, kept.by, kept.kind) == ("odds of refusal", "field office", "design")
    assert kept.columns == ("x",)


def test_parts_speak_about_the_columns_around_them() -> None:
    """As a plan file spells them: columns once, from the schema."""
    answers = {"process": "independent", "observed": {"x": "0.5"}}
    nothing = {"process": "patterns", "observed": [[]]}
    documents = [
        {"process": "gamma", "gamma": "2", "base": answers},
        {"process": "mixture", "mass": ["0.2", "0.8"], "parts": [nothing, answers]},
        {"process": "product", "parts": [nothing, answers]},
    ]
    for document in documents:
        assert missing.from_dict(document, schema=COLUMNS).columns == tuple(COLUMNS)


@pytest.mark.parametrize(
    ("document", "field"),
    [
        ({"process": "gamma", "gamma": 2, "base": {"process": "patterns", "observed": [["q"]]}}, "base.observed[0][0]"),
        ({"process": "product", "parts": [3]}, "parts[0]"),
        ({"process": "mixture", "parts": [{"process": "independent", "observed": 3}]}, "parts[0].observed"),
        ({"process": "patterns", "observed": ["x"]}, "observed[0]"),
        ({"process": "matrix sampling", "clusters": ["x", "y"], "asked": 1}, "clusters[0]"),
        ({"process": "matrix sampling", "clusters": [["x"], ["y"]], "asked": "1"}, "asked"),
    ],
)
def test_an_error_gives_the_path_of_the_bad_field(document: dict[str, Any], field: str) -> None:
    with pytest.raises(InputError) as refused:
        missing.from_dict(document, schema=COLUMNS)
    assert refused.value.field == f"missing.{field}"


def test_asked_and_answered_is_one_chance_for_each_column() -> None:
    """Also for a reach that counts when any of the columns is seen, in either order."""
    some = Reach(1, [Term(frozenset(COLUMNS), 1.0, any=True)])
    asked, answered = (missing.independent(COLUMNS, dict.fromkeys(COLUMNS, rate)) for rate in ("0.1", "0.9"))
    for process in (missing.product(asked, answered), missing.product(answered, asked)):
        assert process.law(some).p_exact == pytest.approx(1 - (1 - 0.09) ** 2, rel=1e-12)


def test_designs_and_bounds_keep_what_a_document_says_of_them() -> None:
    steered = missing.from_dict(
        {"process": "planned", "asked": [["x"], ["y"]], "data_dependent": True, "kind": "declared"}, COLUMNS
    )
    assert (steered.data_dependent, steered.kind) == (True, "declared")
    assert missing.from_dict({"process": "planned", "asked": [["x"], ["y"]]}, COLUMNS).kind == "design"
    bounds = missing.from_dict({"process": "bounds", "p_star": "0.5", "kind": "design"}, COLUMNS)
    assert (bounds.data_dependent, bounds.kind) == (True, "design")


@pytest.mark.parametrize("said", ["yes", 1, None])
def test_at_least_nothing_is_yes_or_no(said: object) -> None:
    document = {"process": "mixture", "mass": ["0.5", "0.5"], "parts": [NOTHING, DESIGN], "at_least_nothing": said}
    with pytest.raises(InputError) as refused:
        missing.from_dict(document, COLUMNS)
    assert refused.value.field == "missing.at_least_nothing"


NUMERALS = Schema.from_dict(
    {
        "columns": {
            "x": {"kind": "number", "bounds": [0, 10]},
            "s": {"kind": "category", "values": ["2", "1"]},
            "t": {"kind": "category", "values": [1, 2]},
        }
    }
)


def test_values_that_look_like_numbers_stay_values() -> None:
    """The kind is the schema's, and is stored with the values."""
    assert missing.from_dict({"process": "planned", "asked": [["x"], ["s"]]}, NUMERALS).columns == ("x", "s", "t")
    candidates = [{"missing": ["x"], "score": {"intercept": 0, "s": {"1": 2}, "t": {2.0: 1}}}]
    model = missing.mar(NUMERALS, candidates)
    assert missing.from_dict(model.to_dict()) == model
    with pytest.raises(InputError) as refused:
        missing.mar(NUMERALS, [{"missing": ["x"], "score": {"intercept": 0, "s": 1}}])
    assert refused.value.field == "patterns[0].score.s"
    said = missing.mar(
        ["x", "s"], [{"missing": ["x"], "score": {"intercept": 0, "s": {"1": 2}}}], {"s": {"values": [1, 2]}}
    )
    assert said.domain == (("x", None), ("s", ("1", "2")))


def test_a_document_with_columns_of_its_own_has_the_bounds_of_the_schema() -> None:
    rule = {"of": "x", "column": "x", "at": "0.5", "high": 1, "low": 0}
    for columns in ({}, {"columns": ["x"]}, {"columns": ["s", "x"]}):
        process = missing.from_dict({"process": "column model", "missing": [rule], **columns}, NUMERALS)
        assert isinstance(process, missing.ColumnModel)
        assert dict(process.domain)["x"] == (0, 10)
    inside = {"process": "column model", "columns": ["x"], "missing": [rule]}
    worse = missing.from_dict({"process": "gamma", "gamma": 2, "base": inside}, NUMERALS)
    assert dict(worse.spans) == {"x": (0, 10)}
    unsaid = missing.mnar_self_masking(["x"], {"x": (0, 1)})
    assert missing.from_dict(unsaid.to_dict(), NUMERALS) == unsaid
