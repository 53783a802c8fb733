"""A run: one scenario against one server, from the first question to the last row."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import msgspec

from ..recording.fit import fit
from ..recording.messages import prompt_messages
from ..recording.model import Recording
from ..results.write import Recorder
from ..scenario.load import dump
from ..scenario.model import Scenario
from ..scenario.sweep import points
from ..server import embedded
from ..server.api import Reply
from ..server.http import HttpServer, Waits
from ..server.process import Process, StartError
from ..telemetry.lag import Lag
from ..types import BadInput, RequestRow, RunStopped, ServerSettings
from .point import Bench, Point
from .preflight import Plan, Recordings, Script, check_server, names, preflight, prompt_tokens
from .progress import Progress

LOG = "server.log"


async def run(
    scenario: Scenario, recordings: Recordings, recorder: Recorder, progress: Progress, origin: float, key: str | None
) -> None:
    """Measure every load point of `scenario` and record it. `recordings`: by the names it gives them; `origin`: loop
    time at 0 on the run's clock; `key`: the server's API key.

    Raises BadInput before the load where scenario, recording and server do not go together; RunStopped where the run
    could not go on; both leave what was recorded.
    """
    waits = Waits(**msgspec.structs.asdict(scenario.timeout))
    progress.phase = "starting the server" if scenario.server.url == "embedded" else "asking the server"
    async with _server(scenario, recorder.path, key) as (url, process):
        server = HttpServer(url, key, waits)
        progress.live = server.live
        try:
            plans = await _prepare(server, scenario, recordings, recorder, progress, process)
            await _measure(server, plans, recorder, progress, origin)
        except RunStopped as stopped:
            if process is not None and await _has_ended(process):
                raise RunStopped(f"the embedded server is gone ({stopped}); see {recorder.path / LOG}") from None
            raise
        finally:
            await server.close()


@contextlib.asynccontextmanager
async def _server(scenario: Scenario, folder: Path, key: str | None) -> AsyncIterator[tuple[str, Process | None]]:
    """The server's address, and its process where we start it; that one is gone afterwards, whatever happened."""
    if scenario.server.url != "embedded":
        yield scenario.server.url, None
        return
    settings = {name: getattr(scenario.server, name) for name in ServerSettings.__struct_fields__}
    try:
        process = await embedded.start(ServerSettings(**settings), folder / LOG, key)
    except embedded.MissingPackagesError as error:
        raise BadInput(f"server.url: {error}; or name a server with --url") from None
    except (StartError, TimeoutError) as error:
        said = str(error).strip().splitlines() or ["no answer in time"]
        raise RunStopped(f"the embedded server did not start: {said[-1].strip()} (see {folder / LOG})") from None
    try:
        yield str(process.ready["url"]), process
    finally:
        await asyncio.shield(process.stop())


async def _has_ended(process: Process) -> bool:
    """Whether it is gone; its connections close a moment before we hear of it."""
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(0.5):
            await process.ended()
    return process.returncode is not None


async def _prepare(
    server: HttpServer,
    scenario: Scenario,
    recordings: Recordings,
    recorder: Recorder,
    progress: Progress,
    process: Process | None,
) -> list[Plan]:
    """Ask the server what it is, fit the recordings, check every point; all before the first load."""
    progress.phase = "waiting for the server"
    loading = await server.ready()
    info = await server.info()
    if process is not None:
        info = msgspec.structs.replace(info, build=process.ready["build"])
    check_server(info, scenario)
    progress.phase = "checking the call"

    async def count(call: Recording) -> int:
        tokens = await prompt_tokens(server, prompt_messages(call, len(call.turns)), call.tools)
        if tokens is None:
            raise BadInput(f"fit: {info.url} does not count tokens (/apply-template, /tokenize): leave fit out")
        return len(tokens)

    used = {name: recordings[name] for name in names(scenario)}
    tokens = {}
    if scenario.fit is not None:
        tokens = {name: await count(recording) for name, recording in used.items()}
        used = {name: await fit(recording, count, scenario.fit) for name, recording in used.items()}
    plans = [await preflight(server, info, label, point, used) for label, point in points(scenario)]
    told: dict[str, Any] = {name: value for name, value in msgspec.structs.asdict(info).items() if name != "template"}
    recorder.describe(
        scenario=dump(scenario),
        recordings={
            name: {"title": call.title, "turns": len(call.turns), "tokens": tokens.get(name)}
            for name, call in used.items()
        },
        server=told | {"embedded": process is not None, "loading_s": round(loading, 3)},
        points={
            plan.point: {
                "slots": plan.slots,
                "groups": {name: [_told(script) for script in scripts] for name, scripts in plan.scripts.items()},
            }
            for plan in plans
        },
    )
    return plans


def _told(script: Script) -> dict[str, Any]:
    return {
        "recording": script.recording.title,
        "turns": [script.turns[0], script.turns[-1]],
        "warm_tokens": script.warm,
        "first_tokens": script.first,
        "longest_tokens": script.longest,
        "expects": sorted(script.expects),
    }


async def _measure(
    server: HttpServer, plans: list[Plan], recorder: Recorder, progress: Progress, origin: float
) -> None:
    lag = Lag()
    lag.start()

    def emit(row: RequestRow, reply: Reply) -> None:
        recorder.row(row, "".join(reply.text))
        progress.done += 1
        progress.tokens += len(reply.token_s)
        progress.errors += row.outcome in ("error", "timeout")

    bench = Bench(
        run=recorder.id,
        server=server,
        origin=origin,
        progress=progress,
        emit=emit,
        note=recorder.event,
        lag=lag,
    )
    try:
        measured = [Point(bench, plan) for plan in plans]
        repeats = plans[0].scenario.repeat
        progress.repeats, progress.total = repeats, sum(point.rows() for point in measured) * repeats
        loads = [point.load_seconds() for point in measured]
        if all(seconds is not None for seconds in loads):
            progress.loads_left_s = sum(seconds or 0.0 for seconds in loads) * repeats
        for point in measured:
            for number in range(1, repeats + 1):
                await point.repeat(number)
            recorder.end_point(point.name)
    finally:
        lag.stop()
