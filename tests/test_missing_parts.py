"""Processes made of others: one domain for all parts, and nothing that a part says of its masks is lost."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest

from absentia import missing
from absentia.amplification import amplify
from absentia.errors import InputError
from absentia.law.blocks import Blocks
from absentia.law.forms import Forms
from absentia.law.reachlaw import ReachLaw
from absentia.query.reach import Reach, Term
from absentia.theory.noise import Gaussian, Laplace

COLUMNS = ["a", "c"]
REACH = Reach(2, [Term(frozenset({c}), 1.0) for c in COLUMNS])
RATES = dict.fromkeys(COLUMNS, "0.5")
ONE = missing.mnar_self_masking(COLUMNS, {"a": ("0", "1")})
OTHER = missing.mnar_logistic(COLUMNS, {"c": {"intercept": 0, "c": {"x": "-5", "y": "0"}}}, domain={"c": ["x", "y"]})


def test_a_product_keeps_what_each_part_states() -> None:
    """Of c only the second part says that it is a category: without that its coefficients would be 0."""
    reach = Reach(1, [Term(frozenset({"c"}), 1.0)])
    alone = amplify(Laplace(1), OTHER.law(reach)).epsilon(delta=0)
    for both in (missing.product(ONE, OTHER), missing.product(OTHER, ONE)):
        assert amplify(Laplace(1), both.law(reach)).epsilon(delta=0) == alone
        assert missing.from_dict(both.to_dict()) == both


def test_masks_follow_the_bounds_of_each_part() -> None:
    domain = [{"a": [0, 100]}, {"c": [0, 100]}]
    low, high = (missing.mnar_censoring(COLUMNS, {c: (50, "0.9", "0.1")}, d) for c, d in zip("ac", domain, strict=True))
    rng = np.random.default_rng(3)
    frame = pl.DataFrame({c: rng.uniform(0, 100, 20_000) for c in COLUMNS})
    design = missing.planned(COLUMNS, [COLUMNS, []], ["0.999", "0.001"])
    for process in (missing.product(low, high), missing.product(high, low), missing.mixture([low, high], [0, 1])):
        holes = process.mask(frame, 1)
        below = holes.filter(frame["c"] < 50)["c"].is_null().mean()
        assert below == pytest.approx(0.1, abs=0.02)
    assert missing.product(design, low).mask(frame, 1).filter(frame["a"] < 50)["a"].null_count() > 0


def test_parts_that_contradict_one_another_are_refused() -> None:
    wide, narrow = (missing.mnar_self_masking(COLUMNS, {"a": (0, 1)}, {"a": [0, top]}) for top in (10, 5))
    reads_c = missing.mnar_logistic(COLUMNS, {"a": {"intercept": 0, "c": 1}})
    for build in (missing.product, lambda *parts: missing.mixture(parts)):
        with pytest.raises(InputError) as refused:
            build(wide, narrow)
        assert refused.value.field == "parts[1].domain.a"
        with pytest.raises(InputError) as refused:
            build(OTHER, reads_c)
        assert refused.value.field == "parts[1].domain.c"


def test_a_product_depends_on_values_when_any_part_does() -> None:
    free = missing.independent(COLUMNS, {"a": "0.5"})
    steered = missing.from_dict({**free.to_dict(), "data_dependent": True})
    design = missing.planned(COLUMNS, [["a"], ["c"]])
    for parts in ((free, steered), (steered, free), (design, steered), (steered, free, design)):
        both = missing.product(*parts)
        assert both.data_dependent
        assert both.law(REACH).data_dependent
    assert not missing.product(free, design).data_dependent
    assert missing.product(steered, OTHER).restricted(["a"]).data_dependent


NOTHING = {"process": "patterns", "observed": [[]]}
ANSWERS = {"process": "independent", "observed": RATES}


@pytest.mark.parametrize(
    ("document", "kind"),
    [
        ({"process": "mixture", "mass": ["0.2", "0.8"], "parts": [NOTHING, ANSWERS]}, ReachLaw),
        ({"process": "mixture", "parts": [{**NOTHING, "data_dependent": True}, ANSWERS]}, Blocks),
        ({"process": "gamma", "gamma": 1, "base": ANSWERS}, Blocks),
        ({"process": "product", "parts": [ANSWERS]}, ReachLaw),
    ],
)
def test_what_a_process_says_of_values_is_in_its_structure(document: dict[str, Any], kind: type) -> None:
    """Types that may follow values are no classes, and no structure gives the figure of masks that ignore values."""
    process = missing.from_dict({"columns": COLUMNS, "data_dependent": True, **document})
    joint = process.joint(REACH)
    assert isinstance(joint, kind)
    assert joint.data_dependent
    known = amplify(Gaussian(1), joint).if_mask_known
    assert known is not None
    assert known.epsilon(delta="1e-6") >= amplify(Gaussian(1), process.law(REACH)).if_mask_known.epsilon(delta="1e-6")


def test_nonresponse_of_whole_rows_leaves_the_forms_of_a_design() -> None:
    columns = [f"q{i}" for i in range(8)]
    reach = Reach(2, [Term(frozenset({c}), 1.0) for c in columns])
    sampled = missing.unit_nonresponse(missing.matrix_sampling(columns, [[c] for c in columns], 3), "0.2")
    on_top = missing.nonresponse_on(
        missing.unit_nonresponse(missing.planned(columns, [columns[:4], columns[4:]]), "0.1")
    )
    for process, whole in ((sampled, True), (on_top, False)):
        forms = process.joint(reach)
        assert isinstance(forms, Forms)
        assert forms.nothing_missing_on_top == whole
        assert forms.total(2).atoms == process.law(reach).atoms
        law = amplify(Gaussian(10), process.law(reach)).epsilon(delta="1e-6")
        assert amplify(Gaussian(10), forms).epsilon(delta="1e-6") < law
