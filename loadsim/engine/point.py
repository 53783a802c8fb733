"""One load point: every repeat warms all slots, measures one caller alone, then the load, then one caller alone."""

import asyncio
import contextlib
import functools
import random
from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from ..caller.call import Caller
from ..caller.floor import Floor
from ..caller.history import lines, salt, warm_prompt
from ..caller.line import Line
from ..caller.talk import ANY, FAILED, Call
from ..server.api import Reply
from ..types import RequestRow, RunStopped, Side
from . import phases
from .arrivals import arrivals, length
from .baseline import Baseline
from .bench import LEAD_PER_CALLER_S, LEAD_S, Bench
from .outage import Watch
from .preflight import Plan
from .soak import Soak, Who, check_every

TURN_S = 12.4  # between one caller's turns on the telephone, on average
AGAIN_S = 2.0  # a caller whose call failed waits so long before the next one, twice as long after each that fails too,
AGAIN_MOST_S = 30.0  # and this at the most
MOST_LOST = 3  # calls in a row, while nobody at all has been answered yet, and the caller gives up

Stay = tuple[float, float | None]
"""From when to when a caller is on calls; None: to the load's end."""


class Tally(msgspec.Struct):
    """Requests so far, those that got no answer, and what the first of them met. In hours of load rows are too many."""

    asked: int = 0
    failed: int = 0
    error: str | None = None

    def add(self, call: Call) -> None:
        self.asked += call.asked
        self.failed += call.failed
        self.error = self.error or call.error


class Load(msgspec.Struct, frozen=True):
    """What all callers of one repeat's load share. `calls`: the call that each is on."""

    line: Line
    floor: Floor
    watch: Watch
    baseline: Baseline
    calls: dict[Who, Call]
    tally: Tally


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
        shared = self._plan.shared is not None and self._scenario.baseline.replies > 0
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
        if scenario.lasts is not None:
            return scenario.lasts / scenario.pace.time_scale
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

        Raises RunStopped where a slot cannot be warmed, nobody is answered or the server is away for too long,
        RunAborted where the scenario's `abort` says so, and RunInterrupted once that was asked for and the turns under
        way have ended.
        """
        self._bench.ending.under_way = True
        try:
            await self._measure(number)
        finally:
            self._bench.ending.under_way = False

    async def _measure(self, number: int) -> None:
        self._repeat = number
        callers = [
            Caller(group=name, number=i, slot=slot, opening=self._plan.script(name, i).opening)
            for name in self._groups
            for i, slot in enumerate(self._plan.places[name])
        ]
        warm = [caller for caller in callers if self._groups[caller.group].cache == "warm"]
        baseline = Baseline(self._bench, self._plan, number)
        self._phase("warming")
        for caller in warm:
            await baseline.warm(caller)
            self._bench.go_on()
        await self._alone(baseline, "before")
        for caller in warm:
            if self._scenario.baseline.replies and caller.slot == self._plan.slot_alone:
                await baseline.warm(caller)
        await self._load(callers, baseline)
        await self._alone(baseline, "after")

    # -- the kinds of rows that are measured

    async def _alone(self, baseline: Baseline, side: Side) -> None:
        """One caller's replies while nobody else talks."""
        if not self._scenario.baseline.replies:
            return
        self._phase(f"one caller, {side}")
        began = self._loop.time()
        rows = await baseline.measure(self._line(asyncio.create_task), side)
        if side == "before":
            check_every(self._scenario, self._loop.time() - began)
        failed = [row.error for row in rows if row.outcome in FAILED]
        self._some_answered(Tally(len(rows), len(failed), next(iter(failed), None)))

    async def _load(self, callers: list[Caller], baseline: Baseline) -> None:
        """All callers, each from its own start on."""
        self._phase("all callers")
        start = self._loop.time() + LEAD_S + LEAD_PER_CALLER_S * len(callers)
        stays = [(caller, self._stays(nth, caller)) for nth, caller in enumerate(callers)]
        scale, lasts = self._scenario.pace.time_scale, self._scenario.lasts
        every = self._scenario.baseline.every
        floor = Floor(start, None if lasts is None else lasts / scale, closes=every is not None)
        calls: dict[Who, Call] = {}
        tally = Tally()
        soak = Soak(self._bench, self._plan, floor, baseline, calls, self._line(asyncio.create_task), self._labels)
        self._expect(start)
        self._bench.lag.take()
        watch = self._watch()

        def ended(row: RequestRow, reply: Reply) -> None:
            soak.ended(row)
            watch.ended(row, reply)

        try:
            async with asyncio.TaskGroup() as group:
                line = self._line(group.create_task, floor, ended)
                load = Load(line, floor, watch, baseline, calls, tally)
                tasks = {
                    (caller.group, caller.number): group.create_task(self._caller(load, caller, stay))
                    for caller, stay in stays
                }
                looks = [watch.look(), self._finish(tasks, calls), *soak.beside()]
                beside = [group.create_task(each) for each in looks]
                await asyncio.wait(tasks.values())
                soak.over = True
                for task in beside:
                    task.cancel()
        except BaseExceptionGroup as several:
            raise _first(several) from None
        finally:
            with contextlib.suppress(RunStopped):  # the next write, or the last one, says so
                soak.client()
        self._bench.go_on()
        self._some_answered(tally)

    async def _finish(self, tasks: Mapping[Who, asyncio.Task[None]], calls: Mapping[Who, Call]) -> None:
        """Once the run is to end: whoever waits for no reply hangs up; the others' turns are finished."""
        await self._bench.ending.asked.wait()
        self._bench.progress.phase = "finishing turns"
        for who, task in tasks.items():
            if who not in calls or calls[who].waiting:
                task.cancel()

    async def _caller(self, load: Load, caller: Caller, stays: list[Stay]) -> None:
        """One caller's calls, while it is on calls by the load's own time; an error ends a call only."""
        name, watch = caller.group, load.watch
        group, script = self._groups[name], self._plan.script(name, caller.number)
        number = lost = 0
        emptied, holds = watch.emptied, group.cache == "warm"
        for on, off in stays:
            start, why = load.floor.at(on), "ended"
            while why != "left":
                who = (name, caller.number, number)
                opening = salt(self._bench.run, self._plan.point, self._repeat, *who)
                call = Call(
                    load.line,
                    caller,
                    script.recording,
                    script.turns,
                    number=number,
                    slot=None if group.slots == "server" else caller.slot,
                    every=group.every,
                    leaves=off,
                    salted=self._salts("load", *who),
                    opening=opening if group.cache == "cold" else None,
                    chance=functools.partial(self._chance, *who),
                    # A slot is warm for its caller's first call.
                    expects=script.expects if holds or group.cache == "cold" else ANY,
                )
                load.calls[name, caller.number] = call
                why = await call.hold(start)
                load.tally.add(call)
                lost = lost + 1 if why == "failed" else 0
                given_up = lost >= MOST_LOST and not watch.answered
                if not group.again or why in ("time", "stopped") or given_up:
                    return
                number += 1
                start, holds = call.ended_at, False
                if lost:
                    await self._pause(load, lost, who)
                if group.cache == "warm" and watch.emptied != emptied:
                    emptied = watch.emptied
                    holds = await self._warm_again(load, caller)
                if lost:
                    start = max(start, self._loop.time())

    async def _warm_again(self, load: Load, caller: Caller) -> bool:
        """Bring a caller's slot to its history, as a turn of its own; whether that went well."""
        script = self._plan.script(caller.group, caller.number)
        said = warm_prompt(script.recording, script.turns[0], self._plan.wording)
        await load.floor.enter(self._loop.time())
        try:
            row = await load.baseline.fill(caller, script.recording, script.turns[0], said)
        finally:
            load.floor.leave()
        return row.outcome in ("ok", "empty")

    async def _pause(self, load: Load, lost: int, who: tuple[Any, ...]) -> None:
        """Between a call that failed, the `lost`th in a row, and the next one."""
        scale = self._scenario.pace.time_scale
        seconds = min(AGAIN_S * 2 ** (lost - 1), AGAIN_MOST_S) / scale
        if load.floor.until is not None:
            seconds = min(seconds, max(load.floor.until - self._loop.time(), 0.0))
        # Not all at once, when the server is there again.
        await load.watch.back(seconds, self._chance(*who, "again").random() * AGAIN_S / scale)

    def _stays(self, nth: int, caller: Caller) -> list[Stay]:
        """When a caller, the `nth` of all, is on calls, in seconds of the load's own time."""
        begins = self._arrivals(caller.group)[caller.number]
        if not self._scenario.phases:
            return [(begins, None)]
        found = phases.stays(self._scenario.phases, nth, self._scenario.pace.time_scale)
        return [(max(on, begins), off) for on, off in found if off > begins]

    # -- what they share

    def _watch(self) -> Watch:
        bench, labels = self._bench, self._labels

        def note(name: str, **fields: Any) -> None:
            bench.note(name, **labels, **fields)
            if name in ("outage", "outage over") and not bench.ending.asked.is_set():
                bench.progress.phase = "all callers" if name == "outage over" else f"no token comes ({fields['said']})"

        return Watch(bench.server, self._scenario, bench.served, lambda: bench.progress.live, note, bench.origin)

    def _line(
        self,
        spawn: Callable[..., object],
        floor: Floor | None = None,
        ended: Callable[[RequestRow, Reply], None] | None = None,
    ) -> Line:
        """`ended` is told of each row before it is recorded."""

        def emit(row: RequestRow, reply: Reply) -> None:
            if ended is not None:
                ended(row, reply)
            self._bench.emit(row, reply)

        return Line(
            server=self._bench.server,
            scenario=self._scenario,
            origin=self._bench.origin,
            emit=emit,
            note=self._bench.note,
            spawn=spawn,
            tokens=self._plan.tokens,
            max_tokens=self._plan.max_tokens,
            floor=floor,
            over=self._bench.ending.asked,
            labels=self._labels,
        )

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
    def _some_answered(tally: "Tally") -> None:
        if not tally.asked:
            raise RunStopped("nobody's call began before the scenario's duration was over")
        if tally.failed == tally.asked:
            raise RunStopped(f"no caller was answered: {tally.error}")


def _first(several: BaseExceptionGroup) -> BaseException:
    """What went wrong first, out of the group that a TaskGroup wraps it in."""
    first = several.exceptions[0]
    return _first(first) if isinstance(first, BaseExceptionGroup) else first
