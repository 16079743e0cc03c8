"""The top of a law is kept, however unlikely: pure DP and the figure for a known mask depend on it."""

from __future__ import annotations

import pytest

from absentia import missing
from absentia.amplification import amplify
from absentia.law.forms import Forms
from absentia.law.reachlaw import ReachLaw
from absentia.query.reach import Reach, Term
from absentia.theory.noise import Laplace


def sums(columns: list[str]) -> Reach:
    return Reach(1, [Term(frozenset({c}), 1.0) for c in columns])


@pytest.mark.parametrize(("count", "rate"), [(1000, "0.3"), (400, "0.1"), (200, "0.001")])
def test_all_columns_seen_may_underflow(count: int, rate: str) -> None:
    columns = [f"c{i}" for i in range(count)]
    law = missing.independent(columns, dict.fromkeys(columns, rate)).law(sums(columns))
    assert law.max == count
    assert sum(q for _, q in law.atoms) == 1
    assert law.mean == pytest.approx(count * float(rate), rel=1e-9)


def test_pure_dp_knows_the_top() -> None:
    """200 columns at 0.001: the exact T3 figure is 18,619; without the top it was 11,909."""
    columns = [f"c{i}" for i in range(200)]
    law = missing.independent(columns, dict.fromkeys(columns, "0.001")).law(sums(columns))
    assert amplify(Laplace("0.01"), law).epsilon(delta=0) >= 18_619


def test_columns_that_never_show_are_not_in_the_top() -> None:
    columns = [f"c{i}" for i in range(300)]
    rates = {c: "0.001" if i % 2 else 0 for i, c in enumerate(columns)}
    assert missing.independent(columns, rates).law(sums(columns)).max == 150


def test_convolution_of_features_keeps_its_top() -> None:
    law = ReachLaw.independent([1] * 100, ["1e-200"] * 100)
    assert law.max == 100
    assert 0 < law.survival(100) <= 1e-300
    assert law.survival(1) == pytest.approx(1e-198)


def test_forms_keep_their_top() -> None:
    """600 of 1,200 different blocks: the largest choice has probability 1 in 10^360."""
    reach = [1 + i / 7001 for i in range(1200)]
    law = Forms.k_of_d(600, 1200, reach).total(1)
    assert law.max >= sum(sorted(reach)[600:])
