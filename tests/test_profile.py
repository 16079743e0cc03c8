"""The profile against plain Python, its report, its keys, and the traps of a CSV file."""

from __future__ import annotations

import io
import json
import re
from collections import Counter
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binomtest

from absentia.cli.app import main
from absentia.cli.profile import profile as command
from absentia.errors import InputError
from absentia.planning.schema import Schema
from absentia.table.profile import STAMP, Profile, profile

DOCS = Path(__file__).parents[1] / "docs" / "profile.md"
NUMBER = {"kind": "number", "bounds": [0, 9]}
KEYS = """
    schema_version stamp rows declared_n rows_left_out entries_of_other_items rows_without_order
    columns_in_scope width missing_rate unparsed observed_histogram
    fully_missing_rows p_star p_star_interval k rho asked_k eta always_observed without_always_observed
    distinct_patterns rows_in_unlisted_patterns patterns both_missing
""".split()  # noqa: SIM905


def schema(*names: str) -> Schema:
    return Schema.from_dict({"columns": dict.fromkeys(names, NUMBER)})


def of(rows: list[list[int | None]], k: int | None = None) -> Profile:
    names = [f"c{i}" for i in range(len(rows[0]))]
    return profile(pl.DataFrame(rows, schema=dict.fromkeys(names, pl.Int64), orient="row"), schema(*names), k)


tables = st.integers(1, 5).flatmap(
    lambda d: st.lists(st.lists(st.sampled_from([None, None, 1, 4]), min_size=d, max_size=d), min_size=1, max_size=12)
)


@given(tables, st.integers(0, 5))
def test_every_figure_against_plain_python(rows: list[list[int | None]], k: int) -> None:
    n, d = len(rows), len(rows[0])
    k = min(k, d)
    p = of(rows, k)
    seen = [[cell is not None for cell in row] for row in rows]
    sizes = Counter(sum(row) for row in seen)
    assert p.observed_histogram == dict(sorted(sizes.items()))
    assert p.fully_missing_rows == sizes[0]
    assert p.p_star == (n - sizes[0]) / n
    assert (p.k, p.rho) == (max(sizes), max(sizes) / d)
    assert p.eta == sum(c for size, c in sizes.items() if size > k) / n
    assert p.missing_rate == {f"c{j}": sum(not row[j] for row in seen) / n for j in range(d)}
    patterns = Counter(tuple(f"c{j}" for j in range(d) if not row[j]) for row in seen)
    assert dict(p.patterns()) == dict(patterns)
    assert [c for _, c in p.patterns()] == sorted(patterns.values(), reverse=True)
    both = {(f"c{i}", f"c{j}"): sum(not r[i] and not r[j] for r in seen) for i in range(d) for j in range(i + 1, d)}
    assert {(a, b): c for a, b, c in p.pairs()} == {pair: c for pair, c in both.items() if c}


@given(tables)
def test_columns_that_are_always_observed_can_be_left_out_by_arithmetic(rows: list[list[int | None]]) -> None:
    rows = [[1, *row, 2] for row in rows]
    p, rest = of(rows), of(rows).without_always_observed()
    names = [name for name in p.columns if name not in p.always_observed]
    assert {"c0", f"c{len(rows[0]) - 1}"} <= set(p.always_observed)
    if rest is None:
        assert not names
        return
    frame = pl.DataFrame(rows, schema=dict.fromkeys(p.columns, pl.Int64), orient="row")
    without = profile(frame, schema(*names))
    assert rest == (pytest.approx(without.p_star), pytest.approx(without.rho))


def test_the_interval_is_clopper_and_pearsons() -> None:
    for missing, n in ((0, 25), (7, 25), (25, 25), (1, 435)):
        interval = binomtest(n - missing, n).proportion_ci(0.95, "exact")
        p = of([[None]] * missing + [[1]] * (n - missing))
        assert p.p_star_interval == pytest.approx((interval.low, interval.high), abs=1e-12)


def test_keys_are_stable_and_json_ready() -> None:
    found = of([[1, None], [None, None]]).to_dict()
    assert list(found) == KEYS
    assert json.loads(json.dumps(found, allow_nan=False)) == found
    assert found["stamp"] == "NOT FOR RELEASE; NOT A GUARANTEE"
    assert found["columns_in_scope"] == ["c0", "c1"]


def test_no_rows_is_not_an_error() -> None:
    p = profile(pl.DataFrame(schema={"a": pl.Float64}), schema("a"))
    assert (p.rows, p.k, p.p_star, p.fully_missing_rows) == (0, 0, 0.0, 0)
    assert STAMP in str(p)
    json.dumps(p.to_dict(), allow_nan=False)


@pytest.mark.parametrize("k", [-1, 3])
def test_k_is_between_nothing_and_everything(k: int) -> None:
    with pytest.raises(InputError, match="integer from 0 to 2"):
        of([[1, 2]], k)


def test_a_thousand_patterns_are_listed_and_the_rest_counted() -> None:
    rng = np.random.default_rng(1)
    rows = [[1 if x else None for x in row] for row in rng.random((4000, 14)) < 0.5]
    found = of(rows).to_dict()
    assert len(found["patterns"]) == 1000 < found["distinct_patterns"]


@pytest.mark.parametrize("d", [1, 3, 40, 60])
def test_the_report_fits_80_columns_and_is_stamped_at_both_ends(d: int) -> None:
    rng = np.random.default_rng(d)
    names = [f"question_with_a_long_name_{i}" * (1 + i % 2) for i in range(d)]
    values = np.where(rng.random((500, d)) < rng.random(d), np.nan, 20.0)
    frame = pl.DataFrame(values, schema=names, orient="row")
    text = str(profile(frame, schema(*names), k=1))
    lines = text.splitlines()
    assert max(map(len, lines)) <= 80
    assert lines[0].startswith(STAMP)
    assert lines[-1] == STAMP
    assert f"relative to {d} column" in text
    assert names[0] in text
    assert all(line == line.rstrip() for line in lines)


def test_ranges_of_counts_cover_every_row() -> None:
    n = 3000
    rows = np.random.default_rng(2).integers(0, 101, n)
    values = np.where(np.arange(100) < rows[:, None], 1.0, np.nan)
    names = [f"c{i}" for i in range(100)]
    text = str(profile(pl.DataFrame(values, schema=names, orient="row"), schema(*names)))
    block = text.split("rows, by observed columns\n")[1].split("\n\n")[0].splitlines()
    counts = [int(line[20:32].replace(",", "")) for line in block]
    assert len(block) <= 26
    assert sum(counts) == n
    assert counts[0] == (rows == 0).sum()


def test_only_what_the_schema_calls_missing_is_missing(tmp_path: Path) -> None:
    """A line of only commas is a record; NA is missing only where it is declared; what does not parse is counted."""
    path = tmp_path / "t.csv"
    path.write_text("a,b\n1,2\n,\nNA,3\n,NA\n")
    kinds = {c: {"kind": "category", "values": ["1", "2", "3", "NA"]} for c in "ab"}
    plain = profile(path, Schema.from_dict({"columns": kinds}))
    assert (plain.rows, plain.fully_missing_rows, plain.unparsed) == (4, 1, {})
    kinds = {c: {"kind": "category", "values": ["1", "2", "3"]} for c in "ab"}
    declared = profile(path, Schema.from_dict({"missing": ["NA"], "columns": kinds}))
    assert (declared.rows, declared.fully_missing_rows, declared.observed_histogram) == (4, 2, {0: 2, 1: 1, 2: 1})
    numbers = profile(path, schema("a", "b"))
    assert numbers.unparsed == {"a": 1, "b": 1}
    assert "2 cells hold what the schema excludes and count as missing: a 1, b 1" in str(numbers)


def test_a_long_table_has_its_declared_items_as_columns() -> None:
    long = Schema.from_dict(
        {"n": 5, "long": {"user": "u", "item": "i", "value": "r", "n_items": 10}, "columns": {"r": NUMBER}}
    )
    p = profile(pl.DataFrame({"u": [1, 1, 2], "i": [1, 2, 1], "r": [3, 4, None]}), long, k=1)
    assert (p.rows, p.width, p.k, p.rho, p.eta) == (5, 10, 2, 0.2, 0.2)
    assert p.fully_missing_rows == 4
    assert "relative to 10 columns" in str(p)


def test_what_does_not_parse_is_counted_in_the_rows_that_count() -> None:
    people = Schema.from_dict({"unit": "p", "unit_rule": {"keep": "last", "by": "t"}, "columns": {"a": NUMBER}})
    table = pl.DataFrame({"p": [1] * 6 + [2, 2], "t": [*range(6), 1, 2], "a": ["x"] * 6 + ["x", "3"]})
    assert profile(table, people).unparsed == {"a": 1}
    ties = Schema.from_dict({"unit": "p", "columns": {"a": NUMBER, "b": {"kind": "category", "values": ["u"]}}})
    rows = [[1, "x", ""], [1, "", "v"], [1, "", ""], [2, "x", "u"], [2, "", "u"]]
    found = {
        str(profile(pl.DataFrame(some, orient="row", schema=["p", "a", "b"]), ties).counts.unparsed)
        for some in (rows, rows[::-1], rows[1:] + rows[:1])
    }
    assert len(found) == 1


def test_a_schema_that_does_not_fit_is_said() -> None:
    table = pl.DataFrame(
        {"a": ["40,411"] * 25, "p": range(25), "t": ["2020-01-01T05:00", "01/02/2020", *["x", ""] * 11, "3"]}
    )
    document = {"n": 30, "unit": "p", "unit_rule": {"keep": "first", "by": "t"}, "columns": {"a": NUMBER}}
    found = profile(table, Schema.from_dict(document))
    assert (found.to_dict()["declared_n"], found.to_dict()["rows_without_order"]) == (30, 23)
    text = " ".join(str(found).split())
    assert "The schema declares n = 30" in text
    assert "23 rows have no number or date in t" in text
    assert "not 1,234.5" in text
    fitting = str(profile(pl.DataFrame({"a": [1]}), Schema.from_dict({"n": 1, "columns": {"a": NUMBER}})))
    assert not re.search("declares|no number|1,234.5|left out", fitting)


def test_names_with_one_prefix_stay_different() -> None:
    names = [f"questionnaire_about_health_and_habits_part_{i}" for i in range(5)]
    table = pl.DataFrame([[None, 1, None, 1, None], [2, None, 3, None, 4]], schema=names, orient="row")
    lines = [line for line in str(profile(table, schema(*names))).splitlines() if "%  #" in line and "..." in line]
    assert len({line[:32] for line in lines}) == 5


SCHEMA = '[columns.a]\nkind = "number"\nbounds = [0, 9]\n[columns.b]\nkind = "number"\nbounds = [0, 9]\n'
CSV = "a,b,who\n1,2,x\n,,y\n,3,x\n4,,y\n5,6,x\n"


@pytest.fixture
def files(tmp_path: Path) -> tuple[str, str]:
    (tmp_path / "t.csv").write_text(CSV)
    (tmp_path / "s.toml").write_text(SCHEMA)
    return str(tmp_path / "t.csv"), str(tmp_path / "s.toml")


def run(*arguments: str, stdin: str = "") -> tuple[str, str]:
    result = CliRunner().invoke(command, list(arguments), input=io.BytesIO(stdin.encode()), catch_exceptions=False)
    assert result.exit_code == 0
    return result.stdout, result.stderr


def test_the_command_on_a_file_and_on_stdin(files: tuple[str, str]) -> None:
    table, toml = files
    for extra in ((), ("--evidence", "--cluster", "who")):
        text, _ = run(table, "--schema", toml, "--k", "1", *extra)
        assert text == run("-", "--schema", toml, "--k", "1", *extra, stdin=CSV)[0]
    found = json.loads(run(table, "--schema", toml, "--json", "--k", "1")[0])
    assert list(found) == sorted(KEYS)
    assert (found["rows"], found["p_star"], found["eta"]) == (5, 0.8, 0.4)
    both = json.loads(run("-", "--schema", toml, "--json", "--evidence", stdin=CSV)[0])
    assert {k: v for k, v in both.items() if k != "evidence"} == found | {"asked_k": None, "eta": None}
    assert both["evidence"]["stamp"] == STAMP


def test_figures_are_named_on_stderr(files: tuple[str, str], tmp_path: Path) -> None:
    out, err = run(*files[:1], "--schema", files[1], "--json", "--figures", str(tmp_path / "f"))
    json.loads(out)
    assert [Path(line).name for line in err.splitlines()] == ["missing.svg", "patterns.svg", "pairs.svg"]


@pytest.mark.parametrize(
    "extra", [("--cluster", "who"), ("--k", "3"), ("--figures", "TABLE"), ("--evidence", "--cluster", "nobody")]
)
def test_bad_input_is_exit_code_2_and_shows_no_cell(
    files: tuple[str, str], extra: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    table, toml = files
    with pytest.raises(SystemExit) as done:
        main(["profile", table, "--schema", toml, *(table if x == "TABLE" else x for x in extra)])
    assert done.value.code == 2
    shown = capsys.readouterr()
    assert "absentia: [E-" in shown.err
    assert shown.out == ""


def test_evidence_of_a_long_table_is_refused_before_anything_is_printed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "t.csv").write_text("u,i,r\n1,1,3\n")
    (tmp_path / "s.toml").write_text(
        '[long]\nuser = "u"\nitem = "i"\nvalue = "r"\nn_items = 2\n[columns.r]\nkind = "number"\nbounds = [0, 9]\n'
    )
    with pytest.raises(SystemExit) as done:
        main(["profile", str(tmp_path / "t.csv"), "--schema", str(tmp_path / "s.toml"), "--evidence"])
    assert (done.value.code, capsys.readouterr().out) == (2, "")


def test_the_page_runs_and_lists_every_key() -> None:
    page, names = DOCS.read_text("utf-8"), {}  # type: ignore[var-annotated]
    code = re.findall(r"^```python\n(.*?)^```$", page, re.DOTALL | re.MULTILINE)
    assert len(code) == 2
    for block in code:
        exec(compile(block, str(DOCS), "exec"), names)
    assert all(f"`{key}`" in page for key in [*KEYS, "evidence"])
