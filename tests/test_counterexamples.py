"""What must never be done with an amplified guarantee: named counterexamples, exact or by direct integration.

Those about the paper's own statements are in test_paper_counterexamples.py.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.optimize import brentq
from scipy.stats import norm

from absentia.auditing.exact import Law, divergence, profile
from absentia.theory.blackbox import DependentRows, amplified
from absentia.theory.noise import Gaussian
from absentia.theory.pair import dominating_pair
from absentia.theory.paper_pipeline import (
    NA,
    Dataset,
    Pipeline,
    as_is,
    dependent_masks,
    independent_rows,
    largest_ratio,
)

TENTH, HALF = Fraction(1, 10), Fraction(1, 2)


# -- naive composition -------------------------------------------------------------------------------------------


def answers(times: int) -> Callable[[Dataset], Law]:
    """`times` randomised responses (e^eps = 2) on one masked row; NA is an answer like any other."""

    def law(data: Dataset) -> Law:
        one = {a: Fraction(2 if a == data[0][0] else 1, 4) for a in (1, -1, NA)}
        total = sum(one.values())
        joint: dict[Hashable, Fraction] = {}
        for said in product(one, repeat=times):
            joint[said] = math.prod((one[a] / total for a in said), start=Fraction(1))
        return joint

    return law


def asked(times: int) -> Fraction:
    """The true e^eps' of that many answers about one record whose only entry is seen with probability 1/10."""
    release = Pipeline(independent_rows(lambda row: {(0,): TENTH, (1,): 1 - TENTH}), answers(times), as_is)
    ratio = largest_ratio(release.law(((1,),)), release.law(((-1,),)))
    assert ratio is not None
    return ratio


def test_amplified_guarantees_of_one_dataset_do_not_add_up() -> None:
    claimed = asked(1)
    assert claimed == Fraction(11, 10)
    assert asked(2) == Fraction(13, 10) > claimed**2 == Fraction(121, 100)
    for times in (3, 4, 5):
        assert asked(times) == 1 + TENTH * (2**times - 1) > claimed**times


def test_ten_answers_have_ratio_103_where_adding_claims_2_59() -> None:
    true, claimed = 1 + TENTH * (2**10 - 1), (1 + TENTH) ** 10
    assert float(true) == pytest.approx(103.3)
    assert float(claimed) == pytest.approx(2.59, abs=4e-3)
    assert amplified(10 * Fraction(math.log(2)), 0, TENTH).epsilon == pytest.approx(math.log(true))  # T7: compose first


def test_fresh_masks_may_be_added() -> None:
    """The same two answers, each on a mask of its own: 121/100 is right."""
    release = Pipeline(independent_rows(lambda row: {(0,): TENTH, (1,): 1 - TENTH}), answers(1), as_is)
    once = [release.law(((z,),)) for z in (1, -1)]
    twice = [{(a, b): law[a] * law[b] for a in law for b in law} for law in once]
    assert largest_ratio(*twice) == Fraction(121, 100)


# -- a filter on path-wise Gaussian figures ----------------------------------------------------------------------

HINT, REACH, EPSILON = 1.3, 6.0, 8.0


def steered_delta() -> float:
    """The true delta: y1 = +-1.3 + N(0,1) hints whether A or B is seen, then the likelier one is asked with reach 6."""
    alpha = math.exp(EPSILON)

    def given_hint(y: float) -> float:
        seen = 1 / (1 + math.exp(-2 * HINT * abs(y)))  # probability that the one asked for is the one seen

        def log_ratio(x: float) -> float:
            up, none, down = (
                math.log(w) + norm.logpdf(x, s) for w, s in ((seen, REACH), (1 - seen, 0), (seen, -REACH))
            )
            return float(np.logaddexp(up, none) - np.logaddexp(down, none) - EPSILON)

        cut = brentq(log_ratio, -50, 50)
        tail = lambda shift: norm.sf(cut - shift)  # noqa: E731
        return float(seen * (tail(REACH) - alpha * tail(-REACH)) + (1 - seen) * (1 - alpha) * tail(0))

    density = lambda y: (norm.pdf(y - HINT) + norm.pdf(y + HINT)) / 2  # noqa: E731
    return 2 * quad(lambda y: density(y) * given_hint(y), 0, 12, epsabs=1e-10, limit=200)[0]


def test_a_path_wise_gaussian_filter_is_unsound() -> None:
    """On every path the reaches are 1.3 or sqrt(1.3^2 + 6^2), each with probability 1/2: that figure is too small."""
    longest = math.hypot(HINT, REACH)
    path_wise = dominating_pair(Gaussian(1), ((HINT, HALF), (longest, HALF))).delta(Fraction(8))
    envelope = dominating_pair(Gaussian(1), ((longest, Fraction(1)),)).delta(Fraction(8))
    true = steered_delta()
    assert path_wise == pytest.approx(0.509, abs=5e-4)
    assert true == pytest.approx(0.882, abs=5e-4)
    assert path_wise < true < envelope  # what a filter may use: a cap on the reach of every observed set


# -- masks that depend on other rows -----------------------------------------------------------------------------


@pytest.mark.parametrize("u", [Fraction(3, 2), Fraction(2), Fraction(5)])
def test_dependent_masks_break_t1_and_t8_is_exact(u: Fraction) -> None:
    """P10: both rows are masked by one record; the count of observed entries at eps has 2 eps, u = e^{eps/2}."""
    world, eps = dependent_masks(u), 2 * Fraction(math.log(u))
    true = world.divergence(u**2)
    assert true == 1 - 1 / u > 0  # T1 or P2 would claim 0 at eps, since p <= 1
    assert amplified(eps, 0, 1).delta == 0
    t8 = DependentRows(eps, 0, g=1)
    assert world.largest_ratio() == u**4
    assert t8.epsilon(Fraction(0)) == pytest.approx(4 * math.log(u), rel=1e-15)
    assert t8.delta(Fraction(eps)) >= true


# -- noise that is not log-concave -------------------------------------------------------------------------------


def bimodal_tv(z: float, other: float) -> float:
    """Total variation of 3z + noise and 3z' + noise, noise = 1/2 N(-3, 0.3^2) + 1/2 N(3, 0.3^2)."""
    density = lambda x, by: (norm.pdf(x, by - 3, 0.3) + norm.pdf(x, by + 3, 0.3)) / 2  # noqa: E731
    x = np.linspace(-12, 12, 240_001)
    return float(np.maximum(density(x, 3 * z) - density(x, 3 * other), 0).sum() * (x[1] - x[0]))


def test_with_bimodal_noise_the_extreme_records_are_not_the_worst() -> None:
    """T2's pair is the records 1 and -1; here 1/2 and -1/2 are told apart perfectly and 1 and -1 are not."""
    assert bimodal_tv(1, -1) == pytest.approx(0.5, abs=1e-6)
    assert bimodal_tv(0.5, -0.5) == pytest.approx(1.0, abs=1e-6)


def test_two_point_noise_shows_it_exactly() -> None:
    def law(centre: int) -> dict[int, Fraction]:
        return {centre - 3: HALF, centre + 3: HALF}

    assert divergence(law(3), law(-3), Fraction(1)) == HALF
    assert divergence(law(1), law(-1), Fraction(1)) == 1
    assert profile(law(3), law(-3)).excess(profile(law(1), law(-1))) == HALF
