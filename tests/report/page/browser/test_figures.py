"""The data of a picture as a table, and figures as the program prints them."""

import csv
import io
import random

import pytest
from playwright.sync_api import Page

from loadsim.report.page.parts import Axis, Chart, Rule, Section, Series, Stripe
from loadsim.report.page.render import render
from loadsim.report.words import number
from tests.report.page.browser.conftest import Show, until
from tests.report.page.samples import sample_page

KEEPS = (
    """Object.defineProperty(navigator, 'clipboard', {value: {writeText: async (text) => { window.copied = text; }}})"""
)
REFUSES = """
Object.defineProperty(navigator, 'clipboard', {value: {writeText: () => Promise.reject(new Error('no'))}});
document.execCommand = (what) => { window.copied = document.activeElement.value; return what === 'copy'; }"""

PART = Chart(
    id="c",
    title="T",
    said="S.",
    x=Axis(label="time", scale="clock"),
    y=Axis(label="y", unit="ms"),
    more=[Axis(label="z", unit="W")],
    series=[
        Series(label="a", x=[0.0, 60.0, 120.0], y=[1234.5678, None, 0.04567], notes=["first", "", 'said "no", twice']),
        Series(label="b", x=[60.0, 90.0, 3661.5], y=[1.0, 2.0, 3.0], top=[10.0, None, 30.0], draw="band", axis=1),
    ],
    rules=[Rule(label="limit", at=800)],
    stripes=[Stripe(label="pause", start=60, end=90)],
)
HEADS = ["time", "a, ms", "a, note", "b, W, low", "b, W, high"]
ROWS = [
    ["0:00:00", "1,235", "first", "", ""],
    ["0:01:00", "-", "", "1.00", "10.0"],
    ["0:01:30", "", "", "2.00", "-"],
    ["0:02:00", "0.046", 'said "no", twice', "", ""],
    ["1:01:01.5", "", "", "3.00", "30.0"],
]


def opened(show: Show, part: Chart = PART, before: str = KEEPS) -> Page:
    page = show(render("t", [], [Section(id="s", title="S", parts=[part])]), before=before)
    assert page.locator(".data table").count() == 0  # it is made when it is asked for
    page.get_by_text("Data as a table").click()
    return page


def cells(page: Page) -> list[list[str]]:
    rows = page.evaluate(
        "[...document.querySelectorAll('.data tr')].map((r) => [...r.cells].map((c) => c.textContent))"
    )
    return [[str(cell) for cell in row] for row in rows]


def test_the_table_holds_the_data_as_the_program_prints_it(show: Show) -> None:
    page = opened(show)
    page.locator(".data table").wait_for()
    assert cells(page) == [HEADS, *ROWS]
    assert ROWS[0][1] == number(1234.5678) and ROWS[3][1] == number(0.04567)
    assert page.locator(".marks li").all_inner_texts() == ["pause: 0:01:00 to 0:01:30", "limit: 800 ms"]


@pytest.mark.parametrize("browser_s", [KEEPS, REFUSES])
def test_a_copy_is_csv_with_values_in_full(show: Show, browser_s: str) -> None:
    page = opened(show, before=browser_s)
    page.get_by_role("button", name="Copy as CSV").click()
    page.get_by_text("5 rows copied").wait_for()
    copied = page.evaluate("window.copied")
    if browser_s == KEEPS:
        assert copied.count("\r\n") == 6
    assert list(csv.reader(io.StringIO(copied))) == [
        HEADS,
        ["0", "1234.5678", "first", "", ""],
        ["60", "", "", "1", "10"],
        ["90", "", "", "2", ""],
        ["120", "0.04567", 'said "no", twice', "", ""],
        ["3661.5", "", "", "3", "30"],
    ]


def test_a_long_table_is_shown_in_part_at_first(show: Show) -> None:
    many = [float(n) for n in range(1200)]
    part = Chart(id="c", title="T", said="S.", x=PART.x, y=PART.y, series=[Series(label="a", x=many, y=list(many))])
    page = opened(show, part)
    more = page.get_by_role("button", name="Show all 1,200 rows")
    more.wait_for()
    assert len(cells(page)) == 501
    more.click()
    assert len(cells(page)) == 1201
    assert cells(page)[-1] == ["0:19:59", "1,199"]
    assert not more.is_visible()


def test_every_picture_has_its_data_as_a_table(show: Show) -> None:
    page = show(sample_page())
    for n in range(page.locator("figure").count()):
        figure = page.locator("figure").nth(n)
        figure.get_by_text("Data as a table").click()
        figure.locator("tbody tr").first.wait_for()


def test_the_table_of_swimlanes_tells_every_span(show: Show) -> None:
    page = show(sample_page())
    figure = page.locator("#lanes")
    figure.scroll_into_view_if_needed()
    until(page, "pictures.has('lanes')")
    figure.get_by_text("Data as a table").click()
    rows = figure.locator("tbody tr")
    rows.first.wait_for()
    assert [row.split("\t") for row in rows.all_inner_texts()][3] == [
        "12 warm, repeat 1", "caller 1", "11", "12.2", "waits for the first token", "turn 9",
    ]  # fmt: skip
    assert rows.count() == 4


def test_one_that_is_opened_and_closed_at_once_is_there_when_it_is_opened_again(show: Show) -> None:
    page = show(render("t", [], [Section(id="s", title="S", parts=[PART])]))
    page.evaluate("(d) => { d.open = true; d.open = false; }", page.locator(".data").element_handle())
    page.wait_for_timeout(100)
    assert page.locator(".data table").count() == 0
    page.get_by_text("Data as a table").click()
    page.locator(".data table").wait_for()
    page.get_by_text("Data as a table").click()
    page.get_by_text("Data as a table").click()
    assert page.locator(".data table").count() == 1


def test_numbers_are_those_of_the_program(show: Show) -> None:
    """Ties, signs, sizes: number() of words.py is what they are measured by."""
    of = random.Random(7)
    values = [
        0.0,
        -0.0,
        0.5,
        2.5,
        12.25,
        12.35,
        -12.25,
        0.125,
        999.5,
        9995.0,
        99950.0,
        1e21,
        1.5e300,
        5e-324,
        1e-7,
        1e15,
    ]
    values += [of.choice((-1, 1)) * of.random() * 10 ** of.randint(-8, 12) for _ in range(600)]
    values += [n / 8 for n in range(-400, 400)] + [float(n * 5) for n in range(400)]
    page = show(sample_page())
    assert page.evaluate("(values) => values.map((value) => number(value))", values) == [number(v) for v in values]
    assert page.evaluate("[number(null), number(undefined)]") == [number(None)] * 2


def test_clocks_go_on_past_a_day_and_carry(show: Show) -> None:
    page = show(sample_page())
    told = page.evaluate("[0, 59.6, 3599.96, 90061, -61].map((s) => clock(s)).concat(clock(3599.96, 1), clock(null))")
    assert told == ["0:00:00", "0:01:00", "1:00:00", "25:01:01", "-0:01:01", "1:00:00.0", "-"]
