"""A card of known capacity, in virtual time: searches on it, and what they find."""

import asyncio
import contextlib
import math
import random
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any
from unittest import mock

import msgspec

from loadsim.engine.progress import Progress
from loadsim.engine.serving import Served
from loadsim.plan.ahead import Ahead
from loadsim.plan.found import Found, Measured, Paced
from loadsim.plan.kept import Kept
from loadsim.plan.search import Wish, search
from loadsim.plan.slo import targets
from loadsim.scenario.load import restore
from loadsim.scenario.model import Scenario
from loadsim.telemetry.lag import Lag, LagReport
from loadsim.types import CardFacts, CardSample, ChatRequest, RunStopped
from tests import virtual
from tests.calls import CALL
from tests.simulated import SimulatedServer
from tests.truth import Faults

Behave = Callable[[int, float], Faults]
"""What a reply is like beside so many callers in all, with this burst's noise (standard normal)."""

SMALL: dict[str, Any] = {
    "recording": "call",
    "callers": {"warm": {"count": 1}},
    "server": {"slots": 4, "context": 4 * 2048},
    "baseline": {"replies": 2},
    "reply": {"exactly": 3},
    "telemetry": {"every": None},
}


class Card:
    """Servers that behave so, one after the other; noise is drawn once a burst, since a burst is one event.

    `most`: slots that the card has memory for; `slots`: of a server that is there, whatever is asked of it. `started`:
    slots of each server that was started; `bursts`: replies that began at one time, so far.
    """

    def __init__(self, behave: Behave, seed: int = 1, most: int | None = None, slots: int | None = None) -> None:
        self.started: list[int] = []
        self._behave = behave
        self._chance = random.Random(seed)
        self.most = most
        self._slots = slots
        self._at = -1.0
        self._noise = 0.0
        self._callers = 0
        self.bursts = 0

    @contextlib.asynccontextmanager
    async def serve(self, scenario: Scenario, folder: Path, progress: Progress, key: str | None) -> AsyncIterator[Any]:
        slots = self._slots or scenario.server.slots
        if self.most is not None and slots > self.most:
            raise RunStopped("the embedded server did not start: out of memory")
        self.started.append(slots)
        server = SimulatedServer(slots=slots, context=scenario.server.context // slots, choose=self._choose, lazy=True)
        self._server = server
        yield Served(
            server=server,  # type: ignore[arg-type]
            info=await server.info(),
            process=None,
            started=None,
            boot=None,
            settings=None,
            command=None,
            loading_s=0.0,
            round_trip_s=0.0,
            log=folder / "server.log",
        )
        await server.close()

    def _choose(self, request: ChatRequest) -> Faults:
        if request.max_tokens == 1:
            return Faults(first=0.001, step=0.001)
        now = asyncio.get_running_loop().time()
        if now != self._at:
            self.bursts += 1
            self._at, self._noise, self._callers = now, self._chance.gauss(0, 1), len(self._server.live)
        return self._behave(self._callers, self._noise)


class StillLag(Lag):
    """In virtual time there is no lag, and the processor is never idle: both are told here, of the first `late` loads.

    A load takes a report before it and one behind."""

    def __init__(self, p99_ms: float, late: float) -> None:
        self._p99_ms = p99_ms
        self._left = 2 * late

    def start(self) -> None:
        pass

    def take(self) -> LagReport:
        self._left -= 1
        late = self._p99_ms if self._left >= 0 else 0.0
        return LagReport(
            lag_p50_ms=0.0,
            lag_p99_ms=late,
            lag_max_ms=late,
            samples=1,
            gc_pauses=0,
            gc_longest_ms=0.0,
            gc_total_ms=0.0,
            cpu_share=0.1,
        )

    stop = take


def find(
    folder: Path,
    card: Card,
    *slos: str,
    scenario: dict[str, Any] | None = None,
    lag_p99_ms: float = 0.0,
    late: float = math.inf,
    log: Callable[[Card], CardSample] | None = None,
    hear: Callable[[Measured | Paced | Ahead], None] | None = None,
    **wished: Any,
) -> tuple[Found, list[Measured | Paced | Ahead]]:
    """What a search on the card finds, and what it said meanwhile; `hear` hears it too. `log`: what the card log has of
    it every 0.5 s."""

    async def main() -> tuple[Found, list[Measured | Paced | Ahead]]:
        recorder = Kept(folder, asyncio.get_running_loop().time(), text=False)
        wanted = restore(SMALL | (scenario or {}), "test")
        wish = Wish(scenario=wanted, targets=targets(slos), **{"group": None, "together_only": True} | wished)
        said: list[Measured | Paced | Ahead] = []

        def say(what: Measured | Paced | Ahead) -> None:
            said.append(what)
            if hear is not None:
                hear(what)

        logging = asyncio.create_task(_log(recorder, card, log)) if log else None
        try:
            with mock.patch("loadsim.engine.stay.Lag", lambda: StillLag(lag_p99_ms, late)):
                found = await search(wish, {"call": CALL}, recorder, Progress(), None, say, card.serve)
        except BaseException as error:
            recorder.close("stopped", str(error))
            raise
        finally:
            if logging is not None:
                logging.cancel()
        recorder.close("complete")
        return found, said

    return virtual.run(main())


async def _log(recorder: Kept, card: Card, log: Callable[[Card], CardSample]) -> None:
    recorder.describe(cards=[CardFacts(card=0, slowdown_c=93.0)])
    while True:
        recorder.sample("card", msgspec.structs.replace(log(card), t_s=recorder.clock()))
        await asyncio.sleep(0.5)


def first_token(slope: float = 0.048, base: float = 0.02, noise: float = 0.0) -> Behave:
    """The first token comes `slope` s later for each caller more."""
    return lambda callers, z: Faults(first=max(base + slope * callers + noise * z, 0.001), step=0.01)
