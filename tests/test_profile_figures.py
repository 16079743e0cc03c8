"""The figures of a profile: right counts, the same bytes, legible scope and stamp, from one column to many."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import polars as pl
import pytest

from absentia.planning.schema import Schema
from absentia.table.figures import draw, missing_bars, pair_map, pattern_plot
from absentia.table.profile import STAMP, Profile, profile

UNIT = {"kind": "number", "bounds": [0, 1]}


def table(d: int, rate: float = 0.4, n: int = 400, seed: int = 1) -> Profile:
    rng = np.random.default_rng(seed)
    names = [f"q_{i}$x^2" if i % 3 == 0 else f"q{i}" for i in range(d)]
    values = np.where(rng.random((n, d)) < rate * rng.random(d), np.nan, 0.5)
    columns = dict.fromkeys(names, UNIT)
    return profile(pl.DataFrame(values, schema=names, orient="row"), Schema.from_dict({"columns": columns}))


@pytest.mark.parametrize("d", [3, 40])
def test_the_same_bytes_twice(d: int, tmp_path: Path) -> None:
    first, second = draw(table(d), tmp_path / "a"), draw(table(d), tmp_path / "b")
    assert [path.stem for path in first] == ["missing", "patterns", "pairs"]
    for one, two in zip(first, second, strict=True):
        assert one.read_bytes() == two.read_bytes()
        text = one.read_text("utf-8")
        assert ElementTree.fromstring(text).tag.endswith("svg")
        assert "dc:date" not in text


def test_bars_are_the_counts() -> None:
    p = table(5)
    bars, dots = pattern_plot(p).axes
    drawn = [round(patch.get_height()) for patch in bars.patches]
    patterns = list(p.patterns())[: len(drawn)]
    assert drawn == [rows for _, rows in patterns]
    coloured = dots.collections[1:]
    assert sum(len(points.get_offsets()) for points in coloured) == sum(len(missing) for missing, _ in patterns)
    rates = [patch.get_width() for patch in missing_bars(p).axes[0].patches[5:]]
    assert rates == pytest.approx(sorted((100 * r for r in p.missing_rate.values()), reverse=True))


def test_correlations_are_numpys() -> None:
    rng = np.random.default_rng(3)
    common = rng.random(600) < 0.3
    mask = np.stack([common | (rng.random(600) < q) for q in (0.05, 0.2, 0.5)], axis=1)
    names = ["a", "b", "c"]
    frame = pl.DataFrame(np.where(mask, np.nan, 0.5), schema=names, orient="row")
    columns = dict.fromkeys(names, UNIT)
    axes = pair_map(profile(frame, Schema.from_dict({"columns": columns}))).axes[0]
    order = [names.index(label.get_text()) for label in axes.get_yticklabels()]
    drawn = np.asarray(axes.images[0].get_array().filled(1.0))
    assert drawn == pytest.approx(np.corrcoef(mask[:, order].T), abs=1e-12)


@pytest.mark.parametrize("d", [1, 3, 40, 90])
def test_everything_carries_scope_and_stamp(d: int) -> None:
    for figure in (paint(table(d)) for paint in (missing_bars, pattern_plot, pair_map)):
        if figure is not None:
            texts = [text.get_text() for text in figure.texts]
            assert STAMP in texts
            assert any(f"relative to {d} column" in text for text in texts)


def test_nothing_to_show_is_no_figure(tmp_path: Path) -> None:
    assert [path.stem for path in draw(table(4, rate=0), tmp_path)] == ["missing"]
    assert draw(table(4, n=0), tmp_path / "none") == []


def test_names_of_any_script_are_drawn_without_a_warning(tmp_path: Path, recwarn: pytest.WarningsRecorder) -> None:
    names = ["年齢", "عمر", "उम्र", *(f"questionnaire_about_health_and_habits_{i}" for i in range(5))]
    rng = np.random.default_rng(4)
    frame = pl.DataFrame(np.where(rng.random((60, 8)) < 0.4, np.nan, 0.5), schema=names, orient="row")
    p = profile(frame, Schema.from_dict({"columns": dict.fromkeys(names, UNIT)}))
    assert len(draw(p, tmp_path)) == 3
    assert not recwarn.list
    labels = [label.get_text() for label in missing_bars(p).axes[0].get_yticklabels()]
    assert len(set(labels)) == 8
