"""What a terminal of 80 columns shows of a run that goes on."""

import io
from collections import deque
from typing import Any

from rich.console import Console

from loadsim.engine.progress import Progress
from loadsim.report.live import MOST_GAPS, LiveView, _fewer
from loadsim.types import CardSample
from tests.stats.rows import alone, reply
from tests.virtual import run


def shown(**fields: Any) -> list[str]:
    """The view's lines at loop time 1000."""
    found: list[str] = []

    async def main() -> None:
        console = Console(width=80, record=True, file=io.StringIO(), force_terminal=True, highlight=False)
        progress = Progress(point="12 soak", repeat=1, repeats=1, **fields)
        view = LiveView(console, progress)
        assert progress.watched
        console.print(*view._parts(), sep="\n")
        found.extend(console.export_text().splitlines())

    run(main(), 1000.0)
    return found


def test_a_pause_is_named_with_the_time_left() -> None:
    first, *_ = shown(phase="pause 3, one caller alone", part="spike", load_ends=12016.0, loads_left_s=0.0)
    assert first == "12 soak, repeat 1 of 1: pause 3, one caller alone (spike), about 3.06 h left"


def test_the_last_minute_one_caller_and_the_card() -> None:
    rows = [(999.0, reply(10.0, 0.2, 0.22, 0.24, 0.74, caller=n)) for n in range(3)]
    old = (930.0, reply(10.0, 9.0, caller=7))
    card = CardSample(card=0, core_c=71, sm_mhz=1695, memory_mhz=9751, power_w=166, limit_w=350, reasons=())
    progress: dict[str, Any] = {"phase": "all callers", "errors": 1, "cards": lambda: [card]}
    lines = shown(**progress, alone=(748.0, [alone(n, "during", 0.01) for n in range(3)]))
    assert lines[1:] == [
        "0 waiting, 0 speaking, 0 tokens/s, 1 error",
        "one caller: 100 tokens/s, TTFT 200 ms, 4.2 min ago",
        "card: 71 C, SM 1,695 MHz, memory 9,751 MHz, 166 W of 350, not throttled",
    ]
    # a log that broke off: what it said last is not passed off as now
    lines = shown(**progress | {"clock": lambda: 29.0})
    assert lines[-1].startswith("card: 71 C")
    lines = shown(**progress | {"clock": lambda: 270.0})
    assert "card, 4.5 min ago: 71 C, SM 1,695 MHz" in " ".join(lines)
    progress["recent"] = deque([old, *rows])
    lines = shown(**progress)
    assert max(map(len, lines)) <= 80
    # 3 tokens after the first in 0.54 s; six gaps of 20 ms and three of 500
    (row,) = [line.split() for line in lines if line.strip().startswith("3 ")]
    assert row == ["3", "3", "200", "200", "20.0", "500", "500", "5.56", "0"]
    assert any(line.startswith("last 60 s callers replies") for line in lines)


def test_what_is_not_known_has_no_line() -> None:
    assert len(shown(phase="warming")) == 2


def test_many_tokens_are_thinned_before_they_are_looked_at() -> None:
    rows = [reply(10.0, *[0.01 * n for n in range(1, 101)]) for _ in range(1000)]
    assert sum(len(row.token_s) for row in _fewer(rows)) == MOST_GAPS
    assert _fewer(rows[:5]) == rows[:5]
    assert _fewer([]) == []
