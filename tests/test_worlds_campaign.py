"""More than 100,000 exactly enumerated worlds: the true divergence is never above the theorem, at any alpha."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from fractions import Fraction
from functools import cached_property
from itertools import product

import numpy as np
import pytest

from absentia.auditing.exact import Profile, discrete_pair, profile, reach_envelope, records, released_profile, upper
from absentia.auditing.random_worlds import KINDS, SHAPES, Cell, campaign, mar, mcar, mnar, zoo
from absentia.auditing.worlds import NoiseTable, Processes, Table, check, denominator, noise_table, release, scaled
from absentia.errors import InputError
from absentia.theory.paper_pipeline import NA, Dataset, Pipeline, Row, as_is, independent_rows

RESULTS = ("T1", "T2", "T3", "Thm 4")


def totals(cells: list[Cell]) -> tuple[int, Counter[str], Counter[str]]:
    violated, attained = Counter[str](), Counter[str]()
    for cell in cells:
        violated, attained = violated + cell.tally.violated, attained + cell.tally.attained
    return sum(cell.tally.worlds for cell in cells), violated, attained


def test_a_hundred_thousand_worlds() -> None:
    cells = campaign(100_000)
    worlds, violated, attained = totals(cells)
    assert worlds >= 100_000
    assert worlds == sum(len(seen) for cell in cells for seen in cell.seen)  # all distinct
    assert {cell.kind for cell in cells} == {"MCAR", "MAR", "MNAR"}
    assert not violated
    assert all(attained[result] > 1000 for result in RESULTS)
    print(f"{worlds} worlds, attained: {dict(attained)}")


@pytest.mark.campaign
def test_a_million_worlds() -> None:
    worlds, violated, _ = totals(campaign(1_000_000, seed=1))
    assert worlds >= 1_000_000
    assert not violated


# -- the fast path is the plain one ------------------------------------------------------------------------------


def as_fraction_world(mechanism: Table, processes: Processes, world: int) -> Pipeline:
    """The same world in plain rationals."""
    rows = [*product((-1, 0, 1, NA), repeat=mechanism.d)]
    index = {row: i for i, row in enumerate(rows)}
    laws = dict(zip(records(mechanism.d), processes.mass[world], strict=True))

    def masks(row: Row) -> dict[tuple[int, ...], Fraction]:
        sets = product((0, 1), repeat=mechanism.d)
        return {
            tuple(1 - seen for seen in observed): Fraction(int(m), processes.total)
            for observed, m in zip(sets, laws[row], strict=True)
        }

    def outputs(data: Dataset) -> dict[int, Fraction]:
        weights = mechanism.weights[tuple(index[row] for row in data)]
        return {o: Fraction(int(w), mechanism.total) for o, w in enumerate(weights)}

    return Pipeline(independent_rows(masks), outputs, as_is)


@pytest.mark.parametrize(("n", "d"), [(1, 1), (1, 2), (2, 1)])
@pytest.mark.parametrize("kind", KINDS)
def test_the_fast_path_is_the_plain_one(n: int, d: int, kind: str) -> None:
    """Laws, base profile, true profile, verdict and attainment agree with the Fraction oracles."""
    rng = np.random.default_rng(7)
    for mechanism in zoo(n, d):
        processes = KINDS[kind](rng, 1, d)
        plain = as_fraction_world(mechanism, processes, 0)
        fast = release(mechanism, processes)[:, 0].reshape(mechanism.weights.shape[-1], -1)
        for k, data in enumerate(product(records(d), repeat=n)):
            law = plain.law(data)
            scale = denominator(mechanism, processes)
            assert [law.get(o, 0) for o in range(len(fast))] == [Fraction(int(x), scale) for x in fast[:, k]]
        tally, true = check(mechanism, processes), released_profile(plain, n, d)
        p = 1 - Fraction(int(processes.mass[0, :, 0].min()), processes.total)
        bound = mechanism.base.amplified(p)
        assert bound.excess(true) <= 0
        assert tally.violated["T1"] == 0
        assert any(bound(a) == true(a) > 0 for a in bound.kinks()) == tally.attained["T1"]
        if isinstance(mechanism, NoiseTable) and mechanism.reach.max():
            pair = pair_profile(mechanism, processes)
            assert pair.excess(true) <= 0
            assert any(pair(a) == true(a) > 0 for a in pair.kinks()) == tally.attained["T2"]


def pair_profile(mechanism: NoiseTable, processes: Processes) -> Profile:
    reaches = mechanism.reach[mechanism.shown]
    laws = []
    for reach, mass in zip(reaches, processes.mass[0], strict=True):
        law: dict[int, Fraction] = {}
        for x, m in zip(reach, mass, strict=True):
            law[int(x)] = law.get(int(x), Fraction(0)) + Fraction(int(m), processes.total)
        laws.append(law)
    return profile(*discrete_pair(reach_envelope(laws), mechanism.ratio))


def test_the_base_profile_is_the_plain_one() -> None:
    for mechanism in zoo(1, 2):
        laws = [{o: Fraction(int(w), mechanism.total) for o, w in enumerate(row)} for row in mechanism.weights]
        assert mechanism.base == upper(x for a in laws for b in laws for x in profile(a, b).lines)


# -- the check can fail ------------------------------------------------------------------------------------------


class Weaker(Table):
    @cached_property
    def base(self) -> Profile:
        return super().base.amplified(Fraction(99, 100))


def test_a_theorem_weakened_by_a_hair_is_caught() -> None:
    """T1 with p one part in a hundred too small, T2 with a reach that forgets one row of the table: both violated."""
    rng = np.random.default_rng(3)
    tight = zoo(1, 1)[0]
    weaker = Weaker(tight.name, tight.n, tight.d, tight.weights, tight.total)
    assert check(weaker, mcar(rng, 50, 1)).violated["T1"] > 10
    noisy = next(m for m in zoo(1, 2) if m.name == "sum")
    assert isinstance(noisy, NoiseTable)
    short = replace(noisy, reach=np.where(noisy.reach == 2, 1, noisy.reach))
    assert check(short, mcar(rng, 50, 2)).violated["T2"] > 10


def test_dependence_on_values_needs_the_envelope() -> None:
    """The law of one record alone is not enough under MNAR: the envelope is what T2 asks for."""
    noisy = next(m for m in zoo(1, 1) if m.name == "sum")
    mass = np.array([[[60, 0], [30, 30], [0, 60]]])  # -1 never seen, 0 half, 1 always
    assert check(noisy, Processes("MNAR", mass, 60)).violated.total() == 0
    rare = Processes("MNAR", np.repeat(mass[:, :1] + [[[-6, 6]]], 3, axis=1), 60)
    true = released_profile(as_fraction_world(noisy, Processes("MNAR", mass, 60), 0), 1, 1)
    assert isinstance(noisy, NoiseTable)
    assert pair_profile(noisy, rare).excess(true) > 0


# -- equality where it is proved ---------------------------------------------------------------------------------


@pytest.mark.parametrize("d", [1, 2, 3])
def test_t2_and_t3_are_attained_by_linear_queries_under_mcar(d: int) -> None:
    processes = mcar(np.random.default_rng(11), 60, d)
    some = processes.mass[:, 0, 0] < processes.total
    linear = [m for m in zoo(1, d) if m.name in ("sum", "weighted sum")]
    for mechanism in linear:
        tally = check(mechanism, replace(processes, mass=processes.mass[some]))
        assert tally.attained["T2"] == tally.attained["T3"] == tally.worlds > 40
        assert tally.violated.total() == 0


def test_t1_is_attained_by_randomised_response_under_mcar() -> None:
    processes = mcar(np.random.default_rng(12), 200, 1)
    some = processes.mass[:, 0, 0] < processes.total
    tally = check(zoo(1, 1)[0], replace(processes, mass=processes.mass[some]))
    assert tally.attained["T1"] == tally.worlds > 100


# -- the processes are what they say -----------------------------------------------------------------------------


@pytest.mark.parametrize("d", [1, 2, 3])
def test_mar_masks_depend_on_what_they_leave_observed(d: int) -> None:
    processes = mar(np.random.default_rng(5), 30, d)
    for o, observed in enumerate(product((0, 1), repeat=d)):
        seen: dict[tuple[int, ...], np.ndarray] = {}
        for z, record in enumerate(records(d)):
            key = tuple(int(x) for x, s in zip(record, observed, strict=True) if s)  # type: ignore[arg-type]
            first = seen.setdefault(key, processes.mass[:, z, o])
            assert (first == processes.mass[:, z, o]).all()
    spread = np.ptp(processes.mass, axis=1)
    assert (spread > 0).any() == (d > 1)  # with one column MAR is MCAR


def test_mcar_ignores_the_record_and_mnar_does_not() -> None:
    rng = np.random.default_rng(6)
    assert (np.ptp(mcar(rng, 30, 2).mass, axis=1) == 0).all()
    assert (np.ptp(mnar(rng, 30, 2).mass, axis=1) > 0).any()


# -- refusals ----------------------------------------------------------------------------------------------------


def test_bad_worlds_are_refused() -> None:
    with pytest.raises(InputError, match="mass"):
        Processes("MCAR", np.full((1, 3, 2), 20), 60)
    with pytest.raises(InputError, match="worlds"):
        campaign(0)


def test_inexact_arithmetic_is_refused() -> None:
    """Denominators that would leave the range of exact whole numbers are not computed with."""
    wide = noise_table("wide", 1, 1, lambda data: (0 if data[0][0] is NA else 9 * int(data[0][0]),), Fraction(9, 4))
    with pytest.raises(InputError, match="2\\^"):
        check(wide, mcar(np.random.default_rng(0), 2, 1))

    with pytest.raises(InputError, match="alpha"):
        scaled(np.ones((1, 1, 3, 1)), 2**40, np.array([2**30]), np.array([1]))
    narrow = zoo(1, 1)[0]
    with pytest.raises(InputError, match="total"):
        release(replace(narrow, total=2**50), mcar(np.random.default_rng(0), 2, 1))


def test_every_shape_has_a_zoo() -> None:
    for n, d in SHAPES:
        names = [m.name for m in zoo(n, d)]
        assert len(set(names)) == len(names) >= 9
