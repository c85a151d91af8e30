"""The report as a file, and as a browser shows it."""

from __future__ import annotations

import json
import os
import re
import shutil
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.pipeline import make_pipeline

from knockoffs import KnockoffSelector, RandomizationTest, write_report
from knockoffs.density.training import History
from knockoffs.report.page import render
from knockoffs.report.summary import summarise

from .conftest import finished, standing_out

MADE = datetime(2025, 1, 2, 3, 4, tzinfo=UTC)
NASTY = [
    "<script>alert(1)</script>",
    "</script><script>alert(2)</script>",
    "</style><img src=x onerror=alert(3)>",
    '"><svg onload=alert(4)>',
    "' onmouseover='alert(5)",
    "{{7*7}} {% raw %}",
    "--><b>bold</b>&lt;&amp;",
    "javascript:alert(6)",
    "very long " * 60,
    "unbroken" * 60,
    "emoji 🙂👩‍🔬 é x̃ 漢字",
    "\u202eright to left",
    "",
    " ",
    "constructor",
    "__proto__",
]


# the file


def test_a_page_from_a_summary_that_went_through_json_is_the_same(
    selector: KnockoffSelector,
) -> None:
    summary = summarise(selector)
    assert render(json.loads(json.dumps(summary)), made=MADE) == render(summary, made=MADE)


def test_the_page_says_when_it_was_made(fitted: KnockoffSelector) -> None:
    summary = summarise(fitted)
    assert "made 2025-01-02 03:04 UTC" in render(summary, made=MADE)
    assert f"made {datetime.now(UTC):%Y-%m-%d}" in render(summary)


def test_write_report_writes_the_rendered_page_alone(
    fitted: KnockoffSelector, tmp_path: Path
) -> None:
    write_report(fitted, tmp_path / "report.html")
    (path,) = tmp_path.iterdir()
    unmade = lambda page: re.sub(r"made [\d: -]+UTC", "", page)  # noqa: E731
    assert unmade(path.read_text(encoding="utf-8")) == unmade(render(summarise(fitted)))


@pytest.mark.parametrize(
    ("result", "said"),
    [
        (
            RandomizationTest(),
            "this is a RandomizationTest.*Pass it to knockoffs.write_test_report",
        ),
        (make_pipeline(RandomizationTest()), ".*Pass it to knockoffs.write_test_report"),
        (3, "int is not valid: pass a fitted KnockoffSelector"),
    ],
)
def test_what_has_no_such_page_is_refused(result: Any, said: str, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=f"^write_report: {said}"):
        write_report(result, tmp_path / "report.html")


def test_a_failing_write_leaves_the_old_report(
    fitted: KnockoffSelector, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "report.html"
    path.write_text("old")

    def no_space(*_: object) -> None:
        raise OSError("no space left on device")

    monkeypatch.setattr(os, "replace", no_space)
    with pytest.raises(OSError, match="no space left"):
        write_report(fitted, path)
    assert [p.read_text() for p in tmp_path.iterdir()] == ["old"]


class Tags(HTMLParser):
    """Elements that are open at the end, and all that was seen."""

    def __init__(self) -> None:
        super().__init__()
        self.seen: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.append((tag, dict(attrs)))
        if tag not in ("meta", "link", "input"):
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def test_every_element_is_closed_and_nothing_points_outside(selector: KnockoffSelector) -> None:
    tags = Tags()
    tags.feed(render(summarise(selector), made=MADE))
    assert tags.open == []
    for tag, attributes in tags.seen:
        for name, value in attributes.items():
            assert not name.startswith("on"), (tag, name)
            if name in ("src", "href", "action", "style"):
                assert value == "data:,", (tag, name, value)


def test_the_page_says_whether_the_bound_is_a_theorem(fitted: KnockoffSelector) -> None:
    summary = summarise(fitted)
    claims = {
        True: ("<em>exact</em>", "For exact knockoffs that is a theorem."),
        False: ("<em>approximate</em>", "measured on many tables, not proved"),
        None: ("your own", "is a theorem if swapping"),
    }
    for exact, said in claims.items():
        page = render(summary | {"settings": summary["settings"] | {"exact": exact}})
        assert all(own in page for own in said)
        assert not any(own in page for other in claims.keys() - {exact} for own in claims[other])


# in a browser

BROWSER = shutil.which("chromium") or shutil.which("chromium-browser")
FLAGS = [
    *(
        "--no-sandbox",
        "--disable-gpu",
        "--disable-quic",
        "--no-first-run",
        "--disable-background-networking",
    ),
    *("--disable-component-update", "--disable-sync"),
]


@dataclass
class Shown:
    """An open page and what happened on it."""

    page: Any
    address: str
    problems: list[str] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)
    dialogs: list[str] = field(default_factory=list)

    def column(self, number: int) -> list[str]:
        """The cells of a column of the table, as sorted and filtered now."""
        return self.page.evaluate(
            "n => Array.from(document.querySelectorAll('#features tbody tr'))"
            ".filter(row => !row.hidden).map(row => row.cells[n].textContent)",
            number,
        )

    def values(self, number: int) -> list[float]:
        return self.page.evaluate(
            "n => Array.from(document.querySelectorAll('#features tbody tr'))"
            ".map(row => Number(row.cells[n].dataset.value))",
            number,
        )

    def sort_marks(self) -> list[str | None]:
        return self.page.eval_on_selector_all(
            "#features th", "cells => cells.map(cell => cell.getAttribute('aria-sort'))"
        )

    def sort_by(self, number: int) -> None:
        self.page.locator("#features th button").nth(number).click()

    def style(self, selector: str, name: str) -> str:
        return self.page.eval_on_selector(selector, "(e, name) => getComputedStyle(e)[name]", name)

    def require_peace(self) -> None:
        """No error, no request beside the file itself, no dialog."""
        assert self.problems == []
        assert self.dialogs == []
        assert [url for url in self.requests if url != "data:,"] == [self.address]


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    if BROWSER is None:
        reason = "needs Chromium: install it, or put its folder on PATH"
        (pytest.fail if os.environ.get("KNOCKOFFS_NEEDS_BROWSER") else pytest.skip)(reason)
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        launched = playwright.chromium.launch(executable_path=BROWSER, args=FLAGS)
        yield launched
        launched.close()


@pytest.fixture
def show(browser: Any, tmp_path: Path) -> Iterator[Callable[..., Shown]]:
    """Opens the report of a selector; at the end of the test there must have been no error."""
    opened = []

    def open_page(selector: KnockoffSelector, **options: Any) -> Shown:
        path = tmp_path / f"report {len(opened)}.html"
        write_report(selector, path)
        page = browser.new_page(**options)
        page.set_default_timeout(10_000)
        shown = Shown(page, path.as_uri())
        page.on(
            "console",
            lambda m: shown.problems.append(m.text) if m.type in ("error", "warning") else None,
        )
        page.on("pageerror", lambda error: shown.problems.append(str(error)))
        page.on("request", lambda request: shown.requests.append(request.url))
        page.on("dialog", lambda dialog: (shown.dialogs.append(dialog.message), dialog.dismiss()))
        opened.append(shown)
        page.goto(shown.address)
        return shown

    yield open_page
    for shown in opened:
        shown.page.wait_for_timeout(50)
        shown.page.close()
        shown.require_peace()


def test_the_page_opens_without_errors_and_alone(
    show: Callable[..., Shown], selector: KnockoffSelector
) -> None:
    shown = show(selector)
    selection = selector.selection_
    assert shown.page.title() == (
        f"Knockoff selection: {len(selection.discoveries)} of {len(selection.names)} features"
    )
    answer = shown.page.locator(".answer strong").first.text_content()
    assert answer.startswith(f"{len(selection.discoveries) or 'No feature'} ")
    assert shown.page.locator(".answer .names span").all_text_contents() == selection.discoveries
    assert shown.page.locator(".cautions li").all_text_contents() == list(selection.cautions)
    assert sorted(shown.column(0)) == sorted(selection.names)
    assert shown.page.locator("tr.selected").count() == len(selection.discoveries)
    first = shown.page.locator("#statistics svg").first
    assert first.locator("circle").count() == len(selection.names)
    assert first.locator("circle.selected").count() == len(selection.discoveries)
    assert (
        shown.page.locator("#count").text_content()
        == f"{len(selection.names)} of {len(selection.names)}"
    )


HEADINGS = ["feature", "selected", "mean w", "enters at level", "e-value", "frequency", "remark"]


def test_the_table_sorts_by_every_column_both_ways(show: Callable[..., Shown]) -> None:
    shown = show(
        finished(standing_out(40, 15, draws=3), names=[f"{c}{j}" for j in range(20) for c in "bA"])
    )
    assert shown.page.locator("#features th").all_text_contents() == HEADINGS
    assert shown.sort_marks() == [None, None, "descending", None, None, None, None]
    assert shown.values(2) == sorted(shown.values(2), reverse=True)
    everything = sorted(shown.column(0))
    for number in range(len(HEADINGS)):
        for _ in range(2):
            before = shown.sort_marks()[number]
            shown.sort_by(number)
            now = shown.sort_marks()
            assert now[number] == ("ascending" if before == "descending" else "descending")
            assert [mark for k, mark in enumerate(now) if k != number] == [None] * 6
            words = number in (0, 6)
            keys = (
                [cell.lower() for cell in shown.column(number)] if words else shown.values(number)
            )
            assert keys == sorted(keys, reverse=now[number] == "descending")
            assert sorted(shown.column(0)) == everything
    assert len(set(shown.values(4))) > 1  # there was something to sort


def test_the_table_sorts_by_the_keyboard(show: Callable[..., Shown]) -> None:
    shown = show(finished(standing_out(10, 5)))
    shown.page.locator("#features th button").nth(2).focus()
    shown.page.keyboard.press("Enter")
    assert shown.sort_marks()[2] == "ascending"
    shown.page.keyboard.press("Space")
    assert shown.sort_marks()[2] == "descending"


def test_numbers_sort_by_value_and_not_as_text(show: Callable[..., Shown]) -> None:
    w = [1e-5, 2e-10, 10, 9, -1e-7, -100, 0]
    shown = show(finished(w))
    assert shown.values(2) == sorted(w, reverse=True)
    shown.sort_by(2)
    assert shown.values(2) == sorted(w)
    assert [float(cell) for cell in shown.column(2)] == sorted(w)


def test_the_search_filters_and_counts(show: Callable[..., Shown]) -> None:
    shown = show(finished(standing_out(5, 2), names=["Dose", "dosage", "age", "été", "a.*b"]))
    search, count = shown.page.get_by_label("Search a feature"), shown.page.locator("#count")
    for text, found in (
        ("dos", ["Dose", "dosage"]),
        ("DOSE", ["Dose"]),
        ("ÉTÉ", ["été"]),
        (".*", ["a.*b"]),
        ("nothing", []),
        ("", ["Dose", "dosage", "age", "été", "a.*b"]),
    ):
        search.fill(text)
        assert sorted(shown.column(0)) == sorted(found)
        assert count.text_content() == f"{len(found)} of 5"
        assert shown.page.locator("#features tbody tr:visible").count() == len(found)
    search.fill("dos")
    shown.sort_by(0)
    shown.sort_by(0)
    assert shown.column(0) == ["dosage", "Dose"]  # a sort keeps the filter


def test_names_stay_text_whatever_they_are(show: Callable[..., Shown]) -> None:
    w = np.linspace(2, 1, len(NASTY))
    history = [History(name, [2.0, 1.0], [2.0, 1.0], 1) for name in NASTY[:3]]
    shown = show(finished([w, w[::-1]], names=NASTY, history=history))
    assert sorted(shown.column(0)) == sorted(NASTY)
    assert sorted(shown.page.locator(".answer .names span").all_text_contents()) == sorted(NASTY)
    assert shown.page.locator("script").count() == 1
    assert shown.page.locator("style").count() == 1
    assert shown.page.locator("img, iframe, object, embed, b").count() == 0
    titles = shown.page.locator("#statistics svg").first.locator("circle title").all_text_contents()
    assert sorted(t.rsplit(": mean w = ")[0] for t in titles) == sorted(NASTY)
    for name in NASTY:
        shown.page.get_by_label("Search a feature").fill(name)
        assert name in shown.column(0)
    shown.page.get_by_label("Search a feature").fill("")
    for button in shown.page.locator("#features th button").all():
        button.click()
    shown.page.mouse.move(300, 300)
    shown.page.wait_for_timeout(100)
    assert shown.dialogs == []


def test_a_script_that_is_not_the_pages_own_does_not_run(browser: Any, tmp_path: Path) -> None:
    """A second wall behind the escaping: the policy allows one script, by its hash."""
    page_text = render(summarise(finished([1.0, 2.0])))
    path = tmp_path / "injected.html"
    path.write_text(
        page_text.replace(
            "</body>",
            "<script>document.title = 'ran'</script><img src=x onerror='alert(1)'></body>",
        ),
        encoding="utf-8",
    )
    page, dialogs = browser.new_page(), []
    page.on("dialog", lambda dialog: (dialogs.append(dialog.message), dialog.dismiss()))
    page.goto(path.as_uri())
    page.wait_for_timeout(100)
    assert page.title() != "ran"
    assert page.locator("#count").text_content() == "2 of 2"  # the page's own script did run
    assert dialogs == []
    page.close()


def test_long_names_do_not_widen_the_page(show: Callable[..., Shown]) -> None:
    names = ["unbroken" * 60, "many words " * 60, *(f"f{j}" for j in range(10))]
    selector = finished(standing_out(12, 6, draws=2), names=names)
    for width in (400, 1200):
        shown = show(selector, viewport={"width": width, "height": 800})
        assert shown.page.evaluate("document.documentElement.scrollWidth") <= width


# how it looks


def luminance(colour: str) -> float:
    parts = [int(part) / 255 for part in re.findall(r"\d+", colour)[:3]]
    linear = [c / 12.92 if c <= 0.03928 else ((c + 0.055) / 1.055) ** 2.4 for c in parts]
    return float(np.dot(linear, [0.2126, 0.7152, 0.0722]))


def contrast(first: str, second: str) -> float:
    dark, light = sorted([luminance(first), luminance(second)])
    return (light + 0.05) / (dark + 0.05)


TEXTS = {  # where text stands, and on what
    "p": "body",
    ".quiet": "body",
    ".answer strong": ".answer",
    ".cautions li": ".cautions",
    "thead th": "thead th",
    "td": "body",
    "dt": "body",
    "dd": "body",
    ".legend": "body",
}


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_texts_can_be_read_on_their_background(show: Callable[..., Shown], scheme: str) -> None:
    shown = show(finished([0.3, -0.4, 0.1]), color_scheme=scheme)  # with cautions
    for text, ground in TEXTS.items():
        ratio = contrast(shown.style(text, "color"), shown.style(ground, "backgroundColor"))
        assert ratio >= 4.5, (text, ratio)
    for text in ("svg text", "svg .tick"):
        assert contrast(shown.style(text, "fill"), shown.style("body", "backgroundColor")) >= 4.5


def test_dark_and_light_differ_and_print_is_light(show: Callable[..., Shown]) -> None:
    shown = show(finished(standing_out(20, 10)))
    seen = {}
    for scheme in ("light", "dark"):
        shown.page.emulate_media(color_scheme=scheme, media="screen")
        seen[scheme] = luminance(shown.style("body", "backgroundColor"))
    assert seen["light"] > 0.9
    assert seen["dark"] < 0.05
    shown.page.emulate_media(color_scheme="dark", media="print")
    assert luminance(shown.style("body", "backgroundColor")) == pytest.approx(1)
    assert contrast(shown.style("td", "color"), shown.style("body", "backgroundColor")) > 7


def test_print_shows_the_whole_table(show: Callable[..., Shown]) -> None:
    shown = show(finished(standing_out(300, 100)))
    cut = "e => e.scrollHeight > e.clientHeight + 1"
    assert shown.page.eval_on_selector("#others .scroll", cut)  # on screen it scrolls
    shown.page.emulate_media(media="print")
    assert not shown.page.eval_on_selector("#others .scroll", cut)
    assert shown.page.locator("#features tbody tr:visible").count() == 300
    assert not shown.page.locator("#search").is_visible()
    box, last = (
        shown.page.locator("#others .scroll").bounding_box(),
        shown.page.locator("#features tr").last.bounding_box(),
    )
    assert last["y"] + last["height"] <= box["y"] + box["height"] + 1


TEXT_BOXES = """
() => Array.from(document.querySelectorAll('svg')).map(svg => {
  const frame = svg.getBoundingClientRect();
  const texts = Array.from(svg.querySelectorAll('text')).filter(t => t.textContent.trim());
  const boxes = texts.map(t => [t.textContent, t.getBoundingClientRect()]);
  const clipped = boxes.filter(([, b]) => b.left < frame.left - 1 || b.right > frame.right + 1
    || b.top < frame.top - 1 || b.bottom > frame.bottom + 1).map(([text]) => text);
  const overlaps = [];
  for (let i = 0; i < boxes.length; i++) for (let j = i + 1; j < boxes.length; j++) {
    const [one, a] = boxes[i], [two, b] = boxes[j];
    const wide = Math.min(a.right, b.right) - Math.max(a.left, b.left);
    const high = Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top);
    if (wide > 1 && high > 4) overlaps.push([one, two]);
  }
  return {name: svg.getAttribute('aria-label'), clipped, overlaps};
})
"""


def require_readable(shown: Shown) -> None:
    pictures = shown.page.evaluate(TEXT_BOXES)
    assert len(pictures) >= 2
    assert [picture for picture in pictures if picture["clipped"] or picture["overlaps"]] == []


def test_texts_of_pictures_are_neither_clipped_nor_on_each_other(
    show: Callable[..., Shown], selector: KnockoffSelector
) -> None:
    require_readable(show(selector))


def test_labels_of_a_threshold_near_zero_are_not_on_each_other(show: Callable[..., Shown]) -> None:
    """As it is as a rule: the largest w is far above the threshold."""
    w = np.concatenate([np.linspace(1, 0.02, 20), [-0.01, 0.005]])
    require_readable(show(finished(w, fdr=0.1)))


def test_labels_of_odd_numbers_and_long_names_are_not_clipped(show: Callable[..., Shown]) -> None:
    z = np.random.default_rng(0).normal(size=(80, 12))
    x = np.column_stack(
        [np.exp(11 + z[:, :3]), 101_325 + 50 * z[:, 3:6], 1e-4 * z[:, 6:9], 2005 + 5 * z[:, 9:]]
    )
    capitals = "MEAN CORPUSCULAR HEMOGLOBIN CONCENTRATION OF SAMPLE"
    names = [f"{capitals} {j}" for j in range(6)] + [f"column number {j}" for j in range(6)]
    history = [History("a long stage " * 9, [9, -0.0575, -0.058], [9, -0.0579, -0.0585], 2)]
    require_readable(
        show(finished(1e-4 * standing_out(12, 8, draws=3), x=x, names=names, history=history))
    )


def test_texts_of_pictures_can_be_read_on_a_phone(show: Callable[..., Shown]) -> None:
    shown = show(finished(standing_out(30, 12)), viewport={"width": 400, "height": 800})
    heights = shown.page.eval_on_selector_all(
        "svg text",
        "texts => texts.filter(t => t.textContent.trim())"
        ".map(t => t.getBBox().height * Math.hypot(t.getScreenCTM().a, t.getScreenCTM().b))",
    )
    assert min(heights) > 9  # pixels; a font size of 12 gives about 14


def test_the_table_can_be_read_on_a_phone(show: Callable[..., Shown]) -> None:
    """Names are not broken letter by letter."""
    names = [f"systolic blood pressure {j}" for j in range(12)]
    shown = show(finished(standing_out(12, 6), names=names), viewport={"width": 400, "height": 800})
    heights = shown.page.eval_on_selector_all(
        "#features tr", "rows => rows.map(row => row.getBoundingClientRect().height)"
    )
    assert max(heights) < 120


# many columns


def test_five_thousand_columns_open_and_sort_fast(show: Callable[..., Shown]) -> None:
    selector = finished(standing_out(5000, 300), names=[f"gene {j}" for j in range(5000)], rows=40)
    start = time.perf_counter()
    shown = show(selector)
    assert shown.page.locator("#count").text_content() == "5000 of 5000"
    assert time.perf_counter() - start < 10
    for number in range(3):
        start = time.perf_counter()
        shown.sort_by(number)
        shown.page.evaluate(
            "() => new Promise(done => requestAnimationFrame(() => setTimeout(done)))"
        )
        assert time.perf_counter() - start < 3
    start = time.perf_counter()
    shown.page.get_by_label("Search a feature").fill("gene 4999")
    assert shown.column(0) == ["gene 4999"]
    assert time.perf_counter() - start < 3
    more = len(selector.selection_.discoveries) - 40
    assert f"and {more} more, in the table below" in shown.page.locator(".names").text_content()


# what else there may be


def test_nothing_selected_is_said_and_explained(show: Callable[..., Shown]) -> None:
    shown = show(finished([0.3, -0.4, 0.1, -0.2, 0.0]))
    assert shown.page.locator(".answer.none").count() == 1
    assert shown.page.locator(".names").count() == 0
    assert "needs at least 5 features" in shown.page.locator(".answer").text_content()
    assert "none qualifies" in shown.page.locator("#made dl").text_content()
    # the level of the estimate; none of w
    assert shown.page.locator("#statistics .threshold").count() == 1


def test_several_draws_show_their_shares(show: Callable[..., Shown]) -> None:
    shown = show(finished(standing_out(30, 12, draws=4)))
    assert "4 knockoff draws are combined" in shown.page.locator("body").text_content()
    assert shown.page.locator("#statistics polyline.line.data.faint").count() == 4
    assert shown.page.locator("svg rect.share").count() >= 12


def test_stages_of_training_are_shown(
    show: Callable[..., Shown], fitted_deep: KnockoffSelector
) -> None:
    shown = show(fitted_deep)
    stages = [h.stage for h in fitted_deep.generator_.history_ if len(h.held_out) > 1]
    section = shown.page.locator("#training")
    assert section.locator("svg").count() == len(stages)
    assert [
        picture.get_attribute("aria-label") for picture in section.locator("svg").all()
    ] == stages


def test_without_training_there_is_no_such_section(
    show: Callable[..., Shown], fitted: KnockoffSelector
) -> None:
    assert show(fitted).page.get_by_role("heading", name="Training of the generator").count() == 0
