"""Random closed forms (T1, T3, P2, P6, P7): never below the exact value, never more than 4 ulp above it.

The reference is a ball of 320 bits around the statement as written, by another formula than the code's. The default
run takes 20,000 evaluations, the campaign a million: `pytest -m campaign tests/test_closed_forms_campaign.py`.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterator
from fractions import Fraction

import pytest
from flint import arb

from absentia.exact import ball, precision
from absentia.theory import blackbox, paper
from absentia.theory.noise import Laplace
from absentia.theory.pair import dominating_pair

Case = tuple[str, float, arb]
"""(what was computed, the double returned, a ball around the exact value)"""


def legal_epsilon(rng: random.Random, most: float = 700.0) -> float:
    return rng.choice((rng.uniform(0, min(most, 5)), min(most, 10 ** rng.uniform(-12, 2.8)), rng.uniform(0, most)))


def legal_probability(rng: random.Random) -> float:
    return rng.choice((rng.random(), 10 ** rng.uniform(-15, 0), 1 - 10 ** rng.uniform(-15, 0), 0.0, 1.0))


def reference(epsilon: arb, p: float) -> arb:
    """ln((1-p) + p e^eps), as the statement spells it."""
    return ((1 - arb(p)) + arb(p) * epsilon.exp()).log()


def p2(rng: random.Random) -> Iterator[Case]:
    e, p, d = legal_epsilon(rng), legal_probability(rng), 10 ** rng.uniform(-300, 0)
    promise = paper.mar(e, d, p)
    yield f"P2 eps {e!r} {p!r}", promise.epsilon, reference(arb(e), p)
    yield f"P2 delta {d!r} {p!r}", promise.delta, arb(p) * arb(d)


def t1(rng: random.Random) -> Iterator[Case]:
    e, p, d = legal_epsilon(rng), legal_probability(rng), 10 ** rng.uniform(-300, 0)
    promise = blackbox.amplified(e, d, p)
    yield f"T1 eps {e!r} {p!r}", promise.epsilon, reference(arb(e), p)
    yield f"T1 delta {d!r} {p!r}", promise.delta, arb(p) * arb(d)


def totals(rng: random.Random) -> tuple[list[float], int, arb, arb]:
    L = [10 ** rng.uniform(-3, 3) for _ in range(rng.randint(1, 5))]
    k = rng.randint(0, len(L))
    kept = sorted(L)[len(L) - k :]
    return L, k, sum((2 * arb(x) for x in L), arb(0)), sum((2 * arb(x) for x in kept), arb(0))


def p6(rng: random.Random) -> Iterator[Case]:
    e, p = max(legal_epsilon(rng), 1e-9), legal_probability(rng)
    L, k, C, tilde = totals(rng)
    release = paper.laplace(e, p, L, k)
    yield f"P6 eps {e!r} {p!r} {L} {k}", release.epsilon, reference(tilde / C * arb(e), p)
    yield f"P6 scale {e!r} {L}", release.scale, C / arb(e)


def p7(rng: random.Random) -> Iterator[Case]:
    e, p, d = max(legal_epsilon(rng, 1.0), 1e-9), legal_probability(rng), 10 ** rng.uniform(-300, 0)
    L, k, C, tilde = totals(rng)
    release = paper.gaussian(e, d, p, L, k)
    yield f"P7 eps {e!r} {p!r} {L} {k}", release.epsilon, reference(tilde / C * arb(e), p)
    yield f"P7 sigma {e!r} {d!r} {L}", release.sigma, (2 * (arb(5) / 4 / arb(d)).log()).sqrt() * C / arb(e)
    yield f"P7 delta {d!r} {p!r}", release.delta, arb(p) * arb(d)


def t3(rng: random.Random) -> Iterator[Case]:
    reaches = sorted(rng.uniform(0, rng.choice((1e-9, 1, 50, 600))) for _ in range(rng.randint(1, 4)))
    weights = [rng.randint(1, 2**20) for _ in reaches]
    masses = [Fraction(w, sum(weights)) for w in weights]
    value = dominating_pair(Laplace(1), tuple(zip(reaches, masses, strict=True))).epsilon(Fraction(0))
    up, down = (
        sum((ball(q) * (s * arb(x)).exp() for x, q in zip(reaches, masses, strict=True)), arb(0)) for s in (1, -1)
    )
    yield f"T3 {reaches} {masses}", value, up.log() - down.log()


FORMULAS: dict[str, Callable[[random.Random], Iterator[Case]]] = {"T1": t1, "T3": t3, "P2": p2, "P6": p6, "P7": p7}


def check(formula: str, seed: int, wanted: int) -> None:
    """`wanted` evaluations: none proved below the exact value, none proved more than 4 ulp above it."""
    rng, done = random.Random(f"{formula}-{seed}"), 0
    while done < wanted:
        with precision(320):
            for what, value, exact in FORMULAS[formula](rng):
                done += 1
                given = arb(value)
                assert not given < exact, f"below: {what}"
                assert exact.rad() <= abs(exact).mid() * arb(2) ** -90 + arb(2) ** -200, f"reference too wide: {what}"
                if given > exact:
                    assert not given - exact > 4 * arb(math.ulp(value)), f"more than 4 ulp above: {what}"


@pytest.mark.parametrize("formula", FORMULAS)
def test_closed_forms_round_up_by_at_most_four_ulp(formula: str) -> None:
    check(formula, seed=1, wanted=4_000)


@pytest.mark.campaign
@pytest.mark.parametrize("part", range(10))
@pytest.mark.parametrize("formula", FORMULAS)
def test_a_million_closed_forms(formula: str, part: int) -> None:
    check(formula, seed=100 + part, wanted=20_000)
