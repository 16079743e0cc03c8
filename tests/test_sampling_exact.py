"""What is drawn is the rounded continuous mechanism, bit for bit."""

from __future__ import annotations

import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from flint import arb
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import ndtri

from absentia.errors import HazardRefused, InputError
from absentia.exact import precision
from absentia.noise import bits
from absentia.noise.exact_draw import Family, draw_exact, survival
from absentia.noise.fast_draw import draw_fast
from absentia.noise.sampling import LIMIT, draw, grid_for, nearest
from absentia.theory.noise import BlackBox, Gaussian, Laplace
from sampling_streams import Fixed, Stream

FAMILIES: tuple[Family, ...] = ("laplace", "gaussian")
NOISES = (Laplace(1.0), Gaussian(1.0))
family_st = st.sampled_from(FAMILIES)
fraction_st = st.fractions(0, 1, max_denominator=2**60).filter(lambda f: f < 1)
word_st = st.one_of(
    st.integers(0, 2**64 - 1),
    st.builds(lambda s, w: (s << 63) | w, st.integers(0, 1), st.integers(0, 2**20)),
    st.builds(lambda s, w: (s << 63) | (2**63 - 1 - w), st.integers(0, 1), st.integers(0, 2**20)),
)


def reference(family: Family, words: list[int], a: Fraction, f: Fraction) -> set[int]:
    """floor(f + a X) at both ends of the interval that the words leave, to 120 digits, by mpmath's own functions."""
    with mpmath.workdps(120):
        sign = -1 if words[0] >> 63 else 1
        w, n = words[0] & (2**63 - 1), 63
        for more in words[1:]:
            w, n = (w << 64) | more, n + 64
        out = set()
        for end in (w, w + 1):
            v = mpmath.mpf(end) / mpmath.mpf(2) ** n
            if family == "laplace":
                x = -mpmath.log(v)
            else:
                x = mpmath.sqrt(2) * mpmath.erfinv(1 - v) if v > mpmath.mpf(2) ** -200 else mpmath.mpf("nan")
            y = mpmath.mpf(f.numerator) / f.denominator + sign * mpmath.mpf(a.numerator) / a.denominator * x
            out.add(int(mpmath.floor(y)))
        return out


@given(family_st, word_st, st.integers(-40, 80), fraction_st, st.integers(0, 2**32))
@settings(max_examples=150, deadline=None)
def test_exact_draw_equals_mpmath_on_the_bits_it_used(
    family: Family, word: int, exponent: int, f: Fraction, seed: int
) -> None:
    source = Stream(seed)
    a = Fraction(2) ** exponent * Fraction(3, 2)
    m = draw_exact(family, word, a, f, source)
    used = [word, *source.given]
    if used[0] & (2**63 - 1) == 0 and len(used) < 2:
        pytest.fail("an interval that reaches V = 0 has no largest X and cannot be settled")
    if (used[0] & (2**63 - 1)) == 2**63 - 1:
        return  # V may be 1, where mpmath's erfinv(0) is exact but the other end loses digits: covered below
    assert reference(family, used, a, f) == {m}


@pytest.mark.parametrize("family", FAMILIES)
def test_smallest_and_largest_tail_values_are_settled(family: Family) -> None:
    smallest, largest = 0, 2**63 - 1
    far = draw_exact(family, smallest, Fraction(2**20), Fraction(1, 2), Fixed([2**63]))
    v = mpmath.mpf(2) ** -64
    x = -mpmath.log(v) if family == "laplace" else mpmath.sqrt(2) * mpmath.erfinv(1 - mpmath.mpf(2) ** -52)
    assert far > float(x) * 2**20 - 1
    assert draw_exact(family, largest, Fraction(2**20), Fraction(1, 2), Fixed([])) == 0
    # minus: f - a |X| with a tiny |X| stays in the same step unless f is 0
    assert draw_exact(family, (1 << 63) | largest, Fraction(2**20), Fraction(0), Fixed([])) == -1


def agreement(family: Family, count: int, a: Fraction, f: Fraction, seed: int, tail: int = 0) -> int:
    """How many entries doubles decide; each of them as the exact path does from the same bits. V < 2^-tail."""
    source = Stream(seed)
    words = source.words(count)
    words = (words & np.uint64(1 << 63)) | ((words & np.uint64((1 << 63) - 1)) >> np.uint64(tail))
    steps, undecided = draw_fast(family, words, float(a), float(f))
    open_entries = set(undecided.tolist())
    for i, word in enumerate(words.tolist()):
        if i not in open_entries:
            assert draw_exact(family, word, a, f, source) == steps[i]
    return count - len(open_entries)


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize(("a", "f"), [(Fraction(2**20), Fraction(1, 2)), (Fraction(3 * 2**30), Fraction(1, 3))])
def test_fast_and_exact_paths_agree(family: Family, a: Fraction, f: Fraction) -> None:
    decided = agreement(family, 20_000, a, f, 7)
    assert decided >= (19_980 if a == 2**20 else 16_000)


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("tail", [8, 14, 16, 30, 44])
def test_fast_and_exact_paths_agree_in_the_tails(family: Family, tail: int) -> None:
    decided = agreement(family, 500, Fraction(2**33), Fraction(1, 2), 9, tail)
    assert (decided > 0) == (tail < 15)


@pytest.mark.campaign
@pytest.mark.parametrize("family", FAMILIES)
def test_fast_and_exact_paths_agree_on_a_million(family: Family) -> None:
    assert agreement(family, 1_000_000, Fraction(2**20), Fraction(1, 2), 8) > 999_800


@given(family_st, st.integers(-(2**20), 2**20), fraction_st, st.integers(8, 34), st.integers(0, 40), st.booleans())
@settings(max_examples=300, deadline=None)
def test_words_planted_beside_a_rounding_boundary(
    family: Family, m: int, f: Fraction, exponent: int, distance: int, above: bool
) -> None:
    """Words whose V lies 2^-distance / a from a boundary, on either side: decided alike or left to the exact path."""
    a = Fraction(2**exponent)
    x = abs(m - f) / a
    if x > 9:
        return
    with precision(200):
        v = survival(family, arb(x.numerator) / arb(x.denominator))
        w = int((v * arb(2) ** 63).mid().floor().unique_fmpz())
    w = min(max(w + (1 if above else -1) * (2 ** (63 - exponent) >> distance), 0), 2**63 - 1)
    word = w | ((1 << 63) if m < f else 0)
    steps, undecided = draw_fast(family, np.array([word], dtype=np.uint64), float(a), float(f))
    if not undecided.size:
        assert draw_exact(family, word, a, f, Stream(m & 0xFFFF)) == steps[0]


@pytest.mark.parametrize("seed", range(3))
def test_error_of_the_float_functions_is_inside_the_stated_bound(seed: int) -> None:
    """log and ndtri at V >= 2^-15 are within 2^-47 of the truth; dense around the branch points of ndtri."""
    rng = np.random.default_rng(seed)
    branch = 2 * math.exp(-2)
    v = np.concatenate([
        rng.random(2_000), 2.0 ** -(15 * rng.random(2_000)), branch * (1 + 1e-9 * rng.standard_normal(500)),
        1 - 2.0 ** -(53 * rng.random(500)), np.array([2.0**-15, 0.5, 1 - 2.0**-53]),
    ])  # fmt: skip
    v = v[(v >= 2.0**-15) & (v < 1)]
    logs, quantiles = -np.log(v), -ndtri(v / 2)
    with precision(160):
        for value, ln, q in zip(v.tolist(), logs.tolist(), quantiles.tolist(), strict=True):
            assert abs(arb(ln) + arb(value).log()) < 2.0**-47
            # S(x - e) > v > S(x + e) encloses the true quantile
            assert survival("gaussian", arb(q) - 2.0**-47) > arb(value)
            assert survival("gaussian", arb(q) + 2.0**-47) < arb(value)


@given(
    st.lists(st.integers(-(2**40), 2**40), min_size=1, max_size=30),
    st.integers(-40, 20),
    st.sampled_from(NOISES),
    st.integers(0, 999),
)
@settings(max_examples=60, deadline=None)
def test_vectorised_offsets_equal_exact_fractions(
    centre: list[int], exponent: int, noise: Laplace | Gaussian, seed: int
) -> None:
    unit = math.ldexp(1.0, exponent)
    fast = draw(noise, np.array(centre), 2.0**-20, unit=unit, source=Stream(seed))
    slow = draw(noise, np.array([c * Fraction(unit) for c in centre], dtype=object), 2.0**-20, source=Stream(seed))
    assert np.array_equal(fast, slow)
    steps = [math.floor(c * Fraction(unit) * 2**20 + Fraction(1, 2)) for c in centre]
    clamped = [max(-LIMIT, min(LIMIT, k)) for k in steps]
    assert nearest(np.array(centre), 2.0**-20, unit=unit).tolist() == clamped


@pytest.mark.parametrize("noise", NOISES)
def test_moving_the_centre_by_grid_steps_moves_the_output_by_as_many(noise: Laplace | Gaussian) -> None:
    base = draw(noise, np.zeros(4_000, dtype=np.int64), 2.0**-20, source=Stream(3))
    moved = draw(noise, np.full(4_000, 5), 2.0**-20, unit=2.0**-18, source=Stream(3))
    assert np.array_equal(moved - base, np.full(4_000, 20))


def test_shape_empty_and_chunks() -> None:
    assert draw(Laplace(1.0), np.zeros((2, 3), dtype=np.int64), 2.0**-20).shape == (2, 3)
    assert draw(Laplace(1.0), [], 2.0**-20).shape == (0,)
    assert draw(Gaussian(1.0), np.zeros(70_000, dtype=np.int64), 2.0**-20).std() > 2**19


def test_far_centres_saturate_without_an_exception() -> None:
    out = draw(Laplace(1.0), np.array([10**30, -(10**30)], dtype=object), 2.0**-20)
    assert out.tolist() == [LIMIT, -LIMIT]
    assert set(np.abs(draw(Gaussian(1.0), [0, 0], 2.0**-500)).tolist()) == {LIMIT}


def test_grid_depends_on_the_scale_alone() -> None:
    assert grid_for(1.0) == 2.0**-20
    assert grid_for(0.75) == 2.0**-21
    assert all(2.0**-21 < grid_for(s) / s <= 2.0**-20 for s in (1e-9, 0.1, 3.7, 1e12))


@pytest.mark.parametrize("grid", [0.0, -1.0, 0.3, math.nan, math.inf])
def test_a_grid_that_is_not_a_power_of_two_is_refused(grid: float) -> None:
    with pytest.raises(InputError, match="grid"):
        draw(Laplace(1.0), [0], grid)


def test_bad_noise_scale_and_centre_are_refused() -> None:
    with pytest.raises(InputError, match="noise"):
        draw(BlackBox(epsilon="1"), [0], 0.5)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="scale"):
        grid_for(0)
    with pytest.raises(InputError, match="centre"):
        draw(Laplace(1.0), [math.nan], 0.5)


def test_without_system_bits_nothing_is_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    def none(_: int) -> bytes:
        raise NotImplementedError

    monkeypatch.setattr(bits.os, "urandom", none)
    with pytest.raises(HazardRefused) as refusal:
        bits.require_entropy()
    assert refusal.value.code == "H7"
    with pytest.raises(HazardRefused):
        draw(Laplace(1.0), [0], 2.0**-20)
