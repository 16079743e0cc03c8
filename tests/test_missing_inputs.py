"""Whatever a process is given that it cannot be is refused in words that name the field."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from absentia import missing
from absentia.errors import InputError
from absentia.law.forms import Forms
from absentia.law.reachlaw import ReachLaw
from absentia.query.reach import Reach, Term
from absentia.theory.noise import Laplace

COLUMNS = ("a", "b", "c", "d")


@pytest.mark.parametrize(
    ("build", "field"),
    [
        (lambda: missing.planned(COLUMNS, [["a", "zz"]]), "asked[0]"),
        (lambda: missing.planned(COLUMNS, []), "asked"),
        (lambda: missing.planned(COLUMNS, [["a"], ["b"]], ["0.5", "0.4"]), "mass"),
        (lambda: missing.planned(COLUMNS, [["a"], ["b"]], ["0.5"]), "mass"),
        (lambda: missing.patterns(COLUMNS, [["a"]], ["1.5"]), "mass[0]"),
        (lambda: missing.patterns(["a", "a"], [["a"]]), "columns"),
        (lambda: missing.patterns("ab", [["a"]]), "columns"),
        (lambda: missing.independent(COLUMNS, {"zz": "0.5"}), "observed"),
        (lambda: missing.independent(COLUMNS, {"a": "-0.5"}), "observed.a"),
        (lambda: missing.independent(COLUMNS, {"a": float("nan")}), "observed.a"),
        (lambda: missing.matrix_sampling(COLUMNS, [["a"], ["a", "b"]], 1), "blocks[1]"),
        (lambda: missing.matrix_sampling(COLUMNS, [["a"], ["b"]], 3), "asked"),
        (lambda: missing.bounds(COLUMNS, "0.1", eta="0.2"), "eta"),
        (lambda: missing.bounds(COLUMNS, "0.1", k=9), "k"),
        (lambda: missing.counts(COLUMNS, ["0.5", "0.4"]), "mass"),
        (lambda: missing.mar(COLUMNS, [{"missing": ["a"], "score": {"intercept": 0, "a": 1}}]), "patterns[0].score.a"),
        (lambda: missing.mar(COLUMNS, [{"missing": ["a"], "score": {"a": 1}}]), "patterns[0].score"),
        (lambda: missing.mnar_censoring(COLUMNS, {"a": (70, 1, 0)}, {"a": [10, 60]}), "missing.a"),
        (lambda: missing.mnar_logistic(COLUMNS, {"a": {"intercept": 0, "b": {"x": 1}}}, {"b": ["p"]}), "missing.a.b.x"),
        (lambda: missing.mnar_self_masking(COLUMNS, {"a": (0, 1)}, {"a": [5, 5]}), "domain.a"),
        (lambda: missing.gamma(missing.without(COLUMNS), "0.5"), "gamma"),
        (lambda: missing.from_dict({"process": "magic"}), "missing.process"),
        (lambda: missing.from_dict({"process": "patterns", "columns": ["a"]}), "missing.observed"),
        (lambda: missing.from_dict({"process": "without", "becuase": "x"}), "missing.becuase"),
        (lambda: missing.product(missing.without(["a"]), missing.without(["b"])), "parts[1].columns"),
        (lambda: missing.planned(COLUMNS, [[], []]), "asked"),
        (lambda: missing.mnar_self_masking(COLUMNS, {"a": (0, 1)}, {"aa": [0, 10]}), "domain.aa"),
        (lambda: missing.mnar_self_masking(COLUMNS, {"a": (0, 1)}, {"a": ["0", "x"]}), "missing.a.a"),
        (lambda: missing.mnar_self_masking(COLUMNS, {"a": (0, 1)}, {"a": [0, "x"]}), "domain.a[1]"),
        (lambda: missing.mnar_logistic(COLUMNS, {"a": {"intercept": 0, "a": "1e200"}}), "missing.a.a"),
        (lambda: missing.mnar_censoring(COLUMNS, {"a": (1, 1, 0)}, {"a": ["x", "y", "z"]}), "missing.a"),
        (lambda: missing.column_amputation(COLUMNS, {"a": "0.5"}, {"aa": {"a": 1}}), "weights.aa"),
        (lambda: missing.counts(COLUMNS, [1], data_dependent="no"), "data_dependent"),  # type: ignore[arg-type]
        (lambda: missing.unit_nonresponse(missing.without(COLUMNS), 0, "no"), "data_dependent"),  # type: ignore[arg-type]
        (lambda: missing.from_dict({"process": []}), "missing.process"),
        (lambda: missing.from_dict({"process": "without", "columns": None}), "missing.columns"),
    ],
)
def test_bad_input_names_its_field(build, field: str) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(InputError) as error:
        build()
    assert error.value.field.startswith(field)
    assert error.value.exit_code == 2


DESIGN = missing.planned(COLUMNS, [["a"], ["b"]])
SHAPES: dict[str, tuple[Callable[[Any], object], list[Any]]] = {
    "asked": (lambda x: missing.planned(COLUMNS, x), [None, 3, "ab", [3], [[["a"]]]]),
    "observed": (lambda x: missing.patterns(COLUMNS, x), [None, [3]]),
    "mass": (lambda x: missing.counts(COLUMNS, x), [None, 3, [None]]),
    "offsets": (lambda x: missing.rotation(COLUMNS, [["a"], ["b"]], x), [None, 3, ["0"], [True]]),
    "three": (lambda x: missing.three_form(COLUMNS, x), [None, [["a"]]]),
    "blocks": (lambda x: missing.independent_blocks(COLUMNS, x, ["1"]), [None, [3]]),
    "rates of blocks": (lambda x: missing.independent_blocks(COLUMNS, [["a"]], x), [None, 3]),
    "rates": (lambda x: missing.independent(COLUMNS, x), [None, [["a", "b"]], {1: "1"}]),
    "classes": (lambda x: missing.classes(COLUMNS, x), [None, [3]]),
    "mixture": (missing.mixture, [None, [3]]),
    "product": (missing.product, [3]),
    "design": (missing.nonresponse_on, [None]),
    "gamma": (lambda x: missing.gamma(x, 2), [3]),
    "scores": (lambda x: missing.mnar_logistic(COLUMNS, x), [None, {"a": 3}, {1: {"intercept": 0}}]),
    "self": (lambda x: missing.mnar_self_masking(COLUMNS, x), [[("a", 1)], {"a": 3}, {"a": (1,)}, {"a": "12"}]),
    "censoring": (lambda x: missing.mnar_censoring(COLUMNS, x), [3, {"a": (1, 1)}]),
    "patterns": (lambda x: missing.mnar_patterns(COLUMNS, x), [None, [3], [{"missing": 3}], [{"score": 3}]]),
    "domain": (lambda x: missing.mnar_logistic(COLUMNS, {"a": {"intercept": 0}}, x), [3, {"a": 3}, {"a": [None, []]}]),
    "weights": (lambda x: missing.column_amputation(COLUMNS, {"a": "0.5"}, x), [None, {"a": 3}]),
    "count of": (DESIGN.observed_count, [3]),
    "column": (
        lambda x: missing.from_dict(
            {"process": "column model", "columns": ["a"], "missing": [{"of": "a", "column": x, "high": 1, "low": 0}]}
        ),
        [[], None, "q"],
    ),
    "confidence": (
        lambda x: missing.from_dict({"process": "counts", "columns": ["a"], "mass": [1, 0], "confidence": x}),
        ["abc", 1.5, None, []],
    ),
    "law": (lambda x: ReachLaw([0, 1], x), [None, 3, "01"]),
    "stacked": (lambda x: ReachLaw.combined(x, [1], 1), [None, [3]]),
    "stored law": (ReachLaw.from_dict, [3]),
    "forms": (lambda x: Forms([1], x, [1]), [3, [3]]),
    "levels": (lambda x: missing.certified(COLUMNS, [1, 2], 10, Laplace(1), levels=x), [3, [1, "a"], [True, 3]]),
    "noisy": (lambda x: missing.certified(COLUMNS, x, 10, Laplace(1)), [None, 3]),
}


@pytest.mark.parametrize("name", SHAPES)
def test_arguments_of_the_wrong_shape_are_refused_in_words(name: str) -> None:
    build, wrong = SHAPES[name]
    for given in wrong:
        with pytest.raises(InputError):
            build(given)


def test_scores_far_beyond_doubles_have_a_law() -> None:
    reach = Reach(1, [Term(frozenset({"a"}), 1.0)])
    hides = missing.mnar_self_masking(["a"], {"a": ("0.1", 10**30)})
    assert hides.law(reach).p_star == 1.0
    assert missing.mnar_logistic(["a"], {"a": {"intercept": 10**30}}).law(reach).p_star <= 1e-15
