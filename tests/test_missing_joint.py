"""Which structure a process gives (blocks, forms or one law), and that the structure says what the process says."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import combinations

import pytest

from absentia import missing
from absentia.amplification import amplify
from absentia.law.blocks import Blocks
from absentia.law.forms import Forms
from absentia.law.reachlaw import ReachLaw
from absentia.query.reach import Reach, Term
from absentia.theory.noise import Gaussian, Laplace

COLUMNS = tuple(f"q{i}" for i in range(13))
SINGLE = [[c] for c in COLUMNS]


def sums(norm: int = 2, columns: tuple[str, ...] = COLUMNS, weight: float = 1.0) -> Reach:
    return Reach(norm, [Term(frozenset({c}), weight) for c in columns])  # type: ignore[arg-type]


def same_law(a: ReachLaw, b: ReachLaw) -> bool:
    at = [x * (1 - 1e-12) for x in {*a.reach, *b.reach}]
    same_full = a.full_reach == pytest.approx(b.full_reach, rel=1e-12)
    return same_full and all(a.survival(x) == pytest.approx(b.survival(x), abs=1e-13) for x in at)


@pytest.mark.parametrize(
    "process",
    [
        missing.rotation(COLUMNS, SINGLE),
        missing.matrix_sampling(COLUMNS, SINGLE, 4),
        missing.three_form(COLUMNS, [COLUMNS[1:5], COLUMNS[5:9], COLUMNS[9:]]),
        missing.matrix_sampling(COLUMNS, [COLUMNS[1:5], COLUMNS[5:9], COLUMNS[9:]], 2),
        missing.patterns(COLUMNS, [COLUMNS[:3], COLUMNS[2:9]], ["0.3", "0.7"]),
    ],
    ids=["rotation", "k of d", "three-form", "clusters and a core", "patterns"],
)
@pytest.mark.parametrize("pairs", [False, True])
def test_forms_have_the_total_law_of_their_process(process: missing.Process, pairs: bool) -> None:
    reach = sums()
    if pairs:
        reach += Reach(2, [Term(frozenset(p), 0.25) for p in combinations(COLUMNS[:6], 2)])
    forms = process.joint(reach)
    assert isinstance(forms, Forms)
    assert same_law(forms.total(2), process.law(reach))
    assert forms.nothing_missing_on_top


def test_forms_serve_the_gaussian_noise_of_the_theorem() -> None:
    """13 booklets of 4 clusters at epsilon 1, delta 1e-6: sigma 9.6 instead of 16.9 on the total reach."""
    design = missing.rotation(COLUMNS, SINGLE)
    assert amplify(Gaussian(9.6), design.joint(sums())).epsilon(delta="1e-6") <= 1.0
    assert amplify(Gaussian(16.8), design.law(sums())).epsilon(delta="1e-6") > 1.0


def test_forms_only_for_the_gaussian_norm() -> None:
    assert isinstance(missing.rotation(COLUMNS, SINGLE).joint(sums(1)), ReachLaw)
    assert isinstance(missing.matrix_sampling(COLUMNS, SINGLE, 4).joint(sums(1)), ReachLaw)


def test_a_term_for_any_column_is_not_all_or_nothing() -> None:
    """Which columns are seen may change how the query moves, so the sharper T10K must not be used."""
    reach = sums() + missing.observed_histogram_reach(COLUMNS, norm=2)
    forms = missing.rotation(COLUMNS, SINGLE).joint(reach)
    assert isinstance(forms, Forms)
    assert not forms.nothing_missing_on_top


def test_nonresponse_keeps_the_forms_and_says_so() -> None:
    design = missing.rotation(COLUMNS, SINGLE)
    for process in (
        missing.nonresponse_on(design),
        missing.product(design, missing.independent(COLUMNS, dict.fromkeys(COLUMNS, "0.8"))),
        missing.product(missing.mnar_self_masking(COLUMNS, {"q0": (0, 1)}), design),
    ):
        forms = process.joint(sums())
        assert isinstance(forms, Forms)
        assert not forms.nothing_missing_on_top
        assert forms.total(2).reach == (2.0,)
    assert missing.nonresponse_on(design).law(sums()).data_dependent


def test_independent_columns_are_blocks_joined_by_what_links_them() -> None:
    rates = {c: Fraction(i + 1, 20) for i, c in enumerate(COLUMNS)}
    process = missing.independent(COLUMNS, rates)
    for norm in (1, 2):
        blocks = process.joint(sums(norm))
        assert isinstance(blocks, Blocks)
        assert sorted(float(b.p_exact) for b in blocks.blocks) == pytest.approx(
            sorted(float(p) for p in rates.values())
        )
    linked = sums() + Reach(2, [Term(frozenset({"q0", "q1"}), 1.0)])
    blocks = process.joint(linked)
    assert isinstance(blocks, Blocks)
    assert len(blocks.blocks) == 12
    assert max(b.full_reach for b in blocks.blocks) == pytest.approx(math.sqrt(3))
    shared = missing.independent_blocks(COLUMNS, [COLUMNS[:4], COLUMNS[4:6]], ["0.5", "0.5"]).joint(sums())
    assert isinstance(shared, Blocks)
    assert sorted(b.full_reach for b in shared.blocks) == pytest.approx([math.sqrt(2), 2.0, math.sqrt(7)])


def test_a_switch_hidden_behind_an_any_term_still_links() -> None:
    """q0 and q1 share a second switch: their terms may not be separate blocks."""
    factors = tuple((frozenset(c), Fraction(1, 2)) for c in (["q0"], ["q0", "q1"], ["q2"], ["q1", "q3"]))
    process = missing.Independent(columns=COLUMNS[:4], factors=factors)
    reach = Reach(2, [Term(frozenset({"q0", "q2"}), 1.0, any=True), Term(frozenset({"q3"}), 1.0)])
    assert isinstance(process.joint(reach), Blocks)
    assert isinstance(process.joint(reach + Reach(2, [Term(frozenset({"q1"}), 1.0)])), ReachLaw)


def test_one_component_is_one_law() -> None:
    process = missing.independent(COLUMNS, dict.fromkeys(COLUMNS, "0.5"))
    assert isinstance(process.joint(Reach(2, [Term(frozenset(COLUMNS), 1.0)])), ReachLaw)


def test_self_masking_columns_are_blocks_with_their_own_envelopes() -> None:
    process = missing.mnar_self_masking(COLUMNS, dict.fromkeys(COLUMNS[:5], ("0", "1")))
    blocks = process.joint(sums(columns=COLUMNS[:5]))
    assert isinstance(blocks, Blocks)
    assert blocks.data_dependent
    assert [b.p_star for b in blocks.blocks] == pytest.approx([1 - 1 / (1 + math.exp(1))] * 5)


def test_unit_nonresponse_and_types_are_latent_classes() -> None:
    rates = dict.fromkeys(COLUMNS, "0.3")
    process = missing.unit_nonresponse(missing.independent(COLUMNS, rates), "0.2")
    blocks = process.joint(sums())
    assert isinstance(blocks, Blocks)
    assert [(float(m), len(laws)) for m, laws in blocks.classes] == [(0.2, 0), (0.8, 13)]
    assert same_law(blocks.total(2), process.law(sums()))
    types = missing.classes(COLUMNS, [rates, {"q0": "0.9"}], ["0.5", "0.5"]).joint(sums())
    assert isinstance(types, Blocks)
    assert {len(laws) for _, laws in types.classes} == {13}


def test_classes_need_types_that_ignore_values() -> None:
    base = missing.independent(COLUMNS, dict.fromkeys(COLUMNS, "0.3"))
    process = missing.unit_nonresponse(base, "0.2", data_dependent=True)
    assert isinstance(process.joint(sums()), ReachLaw)
    assert process.law(sums()).data_dependent
    assert missing.from_dict(process.to_dict()) == process


def test_blocks_never_need_more_noise_than_the_law() -> None:
    process = missing.independent(COLUMNS, dict.fromkeys(COLUMNS, "4/13"))
    joint, law = (amplify(Gaussian(9.4), s).epsilon(delta="1e-6") for s in (process.joint(sums()), process.law(sums())))
    assert joint <= 1.0 < law
    pure_joint, pure = (
        amplify(Laplace(20), s).epsilon(delta=0) for s in (process.joint(sums(1)), process.law(sums(1)))
    )
    assert pure_joint == pytest.approx(pure, rel=1e-9)


def test_a_design_with_unit_nonresponse_is_a_design_with_an_empty_form() -> None:
    design = missing.rotation(COLUMNS, SINGLE)
    process = missing.unit_nonresponse(design, "0.2")
    forms = process.joint(sums())
    assert isinstance(forms, Forms)
    assert same_law(forms.total(2), process.law(sums()))
    full = amplify(Gaussian(10), design.joint(sums())).epsilon(delta="1e-6")
    assert amplify(Gaussian(10), forms).epsilon(delta="1e-6") < full
    assert isinstance(missing.unit_nonresponse(design, "0.2", data_dependent=True).joint(sums()), ReachLaw)
