"""Which figure holds a book whose releases follow earlier answers, and what people are told of it."""

from __future__ import annotations

import random
import tomllib
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner
from scipy.optimize import brentq
from scipy.stats import norm

import absentia as ab
from absentia.cli.app import cli
from absentia.errors import BudgetRefused, HazardRefused
from absentia.ledger.account import BINDINGS, PLAINLY, Account, left
from absentia.ledger.charge import Charge
from absentia.ledger.ledger import Ledger, unworded
from absentia.ledger.text import law_of
from release_world import LAW, PLAN_TOML, SCHEMA, book_of

TWO = ab.Budget("2", "1e-6")
QUERIES = [ab.mean("bmi"), ab.mean("chl"), ab.histogram("hyp"), ab.mean("bmi", by="hyp"), ab.moments(["bmi", "chl"])]


def of(*queries: Any, epsilon: str = "1/2", **options: Any) -> ab.Plan:
    return ab.plan(SCHEMA, list(queries), LAW, budget=ab.Budget(epsilon, "1e-6"), **options)


def account_of(unit: list[ab.Plan], charged: list[ab.Plan], **options: Any) -> Account:
    """What a book opened with the first of these plans, the others later, holds after these charges."""
    terms = {"missing": LAW.to_dict(), "budget": {"epsilon": "9", "delta": "1e-6"}, "relation": "substitute"}
    terms |= {"dependent_rows": 0, "binding": "with_missingness", "aside": {"epsilon": "0", "delta": "0"}}
    terms |= {"unit": sum((p.batch for p in unit[1:]), start=unit[0].batch).to_dict(), "schema": SCHEMA.to_dict()}
    rows = [("charge", Charge(p.identity, p.batch).to_dict()) for p in charged]
    return Account.from_rows([("open", terms | options), *rows])


# -- the rule ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("binding", BINDINGS)
def test_asking_less_never_costs_more_and_nothing_more_than_composing(binding: str) -> None:
    """Whatever is in the unit: a superset is charged at least as much, and no total is above composed base losses."""
    lot = random.Random(1)
    for _ in range(6):
        unit = [of(*lot.sample(QUERIES, 2)) for _ in range(lot.choice([1, 2]))]
        less = lot.sample(QUERIES, 2)
        more = [of(*QUERIES), *([of(q, epsilon="1/4") for q in QUERIES if q not in less])]
        base = [unit[0], *(of(q, epsilon="1/4") for q in less)]
        small, large = (account_of(unit, plans, binding=binding) for plans in (base, [*base, *more[1:]]))
        composed = base[0].batch + base[1].batch + base[2].batch
        wanted = composed.guarantee(LAW).without_missingness
        found, grown = small.spent(), large.spent()
        assert found["without_missingness"] == pytest.approx(wanted.epsilon("1e-6"), rel=1e-9)
        assert found["with_missingness"] <= found["if_mask_known"] * (1 + 1e-9)
        assert found["if_mask_known"] <= found["without_missingness"] * (1 + 1e-9)
        assert all(found[k] <= grown[k] * (1 + 1e-9) for k in found)
        assert small.ahead() <= large.ahead() * (1 + 1e-9)
        at = "1e-6" if binding == "without_missingness" else PLAINLY * Fraction(1, 10**6)
        assert small.ahead() <= wanted.epsilon(at) * (1 + 1e-9)


@pytest.mark.parametrize("binding", BINDINGS)
def test_one_more_mean_fits_where_plain_composition_says_so(tmp_path: Path, binding: Any) -> None:
    """A superset was accepted while the mean alone was refused at more than the plain sum of both."""
    plan, mean = of(*QUERIES[:4], epsilon="1"), of(ab.mean("bmi"))
    composed = (plan.batch + mean.batch).guarantee(LAW).without_missingness
    assert composed.epsilon("1e-7") < 1.9
    for name, later in (("a", []), ("b", [of(ab.moments(["bmi", "chl"]))])):
        with Ledger.create(tmp_path / name, plan, budget=TWO, binding=binding, later=later) as book:
            book.charge(plan, "plan")
            book.charge(mean, "one more")
            assert book.spent()["without_missingness"] == pytest.approx(composed.epsilon("1e-6"), rel=1e-9)


def hockey(distance: float, epsilon: float) -> float:
    low, high = (norm.cdf(s * distance / 2 - epsilon / distance) for s in (1, -1))
    return float(low - np.exp(epsilon) * high)


def two_rules(epsilon: float, envelope: float, plain: float) -> float:
    """The delta of an analyst who asks about X (shown by one row in twenty), then goes on under either rule.

    `envelope`, `plain`: the deltas at which each rule keeps epsilon. X is the unit. After the first answer the analyst
    spends what is left of the envelope on X, or what is left of the composed distance on Y, which every row shows:
    whichever this answer makes the weaker.
    """
    p, a = 0.05, np.exp(epsilon)
    line = np.linspace(-16, 16, 1601)
    step = line[1] - line[0]

    def masked(x: float, sign: int) -> Any:
        return p * norm.pdf(line - sign * x) + (1 - p) * norm.pdf(line)

    def of_envelope(x: float) -> float:
        return float(np.maximum(masked(x, 1) - a * masked(x, -1), 0).sum() * step)

    cap = brentq(lambda x: of_envelope(x) - envelope, 0.1, 9)
    most = brentq(lambda x: hockey(x, epsilon) - plain, 0.1, 9)
    first = 0.1 * most
    x, y = np.sqrt(cap**2 - first**2), np.sqrt(most**2 - 4 * first**2) / 2

    def pair(sign: int) -> tuple[Any, Any]:
        shown = p * norm.pdf(line - sign * first)[:, None]
        hidden = (1 - p) * norm.pdf(line)[:, None]
        again = shown * norm.pdf(line - sign * x) + hidden * norm.pdf(line)
        return again, (shown + hidden) * norm.pdf(line - sign * y)

    worst = [np.maximum(P - a * Q, 0).sum(1) for P, Q in zip(pair(1), pair(-1), strict=True)]
    return float(np.maximum(*worst).sum() * step**2)


def test_the_smaller_of_two_rules_is_no_rule_but_each_may_have_a_part_of_delta() -> None:
    delta = 0.01
    assert two_rules(8.0, delta, delta) > 1.02 * delta
    part = float(PLAINLY)
    assert two_rules(8.0, (1 - part) * delta, part * delta) <= delta


def test_the_envelope_is_one_number_whatever_stands_beside_it() -> None:
    """With a part set aside, T1 of the composed losses stood beside the envelope: two rules at one delta."""
    whole, part = of(ab.mean("bmi"), ab.mean("chl")), of(ab.mean("bmi"))
    partly = account_of([whole], [whole, part], aside={"epsilon": "1/4", "delta": "1e-8"})
    wholly = replace(partly, charges=(Charge("", partly.unit.scaled(partly.share)),))
    figures = [within.epsilon("1e-6") for a in (partly, wholly) if (within := a._envelope(a.room_aside)) is not None]
    assert figures == [pytest.approx(figures[1], rel=1e-9), figures[1]]
    assert partly.noises is not None
    assert partly.noises.distances.largest < 0.95 * wholly.noises.distances.largest  # type: ignore[union-attr]


def test_later_plans_raise_the_price_of_the_first(tmp_path: Path) -> None:
    plan, later = of(ab.mean("bmi"), ab.count("chl")), of(ab.mean("bmi"), ab.histogram("hyp"))
    ahead = [account_of([plan, *[later] * k], [plan]).ahead() for k in (0, 1)]
    wider = [account_of([plan, *[of(ab.moments(["bmi", "chl"]))] * k], [plan, plan]).ahead() for k in (0, 1)]
    assert wider[0] < wider[1]
    assert ahead[0] > 0
    with book_of(tmp_path, plan, budget=TWO, later=[later]) as book:
        assert {"bmi", "chl", "hyp"} <= set(book.summary()["later"])
        assert "later Gaussian releases may use: bmi; chl; hyp" in book.show()
        assert book.summary()["counted"] == 0
        book.charge(plan, "first")
        assert book.summary()["counted"] == book.account.ahead()


# -- what people are told ---------------------------------------------------------------------------------------------


def test_short_is_what_the_total_is_above_the_budget(tmp_path: Path) -> None:
    plan = of(ab.mean("bmi"), ab.mean("chl"), epsilon="1")
    with book_of(tmp_path, plan) as book:
        book.charge(plan, "first")
        with pytest.raises(BudgetRefused) as refusal:
            book.charge(plan, "again")
        total = replace(book.account, charges=book.account.charges * 2).ahead()
        assert f"total would be epsilon {total:.4f}"[:-1] in refusal.value.what
        short = float(refusal.value.what.rsplit("short by ", 1)[1].rstrip("."))
        assert short == pytest.approx(total - 1, rel=1e-4)
        assert "remaining 0" in refusal.value.what
        assert "e-" not in refusal.value.what.replace("1e-06", "")
    assert left(Fraction(1), 1 - 4e-8) == 0
    assert left(Fraction(1), 0.75) == Fraction(1, 4)


def test_another_word_is_not_another_law(tmp_path: Path) -> None:
    said = replace(LAW, because="drawn by lot, protocol 4", by="somebody else")
    with book_of(tmp_path, of(ab.mean("bmi")), budget=TWO) as book:
        book.charge(ab.plan(SCHEMA, ab.mean("bmi"), said, budget=ab.Budget("1/2", "1e-6")), "other words")
        rarer = ab.missing.independent(SCHEMA, {"bmi": "1/100"}, because="by lot", by="office")
        with pytest.raises(HazardRefused, match="another missingness law") as refusal:
            book.charge(ab.plan(SCHEMA, ab.mean("bmi"), rarer, budget=ab.Budget("1/2", "1e-6")), "other law")
        assert "ledger show` prints" in refusal.value.remedy
    typed = ab.missing.mixture([LAW, said], mass=["1/2", "1/2"], because="types", by="office")
    again = ab.missing.mixture([said, LAW], mass=["1/2", "1/2"], because="other words")
    assert unworded(typed.to_dict()) == unworded(again.to_dict())


def test_a_column_called_by_is_part_of_the_law() -> None:
    people = ab.Schema.from_dict(
        {"n": 9, "columns": {c: {"kind": "number", "bounds": [0, 1]} for c in ("by", "because")}}
    )
    one, two = (ab.missing.independent(people, {"by": p, "because": "1/2"}, because="lot") for p in ("1/3", "1/4"))
    assert unworded(one.to_dict()) != unworded(two.to_dict())


LONG = 'asked by "lot" \\ as in protocol 3.2, ' * 5 + "é\u202e"


@pytest.mark.parametrize(
    "law",
    [
        LAW,
        replace(LAW, because=LONG, by=LONG),
        ab.missing.planned(SCHEMA, asked=[["bmi", "chl"], ["bmi", "hyp"]], because="forms", by="office"),
        ab.missing.mixture([LAW, ab.missing.planned(SCHEMA, asked=[["bmi"]], because=LONG)], mass=["1/3", "2/3"]),
        ab.missing.counts(SCHEMA, ["1/4", "1/4", "1/2"], because="known"),
    ],
    ids=["rates", "words", "forms", "types", "counts"],
)  # fmt: skip
def test_the_law_is_shown_as_a_plan_states_it(law: Any) -> None:
    account = replace(account_of([of(ab.mean("bmi"))], []), missing=law)
    text = law_of(account)
    assert max(map(len, text.splitlines())) <= 80
    again = ab.missing.from_dict(tomllib.loads(text)["missingness"], SCHEMA)
    assert again.to_dict() == law.to_dict()


def test_init_prints_what_later_releases_may_use_and_what_the_plan_will_count(tmp_path: Path) -> None:
    (tmp_path / "plan.toml").write_text(PLAN_TOML)
    (tmp_path / "later.toml").write_text(PLAN_TOML.replace('epsilon = "1"', 'epsilon = "1/2"'))
    words = ["ledger", "init", str(tmp_path / "b"), str(tmp_path / "plan.toml"), "--epsilon", "2"]
    result = CliRunner().invoke(cli, [*words, "--later", str(tmp_path / "later.toml")])
    assert result.exit_code == 0, result.output
    assert "later Gaussian releases may use: hyp; bmi with hyp; any" in " ".join(result.output.split())
    counted = float(result.output.split("costs alone; ")[1].split()[0])
    assert 1.001 < counted < 1.3
    assert max(map(len, result.output.splitlines())) <= 80
