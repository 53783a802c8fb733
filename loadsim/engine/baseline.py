"""One caller alone, and the slots that callers find warm."""

import asyncio
import functools
from typing import Any

from ..caller.call import Caller
from ..caller.history import asks, salt, warm_prompt
from ..caller.line import Line
from ..caller.talk import ANY
from ..recording.messages import Message
from ..recording.model import Recording
from ..types import ChatRequest, RequestRow, RunStopped, Side
from .bench import LEAD_S, Bench
from .preflight import Plan


class Baseline:
    """The rows of one repeat that are asked for while nobody else talks."""

    def __init__(self, bench: Bench, plan: Plan, repeat: int) -> None:
        self._bench = bench
        self._plan = plan
        self._labels: dict[str, Any] = {"point": plan.point, "repeat": repeat}

    async def warm(self, caller: Caller) -> None:
        """Bring a caller's slot to its history before the first turn it says. Raises RunStopped."""
        script = self._plan.script(caller.group, caller.number)
        await self._hold(caller, script.recording, script.turns[0])

    async def fill(self, caller: Caller, recording: Recording, turn: int, said: list[Message]) -> RequestRow:
        """Ask for a history, `said` before `turn`, and one token. The row is not measured."""
        request = ChatRequest(
            messages=said,
            tools=recording.tools,
            max_tokens=1,
            slot=caller.slot,
            fields=self._plan.scenario.request,
        )
        caller.prompt = caller.held = None
        row, _ = await caller.ask(
            self._bench.server,
            request,
            self._bench.emit,
            self._bench.origin,
            expects=ANY,
            row="warm",
            turn=turn - 1,
            **self._labels,
        )
        return row

    async def measure(self, line: Line, side: Side, pause: int = 0) -> list[RequestRow]:
        """One caller's replies, each from the same state. `pause`: which of the load's, from 1. Raises RunStopped, and
        RunInterrupted once the run is to end."""
        turn, recording = self._plan.alone, self._plan.first.recording
        caller = Caller(group="baseline", number=0, slot=self._plan.slot_alone, opening=self._plan.first.opening)
        rows = []
        for number in range(self._plan.scenario.baseline.replies):
            await self._hold(caller, recording, turn)
            who = ("baseline", side, number, *([pause] if pause else []))
            salted = functools.partial(salt, self._bench.run, self._plan.point, self._labels["repeat"], *who)
            ask = next(asks(recording, range(turn, turn + 1), salted, wording=self._plan.wording))
            # As the load's requests are: the connection open, the server at rest.
            due = asyncio.get_running_loop().time() + LEAD_S
            request = line.request(recording, ask.messages, ask.reply, caller.slot, due)
            listener = line.listener(ask.reply)
            row, _ = await caller.ask(
                self._bench.server,
                request,
                self._bench.emit,
                self._bench.origin,
                expects=self._plan.alone_expects,
                speakable=line.speakable(listener.chunk),
                finish=functools.partial(listener.finish, origin=self._bench.origin),
                row="baseline",
                turn=turn,
                call=pause,
                side=side,
                number=number,
                **self._labels,
            )
            rows.append(row)
            self._bench.go_on()
        self._bench.progress.alone = (asyncio.get_running_loop().time(), rows)
        return rows

    async def _hold(self, caller: Caller, recording: Recording, turn: int) -> None:
        row = await self.fill(caller, recording, turn, warm_prompt(recording, turn, self._plan.wording))
        if row.outcome not in ("ok", "empty"):
            where = "a slot" if caller.slot is None else f"slot {caller.slot}"
            raise RunStopped(f"{where} could not be warmed: {row.error}")
