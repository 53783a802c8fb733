"""Runs a scenario of a small call against a truth server."""

import asyncio
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from loadsim.engine.progress import Progress
from loadsim.engine.run import run as run_scenario
from loadsim.recording.model import Recording
from loadsim.results.read import Run, read
from loadsim.results.write import Ended, Recorder
from loadsim.run import run
from loadsim.scenario.load import restore
from loadsim.types import RequestRow
from tests.calls import CALL
from tests.truth import Faults, Request, Truth, serve

QUICK: dict[str, Any] = {"first": 0.01, "step": 0.002, "tokens": 8}


async def measure(
    folder: Path, truth: Truth, scenario: dict[str, Any], recordings: Mapping[str, Recording], key: str | None = None
) -> Run:
    """Run a scenario against a server that is there; the run as read back."""
    origin = asyncio.get_running_loop().time()
    recorder = Recorder(folder, origin, text=True)
    wanted = restore(scenario | {"server": {"url": truth.url}}, "test")
    ended: Ended = "stopped"
    try:
        await run_scenario(wanted, recordings, recorder, Progress(), origin, key)
        ended = "complete"
    finally:
        recorder.close(ended)
    return read(folder)


def measured(
    folder: Path,
    scenario: dict[str, Any],
    choose: Callable[[Request], Faults] | None = None,
    key: str | None = None,
    recordings: Mapping[str, Recording] | None = None,
    **options: Any,
) -> tuple[Run, Truth]:
    """Run a scenario, of `call` if it names no other recording; the run as read back, and the server."""

    async def main() -> tuple[Run, Truth]:
        async with serve(choose=choose, **QUICK | options) as truth:
            return await measure(folder, truth, scenario, recordings or {"call": CALL}, key), truth

    return run(main())


def chats(truth: Any) -> list[Any]:
    """The bodies of its chat requests."""
    return [request.json for request in truth.requests if request.path == "/v1/chat/completions"]


def of(found: Run, row: str) -> list[RequestRow]:
    return [r for r in found.rows if r.row == row]
