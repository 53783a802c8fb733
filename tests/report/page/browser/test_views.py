"""What part of x is seen, and what is told where the pointer is."""

from typing import Any

import msgspec
import pytest
from playwright.sync_api import Page

from loadsim.report.page.parts import Axis, Chart, Section, Series
from loadsim.report.page.render import render
from tests.report.page.browser.conftest import Show, drawn, until
from tests.report.page.samples import SOAK, sample_page

HOUR = 3600.0
SETTLED = """(({asked, now}, {min, max}) => !asked && now[0] === min && now[1] === max)(
  views.get("sync soak"), pictures.get("rate").u.scales.x)"""


def seen(page: Page, part: str) -> list[float]:
    scale = page.evaluate(f'(({{min, max}}) => [min, max])(pictures.get("{part}").u.scales.x)')
    return [float(value) for value in scale]


def field(page: Page, part: str) -> dict[str, float]:
    """Where a chart's field is on the screen."""
    box = page.locator(f'[data-part="{part}"] .u-over').bounding_box()
    assert box is not None
    return {"x": box["x"], "y": box["y"], "width": box["width"], "height": box["height"]}


def at(page: Page, part: str, share: float) -> tuple[float, float]:
    box = field(page, part)
    return box["x"] + box["width"] * share, box["y"] + box["height"] / 2


@pytest.fixture
def soak(show: Show) -> Page:
    page = show(sample_page(), height=1500)
    page.locator("#soak").scroll_into_view_if_needed()
    drawn(page, "rate")
    drawn(page, "card")
    return page


def drag(page: Page, part: str, start: float, end: float) -> None:
    page.mouse.move(*at(page, part, start))
    page.mouse.down()
    page.mouse.move(*at(page, part, (start + end) / 2))
    page.mouse.move(*at(page, part, end))
    page.mouse.up()


def near(*values: float, off: float = 10) -> list[Any]:
    return [pytest.approx(value, abs=off) for value in values]


def test_a_drag_zooms_and_charts_of_the_same_sync_follow(soak: Page) -> None:
    assert seen(soak, "rate") == [0, HOUR]
    drag(soak, "rate", 0.25, 0.5)
    until(soak, 'pictures.get("card").u.scales.x.max < 3000')
    assert seen(soak, "rate") == near(0.25 * HOUR, 0.5 * HOUR)
    assert seen(soak, "card") == seen(soak, "rate")


def test_others_do_not_follow(soak: Page) -> None:
    drawn(soak, "knee")
    before = seen(soak, "knee")
    drawn(soak, "rate")
    drag(soak, "rate", 0.25, 0.5)
    until(soak, 'pictures.get("rate").u.scales.x.max < 3000')
    assert seen(soak, "knee") == before


def test_one_that_is_drawn_later_begins_where_the_others_are(show: Show) -> None:
    tall = [msgspec.structs.replace(part, height=900) for part in SOAK]
    page = show(render("t", [], [Section(id="s", title="S", parts=list(tall))]), height=500)
    drawn(page, "rate")
    assert not page.evaluate('pictures.has("card")')
    drag(page, "rate", 0.5, 0.75)
    until(page, 'pictures.get("rate").u.scales.x.max < 3000')
    drawn(page, "card")
    until(page, 'pictures.get("card").u.scales.x.max < 3000')
    assert seen(page, "card") == seen(page, "rate")


def test_a_double_click_and_the_button_show_all(soak: Page) -> None:
    reset = soak.locator('[data-part="rate"] .reset')
    assert not reset.is_visible()
    for way in ("double click", "button"):
        drag(soak, "rate", 0.25, 0.5)
        until(soak, 'pictures.get("card").u.scales.x.max < 3000')
        if way == "button":
            reset.click()
        else:
            soak.mouse.dblclick(*at(soak, "card", 0.4))
        until(soak, 'pictures.get("rate").u.scales.x.max === 3600 && pictures.get("card").u.scales.x.max === 3600')
        assert seen(soak, "rate") == [0, HOUR]


def test_ctrl_and_wheel_zoom_around_the_pointer_and_the_wheel_alone_scrolls(soak: Page) -> None:
    before = soak.evaluate("scrollY")
    soak.mouse.move(*at(soak, "rate", 0.25))
    soak.keyboard.down("Control")
    soak.mouse.wheel(0, -100)
    soak.keyboard.up("Control")
    until(soak, 'pictures.get("rate").u.scales.x.max < 3600')
    low, high = seen(soak, "rate")
    assert low + 0.25 * (high - low) == pytest.approx(0.25 * HOUR, abs=10)
    assert soak.evaluate("scrollY") == before
    soak.mouse.wheel(0, -100)
    until(soak, f"scrollY < {before}")
    assert seen(soak, "rate") == [low, high]


def test_shift_and_drag_move_and_stop_at_the_end(soak: Page) -> None:
    drag(soak, "rate", 0.25, 0.5)
    until(soak, 'pictures.get("rate").u.scales.x.max < 3000')
    soak.keyboard.down("Shift")
    drag(soak, "rate", 0.6, 0.1)
    soak.keyboard.up("Shift")
    until(soak, 'pictures.get("rate").u.scales.x.min > 1200')
    until(soak, SETTLED)
    assert seen(soak, "rate") == near(0.375 * HOUR, 0.625 * HOUR, off=15)
    soak.keyboard.down("Shift")
    for _ in range(3):
        drag(soak, "rate", 0.95, 0.02)
    soak.keyboard.up("Shift")
    until(soak, 'pictures.get("rate").u.scales.x.max === 3600')
    assert seen(soak, "rate") == near(0.75 * HOUR, HOUR, off=15)


def test_keys_zoom_move_and_show_all(soak: Page) -> None:
    soak.locator('[data-part="rate"] .plot').focus()
    soak.keyboard.press("+")
    until(soak, 'pictures.get("rate").u.scales.x.max < 3600')
    assert seen(soak, "rate") == near(0.2 * HOUR, 0.8 * HOUR, off=1)
    soak.keyboard.press("Shift+ArrowRight")
    until(soak, 'pictures.get("rate").u.scales.x.min > 800')
    assert seen(soak, "rate") == near(0.32 * HOUR, 0.92 * HOUR, off=1)
    soak.keyboard.press("Escape")
    until(soak, 'pictures.get("rate").u.scales.x.max === 3600')


def test_an_arrow_takes_the_pointer_to_the_next_value(soak: Page) -> None:
    soak.locator('[data-part="rate"] .plot').focus()
    for _ in range(3):
        soak.keyboard.press("ArrowRight")
    until(soak, """document.querySelector('[data-part="rate"] .at').textContent === "time 0:02:00" """)


def test_two_fingers_zoom_and_one_moves(show: Show) -> None:
    page = show(sample_page(), width=360, height=740, has_touch=True, is_mobile=True)
    drawn(page, "rate")
    touch = page.context.new_cdp_session(page)

    def fingers(kind: str, *shares: float) -> None:
        places = [at(page, "rate", share) for share in shares]
        points = [{"x": x, "y": y, "id": n} for n, (x, y) in enumerate(places)]
        touch.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": points})

    fingers("touchStart", 0.4, 0.6)
    for spread in (0.15, 0.2, 0.25, 0.3, 0.35, 0.4):
        fingers("touchMove", 0.5 - spread, 0.5 + spread)
    fingers("touchEnd")
    until(page, 'pictures.get("rate").u.scales.x.max < 3000')
    until(page, SETTLED)
    low, high = seen(page, "rate")
    assert high - low == pytest.approx(HOUR / 4, rel=0.2)  # the fingers went from a fifth of the width to four fifths
    assert (low + high) / 2 == pytest.approx(HOUR / 2, abs=60)
    fingers("touchStart", 0.8)
    for share in (0.7, 0.6, 0.5, 0.4, 0.3):
        fingers("touchMove", share)
    fingers("touchEnd")
    until(page, f'pictures.get("rate").u.scales.x.min > {low + 200}')
    until(page, SETTLED)
    assert seen(page, "rate")[0] == pytest.approx(low + (high - low) / 2, rel=0.1)


def test_values_at_the_pointer_stand_in_the_legend_of_all_that_go_together(soak: Page) -> None:
    soak.mouse.move(*at(soak, "rate", 910 / HOUR))
    legends = [soak.locator(f'[data-part="{part}"] .legend').inner_text() for part in ("rate", "card")]
    assert "time 0:15:00 · pause for one caller" in legends[0]
    assert "109 tokens/s" in legends[0] and "1,460 tokens/s" in legends[0]  # 115 - 900 / 180 + 4 sin 6; as given
    assert "time 0:15:00" in legends[1]
    assert "84.7 °C" in legends[1] and "1,695 MHz" in legends[1]  # 57 + 31 (1 - e^-2.25); as given
    soak.mouse.move(5, 5)
    until(soak, """document.querySelector('[data-part="card"] .at').textContent === "" """)


def test_a_missing_value_is_told_as_missing(soak: Page) -> None:
    soak.mouse.move(*at(soak, "rate", 2100 / 3600))
    values = soak.locator('[data-part="rate"] .value').all_inner_texts()
    assert values[0] == "-"
    assert "outage" in soak.locator('[data-part="rate"] .at').inner_text()


def test_the_note_of_the_value_under_the_pointer_is_told(show: Show) -> None:
    part = Chart(
        id="c",
        title="T",
        said="S.",
        x=Axis(label="callers", low=0, high=10),
        y=Axis(label="y", unit="ms", low=0, high=100),
        series=[
            Series(label="a", x=[5.0, 5.0], y=[25.0, 75.0], notes=["the quick one", "the slow one"], draw="points")
        ],
    )
    page = show(render("t", [], [Section(id="s", title="S", parts=[part])]))
    drawn(page, "c")
    box = field(page, "c")
    for y, note, value in ((25, "the quick one", "25.0 ms"), (75, "the slow one", "75.0 ms")):
        page.mouse.move(box["x"] + box["width"] * 0.502, box["y"] + box["height"] * (1 - y / 100) + 3)
        assert page.locator(".tip").inner_text() == note
        assert page.locator(".value").inner_text() == value
    page.mouse.move(box["x"] + 20, box["y"] + 20)
    assert not page.locator(".tip").is_visible()


def test_a_series_can_be_hidden(soak: Page) -> None:
    key = soak.get_by_role("button", name="core")
    key.click()
    assert key.get_attribute("aria-pressed") == "false"
    assert soak.evaluate('pictures.get("card").u.series.map(({ show }) => show)') == [True, False, True, True]
    key.click()
    assert soak.evaluate('pictures.get("card").u.series.map(({ show }) => show)') == [True, True, True, True]
