"""A load point measured in virtual time, on a simulated server: hours of load in a second, and nothing is ever late."""

import asyncio
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import msgspec

from loadsim.engine.bench import Bench
from loadsim.engine.ending import Ending
from loadsim.engine.point import Point
from loadsim.engine.preflight import preflight
from loadsim.engine.progress import Progress
from loadsim.engine.serving import waits
from loadsim.recording.model import Recording
from loadsim.results.read import Run, read
from loadsim.results.write import Recorder
from loadsim.scenario.build import dump
from loadsim.scenario.load import restore
from loadsim.server.api import Reply
from loadsim.server.http import HttpServer
from loadsim.telemetry.lag import Lag, LagReport
from loadsim.types import CardSample, ChatRequest, RequestRow
from tests.calls import CALL
from tests.engine import truthful
from tests.simulated import Seen, SimulatedServer
from tests.truth import Faults
from tests.virtual import run

QUICK: dict[str, Any] = {"first": 0.2, "step": 0.02, "tokens": 12}


class Punctual(Lag):
    """In virtual time nothing is late, and nobody need look every 5 ms."""

    def take(self) -> LagReport:
        return LagReport(
            lag_p50_ms=0.0, lag_p99_ms=0.0, lag_max_ms=0.0, samples=1,
            gc_pauses=0, gc_longest_ms=0.0, gc_total_ms=0.0, cpu_share=None,
        )  # fmt: skip


class Nothing(list[Seen]):
    def append(self, _: Seen) -> None:
        """Nothing is kept."""


async def measure(
    folder: Path,
    server: SimulatedServer,
    scenario: dict[str, Any],
    recordings: Mapping[str, Recording],
    cards: Callable[[], Iterable[CardSample]] = tuple,
    ending: Ending | None = None,
) -> None:
    wanted = restore(scenario, "test")
    server.waits = waits(wanted)
    loop = asyncio.get_running_loop()
    recorder = Recorder(folder, loop.time(), text=False)
    info = await server.info()
    plan = await preflight(server, info, "p", wanted, recordings)
    recorder.begin(dump(wanted), {"p": {}})
    recorder.describe_point("p", slots=plan.slots, alone=plan.slot_alone, shared=plan.shared)

    def emit(row: RequestRow, reply: Reply) -> None:
        recorder.row(row, None)

    bench = Bench(
        run=recorder.salt,
        server=server,
        origin=recorder.start,
        progress=Progress(),
        emit=emit,
        note=recorder.event,
        lag=Punctual(),
        window=recorder.end_window,
        cards=cards,
        ending=ending or Ending(),
    )
    try:
        for number in range(1, wanted.repeat + 1):
            await Point(bench, plan).repeat(number)
    except BaseException as error:
        recorder.close("stopped", str(error))
        raise
    recorder.end_point("p")
    recorder.close("complete")


def soaked(
    folder: Path,
    scenario: dict[str, Any],
    choose: Callable[[ChatRequest], Faults] | None = None,
    recording: Recording = CALL,
    cards: Callable[[], Iterable[CardSample]] = tuple,
    start: float = 1000.0,
    forget: bool = False,
    ending: Ending | None = None,
    **options: Any,
) -> tuple[Run, list[Seen]]:
    """Measure a load point of one repeat; the run as read back, and the requests that the server saw.
    `forget`: it keeps none of them."""
    seen: list[Seen] = []

    async def main() -> None:
        server = SimulatedServer(choose=choose, **QUICK | options)
        if forget:
            server.seen = Nothing()
        try:
            await measure(
                folder, server, {"recording": "call", "repeat": 1} | scenario, {"call": recording}, cards, ending
            )
        finally:
            seen.extend(server.seen)
            await server.close()

    run(main(), start)
    return read(folder), seen


class Asked(msgspec.Struct, frozen=True):
    """A chat request as a server over HTTP would have got it."""

    json: dict[str, Any]
    path: str = "/v1/chat/completions"


class Truthful(msgspec.Struct):
    """What a truth server would have kept of a run: its requests, in order."""

    requests: list[Asked]
    seen: list[Seen]


def _asked(request: ChatRequest) -> Asked:
    llama_server: Any = SimpleNamespace(model=None, extras=True)
    return Asked(msgspec.json.decode(HttpServer.body(llama_server, request)))


def measured(
    folder: Path,
    scenario: dict[str, Any],
    choose: Callable[[Any], Faults] | None = None,
    recordings: Mapping[str, Recording] | None = None,
    **options: Any,
) -> tuple[Run, Truthful]:
    """What `truthful.measured` does in real time, of one load point: the run as read back, and the requests."""

    async def main() -> list[Seen]:
        chooses = None if choose is None else lambda request: choose(_asked(request))
        server = SimulatedServer(choose=chooses, **truthful.QUICK | options)
        try:
            await measure(folder, server, scenario, recordings or {"call": CALL})
        finally:
            await server.close()
        return server.seen

    seen = run(main(), 1000.0)
    return read(folder), Truthful([_asked(each.request) for each in seen], seen)
