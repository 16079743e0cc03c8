"""A card is checked without the data: whatever is changed in it is found, by its path where it can be recomputed."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

import absentia as ab
from absentia.card.card import Card
from absentia.card.content import seal_of
from absentia.card.structure import parsed
from absentia.cli.app import main
from absentia.errors import AbsentiaError, HazardRefused, InputError, LedgerDamaged
from card_world import calm, independent, kinds, released, schema, table
from test_card import leaves, put

SEALED_ONLY = {("release", "software")}
"""What nothing but the seal holds: a forger who computes the seal again can write another version's name (and can move
noisy sums together with all answers that follow from them: they did not exist when the receipt was issued)."""


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a release, its card and its book."""
    where = tmp_path_factory.mktemp("verify")
    calm(where / "s.ledger").save(where / "out")
    return where


@pytest.fixture(scope="module")
def text(files: Path) -> str:
    return (files / "out" / "card.json").read_text(encoding="utf-8")


def refusal(document: Any) -> AbsentiaError | None:
    """What verification says against a document, if anything; nothing but a refusal may come out."""
    try:
        Card(parsed(json.dumps(document), "test")).verify()
    except (InputError, LedgerDamaged) as found:
        return found
    return None


def changed(value: Any) -> Any:
    """Another value of the same kind, close by."""
    if isinstance(value, bool) or value is None:
        return not value
    if isinstance(value, int):
        return value + 1
    if isinstance(value, float):
        return value * (1 + 1e-6) + 1e-6
    if value and set(value) <= set("0123456789abcdef"):
        return value[:-1] + ("0" if value[-1] != "0" else "1")
    return value + "x"


def test_an_untouched_card_agrees_with_itself(text: str) -> None:
    said = Card(json.loads(text)).verify()
    assert any("proved again" in line for line in said)
    assert any("the receipt's, is the charge of this plan" in line for line in said)


def test_every_changed_leaf_is_found(text: str) -> None:
    """Also by a verifier whose seal a forger has made to fit; the seal finds the rest."""
    paths = leaves(json.loads(text))
    assert len(paths) > 250
    passed = set()
    for path in paths:
        document = json.loads(text)
        put(document, path, changed(at(document, path)))
        if path != ("seal",):
            document["seal"] = seal_of(document)
        if refusal(document) is None:
            passed.add(path)
            document["seal"] = json.loads(text)["seal"]
            assert refusal(document) is not None, path
    assert passed <= SEALED_ONLY


@pytest.mark.parametrize("key", ["epsilon", "even_bet", "result"])
def test_figures_in_words_are_held_whatever_version_wrote_them(text: str, key: str) -> None:
    document = json.loads(text)
    document["release"]["software"] = "absentia 9.9"
    document["words"]["lead"] = "Anything at all."
    document["seal"] = seal_of(document)
    said = " ".join(Card(parsed(json.dumps(document), "test")).verify())
    assert "absentia 9.9's: sealed, but not written again" in said
    assert "hazards follow" not in said
    document["words"]["promise"][0][key] = "0.001"
    document["seal"] = seal_of(document)
    assert "words.promise[0]" in str(refusal(document))


def at(document: Any, path: tuple[Any, ...]) -> Any:
    for key in path:
        document = document[key]
    return document


def test_every_removed_field_is_found(text: str) -> None:
    def containers(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[tuple[Any, ...], Any]]:
        if not isinstance(value, (dict, list)):
            return []
        items = list(value.items() if isinstance(value, dict) else enumerate(value))
        return [(path, key) for key, _ in items] + [x for key, v in items for x in containers(v, (*path, key))]

    for path, key in containers(json.loads(text)):
        document = json.loads(text)
        del at(document, path)[key]
        if "seal" in document:
            document["seal"] = seal_of(document)
        assert refusal(document) is not None, (path, key)


@pytest.mark.parametrize(
    ("path", "value", "named"),
    [
        ("release.guarantee.epsilon", 0.5, "release.guarantee.epsilon"),
        ("release.guarantee.without_missingness.epsilon", 0.5, "release.guarantee.without_missingness.epsilon"),
        ("release.rows.0.estimate", 50.0, "release.rows[0].estimate"),
        ("release.plan.missingness.by", "somebody else", "release.plan_identity"),
        ("release.ledger.rows.1.payload.batch.largest", 0.001, "release.ledger"),
        ("release.ledger.spent.with_missingness", 0.1, "release.ledger.spent.with_missingness"),
        ("release.ledger.remaining.with_missingness", 0.9, "release.ledger.remaining.with_missingness"),
        ("release.receipt.head", "0" * 64, "release.receipt"),
        ("release.purpose", "another table", "release.purpose"),
        ("gamma.3.epsilon", 0.1, "gamma[3].epsilon"),
        ("hazards.0.text", "nothing to fear", "hazards[0].text"),
        ("words.promise.0.epsilon", "0.1", "words.promise[0].epsilon"),
        ("saving", 9.0, "saving"),
    ],
)
def test_the_first_contradiction_is_named(text: str, path: str, value: Any, named: str) -> None:
    document = json.loads(text)
    put(document, tuple(int(k) if k.isdigit() else k for k in path.split(".")), value)
    found = refusal(document)
    assert isinstance(found, LedgerDamaged)
    assert found.what.startswith(f"{named}: ")


def test_less_noise_than_the_budget_allows_is_found(text: str) -> None:
    document = json.loads(text)
    document["release"]["plan"]["scales"] = [s / 2 for s in document["release"]["plan"]["scales"]]
    found = refusal(document)
    assert isinstance(found, LedgerDamaged)
    assert "release.plan" in found.what
    assert "its budget is" in found.what


def test_a_digit_that_rounding_would_hide_is_found_by_the_seal(text: str) -> None:
    document = json.loads(text)
    document["release"]["rows"][0]["estimate"] *= 1 + 1e-14
    found = refusal(document)
    assert isinstance(found, LedgerDamaged)
    assert found.what.startswith("seal: ")


def test_other_versions_sentences_are_sealed_but_not_written_again(text: str) -> None:
    document = json.loads(text)
    document["release"]["software"] = "absentia 99.0"
    document["words"]["lead"] = "Other words."
    document["seal"] = seal_of(document)
    assert any("absentia 99.0" in line for line in Card(document).verify())


@pytest.mark.parametrize("name", kinds())
def test_every_kind_of_release_verifies(name: str, tmp_path: Path) -> None:
    released(kinds()[name], tmp_path / "s.ledger").card().verify(tmp_path / "s.ledger")


def test_noise_of_another_backend_verifies(tmp_path: Path) -> None:
    s = schema()
    plan = ab.plan(s, [ab.mean("x")], independent(s), budget=ab.Budget("1", "1e-6"))
    roomy = ab.Budget("40", "1e-4")
    card = released(plan, tmp_path / "s.ledger", backend="opendp", budget=roomy).card()
    card.verify()
    document = json.loads(card.to_json())
    document["release"]["noise"]["backend"] = "absentia"
    document["seal"] = seal_of(document)
    assert isinstance(refusal(document), LedgerDamaged)


def test_a_backend_that_is_not_installed_is_no_contradiction(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    s = schema()
    plan = ab.plan(s, [ab.mean("x")], independent(s), budget=ab.Budget("1", "1e-6"))
    card = released(plan, tmp_path / "s.ledger", backend="opendp", budget=ab.Budget("40", "1e-4")).card()
    monkeypatch.setitem(sys.modules, "opendp.prelude", None)
    with pytest.raises(HazardRefused, match="not installed"):
        card.verify()


def test_a_book_with_several_releases_and_an_amended_law_verifies(tmp_path: Path) -> None:
    s = schema()
    known = ab.missing.bounds(s, "1", because="nothing known yet", by="custodian")
    plan = ab.plan(s, [ab.mean("x")], known, budget=ab.Budget("0.5", "1e-6"))
    path = tmp_path / "s.ledger"
    with ab.Ledger.create(path, plan, budget=ab.Budget("4", "1e-6"), aside=ab.Budget("1")) as book:
        first = plan.release(table(s), book, purpose="first")
        law = ab.certify(table(s), s, book, epsilon="1", because="MCAR", by="office", odds=1)
        assert law.amendment is not None
        again = ab.plan(s, [ab.mean("x")], law.law, budget=ab.Budget("0.5", "1e-6"))
        second = again.release(table(s), book, purpose="second")
    for release in (first, second):
        release.card().verify(path)
    assert len(second.card().document["release"]["ledger"]["rows"]) == 5
    assert "certified" in dict(second.card().document["words"]["law"])["How it is known"]


# -- the command -----------------------------------------------------------------------------------------------------


def run(*arguments: str, capsys: pytest.CaptureFixture[str]) -> tuple[int, str, str]:
    try:
        main(["card", "verify", *arguments])
        code = 0
    except SystemExit as end:
        code = int(end.code or 0)
    out, err = capsys.readouterr()
    return code, out, err


def test_command_says_what_was_checked_in_80_columns(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(str(files / "out" / "card.json"), "--ledger", str(files / "s.ledger"), capsys=capsys)
    assert code == 0
    assert "proved again" in out.replace("\n  ", " ")
    assert "The book itself holds the receipt's row" in out.replace("\n  ", " ")
    assert max(map(len, out.splitlines())) <= 80
    code, out, _ = run(str(files / "out" / "card.json"), "--json", capsys=capsys)
    assert code == 0
    assert json.loads(out)["verified"] is True


def test_command_reads_stdin(text: str) -> None:
    from absentia.cli.app import cli

    found = CliRunner().invoke(cli, ["card", "verify", "-"], input=text)
    assert found.exit_code == 0
    assert "computed again without the data" in found.output


def test_contradiction_is_exit_5_with_its_path(
    files: Path, text: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    document = json.loads(text)
    document["release"]["guarantee"]["epsilon"] = 0.001
    (tmp_path / "card.json").write_text(json.dumps(document))
    code, _, err = run(str(tmp_path / "card.json"), capsys=capsys)
    assert code == 5
    assert "release.guarantee.epsilon" in err


@pytest.mark.parametrize(
    "given",
    [
        "",
        "{",
        "[]",
        "null",
        '{"schema_version": 1}',
        '{"a": 1, "a": 2}',
        '{"a": NaN}',
        "[" * 100_000,
        "\xff" * 9,
        "1" * 9999,
    ],
)
def test_what_is_no_card_is_exit_2(given: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "card.json").write_bytes(given.encode("latin-1"))
    code, _, err = run(str(tmp_path / "card.json"), capsys=capsys)
    assert code == 2
    assert "Traceback" not in err


def test_no_file_is_exit_2(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(str(tmp_path / "nothing.json"), capsys=capsys)[0] == 2


def test_a_hostile_name_cannot_steer_the_terminal(
    text: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    document = json.loads(text)
    document["release"]["rows"][0]["query"] = "\x1b[2J\u202eevil"
    (tmp_path / "card.json").write_text(json.dumps(document))
    code, out, err = run(str(tmp_path / "card.json"), capsys=capsys)
    assert code == 5
    assert (out + err).replace("\n", "").isprintable()


def test_another_book_is_exit_5(files: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    calm(tmp_path / "other.ledger")
    code, _, err = run(str(files / "out" / "card.json"), "--ledger", str(tmp_path / "other.ledger"), capsys=capsys)
    assert code == 5
    assert "L-OTHER" in err
