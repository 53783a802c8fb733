"""What goes on beside callers who talk for hours: windows end, phases begin, and one caller is measured alone."""

import asyncio
import math
from collections.abc import Coroutine, Iterator, Mapping
from typing import Any

import msgspec

from ..caller.floor import Floor
from ..caller.history import warm_prompt
from ..caller.line import Line
from ..caller.talk import Call
from ..scenario.model import Scenario
from ..scenario.units import format_duration
from ..types import BadInput, RequestRow, RunStopped
from .abort import Limits
from .baseline import Baseline
from .bench import Bench
from .phases import begins, phase_at
from .preflight import Plan

DRAIN_S = 60.0  # turns under way get so long to end, and half of the time between pauses at the most

BROKEN_OFF = "broken off"

Who = tuple[str, int]
"""A caller: group and number."""


def check_every(scenario: Scenario, took: float) -> None:
    """Raises BadInput where one caller alone, who `took` so many seconds to be measured, would be measured for longer
    than the load lasts between two pauses."""
    every = scenario.baseline.every
    if every is not None and every / scenario.pace.time_scale < took:
        measured = f"one caller takes {took:.1f} s to be measured, {scenario.baseline.replies} replies"
        scaled = "" if scenario.pace.time_scale == 1 else f" over pace.time_scale, {scenario.pace.time_scale:g},"
        least = format_duration(math.ceil(took * 2 * scenario.pace.time_scale))
        raise BadInput(
            f"baseline.every: {measured}, and {format_duration(every)}{scaled} is less: pauses would be longer than "
            f"the load between them; expected {least} or more, or fewer baseline.replies"
        )


class Soak:
    """Looks after one repeat's load on `floor`. `calls`: the call that each caller is on; `line`: one to measure on;
    `over`: nobody is on a call any more."""

    def __init__(
        self,
        bench: Bench,
        plan: Plan,
        floor: Floor,
        baseline: Baseline,
        calls: Mapping[Who, Call],
        line: Line,
        labels: dict[str, Any],
    ) -> None:
        self.over = False
        self._bench = bench
        self._plan = plan
        self._scenario = plan.scenario
        self._floor = floor
        self._baseline = baseline
        self._calls = calls
        self._line = line
        self._labels = labels
        self._shut: list[tuple[float, float | None]] = []  # when the floor was closed, and opened again
        self._scale = plan.scenario.pace.time_scale
        self._loop = asyncio.get_running_loop()
        self._limits = Limits(plan.scenario, floor.at(0.0), bench.cards, lambda: self._loop.time() - bench.origin)

    def ended(self, row: RequestRow) -> None:
        """A request of the load ended: it gets its phase, and whether fewer callers talked."""
        if row.due_s is not None:
            row.phase = self._phase(row.due_s)
        sent = row.due_s if row.sent_s is None else row.sent_s
        row.draining = sent is not None and any(
            shut <= sent and (opened is None or sent < opened) for shut, opened in self._shut
        )
        self._limits.ended(row)

    def beside(self) -> Iterator[Coroutine[Any, Any, None]]:
        """What runs until it is cancelled."""
        yield self._limits.look()
        if self._scenario.lasts is not None:
            yield self._windows()
        if self._scenario.phases:
            yield self._phases()
        if self._scenario.baseline.every is not None:
            yield self._pauses(self._scenario.baseline.every / self._scale)

    def client(self, **fields: Any) -> None:
        """Note the client's own delays since the last time."""
        self._bench.note("client", **self._labels, **fields, **msgspec.structs.asdict(self._bench.lag.take()))

    # -- windows and phases

    async def _windows(self) -> None:
        start, number = self._floor.at(0.0), 0
        self._bench.note(
            "load", **self._labels, start_s=round(start - self._bench.origin, 6), window_s=float(self._scenario.window)
        )
        while True:
            number += 1
            await _until(self._loop, start + number * self._scenario.window)
            self._bench.window(self._plan.point)
            self.client(window=number)

    async def _phases(self) -> None:
        for phase, at in zip(self._scenario.phases, begins(self._scenario.phases, self._scale), strict=True):
            await self._floor.reach(at)
            self._bench.progress.part = phase.name
            self._bench.note("load phase", **self._labels, at_s=self._now(), name=phase.name, callers=list(phase.ends))

    def _phase(self, due_s: float) -> str | None:
        phase = phase_at(self._scenario.phases, self._floor.since(due_s + self._bench.origin), self._scale)
        return None if phase is None else phase.name

    # -- one caller alone

    async def _pauses(self, every: float) -> None:
        """Close the floor every so often. Turns under way get `DRAIN_S` to end; where one takes longer, the others go
        on and the next pause is at its own time."""
        number, at = 0, every
        while self._floor.until is None or self._floor.at(at) < self._floor.until:
            await self._floor.reach(at)
            number, at = number + 1, at + every
            await self._pause(number, min(DRAIN_S, every / 2))

    async def _pause(self, number: int, patience: float) -> None:
        """One pause, which leaves an event however it ends; turns under way get `patience` seconds."""
        shut, quiet = self._now(), None
        why: str | None = BROKEN_OFF
        progress = self._bench.progress
        before, progress.phase = progress.phase, f"pause {number} for one caller alone, turns under way end"
        self._shut.append((shut, None))
        self._floor.close()
        try:
            async with asyncio.timeout(patience):
                await self._floor.quiet()
            quiet = self._now()
            progress.phase = f"pause {number}, one caller alone"
            why = await self._measure(number)
        except TimeoutError:
            why = f"a turn under way took longer than {patience:g} s"
        finally:
            self._floor.open()
            opened = self._now()
            self._shut[-1] = (shut, opened)
            if self._bench.progress.load_ends is not None:
                self._bench.progress.load_ends += opened - shut
            if why == BROKEN_OFF and self._bench.ending.asked.is_set():
                why = f"{BROKEN_OFF} by hand"
            elif why == BROKEN_OFF and self.over:
                why = "the load ended in it"
            elif progress.phase.startswith(f"pause {number}"):
                progress.phase = before
            times = {"shut_s": shut, "quiet_s": quiet, "open_s": opened}
            self._bench.note("pause", **self._labels, number=number, **times, why=why)

    async def _measure(self, number: int) -> str | None:
        """One caller alone; why there is no figure, if there is none."""
        try:
            rows = await self._baseline.measure(self._line, "during", number)
            why = next((row.error for row in rows if row.outcome in ("error", "timeout")), None)
        except RunStopped as stopped:
            why = str(stopped)
        if self._plan.shared is not None and self._plan.shared in self._calls:
            await self._warm(self._calls[self._plan.shared])
        return why

    async def _warm(self, call: Call) -> None:
        """Give the caller whose slot was used their call back, as far as its last words; what is said next is
        evaluated with the reply to them."""
        said = call.said or warm_prompt(call.recording, call.turn + 1, self._plan.wording)
        await self._baseline.fill(call.caller, call.recording, call.turn + 1, said)

    def _now(self) -> float:
        return round(self._loop.time() - self._bench.origin, 6)


async def _until(loop: asyncio.AbstractEventLoop, t: float) -> None:
    await asyncio.sleep(max(t - loop.time(), 0.0))
