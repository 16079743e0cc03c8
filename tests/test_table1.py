"""The paper's table of real datasets: every figure against a plain reading of the files and known histograms."""

from __future__ import annotations

import csv
import json
from collections import Counter
from fractions import Fraction
from pathlib import Path

import pytest
from click.testing import CliRunner

from absentia.cli.app import main
from absentia.cli.paper import paper
from absentia.cli.table1 import DATASETS, Entry, rounded, table1, truncated
from absentia.errors import InputError
from absentia.planning.schema import Schema
from absentia.table.profile import Profile, profile

HISTOGRAMS = {  # observed columns: rows, the sometimes-missing columns only
    "nhanes": (3, {0: 7, 1: 1, 2: 4, 3: 13}, 5),
    "selfreport": (6, {2: 400, 3: 1660}, 3),
    "housevotes84": (
        16,
        {0: 1, 1: 1, 2: 1, 7: 1, 9: 1, 10: 4, 11: 5, 12: 6, 13: 16, 14: 43, 15: 124, 16: 232},
        76,
    ),
    "vnf": (
        14,
        {0: 2, 3: 2, 4: 2, 5: 4, 6: 5, 7: 18, 8: 7, 9: 24, 10: 61, 11: 209, 12: 70, 13: 119, 14: 709},
        102,
    ),
}
RATES = {
    "nhanes": "age 0, bmi 36, hyp 32, chl 40",
    "selfreport": "hm 39, wm 39, bm 39, prg 80.4, edu 61, etn 61, id 0, web 0",
    "housevotes84": "Class 0, V16 23.9, V2 11.0, V12 7.1, V15 6.4, V13 5.7, V9 5.1, V11 4.8, V14 3.9, V5 3.4, V8 3.4, "
    "V7 3.2, V1 2.8, V3 2.5, V4 2.5, V6 2.5, V10 1.6",
    "vnf": "Q30.3 31.9, Q30.2 24.3, Q30.1 23.2, Q29.3 11.9, Q7.2 7.1, Q29.2 5.8, Q7.1 4.0, Q40.3 3.7, Q7.4 3.2, "
    "Q9Nav.3 2.9, Q40.1 2.4, Q8.2 2.3, Q8.3 2.2, Q8.1 2.0",
}
INTERVALS = {"nhanes": (0.506, 0.879), "housevotes84": (0.987, 0.9999), "vnf": (0.994, 0.9998)}
WIDE = [d for d in DATASETS if d.name in HISTOGRAMS]


@pytest.fixture(scope="module")
def entries(real_data: Path) -> dict[str, Entry]:
    return {e.name: e for e in table1(real_data)}


def profiled(folder: Path, name: str, drop: tuple[str, ...] = ()) -> Profile:
    dataset = next(d for d in DATASETS if d.name == name)
    columns = {c: kind for c, kind in dataset.schema["columns"].items() if c not in drop}
    return profile(folder / dataset.file, Schema.from_dict(dataset.schema | {"columns": columns}))


@pytest.mark.parametrize("dataset", WIDE, ids=lambda d: d.name)
def test_profiles_equal_a_plain_reading(dataset: object, real_data: Path) -> None:
    """The standard library's reader, only the empty string missing, a record of only commas kept."""
    p = profiled(real_data, dataset.name)  # type: ignore[attr-defined]
    with (real_data / dataset.file).open(newline="") as lines:  # type: ignore[attr-defined]
        header, *records = csv.reader(lines)
    assert list(p.columns) == header
    assert p.unparsed == {}
    patterns = Counter(tuple(c for c, cell in zip(header, r, strict=True) if cell == "") for r in records)
    assert dict(p.patterns()) == dict(patterns)
    assert p.rows == len(records)


@pytest.mark.parametrize("name", HISTOGRAMS)
def test_histograms_rates_and_intervals(name: str, real_data: Path) -> None:
    width, histogram, patterns = HISTOGRAMS[name]
    whole = profiled(real_data, name)
    always = whole.always_observed
    some = profiled(real_data, name, drop=always)
    assert (some.width, some.observed_histogram) == (width, histogram)
    assert whole.observed_histogram == {k + len(always): rows for k, rows in histogram.items()}
    assert len(list(whole.patterns())) == len(list(some.patterns())) == patterns
    for item in RATES[name].split(", "):
        column, percent = item.split()
        assert 100 * whole.missing_rate[column] == pytest.approx(float(percent), abs=0.0501)
    if name in INTERVALS:
        assert some.p_star_interval == pytest.approx(INTERVALS[name], abs=6e-4)


def test_records_of_only_commas_are_fully_missing(real_data: Path) -> None:
    lines = (real_data / "vnf.csv").read_text().splitlines()
    assert [i for i, line in enumerate(lines) if set(line) == {","}] == [841, 1073]
    assert profiled(real_data, "vnf").fully_missing_rows == 2


def test_ratings_as_a_long_table(entries: dict[str, Entry], real_data: Path) -> None:
    with (real_data / "movielens_latest_small.csv").open(newline="") as lines:
        ratings = list(csv.DictReader(lines))
    users = Counter(r["user"] for r in ratings)
    movies = entries["ml-latest-small"]
    assert movies.rows == len(users) == 610
    assert movies.histogram == dict(sorted(Counter(users.values()).items()))
    assert (min(movies.histogram), max(movies.histogram)) == (20, 2698)
    assert movies.ours[0].rho == Fraction(2698, 9724)
    p = profiled(real_data, "ml-latest-small")
    seen = Counter(r["item"] for r in ratings)
    assert p.missing_rate == {item: (610 - c) / 610 for item, c in seen.items()}


FIGURES = {  # all columns, sometimes missing, no ids and no labels: p*, rho
    "nhanes": ("1 1", "18/25 1", "1 1"),
    "housevotes84": ("1 1", "434/435 1", "434/435 1"),
    "vnf": ("1230/1232 1", "1230/1232 1", "1230/1232 1"),
    "selfreport": ("1 12/15", "1 3/6", "1 11/14"),
    "MovieLens20M": ("1 9254/26744", "1 9254/27278"),
    "ml-latest-small": ("1 2698/9724",),
}


def test_every_figure_of_every_convention(entries: dict[str, Entry]) -> None:
    for name, figures in FIGURES.items():
        assert [(c.p_star, c.rho) for c in entries[name].ours] == [tuple(map(Fraction, f.split())) for f in figures]
    assert list(entries) == ["nhanes", "housevotes84", "vnf", "selfreport", "MovieLens20M", "ml-latest-small"]


def test_what_reproduces_the_paper(entries: dict[str, Entry]) -> None:
    assert entries["nhanes"].matches("p_star") == ["sometimes missing"]
    assert entries["selfreport"].matches("rho") == ["no ids, no labels"]
    assert entries["MovieLens20M"].matches("rho") == ["listed items, truncated"]
    for name, subsets in (("housevotes84", (65535, 0, 1)), ("vnf", (16383, 0, 2))):
        assert entries[name].matches("p_star") == []
        assert entries[name].subsets == subsets
        assert len(entries[name].matches("rho")) == 3


def test_column_sets_against_enumeration(entries: dict[str, Entry], real_data: Path) -> None:
    p = profiled(real_data, "nhanes")
    found = []
    for bits in range(1, 8):
        names = {c for i, c in enumerate(("bmi", "hyp", "chl")) if bits >> i & 1}
        shown = sum(rows for missing, rows in p.patterns() if not names <= set(missing))
        found.append(Fraction(shown, p.rows))
    expected = (7, sum(rounded(x) == "0.72" for x in found), sum(truncated(x) == "0.72" for x in found))
    assert entries["nhanes"].subsets == expected
    assert expected[1] > 0


def test_two_decimals() -> None:
    for x, near, cut in (
        ("0.125", "0.13", "0.12"),
        ("0.995", "1.00", "0.99"),
        ("1", "1.00", "1.00"),
        ("0", "0.00", "0.00"),
    ):
        assert (rounded(Fraction(x)), truncated(Fraction(x))) == (near, cut)


def test_the_command(real_data: Path) -> None:
    text = CliRunner().invoke(paper, ["table1", "--data", str(real_data)])
    assert text.exit_code == 0
    assert max(map(len, text.output.splitlines())) <= 80
    refused = [line.split()[0] for line in text.output.splitlines() if "NOT REPRODUCIBLE" in line]
    assert refused == ["housevotes84", "vnf"]
    raw = CliRunner().invoke(paper, ["table1", "--data", str(real_data), "--json"]).output
    found = json.loads(raw)
    assert raw == json.dumps(found, indent=2, sort_keys=True) + "\n"
    assert found["table1"] == json.loads(json.dumps([e.to_dict() for e in table1(real_data)]))


def test_the_folder_is_found_in_the_environment_or_beside(
    real_data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ABSENTIA_DATA", str(real_data))
    named = CliRunner().invoke(paper, ["table1"])
    monkeypatch.delenv("ABSENTIA_DATA")
    (tmp_path / "shared").mkdir()
    (tmp_path / "shared" / "data").symlink_to(real_data.resolve())
    (tmp_path / "repository").mkdir()
    monkeypatch.chdir(tmp_path / "repository")
    beside = CliRunner().invoke(paper, ["table1"])
    assert named.exit_code == beside.exit_code == 0
    assert named.output == beside.output


def test_absent_datasets_are_exit_code_2(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("ABSENTIA_DATA", str(tmp_path))
    with pytest.raises(SystemExit) as done:
        main(["paper", "table1"])
    assert done.value.code == 2
    message = " ".join(capsys.readouterr().err.split())
    assert "[E-DATA]" in message
    assert "a folder with nhanes.csv" in message
    assert "docs/profile.md says where they come from" in message


def test_another_file_under_the_name_of_a_dataset_is_refused(real_data: Path, tmp_path: Path) -> None:
    for d in DATASETS:
        (tmp_path / d.file).write_bytes((real_data / d.file).read_bytes())
    (tmp_path / "nhanes.csv").write_text("age,bmi,hyp,chl\n1,2,3,four\n")
    with pytest.raises(InputError, match=r"docs/profile\.md"):
        table1(tmp_path)
