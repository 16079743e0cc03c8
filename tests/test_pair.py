"""T2, T3, T5 against 50-digit arithmetic: never below, tight to 1e-9; extreme input; add and remove."""

from __future__ import annotations

import math
import random
from fractions import Fraction as F  # noqa: N817

import mpmath as mp
import pytest
from hypothesis import given
from hypothesis import strategies as st

import absentia as ab
from absentia.theory.noise import Noise
from absentia.theory.pair import dominating_pair

mp.mp.dps = 50


def tail(noise: Noise, y: mp.mpf) -> mp.mpf:
    """P(unit noise > y)."""
    if noise.family == "gaussian":
        return mp.erfc(y / mp.sqrt(2)) / 2
    return mp.exp(-y) / 2 if y > 0 else 1 - mp.exp(y) / 2


def density(noise: Noise, y: mp.mpf) -> mp.mpf:
    return mp.npdf(y) if noise.family == "gaussian" else mp.exp(-abs(y)) / 2


def exact_delta(noise: Noise, law: ab.ReachLaw, epsilon: F, up: bool = True, down: bool = True) -> mp.mpf:
    """sup over half lines of P - aQ at 50 digits, by bisection on the monotone ratio."""
    scale = mp.mpf(noise.size)
    atoms = [(mp.mpf(x) / scale, mp.mpf(q.numerator) / q.denominator) for x, q in law.atoms]
    a = mp.exp(mp.mpf(epsilon.numerator) / epsilon.denominator)
    shift_p, shift_q = (1 if up else 0), (-1 if down else 0)

    def ratio(t):
        return sum(q * density(noise, t - shift_p * x) for x, q in atoms) - a * sum(
            q * density(noise, t - shift_q * x) for x, q in atoms
        )

    low, high = mp.mpf(-1), mp.mpf(1)
    while ratio(low) > 0 and low > -1e6:
        low *= 2
    while ratio(high) < 0 and high < 1e6:
        high *= 2
    for _ in range(200):
        mid = (low + high) / 2
        low, high = (mid, high) if ratio(mid) < 0 else (low, mid)
    value = sum(q * tail(noise, high - shift_p * x) for x, q in atoms) - a * sum(
        q * tail(noise, high - shift_q * x) for x, q in atoms
    )
    return max(value, mp.mpf(0))


def random_law(rng: random.Random) -> ab.ReachLaw:
    size = rng.randint(1, 6)
    weights = [rng.randint(1, 10_000) for _ in range(size)]
    reach = [0.0 if rng.random() < 0.2 else rng.uniform(0, 3) for _ in range(size)]
    return ab.ReachLaw(reach, [F(w, sum(weights)) for w in weights])


def check_against_fifty_digits(count: int, seed: int) -> int:
    """How many of `count` random (law, noise, epsilon) were compared; fails when one is below or loose."""
    rng = random.Random(seed)
    compared = 0
    for _ in range(count):
        law = random_law(rng)
        noise = rng.choice([ab.Gaussian, ab.Laplace])(rng.uniform(0.2, 5))
        epsilon = F(rng.uniform(0, 4))
        ours, truth = ab.amplify(noise, law).delta(epsilon), exact_delta(noise, law, epsilon)
        assert mp.mpf(ours) >= truth, (law, noise, epsilon)
        if truth > mp.mpf("1e-300"):
            assert mp.mpf(ours) <= truth * (1 + mp.mpf("1e-9")), (law, noise, epsilon)
            delta = F(ours)
            back = ab.amplify(noise, law).epsilon(delta)
            assert F(back) <= epsilon * (1 + F(1, 10**9)) + F(1, 10**12)
            compared += 1
    return compared


def test_a_few_hundred_random_laws_against_fifty_digits() -> None:
    assert check_against_fifty_digits(200, seed=1) > 120


@pytest.mark.campaign
def test_ten_thousand_random_laws_against_fifty_digits() -> None:
    assert check_against_fifty_digits(10_000, seed=2) > 6_000


@pytest.mark.parametrize("make", [ab.Gaussian, ab.Laplace])
@pytest.mark.parametrize("epsilon", [F(0), F(1, 3), F(2)])
def test_added_and_removed_against_fifty_digits(make: type[ab.Gaussian] | type[ab.Laplace], epsilon: F) -> None:
    law = ab.ReachLaw([0, 0.5, 1.5], ["0.5", "0.3", "0.2"])
    ours = ab.amplify(make(0.8), law, relation="add_remove").delta(epsilon)
    truth = max(exact_delta(make(0.8), law, epsilon, *sides) for sides in ((True, False), (False, True)))
    assert truth <= mp.mpf(ours) <= truth * (1 + mp.mpf("1e-9"))


@given(st.floats(0.01, 0.99), st.floats(0.05, 4), st.floats(0.1, 5))
def test_pure_laplace_is_the_limit_of_the_pair(p: float, reach: float, scale: float) -> None:
    g = ab.amplify(ab.Laplace(scale), ab.ReachLaw([0, reach], [1 - F(p), F(p)]))
    x = mp.mpf(reach) / mp.mpf(scale)
    truth = mp.log((1 - mp.mpf(p) + mp.mpf(p) * mp.exp(x)) / (1 - mp.mpf(p) + mp.mpf(p) * mp.exp(-x)))
    pure = g.epsilon(0)
    assert truth <= pure <= truth * (1 + mp.mpf("1e-12"))
    assert g.epsilon("1e-200") <= pure
    assert g.delta(F(pure)) == 0
    assert g.answer(delta=0).result == "T3"


@pytest.mark.parametrize(
    ("law", "noise", "delta"),
    [
        (ab.ReachLaw([0, 1], [1 - F(1, 10**12), F(1, 10**12)]), ab.Gaussian(1), "1e-20"),
        (ab.ReachLaw([0, 1e6], ["0.5", "0.5"]), ab.Gaussian(1e6), "1e-300"),
        (ab.ReachLaw([0, 1e6], ["0.5", "0.5"]), ab.Gaussian(1), "1e-6"),
        (ab.ReachLaw([0, 1e-9], ["0.5", "0.5"]), ab.Gaussian(1), "1e-12"),
        (ab.ReachLaw([0, 700], ["0.5", "0.5"]), ab.Laplace(1), "1e-6"),
    ],
)
def test_extreme_input_gives_a_right_answer(law: ab.ReachLaw, noise: Noise, delta: str) -> None:
    g = ab.amplify(noise, law)
    epsilon = g.epsilon(delta)
    assert math.isfinite(epsilon)
    assert F(g.delta(F(epsilon))) <= F(delta)
    if epsilon > 0:
        lower = F(epsilon) * (1 - F(1, 10**8))
        assert exact_delta(noise, law, lower) > mp.mpf(delta)


def test_nothing_observed_reveals_nothing_and_nothing_missing_is_the_base() -> None:
    for noise in (ab.Gaussian(1), ab.Laplace(1)):
        assert ab.amplify(noise, ab.ReachLaw([0], [1], full_reach=1)).epsilon("1e-9") == 0
        g = ab.amplify(noise, ab.ReachLaw.point(1))
        assert g.epsilon("1e-6") == pytest.approx(g.without_missingness.epsilon("1e-6"), rel=1e-13)


def test_ten_thousand_atoms() -> None:
    law = ab.ReachLaw([k / 10_000 for k in range(10_000)], [F(1, 10_000)] * 10_000)
    for noise in (ab.Gaussian(0.5), ab.Laplace(0.5)):
        epsilon = ab.amplify(noise, law).epsilon("1e-6")
        coarse = ab.amplify(noise, law.coarsened(200)).epsilon("1e-6")
        assert epsilon <= coarse <= 1.02 * epsilon


@given(
    st.floats(0.05, 30),
    st.sampled_from([F(1, 1000), F(1, 10), F(1, 2), F(1), F(2), F(50), F(10) ** 20]),
    st.sampled_from([ab.Gaussian(1), ab.Laplace(1)]),
)
def test_hockey_stick_of_the_noise_for_every_alpha(distance: float, alpha: F, noise: ab.Gaussian | ab.Laplace) -> None:
    point = ab.ReachLaw.point(distance / 2)
    a = mp.mpf(alpha.numerator) / alpha.denominator
    if alpha >= 1:
        truth = exact_delta(noise, point, F(str(mp.log(a))))
        truth = mp.mpf(0) if noise.family == "laplace" and mp.log(a) >= distance else truth
    else:  # H_a = 1 - a + a H_{1/a}
        truth = 1 - a + a * exact_delta(noise, point, F(str(-mp.log(a))))
    ours = noise.hockey_stick(2 * (distance / 2), alpha)
    assert mp.mpf(ours) >= truth * (1 - mp.mpf("1e-40"))
    assert mp.mpf(ours) <= truth * (1 + mp.mpf("1e-12")) + mp.mpf("1e-310")


def test_the_pair_is_a_bound_of_both_companions_order() -> None:
    law = ab.ReachLaw([0, 0.5, 1], ["0.2", "0.3", "0.5"])
    for noise in (ab.Gaussian(0.7), ab.Laplace(0.7)):
        g = ab.amplify(noise, law)
        for delta in ("1e-9", "1e-6", "1e-2"):
            assert g.epsilon(delta) <= g.if_mask_known.epsilon(delta) <= g.without_missingness.epsilon(delta)


def test_data_dependent_masks_have_no_t5() -> None:
    law = ab.ReachLaw([0, 0.5, 1], ["0.2", "0.3", "0.5"], data_dependent=True)
    known = ab.amplify(ab.Gaussian(1), law).if_mask_known
    assert known.epsilon("1e-6") == ab.amplify(ab.Gaussian(1), law).without_missingness.epsilon("1e-6")
    assert any("may itself reveal values" in a for a in known.assumptions)


def test_pairs_of_identical_laws_are_shared_values() -> None:
    law = ab.ReachLaw([0, 1], ["0.5", "0.5"])
    assert dominating_pair(ab.Gaussian(1), law.atoms) == dominating_pair(ab.Gaussian(1), law.atoms)
