"""A real browser: Chromium, one for all tests of this folder. Without one they are skipped, or, where
LOADSIM_BROWSER=required, fail."""

import os
import shutil
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, sync_playwright

NAMES = ("chromium", "chromium-browser", "google-chrome")


@pytest.fixture(scope="package")
def browser() -> Iterator[Browser]:
    """For this folder alone: while Playwright's own loop lives, no other can run in this thread."""
    found = next((path for path in map(shutil.which, NAMES) if path), None)
    if found is None:
        why = f"no browser: none of {', '.join(NAMES)} is on the PATH"
        pytest.fail(why) if os.environ.get("LOADSIM_BROWSER") == "required" else pytest.skip(why)
    with sync_playwright() as playwright:
        launched = playwright.chromium.launch(executable_path=found, args=["--no-sandbox"])
        yield launched
        launched.close()


Show = Callable[..., Page]


@pytest.fixture
def show(browser: Browser, tmp_path: Path) -> Iterator[Show]:
    """`show(html, width=…, scheme=…)` opens a page's file. In the end, whatever was done to it: it has said nothing on
    the console, thrown nothing, and asked for no other file and no address."""
    said: list[str] = []
    asked: list[str] = []
    contexts = []
    file = tmp_path / "report.html"

    def opened(html: str, width: int = 1440, height: int = 1000, scheme: Any = "light", **more: Any) -> Page:
        before = more.pop("before", None)
        file.write_text(html, encoding="utf-8")
        context = browser.new_context(viewport={"width": width, "height": height}, color_scheme=scheme, **more)
        context.set_default_timeout(30_000)
        contexts.append(context)
        page = context.new_page()
        page.on("console", lambda message: said.append(f"{message.type}: {message.text}"))
        page.on("pageerror", lambda error: said.append(f"thrown: {error}"))
        page.on("request", lambda request: asked.append(request.url))
        if before:
            page.add_init_script(before)
        page.goto(file.as_uri())
        return page

    yield opened
    for context in contexts:
        context.close()
    assert said == []
    assert set(asked) <= {file.as_uri()}


def until(page: Page, holds: str, seconds: float = 30.0) -> None:
    """Waits until a JavaScript expression is true."""
    end = time.monotonic() + seconds
    while not page.evaluate(holds):
        assert time.monotonic() < end, f"never came true: {holds}"
        page.wait_for_timeout(20)


def drawn(page: Page, part: str) -> None:
    """Brings a picture into view, and waits until it is drawn."""
    page.locator(f'[data-part="{part}"]').scroll_into_view_if_needed()
    until(page, f'pictures.get("{part}")?.u.status === 1')
    page.evaluate("new Promise((done) => requestAnimationFrame(() => setTimeout(done)))")


PIXELS = """([id, colour, tolerance, left0, right0]) => {
  const { u } = pictures.get(id);
  const { left, top, width, height } = u.bbox;
  const copy = new OffscreenCanvas(width, height).getContext("2d", { willReadFrequently: true });
  copy.fillStyle = theme.back;
  copy.fillRect(0, 0, width, height);
  copy.drawImage(u.ctx.canvas, -left, -top);
  const { data } = copy.getImageData(0, 0, width, height);
  const wanted = [1, 3, 5].map((at) => parseInt(colour.slice(at, at + 2), 16));
  const found = [];
  for (let i = 0; i < data.length; i += 4) {
    if (wanted.every((c, k) => Math.abs(c - data[i + k]) <= tolerance)) {
      const n = i / 4;
      const [x, y] = [((n % width) + 0.5) / width, (Math.floor(n / width) + 0.5) / height];
      if (left0 <= x && x <= right0) found.push([x, y]);
    }
  }
  return found;
}"""


def pixels(
    page: Page, part: str, colour: str, tolerance: int = 12, within: tuple[float, float] = (0, 1)
) -> list[tuple[float, float]]:
    """Where a chart's field has a colour: (from its left, from its top), as parts of its width and height;
    of the columns `within` alone."""
    return [(x, y) for x, y in page.evaluate(PIXELS, [part, colour, tolerance, *within])]


def count(page: Page, part: str, colour: str, tolerance: int = 12) -> int:
    """How many pixels of a chart's field have a colour."""
    return int(page.evaluate(f"(wanted) => ({PIXELS})(wanted).length", [part, colour, tolerance, 0, 1]))


def colour(page: Page, part: str, series: int = 0) -> str:
    """A series' colour as it is on the canvas, where a point lies over the background."""
    return str(
        page.evaluate(
            """([id, k]) => {
              const series = parts[id].series;
              const own = colourOf(looksOf(series)[k]);
              if (series[k].draw !== "points") return own;
              const alpha = series[k].x.length > 600 ? 0.35 : 0.6;
              const mixed = (at) => Math.round(parseInt(own.slice(at, at + 2), 16) * alpha
                + parseInt(theme.back.slice(at, at + 2), 16) * (1 - alpha));
              return "#" + [1, 3, 5].map((at) => mixed(at).toString(16).padStart(2, "0")).join("");
            }""",
            [part, series],
        )
    )
