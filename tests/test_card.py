"""A card: what it holds, that its page is harmless and complete, that its other forms can be read."""

from __future__ import annotations

import json
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import jsonschema
import polars as pl
import pytest
import yaml

import absentia as ab
from absentia.card.card import Card
from absentia.card.figures import Scale
from absentia.card.page import LIMIT, SECTIONS
from absentia.card.registry import TO_FILL_IN
from absentia.card.structure import check_structure
from absentia.card.structure import schema as card_schema
from absentia.card.text import Measure, even_bet, fixed, markup, percent
from absentia.errors import InputError
from absentia.exact import shown
from card_world import HOSTILE, calm, hostile, kinds, released, schema

ELEMENTS_ALLOWED = (
    "html head meta title style body a header nav ul li main section footer h1 h2 h3 p span bdi time figure "
    "figcaption table caption thead tbody tr th td sup b dl dt dd details summary div pre code svg g defs "
    "symbol use line circle rect text desc"
)
ELEMENTS = set(ELEMENTS_ALLOWED.split())
ATTRIBUTES_ALLOWED = (
    "lang charset http-equiv content name class href id aria-label aria-labelledby aria-hidden datetime role "
    "scope tabindex data-label width height x y x1 x2 y1 y2 cx cy r text-anchor stroke-width"
)
ATTRIBUTES = set(ATTRIBUTES_ALLOWED.split())
VOID = {"meta"}
UNSEEN = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u00ad\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]")


class Page(HTMLParser):
    """The page's elements, what it says, and whether every element is closed where it should be."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: set[str] = set()
        self.attributes: set[str] = set()
        self.values: list[str] = []
        self.ids: list[str] = []
        self.words: list[str] = []
        self.open: list[str] = []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes |= {name for name, _ in attrs}
        self.values += [value or "" for _, value in attrs]
        self.ids += [value or "" for name, value in attrs if name == "id"]
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        self.open.pop()

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] != "style":
            self.words.append(data)


@pytest.fixture(scope="module")
def release(tmp_path_factory: pytest.TempPathFactory) -> Any:
    return calm(tmp_path_factory.mktemp("calm") / "s.ledger")


@pytest.fixture(scope="module")
def cards(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Card]:
    where = tmp_path_factory.mktemp("kinds")
    return {name: released(plan, where / f"{name}.ledger").card() for name, plan in kinds().items()}


def harmless(text: str) -> Page:
    """The parsed page, after it was found to hold nothing that loads, runs or hides."""
    page = Page(text)
    assert page.tags <= ELEMENTS
    assert page.attributes <= ATTRIBUTES
    assert not any(re.match(r"\s*(javascript|data|https?|file|//)", v, re.IGNORECASE) for v in page.values)
    assert UNSEEN.search(text) is None
    assert len(page.ids) == len(set(page.ids))
    assert len(text.encode()) <= LIMIT < 300_000
    return page


# -- the page --------------------------------------------------------------------------------------------------------


def test_page_says_what_was_released_and_promised(release: Any) -> None:
    card = release.card()
    said = " ".join(harmless(card.to_html()).words)
    for text in ("mean(x)", "histogram(c)", "Table 1", "drawn by chance", "study office", release.receipt.head):
        assert text in said
    for _, title, _ in SECTIONS:
        assert title in said
    g, d = release.guarantee, release.plan.budget.delta
    for reading in (g, g.without_missingness, g.if_mask_known):
        assert shown(reading.epsilon(d)) in said
    for row in release.rows:
        error = max(row.estimate - row.low, row.high - row.estimate)
        assert Measure.of(abs(row.high), error).write(row.estimate) in said


def test_every_kind_of_plan_has_a_page(cards: dict[str, Card]) -> None:
    for name, card in cards.items():
        page = harmless(card.to_html())
        assert {f"{ident}-h" for ident, _, _ in SECTIONS} <= set(page.ids), name
        check_structure(card.document)
        jsonschema.validate(card.document, card_schema())


def test_three_figures_stand_together(cards: dict[str, Card]) -> None:
    for card in cards.values():
        assert [p["reading"] for p in card.document["words"]["promise"]] == [
            "with_missingness",
            "without_missingness",
            "if_mask_known",
        ]
        assert card.to_html().count('class="eps"') == 3


def test_the_curve_stays_below_the_figure_without_missingness(cards: dict[str, Card]) -> None:
    for name, card in cards.items():
        curve = [p["epsilon"] for p in card.document["gamma"]]
        g = card.document["release"]["guarantee"]
        assert curve == sorted(curve)
        assert all(e <= g["without_missingness"]["epsilon"] for e in curve)
        assert bool(curve) == (name not in ("without", "dependent"))
        if curve:
            assert curve[0] == pytest.approx(g["epsilon"], rel=1e-6)


def test_numbers_that_are_not_there_are_said_to_be_missing(cards: dict[str, Card]) -> None:
    rows = cards["silent"].document["release"]["rows"]
    assert all(r["se_noise"] is None for r in rows)
    page = cards["silent"].to_html()
    assert all(r["estimate"] is None for r in rows)
    assert page.count(">not known<") == len(rows)
    assert f"0 of {len(rows)} numbers answering 1 question" in cards["silent"].document["words"]["lead"]
    assert "public bounds: nothing finer can be said" in page
    assert "my score" in cards["own"].to_html()


def test_words_claim_no_more_than_the_plan(cards: dict[str, Card]) -> None:
    """Where masks may follow values or other records, a mask is never said to tell nothing."""
    nothing = "The mask alone tells them nothing"
    for name, card in cards.items():
        words, g = card.document["words"], card.document["release"]["guarantee"]
        assert (nothing in words["mask"]) == (name not in ("without", "wrong", "dependent")), name
        assert ("never passes" in words["gamma"]) == bool(card.document["gamma"]), name
        assert words["promise"][0]["assumes"] == g["assumptions"]
        below = g["epsilon"] <= g["without_missingness"]["epsilon"]
        assert below == (name != "dependent")
    assert "a record takes part" in " ".join(cards["added"].document["words"]["meaning"])


def test_noise_and_sampling_are_told_apart(release: Any) -> None:
    """A mean whose noise makes half of its interval, and a count, whose interval is the noise's alone."""
    document = json.loads(release.card().to_json())
    document["release"]["rows"][0] |= {"estimate": 50.0, "low": 40.0, "high": 60.0, "se_noise": 5 / 1.959963984540054}
    page = Card(document).to_html().partition('id="promise"')[0]
    band, whole = (
        [(float(a), float(b)) for a, b in re.findall(rf'class="{kind}" x1="([\d.]+)%" x2="([\d.]+)%"', page)]
        for kind in "bs"
    )
    assert len(band) == len(whole) == len(release.rows)
    middle, half = sum(whole[0]) / 2, (whole[0][1] - whole[0][0]) / 2
    assert band[0] == pytest.approx((middle - half / 2, middle + half / 2), abs=0.02)
    assert band[1] == whole[1]


def test_single_numbers_of_one_kind_share_a_table(tmp_path: Path) -> None:
    """Means stand within their columns' public bounds; a group-by between them keeps its own table."""
    columns = {c: {"kind": "number", "bounds": [0, 10**i]} for i, c in enumerate("abc", 1)} | {"g": {"kind": "boolean"}}
    people = ab.Schema.from_dict({"n": 4, "columns": columns})
    asked = [ab.mean("a"), ab.mean("b"), ab.count("a"), ab.mean("c"), ab.mean("b", by=["g"])]
    plan = ab.plan(people, asked, ab.missing.without(people), budget=ab.Budget("1", "1e-6"))
    with ab.Ledger.create(tmp_path / "x.ledger", plan) as book:
        frame = pl.DataFrame({"a": [1.0] * 4, "b": [2.0] * 4, "c": [3.0] * 4, "g": [True, False] * 2})
        document = json.loads(plan.release(frame, book, purpose="x").card().to_json())
    document["release"]["rows"][0] |= {"estimate": 5.0, "low": 4.0, "high": 6.0, "se_noise": 0.1}
    page = Card(document).to_html().partition('id="promise"')[0]
    titles = [re.sub("<.*?>", "", t) for t in re.findall(r"<h3 id=.*?>(.*?)</h3>", page)]
    assert titles == ["2 means", "count(a)", "mean(c)", "mean(b) by g"]
    assert 'class="s" x1="40%" x2="60%"' in page
    assert "every row spans the public bounds of its column" in page


@pytest.mark.parametrize("name", HOSTILE, ids=range(len(HOSTILE)))
def test_hostile_names_stay_names(name: str, tmp_path: Path) -> None:
    plan = hostile(name)
    purpose = name.replace("\ufffe", "")
    card = released(plan, tmp_path / "s.ledger", purpose=purpose).card()
    harmless(card.to_html())
    assert card._repr_html_().count("<") == 2  # the frame itself; the page inside is an attribute
    assert UNSEEN.search(card.to_json().replace("\n", " ")) is None
    assert json.loads(card.to_json()) == card.document
    entry = yaml.safe_load(card.to_yaml())
    assert entry["deployment"]["basic"]["name"] == purpose
    assert UNSEEN.search(card.to_yaml()) is None
    card.verify()


def test_a_page_of_thousands_of_cells_is_small_and_says_what_it_left_out(tmp_path: Path) -> None:
    values = [f'<&"{i}\u202e{"long " * 30}' for i in range(1500)]
    s = schema(values=values)
    missing = ab.missing.independent(s, {"c": "0.5"}, because="b", by="b")
    asked = [ab.marginal(["c", "d"]), ab.mean("x", by=["c"]), ab.mean("x")]
    plan = ab.plan(s, asked, missing, budget=ab.Budget("1", "1e-6"))
    card = released(plan, tmp_path / "s.ledger").card()
    assert len(card.document["release"]["rows"]) == 3000 + 1500 + 1
    page = card.to_html()
    harmless(page)
    assert len(page.encode()) > LIMIT / 4
    assert re.search(r"[\d,]+ more answers are in card.json", page)


def test_nothing_may_be_loaded_or_run(release: Any) -> None:
    page = release.card().to_html()
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', page)
    assert policy is not None
    assert policy.group(1).startswith("default-src 'none'; style-src 'sha256-")
    assert "unsafe" not in policy.group(1)
    assert not re.search(r"url\(|@import|<script|style=", page)


def contrast(one: str, other: str) -> float:
    """The contrast ratio of two colours (WCAG 2)."""

    def light(colour: str) -> float:
        digits = colour if len(colour) == 7 else "#" + "".join(2 * c for c in colour[1:])
        parts = [int(digits[i : i + 2], 16) / 255 for i in (1, 3, 5)]
        r, g, b = (c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts)
        return 0.2126 * r + 0.7152 * g + 0.0722 * b

    low, high = sorted([light(one), light(other)])
    return (high + 0.05) / (low + 0.05)


def test_colours_have_contrast_in_light_dark_and_print(release: Any) -> None:
    style = re.search(r"<style>(.*?)</style>", release.card().to_html(), re.DOTALL)
    assert style is not None
    themes = [
        dict(re.findall(r"--(\w+):(#\w+)", block)) for block in re.findall(r":root\{(.*?)\}", style.group(1), re.DOTALL)
    ]
    assert len(themes) == 3
    for theme in themes:
        for text in ("ink", "soft", "mark", "warm"):
            assert contrast(theme[text], theme["paper"]) >= 4.5, text
        assert contrast(theme["ink"], theme["faint"]) >= 4.5
        assert contrast(theme["band"], theme["paper"]) >= 3


# -- the other forms -------------------------------------------------------------------------------------------------


def test_files_are_written_and_read_back(release: Any, tmp_path: Path) -> None:
    card = release.card()
    for end in ("html", "json", "yaml"):
        assert card.save(tmp_path / f"card.{end}").stat().st_size > 1000
    again = Card.load(tmp_path / "card.json")
    assert again.document == card.document
    assert again.to_json() == card.to_json()
    assert again.to_html() == card.to_html()
    with pytest.raises(InputError, match=r"\.html, \.json or \.yaml"):
        card.save(tmp_path / "card.pdf")


def test_release_saves_its_card(release: Any, tmp_path: Path) -> None:
    names = {p.name for p in release.save(tmp_path / "out")}
    assert {"card.html", "card.json", "card.yaml", "release.json", "release.csv"} == names


def test_json_is_sorted_stable_and_ascii(release: Any) -> None:
    text = release.card().to_json()
    assert text == release.card().to_json()
    assert text.isascii()
    assert text == json.dumps(json.loads(text), sort_keys=True, indent=2) + "\n"


REGISTRY = {
    "basic": "name data_curators description intended_use data_product_type data_product_region data_product_sector"
    " publication_date",
    "dp_variant": "variant_name data_domain unprotected_quantities",
    "privacy_loss": "privacy_unit privacy_unit_details privacy_parameters privacy_parameters_details",
    "deployment_model": "model_name actors release_type release_type_details source_type source_type_details"
    " access_type access_type_details",
    "implementation": "preprocessing_and_hyperparameter_tuning mechanisms composition post_processing justification",
    "administrative": "evidence_sources notes registry_authors status tier",
}


def test_registry_entry_has_every_field_and_marks_what_it_cannot_know(cards: dict[str, Card]) -> None:
    for card in cards.values():
        entry = yaml.safe_load(card.to_yaml())["deployment"]
        assert {part: set(fields) for part, fields in entry.items()} == {k: set(v.split()) for k, v in REGISTRY.items()}
        for part, field in (
            ("basic", "intended_use"),
            ("deployment_model", "actors"),
            ("basic", "data_product_region"),
        ):
            assert entry[part][field] == TO_FILL_IN
        g = card.document["release"]["guarantee"]
        assert entry["privacy_loss"]["privacy_parameters"] == {"epsilon": g["epsilon"], "delta": g["delta"]}
        assert entry["dp_variant"]["variant_name"] == ("Approximate DP" if g["delta"] else "Pure DP")
        assert entry["administrative"]["tier"] == 3


# -- structure -------------------------------------------------------------------------------------------------------


def test_own_check_of_structure_agrees_with_a_full_validator(release: Any) -> None:
    """Every field (of lists: in the first entry) is made wrong in several ways; both must say the same."""
    validator = jsonschema.Draft202012Validator(card_schema())
    jsonschema.Draft202012Validator.check_schema(card_schema())
    text = release.card().to_json()
    verdicts = {True: 0, False: 0}
    for path in (p for p in leaves(json.loads(text)) if not any(isinstance(k, int) and k for k in p)):
        for wrong in (None, True, -1, 1.5, "text", [], {}):
            document = json.loads(text)
            put(document, path, wrong)
            fine = validator.is_valid(document)
            verdicts[fine] += 1
            assert accepted(document) == fine, (path, wrong)
    assert min(verdicts.values()) > 100


def accepted(document: Any) -> bool:
    try:
        check_structure(document)
    except InputError:
        return False
    return True


def leaves(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else None
    if items is None:
        return [path]
    return [leaf for key, item in items for leaf in leaves(item, (*path, key))]


def put(document: Any, path: tuple[Any, ...], value: Any) -> None:
    for key in path[:-1]:
        document = document[key]
    document[path[-1]] = value


# -- numbers ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("value", "error", "text"),
    [
        (25.2679, 0.26, "25.27"),
        (-0.598, 0.15, "\u22120.60"),
        (5207.36, 40.0, "5,207"),
        (4156925793.0, 7.7e7, "4.157"),
        (-1.4e-6, 5.6e-6, "\u22121.4"),
        (0.0, 0.1, "0.00"),
    ],
)
def test_estimates_have_the_digits_that_their_error_leaves(value: float, error: float, text: str) -> None:
    assert Measure.of(abs(value) or error, error).write(value) == text


def test_intervals_are_rounded_outwards() -> None:
    assert (fixed(1.2301, 2, -1), fixed(1.2301, 2, 1)) == ("1.23", "1.24")
    assert (fixed(-1.2301, 2, -1), fixed(-1.2301, 2, 1)) == ("\u22121.24", "\u22121.23")


def test_even_bets_are_upper_bounds() -> None:
    assert percent(even_bet(1.0)) == "73.2%"  # e / (1 + e) = 0.73106
    assert percent(even_bet(None)) == "100%"
    assert percent(even_bet(0.0)) == "50%"


@pytest.mark.parametrize(("low", "high"), [(25.1, 26.2), (7.01, 7.10), (0, 5200), (-0.7, 0.6), (1e-7, 3e-7), (0, 4e9)])
def test_axes_have_few_round_numbers(low: float, high: float) -> None:
    scale = Scale.around([low, high], zero=False)
    ticks = scale.ticks()
    assert 2 <= len(ticks) <= 5
    assert all(scale.low <= t <= scale.high for t in ticks)


def test_a_long_name_is_cut_and_says_by_how_much() -> None:
    assert markup("n" * 10_000, 100).endswith("(9,900 more characters)")
    assert markup("n" * 100, 100) == "n" * 100
