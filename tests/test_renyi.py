"""Renyi divergences of dominating pairs beside 40-digit integrals, and where integrals are out of range."""

from __future__ import annotations

import math
from fractions import Fraction

import mpmath as mp
import pytest

import absentia as ab
from absentia.errors import InputError

LAW = ab.ReachLaw(reach=[0, "0.5", "1.5"], mass=["0.3", "0.4", "0.3"])
ATOMS = [(mp.mpf(0), mp.mpf("0.3")), (mp.mpf("0.5"), mp.mpf("0.4")), (mp.mpf("1.5"), mp.mpf("0.3"))]
ORIGIN = [(mp.mpf(0), mp.mpf(1))]
NOISES = {"gaussian": ab.Gaussian("0.75"), "laplace": ab.Laplace("0.75")}


def divergence(up: list, low: list, family: str, order: mp.mpf) -> mp.mpf:
    """D_order of sum q phi(. - u) against sum q' phi(. + l) at scale 3/4, by quadrature."""
    up, low = ([(x / mp.mpf("0.75"), q) for x, q in side] for side in (up, low))

    def density(y: mp.mpf) -> mp.mpf:
        return mp.exp(-y * y / 2) / mp.sqrt(2 * mp.pi) if family == "gaussian" else mp.exp(-abs(y)) / 2

    def integrand(y: mp.mpf) -> mp.mpf:
        p, q = sum(m * density(y - x) for x, m in up), sum(m * density(y + x) for x, m in low)
        return p**order * q ** (1 - order)

    knots = sorted({-150, -25, *(-x for x, _ in low), 0, *(x for x, _ in up), 8, 25, 4 * order, 60, 160})
    return mp.log(mp.quad(integrand, knots)) / (order - 1)


@pytest.mark.parametrize("family", NOISES)
@pytest.mark.parametrize("order", ["1.5", "2", "7.25"])
@pytest.mark.parametrize("relation", ["substitute", "add_remove"])
def test_never_below_the_integral_and_close_to_it(family: str, order: str, relation: str) -> None:
    with mp.workdps(40):
        a = mp.mpf(order)
        sides = [(ATOMS, ATOMS)] if relation == "substitute" else [(ATOMS, ORIGIN), (ORIGIN, ATOMS)]
        exact = max(divergence(up, low, family, a) for up, low in sides)
        found = ab.amplify(NOISES[family], LAW, relation=relation).renyi(order)
        assert exact * (1 - mp.mpf("1e-25")) <= found <= exact * (1 + mp.mpf("1e-9"))


def test_independent_blocks_add() -> None:
    one = ab.amplify(ab.Gaussian(4), ab.ReachLaw(reach=[0, 1], mass=["0.95", "0.05"]))
    many = ab.amplify(ab.Gaussian(4), ab.Blocks([ab.ReachLaw(reach=[0, 1], mass=["0.95", "0.05"])] * 20))
    assert many.renyi(3) == pytest.approx(20 * one.renyi(3), rel=1e-9)


@pytest.mark.parametrize("family", NOISES)
def test_companions_are_larger_and_shown_masks_are_their_mean_moment(family: str) -> None:
    g = ab.amplify(NOISES[family], LAW)
    assert g.renyi(3) <= g.if_mask_known.renyi(3) <= g.without_missingness.renyi(3)
    if family == "gaussian":
        moments = sum(float(q) * math.exp(3 * (2 * float(x) / 0.75) ** 2) for x, q in ATOMS)
        assert g.if_mask_known.renyi(3) == pytest.approx(math.log(moments) / 2, rel=1e-12)


def test_far_out_of_range_the_outermost_atoms_answer() -> None:
    g = ab.amplify(ab.Gaussian("1e-6"), LAW)
    assert g.renyi(3) == pytest.approx(3 * (3 * 10**6) ** 2 / 2)
    assert ab.amplify(ab.Laplace("1e-6"), LAW).renyi(3) == pytest.approx(3e6)


def test_what_is_no_pair_is_refused() -> None:
    with pytest.raises(InputError, match="Renyi"):
        ab.amplify(ab.BlackBox("1"), p_star="1/2").renyi(2)
    with pytest.raises(InputError, match="order"):
        ab.amplify(ab.Gaussian(1), LAW).renyi(Fraction(1))
