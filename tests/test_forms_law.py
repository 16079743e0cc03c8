"""The value Forms: what it accepts, what it derives, and the law of its total reach."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from absentia.errors import InputError
from absentia.law import forms_total
from absentia.law.difference_set import difference_set
from absentia.law.forms import Forms


def test_total_of_k_of_d_with_equal_reaches_is_one_atom() -> None:
    law = Forms.k_of_d(10, 1000, "0.5").total(1)
    assert (law.reach, law.mass, law.full_reach) == ((5.0,), (1.0,), 500.0)
    law = Forms.k_of_d(10, 1000, 2).total(2)
    assert (law.reach, law.mass) == ((math.sqrt(40),), (1.0,))
    assert not law.data_dependent
    assert law.kind == "design"


@settings(max_examples=60, deadline=None)
@given(st.lists(st.integers(0, 5), min_size=1, max_size=6), st.data())
def test_total_of_k_of_d_against_enumeration(reach: list[int], data: st.DataObject) -> None:
    k = data.draw(st.integers(0, len(reach)))
    expected = Counter(sum(reach[b] for b in f) for f in itertools.combinations(range(len(reach)), k))
    atoms = Forms.k_of_d(k, len(reach), reach).total(1).atoms
    ways = math.comb(len(reach), k)
    assert [x for x, _ in atoms] == sorted(expected)
    assert all(float(m) == pytest.approx(expected[int(x)] / ways, rel=1e-12) for x, m in atoms)


def test_total_of_listed_forms_and_strata() -> None:
    listed = Forms([3, 4], [[0, 1], [1], []], ["0.25", "0.25", "0.5"])
    assert listed.total(2).atoms == ((0.0, Fraction(1, 2)), (4.0, Fraction(1, 4)), (5.0, Fraction(1, 4)))
    assert listed.full_reach(2) == 5.0
    both = Forms.strata([listed, Forms.k_of_d(1, 2, 12)], core=["0"])
    assert both.total(1).reach == (12.0, 16.0, 19.0)
    assert both.full_reach(1) == 31.0
    assert both.p == (Fraction(1, 4), Fraction(1, 2), Fraction(1, 2), Fraction(1, 2), Fraction(1))


def test_large_totals_are_rounded_up_and_stay_close(monkeypatch: pytest.MonkeyPatch) -> None:
    """The grid law dominates the exact one and its mean is at most 1 % above."""
    design = Forms.k_of_d(5, 16, [Fraction(1) + Fraction(b * b, 97) for b in range(16)])
    exact = design.total(1)
    monkeypatch.setattr(forms_total, "EXACT", 10)
    grid = design.total(1)
    assert len(grid.reach) < len(exact.reach)
    assert exact.dominated_by(grid)
    assert exact.mean < grid.mean < 1.1 * exact.mean
    monkeypatch.setattr(forms_total, "EXACT", 2000)
    assert exact.dominated_by(design.total(1))
    assert design.total(1).mean < 1.003 * exact.mean


def test_large_unequal_k_of_d_takes_no_enumeration() -> None:
    law = Forms.k_of_d(30, 100, [1 + b**0.5 for b in range(100)]).total(2)
    assert len(law.reach) > 1000
    assert law.max <= math.sqrt(sum((1 + b**0.5) ** 2 for b in range(70, 100))) * 1.01


def test_scaling_multiplies_exactly() -> None:
    design = Forms([1, "0.1"], [[0], [1]], ["0.5", "0.5"]).scaled("0.1")
    assert design.reaches == (Fraction(1, 10), Fraction(1, 100))
    assert design.total(1).reach == (0.01, 0.1)


def test_masses_are_exact_and_floats_stand_for_proportions() -> None:
    assert Forms([1, 1, 1], [[0], [1], [2]], [1 / 3] * 3).p == (Fraction(1, 3),) * 3
    assert Forms([1, 1], [[0], [1]], ["0.1", "0.9"]).p == (Fraction(1, 10), Fraction(9, 10))


def test_designs_are_values() -> None:
    assert Forms.k_of_d(2, 3) == Forms.k_of_d(2, 3)
    assert Forms.k_of_d(2, 3) != Forms.k_of_d(2, 3, adaptive=True)
    assert Forms.rotations([0, 1, 3, 9], 13) == Forms.balanced(13, 4)
    with pytest.raises(AttributeError):
        Forms.k_of_d(2, 3).adaptive = True  # type: ignore[misc]


def test_missing_on_top_is_carried_into_the_law() -> None:
    assert Forms.k_of_d(2, 3, nothing_missing_on_top=False).total(2).data_dependent
    part = Forms.k_of_d(1, 2, nothing_missing_on_top=False)
    assert not Forms.strata([part, Forms.k_of_d(1, 2)]).nothing_missing_on_top


@pytest.mark.parametrize(
    ("d", "k"), [(7, 3), (7, 4), (11, 5), (13, 4), (13, 9), (15, 7), (21, 5), (31, 6), (5, 4), (4, 1)]
)
def test_balanced_booklets_meet_equally_often(d: int, k: int) -> None:
    base = difference_set(d, k)
    met = Counter((a - b) % d for a in base for b in base if a != b)
    assert len(base) == k
    assert set(met.values()) == ({k * (k - 1) // (d - 1)} if k > 1 else set())
    assert len(met) == (d - 1 if k > 1 else 0)
    assert Forms.balanced(d, k).p == (Fraction(k, d),) * d


@pytest.mark.parametrize(
    ("build", "field"),
    [
        (lambda: Forms([1], [[0]], ["0.9"]), "mass"),
        (lambda: Forms([1], [[0], []], ["0.5"]), "mass"),
        (lambda: Forms([1], [[0], []], ["1.5", "-0.5"]), "mass"),
        (lambda: Forms([1], [[0], []], [float("nan"), 0.5]), "mass"),
        (lambda: Forms([1], [], []), "mass"),
        (lambda: Forms([], [[]], [1]), "reach"),
        (lambda: Forms([-1], [[0]], [1]), "reach"),
        (lambda: Forms([float("inf")], [[0]], [1]), "reach"),
        (lambda: Forms([1], [[1]], [1]), "forms"),
        (lambda: Forms([1, 1], [[0, 0]], [1]), "forms"),
        (lambda: Forms([1], [[True]], [1]), "forms"),
        (lambda: Forms.k_of_d(4, 3), "k"),
        (lambda: Forms.k_of_d(-1, 3), "k"),
        (lambda: Forms.k_of_d(1.5, 3), "k"),
        (lambda: Forms.k_of_d(1, 0), "d"),
        (lambda: Forms.k_of_d(1, 3, [1, 1]), "reach"),
        (lambda: Forms.balanced(12, 4), "k"),
        (lambda: Forms.balanced(16, 6), "k"),
        (lambda: Forms.strata([]), "parts"),
        (lambda: Forms.k_of_d(1, 2).scaled(-1), "factor"),
    ],
)
def test_bad_input_names_the_field(build, field: str) -> None:
    with pytest.raises(InputError) as refused:
        build()
    assert refused.value.field.startswith(field)
    assert refused.value.exit_code == 2
