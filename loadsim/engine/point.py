"""One load point: every repeat warms all slots, measures one caller alone, then the load, then one caller alone."""

import asyncio
from collections.abc import Callable
from typing import Literal

import msgspec

from ..caller.call import Caller
from ..caller.history import Ask, asks, salt, warm_prompt
from ..recording.model import Recording
from ..server.api import Reply, Server
from ..telemetry.lag import Lag
from ..types import ChatRequest, Kind, RequestRow, RunStopped
from .preflight import AFTER_REPLY, Plan
from .progress import Progress

Side = Literal["before", "after"]

# From the order to go until requests are due: connections open and bodies are written meanwhile.
LEAD_S = 0.1
LEAD_PER_CALLER_S = 0.003
ANY: frozenset[Kind] = frozenset()


class Bench(msgspec.Struct, frozen=True, kw_only=True):
    """What a run measures with: its server and recording, its clock's origin, and where rows and events go.

    `run` is the run's id, in every salt; `emit` gets each row with the reply's text, `note` each event.
    """

    run: str
    server: Server
    recording: Recording
    origin: float
    progress: Progress
    emit: Callable[[RequestRow, Reply], None]
    note: Callable[..., None]
    lag: Lag


class Point:
    """One load point under measurement."""

    def __init__(self, bench: Bench, plan: Plan) -> None:
        self.name = plan.point
        self._bench = bench
        self._plan = plan
        self._scenario = plan.scenario
        self._groups = plan.scenario.callers
        self._loop = asyncio.get_running_loop()
        self._repeat = 0

    def rows(self) -> int:
        """How many rows one repeat leaves, the warm ones included."""
        alone = self._scenario.baseline.replies * 2 * 2
        shared = self._slot_alone() in self._plan.slots and self._scenario.baseline.replies > 0
        warm = sum(group.count for group in self._groups.values() if group.cache == "warm")
        load = sum(
            group.count * sum(1 for _ in asks(self._bench.recording, self._plan.groups[name].turns, str))
            for name, group in self._groups.items()
        )
        return alone + warm + shared + load

    async def repeat(self, number: int) -> None:
        """Measure once: warm every slot, one caller alone, the load, one caller alone.

        Raises RunStopped where a slot cannot be warmed or nobody is answered.
        """
        self._repeat = number
        callers = [
            (name, Caller(group=name, number=i, slot=slot, opening=self._plan.opening))
            for name in self._groups
            for i, slot in enumerate(self._plan.places[name])
        ]
        warm = [(name, caller) for name, caller in callers if self._groups[name].cache == "warm"]
        self._phase("warming")
        for name, caller in warm:
            await self._warm(caller, self._plan.groups[name].turns[0])
        await self._alone("before")
        for name, caller in warm:
            if self._scenario.baseline.replies and caller.slot == self._slot_alone():
                await self._warm(caller, self._plan.groups[name].turns[0])
        await self._load(callers)
        await self._alone("after")

    # -- the three kinds of rows

    async def _warm(self, caller: Caller, turn: int) -> None:
        """Bring a caller's slot to its history before `turn`. The row is not measured."""
        request = ChatRequest(
            messages=warm_prompt(self._bench.recording, turn),
            tools=self._bench.recording.tools,
            max_tokens=1,
            slot=caller.slot,
            fields=self._scenario.request,
        )
        caller.prompt = caller.held = None
        row = await self._ask(caller, request, ANY, row="warm", turn=turn - 1)
        if row.outcome not in ("ok", "empty"):
            where = "a slot" if caller.slot is None else f"slot {caller.slot}"
            raise RunStopped(f"{where} could not be warmed: {row.error}")

    async def _alone(self, side: Side) -> None:
        """One caller's replies while nobody else talks, each from the same state."""
        replies = self._scenario.baseline.replies
        if not replies:
            return
        self._phase(f"one caller, {side}")
        turn, expects = self._plan.alone, self._plan.alone_expects
        caller = Caller(group="baseline", number=0, slot=self._slot_alone(), opening=self._plan.opening)
        rows = []
        for number in range(replies):
            await self._warm(caller, turn)
            ask = next(asks(self._bench.recording, range(turn, turn + 1), self._salts("baseline", side, number)))
            labels = {"row": "baseline", "turn": turn, "side": side, "number": number}
            due = self._loop.time() + LEAD_S  # as the load's requests are: the connection open, the server at rest
            rows.append(await self._ask(caller, self._request(ask, caller.slot, due), expects, **labels))
        self._some_answered(rows)

    async def _load(self, callers: list[tuple[str, Caller]]) -> None:
        """All callers at once, each saying its turns."""
        self._phase("all callers")
        start = self._loop.time() + LEAD_S + LEAD_PER_CALLER_S * len(callers)
        self._bench.lag.take()
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(self._call(name, caller, start)) for name, caller in callers]
        client = self._bench.lag.take()
        self._bench.note("client", point=self._plan.point, repeat=self._repeat, **msgspec.structs.asdict(client))
        self._some_answered([row for task in tasks for row in task.result()])

    async def _call(self, name: str, caller: Caller, start: float) -> list[RequestRow]:
        """One caller's turns, from its own start on; an error ends this call only."""
        group, plan = self._groups[name], self._plan.groups[name]
        due = start + group.start * caller.number / group.count
        opening = salt(self._bench.run, self._plan.point, self._repeat, name, caller.number)
        script = asks(
            self._bench.recording,
            plan.turns,
            self._salts("load", name, caller.number),
            opening if group.cache == "cold" else None,
        )
        slot = None if group.slots == "server" else caller.slot
        expects, rows = plan.expects, list[RequestRow]()
        for ask in script:
            if rows:
                expects = plan.expects and AFTER_REPLY
                if not ask.step:
                    due = max(due + group.every, self._loop.time())
            labels = {"row": "load", "turn": ask.turn, "step": ask.step}
            request = self._request(ask, slot, None if ask.step else due)
            rows.append(await self._ask(caller, request, expects, **labels))
            if rows[-1].outcome not in ("ok", "empty"):
                break
        return rows

    # -- what they share

    def _request(self, ask: Ask, slot: int | None, due: float | None = None) -> ChatRequest:
        return ChatRequest(
            messages=ask.messages,
            tools=self._bench.recording.tools,
            max_tokens=self._plan.max_tokens(ask.reply),
            ignore_eos=self._scenario.reply == "recorded",
            slot=slot,
            due=due,
            fields=self._scenario.request,
        )

    async def _ask(
        self, caller: Caller, request: ChatRequest, expects: frozenset[Kind], **labels: object
    ) -> RequestRow:
        labels |= {"point": self._plan.point, "repeat": self._repeat}
        return await caller.ask(
            self._bench.server, request, self._bench.emit, self._bench.origin, expects=expects, **labels
        )

    def _salts(self, *who: object) -> Callable[[int], str]:
        """Salts that no other row of any run has."""
        return lambda turn: salt(self._bench.run, self._plan.point, self._repeat, *who, turn)

    def _slot_alone(self) -> int | None:
        if self._scenario.baseline.slot is not None:
            return self._scenario.baseline.slot
        return next(slot for slots in self._plan.places.values() for slot in slots)

    def _phase(self, phase: str) -> None:
        progress = self._bench.progress
        progress.phase, progress.point, progress.repeat = phase, self._plan.point, self._repeat
        if progress.measuring_since is None and phase != "warming":
            progress.measuring_since = self._loop.time()
            progress.total -= progress.done  # the first warming is slow, and says nothing of the rest
            progress.done = 0
        self._bench.note("phase", phase=phase, point=self._plan.point, repeat=self._repeat)

    @staticmethod
    def _some_answered(rows: list[RequestRow]) -> None:
        if all(row.outcome in ("error", "timeout") for row in rows):
            raise RunStopped(f"no caller was answered: {rows[0].error}")
