"""The exact oracles themselves, and each theorem on single worlds in plain rationals."""

from __future__ import annotations

import doctest
from fractions import Fraction
from itertools import chain, combinations, product
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from absentia.auditing.exact import (
    Law,
    Profile,
    class_profile,
    discrete_pair,
    divergence,
    geometric,
    masked_profile,
    masked_rows,
    mgf_ratio,
    profile,
    radius_diameter_ratio,
    reach_envelope,
    records,
    released_profile,
    upper,
)
from absentia.errors import InputError
from absentia.theory.paper_pipeline import NA, Dataset, Pipeline, Row, as_is, independent_rows, largest_ratio

TWO, ONE = Fraction(2), Fraction(1)


def laws(size: int, total: int = 12) -> st.SearchStrategy[dict[int, Fraction]]:
    cuts = st.lists(st.integers(0, total), min_size=size - 1, max_size=size - 1).map(sorted)
    return cuts.map(
        lambda c: {i: Fraction(b - a, total) for i, (a, b) in enumerate(zip([0, *c], [*c, total], strict=True))}
    )


alphas = st.fractions(1, 8, max_denominator=50)


@given(laws(4), laws(4), alphas)
def test_a_profile_is_the_supremum_over_all_events(P: Law, Q: Law, alpha: Fraction) -> None:
    events = chain.from_iterable(combinations(range(4), k) for k in range(5))
    brute = max(sum((P[o] - alpha * Q[o] for o in event), Fraction(0)) for event in events)
    assert profile(P, Q)(alpha) == brute == divergence(P, Q, alpha)


@given(laws(4), laws(4), laws(4), laws(4))
def test_excess_is_the_largest_difference_over_all_orders(P: Law, Q: Law, R: Law, S: Law) -> None:
    mine, theirs = profile(P, Q), profile(R, S)
    grid = {*mine.kinks(), *theirs.kinks(), *(1 + Fraction(k, 7) for k in range(60))}
    assert mine.excess(theirs) == max(theirs(a) - mine(a) for a in grid)
    assert mine.union(theirs).excess(theirs) <= 0


@given(laws(4), laws(4), st.fractions(0, 1, max_denominator=20), alphas)
def test_amplified_is_t1(P: Law, Q: Law, p: Fraction, alpha: Fraction) -> None:
    base = profile(P, Q)
    assert base.amplified(p)(1 + p * (alpha - 1)) == p * base(alpha)


def test_hull_keeps_only_lines_that_are_ever_largest() -> None:
    hull = upper([(Fraction(3), TWO), (TWO, ONE), (Fraction(5, 2), ONE), (ONE, TWO), (Fraction(-1), Fraction(0))])
    assert hull == Profile(((Fraction(5, 2), ONE), (Fraction(0), Fraction(0))))
    assert hull.kinks() == (1, Fraction(5, 2))


@given(st.integers(-2, 2), st.integers(-2, 2), st.integers(0, 4))
def test_clamping_is_lossless_between_enclosed_centres(a: int, b: int, wider: int) -> None:
    narrow = profile(geometric([a], TWO, -2, 2), geometric([b], TWO, -2, 2))
    assert narrow == profile(geometric([a], TWO, -2 - wider, 2 + wider), geometric([b], TWO, -2 - wider, 2 + wider))
    assert narrow.kinks()[-1] <= 2 ** abs(a - b)


@given(laws(4), st.sampled_from([TWO, Fraction(3, 2), Fraction(5)]))
def test_the_pairs_last_kink_is_t3(reach: dict[int, Fraction], ratio: Fraction) -> None:
    reach = {x: q for x, q in reach.items() if q}
    P, Q = discrete_pair(reach, ratio)
    assert largest_ratio(P, Q) == mgf_ratio(reach, ratio)
    p, top = 1 - reach.get(0, Fraction(0)), max(reach)
    assert mgf_ratio(reach, ratio) <= radius_diameter_ratio(p, ratio**top, ratio ** (2 * top))


@given(st.lists(laws(4), min_size=1, max_size=4))
def test_the_envelope_is_the_smallest_dominating_law(given_laws: list[dict[int, Fraction]]) -> None:
    envelope = reach_envelope(given_laws)
    assert sum(envelope.values()) == 1
    for x in range(4):
        tails = [sum(q for y, q in law.items() if y >= x) for law in given_laws]
        assert sum(q for y, q in envelope.items() if y >= x) == max(tails)


# -- theorems on single worlds -----------------------------------------------------------------------------------


def row_laws(d: int) -> st.SearchStrategy[dict[Row, dict[tuple[int, ...], Fraction]]]:
    """Any MNAR process: a law of masks for every record. Masks are 1 where the entry is missing."""
    masks = list(product((0, 1), repeat=d))
    return st.fixed_dictionaries(
        {z: laws(2**d).map(lambda law: dict(zip(masks, law.values(), strict=True))) for z in records(d)}
    )


def shown(law: dict[tuple[int, ...], Fraction]) -> Fraction:
    return 1 - sum((q for mask, q in law.items() if all(mask)), Fraction(0))


def answer(data: Dataset) -> Law:
    """Randomised response over four answers: the first entry or NA; e^eps = 3."""
    said = data[0][0]
    return {a: Fraction(3 if a == said else 1, 6) for a in (-1, 0, 1, NA)}


def noisy_total(data: Dataset) -> Law:
    return geometric([sum(x for row in data for x in row if x is not NA)], TWO, -3, 3)  # type: ignore[misc]


@settings(max_examples=25, deadline=None)
@given(row_laws(1))
def test_t1_for_any_missingness_on_two_rows(process: dict[Row, dict[tuple[int, ...], Fraction]]) -> None:
    release = Pipeline(independent_rows(process.__getitem__), answer, as_is)
    base = masked_profile(answer, 2, 1)
    assert base == class_profile(Fraction(3), Fraction(0)) or class_profile(Fraction(3), Fraction(0)).excess(base) <= 0
    p_bar = max(map(shown, process.values()))
    assert base.amplified(p_bar).excess(released_profile(release, 2, 1)) <= 0


@settings(max_examples=25, deadline=None)
@given(row_laws(2))
def test_t2_for_any_missingness_on_one_row(process: dict[Row, dict[tuple[int, ...], Fraction]]) -> None:
    release = Pipeline(independent_rows(process.__getitem__), noisy_total, as_is)
    counts = []
    for law in process.values():
        reach = {k: Fraction(0) for k in range(3)}
        for mask, q in law.items():
            reach[2 - sum(mask)] += q
        counts.append(reach)
    bound = profile(*discrete_pair(reach_envelope(counts), TWO))
    assert bound.excess(released_profile(release, 1, 2)) <= 0


@settings(max_examples=25, deadline=None)
@given(laws(4))
def test_t5_known_masks_exactly(law: dict[int, Fraction]) -> None:
    """MCAR, the mask published beside the noisy sum: delta = E[H(2R)], attained by all ones against all minus ones."""
    masks = dict(zip(product((0, 1), repeat=2), law.values(), strict=True))

    def open_total(data: Dataset) -> Law:
        hidden = tuple(x is NA for x in data[0])
        return {(hidden, y): q for y, q in noisy_total(data).items()}

    release = Pipeline(independent_rows(lambda row: masks), open_total, as_is)
    known: list[tuple[Fraction, Profile]] = []
    for mask, q in masks.items():
        r = 2 - sum(mask)
        known.append((q, profile(geometric([r], TWO, -3, 3), geometric([-r], TWO, -3, 3))))
    true = released_profile(release, 1, 2)
    kinks = {a for _, one in known for a in one.kinks()} | set(true.kinks())
    for alpha in kinks:
        assert true(alpha) == sum(q * one(alpha) for q, one in known)


@settings(max_examples=25, deadline=None)
@given(row_laws(2), st.integers(0, 8), st.integers(0, 8))
def test_t1_in_channel_form(process: dict[Row, dict[tuple[int, ...], Fraction]], i: int, j: int) -> None:
    """For each pair of records, the total variation of their masked rows takes the place of p."""
    z, other = records(2)[i], records(2)[j]
    row = Pipeline(independent_rows(process.__getitem__), lambda masked: {masked: ONE}, as_is)
    tv = divergence(row.masked((z,)), row.masked((other,)), ONE)
    release = Pipeline(independent_rows(process.__getitem__), answer, as_is)
    bound = masked_profile(answer, 1, 2).amplified(tv)
    assert bound.excess(profile(release.law((z,)), release.law((other,)))) <= 0


@settings(max_examples=40, deadline=None)
@given(laws(4), st.tuples(laws(2), laws(2), laws(2)))
def test_t1_at_attribute_level(first: dict[int, Fraction], then: tuple[dict[int, Fraction], ...]) -> None:
    """MAR: column 0 always seen decides whether column 1 is. Neighbours in column 1 alone gain although p* = 1."""

    def masks(row: Row) -> dict[tuple[int, ...], Fraction]:
        chance = then[int(row[0]) + 1]  # type: ignore[arg-type]
        return {(0, 0): chance[0], (0, 1): chance[1]}

    def both(data: Dataset) -> Law:
        return geometric([sum(x for x in data[0] if x is not NA)], TWO, -2, 2)  # type: ignore[misc]

    release = Pipeline(independent_rows(masks), both, as_is)
    p_J = max(chance[0] for chance in then)
    worst = upper(
        line
        for a, b, c in product((-1, 0, 1), repeat=3)
        for line in profile(release.law(((a, b),)), release.law(((a, c),))).lines
    )
    changes_one = upper(
        line
        for a in (-1, 0, 1)
        for b, c in product((-1, 0, 1, NA), repeat=2)
        for line in profile(both(((a, b),)), both(((a, c),))).lines
    )
    assert changes_one.amplified(p_J).excess(worst) <= 0


@settings(max_examples=25, deadline=None)
@given(row_laws(2))
def test_t6_on_worlds(process: dict[Row, dict[tuple[int, ...], Fraction]]) -> None:
    """At most one entry seen except with probability r: H at 1 + kappa(a - 1) is at most r + (p - r) delta(a)."""
    sparse = [row for row in masked_rows(2) if sum(x is not NA for x in row) <= 1]
    base = upper(x for a, b in product(sparse, repeat=2) for x in profile(noisy_total((a,)), noisy_total((b,))).lines)
    p, r = max(map(shown, process.values())), max(law[(0, 0)] for law in process.values())
    if r == 1:
        return
    kappa = (p - r) / (1 - r)
    true = released_profile(Pipeline(independent_rows(process.__getitem__), noisy_total, as_is), 1, 2)
    for a in base.kinks():
        assert true(1 + kappa * (a - 1)) <= r + (p - r) * base(a)


@settings(max_examples=25, deadline=None)
@given(row_laws(1))
def test_adding_and_removing_a_record(process: dict[Row, dict[tuple[int, ...], Fraction]]) -> None:
    """An all-missing row acts like an absent one: w_0 against the masked record, both directions, section 7."""
    release = Pipeline(independent_rows(process.__getitem__), noisy_total, as_is)
    absent = noisy_total(((NA,),))
    base = masked_profile(noisy_total, 1, 1)
    for z, law in process.items():
        p = shown(law)
        added, removed = profile(release.law((z,)), absent), profile(absent, release.law((z,)))
        to_nothing = profile(noisy_total((z,)), absent)
        assert to_nothing.amplified(p).excess(added) == 0  # equality: p H_a
        for alpha in {*removed.kinks(), *(1 + Fraction(k, 5) for k in range(9))}:
            s = max(1 - alpha * (1 - p), Fraction(0))
            bound = s * base(alpha * p / s) if s else Fraction(0)
            assert removed(alpha) <= bound <= base.amplified(p)(alpha)


@settings(max_examples=40, deadline=None)
@given(st.lists(laws(4), min_size=3, max_size=3), st.sampled_from([TWO, Fraction(3)]))
def test_t8_when_one_record_steers_both_masks(joint: list[dict[int, Fraction]], ratio: Fraction) -> None:
    """Two rows, the first record decides the joint law of both masks: group privacy for two, at the block's TV."""
    pairs = [((a,), (b,)) for a, b in product((0, 1), repeat=2)]
    count = lambda data: geometric([sum(x is not NA for row in data for x in row)], ratio, 0, 2)  # noqa: E731

    def masks(data: Dataset) -> dict[tuple[tuple[int, ...], ...], Fraction]:
        return dict(zip(pairs, joint[int(data[0][0]) + 1].values(), strict=True))  # type: ignore[arg-type]

    release, row = Pipeline(masks, count, as_is), Pipeline(masks, lambda masked: {masked: ONE}, as_is)
    for z, other in product((-1, 0, 1), repeat=2):
        a, b = ((z,), (0,)), ((other,), (0,))
        eta = divergence(row.masked(a), row.masked(b), ONE)
        group = class_profile(ratio**2, Fraction(0)).amplified(eta)
        assert group.excess(profile(release.law(a), release.law(b))) <= 0


def test_bad_mechanisms_are_refused() -> None:
    with pytest.raises(InputError, match="ratio"):
        geometric([0], ONE, -1, 1)
    with pytest.raises(InputError, match="centre"):
        geometric([3], TWO, -1, 1)


def test_the_page_about_verification_runs() -> None:
    page = Path(__file__).parents[1] / "docs" / "verification.md"
    failed, tried = doctest.testfile(str(page), module_relative=False)
    assert (failed, tried > 15) == (0, True)
