"""Amputation: reproducible by seed, rows independent, frequencies as stated, nothing read that is not declared."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy.stats import chi2

from absentia import missing
from absentia.errors import InputError
from absentia.missing.ampute import reference_records
from absentia.missing.domain import domain_of

COLUMNS = ("x", "y", "g")
DOMAIN = {"x": [0, 10], "y": [-1, 1], "g": ["p", "q"]}
ROWS = 40_000


def frame(rows: int = ROWS) -> pl.DataFrame:
    rng = np.random.default_rng(7)
    return pl.DataFrame(
        {
            "x": rng.uniform(0, 10, rows),
            "y": rng.uniform(-1, 1, rows),
            "g": rng.choice(["p", "q"], rows),
            "id": range(rows),
        }
    )


def observed(table: pl.DataFrame) -> np.ndarray:
    return np.column_stack([table[c].is_not_null().to_numpy() for c in COLUMNS])


PROCESSES = [
    missing.planned(COLUMNS, [["x"], ["y"]], ["0.3", "0.7"]),
    missing.patterns(COLUMNS, [["x", "y"], ["g"], []], ["0.5", "0.25", "0.25"]),
    missing.independent(COLUMNS, {"x": "0.3", "g": "0.9"}),
    missing.independent_blocks(COLUMNS, [["x", "y"]], ["0.6"]),
    missing.matrix_sampling(COLUMNS, [["x"], ["y"], ["g"]], 2),
    missing.unit_nonresponse(missing.independent(COLUMNS, {"x": "0.5"}), "0.2"),
    missing.product(missing.planned(COLUMNS, [["x"], ["y"]]), missing.independent(COLUMNS, {"y": "0.5"})),
    missing.subsampling(COLUMNS, "0.1"),
]


@pytest.mark.parametrize("process", PROCESSES, ids=lambda p: p.name)
def test_number_shown_follows_the_stated_law(process: missing.Process) -> None:
    """Chi-square of the observed counts against the exact law, at 1e-6."""
    shown = observed(process.mask(frame(), seed=11)).sum(axis=1)
    law = process.observed_count()
    statistic, cells = 0.0, 0
    for level, mass in law.atoms:
        expected = float(mass) * ROWS
        if expected < 1e-6:
            continue
        statistic += (np.sum(shown == level) - expected) ** 2 / expected
        cells += 1
    assert set(np.unique(shown)) <= set(law.reach)
    assert statistic <= chi2.isf(1e-6, max(cells - 1, 1))


def test_the_seed_decides_and_nothing_else_changes() -> None:
    table, process = frame(500), PROCESSES[2]
    once, again, other = process.mask(table, 1), process.mask(table, 1), process.mask(table, 2)
    assert once.equals(again)
    assert not once.equals(other)
    assert once["id"].equals(table["id"])
    kept = once["x"].is_not_null()
    assert once["x"].filter(kept).equals(table["x"].filter(kept))


def test_pandas_and_polars_lose_the_same_entries() -> None:
    table = frame(300)
    a = missing.mnar_self_masking(COLUMNS, {"x": ("0", "3")}, DOMAIN).mask(table, 5)
    b = missing.mnar_self_masking(COLUMNS, {"x": ("0", "3")}, DOMAIN).mask(table.to_pandas(), 5)
    assert isinstance(b, pd.DataFrame)
    assert (a["x"].is_null().to_numpy() == b["x"].isna().to_numpy()).all()


def test_a_row_loses_entries_by_its_own_values_only() -> None:
    """Changing other rows leaves a row's mask alone: nothing is calibrated or ranked on the frame."""
    table = frame(200)
    process = missing.mnar_self_masking(COLUMNS, {"x": ("-1", "4")}, DOMAIN)
    changed = table.with_columns(pl.when(pl.col("id") == 0).then(pl.col("x")).otherwise(pl.lit(9.9)).alias("x"))
    for seed in range(20):
        assert (process.mask(table, seed)["x"][0] is None) == (process.mask(changed, seed)["x"][0] is None)


def test_self_masking_hides_by_the_logistic_of_its_own_value() -> None:
    process = missing.mnar_self_masking(COLUMNS, {"x": ("-0.5", "2")}, DOMAIN)
    table = frame()
    lost = process.mask(table, 3)["x"].is_null().to_numpy()
    chance = 1 / (1 + np.exp(0.5 - 2 * (table["x"].to_numpy() / 5 - 1)))
    z = (lost - chance).sum() / math.sqrt((chance * (1 - chance)).sum())
    high = table["x"].to_numpy() > 9
    assert abs(z) < 5
    assert lost[high].mean() == pytest.approx(chance[high].mean(), abs=0.03)


def test_mar_patterns_hide_by_what_they_leave() -> None:
    process = missing.mar(
        COLUMNS, [{"missing": ["x", "y"], "mass": 1, "score": {"intercept": "0", "g": {"p": "1"}}}], DOMAIN
    )
    table = frame()
    lost = process.mask(table, 4)
    assert (lost["x"].is_null() == lost["y"].is_null()).all()
    for value, score in (("p", 1), ("q", 0)):
        share = lost.filter(pl.col("g") == value)["x"].is_null().mean()
        assert share == pytest.approx(1 / (1 + math.exp(-score)), abs=0.02)


def test_censoring_at_a_public_threshold() -> None:
    lost = missing.mnar_censoring(COLUMNS, {"x": ("7.5", 1, 0)}, DOMAIN).mask(frame(), 1)
    assert lost["x"].max() < 7.5
    assert (lost["x"].is_null() == (frame()["x"] >= 7.5)).all()


@pytest.mark.parametrize("mechanism", ["mcar", "mar", "mnar"])
@pytest.mark.parametrize(("rows", "cells"), [("0.4", None), (None, "0.2")])
def test_proportions_are_named_and_met_on_the_reference(mechanism: str, rows: str | None, cells: str | None) -> None:
    weights = {"mcar": None, "mar": [{"y": "2"}, {"g": {"p": "1.5"}}], "mnar": [{"x": "2"}, {"x": "1", "y": "-3"}]}
    process = missing.amputation(
        COLUMNS,
        missing=[["x"], ["x", "y"]],
        mass=["0.25", "0.75"],
        proportion_of_rows=rows,
        proportion_of_cells=cells,
        mechanism=mechanism,  # type: ignore[arg-type]
        weights=weights[mechanism],
        domain=DOMAIN,
    )
    shown = observed(process.mask(frame(), 9))
    if rows is not None:
        assert (~shown).any(axis=1).mean() == pytest.approx(0.4, abs=0.02)
    else:
        assert (~shown).mean() == pytest.approx(0.2, abs=0.02)
    assert process.data_dependent == (mechanism != "mcar")


def test_column_shares_are_met_on_the_reference() -> None:
    process = missing.column_amputation(
        COLUMNS, {"x": "0.3", "y": "0.6"}, {"x": {"x": "2"}, "y": {"g": {"q": "1"}}}, DOMAIN
    )
    shown = observed(process.mask(frame(), 2))
    assert 1 - shown.mean(axis=0) == pytest.approx([0.3, 0.6, 0.0], abs=0.015)


def test_the_reference_is_declared_not_sampled() -> None:
    points = reference_records(domain_of(COLUMNS, DOMAIN), ["x", "g"], "uniform")
    again = reference_records(domain_of(COLUMNS, DOMAIN), ["x", "g"], "uniform")
    assert (points["x"] == again["x"]).all()
    assert np.mean(points["x"]) == pytest.approx(0, abs=1e-3)
    assert np.mean(points["g"] == "p") == pytest.approx(0.5, abs=1e-3)
    assert np.std(reference_records(domain_of(COLUMNS, DOMAIN), ["y"], "normal")["y"]) == pytest.approx(1 / 3, abs=0.01)


def test_bad_frames_and_proportions_name_their_field() -> None:
    model = missing.mnar_self_masking(COLUMNS, {"x": (0, 1)}, DOMAIN)
    for frame_, field in (
        (frame(5).drop("y"), "frame.columns"),
        (frame(5).with_columns(pl.lit(None, dtype=pl.Float64).alias("x")), "frame.x"),
        (frame(5).with_columns(pl.lit("many").alias("x")), "frame.x"),
        (frame(5).to_pandas().set_axis(range(4), axis=1), "frame.columns"),
        (pd.concat([frame(5).to_pandas()] * 2, axis=1), "frame.columns"),
        ({"x": [1]}, "frame"),
    ):
        with pytest.raises(InputError) as error:
            model.mask(frame_, 1)
        assert error.value.field.startswith(field)
    with pytest.raises(InputError) as error:
        model.mask(frame(5), -1)
    assert error.value.field == "seed"
    with pytest.raises(InputError) as error:
        missing.amputation(COLUMNS, [["x"]], proportion_of_cells="0.5")
    assert error.value.field == "proportion_of_cells"
    with pytest.raises(InputError) as error:
        missing.amputation(COLUMNS, [["x"]], proportion_of_cells="0.1", proportion_of_rows="0.1")
    assert error.value.field == "proportion_of_rows"


def test_values_of_a_category_are_those_declared() -> None:
    model = missing.mnar_logistic(["s"], {"s": {"intercept": -50, "s": {"1": 100}}}, {"s": {"values": ["1", "2"]}})
    for values in (["1", "2"], [1, 2], [1.0, 2.0]):
        assert model.mask(pl.DataFrame({"s": values}), 1)["s"].is_null().to_list() == [True, False]
    wrong = (["1", "3"], pd.array(["1", pd.NA], dtype="string"))
    for values in wrong:
        with pytest.raises(InputError) as error:
            model.mask(pd.DataFrame({"s": values}), 1)
        assert error.value.field == "frame.s"
        assert "3" not in str(error.value)


def test_a_value_at_the_threshold_reaches_it() -> None:
    """Compared in the column's own unit: z of 9 on [0, 100] is rounded."""
    for bounds, step in (([0, 100], 1), (["0.1", "0.9"], 0.001)):
        for k in range(1, 100):
            at = round(k * step, 6) if step == 1 else round(0.1 + k * step, 6)
            model = missing.mnar_censoring(["x"], {"x": (str(at), 1, 0)}, {"x": bounds})
            holes = model.mask(pl.DataFrame({"x": [math.nextafter(at, 0), float(at)]}), 1)
            assert holes["x"].is_null().to_list() == [False, True]


def test_names_are_only_names() -> None:
    names = ["self", "*", "^a$"]
    process = missing.planned(names, [["self"], ["*"], ["^a$"]], [1, 0, 0])
    table = {name: [1, 2] for name in names}
    in_polars, in_pandas = process.mask(pl.DataFrame(table), 1), process.mask(pd.DataFrame(table), 1)
    assert [in_polars[name].null_count() for name in names] == [0, 2, 2]
    assert [int(in_pandas[name].isna().sum()) for name in names] == [0, 2, 2]
