"""The page on a phone, on a desk, on paper, for the keyboard, and with little to show."""

from itertools import pairwise

import pytest
from playwright.sync_api import Page

from loadsim.report.page.parts import Axis, Chart, Head, Scale, Section, Series
from loadsim.report.page.render import render
from tests.report.page.browser.conftest import Show, drawn, until
from tests.report.page.samples import CHARTS, HEAD, PICTURES, sample_page

DRAWN = f"pictures.size === {len(PICTURES)} && [...pictures.values()].every(({{u}}) => !u || u.status === 1)"


def overflow(page: Page) -> int:
    return int(page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth"))


@pytest.mark.parametrize("width", [360, 1440])
def test_the_page_is_no_wider_than_the_screen(show: Show, width: int) -> None:
    page = show(sample_page(), width=width)
    for part in CHARTS:
        drawn(page, part.id)
        page.locator(f"#{part.id}").get_by_text("Data as a table").click()
    page.get_by_text("The scenario").click()
    assert overflow(page) == 0
    for box in page.evaluate("[...document.querySelectorAll('.u-wrap')].map((e) => e.getBoundingClientRect().right)"):
        assert box <= width


def test_a_wide_table_scrolls_in_its_own_box(show: Show) -> None:
    page = show(sample_page(), width=360)
    box = page.get_by_role("region", name="First token, ms")
    assert box.evaluate("(box) => box.scrollWidth > box.clientWidth")
    assert overflow(page) == 0


def test_a_chart_follows_the_width_of_the_window(show: Show) -> None:
    page = show(sample_page(), width=1440)
    drawn(page, "card")
    wide = page.evaluate('pictures.get("card").u.width')
    page.set_viewport_size({"width": 400, "height": 900})
    until(page, 'pictures.get("card").u.width < 400')
    page.set_viewport_size({"width": 1440, "height": 900})
    until(page, f'pictures.get("card").u.width === {wide}')


@pytest.mark.parametrize("way", ["pdf", "media"])
def test_paper_has_every_chart_in_light_colours(show: Show, way: str) -> None:
    page = show(sample_page(), scheme="dark", height=500)
    assert page.evaluate("pictures.size") < len(PICTURES)
    if way == "pdf":
        page.evaluate(
            "addEventListener('beforeprint', () => { window.paper = [theme.name, theme.back, pictures.size]; })"
        )
        assert page.pdf(format="A4").startswith(b"%PDF")
        assert page.evaluate("window.paper") == ["light", "#ffffff", len(PICTURES)]
    else:
        page.emulate_media(media="print")
        until(page, DRAWN)
        assert page.evaluate("document.documentElement.dataset.theme") == "light"
        assert not page.locator("#theme").is_visible() and not page.locator("nav").is_visible()
        assert page.evaluate("Math.max(...[...pictures.values()].map(({u}) => u?.width ?? 0))") <= 680
        page.emulate_media(media="screen")
    until(page, DRAWN)
    until(page, "document.documentElement.dataset.theme === 'dark'")
    until(page, 'pictures.get("knee").u.width > 900')


def test_headings_are_in_order_and_there_is_one_main(show: Show) -> None:
    page = show(sample_page())
    levels = page.evaluate("[...document.querySelectorAll('h1, h2, h3, h4')].map((h) => Number(h.tagName[1]))")
    assert levels[0] == 1 and levels.count(1) == 1
    assert all(after <= before + 1 for before, after in pairwise(levels))
    assert page.get_by_role("main").count() == 1
    assert page.get_by_role("navigation").count() == 1


def test_the_keyboard_reaches_everything_and_shows_where_it_is(show: Show) -> None:
    page = show(sample_page())
    drawn(page, "knee")
    page.evaluate("scrollTo(0, 0)")
    reached: set[str] = set()
    for _ in range(60):
        page.keyboard.press("Tab")
        where = page.evaluate("(({tagName, className}) => `${tagName}.${className}`)(document.activeElement)")
        if where == "BODY.":
            break
        assert page.evaluate("getComputedStyle(document.activeElement).outlineStyle") != "none", where
        reached.add(where)
    for wanted in ("A.skip", "BUTTON.", "A.", "BUTTON.key", "DIV.plot", "SUMMARY.", "DIV.scroll"):
        assert wanted in reached


def test_the_contents_lead_to_the_sections(show: Show) -> None:
    page = show(sample_page(), height=500)
    page.get_by_role("link", name="The soak").click()
    until(page, "document.getElementById('soak').getBoundingClientRect().top < 150")
    until(page, "document.getElementById('soak').getBoundingClientRect().top >= 0")


def test_a_page_of_nothing_but_a_name(show: Show) -> None:
    head = Head(label="", name="twelve_callers", when="", answers=[], figures=[], warnings=[])
    page = show(render("twelve_callers", [head], []))
    assert page.locator("h1").inner_text() == "twelve_callers"
    assert page.get_by_role("navigation").count() == 0
    assert overflow(page) == 0


def test_charts_without_values(show: Show) -> None:
    cases: list[tuple[Scale, Scale, list[Series]]] = [
        ("linear", "linear", []),
        ("log", "log", [Series(label="a", x=[], y=[])]),
        ("tail", "log", [Series(label="a", x=[100.0], y=[3.0])]),
        ("clock", "linear", [Series(label="a", x=[0.0], y=[None])]),
        ("linear", "linear", [Series(label="a", x=[3.0, 3.0], y=[0.0, 0.0])]),
        ("linear", "log", [Series(label="a", x=[1e9, 2e9], y=[1e-9, 1e9])]),
    ]
    parts = [
        Chart(id=f"c{n}", title="T", said="S.", x=Axis(label="x", scale=x), y=Axis(label="y", scale=y), series=series)
        for n, (x, y, series) in enumerate(cases)
    ]
    page = show(render("t", [], [Section(id="s", title="S", parts=list(parts))]))
    for part in parts:
        drawn(page, part.id)


def test_several_runs_have_their_heads_one_after_the_other(show: Show) -> None:
    page = show(render("a, b", [HEAD, HEAD], []))
    assert page.locator("header").count() == 2
    assert page.locator(".figures > div").count() == 2 * len(HEAD.figures)
    assert page.locator(".warnings li").all_inner_texts()[:2] == [f"Warning{line}" for line in HEAD.warnings]
