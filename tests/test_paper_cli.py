"""`absentia paper check` and `absentia paper figures`: verdicts, exit codes, stable bytes."""

from __future__ import annotations

import json
from pathlib import Path
from xml.etree import ElementTree

import pytest
from click.testing import CliRunner

from absentia.auditing.paper_checks import Check
from absentia.cli import paper as cli
from absentia.cli.paper_figures import FIGURES
from absentia.errors import InputError


def test_check_passes_and_counts() -> None:
    result = CliRunner().invoke(cli.paper, ["check"])
    assert result.exit_code == 0
    assert result.output.rstrip().endswith("all hold")
    assert max(map(len, result.output.splitlines())) <= 80
    for published in ("P1", "P2", "P3", "P5", "P6", "P7", "P8", "P9", "P10"):
        assert f"\n{published} " in result.output


def test_check_as_json_is_sorted_and_repeatable() -> None:
    first = CliRunner().invoke(cli.paper, ["check", "--json"]).output
    found = json.loads(first)
    assert found["checks"] == [check.to_dict() for check in cli.check()]
    assert first == json.dumps(found, indent=2, sort_keys=True) + "\n"
    assert found["holds"] is True
    assert found["cases"] == sum(check["cases"] for check in found["checks"]) > 6000


def test_a_contradiction_is_exit_code_six_and_says_where(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cli, "run", lambda: [Check("P2", "a claim", 3, ("p 1/2",)), Check("P3", "another", 1, ())])
    for options in ([], ["--json"]):
        result = CliRunner().invoke(cli.paper, ["check", *options])
        assert result.exit_code == 6
        assert "p 1/2" in result.output
    assert "1 FAIL" in CliRunner().invoke(cli.paper, ["check"]).output


def test_a_check_without_cases_does_not_hold() -> None:
    assert not Check("P2", "nothing tried", 0, ()).holds


def test_figures_are_the_same_bytes_twice_and_are_named(tmp_path: Path) -> None:
    first = cli.figures(tmp_path / "a")
    assert [path.stem for path in first] == sorted(FIGURES)
    result = CliRunner().invoke(cli.paper, ["figures", "-o", str(tmp_path / "b")])
    assert result.exit_code == 0
    second = [Path(line) for line in result.output.splitlines()]
    for one, two in zip(first, second, strict=True):
        assert one.read_bytes() == two.read_bytes()
        text = one.read_text("utf-8")
        assert ElementTree.fromstring(text).tag.endswith("svg")
        assert "dc:date" not in text


def test_figures_refuse_a_file_as_directory(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="a directory"):
        cli.figures(tmp_path / "file")
