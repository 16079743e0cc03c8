"""What a release leaves behind: whole files or none, nothing paid for written over, nothing hostile obeyed."""

from __future__ import annotations

import csv
import io
import json
import math
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from click.testing import CliRunner

import absentia as ab
from absentia.cli.app import cli
from absentia.errors import AbsentiaError, HazardRefused, InputError
from absentia.ledger.ledger import Ledger
from absentia.query.estimate import Row
from absentia.release import FIELDS, Release, prepared
from ledger_helpers import fork, wait
from release_world import PLAN_TOML, book_of, planned, table

FILES = ["card.html", "card.json", "card.yaml", "release.csv", "release.json"]


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A directory with a plan, a table and an open book."""
    (tmp_path / "plan.toml").write_text(PLAN_TOML)
    table().write_csv(tmp_path / "people.csv")
    Ledger.create(tmp_path / "study.ledger", ab.Plan.load(tmp_path / "plan.toml")).close()
    return tmp_path


@pytest.fixture(scope="module")
def done(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Release]:
    plan = planned()
    with book_of(tmp_path_factory.mktemp("book"), plan) as book:
        yield plan.release(table(), book, purpose="Table 2")


def command(place: Path, *options: str, out: str = "out") -> Any:
    words = ["release", "plan.toml", "people.csv", "--ledger", "study.ledger", "-o", out, *options]
    before = Path.cwd()
    os.chdir(place)
    try:
        return CliRunner().invoke(cli, words)
    finally:
        os.chdir(before)


def charges(place: Path) -> int:
    with Ledger.open(place / "study.ledger") as book:
        return len(book.summary()["releases"])


# -- the answers in other forms ---------------------------------------------------------------------------------------


def test_release_json_goes_round(done: Release) -> None:
    found = json.loads(done.to_json())
    assert found == done.to_dict()
    plan = ab.Plan.from_dict(found["plan"])
    assert plan == done.plan
    assert found["plan_identity"] == plan.identity
    noisy = {s: e["values"] for s, e in zip(plan.statistics, found["noise"]["statistics"], strict=True)}
    reshaped = {s: pl.Series(v).to_numpy().reshape(done.noisy[s].shape) for s, v in noisy.items()}
    assert [r.to_dict() for r in plan.answers(reshaped)] == found["rows"]
    assert found["guarantee"]["epsilon"] == plan.guarantee.epsilon("1e-6") <= 1
    assert found["receipt"]["sequence"] == 1
    assert found["noise"]["times_planned"] == 1


def test_the_noisy_sums_lie_on_their_grids(done: Release) -> None:
    for entry in done.to_dict()["noise"]["statistics"]:
        assert all((v / entry["grid"]).is_integer() for v in entry["values"])


def test_tables_of_answers_agree(done: Release) -> None:
    rows = [r.to_dict() for r in done.rows]
    assert done.to_polars().to_dicts() == rows
    assert tuple(done.to_polars().columns) == FIELDS
    text = list(csv.DictReader(io.StringIO(done.to_csv())))
    assert [r["query"] for r in text] == [r["query"] for r in rows]
    assert [float(r["estimate"]) for r in text if r["estimate"]] == [
        r["estimate"] for r in rows if r["estimate"] is not None
    ]
    assert {r["query"] for r in rows} == {q.name for q in done.plan.queries}


def test_numbers_that_are_none_stay_empty(done: Release) -> None:
    endless = Row("q", "c", math.nan, math.inf, 0.0, -math.inf, math.inf, "none")
    odd = Release(done.plan, (endless,), done.noisy, done.receipt, "p", done.book, done.drawn)
    assert odd.to_polars().row(0) == ("q", "c", None, None, 0.0, None, None, "none")
    assert odd.to_csv().splitlines()[1] == "q,c,,,0.0,,,none"
    assert json.loads(odd.to_json())["rows"][0]["high"] is None


def test_hostile_words_are_not_obeyed(done: Release) -> None:
    evil = "<script>alert(1)</script>&\"'"
    row = Row(evil, evil, 1.0, 1.0, 1.0, 0.0, 2.0, "")
    page = Release(done.plan, (row,), done.noisy, done.receipt, evil, done.book, done.drawn)._repr_html_()
    assert "<script" not in page
    assert page.count("&lt;script&gt;") == 3


# -- files ------------------------------------------------------------------------------------------------------------


def test_a_release_is_five_whole_files(place: Path) -> None:
    result = command(place)
    assert result.exit_code == 0, result.output
    assert sorted(p.name for p in (place / "out").iterdir()) == FILES
    found = json.loads((place / "out" / "release.json").read_text())
    with Ledger.open(place / "study.ledger") as book:
        assert book.verify(found["receipt"]).to_dict() == found["receipt"]


def test_saving_again_is_the_same_and_another_release_is_not_written_over(done: Release, tmp_path: Path) -> None:
    first = {p.name: p.read_bytes() for p in done.save(tmp_path / "out")}
    assert {p.name: p.read_bytes() for p in done.save(tmp_path / "out")} == first
    plan = planned()
    with book_of(tmp_path, plan) as book:
        other = plan.release(table(), book, purpose="Table 3")
    for text in (None, "{}", "[]", "no json"):
        if text is not None:
            (tmp_path / "out" / "release.json").write_text(text)
        with pytest.raises(InputError) as refusal:
            other.save(tmp_path / "out")
        assert refusal.value.code == "E-EXISTS"
    assert (tmp_path / "out" / "release.csv").read_bytes() == first["release.csv"]
    assert other.save(tmp_path / "other")


def test_a_directory_with_a_release_is_refused_before_the_charge(place: Path) -> None:
    (place / "out").mkdir()
    (place / "out" / "release.json").write_text("{}")
    result = command(place)
    assert (result.exception.code, result.exception.exit_code) == ("E-EXISTS", 2)
    assert charges(place) == 0


@pytest.mark.parametrize("broken", ["release.json", "release.csv", "card.html"])
def test_what_interrupts_the_writing_leaves_whole_files_only(
    done: Release, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, broken: str
) -> None:
    real = os.replace

    def stops(source: Any, target: Any) -> None:
        if Path(target).name == broken:
            raise KeyboardInterrupt
        real(source, target)

    with monkeypatch.context() as patch:
        patch.setattr(os, "replace", stops)
        with pytest.raises(KeyboardInterrupt):
            done.save(tmp_path / "out")
    left = sorted(p.name for p in (tmp_path / "out").iterdir())
    assert left == sorted(
        ["release.json", "release.csv", "card.html"][: ["release.json", "release.csv", "card.html"].index(broken)]
    )
    whole = {p.name: p.read_bytes() for p in done.save(tmp_path / "whole")}
    for name in left:
        assert (tmp_path / "out" / name).read_bytes() == whole[name]


def test_a_card_that_fails_leaves_the_answers(done: Release, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(_: Release) -> Any:
        raise RuntimeError("no card")

    monkeypatch.setattr(Release, "card", fails)
    with pytest.raises(RuntimeError, match="no card"):
        done.save(tmp_path / "out")
    assert sorted(p.name for p in (tmp_path / "out").iterdir()) == ["release.csv", "release.json"]


# -- places that cannot be written ------------------------------------------------------------------------------------


def as_somebody_else(action: Any) -> int:
    """The exit code of the action, done by a user without rights."""

    def drop() -> None:
        if os.getuid() == 0:
            os.setgid(65534)
            os.setuid(65534)
        action()

    return wait(fork(drop))


def test_a_directory_that_cannot_be_written_is_refused_before_the_charge(tmp_path: Path) -> None:
    plan, closed = planned(), tmp_path / "closed"
    closed.mkdir()
    closed.chmod(0o555)
    for parent in [tmp_path, *tmp_path.parents[:3]]:
        parent.chmod(parent.stat().st_mode | 0o055)

    def asks() -> None:
        for target in (closed, closed / "out", closed / "a" / "b"):
            with pytest.raises(HazardRefused) as refusal:
                prepared(target, plan)
            assert (refusal.value.code, refusal.value.exit_code) == ("H-OUTPUT", 4)

    assert as_somebody_else(asks) == 0
    assert list(closed.iterdir()) == []


@pytest.mark.parametrize("kind", ["a file", "a device", "below a file"])
def test_what_is_no_directory_is_refused_before_the_charge(place: Path, kind: str) -> None:
    (place / "file").write_text("")
    out = {"a file": "file", "a device": "/dev/full", "below a file": "file/out"}[kind]
    result = command(place, out=out)
    assert isinstance(result.exception, AbsentiaError), result.exception
    assert (result.exception.code, result.exception.exit_code) == ("H-OUTPUT", 4)
    assert charges(place) == 0


def limited(place: Path, size: int, *words: str) -> subprocess.CompletedProcess[str]:
    """The command in a process whose files may only grow to a size: a disk that refuses bytes."""
    code = (
        "import resource, signal, sys; signal.signal(signal.SIGXFSZ, signal.SIG_IGN);"
        f"resource.setrlimit(resource.RLIMIT_FSIZE, ({size}, {size}));"
        "from absentia.cli.app import main; main(sys.argv[1:])"
    )
    return subprocess.run([sys.executable, "-c", code, *words], cwd=place, capture_output=True, text=True, check=False)


def test_a_full_disk_is_refused_before_the_charge(place: Path) -> None:
    """2^20 bytes and some are asked for; where they cannot be written, nothing is charged."""
    out = limited(place, 2**19, "release", "plan.toml", "people.csv", "--ledger", "study.ledger", "-o", "out")
    assert out.returncode == 4, out.stderr
    assert "H-OUTPUT" in out.stderr
    assert not (place / "out").exists()
    assert charges(place) == 0


def test_a_ledger_that_cannot_grow_is_no_charge_and_no_answer(place: Path) -> None:
    words = ["release", "plan.toml", "people.csv", "--ledger", "study.ledger", "--json"]
    out = limited(place, 20_000, *words)
    assert out.returncode == 4, out.stderr
    assert "H-DISK" in out.stderr
    assert out.stdout == ""
    assert charges(place) == 0


def test_a_disk_that_fails_after_the_draw_does_not_lose_the_answers(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", full)
    result = command(place, "--quiet")
    monkeypatch.undo()
    assert (result.exception.code, result.exception.exit_code) == ("E-WRITE", 2)
    found = json.loads(result.stdout)
    assert charges(place) == 1
    with Ledger.open(place / "study.ledger") as book:
        book.verify(found["receipt"])
    assert found["rows"]
    assert list((place / "out").iterdir()) == []


def test_nothing_is_asked_of_a_table_when_the_place_is_bad(place: Path) -> None:
    (place / "people.csv").unlink()
    result = command(place, out="/dev/full")
    assert result.exception.code == "H-OUTPUT"
    shutil.rmtree(place / "out", ignore_errors=True)
