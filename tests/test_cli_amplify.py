"""absentia amplify and calibrate, as a user runs them: tables, JSON, law files, exit codes."""

from __future__ import annotations

import io
import json
import subprocess
import sys
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import NamedTuple
from unittest import mock

import pytest

import absentia as ab
from absentia.cli import main

LAW = ab.ReachLaw([0, "0.5"], ["0.28", "0.72"])


class Run(NamedTuple):
    returncode: int
    stdout: str
    stderr: str


def absentia(*arguments: str, stdin: str = "") -> Run:
    """The command line in this process, with its streams and exit code."""
    out, err = io.StringIO(), io.StringIO()
    with redirect_stdout(out), redirect_stderr(err), mock.patch("sys.stdin", io.StringIO(stdin)):
        try:
            main(list(arguments))
            code = 0
        except SystemExit as done:
            code = int(done.code or 0)
    return Run(code, out.getvalue(), err.getvalue())


def test_the_installed_command_answers() -> None:
    run = subprocess.run([sys.executable, "-m", "absentia", "--version"], capture_output=True, text=True)
    assert run.returncode == 0
    assert "0.1.0" in run.stdout


def test_the_three_figures_as_a_table_and_as_json() -> None:
    flags = ["amplify", "--noise", "gaussian", "--sigma", "2", "--p-star", "0.72", "--reach", "0.5", "--delta", "1e-6"]
    table = absentia(*flags)
    assert table.returncode == 0
    assert table.stderr == ""
    assert all(len(line) <= 80 for line in table.stdout.splitlines())
    assert "1.52771" in table.stdout
    assert "without missingness" in table.stdout
    found = json.loads(absentia(*flags, "--json").stdout)
    g = ab.amplify(ab.Gaussian(2), LAW)
    assert found["epsilon"] == g.epsilon("1e-6")
    assert found["delta"] == 1e-6
    assert found["result"] == "T2"
    assert found["without_missingness"]["epsilon"] == g.without_missingness.epsilon("1e-6")
    assert found["if_mask_known"]["epsilon"] == g.if_mask_known.epsilon("1e-6")
    assert list(found) == sorted(found)
    assert len(found["assumptions"]) == 3


@pytest.mark.parametrize("kind", ["json", "toml", "stdin", "toml on stdin"])
def test_law_files_keep_their_decimals_exact(tmp_path: Path, kind: str) -> None:
    law = {"reach": [0, 0.1], "mass": [0.9, 0.1], "full_reach": 0.3, "because": "design", "by": "office"}
    text = json.dumps(law) if "toml" not in kind else "\n".join(f"{k} = {json.dumps(v)}" for k, v in law.items())
    path = tmp_path / f"law.{'toml' if kind == 'toml' else 'json'}"
    path.write_text(text)
    run = absentia(
        "amplify", "--noise", "laplace", "--scale", "1", "--law", "-" if "stdin" in kind else str(path), "--json",
        stdin=text,
    )  # fmt: skip
    exact = ab.ReachLaw(["0", "1/10"], ["9/10", "1/10"], full_reach="3/10")
    found = json.loads(run.stdout)
    assert found["epsilon"] == ab.amplify(ab.Laplace(1), exact).epsilon(0)
    assert found["result"] == "T3"
    assert found["without_missingness"]["epsilon"] == pytest.approx(0.6)


def test_sensitivity_only_is_t1() -> None:
    flags = ["--noise", "gaussian", "--sigma", "2", "--p-star", "0.72", "--sensitivity", "1", "--delta", "1e-6"]
    found = json.loads(absentia("amplify", *flags, "--json").stdout)
    g = ab.amplify(ab.Gaussian(2), p_star="0.72", sensitivity=1)
    assert (found["epsilon"], found["result"]) == (g.epsilon("1e-6"), "T1")


def test_black_boxes() -> None:
    flags = ["--noise", "blackbox", "--p-star", "0.5"]
    up = json.loads(absentia("amplify", *flags, "--base-epsilon", "1", "--delta", "0", "--json").stdout)
    assert up["epsilon"] == 0.6201145069582776
    assert up["without_missingness"]["epsilon"] == 1
    back = json.loads(absentia("calibrate", *flags, "--epsilon", "1", "--json").stdout)
    assert back["base_epsilon"] == pytest.approx(1.48988012564475)
    assert back["epsilon"] <= 1


def test_calibration_prints_the_noise_that_needs_no_law() -> None:
    flags = ["--noise", "laplace", "--epsilon", "1", "--p-star", "0.72", "--reach", "0.5"]
    found = json.loads(absentia("calibrate", *flags, "--json").stdout)
    assert found["scale"] == ab.calibrate("laplace", LAW, epsilon="1").size
    assert found["scale_without_missingness"] == pytest.approx(1, rel=1e-9)
    assert found["epsilon"] <= 1
    assert "1.40x" in absentia("calibrate", *flags).stdout


@pytest.mark.parametrize(
    ("flags", "word"),
    [
        (["--sigma", "-1", "--p-star", "0.5", "--reach", "1", "--delta", "1e-6"], "sigma"),
        (["--p-star", "0.5", "--reach", "1", "--delta", "1e-6"], "--sigma"),
        (["--sigma", "1", "--p-star", "0.5", "--delta", "1e-6"], "--reach"),
        (["--sigma", "1", "--p-star", "1.5", "--reach", "1", "--delta", "1e-6"], "--p-star"),
        (["--sigma", "1", "--p-star", "0.5", "--reach", "1"], "--delta"),
        (["--sigma", "1", "--p-star", "0.5", "--reach", "1", "--delta", "x"], "--delta"),
        (["--sigma", "1", "--law", "nowhere.json", "--delta", "1e-6"], "--law"),
        (["--sigma", "1", "--reach", "1", "--delta", "1e-6"], "--p-star"),
    ],
)
def test_bad_flags_exit_2_and_name_the_flag(flags: list[str], word: str) -> None:
    run = absentia("amplify", "--noise", "gaussian", *flags)
    assert run.returncode == 2
    assert word in run.stderr
    assert run.stdout == ""
    as_json = absentia("amplify", "--noise", "gaussian", *flags, "--json")
    assert word in json.loads(as_json.stderr)["error"]


def test_usage_errors_exit_2_and_help_lists_every_command() -> None:
    assert absentia("amplify").returncode == 2
    assert absentia("nonsense").returncode == 2
    helped = absentia("--help")
    assert helped.returncode == 0
    assert all(len(line) <= 80 for line in helped.stdout.splitlines())
    assert all(name in helped.stdout for name in ("amplify", "calibrate", "release", "ledger", "paper"))


GAUSSIAN = ["amplify", "--noise", "gaussian", "--sigma", "2", "--p-star", "0.72"]


@pytest.mark.parametrize(
    ("flags", "named"),
    [
        (["--reach", "1", "--sensitivity", "1", "--delta", "1e-6"], "--sensitivity"),
        (["--reach", "1", "--law", "law.json", "--delta", "1e-6"], "--law"),
        (["--sensitivity", "1", "--law", "law.json", "--delta", "1e-6"], "--law"),
        (["--reach", "1", "--base-delta", "1e-7", "--delta", "1e-6"], "--base-delta"),
        (["--reach", "1", "--scale", "3", "--delta", "1e-6"], "--scale"),
        (["--sensitivity", "1", "--full-reach", "7", "--delta", "1e-6"], "--full-reach"),
        (["--sensitivity", "1", "--data-dependent", "--delta", "1e-6"], "--data-dependent"),
        (["--reach", "1", "--delta", "2"], "delta"),
        (["--reach", "1", "--epsilon", "-1"], "epsilon"),
    ],
)
def test_a_flag_that_would_be_ignored_or_is_out_of_range_prints_no_figure(flags: list[str], named: str) -> None:
    run = absentia(*GAUSSIAN, *flags)
    assert (run.returncode, run.stdout) == (2, "")
    assert run.stderr.startswith(f"absentia: [E-INPUT] {named}: given ")


@pytest.mark.parametrize("relation", ["substitute", "add_remove"])
@pytest.mark.parametrize(("noise", "name", "delta"), [("gaussian", "sigma", "1e-6"), ("laplace", "scale", "0")])
def test_sensitivity_means_the_same_to_both_commands(noise: str, name: str, delta: str, relation: str) -> None:
    known = ["--noise", noise, "--p-star", "0.72", "--sensitivity", "2", "--relation", relation, "--delta", delta]
    found = json.loads(absentia("calibrate", *known, "--epsilon", "1", "--json").stdout)
    again = json.loads(absentia("amplify", *known, f"--{name}", repr(found[name]), "--json").stdout)
    assert 1 - 1e-8 < again["epsilon"] <= 1
    assert [found[key] for key in ("result", "assumptions", "delta")] == [
        again[key] for key in ("result", "assumptions", "delta")
    ]
    assert found["without_missingness"]["epsilon"] == pytest.approx(again["without_missingness"]["epsilon"])
    less = json.loads(absentia("amplify", *known, f"--{name}", repr(found[name] * (1 - 1e-8)), "--json").stdout)
    assert less["epsilon"] > 1


@pytest.mark.parametrize(
    ("flags", "named"),
    [
        (["--noise", "gaussian", "--reach", "1", "--sensitivity", "1"], "--sensitivity"),
        (["--noise", "gaussian"], "--reach"),
        (["--noise", "gaussian", "--sensitivity", "0"], "sensitivity"),
        (["--noise", "blackbox", "--reach", "1"], "--reach"),
        (["--noise", "blackbox", "--sensitivity", "1"], "--sensitivity"),
    ],
)
def test_calibrate_refuses_what_amplify_refuses(flags: list[str], named: str) -> None:
    run = absentia("calibrate", *flags, "--epsilon", "1", "--delta", "1e-6", "--p-star", "0.72")
    assert (run.returncode, run.stdout) == (2, "")
    assert run.stderr.startswith(f"absentia: [E-INPUT] {named}: given ")


def test_the_delta_asked_is_printed_as_it_was_asked() -> None:
    run = absentia(*GAUSSIAN, "--reach", "1", "--delta", "1e-6", "--json")
    assert '"delta": 1e-06,' in run.stdout


@pytest.mark.parametrize(("flag", "value"), [("--reach", "-1"), ("--p-star", "1.72")])
def test_a_flag_is_refused_as_it_was_written(flag: str, value: str) -> None:
    stated = {"--noise": "laplace", "--scale": "1", "--p-star": "0.5", "--reach": "1"} | {flag: value}
    run = absentia("amplify", *(text for pair in stated.items() for text in pair))
    assert run.returncode == 2
    assert f"{flag}: given {value};" in run.stderr
