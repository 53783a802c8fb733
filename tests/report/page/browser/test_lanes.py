"""Swimlanes as they are drawn, and what hands do to them."""

from typing import Any

import pytest
from playwright.sync_api import Page

from loadsim.report.page.page import page as page_of
from loadsim.results.read import Run
from loadsim.types import RequestRow
from tests.report.page.browser.conftest import Show, until
from tests.report.runs import SPEECH, run_of
from tests.stats.rows import cut, playout, reply, spoke

SCENARIO: dict[str, Any] = SPEECH | {"callers": {"warm": {}, "joiner": {"cache": "cold"}}}
# said from 0 to 2 s, asked at 3, evaluated from 3.5, first token at 5, voice from 6 to 12, last token at 8
TURN = reply(3.0, 2.0, 5.0, headers_s=3.0, prompt_ms=1500.0, spoke=spoke(0.0, 2.0), playout=playout(6.0, 12.0), turn=7)
CUT = reply(3.0, 1.0, 5.0, caller=1, cut=cut(10.0, 5.0, 9), playout=playout(5.0, 10.2), prompt_ms=None, kind=None)
COLD = reply(2.0, 8.0, 9.0, group="joiner", kind="cold", headers_s=4.0, prompt_ms=6000.0, playout=playout(10.0, 12.0))
OTHER = reply(100.0, 4.0, 6.0, point="q")


def run_with(*rows: RequestRow, **more: Any) -> Run:
    points = {row.point: {"slots": [0]} for row in rows}
    return run_of(*rows, scenario=SCENARIO, points=points, **more)


def lanes(show: Show, *rows: RequestRow, texts: dict[int, str] | None = None, **how: Any) -> Page:
    run = run_with(*rows)
    run.texts.update(texts or {})
    page = show(page_of([run]), **how)
    page.set_default_timeout(10_000)
    page.locator(".drawing[data-part=swimlanes]").scroll_into_view_if_needed()
    until(page, "!!document.querySelector('.lanes-frame canvas')?.dataset.from")
    return page


def seen(page: Page) -> tuple[float, float]:
    """The time that is seen."""
    found = page.locator(".lanes-frame canvas").evaluate("(c) => [Number(c.dataset.from), Number(c.dataset.to)]")
    return round(found[0], 3), round(found[1], 3)


def near(found: tuple[float, float], low: float, high: float, off: float = 0.03) -> bool:
    return abs(found[0] - low) <= off and abs(found[1] - high) <= off


def place(page: Page, line: int, seconds: float, part: float = 0.5) -> tuple[float, float]:
    """Where a moment lies on the canvas, at `part` of its line's height."""
    of = page.locator(".lanes-frame canvas").evaluate("(c) => ({...c.dataset})")
    low, high, left, right, top, high_line = (float(of[k]) for k in ("from", "to", "left", "right", "top", "line"))
    return left + (seconds - low) / (high - low) * (right - left), top + (line + part) * high_line


def pixel(page: Page, x: float, y: float) -> tuple[int, int, int]:
    found = page.locator(".lanes-frame canvas").evaluate(
        """(c, [x, y]) => {
          const scale = c.width / c.clientWidth;
          const copy = new OffscreenCanvas(1, 1).getContext("2d", { willReadFrequently: true });
          copy.drawImage(c, -Math.floor(x * scale), -Math.floor(y * scale));
          return Array.from(copy.getImageData(0, 0, 1, 1).data);
        }""",
        [x, y],
    )
    return found[0], found[1], found[2]


def colour(page: Page, variable: str) -> tuple[int, int, int]:
    text = page.evaluate(f"getComputedStyle(document.documentElement).getPropertyValue('--{variable}').trim()")
    red, green, blue = (int(text[at : at + 2], 16) for at in (1, 3, 5))
    return red, green, blue


def over(page: Page, x: float, y: float) -> None:
    page.locator(".lanes-frame canvas").hover(position={"x": x, "y": y})


def tip(page: Page) -> list[str]:
    return page.locator(".lanes-tip > *").all_inner_texts() if page.locator(".lanes-tip").is_visible() else []


def press(page: Page, key: str) -> tuple[float, float]:
    page.locator(".lanes-frame canvas").press(key)
    return seen(page)


@pytest.mark.parametrize(("width", "scheme"), [(1440, "light"), (360, "dark")])
def test_states_are_where_and_as_they_should_be(show: Show, width: int, scheme: str) -> None:
    page = lanes(show, TURN, CUT, width=width, scheme=scheme)
    blank = colour(page, "raised")
    assert pixel(page, *place(page, 0, 1.0)) == colour(page, "load-0")  # the caller speaks
    assert pixel(page, *place(page, 0, 7.0, 0.3)) == colour(page, "good-0")  # the agent, at full height
    assert pixel(page, *place(page, 0, 11.3, 0.3)) == blank  # and from the buffer at half
    assert pixel(page, *place(page, 0, 11.3, 0.7)) == colour(page, "good-0")
    assert pixel(page, *place(page, 1, 1.3)) == blank
    assert pixel(page, *place(page, 1, 10.0, 0.14)) == colour(page, "power-0")  # the cut
    assert pixel(page, *place(page, 0, 3.2)) not in (blank, colour(page, "warn-0"))  # waits: an open box
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert page.locator(".lanes-frame canvas").evaluate("(c) => c.clientWidth <= c.parentElement.clientWidth")


def test_a_wait_and_the_prompts_evaluation_differ_by_pattern(show: Show) -> None:
    page = lanes(show, TURN)

    def colours(start: float, end: float) -> set[tuple[int, int, int]]:
        (left, y), (right, _) = place(page, 0, start), place(page, 0, end)
        return {pixel(page, x, y) for x in range(round(left), round(right), 5)}

    assert len(colours(3.05, 3.45)) == 1
    assert len(colours(3.6, 4.9)) > 2


def test_a_canvas_is_as_sharp_as_the_screen(show: Show) -> None:
    page = lanes(show, TURN, device_scale_factor=2)
    sizes = page.locator(".lanes-frame canvas").evaluate("(c) => [c.width, c.clientWidth, c.height, c.clientHeight]")
    assert (sizes[0], sizes[2]) == (2 * sizes[1], 2 * sizes[3])


def test_what_goes_wrong_never_vanishes(show: Show) -> None:
    # A moment in ten hours, where a pixel is half a minute; the other caller's silence lasts 30 ms.
    dry = playout(18_000.0, 18_010.0, underruns=1, silent_s=0.03, first_underrun_s=2.0)
    rows = [
        reply(0.0, 1.0, 2.0), reply(36_000.0, 1.0, 2.0), reply(17_999.0, 0.5, 9.0, caller=1, playout=dry),
        reply(9_000.0, outcome="error", end_s=9_000.0, caller=1, error="boom"),
    ]  # fmt: skip
    page = lanes(show, *rows)
    x, y = place(page, 1, 9_000.0, 0.14)
    assert [pixel(page, x + off, y) == colour(page, "bad-0") for off in (-3, 0.5, 1.5, 5)] == [False, True, True, False]
    x, y = place(page, 1, 18_002.0)
    column = {pixel(page, x + off, y + up) for off in (0.5, 1.5) for up in range(-8, 9, 3)}
    assert colour(page, "bad-0") in column
    over(page, *place(page, 1, 18_002.0))
    assert tip(page)[0] == "warm 1: silence: the buffer ran dry"


def test_a_cold_prompt_crosses_all_lines(show: Show) -> None:
    page = lanes(show, TURN, CUT, COLD)
    # The stripe lies from 4 to 10 s; the last pixels of a line are above its spans.
    marks = [pixel(page, *place(page, line, 9.9, 0.98)) for line in range(3)]
    blank = [pixel(page, *place(page, line, 11.3, 0.98)) for line in range(3)]
    assert marks[0] == marks[1] == marks[2] != blank[0] == blank[1] == blank[2]
    over(page, *place(page, 1, 4.5))
    assert tip(page)[-1] == "joiner 0: cold prompt evaluated, 4.000 to 10.000 s: 6.00 s"
    assert "cold prompt evaluated, across all lines" in page.locator(".lanes-legend").inner_text()


def test_the_pointer_tells_the_state(show: Show) -> None:
    page = lanes(show, TURN, CUT, COLD)
    told = {
        (0, 1.0): ["warm 0: caller speaks", "0.000 to 2.000 s: 2.00 s"],
        (0, 2.5): ["warm 0: pause or endpointing", "2.000 to 3.000 s: 1.00 s"],
        (0, 3.25): ["warm 0: waits for the first token", "3.000 to 3.500 s: 500 ms"],
        (0, 4.0): ["warm 0: its prompt is evaluated", "3.500 to 5.000 s: 1.50 s"],
        (0, 5.5): ["warm 0: first words on their way", "5.000 to 6.000 s: 1.00 s"],
        (0, 7.0): ["warm 0: agent speaks, tokens still come", "6.000 to 8.000 s: 2.00 s"],
        (0, 11.0): ["warm 0: agent speaks from the buffer", "8.000 to 12.000 s: 4.00 s"],
        (1, 10.0): ["warm 1: caller cuts in", "at 10.000 s"],
        (2, 3.0): ["joiner 0: waits for it as a cold join", "2.000 to 10.000 s: 8.00 s"],
    }
    for (line, at), expected in told.items():
        over(page, *place(page, line, at))
        assert tip(page)[:2] == expected
    over(page, *place(page, 1, 1.0))
    assert tip(page) == []


def test_the_pointer_tells_the_request(show: Show) -> None:
    page = lanes(show, TURN, CUT, texts={0: "Good morning!"})
    over(page, *place(page, 0, 4.0))
    assert tip(page)[2] == (
        "turn 7; first token after 2,000 ms; 10,369 prompt tokens found, 60 evaluated (extension); 2 tokens; “Good "
        "morning!”"
    )
    over(page, *place(page, 1, 1.0))
    assert tip(page) == []
    box = page.locator(".lanes-tip")
    over(page, *place(page, 0, 11.9))
    assert box.evaluate("(tip) => tip.getBoundingClientRect().right <= innerWidth")


def test_keys_and_buttons_change_the_time_that_is_seen(show: Show) -> None:
    page = lanes(show, TURN)
    assert seen(page) == (0.0, 12.0)
    assert press(page, "+") == (2.4, 9.6)
    assert press(page, "-") == (0.0, 12.0)
    assert press(page, "-") == (0.0, 12.0)  # there is no more than all
    page.locator("[data-lanes=in]").click()
    assert seen(page) == (3.0, 9.0)
    assert press(page, "ArrowRight") == (4.2, 10.2)
    assert press(page, "ArrowLeft") == (3.0, 9.0)
    page.locator("[data-lanes=back]").click()
    page.locator("[data-lanes=back]").click()
    assert seen(page) == (0.0, 6.0)
    page.locator("[data-lanes=on]").click()
    page.locator("[data-lanes=on]").click()
    page.locator("[data-lanes=on]").click()
    assert seen(page) == (6.0, 12.0)
    page.locator("[data-lanes=out]").click()
    assert seen(page) == (0.0, 12.0)
    press(page, "+")
    assert press(page, "0") == (0.0, 12.0)
    press(page, "+")
    assert press(page, "Escape") == (0.0, 12.0)


def test_what_is_drawn_follows_the_time_that_is_seen(show: Show) -> None:
    page = lanes(show, TURN)
    x, _ = place(page, 0, 6.5, 0.3)
    page.locator("[data-lanes=in]").click()
    page.locator("[data-lanes=in]").click()
    assert seen(page) == (4.5, 7.5)
    assert place(page, 0, 6.5, 0.3)[0] > x + 20
    assert pixel(page, *place(page, 0, 6.02, 0.3)) == colour(page, "good-0")
    over(page, *place(page, 0, 5.9))
    assert tip(page)[0] == "warm 0: first words on their way"


def test_the_wheel_zooms_with_ctrl_around_the_pointer_and_else_scrolls_the_page(show: Show) -> None:
    page = lanes(show, TURN, CUT, height=500)
    over(page, *place(page, 0, 3.0))
    page.keyboard.down("Control")
    page.mouse.wheel(0, -100)
    page.keyboard.up("Control")
    until(page, "document.querySelector('.lanes-frame canvas').dataset.to < 11.9")
    low, high = seen(page)
    assert (3.0 - low) / (high - low) == pytest.approx(0.25, abs=0.01)
    before = page.evaluate("scrollY")
    page.mouse.wheel(0, 120)
    until(page, f"scrollY !== {before} || innerHeight >= document.documentElement.scrollHeight")
    assert seen(page) == (low, high)


def drag(page: Page, start: float, end: float) -> tuple[float, float]:
    box = page.locator(".lanes-frame canvas").bounding_box()
    assert box is not None
    (x, y), (to, _) = place(page, 0, start), place(page, 0, end)
    page.mouse.move(box["x"] + x, box["y"] + y)
    page.mouse.down()
    page.mouse.move(box["x"] + (x + to) / 2, box["y"] + y)
    page.mouse.move(box["x"] + to, box["y"] + y)
    page.mouse.up()
    return seen(page)


def test_a_drag_chooses_the_time_and_with_shift_moves_it(show: Show) -> None:
    page = lanes(show, TURN)
    assert near(drag(page, 2.0, 8.0), 2.0, 8.0)
    page.keyboard.down("Shift")
    moved = drag(page, 5.0, 4.0)
    page.keyboard.up("Shift")
    assert near(moved, 3.0, 9.0)
    page.locator(".lanes-frame canvas").dblclick()
    assert seen(page) == (0.0, 12.0)
    assert near(drag(page, 8.0, 2.0), 2.0, 8.0)  # from right to left
    page.locator(".lanes .reset").click()
    assert seen(page) == (0.0, 12.0)


FINGERS = """(canvas, steps) => {
  const box = canvas.getBoundingClientRect();
  for (const [type, id, x, y] of steps)
    canvas.dispatchEvent(new PointerEvent(type, { pointerId: id, pointerType: "touch", clientX: box.left + x,
      clientY: box.top + y, bubbles: true, cancelable: true, buttons: 1 }));
}"""


def test_two_fingers_zoom_one_moves_and_a_tap_tells(show: Show) -> None:
    page = lanes(show, TURN, width=360, has_touch=True)
    canvas = page.locator(".lanes-frame canvas")
    (a, y), (b, _) = place(page, 0, 4.0), place(page, 0, 8.0)
    apart = b - a
    steps = [
        ["pointerdown", 1, a, y], ["pointerdown", 2, b, y], ["pointermove", 1, a - apart / 2, y],
        ["pointermove", 2, b + apart / 2, y], ["pointerup", 1, a - apart / 2, y], ["pointerup", 2, b + apart / 2, y],
    ]  # fmt: skip
    canvas.evaluate(FINGERS, steps)
    assert near(seen(page), 3.0, 9.0, 0.05)
    (a, y), (b, _) = place(page, 0, 6.0), place(page, 0, 5.0)
    canvas.evaluate(FINGERS, [["pointerdown", 1, a, y], ["pointermove", 1, b, y], ["pointerup", 1, b, y]])
    assert near(seen(page), 4.0, 10.0, 0.05)
    x, y = place(page, 0, 4.5)
    canvas.tap(position={"x": x, "y": y})
    assert tip(page)[0] == "warm 0: its prompt is evaluated"


def test_another_scene_is_drawn_when_it_is_chosen(show: Show) -> None:
    page = lanes(show, TURN, COLD, OTHER)
    select = page.locator(".lanes-bar select")
    assert select.locator("option").all_inner_texts() == ["p, repeat 1", "q, repeat 1"]
    before = page.locator(".lanes-frame canvas").evaluate("(c) => c.toDataURL()")
    select.select_option(label="q, repeat 1")
    assert seen(page) == (0.0, 6.0)
    assert page.locator(".lanes-frame canvas").evaluate("(c) => c.toDataURL()") != before
    assert page.locator(".lanes-legend li").all_inner_texts() == [
        "agent speaks, tokens still come", "waits for the first token", "its prompt is evaluated"
    ]  # fmt: skip
    over(page, *place(page, 0, 5.0))
    assert tip(page)[:2] == ["warm 0: agent speaks, tokens still come", "4.000 to 6.000 s: 2.00 s"]


def test_one_scene_needs_no_choice(show: Show) -> None:
    page = lanes(show, TURN)
    assert page.locator(".lanes-bar select").count() == 0
    assert page.locator(".lanes-bar").inner_text().startswith("p, repeat 1")


def test_the_table_has_what_is_drawn(show: Show) -> None:
    page = lanes(show, TURN, OTHER, texts={1: "Bye."})
    details = page.locator("details[data-of=swimlanes]")
    details.locator("summary").click()
    rows = details.locator("tbody tr").evaluate_all(
        "(rows) => rows.map((row) => [...row.cells].map((c) => c.textContent))"
    )
    note = "turn 7; first token after 2,000 ms; 10,369 prompt tokens found, 60 evaluated (extension); 2 tokens"
    assert rows[:3] == [
        ["p, repeat 1", "warm 0", "0", "2", "caller speaks", note],
        ["p, repeat 1", "warm 0", "2", "3", "pause or endpointing", note],
        ["p, repeat 1", "warm 0", "3", "3.5", "waits for the first token", note],
    ]
    assert [row[2:5] for row in rows[-2:]] == [
        ["3.86", "4", "its prompt is evaluated"], ["4", "6", "agent speaks, tokens still come"]
    ]  # fmt: skip
    assert rows[-1][5].endswith("“Bye.”")
    assert len(rows) == 7 + 3


def test_a_window_of_a_long_load_tells_the_loads_time(show: Show) -> None:
    early = reply(0.0, 0.1, 0.2, caller=1)
    many = [reply(610.0 + i / 1000, 1.0, 2.0, caller=i % 2, turn=i) for i in range(3000)]
    worst = reply(630.0, 9.0, 11.0, caller=2)
    page = lanes(show, early, *many, *(reply(900.0 + i, 0.1, caller=1, turn=i) for i in range(1200)), worst)
    page.locator(".lanes-bar select").select_option(label="p, repeat 1, 0:10:00 to 0:11:00")
    assert seen(page) == (600.0, 660.0)
    over(page, *place(page, 2, 635.0))
    assert tip(page)[:2] == ["warm 2: waits for the first token", "630.000 to 638.860 s: 8.86 s"]
    details = page.locator("details[data-of=swimlanes]")
    details.locator("summary").click()
    details.locator("button.more").click()
    row = details.locator("tbody tr", has_text="warm 2").first
    assert row.locator("td").all_inner_texts()[2:4] == ["630", "638.86"]


HOSTILE = [
    "<img src=x onerror=alert(1)>",
    '"></script><script>alert(2)</script>',
    "\u202eevil\u202c \u05e9\u05dc\u05d5\u05dd \U0001f600 & ' \" <b>",
]


@pytest.mark.parametrize("name", HOSTILE)
def test_names_and_texts_are_text(show: Show, name: str) -> None:
    rows = [reply(3.0, 2.0, 5.0, group=name, point=name, error=name), reply(3.0, 2.0, 5.0, point="q")]
    page = lanes(show, *rows, texts={0: name}, before="globalThis.alert = () => { throw new Error('markup ran'); };")
    over(page, *place(page, 0, 3.0))
    assert page.locator(".lanes-tip > b").text_content() == f"{name} 0: agent speaks, tokens still come"
    assert f"“{name}”" in (page.locator(".lanes-tip").text_content() or "")
    # A browser strips white space at an option's ends, and nothing else.
    assert page.locator(".lanes-bar option").first.text_content() == f"{name}, repeat 1"
    page.locator("details[data-of=swimlanes] summary").click()
    assert page.locator("details[data-of=swimlanes] tbody td").nth(1).text_content() == f"{name} 0"
    assert page.locator("img, .lanes b b, .lanes-legend script").count() == 0


def test_colours_follow_the_theme(show: Show) -> None:
    page = lanes(show, TURN)
    light = pixel(page, *place(page, 0, 7.0, 0.3))
    page.locator("#theme").click()
    page.locator("#theme").click()
    until(page, "document.documentElement.dataset.theme === 'dark'")
    assert pixel(page, *place(page, 0, 7.0, 0.3)) == colour(page, "good-0") != light
    assert pixel(page, *place(page, 0, 11.3, 0.3)) == colour(page, "raised")


def test_a_narrower_window_is_drawn_anew(show: Show) -> None:
    page = lanes(show, TURN)
    page.set_viewport_size({"width": 500, "height": 900})
    until(page, "document.querySelector('.lanes-frame canvas').clientWidth < 500")
    until(page, "Number(document.querySelector('.lanes-frame canvas').dataset.right) < 500")
    assert pixel(page, *place(page, 0, 7.0, 0.3)) == colour(page, "good-0")


def test_many_callers_are_all_drawn(show: Show) -> None:
    page = lanes(show, *(reply(3.0, 2.0, 5.0, caller=i) for i in range(70)))
    assert pixel(page, *place(page, 69, 3.0)) == colour(page, "good-0")
    over(page, *place(page, 69, 3.0))
    assert tip(page)[0] == "warm 69: agent speaks, tokens still come"
