"""The site in a real browser: every page, every internal link.
`make docs` builds it and runs this.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urldefrag

import pytest

import knockoffs
import knockoffs.datasets

SITE = Path(__file__).parents[1] / "docs" / "_build" / "html"
BROWSER = shutil.which("chromium") or shutil.which("chromium-browser")
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-sync",
]
LINKS = "() => Array.from(document.querySelectorAll('a[href]')).map(link => link.href)"
PLACES = "() => Array.from(document.querySelectorAll('[id]')).map(element => element.id)"

pytestmark = pytest.mark.skipif(
    not os.environ.get("KNOCKOFFS_NEEDS_SITE"),
    reason="needs the site: `make docs` builds it and runs this test",
)


class Reader:
    """A browser that reads the site, and notes what should not happen."""

    def __init__(self, browser: Any) -> None:
        self.page = browser.new_page()
        self.page.set_default_timeout(20_000)
        self.problems: list[str] = []
        self.page.on("console", self._hear)
        self.page.on("pageerror", lambda error: self._note(str(error)))
        self.page.on("request", self._see)

    def read(self, path: Path) -> tuple[list[str], set[str]]:
        """Open a page, and return its links and the places that can be linked to."""
        self.page.goto(path.as_uri())
        return self.page.evaluate(LINKS), set(self.page.evaluate(PLACES))

    def _note(self, problem: str) -> None:
        self.problems.append(f"{self.page.url}: {problem}")

    def _hear(self, message: Any) -> None:
        if message.type in ("error", "warning"):
            self._note(message.text)

    def _see(self, request: Any) -> None:
        if not request.url.startswith((SITE.as_uri(), "data:")):
            self._note(f"asks for {request.url}")


@pytest.fixture(scope="module")
def reader() -> Iterator[Reader]:
    assert (SITE / "index.html").is_file(), "The site is not built: run `make docs`."
    if BROWSER is None:
        reason = "needs Chromium: install it, or put its folder on PATH"
        (pytest.fail if os.environ.get("KNOCKOFFS_NEEDS_BROWSER") else pytest.skip)(reason)
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=BROWSER, args=FLAGS)
        yield Reader(browser)
        browser.close()


def test_every_internal_link_leads_somewhere_and_nothing_comes_from_outside(reader: Reader) -> None:
    waiting, places, asked = [SITE / "index.html"], {}, []
    while waiting:
        path = waiting.pop()
        if path in places:
            continue
        links, places[path] = reader.read(path)
        for link in links:
            address, place = urldefrag(link)
            if not address.startswith(SITE.as_uri()):
                assert link.startswith(("https://", "http://", "mailto:")), f"{path}: {link}"
                continue
            target = Path(unquote(address.partition("?")[0]).removeprefix("file://"))
            asked.append((path, target, place))
            if target.suffix == ".html":
                assert target.is_file(), (
                    f"{path.relative_to(SITE)} links to {target.relative_to(SITE)}"
                )
                waiting.append(target)
    broken = [
        f"{path.relative_to(SITE)}: {target.relative_to(SITE)}#{place}"
        for path, target, place in asked
        if not (
            target.is_file()
            and (not place or target.suffix != ".html" or unquote(place) in places[target])
        )
    ]
    assert broken == []
    assert reader.problems == []
    unread = {path.relative_to(SITE).as_posix() for path in SITE.rglob("*.html")} - {
        path.relative_to(SITE).as_posix() for path in places
    }
    assert unread <= {"search.html"}  # the form on every page opens it
    examples = [
        path
        for path in places
        if path.parent.parent.name == "gallery" and path.stem.startswith("plot_")
    ]
    assert len(examples) >= 12
    size = sum(path.stat().st_size for path in SITE.rglob("*") if path.is_file()) / 2**20
    print(
        f"\n{len(places)} pages, {len(asked)} internal links, {len(examples)} examples, "
        f"{size:.1f} MiB"
    )


def test_the_search_finds_pages_without_a_server(reader: Reader) -> None:
    reader.page.goto(f"{(SITE / 'search.html').as_uri()}?q=survival")
    reader.page.wait_for_selector("#search-results li a")
    found = reader.page.eval_on_selector_all(
        "#search-results li a", "links => links.map(link => link.href)"
    )
    assert any("guides/survival.html" in link for link in found)
    assert reader.problems == []


def test_every_public_name_has_a_page(reader: Reader) -> None:
    pages = {path.stem for path in (SITE / "reference" / "generated").glob("*.html")}
    assert {f"knockoffs.{name}" for name in knockoffs.__all__} <= pages
    assert {f"knockoffs.datasets.{name}" for name in knockoffs.datasets.__all__} <= pages


def test_the_index_for_language_models_names_pages_that_exist() -> None:
    text = (SITE / "llms.txt").read_text(encoding="utf-8")
    links = re.findall(r"\]\(([^)]+)\)", text)
    assert len(links) > 20
    assert [link for link in links if not (SITE / link).is_file()] == []


def test_formulas_are_drawn_by_the_browser_itself(reader: Reader) -> None:
    reader.page.goto((SITE / "how" / "ddlk.html").as_uri())
    assert reader.page.locator("math").count() > 10
    assert reader.page.locator("math merror").count() == 0
