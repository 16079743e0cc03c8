"""T9 against other methods: brackets, direct integration, closed forms, dp_accounting, T2 and T3."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy.special import ndtr

from absentia.law.reachlaw import ReachLaw
from absentia.theory.blocks import FreshMasks, IndependentBlocks
from absentia.theory.noise import BlackBox, Gaussian, Laplace
from absentia.theory.pair import dominating_pair

MICRO = Fraction(1, 10**6)


def column(p: object, reach: object = 1) -> Any:
    return ReachLaw([0, reach], [1 - Fraction(str(p)), Fraction(str(p))]).atoms


def rounded_losses(p: float, sigma: float, gap: float, up: bool) -> tuple[int, np.ndarray]:
    """One column's losses under P, every loss rounded up (or down) to a multiple of the gap: the other method."""
    t = np.linspace(-11, 11 + 1 / sigma, 400_001)
    r = 1 / sigma
    level = np.log1p(p * np.expm1(r * t - r * r / 2)) - np.log1p(p * np.expm1(-r * t - r * r / 2))
    cdf = (1 - p) * ndtr(t) + p * ndtr(t - r)
    mass = np.diff(cdf)
    index = np.ceil(level[1:] / gap) if up else np.floor(level[:-1] / gap)
    low = int(index.min())
    return low, np.bincount((index - low).astype(int), mass)


def epsilon_rounded(d: int, p: float, sigma: float, delta: float, gap: float, up: bool) -> float:
    low, mass = rounded_losses(p, sigma, gap, up)
    n = 1 << math.ceil(math.log2(min(d * len(mass), 40 * math.sqrt(d) * len(mass) / 16 + 2 * len(mass))))
    mean = int(d * (low + np.sum(np.arange(len(mass)) * mass)))
    composed = np.roll(np.fft.irfft(np.fft.rfft(mass, n) ** d, n), d * low - mean + n // 2)
    loss = (np.arange(n) - n // 2 + mean) * gap
    low_e, high_e = 0.0, 50.0
    for _ in range(60):
        mid = (low_e + high_e) / 2
        value = float(np.sum(np.clip(-np.expm1(mid - loss), 0, None) * composed))
        low_e, high_e = (mid, high_e) if value > delta else (low_e, mid)
    return high_e


@pytest.mark.parametrize(
    ("d", "p", "sigma", "low", "high"),
    [(100, "0.05", 4.27, 0.98876, 0.98998), (13, "4/13", 9.38, 0.99866, 0.99970)],
)
def test_brackets_of_the_statement(d: int, p: str, sigma: float, low: float, high: float) -> None:
    assert low < IndependentBlocks.of([(Gaussian(sigma), column(p))] * d).epsilon(MICRO) < high


@pytest.mark.parametrize(
    ("d", "p", "sigma", "delta"),
    [(100, "0.05", 4.27, "1e-6"), (13, "4/13", 9.38, "1e-6"), (20, "0.2", 3, "1e-5"), (5, "0.5", 4, "1e-8")],
)
def test_between_losses_rounded_down_and_up(d: int, p: str, sigma: float, delta: str) -> None:
    target = Fraction(delta)
    low, high = (epsilon_rounded(d, float(Fraction(p)), sigma, float(target), 2e-3 / d, up) for up in (False, True))
    found = IndependentBlocks.of([(Gaussian(sigma), column(p))] * d).epsilon(target)
    assert low < found < high
    assert high - low < 0.01 * high


@pytest.mark.parametrize(("d", "p", "sigma"), [(13, "4/13", 9.4), (100, "0.05", 4.3), (1000, "0.01", 3.0)])
def test_noise_at_one_and_a_millionth(d: int, p: str, sigma: float) -> None:
    bound = IndependentBlocks.of([(Gaussian(sigma), column(p))] * d)
    assert bound.epsilon(MICRO) <= 1
    assert bound.result == "T9"


def test_hundred_blocks_need_less_than_the_total() -> None:
    total = ReachLaw.independent([1] * 100, ["0.05"] * 100, norm=2)
    together = dominating_pair(Gaussian(4.27), total.atoms).epsilon(MICRO)
    assert IndependentBlocks.of([(Gaussian(4.27), column("0.05"))] * 100).epsilon(MICRO) < 0.25 * together


def mixture_log_ratio(y: np.ndarray, p: float, r: float, family: str) -> np.ndarray:
    if family == "gaussian":
        return np.log(1 - p + p * np.exp(r * y - r * r / 2)) - np.log(1 - p + p * np.exp(-r * y - r * r / 2))
    up, down = np.abs(y) - np.abs(y - r), np.abs(y) - np.abs(y + r)
    return np.log(1 - p + p * np.exp(up)) - np.log(1 - p + p * np.exp(down))


def tail(z: np.ndarray, family: str) -> np.ndarray:
    if family == "gaussian":
        return ndtr(-z)
    return np.where(z > 0, np.exp(-np.abs(z)) / 2, 1 - np.exp(-np.abs(z)) / 2)


def two_blocks_directly(first: tuple[float, float, str], second: tuple[float, float, str], epsilon: float) -> float:
    """E over block 1 of the hockey-stick of block 2 at epsilon - L1, by quadrature and bisection."""
    (p, r, family), (p2, r2, family2) = first, second
    kinks = [-60.0, -r, 0.0, r, 60.0] if family == "laplace" else [-12.0, 12.0 + r]
    nodes, weights = np.polynomial.legendre.leggauss(400)
    total = 0.0
    for a, b in itertools.pairwise(kinks):
        y = (a + b) / 2 + (b - a) / 2 * nodes
        density = (1 - p) * phi(y, family) + p * phi(y - r, family)
        order = epsilon - mixture_log_ratio(y, p, r, family)
        low, high = np.full_like(y, -200.0), np.full_like(y, 200.0)
        for _ in range(80):
            mid = (low + high) / 2
            under = mixture_log_ratio(mid, p2, r2, family2) <= order
            low, high = np.where(under, mid, low), np.where(under, high, mid)
        P = (1 - p2) * tail(low, family2) + p2 * tail(low - r2, family2)
        Q = (1 - p2) * tail(low, family2) + p2 * tail(low + r2, family2)
        total += (b - a) / 2 * float(np.sum(weights * density * np.maximum(P - np.exp(order) * Q, 0)))
    return total


def phi(y: np.ndarray, family: str) -> np.ndarray:
    return np.exp(-y * y / 2) / math.sqrt(2 * math.pi) if family == "gaussian" else np.exp(-np.abs(y)) / 2


@pytest.mark.parametrize("epsilon", ["0.05", "0.5", "1.5"])
@pytest.mark.parametrize("families", [("gaussian", "gaussian"), ("laplace", "gaussian"), ("laplace", "laplace")])
@pytest.mark.parametrize(("p", "p2", "r", "r2"), [(0.25, 0.5, 1.0, 0.5), (0.125, 0.75, 1.5, 1.25)])
def test_two_blocks_by_direct_integration(
    p: float, p2: float, r: float, r2: float, families: tuple[str, str], epsilon: str
) -> None:
    noise = {"gaussian": Gaussian(1), "laplace": Laplace(1)}
    truth = two_blocks_directly((p, r, families[0]), (p2, r2, families[1]), float(epsilon))
    blocks = [(noise[families[0]], column(Fraction(p), r)), (noise[families[1]], column(Fraction(p2), r2))]
    found = IndependentBlocks.of(blocks).delta(Fraction(epsilon))
    assert truth * (1 - 1e-6) <= found <= truth * 1.002


@pytest.mark.parametrize("delta", ["1e-3", "1e-6", "1e-12", "1e-30", "1e-100"])
@pytest.mark.parametrize("k", [1, 4, 100, 2500])
def test_nothing_missing_is_one_gaussian(k: int, delta: str) -> None:
    target = Fraction(delta)
    truth = dominating_pair(Gaussian(3), ReachLaw.point(math.sqrt(k) * 0.05).atoms).epsilon(target)
    found = FreshMasks.of([(Gaussian(3), ReachLaw.point(0.05).atoms)] * k).epsilon(target)
    assert truth * (1 - 1e-15) <= found <= truth * 1.001 + 1e-9


@pytest.mark.parametrize("delta", ["1e-2", "1e-6", "1e-11", "1e-40"])
@pytest.mark.parametrize("noise", [Gaussian(0.5), Gaussian(3), Laplace("0.5"), Laplace(4)])
@settings(max_examples=5, deadline=None)
@given(
    reaches=st.lists(st.floats(0.01, 3), min_size=1, max_size=4, unique=True),
    weights=st.lists(st.integers(1, 50), min_size=5, max_size=5),
    relation=st.sampled_from(["substitute", "add_remove"]),
)
def test_one_block_is_t2(noise: Any, delta: str, reaches: list[float], weights: list[int], relation: Any) -> None:
    masses = [Fraction(w, sum(weights[: len(reaches) + 1])) for w in weights[: len(reaches) + 1]]
    atoms = ReachLaw([0, *reaches], masses).atoms
    truth = dominating_pair(noise, atoms, relation).epsilon(Fraction(delta))
    assume(truth > 1e-3)
    found = IndependentBlocks.of([(noise, atoms)], relation).epsilon(Fraction(delta))
    assert truth * (1 - 1e-14) <= found <= truth * 1.001


def test_dp_accounting_agrees() -> None:
    from dp_accounting.pld import privacy_loss_distribution as pld
    from dp_accounting.privacy_accountant import NeighboringRelation

    theirs = pld.from_gaussian_mechanism(
        4.27, sensitivity=1, sampling_prob=0.05, neighboring_relation=NeighboringRelation.REPLACE_ONE
    ).self_compose(100)
    ours = IndependentBlocks.of([(Gaussian(4.27), column("0.05"))] * 100)
    assert ours.epsilon(MICRO) == pytest.approx(theirs.get_epsilon_for_delta(1e-6), rel=1e-3)


def test_pure_is_t3_on_the_sum() -> None:
    laws = [ReachLaw([0, w], [Fraction(3, 4), Fraction(1, 4)]) for w in (1, 2, "0.5")]
    total = ReachLaw.independent([1, 2, "0.5"], ["1/4"] * 3, norm=1)
    t3 = dominating_pair(Laplace(2), total.atoms).epsilon(Fraction(0))
    t9 = IndependentBlocks.of([(Laplace(2), law.atoms) for law in laws])
    assert t9.epsilon(Fraction(0)) == pytest.approx(t3, rel=1e-14)
    assert t9.delta(Fraction(t9.epsilon(Fraction(0)))) == 0
    assert t9.epsilon(MICRO) < t3


def test_black_boxes_compose_like_coins() -> None:
    """k randomised responses: delta = sum over outcomes of (P - e^eps Q)_+, by binomials."""
    k, e0, p, epsilon = 12, 0.5, 0.4, 0.9
    e1 = math.log1p(p * math.expm1(e0))
    truth = 0.0
    for j in range(k + 1):
        likely = math.comb(k, j) * math.exp(e1 * j) / (1 + math.exp(e1)) ** k
        unlikely = math.comb(k, j) * math.exp(e1 * (k - j)) / (1 + math.exp(e1)) ** k
        truth += max(0.0, likely - math.exp(epsilon) * unlikely)
    found = IndependentBlocks.of([(BlackBox("0.5"), column("0.4"))] * k).delta(Fraction("0.9"))
    assert truth * (1 - 1e-12) <= found <= truth * 1.001
    leaky = IndependentBlocks.of([(BlackBox("0.5", "0.01"), column("0.4"))] * k)
    assert leaky.delta(Fraction(50)) == pytest.approx(1 - (1 - 0.004) ** k, rel=0.03)
    assert leaky.delta(Fraction(50)) >= 1 - (1 - 0.004) ** k


def test_product_form_on_columns_seen_together_is_unsound() -> None:
    """100 columns always together (p = 0.05) are one block of reach 10; the product claims 1e-6 at sigma 5.10."""
    product = IndependentBlocks.of([(Gaussian("5.10"), column("0.05"))] * 100)
    truth = IndependentBlocks.of([(Gaussian("5.10"), column("0.05", 10))])
    exact = dominating_pair(Gaussian("5.10"), column("0.05", 10)).delta(Fraction(1))
    assert product.delta(Fraction(1)) <= 1e-6
    assert exact == pytest.approx(5.9e-3, rel=0.01)
    assert exact <= truth.delta(Fraction(1)) <= exact * 1.001


def test_amplified_guarantees_of_one_mask_do_not_compose() -> None:
    """Ten releases on one mask (T7: one reach times sqrt 10) against ten on fresh masks."""
    fresh = FreshMasks.of([(Gaussian(2), column("0.1"))] * 10)
    shared = dominating_pair(Gaussian(2), column("0.1", math.sqrt(10)))
    assert fresh.epsilon(MICRO) == pytest.approx(1.451, abs=2e-3)
    assert shared.epsilon(MICRO) == pytest.approx(5.319, abs=2e-3)
