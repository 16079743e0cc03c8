"""The law file and its page: what it may say, what is refused, and every worked example as it is printed."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path
from typing import Any

import pytest

import absentia as ab
from absentia.cli.lawfile import law_of
from absentia.errors import InputError
from cli_helpers import absentia

PAGE = (Path(__file__).parents[1] / "docs" / "law-file.md").read_text(encoding="utf-8")
EXAMPLES = re.findall(r"^```console\n\$ absentia ([^\n]*)\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
FILES = dict(re.findall(r"^```toml\n# (\w+\.toml)\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL))
FILES["items.json"] = re.findall(r"^```json\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)[0]
ONE = {"reach": [0, 1], "mass": ["0.5", "0.5"]}


@pytest.mark.parametrize(("command", "output"), EXAMPLES, ids=[command for command, _ in EXAMPLES])
def test_worked_examples_print_what_the_page_says(
    command: str, output: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for name, text in FILES.items():
        (tmp_path / name).write_text(text)
    run = absentia(*shlex.split(command))
    assert (run.returncode, run.stdout, run.stderr) == (0, output, "")
    assert run.widest <= 80


def test_the_page_names_every_flag() -> None:
    for name in ("amplify", "calibrate"):
        flags = set(re.findall(r"(--[a-z-]+)", absentia(name, "--help").stdout))
        assert {f for f in flags if f"`{f}" not in PAGE} <= {"--help"}


def test_forms_and_blocks_are_those_of_python() -> None:
    three = [[0, 1], [0, 2], [1, 2]]
    forms = law_of({"reach": [1, 1, 1], "forms": three})
    assert forms == ab.Forms([1, 1, 1], three, ["1/3"] * 3)
    core = law_of({"reach": [1, 1, 1], "forms": three, "core": ["0.5"]})
    assert core == ab.Forms.strata([forms], ["0.5"])
    law = ab.ReachLaw([0, 1], ["0.5", "0.5"])
    assert law_of({"blocks": [{**ONE, "count": 2}, ONE]}) == ab.Blocks([law] * 3)
    assert law_of(ONE) == law


@pytest.mark.parametrize(
    ("spec", "field"),
    [
        ({"blocks": 3}, "law.blocks"),
        ({"blocks": [3]}, "law.blocks[0]"),
        ({"blocks": [{**ONE, "count": 0}]}, "law.blocks[0].count"),
        ({"blocks": [{**ONE, "count": 10**9}]}, "law.blocks[0].count"),
        ({"blocks": [ONE], "because": "x"}, "law.because"),
        ({"forms": [[0]], "reach": [1], "full_reach": 2}, "law.full_reach"),
        ({"forms": [[0]]}, "law.reach"),
        ({"forms": [[1]], "reach": [1]}, "forms[0]"),
        ({"reach": [1], "mass": [1], "form": []}, "law.form"),
    ],
)
def test_a_wrong_field_is_named(spec: dict[str, Any], field: str) -> None:
    with pytest.raises(InputError) as refusal:
        law_of(spec)
    assert refusal.value.field == field
    run = absentia("amplify", "--noise", "gaussian", "--sigma", "2", "--delta", "1e-6", "--law", "-",
                   stdin=json.dumps(spec).encode())  # fmt: skip
    assert (run.returncode, run.stdout) == (2, "")


def test_where_there_is_no_figure_the_reason_is_printed() -> None:
    """A black box has no epsilon below its own delta: neither proved nor to be taken for a number."""
    flags = (
        "--noise",
        "blackbox",
        "--base-epsilon",
        "1",
        "--base-delta",
        "1e-6",
        "--p-star",
        "0.72",
        "--delta",
        "1e-7",
    )
    text = " ".join(absentia("amplify", *flags).stdout.split())
    assert "no finite epsilon can be given at delta 1e-07; on masked data it guarantees (1, 1e-06)" in text
    found = absentia("amplify", *flags, "--json").json
    assert (found["epsilon"], found["certified"]) == (None, False)
