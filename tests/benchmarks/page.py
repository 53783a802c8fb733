"""`python -m tests.benchmarks.page [--tokens 5000000] [--keep DIR]`: the page of a demo run, and of a day of load.

`twelve_callers` is run on the embedded server, and a day of load is written as `tests.benchmarks.soak` does it, with
the logs of a card and of this machine. Of each `loadsim report --html` is timed in a process of its own, with its peak
RSS and the page's size; and a headless Chromium, where there is one, opens the page, draws all of it, and zooms and
pans a chart.
Exit code 1 where a page is over its size or its time: 3 MB and 3 s for twelve callers, 10 MB and 20 s for the day.
"""

import argparse
import contextlib
import math
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import msgspec
import psutil
from playwright.sync_api import sync_playwright

from loadsim.types import CardSample, HostSample

from .soak import CALLERS, EVERY_S, TOKENS, record

SAMPLE_S = 2.0
LOADSIM = [sys.executable, "-m", "loadsim"]


def logs(folder: Path, seconds: float) -> None:
    """A card that heats up within half an hour and throttles, and this machine, for so long."""
    with (folder / "card.jsonl").open("wb") as card, (folder / "host.jsonl").open("wb") as host:
        for number in range(int(seconds / SAMPLE_S)):
            at = number * SAMPLE_S
            hot = 1 - math.exp(-at / 1800)
            seen = CardSample(
                t_s=at,
                stamp_s=1.8e9 + at,
                took_s=0.001,
                card=0,
                core_c=round(40 + 43 * hot + number % 3),
                memory_c=round(50 + 52 * hot),
                sm_mhz=round(1950 - 600 * hot),
                memory_mhz=9501.0,
                power_w=340.0 + number % 7,
                limit_w=350.0,
                reasons=("sw thermal slowdown",) if hot > 0.9 else (),
                busy=0.97,
            )
            card.write(msgspec.json.encode(seen) + b"\n")
            host.write(msgspec.json.encode(HostSample(t_s=at, cpu=0.1, own_cpu=0.05, own_rss_bytes=90 << 20)) + b"\n")


def timed(folder: Path) -> tuple[float, float, float]:
    """Seconds to make the page, MB of the process at its peak, MB of the page."""
    began, peak = time.perf_counter(), 0
    with subprocess.Popen([*LOADSIM, "report", str(folder), "--html"], stdout=subprocess.DEVNULL) as made:
        watched = psutil.Process(made.pid)
        while made.poll() is None:
            with contextlib.suppress(psutil.Error):
                peak = max(peak, watched.memory_info().rss)
            time.sleep(0.02)
    seconds = time.perf_counter() - began
    return seconds, peak / 1e6, (folder / "report.html").stat().st_size / 1e6


def browsed(page: Path) -> str:
    """How long a browser takes to open it, to draw all of it, and to zoom and pan."""
    found = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    if found is None:
        return "no Chromium here to open it in"
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=found, args=["--no-sandbox"])
        tab = browser.new_page(viewport={"width": 1440, "height": 900})
        wrong: list[str] = []
        tab.on("console", lambda said: wrong.append(said.text))
        tab.on("pageerror", lambda error: wrong.append(str(error)))
        began = time.perf_counter()
        tab.goto(page.resolve().as_uri())
        opened = time.perf_counter() - began
        began = time.perf_counter()
        for section in tab.locator("section").all():
            section.scroll_into_view_if_needed()
        chart = tab.locator("canvas").first
        chart.scroll_into_view_if_needed()
        tab.evaluate("() => new Promise(requestAnimationFrame)")
        drawn = time.perf_counter() - began
        box = chart.bounding_box() or {"x": 0.0, "y": 0.0, "width": 1.0, "height": 1.0}
        tab.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
        began, turns = time.perf_counter(), 20
        for turn in range(turns):
            tab.mouse.wheel(0, -120 if turn < turns // 2 else 120)
            tab.evaluate("() => new Promise(requestAnimationFrame)")
        each = (time.perf_counter() - began) / turns
        browser.close()
    errors = f"; {len(wrong)} errors, the first: {wrong[0]}" if wrong else "; no error"
    return (
        f"opens in {opened:.2f} s, all drawn {drawn:.2f} s later, {each * 1e3:.0f} ms for a turn of the wheel{errors}"
    )


def measure(name: str, folder: Path, most_s: float, most_mb: float) -> bool:
    """Print what the page of a run takes; whether it keeps its limits."""
    seconds, peak, size = timed(folder)
    print(f"{name}: page in {seconds:.1f} s of {most_s:g}, {size:.2f} MB of {most_mb:g}; {peak:.0f} MB at its peak")
    print(f"  {browsed(folder / 'report.html')}")
    return seconds <= most_s and size <= most_mb


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks.page", description=__doc__)
    parser.add_argument("--tokens", type=int, default=5_000_000)
    parser.add_argument("--keep", type=Path, help="A folder for both runs, which is left; else one that is removed.")
    given: Any = parser.parse_args()
    print(f"{os.cpu_count()} cores, load average before: {os.getloadavg()[0]:.1f}")
    with tempfile.TemporaryDirectory() as spare:
        place = given.keep or Path(spare)
        place.mkdir(parents=True, exist_ok=True)
        subprocess.run([*LOADSIM, "scenario", "twelve_callers", "--out", place / "demo"], stdout=subprocess.DEVNULL)
        kept = measure("twelve callers", place / "demo", 3, 3)
        record(place / "day", given.tokens)
        logs(place / "day", given.tokens / TOKENS / CALLERS * EVERY_S)
        kept &= measure(f"{given.tokens:,} tokens", place / "day", 20, 10)
    sys.exit(int(not kept))


if __name__ == "__main__":
    main()
