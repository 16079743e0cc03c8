"""What was found wrong in the paper, one named counterexample each (docs/errata.md tells the story)."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest

from absentia.auditing.errata import (
    classical_excess,
    constant_imputation,
    floor_shortfalls,
    largest_move,
    public_mask,
    relaxed_step,
    row_mean_imputation,
)
from absentia.errors import InputError
from absentia.theory import paper
from absentia.theory.noise import Gaussian
from absentia.theory.paper_lipschitz import histogram, linear
from absentia.theory.paper_pipeline import (
    NA,
    Pipeline,
    Scenario,
    as_is,
    dependent_masks,
    independent_rows,
    zero_imputation,
)

HALF = Fraction(1, 2)


# --- floor(rho d)


def test_floor_of_rho_times_d_in_floating_point_underestimates_148_times() -> None:
    wrong = floor_shortfalls(100)
    assert len(wrong) == 148
    assert (29, 100) in wrong


def test_entries_observed_never_underestimates() -> None:
    for d in range(1, 101):
        for k in range(d + 1):
            assert paper.entries_observed(k / d, d) == k
            assert paper.entries_observed(Fraction(k, d), d) == k
            assert paper.entries_observed(f"{k}/{d}", d) == k
    assert paper.entries_observed("0.2899999", 100) == 28
    assert paper.sensitivity([1] * 100, math.floor(0.29 * 100)) == 56 < paper.sensitivity([1] * 100, 29)


# --- E3: other imputations


@pytest.mark.parametrize("d", [2, 3, 4])
def test_row_mean_imputation_breaks_the_sensitivity_lemma(d: int) -> None:
    """At most one entry observed: zero imputation moves the sums by 2, the row mean by 2d."""
    claimed = paper.sensitivity([1] * d, k=1)
    assert largest_move(zero_imputation, d, 1) == claimed == 2
    assert largest_move(row_mean_imputation, d, 1) == 2 * d


def test_constant_imputation_breaks_the_sensitivity_lemma() -> None:
    assert largest_move(constant_imputation, 2, 1) == 4 > paper.sensitivity([1, 1], k=1)


def test_column_mean_imputation_lets_one_row_move_every_row() -> None:
    """n rows, only the first observed: filling with the column mean moves the sum by 2n instead of 2."""
    n = 5

    def filled(value: int) -> int:
        return value + (n - 1) * value  # the mean of the observed entries is the one value

    assert filled(1) - filled(-1) == 2 * n > paper.sensitivity([1])


# --- E2: neighbours up to a permutation


def test_permutation_neighbours_break_the_linear_rule() -> None:
    """B = (1, -1): the datasets are equal as multisets, yet the query moves by 4, twice the largest move of one row."""
    B, z, permuted = (1, -1), (1, -1), (-1, 1)
    assert sorted(z) == sorted(permuted)
    moved = abs(sum(b * (x - y) for b, x, y in zip(B, z, permuted, strict=True)))
    constants = linear([[1]], [[-1]]).constants
    assert moved == 4 > paper.sensitivity(constants) == 2


# --- E1: the proof of the relaxed theorem


@pytest.mark.parametrize(("n", "true", "claimed"), [(6, 1.505, 1.437), (12, 1.219, 0.517), (20, 0.785, 0.042)])
def test_the_papers_relaxed_proof_uses_a_false_inequality(n: int, true: float, claimed: float) -> None:
    found = relaxed_step(n)
    assert found == (pytest.approx(true, abs=6e-4), pytest.approx(claimed, abs=6e-4))
    assert found[0] > found[1]
    r = Fraction(9, 10) - Fraction(6, 10) * Fraction(7, 10) ** (n - 1)
    published = paper.relaxed_laplace(4, "0.9", [1, 1], k=1, eta=r, r=r)  # b = 1: eps = C_1 = 4
    assert published.epsilon == pytest.approx(found[1], rel=1e-12)


def test_as_published_the_relaxed_bound_is_vacuous_for_many_rows() -> None:
    """r = P(the row shows something and some row is dense) tends to p*."""
    r = [Fraction(9, 10) - Fraction(6, 10) * Fraction(7, 10) ** (n - 1) for n in (1, 10, 100)]
    assert float(r[0]) == pytest.approx(0.3)
    assert float(Fraction(9, 10) - r[2]) < 1e-15


# --- E4: the penalty of P1


def test_the_mnar_penalty_can_exceed_one() -> None:
    assert paper.mnar_pair(1, 0, "0.9", 0, 0).delta == pytest.approx(2.2918, abs=1e-4)
    assert paper.mnar_delta(1, 0, 1, p_max="0.9", p_min=0) == 0


# --- E6: no amplification at p* = 1


def test_the_suprema_at_p_star_one_range_over_different_domains() -> None:
    """Values in [1/2, 1], always observed: A_D moves by 1/2, but A on masked data moves by 1 (NA becomes 0)."""
    observed, masked = (Gaussian(1).hockey_stick(x, math.e) for x in (0.5, 1))
    assert observed == pytest.approx(0.0068, abs=5e-5)
    assert masked == pytest.approx(0.127, abs=5e-4)


# --- E8: what is not feature-wise Lipschitz


def test_a_histogram_of_raw_values_is_not_lipschitz() -> None:
    """The bin of the sign flips between 0 and any value below it: no constant serves."""
    with pytest.raises(InputError, match="not Lipschitz"):
        histogram(1, one_hot=False)
    for gap in (Fraction(1, 10), Fraction(1, 10**9)):
        moved = abs((1 if -gap < 0 else 0) - 0)
        assert moved / gap >= 10


def test_the_count_of_observed_entries_is_invisible_after_zero_imputation() -> None:
    """Observed 0 and missing give the same imputed row but different counts: a finite L would say "no change"."""
    seen, missing = ((0,),), ((NA,),)
    assert zero_imputation(seen) == zero_imputation(missing)
    assert sum(e is not NA for row in seen for e in row) != sum(e is not NA for row in missing for e in row)


# --- E9: the classical Gaussian lemma


def test_p7_fails_above_epsilon_one() -> None:
    assert classical_excess(Fraction(4), Fraction("0.8414")) == pytest.approx(1.03, abs=2e-3)
    assert classical_excess(Fraction(10), Fraction("0.0376")) == pytest.approx(4.28, abs=2e-3)
    for epsilon in (4, 10):
        with pytest.raises(InputError, match="T2"):
            paper.gaussian(epsilon, "0.5", 1, [1])


def test_p7_holds_on_its_range() -> None:
    worst = max(
        classical_excess(Fraction(e), Fraction(d))
        for e in (0.1, 0.5, 0.9, 1.0)
        for d in (1e-9, 1e-5, 1e-2, 0.1, 0.5, 0.9, 1.0)
    )
    assert worst == pytest.approx(0.3192, abs=1e-3)


# --- E10, P10: dependent masks


def test_dependent_masks_hurt_and_it_is_exactly_group_privacy() -> None:
    u = Fraction(5, 3)  # e^{eps/2}
    world = dependent_masks(u)
    assert world.divergence(u**2) == 1 - 1 / u
    assert world.largest_ratio() == (u**2) ** 2


# --- E12: the mask must stay hidden

RATIO = Fraction(3)  # e^eps of the base mechanism


def test_a_public_mask_takes_the_amplification_away() -> None:
    hidden, public = (public_mask(lambda row: HALF, RATIO, public=x).largest_ratio() for x in (False, True))
    assert public == RATIO
    assert hidden is not None
    assert hidden < 1 + HALF * (RATIO - 1) < public
    claimed = paper.mar(1, 0, "0.5").epsilon
    assert claimed == pytest.approx(0.620, abs=2e-4)


def test_a_public_mask_under_mnar_has_no_bound() -> None:
    """Only the value 1 ever goes missing: seeing a hole gives the value away."""
    assert public_mask(lambda row: HALF if row[0] == 1 else Fraction(1), RATIO, public=True).largest_ratio() is None


def test_private_for_every_fixed_mask_is_not_enough() -> None:
    """A(row) = "is the row empty" is 0-DP among rows that show something; empty with 0.1 or 0.9: ratio 9."""
    rate = {1: Fraction(1, 10), -1: Fraction(9, 10)}
    masks = independent_rows(lambda row: {(1,): rate[int(row[0] or 0)], (0,): 1 - rate[int(row[0] or 0)]})
    empty = Pipeline(masks, lambda data: {data[0][0] is NA: Fraction(1)}, as_is)
    assert Scenario(empty, ((1,),), ((-1,),)).largest_ratio() == 9
