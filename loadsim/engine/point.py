"""One load point: every repeat warms all slots, measures one caller alone, then the load, then one caller alone."""

import asyncio
import functools
import random
from collections.abc import Callable
from typing import Any, Literal

import msgspec

from ..caller.call import Caller
from ..caller.history import asks, lines, salt, warm_prompt
from ..caller.line import Line
from ..caller.talk import ANY, Call
from ..recording.model import Recording
from ..server.api import Reply, Server
from ..telemetry.lag import Lag
from ..types import ChatRequest, RequestRow, RunInterrupted, RunStopped
from .arrivals import arrivals, length
from .ending import Ending
from .outage import Watch
from .preflight import Plan
from .progress import Progress
from .serving import Served

Side = Literal["before", "after"]

# From the order to go until requests are due: connections open and bodies are written meanwhile.
LEAD_S = 0.1
LEAD_PER_CALLER_S = 0.003
TURN_S = 12.4  # between one caller's turns on the telephone, on average
AGAIN_S = 2.0  # a caller whose call failed waits so long before the next one, twice as long after each that fails too,
AGAIN_MOST_S = 30.0  # and this at the most
MOST_LOST = 3  # calls in a row, while nobody at all has been answered yet, and the caller gives up


class Bench(msgspec.Struct, frozen=True, kw_only=True):
    """What a run measures with: its server, its clock's origin, and where rows and events go.

    `run` is the run's id, in every salt; `emit` gets each row with the reply's text, `note` each event. `ending`: the
    wish to end. `served`: the server as it was started, where there is something to know of that.
    """

    run: str
    server: Server
    origin: float
    progress: Progress
    emit: Callable[[RequestRow, Reply], None]
    note: Callable[..., None]
    lag: Lag
    ending: Ending = msgspec.field(default_factory=Ending)
    served: Served | None = None


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
        """How many rows one repeat leaves if nothing disturbs it, the warm ones included."""
        alone = self._scenario.baseline.replies * 2 * 2
        shared = self._slot_alone() in self._plan.slots and self._scenario.baseline.replies > 0
        warm = sum(group.count for group in self._groups.values() if group.cache == "warm")
        load = 0
        for name, group in self._groups.items():
            for number in range(group.count):
                script = self._plan.script(name, number)
                load += sum(len(lines(script.recording, turn).steps) + 1 for turn in script.turns)
        return alone + warm + shared + load

    def load_seconds(self) -> float | None:
        """About how long the load of one repeat takes; None where callers go as fast as the server."""
        scenario = self._scenario
        if scenario.duration is not None:
            return scenario.duration / scenario.pace.time_scale
        each = [0.0]
        for name, group in self._groups.items():
            script = self._plan.script(name, 0)
            call = group.every * (len(script.turns) - 1)
            if scenario.pace.by == "speech":
                drawn = scenario.pace.times == "drawn"
                call = len(script.turns) * TURN_S if drawn else length(script.recording, script.turns)
            each.append(max(self._arrivals(name)) + call / scenario.pace.time_scale)
        return max(each) or None

    async def repeat(self, number: int) -> None:
        """Measure once: warm every slot, one caller alone, the load, one caller alone.

        Raises RunStopped where a slot cannot be warmed, nobody is answered or the server is away for too long, and
        RunInterrupted once that was asked for and the turns under way have ended.
        """
        self._bench.ending.under_way = True
        try:
            await self._measure(number)
        finally:
            self._bench.ending.under_way = False

    async def _measure(self, number: int) -> None:
        self._repeat = number
        callers = [
            (name, Caller(group=name, number=i, slot=slot, opening=self._plan.script(name, i).opening))
            for name in self._groups
            for i, slot in enumerate(self._plan.places[name])
        ]
        warm = [caller for name, caller in callers if self._groups[name].cache == "warm"]
        self._phase("warming")
        for caller in warm:
            await self._warm(caller)
            self._go_on()
        await self._alone("before")
        for caller in warm:
            if self._scenario.baseline.replies and caller.slot == self._slot_alone():
                await self._warm(caller)
        await self._load(callers)
        await self._alone("after")

    # -- the three kinds of rows

    async def _warm(self, caller: Caller) -> None:
        """Bring a caller's slot to its history before the first turn it says."""
        script = self._plan.script(caller.group, caller.number)
        await self._hold(caller, script.recording, script.turns[0])

    async def _hold(self, caller: Caller, recording: Recording, turn: int) -> None:
        """Bring a caller's slot to the history before `turn`. Raises RunStopped."""
        row = await self._fill(caller, recording, turn)
        if row.outcome not in ("ok", "empty"):
            where = "a slot" if caller.slot is None else f"slot {caller.slot}"
            raise RunStopped(f"{where} could not be warmed: {row.error}")

    async def _fill(self, caller: Caller, recording: Recording, turn: int) -> RequestRow:
        """Ask for the history before `turn`, and one token. The row is not measured."""
        request = ChatRequest(
            messages=warm_prompt(recording, turn, self._plan.wording),
            tools=recording.tools,
            max_tokens=1,
            slot=caller.slot,
            fields=self._scenario.request,
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

    async def _alone(self, side: Side) -> None:
        """One caller's replies while nobody else talks, each from the same state."""
        replies = self._scenario.baseline.replies
        if not replies:
            return
        self._phase(f"one caller, {side}")
        turn, recording = self._plan.alone, self._plan.first.recording
        caller = Caller(group="baseline", number=0, slot=self._slot_alone(), opening=self._plan.first.opening)
        line = self._line(asyncio.create_task)
        rows = []
        for number in range(replies):
            await self._hold(caller, recording, turn)
            salted = self._salts("baseline", side, number)
            ask = next(asks(recording, range(turn, turn + 1), salted, wording=self._plan.wording))
            due = self._loop.time() + LEAD_S  # as the load's requests are: the connection open, the server at rest
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
                side=side,
                number=number,
                **self._labels,
            )
            rows.append(row)
            self._go_on()
        self._some_answered(rows)

    async def _load(self, callers: list[tuple[str, Caller]]) -> None:
        """All callers, each from its own start on."""
        self._phase("all callers")
        start = self._loop.time() + LEAD_S + LEAD_PER_CALLER_S * len(callers)
        begins = {name: self._arrivals(name) for name in self._groups}
        scale = self._scenario.pace.time_scale
        until = None if self._scenario.duration is None else start + self._scenario.duration / scale
        self._expect(start)
        self._bench.lag.take()
        watch = self._watch()
        calls: dict[asyncio.Task[None], Call] = {}
        rows: list[RequestRow] = []
        try:
            async with asyncio.TaskGroup() as group:
                line = self._line(group.create_task, until, watch)
                tasks = [
                    group.create_task(
                        self._caller(line, watch, name, caller, start + begins[name][caller.number], calls, rows)
                    )
                    for name, caller in callers
                ]
                beside = [group.create_task(watch.look()), group.create_task(self._finish(tasks, calls))]
                await asyncio.wait(tasks)
                for task in beside:
                    task.cancel()
        except BaseExceptionGroup as several:
            raise _first(several) from None
        client = self._bench.lag.take()
        self._bench.note("client", **self._labels, **msgspec.structs.asdict(client))
        self._go_on()
        self._some_answered(rows)

    async def _finish(self, tasks: "list[asyncio.Task[None]]", calls: "dict[asyncio.Task[None], Call]") -> None:
        """Once the run is to end: whoever waits for no reply hangs up; the others' turns are finished."""
        await self._bench.ending.asked.wait()
        self._bench.progress.phase = "finishing turns"
        for task in tasks:
            if task not in calls or calls[task].waiting:
                task.cancel()

    async def _caller(
        self,
        line: Line,
        watch: Watch,
        name: str,
        caller: Caller,
        start: float,
        calls: "dict[asyncio.Task[None], Call]",
        rows: list[RequestRow],
    ) -> None:
        """One caller's calls, from its own start on; an error ends a call only. Its call goes into `calls`, and what it
        has left into `rows`."""
        group, script = self._groups[name], self._plan.script(name, caller.number)
        task = asyncio.current_task()
        assert task is not None
        number = lost = 0
        emptied, holds = watch.emptied, group.cache == "warm"
        while True:
            who = (name, caller.number, number)
            opening = salt(self._bench.run, self._plan.point, self._repeat, *who)
            call = Call(
                line,
                caller,
                script.recording,
                script.turns,
                number=number,
                slot=None if group.slots == "server" else caller.slot,
                every=group.every,
                salted=self._salts("load", *who),
                opening=opening if group.cache == "cold" else None,
                chance=functools.partial(self._chance, *who),
                # A slot is warm for its caller's first call.
                expects=script.expects if holds or group.cache == "cold" else ANY,
            )
            calls[task] = call
            why = await call.hold(start)
            rows += call.rows
            lost = lost + 1 if why == "failed" else 0
            given_up = lost >= MOST_LOST and not watch.answered
            if not group.again or why in ("time", "stopped") or given_up:
                return
            number += 1
            start, holds = call.ended_at, False
            if lost:
                await self._pause(line, watch, lost, who)
            if group.cache == "warm" and watch.emptied != emptied:
                emptied = watch.emptied
                held = await self._fill(caller, script.recording, script.turns[0])
                holds = held.outcome in ("ok", "empty")
            if lost:
                start = max(start, self._loop.time())

    async def _pause(self, line: Line, watch: Watch, lost: int, who: tuple[Any, ...]) -> None:
        """Between a call that failed, the `lost`th in a row, and the next one."""
        scale = self._scenario.pace.time_scale
        seconds = min(AGAIN_S * 2 ** (lost - 1), AGAIN_MOST_S) / scale
        if line.until is not None:
            seconds = min(seconds, max(line.until - self._loop.time(), 0.0))
        # Not all at once, when the server is there again.
        await watch.back(seconds, self._chance(*who, "again").random() * AGAIN_S / scale)

    # -- what they share

    def _watch(self) -> Watch:
        bench, labels = self._bench, self._labels

        def note(name: str, **fields: Any) -> None:
            bench.note(name, **labels, **fields)
            if name in ("outage", "outage over") and not bench.ending.asked.is_set():
                bench.progress.phase = "all callers" if name == "outage over" else f"no token comes ({fields['said']})"

        return Watch(bench.server, self._scenario, bench.served, lambda: bench.progress.live, note, bench.origin)

    def _line(self, spawn: Callable[..., object], until: float | None = None, watch: Watch | None = None) -> Line:
        def emit(row: RequestRow, reply: Reply) -> None:
            self._bench.emit(row, reply)
            if watch is not None:
                watch.ended(row, reply)

        return Line(
            server=self._bench.server,
            scenario=self._scenario,
            origin=self._bench.origin,
            emit=emit,
            note=self._bench.note,
            spawn=spawn,
            tokens=self._plan.tokens,
            max_tokens=self._plan.max_tokens,
            until=until,
            over=self._bench.ending.asked,
            labels=self._labels,
        )

    def _go_on(self) -> None:
        if self._bench.ending.asked.is_set():
            raise RunInterrupted

    @property
    def _labels(self) -> dict[str, Any]:
        return {"point": self._plan.point, "repeat": self._repeat}

    def _arrivals(self, name: str) -> list[float]:
        group, script = self._groups[name], self._plan.script(name, 0)
        begins = arrivals(group.start, group.count, length(script.recording, script.turns), self._chance(name))
        return [t / self._scenario.pace.time_scale for t in begins]

    def _chance(self, *who: object) -> random.Random:
        """Random numbers that are the same at every load point, so that points compare, and in every run of a seed."""
        return random.Random(repr((self._scenario.seed, self._repeat, *who)))

    def _salts(self, *who: object) -> Callable[[int], str]:
        """Salts that no other row of any run has."""
        return lambda turn: salt(self._bench.run, self._plan.point, self._repeat, *who, turn)

    def _slot_alone(self) -> int | None:
        if self._scenario.baseline.slot is not None:
            return self._scenario.baseline.slot
        return next(slot for slots in self._plan.places.values() for slot in slots)

    def _expect(self, start: float) -> None:
        """Tell when the load will be over."""
        progress, takes = self._bench.progress, self.load_seconds()
        if takes is not None and progress.loads_left_s is not None:
            progress.load_ends = start + takes
            progress.loads_left_s -= takes

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
        if not rows:
            raise RunStopped("nobody's call began before the scenario's duration was over")
        if all(row.outcome in ("error", "timeout") for row in rows):
            raise RunStopped(f"no caller was answered: {rows[0].error}")


def _first(several: BaseExceptionGroup) -> BaseException:
    """What went wrong first, out of the group that a TaskGroup wraps it in."""
    first = several.exceptions[0]
    return _first(first) if isinstance(first, BaseExceptionGroup) else first
