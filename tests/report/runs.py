"""Runs made by hand, and what is printed of them."""

import io
from pathlib import Path
from typing import Any

from rich.console import Console, RenderableType

from loadsim.report.table import render
from loadsim.results.read import Run
from loadsim.types import RequestRow
from tests.stats.rows import alone, row

BOTH = [alone(i, side, 0.010) for side in ("before", "after") for i in range(3)]
LOAD = [row(caller=i, repeat=r, group="warm") for i in range(12) for r in (1, 2)]

SPEECH: dict[str, Any] = {
    "pace": {"by": "speech", "endpointing": "500 ms", "time_scale": 1.0},
    "voice": {"rate": "4.5 tokens/s", "chunk": "clause", "tts": "150 ms", "network": "110 ms"},
}


def run_of(
    *rows: RequestRow,
    ended: str | None = "complete",
    embedded: bool = False,
    torn: int = 0,
    scenario: dict[str, Any] | None = None,
    points: dict[str, Any] | None = None,
    events: tuple[dict[str, Any], ...] = (),
    **client: float,
) -> Run:
    event = {"event": "client", "point": "p", "repeat": 1, "lag_p99_ms": 1.0, "cpu_share": 0.1, "gc_pauses": 0} | client
    facts: dict[str, Any] = {
        "ended": ended,
        "why": None if ended == "complete" else "it rained",
        "server": {"embedded": embedded},
        "points": points or {"p": {"slots": [0, 1, 2, 5]}},
    }
    if scenario is not None:
        facts["scenario"] = scenario
    return Run(path=Path("run"), facts=facts, rows=list(rows), events=[event, *events], texts={}, torn=torn)


def text_of(shown: RenderableType, width: int = 80) -> str:
    console = Console(width=width, record=True, file=io.StringIO())
    console.print(shown)
    return console.export_text()


def printed(run: Run, width: int = 80) -> str:
    return text_of(render(run), width)


def words(run: Run) -> str:
    """What is printed, without its line breaks."""
    return " ".join(printed(run).split())
