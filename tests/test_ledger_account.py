"""What a book adds up to, and every way we know to spend more than it holds: each is refused, and nothing is lost."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from types import MappingProxyType
from typing import Any

import polars as pl
import pytest
from click.testing import CliRunner

import absentia as ab
from absentia.cli.app import cli
from absentia.errors import AbsentiaError, HazardRefused, InputError, LedgerDamaged
from absentia.ledger.book import Book
from absentia.ledger.certification import certify
from absentia.ledger.ledger import Ledger
from absentia.query.distance import Distances
from release_world import LAW, ONE, SCHEMA, book_of, planned, table

HALF = ab.Budget("1/2", "1e-6")
BOTH = ["bmi", "chl"]


def of(*queries: Any, budget: ab.Budget = HALF, noise: str = "gaussian", **options: Any) -> ab.Plan:
    return ab.plan(SCHEMA, list(queries), LAW, budget=budget, noise=noise, **options)


def refused(code: str, action: Callable[[], Any], book: Ledger) -> AbsentiaError:
    """The refusal; the book is as it was and can still be read."""
    before, spent = book.book.rows(), book.spent()
    with pytest.raises(AbsentiaError) as refusal:
        action()
    assert refusal.value.code == code
    assert book.book.rows() == before
    assert book.spent() == spent
    book.verify()
    assert book.summary()["releases"] is not None
    return refusal.value


# -- what composes ----------------------------------------------------------------------------------------------------


def test_the_first_release_costs_its_own_figure(tmp_path: Path) -> None:
    plan = of(ab.mean("bmi"))
    with book_of(tmp_path, plan, budget=ONE) as book:
        book.charge(plan, "first")
        g = plan.guarantee
        assert book.spent() == {
            "with_missingness": g.epsilon("1e-6"),
            "without_missingness": g.without_missingness.epsilon("1e-6"),
            "if_mask_known": g.if_mask_known.epsilon("1e-6"),
        }


@pytest.mark.parametrize("noise", ["gaussian", "laplace"])
def test_totals_come_from_base_losses_in_any_order(tmp_path: Path, noise: str) -> None:
    small = ab.Budget("1/4", "1e-6")
    one, two = of(ab.mean("bmi"), noise=noise, budget=small), of(ab.count("chl"), noise=noise, budget=small)
    spent = []
    for name, order in (("a", (one, two)), ("b", (two, one))):
        with Ledger.create(tmp_path / name, of(ab.mean("bmi"), ab.count("chl"), noise=noise), budget=ONE) as book:
            for plan in order:
                book.charge(plan, "part")
            spent.append(book.spent())
    assert spent[0] == spent[1]
    together = one.batch + two.batch
    wanted = together.guarantee(LAW).epsilon(0 if noise == "laplace" else "1e-6")
    assert spent[0]["with_missingness"] >= wanted * (1 - 1e-9)
    assert spent[0]["without_missingness"] >= together.guarantee(LAW).without_missingness.epsilon("1e-6") * (1 - 1e-9)


def test_many_small_releases_are_one_large_one(tmp_path: Path) -> None:
    """k equal Gaussian releases are one with sqrt(k) times the distances; adding amplified figures would differ."""
    plan = of(ab.mean("bmi"), budget=ab.Budget("1/10", "1e-6"))
    with book_of(tmp_path, plan, budget=ONE) as book:
        for i in range(9):
            book.charge(plan, f"part {i}")
        three = plan.batch.scaled(3).guarantee(LAW, adaptive=True)
        assert book.spent()["with_missingness"] == pytest.approx(three.epsilon("1e-6"), rel=1e-6)


# -- ways to overspend ------------------------------------------------------------------------------------------------


def test_a_follow_up_cannot_be_steered_to_other_masks(tmp_path: Path) -> None:
    """THEORY 5: after an answer about A and B, no law lowers the price of a query about the one that looks seen."""
    first, steered = of(ab.mean("bmi"), ab.count("chl")), of(ab.count("hyp"))
    with book_of(tmp_path, first, budget=ab.Budget("0.7", "1e-6")) as book:
        book.charge(first, "look")
        refusal = refused("B-BUDGET", lambda: book.charge(steered, "steer"), book)
        assert "it asks about hyp, which no plan named when the book was opened" in refusal.what
        book.charge(of(ab.count("chl"), budget=ab.Budget("1/10", "1e-6")), "within the unit")
    plainly = (first.batch + steered.batch).guarantee(LAW).without_missingness.epsilon("1e-7")
    with Ledger.create(tmp_path / "b", first, budget=ab.Budget(str(plainly * 1.001), "1e-6")) as book:
        book.charge(first, "look")
        book.charge(steered, "held by plain composition")


def test_a_later_release_cannot_join_blocks(tmp_path: Path) -> None:
    apart, joined = of(ab.mean("bmi"), ab.mean("chl")), of(ab.moments(BOTH))
    assert len(apart.blocks) == 2
    with book_of(tmp_path, apart, budget=ab.Budget("0.7", "1e-6")) as book:
        book.charge(apart, "apart")
        refusal = refused("B-BUDGET", lambda: book.charge(joined, "joined"), book)
        assert "asks about bmi with chl" in refusal.what
    with Ledger.create(tmp_path / "b", apart, budget=ab.Budget("50", "1e-3"), later=[joined]) as book:
        book.charge(apart, "apart")
        alone = book.spent()["with_missingness"]
        book.charge(joined, "joined")
        assert book.spent()["with_missingness"] > alone


def test_families_mix_only_where_it_was_foreseen(tmp_path: Path) -> None:
    laplace, gaussian = of(ab.mean("bmi"), noise="laplace"), of(ab.mean("bmi"))
    with Ledger.create(tmp_path / "l", laplace, budget=ONE) as book:
        refused("H-FAMILY", lambda: book.charge(gaussian, "first"), book)
        book.charge(laplace, "first")
        refused("H-FAMILY", lambda: book.charge(gaussian, "second"), book)
    with Ledger.create(tmp_path / "g", gaussian, budget=ONE) as book:
        book.charge(gaussian, "first")
        assert "aside" in refused("B-BUDGET", lambda: book.charge(laplace, "second"), book).remedy
    large = ab.Budget("9", "1e-6")
    with Ledger.create(tmp_path / "m", gaussian, budget=large, aside=ab.Budget("2")) as book:
        book.charge(gaussian, "first")
        book.charge(laplace, "second")
        assert book.spent()["with_missingness"] > 0.5


def test_black_boxes_share_what_was_set_aside(tmp_path: Path) -> None:
    plan = of(ab.mean("bmi"))
    box: dict[str, Any] = {"epsilon": "1/4", "delta": "1e-8", "columns": BOTH, "purpose": "DP-SGD"}
    with Ledger.create(tmp_path / "a", plan, budget=ab.Budget("3", "1e-6"), aside=ab.Budget("1/2", "2e-8")) as book:
        book.charge(plan, "first")
        book.charge_black_box(**box)
        book.charge_black_box(**box)
        refused("B-BUDGET", lambda: book.charge_black_box(**box), book)
        refused("B-BUDGET", lambda: book.charge_black_box(**box | {"epsilon": "0", "delta": "1e-9"}), book)


@pytest.mark.parametrize("change", [
    {"epsilon": "-1"}, {"epsilon": 0.5}, {"epsilon": "nan"}, {"epsilon": math.inf}, {"epsilon": None},
    {"delta": "-1e-9"}, {"delta": "2"}, {"delta": 1e-9}, {"columns": []}, {"columns": [3]}, {"columns": ""},
    {"columns": ["nobody"]}, {"purpose": " "}, {"purpose": 3},
], ids=str)  # fmt: skip
def test_a_black_box_states_itself_well(tmp_path: Path, change: dict[str, Any]) -> None:
    box: dict[str, Any] = {"epsilon": "1/4", "delta": "1e-8", "columns": ["bmi"], "purpose": "DP-SGD"}
    with book_of(tmp_path, of(ab.mean("bmi")), budget=ONE) as book:
        refused("E-INPUT", lambda: book.charge_black_box(**box | change), book)
        book.charge_black_box(**box)


@pytest.mark.parametrize("relation", ["substitute", "add_remove"])
@pytest.mark.parametrize("noise", ["laplace", "gaussian"])
def test_steered_rows_count_in_a_book_as_in_a_plan(tmp_path: Path, relation: str, noise: str) -> None:
    """Two equal releases: twice the pure figure, or the Gaussian figure at root 2 times the distance."""
    plan = of(ab.mean("bmi"), noise=noise, dependent_rows=2, relation=relation)
    both = plan.batch + plan.batch
    delta = 0 if noise == "laplace" else "1e-6"
    with Ledger.create(tmp_path / "b", plan, budget=ab.Budget("9", "1e-6")) as book:
        for purpose in ("one", "two"):
            book.charge(plan, purpose)
        assert book.account.binding_epsilon(book.account.guarantee(), Fraction(delta)) == pytest.approx(
            both.guarantee(LAW, relation, 2).epsilon(delta), rel=1e-9
        )


def test_dependent_rows_take_no_black_box_with_a_delta(tmp_path: Path) -> None:
    plan = of(ab.mean("bmi"), dependent_rows=1)
    with book_of(tmp_path, plan, budget=ONE) as book:
        box: dict[str, Any] = {"epsilon": "1/4", "columns": ["bmi"], "purpose": "DP-SGD"}
        refused("E-INPUT", lambda: book.charge_black_box(**box, delta="1e-9"), book)
        book.charge_black_box(**box)
        assert book.spent()["with_missingness"] == pytest.approx(0.5, rel=1e-4)


@pytest.mark.parametrize("noise", ["gaussian", "laplace"])
def test_scales_that_were_tampered_with_are_charged_as_they_are(tmp_path: Path, noise: str) -> None:
    """Less noise than the plan found: the plan refuses itself, and the book charges what the noise really costs."""
    plan = planned(noise=noise)
    weak = replace(plan, scales=MappingProxyType({s: x / 3 for s, x in plan.scales.items()}))
    cheap = replace(weak, budget=ab.Budget("50", "1e-6"))
    with book_of(tmp_path, plan) as book:
        for tampered in (weak, cheap):
            refused("B-BUDGET", lambda t=tampered: t.release(table(), book, purpose="cheap"), book)  # type: ignore[misc]
        refused("B-BUDGET", lambda: book.charge(weak, "cheap"), book)
        one = dict(plan.scales) | {next(iter(plan.scales)): 1e-3}
        refused("B-BUDGET", lambda: book.charge(replace(plan, scales=MappingProxyType(one)), "one"), book)


def test_a_plan_for_other_neighbours_or_another_law_is_refused(tmp_path: Path) -> None:
    plan = of(ab.mean("bmi"))
    rarer = ab.missing.independent(SCHEMA, {"bmi": "1/100", "chl": "1/100", "hyp": "1/100"}, because="wish")
    with book_of(tmp_path, plan) as book:
        refused("E-INPUT", lambda: book.charge(of(ab.mean("bmi"), relation="add_remove"), "p"), book)
        refused("E-INPUT", lambda: book.charge(of(ab.mean("bmi"), noise="laplace", dependent_rows=2), "p"), book)
        refused("H19", lambda: book.charge(ab.plan(SCHEMA, ab.mean("bmi"), rarer, budget=HALF), "p"), book)
        refused("H19", lambda: book.charge(replace(plan, missing=rarer), "p"), book)
        narrow = SCHEMA.to_dict()
        narrow["columns"]["bmi"] = narrow["columns"]["bmi"] | {"bounds": [10, 61]}
        other = ab.Schema.from_dict(narrow)
        refused("E-SCHEMA", lambda: book.charge(ab.plan(other, ab.mean("bmi"), LAW, budget=HALF), "p"), book)


@pytest.mark.parametrize("relation", ["substitute", "add_remove"])
def test_the_binding_figure_may_be_the_one_without_missingness(tmp_path: Path, relation: str) -> None:
    plan = of(ab.moments(BOTH), relation=relation)
    without = plan.guarantee.without_missingness.epsilon("1e-6")
    assert without > 0.6
    with book_of(tmp_path, plan, budget=ab.Budget("0.6", "1e-6"), binding="without_missingness") as book:
        refused("B-BUDGET", lambda: book.charge(plan, "p"), book)
    wide = ab.Budget(str(Fraction(without) + Fraction(1, 10)), "1e-6")
    with Ledger.create(tmp_path / "b", plan, budget=wide, binding="without_missingness") as book:
        book.charge(plan, "p")
        refused("B-BUDGET", lambda: book.charge(plan, "p"), book)


def test_the_law_may_be_amended_but_not_in_hindsight(tmp_path: Path) -> None:
    plan = of(ab.moments(BOTH))
    certain = ab.missing.without(SCHEMA, because="it turned out so")
    silent = replace(LAW, because=" ")
    with book_of(tmp_path, plan) as book:
        refused("H13", lambda: book.amend(silent, "no reason"), book)
        book.charge(plan, "first")
        refused("B-BUDGET", lambda: book.amend(certain, "correction"), book)
        refused("E-INPUT", lambda: book.amend(LAW, " "), book)
    with Ledger.create(tmp_path / "b", plan, budget=ab.Budget("5", "1e-6")) as book:
        book.charge(plan, "first")
        before = book.spent()
        book.amend(certain, "correction")
        after = book.spent()
        assert after["with_missingness"] > before["with_missingness"]
        assert after["with_missingness"] == pytest.approx(after["without_missingness"], rel=1e-9)
        refused("H19", lambda: book.charge(plan, "under the old law"), book)


def test_a_law_is_certified_for_a_charge_and_once_the_budget_is_spent_for_none(tmp_path: Path) -> None:
    plan = of(ab.mean("bmi"), noise="laplace", budget=ab.Budget("1/2"))
    with book_of(tmp_path, plan, budget=ab.Budget("3/4")) as book:
        found = certify(table(), SCHEMA, book, epsilon="1/2", confidence="0.9", because="certified", by="office")
        assert book.verify(found.receipt)
        assert book.spent()["without_missingness"] == pytest.approx(0.5, rel=1e-9)
        refused("B-BUDGET", lambda: certify(table(), SCHEMA, book, epsilon="1/2"), book)
        refused("E-ROWS", lambda: certify(table(401), SCHEMA, book, epsilon="1/100"), book)


def test_the_law_of_the_average_row_takes_no_place_of_one_that_knows_of_values(tmp_path: Path) -> None:
    steered = ab.missing.mnar_censoring(SCHEMA, {"bmi": ("35", "0.9", "0.1")}, because="shame", by="office")
    plan = ab.plan(SCHEMA, ab.mean("bmi"), steered, noise="laplace", budget=ab.Budget("1/2"))
    with Ledger.create(tmp_path / "s", plan, budget=ab.Budget("2"), aside=ab.Budget("1")) as book:
        refused("H15", lambda: certify(table(), SCHEMA, book, epsilon="1/4", because="MCAR"), book)
        refused("E-INPUT", lambda: certify(table(), SCHEMA, book, epsilon="1/4", odds="1/2"), book)
        found = certify(table(), SCHEMA, book, epsilon="1/4", because="odds within 3", by="office", odds=3)
        assert found.amendment is not None
        assert book.account.missing.data_dependent


def test_what_a_cell_decides_is_not_asked_of_the_number_of_rows(tmp_path: Path) -> None:
    unit = ab.Schema.from_dict(SCHEMA.to_dict() | {"unit": "person"})
    law = ab.missing.independent(unit, dict.fromkeys(unit.columns, "1/2"), because="lot", by="office")
    plan = ab.plan(unit, ab.mean("bmi"), law, noise="laplace", budget=ab.Budget("1/2"))
    doubled = table().with_columns(person=pl.Series([1, 1, *range(2, table().height)]))
    with Ledger.create(tmp_path / "s", plan, budget=ab.Budget("2"), aside=ab.Budget("1")) as book:
        assert certify(doubled, unit, book, epsilon="1/4").amendment is not None
    free = ab.plan(SCHEMA, ab.mean("bmi"), LAW, noise="laplace", budget=ab.Budget("1/2"), relation="add_remove")
    with Ledger.create(tmp_path / "t", free, budget=ab.Budget("2"), aside=ab.Budget("1")) as book:
        refused("H3", lambda: certify(table(), SCHEMA, book, epsilon="1/4"), book)


def test_shares_change_the_noise_and_never_the_promise(tmp_path: Path) -> None:
    for share in ("1/1000000000000", 1, 10**6):
        plan = of(ab.mean("bmi", share=share), ab.count("chl"))
        assert Fraction(plan.guarantee.epsilon("1e-6")) <= Fraction(1, 2)
    for bad in (0, -1, "0", 10**7, "nan", math.nan, math.inf, True):
        with pytest.raises(InputError):
            ab.mean("bmi", share=bad)


def test_a_statistic_asked_twice_is_released_once(tmp_path: Path) -> None:
    once, twice = of(ab.mean("bmi")), of(ab.mean("bmi"), ab.count("bmi"), ab.total("bmi"))
    assert set(twice.statistics) == set(once.statistics)
    assert twice.guarantee.epsilon("1e-6") <= 0.5


@pytest.mark.parametrize(("rate", "delta"), [("0", "1e-6"), ("1e-7", "1e-6"), ("0", "0")])
def test_a_delta_that_covers_every_row_that_shows_something_buys_no_answer(rate: str, delta: str) -> None:
    rare = ab.missing.independent(SCHEMA, {"bmi": rate}, because="lot")
    for noise in ("laplace",) if delta == "0" else ("gaussian", "laplace"):
        with pytest.raises(HazardRefused) as refusal:
            ab.plan(SCHEMA, ab.mean("bmi"), rare, budget=ab.Budget("1", delta), noise=noise)
        assert refusal.value.code == "H1"
    stored = ab.plan(SCHEMA, ab.mean("bmi"), LAW, budget=ONE).to_dict()
    stored |= {"missingness": rare.to_dict(), "scales": [1e-100] * 3, "budget": {"epsilon": "1", "delta": "1e-6"}}
    with pytest.raises(HazardRefused, match="published as it stands"):
        ab.Plan.from_dict(stored)
    assert ab.plan(SCHEMA, ab.mean("bmi"), rare, budget=ab.Budget("1", "1e-8"), dependent_rows=1).scales


def test_opening_terms_that_promise_nothing_are_refused(tmp_path: Path) -> None:
    plan = of(ab.mean("bmi"))
    bad: list[dict[str, Any]] = [
        {"binding": "if_mask_known"}, {"aside": ab.Budget("2")}, {"aside": ab.Budget("1/4", "1/2")},
        {"later": [of(ab.mean("bmi"), noise="laplace")]}, {"later": [of(ab.mean("bmi"), relation="add_remove")]},
    ]  # fmt: skip
    for options in bad:
        with pytest.raises(InputError):
            book_of(tmp_path, plan, **options)
        assert not (tmp_path / "study.ledger").exists()


# -- rows that do not say what a row says -----------------------------------------------------------------------------

JUNK: list[Any] = [None, "x", -1, True, [], {}, "nan", "-1", "1e999999"]


def fields(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Every path into a JSON value."""
    children = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [p for key, child in children for p in [(*path, key), *fields(child, (*path, key))]]


def with_field(value: Any, path: tuple[Any, ...], new: Any) -> Any:
    """A copy with one field changed, or removed where `new` is Ellipsis."""
    out = copy.deepcopy(value)
    table_ = out
    for key in path[:-1]:
        table_ = table_[key]
    if new is ...:
        del table_[path[-1]]
    else:
        table_[path[-1]] = new
    return out


def rows_of_a_book(place: Path) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    plan = of(ab.mean("bmi"))
    with Ledger.create(
        place / "good.ledger", plan, budget=ab.Budget("3", "1e-6"), aside=ab.Budget("1", "1e-7")
    ) as book:
        book.charge(plan, "first")
        book.charge_black_box(epsilon="1/4", delta="1e-8", columns=["bmi"], purpose="box")
        opening, *later = [row.payload for row in book.book.rows()]
    return opening, later


ABOUT_PEOPLE = ("schema", "because", "by", "plan", "kind")
"""Fields that only people read, or that decide no figure: the chain alone guards them."""


def test_every_field_of_a_sealed_row_is_understood_or_the_book_is_damaged(tmp_path: Path) -> None:
    """Rows sealed by somebody who holds the key: a figure is given only where every loss is one, and none is lower."""
    opening, (batch, box) = rows_of_a_book(tmp_path)
    with Ledger.open(tmp_path / "good.ledger") as good:
        honest = good.spent()
    tried = 0
    for i, payload in enumerate((opening, batch, box)):
        for path in fields(payload):
            for junk in (..., *JUNK):
                if path[0] in ABOUT_PEOPLE or path[-1] in ABOUT_PEOPLE:
                    continue
                rows = [opening, batch, box]
                rows[i] = with_field(payload, path, junk)
                tried += 1
                damaged_or_dearer(rows, (i, path, junk), honest)
    assert tried > 500


def damaged_or_dearer(rows: list[dict[str, Any]], what: object, honest: dict[str, float]) -> None:
    from absentia.ledger.account import Account

    try:
        Account.from_rows(zip(("open", "charge", "charge"), rows, strict=True)).spent()
    except (LedgerDamaged, InputError, HazardRefused):
        return
    except Exception as e:
        raise AssertionError(f"{what} gives {type(e).__name__}: {e}") from e


@pytest.mark.parametrize("command", ["show", "verify", "export", "release"])
def test_a_damaged_book_ends_with_code_5_and_is_not_charged(tmp_path: Path, command: str) -> None:
    from release_world import PLAN_TOML

    (tmp_path / "plan.toml").write_text(PLAN_TOML)
    table().write_csv(tmp_path / "people.csv")
    opening, (batch, _) = rows_of_a_book(tmp_path)
    path = tmp_path / "bad.ledger"
    with Book.create(path, opening) as book:
        book.append("charge", with_field(batch, ("batch", "largest"), "nan"))
    words = ["ledger", command, str(path)]
    if command == "release":
        words = ["release", str(tmp_path / "plan.toml"), str(tmp_path / "people.csv"), "--ledger", str(path)]
    result = CliRunner().invoke(cli, words)
    assert isinstance(result.exception, LedgerDamaged), result.exception
    assert (result.exception.code, result.exception.exit_code) == ("L-DAMAGED", 5)
    assert "Row 1 (charge)" in result.exception.what
    assert result.exception.remedy
    with Book.open(path) as book:
        assert len(book.rows()) == 2


def test_largest_is_what_it_says() -> None:
    batch = of(ab.mean("bmi")).batch
    assert isinstance(batch.distances, Distances)
    assert type(batch).from_dict(batch.to_dict()) == batch
