"""Both pages in a real browser: quiet, self-contained, legible, reachable, and true to the release.

Needs Playwright's Python package and a Chromium on the path. Without them every test here skips and says so.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from understudy.evaluate import Evaluation, evaluate
from understudy.release import Release
from understudy.report import write_evaluation, write_report
from understudy.report.data import Value, report_data
from understudy.report.release_page import render

pytestmark = pytest.mark.browser
sync_api = pytest.importorskip(
    "playwright.sync_api", reason="Playwright's Python package is not installed, or is broken", exc_type=ImportError
)

ARTEFACTS = Path(__file__).parents[1] / "artefacts"
"""Screenshots and prints are kept here, to be looked at."""
NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
FLAGS = (
    "--no-sandbox",
    "--headless=new",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
)
PAGES = ("people", "seeded", "nasty", "wide", "evaluation", "evaluation_nasty")
WIDTHS = (1280, 390, 360)

CONTRAST = """() => {
  const parse = c => { const m = c.match(/[\\d.]+/g).map(Number);
    const s = c.startsWith('color(') ? 255 : 1;
    return [m[0]*s, m[1]*s, m[2]*s, m.length > 3 ? m[3] : 1]; };
  const over = (a, b) => [0,1,2].map(i => a[i]*a[3] + b[i]*(1-a[3])).concat(1);
  const lum = c => { const f = c.slice(0,3).map(v => { v /= 255; return v <= .03928 ? v/12.92 : ((v+.055)/1.055)**2.4; });
    return .2126*f[0] + .7152*f[1] + .0722*f[2]; };
  const ratio = (a, b) => { const [x, y] = [lum(a), lum(b)].sort((p, q) => q - p); return (x+.05)/(y+.05); };
  const root = getComputedStyle(document.documentElement).colorScheme.includes('dark') &&
    matchMedia('(prefers-color-scheme: dark)').matches ? [0,0,0,1] : [255,255,255,1];
  const grounds = e => { const chain = []; for (let p = e; p; p = p.parentElement) chain.unshift(getComputedStyle(p));
    let found = [root];
    for (const s of chain) {
      found = found.map(g => over(parse(s.backgroundColor), g));
      if (s.backgroundImage !== 'none') {
        const stops = s.backgroundImage.match(/rgba?\\([^)]*\\)/g) || [];
        if (stops.length) found = stops.map(c => over(parse(c), found[0]));
      }
    }
    return found; };
  const seen = []; let checked = 0;
  for (const e of document.querySelectorAll('body *')) {
    if (![...e.childNodes].some(n => n.nodeType === 3 && n.textContent.trim())) continue;
    if (e.closest('.unseen, .watermark, title, style')) continue;
    const box = e.getBoundingClientRect(); if (box.width < 2 || box.height < 2) continue;
    const s = getComputedStyle(e); if (s.visibility === 'hidden' || s.clipPath !== 'none') continue;
    const ink = parse(e instanceof SVGElement ? s.fill : s.color);
    checked++;
    const worst = Math.min(...grounds(e).map(g => ratio(over(ink, g), g)));
    if (worst < 4.5) seen.push([e.tagName, e.getAttribute('class'), worst, e.textContent.slice(0, 30)]);
  }
  return {checked, seen};
}"""

CUT = """() => {
  const found = [];
  const wide = document.documentElement.clientWidth;
  for (const e of document.querySelectorAll('body *')) {
    if (e.closest('.scroll, .unseen, .skip, .watermark')) continue;
    const box = e.getBoundingClientRect();
    if (box.width > 1 && (box.right > wide + 1 || box.left < -1)) found.push([e.tagName, box.left, box.right]);
  }
  return found;
}"""


def artefact(name: str) -> Path:
    """Return where to keep a file; git ignores the folder."""
    ARTEFACTS.mkdir(exist_ok=True)
    (ARTEFACTS / ".gitignore").write_text("*\n", encoding="utf-8")
    return ARTEFACTS / name


def chromium() -> str | None:
    """Return a browser, if there is one."""
    named = os.environ.get("UNDERSTUDY_CHROMIUM")
    return named or next((found for name in NAMES if (found := shutil.which(name))), None)


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """One browser for all tests."""
    path = chromium()
    if path is None:
        pytest.skip("there is no Chromium on the path (set UNDERSTUDY_CHROMIUM to name one)")
    with sync_api.sync_playwright() as driver:
        opened = driver.chromium.launch(executable_path=path, args=list(FLAGS))
        yield opened
        opened.close()


@pytest.fixture(scope="module")
def pages(
    request: pytest.FixtureRequest, people: Release, wrong_names: Release, evaluation: Evaluation, tmp_path_factory: Any
) -> dict[str, Path]:
    """All pages, written once."""
    seeded, wide = request.getfixturevalue("seeded"), request.getfixturevalue("wide")
    folder = tmp_path_factory.mktemp("pages")
    reports = {"people": people, "seeded": seeded, "nasty": wrong_names, "wide": wide}
    written = {name: write_report(release, folder / f"{name}.html") for name, release in reports.items()}
    evaluations = {"evaluation": evaluation, "evaluation_nasty": evaluate(wrong_names.arrow, wrong_names)}
    return {**written, **{name: write_evaluation(e, folder / f"{name}.html") for name, e in evaluations.items()}}


class Opened:
    """A page, and all that the browser had to say about it."""

    def __init__(self, browser: Any, path: Path, width: int, scheme: str = "light") -> None:
        self.context = browser.new_context(viewport={"width": width, "height": 860}, color_scheme=scheme)
        self.page = self.context.new_page()
        self.said: list[str] = []
        self.asked: list[str] = []
        self.page.on("console", lambda message: self.said.append(message.text))
        self.page.on("pageerror", lambda error: self.said.append(str(error)))
        self.page.on("dialog", lambda dialog: self.said.append(dialog.message))
        self.page.on("request", lambda request: self.asked.append(request.url))
        self.page.goto(path.as_uri())

    def __enter__(self) -> Opened:
        return self

    def __exit__(self, *_: object) -> None:
        self.context.close()

    def unfold(self, open: bool) -> None:
        """Open or close all that can be."""
        self.page.evaluate("open => document.querySelectorAll('details').forEach(d => d.open = open)", open)

    def keep(self, name: str) -> None:
        """Keep a picture of the whole page."""
        self.page.screenshot(path=artefact(f"{name}.png"), full_page=True)


@pytest.mark.parametrize("name", PAGES)
def test_quiet_self_contained_and_no_wider_than_the_screen(browser: Any, pages: dict[str, Path], name: str) -> None:
    with Opened(browser, pages[name], WIDTHS[0]) as opened:
        for width in WIDTHS:
            opened.page.set_viewport_size({"width": width, "height": 860})
            opened.keep(f"{name}-{width}")
            opened.unfold(True)
            assert opened.page.evaluate("document.documentElement.scrollWidth") <= width
            assert opened.page.evaluate(CUT) == []
            opened.unfold(False)
        assert opened.said == []
        assert opened.asked == [pages[name].as_uri()]


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("name", PAGES)
def test_every_text_stands_out(browser: Any, pages: dict[str, Path], name: str, scheme: str) -> None:
    with Opened(browser, pages[name], 1280, scheme) as opened:
        opened.unfold(True)
        found = opened.page.evaluate(CONTRAST)
        assert found["checked"] > 100
        assert found["seen"] == []


def test_a_column_is_found_by_a_part_of_its_name(browser: Any, pages: dict[str, Path]) -> None:
    with Opened(browser, pages["wide"], 390) as opened:
        page = opened.page
        page.fill("#find", "NAME_1")
        assert page.locator("#columns article:visible").count() == 10
        assert page.locator("#found").text_content() == "10 of 40"
        page.fill("#find", "nowhere")
        assert page.locator("#columns article:visible").count() == 0
        assert page.locator("#columns .group:visible").count() == 0
        page.fill("#find", "")
        assert page.locator("#columns article:visible").count() == 40
        assert opened.said == []


@pytest.mark.parametrize("width", [390, 360])
def test_the_map_of_pairs_fits_on_a_phone(browser: Any, pages: dict[str, Path], width: int) -> None:
    with Opened(browser, pages["wide"], width) as opened:
        room, taken = opened.page.evaluate("(e => [e.clientWidth, e.scrollWidth])(document.querySelector('#pairs .scroll'))")
        assert 0 < taken <= room


@pytest.mark.parametrize("width", [1280, 390])
@pytest.mark.parametrize("labels", [("MQ", "WN", "OO"), ("MCO", "DTW", "DFW"), ("EWR (WM)", "東京都", "null")])
def test_short_labels_and_shares_stay_on_one_line(
    browser: Any, people: Release, tmp_path: Path, labels: tuple[str, ...], width: int
) -> None:
    report = report_data(people)
    values = [Value(label, count, None, None) for label, count in zip(labels, (1e6, 5.0, 1.0), strict=True)]
    path = tmp_path / "page.html"
    column = replace(report.columns[1], ordered=False, values=tuple(values), radius=None)
    path.write_text(render(replace(report, columns=(column,))), encoding="utf-8")
    lines = """() => [...document.querySelectorAll('.row .label, .row .number')].map(e => {
        const range = document.createRange(); range.selectNodeContents(e);
        return [e.textContent, new Set([...range.getClientRects()].map(r => Math.round(r.top))).size,
            e.scrollWidth <= e.clientWidth]; })"""
    with Opened(browser, path, width) as opened:
        found = opened.page.evaluate(lines)
    assert [text for text, _, _ in found][1::2] == ["100%", "<0.01%", "<0.01%"]
    assert [text for text, lines, fits in found if lines != 1 or not fits] == []


@pytest.mark.parametrize("width", [1280, 390])
def test_scores_are_explained_in_sight(browser: Any, pages: dict[str, Path], width: int) -> None:
    with Opened(browser, pages["evaluation"], width) as opened:
        wide, across, high, down = opened.page.evaluate("""() => { const e = [...document.querySelectorAll('.scroll')]
            .find(e => e.ariaLabel === 'Scores that people know');
            return [e.clientWidth, e.scrollWidth, e.clientHeight, e.scrollHeight]; }""")
        assert 0 < across <= wide
        assert 0 < down <= high


def test_the_check_of_contrast_can_fail(browser: Any, pages: dict[str, Path]) -> None:
    with Opened(browser, pages["people"], 1280) as opened:
        opened.page.evaluate("document.querySelector('.lead').style.color = '#999'")
        assert [seen[1] for seen in opened.page.evaluate(CONTRAST)["seen"]] == ["lead"]


def test_charts_are_drawn(browser: Any, pages: dict[str, Path], people: Release) -> None:
    with Opened(browser, pages["people"], 1280) as opened:
        columns, page = len(people.domain), opened.page
        assert page.locator("#columns article").count() == columns
        assert page.locator("#columns .chart[role=img]").count() == columns
        assert page.locator("#pairs table.heat td.h").count() == columns * (columns - 1) // 2
        assert page.locator("svg.graph .node").count() == columns
        assert page.locator("svg.graph .tie").count() > 0
        assert page.locator("#budget svg rect.measure").count() == len(people.rounds)
        for chart in page.locator(".chart, .budget, svg.graph, table.heat").all():
            box = chart.bounding_box()
            assert box is not None
            assert box["width"] > 150
            assert box["height"] > 15


def test_cells_have_the_colour_of_their_number(browser: Any, pages: dict[str, Path]) -> None:
    with Opened(browser, pages["people"], 1280) as opened:
        script = """() => [...document.querySelectorAll('table.heat td.h')].map(
            e => [Number(e.querySelector('data').value), getComputedStyle(e).backgroundColor])"""
        shades: dict[int, set[str]] = {}
        for share, colour in opened.page.evaluate(script):
            step = sum(share > edge for edge in (0.02, 0.05, 0.1, 0.2, 0.4, 0.8))
            shades.setdefault(step, set()).add(colour)
        assert all(len(colours) == 1 for colours in shades.values())
        assert len({next(iter(colours)) for colours in shades.values()}) == len(shades) > 1


def test_tables_show_the_releases_numbers(browser: Any, pages: dict[str, Path], people: Release) -> None:
    with Opened(browser, pages["people"], 390) as opened:
        script = """c => [...document.querySelectorAll('table')].find(t => t.caption.textContent === c)
            .querySelectorAll('tbody tr').length"""
        assert opened.page.evaluate(script, "Every round") == len(people.rounds)
        cells = """() => Object.fromEntries([...document.querySelectorAll('table')]
            .find(t => t.caption.textContent === 'Bounded error of every pair')
            .querySelectorAll('tbody tr').values()
            .map(r => [r.cells[0].textContent, Number(r.querySelectorAll('data')[1].value)]))"""
        shown = opened.page.evaluate(cells)
        wanted = {" × ".join(b.columns): b.table for b in people.manifest.bounds if len(b.columns) == 2}
        assert shown == wanted


def test_the_keyboard_reaches_everything(browser: Any, pages: dict[str, Path]) -> None:
    with Opened(browser, pages["people"], 390) as opened:
        page = opened.page
        page.keyboard.press("Tab")
        assert page.evaluate("document.activeElement.className") == "skip"
        assert page.evaluate("document.activeElement.getBoundingClientRect().left") >= 0
        names = []
        for _ in range(400):
            page.keyboard.press("Tab")
            names.append(page.evaluate("document.activeElement.tagName"))
            if names[-1] == "BODY":
                break
        assert names.count("SUMMARY") == page.locator("summary").count()
        page.locator("summary").first.focus()
        page.keyboard.press("Enter")
        assert page.evaluate("document.querySelector('details').open")


@pytest.mark.parametrize(("name", "text"), [("evaluation", "INTERNAL: NOT PRIVATE"), ("seeded", "NOT PRIVATE")])
def test_the_mark_is_on_every_screen(browser: Any, pages: dict[str, Path], name: str, text: str) -> None:
    for width in WIDTHS:
        with Opened(browser, pages[name], width) as opened:
            height = opened.page.evaluate("document.documentElement.scrollHeight")
            for top in range(0, height, 700):
                opened.page.evaluate(f"window.scrollTo(0, {top})")
                script = """() => { const e = document.querySelector('.banner strong'), b = e.getBoundingClientRect();
                    const top = document.elementFromPoint(b.left + b.width / 2, b.top + b.height / 2);
                    return top === e && b.top >= 0 ? e.textContent : null; }"""
                assert opened.page.evaluate(script) == text


@pytest.mark.parametrize(
    ("name", "text"), [("evaluation", "INTERNAL: NOT PRIVATE"), ("seeded", "NOT PRIVATE"), ("people", "")]
)
def test_the_mark_is_on_every_sheet(browser: Any, pages: dict[str, Path], name: str, text: str) -> None:
    with Opened(browser, pages[name], 1280) as opened:
        path = artefact(f"{name}.pdf")
        opened.page.pdf(path=path, format="A4", prefer_css_page_size=True)
    if shutil.which("pdftotext") is None:
        pytest.skip("pdftotext is not installed, so the sheets cannot be read")
    sheets = subprocess.run(["pdftotext", str(path), "-"], capture_output=True, text=True, check=True).stdout.split("\f")[
        :-1
    ]
    assert len(sheets) >= 3
    assert all(text in sheet for sheet in sheets)
    assert text or not any("NOT PRIVATE" in sheet for sheet in sheets)
