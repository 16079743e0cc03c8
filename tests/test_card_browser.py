"""The page in a real browser: figures are seen, nothing is asked of the network, nothing is complained about."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from matplotlib.image import imread

from card_world import calm, hostile, released

BROWSER = next(
    (found for name in ("chromium", "chromium-browser", "google-chrome") if (found := shutil.which(name))), ""
)
FLAGS = [
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--hide-scrollbars",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-extensions",
    "--enable-logging=stderr",
    "--force-color-profile=srgb",
]
SEEN = {"light": "#4f97a8", "dark": "#4d98a9"}
PAPER = {"light": "#fcfbf8", "dark": "#15171a"}
FETCHED = "http://127.0.0.1:9/fetched.png"
ASKED = re.compile(r'"initiator":"(?!not an origin)[^"]*".*?"url":"((?:https?|wss?)://[^"]*)"')
"""A request that a page began: what the browser asks for by itself, updates say, has no origin"""

pytestmark = pytest.mark.skipif(not BROWSER, reason="no chromium here; CI installs it (.ci/run)")


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    where = tmp_path_factory.mktemp("page")
    return Path(calm(where / "s.ledger").card().save(where / "card.html"))


def browse(page: Path, *flags: str) -> str:
    """What the browser wrote to stderr while it showed the page."""
    home = f"--user-data-dir={page.parent / 'browser'}"
    done = subprocess.run(
        [BROWSER, *FLAGS, home, *flags, page.as_uri()], capture_output=True, text=True, check=True, timeout=120
    )
    return done.stderr


def colour(text: str) -> Any:
    return np.array([int(text[i : i + 2], 16) for i in (1, 3, 5)]) / 255


def pixels(page: Path, theme: str, width: int = 900) -> Any:
    """The page as it is painted, red, green and blue."""
    target = page.with_name(f"{page.stem}-{theme}-{width}.png")
    scheme = "--blink-settings=preferredColorScheme=" + ("0" if theme == "dark" else "1")
    browse(page, f"--screenshot={target}", f"--window-size={width},1400", scheme)
    return imread(target)[:, :, :3]


def painted(image: Any, text: str) -> int:
    return int((np.abs(image - colour(text)).max(axis=2) < 0.02).sum())


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_figures_are_seen_in_light_and_dark(page: Path, theme: str) -> None:
    image = pixels(page, theme)
    assert painted(image, PAPER[theme]) > image.shape[0] * image.shape[1] / 2
    assert painted(image, SEEN[theme]) > 400  # the bands of the intervals


def test_without_its_style_nothing_of_that_is_seen(page: Path, tmp_path: Path) -> None:
    """The control: the pixels above are those of the figures."""
    bare = tmp_path / "bare.html"
    text = page.read_text(encoding="utf-8")
    bare.write_text(text.replace("<style>", "<style>/* changed: its hash no longer fits */"), encoding="utf-8")
    assert painted(pixels(bare, "light"), SEEN["light"]) == 0


def test_nothing_is_wider_than_a_narrow_window(page: Path) -> None:
    """The right margin stays empty; a headless window is at least 500 wide."""
    image = pixels(page, "light", 500)
    assert painted(image[:, -12:], PAPER["light"]) == 12 * image.shape[0]


def test_no_request_and_no_complaint(page: Path, tmp_path: Path) -> None:
    log = tmp_path / "net.json"
    said = browse(page, f"--log-net-log={log}", "--screenshot=" + str(tmp_path / "x.png"))
    assert "CONSOLE" not in said
    assert requests(log) == set()


def requests(log: Path) -> set[str]:
    return set(ASKED.findall(log.read_text(encoding="utf-8")))


def test_the_policy_stops_what_a_page_without_it_would_fetch(page: Path, tmp_path: Path) -> None:
    """The controls: a smuggled picture is fetched where there is no policy, and complained about where there is."""
    text = page.read_text(encoding="utf-8").replace("</h1>", f'</h1><img src="{FETCHED}">')
    asked = {}
    for name, body in (("kept", text), ("open", text.replace("Content-Security-Policy", "X-Nothing"))):
        smuggled, log = tmp_path / f"{name}.html", tmp_path / f"{name}.json"
        smuggled.write_text(body, encoding="utf-8")
        said = browse(smuggled, f"--log-net-log={log}", "--screenshot=" + str(tmp_path / "x.png"))
        asked[name] = FETCHED in requests(log)
        assert ("CONSOLE" in said) or name == "open"
    assert asked == {"kept": False, "open": True}


def test_hostile_names_run_nothing(tmp_path: Path) -> None:
    name = "</style><script>document.title='owned'</script><img src=x onerror=\"document.title='owned'\">"
    plan = hostile(name)
    page = released(plan, tmp_path / "s.ledger", purpose=name).card().save(tmp_path / "card.html")
    assert "CONSOLE" not in browse(page, "--screenshot=" + str(tmp_path / "x.png"))


def test_it_prints(page: Path, tmp_path: Path) -> None:
    browse(page, "--no-pdf-header-footer", f"--print-to-pdf={tmp_path / 'card.pdf'}")
    pdf = (tmp_path / "card.pdf").read_bytes()
    assert pdf.startswith(b"%PDF")
    assert 2 <= pdf.count(b"/Type /Page\n") <= 10
    assert b"/MediaBox [0 0 594" in pdf or b"/MediaBox [0 0 595" in pdf  # A4
