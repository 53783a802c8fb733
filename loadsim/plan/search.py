"""The largest number of callers that meets every target: measured by doubling and bisection, and made sure of."""

import asyncio
import contextlib
from collections.abc import Callable, Sequence
from typing import Any

import msgspec

from ..engine.ending import Ending
from ..engine.point import Point
from ..engine.preflight import Recordings, calls
from ..engine.progress import Progress
from ..engine.serving import serving, settings
from ..engine.stay import Means, Serve, Stay, expect, measuring, staying
from ..scenario.load import dump
from ..scenario.model import Scenario
from ..types import BadInput, FolderGone, RunInterrupted, RunStopped, ServerSettings
from .ahead import Ahead, Reckoning
from .found import Found, Limit, Measured, Paced, write
from .kept import Kept
from .lines import why_fails
from .slo import Target
from .steps import edges, next_count
from .variant import Sets, at_once, embedded, grows, others, paced, put, searched, sets_at
from .verdict import LEAST, Verdict, confidence, figure, needed, overall
from .watch import Watch

PATIENT = 6  # repeats that a late client gets, once the verdict is clear, and a verdict that is not
MARGIN = 1.2  # more replies than are needed: some callers are in mid-turn when the time is over


class Wish(msgspec.Struct, frozen=True, kw_only=True):
    """What is searched: `scenario` as its file has it, the `group` whose number is searched (None: the obvious one),
    the `targets`, and whether they are the `default` ones; `most` callers, and `repeats` of a load point at the most;
    `together_only`: leave out the callers with the pace of people."""

    scenario: Scenario
    group: str | None
    targets: Sequence[Target]
    default: bool = False
    most: int = 256
    repeats: int = 12
    together_only: bool = False


Say = Callable[[Measured | Paced | Ahead], None]
"""Hears of each load point as it ends, of the paced one before it begins, and of what is ahead once that is known."""


class Held(msgspec.Struct, kw_only=True):
    """A load point under measurement, of so many `repeats` at the most, and what was `found` at it so far."""

    point: Point
    stay: Stay
    repeats: int
    found: Measured


async def search(
    wish: Wish,
    recordings: Recordings,
    recorder: Kept,
    progress: Progress,
    key: str | None,
    say: Say,
    serve: Serve = serving,
    ending: Ending | None = None,
) -> Found:
    """Search, and record every load point as a sweep's. `recordings`, `key`, `ending`: as for `engine.run`; `say`
    hears of each point as it ends. Raises BadInput before the load where scenario, targets and server do not go
    together, and RunStopped where not even one point could be measured."""
    group = searched(wish.scenario, wish.group)
    if any(target.measure == "share" for target in wish.targets) and not wish.scenario.baseline.replies:
        raise BadInput("--slo share: a share is of one caller's rate, and baseline.replies is 0: give it 2 or more")
    base = at_once(wish.scenario, group, wish.repeats, any(target.measure == "share" for target in wish.targets))
    texts = [target.text for target in wish.targets]
    recorder.begin(dump(base), {})
    recorder.describe(plan={"targets": texts, "group": group})
    async with (
        measuring(wish.scenario, recordings, recorder, progress, recorder.start, key, ending, serve) as means,
        contextlib.AsyncExitStack() as stack,
    ):
        return await Search(wish, base, group, means, recorder, say, stack).answer()


class Search:
    """A search under way: the server it is on, and what is known so far."""

    def __init__(
        self,
        wish: Wish,
        base: Scenario,
        group: str,
        means: Means,
        recorder: Kept,
        say: Say,
        stack: contextlib.AsyncExitStack,
    ) -> None:
        self._wish = wish
        self._base = base
        self._group = group
        self._means = means
        self._recorder = recorder
        self._say = say
        self._stack = stack
        self._others = others(base, group)
        self._grows = grows(base)
        self._stay: Stay | None = None
        self._settings: ServerSettings | None = None
        self._worked = 0
        self._watch = Watch(recorder, group, any(target.measure == "errors" for target in wish.targets))
        self._points: list[Measured] = []
        self._known: dict[int, Verdict] = {}
        self._most = wish.most
        self._end: Limit = "most"
        self._stopped: tuple[Limit, str] | None = None
        self._aside: dict[int, Held] = {}
        self._reckoning = Reckoning()
        self._confirmed: Measured | None = None
        self._held: Paced | None = None
        self._confirming = self._told = self._over = False
        self._loop = asyncio.get_running_loop()

    async def answer(self) -> Found:
        """Measure until nothing more would tell. What is known is in plan.json from point to point, and also where
        this is cancelled or raises."""
        try:
            await self._search()
        except BaseException as error:
            by_hand = isinstance(error, asyncio.CancelledError | RunInterrupted)
            self._stopped = ("interrupted", "stopped by hand") if by_hand else ("broken", str(error))
            if self._recorder.rows:
                self._recorder.check()
                write(self._found(), self._recorder.path)
            raise
        found = self._found()
        write(found, self._recorder.path)
        return found

    async def _search(self) -> None:
        self._most, self._end = await self._limits()
        while self._stopped is None and (count := self._next()) is not None:
            held = self._aside.pop(count, None)
            if held is not None and held.stay is self._stay:
                await self._repeat(held)
            else:
                await self._together(count, self._slots(count))
        self._confirming = True
        callers = edges(self._known).low
        while self._grows and callers and self._confirmed is None and self._stopped is None:
            self._confirmed = await self._confirm(callers)
            callers -= self._confirmed is None and self._stopped is None
        if callers and self._stopped is None and not self._wish.together_only:
            await self._paced(callers)
        self._over = True

    def _next(self) -> int | None:
        """The number to measure next; at the end one that was set aside, where it still decides."""
        count = next_count(self._known, self._most)
        low, high = edges(self._known).low, edges(self._known).high or 0
        return count or min((each for each in self._aside if low < each <= high), default=None)

    # -- the load points

    async def _limits(self) -> tuple[int, Limit]:
        """How many callers can be measured at all, and what ends it there."""
        most = self._wish.most
        end: Limit = "most"
        if not self._grows:
            stay = await self._on(put(self._base, sets_at(self._base, self._group, 1, None)))
            slots = stay.served.info.slots
            if slots is not None and slots - self._others < most:
                most, end = max(slots - self._others, 1), "slots"
        return most, end

    def _slots(self, count: int) -> int | None:
        """How many slots the server is to have for so many callers: as it is, while that is enough."""
        if not self._grows:
            return None
        wanted = count + self._others
        if self._settings is None:
            return max(self._base.server.slots, wanted)
        return max(self._settings.slots, wanted) if self._stay else wanted

    async def _together(self, count: int, slots: int | None) -> Measured:
        """Measure so many callers who all talk at once, until it is clear or the repeats are used up."""
        sets = sets_at(self._base, self._group, count, slots)
        rest = [f"{group.count} {name}" for name, group in self._base.callers.items() if name != self._group]
        label = " + ".join([f"{count} {self._group}", *rest])
        if any(point.point == label for point in self._points):
            label = f"{label}, slots={slots}"
        return await self._measure(label, count, slots, sets)

    async def _confirm(self, count: int) -> Measured | None:
        """The point at which so many callers hold on a server with a slot for each and no more; None: they do not."""
        slots = count + self._others
        if (known := self._alike(count, slots)) is not None:
            return known
        found = await self._together(count, slots)
        return found if found.verdict == "meets" else None

    def _alike(self, count: int, slots: int) -> Measured | None:
        """The point at which so many callers held with so many slots, if it was measured."""
        held = (count, slots, "meets")
        return next((point for point in self._points if (point.count, point.slots, point.verdict) == held), None)

    async def _paced(self, count: int) -> None:
        """Callers with the pace of people, for as many replies as the targets need."""
        wish, name = self._wish, calls(self._base.callers[self._group], self._base)[0]
        replies = needed(wish.targets)
        sets, seconds = paced(wish.scenario, self._group, self._means.recordings[name], count, round(replies * MARGIN))
        scale = wish.scenario.pace.time_scale
        self._held = Paced(callers=count, needed=replies, seconds=seconds, time_scale=scale)
        self._say(self._held)
        slots = count + self._others if self._grows else None
        sets = sets_at(self._base, self._group, count, slots) | sets
        await self._measure(f"{count} {self._group}, paced", count, slots, sets, load="paced")

    async def _measure(self, label: str, count: int, slots: int | None, sets: Sets, load: Any = "together") -> Measured:
        """One load point; `self._stopped` says afterwards if the search cannot go on with it."""
        scenario = put(self._base, sets)
        found = Measured(point=label, count=count, slots=slots, load=load, verdict="unclear")
        larger = slots is not None and slots > self._worked
        try:
            stay = await self._on(scenario)
            self._worked = max(self._worked, slots or 0)
            (point,) = await stay.prepare([(label, scenario)], {label: sets})
        except FolderGone:
            raise
        except (BadInput, RunStopped) as error:
            if not self._points:
                raise
            why = f"the server does not start with {slots} slots: {error}" if larger else str(error)
            return self._failed(found, why, None if larger else "broken")
        if slots is None:
            found = msgspec.structs.replace(found, slots=stay.served.info.slots)
        assert isinstance(point, Point)
        return await self._repeat(Held(point=point, stay=stay, repeats=scenario.repeat, found=found))

    async def _repeat(self, held: Held) -> Measured:
        """Repeat a load point until it is clear, or is better set aside: while other numbers may tell as well."""
        label = held.found.point
        before = held.found.repeats
        try:
            while held.found.repeats < held.repeats:
                self._expect(held)
                began = self._loop.time()
                await held.stay.repeat(held.point, held.found.repeats + 1)
                self._reckoning.took(held.found.count, self._loop.time() - began)
                held.found = self._so_far(held.found)
                if held.found.repeats >= min(LEAST, held.repeats) and self._enough(held, before):
                    break
        except (asyncio.CancelledError, RunInterrupted):
            if held.found.repeats:
                self._keep(msgspec.structs.replace(held.found, verdict="unclear", why="stopped by hand"))
            raise
        except FolderGone:
            raise
        except RunStopped as stopped:
            why, _ = await held.stay.why(stopped)
            if not self._points:
                raise RunStopped(why) from None
            return self._failed(held.found, why, "broken")
        self._recorder.end_point(label)
        if self._stopped is not None:
            limit, why = self._stopped
            verdict: Verdict = "misses" if limit == "errors" else "unclear"
            held.found = msgspec.structs.replace(held.found, verdict=verdict, why=why)
        return self._tell(held.found)

    def _enough(self, held: Held, before: int) -> bool:
        """Whether a point needs no more repeats now; it had so many `before` it was set aside."""
        found, number = held.found, held.found.repeats
        broken = self._watch.broken(found.point)
        # A moment in which the machine was busy elsewhere goes by: more repeats tell it from a client that is slow.
        self._stopped = broken or self._watch.changed(found.point)
        if broken or number < min(PATIENT, held.repeats):
            return broken is not None or (found.verdict != "unclear" and self._stopped is None)
        if found.verdict != "unclear" or self._stopped is not None:
            return found.verdict != "unclear"
        if all(figure.near for figure in found.figures if figure.verdict == "unclear"):
            return True
        # Numbers on either side may make this one's verdict needless; once one fails they need no larger server.
        fresh = not before and found.load == "together" and found.count not in self._known
        if not fresh or number == held.repeats or edges(self._known).high is None:
            return False
        if next_count(self._known | {found.count: "unclear"}, self._most) is None:
            return False
        self._aside[found.count] = held
        return True

    def _so_far(self, found: Measured) -> Measured:
        """A point after one more repeat."""
        rows = [
            row
            for row in self._recorder.measured[found.point]
            if row.row == "baseline" or (row.row == "load" and row.group == self._group)
        ]
        voice, repeats = self._watch.voice(self._base), None if found.load == "paced" else self._wish.repeats
        figures = [figure(target, rows, voice, repeats) for target in self._wish.targets]
        return msgspec.structs.replace(
            found,
            repeats=found.repeats + 1,
            replies=sum(row.row == "load" for row in rows),
            alone=self._watch.alone(found.point),
            figures=figures,
            verdict=overall(figures),
        )

    def _expect(self, held: Held) -> None:
        """Tell when the search will be over."""
        progress, found = self._means.progress, held.found
        progress.repeats = held.repeats
        if found.load == "paced":
            progress.ends = None
            expect(progress, [held.point])
            return
        progress.total = 0
        each, rest = self._reckoning.one(found.count), self._ahead(self._known | {found.count: "misses"})
        if each is not None and rest is not None:
            progress.ends = self._loop.time() + each * max(LEAST - found.repeats, 1) + rest.seconds

    def _ahead(self, known: dict[int, Verdict]) -> Ahead | None:
        """What is still to be measured."""
        low = edges(known).low
        confirms = self._grows and low > 0 and not self._confirming and self._alike(low, low + self._others) is None
        return self._reckoning.ahead(known, 0 if self._confirming else self._most, confirms)

    def _failed(self, found: Measured, why: str, limit: Limit | None) -> Measured:
        """A point that could not be measured; without a `limit` that is its answer, else the search ends with it."""
        self._recorder.event("failed", point=found.point, why=why)
        if limit is not None:
            self._stopped = (limit, f"{found.point} could not be measured: {why}")
        return self._tell(msgspec.structs.replace(found, verdict="unclear" if limit else "misses", why=why))

    def _tell(self, found: Measured) -> Measured:
        """A point is over, or set aside."""
        self._keep(found)
        if found.load == "together" and (self._stopped is None or found.verdict != "unclear"):
            self._known[found.count] = found.verdict
        write(self._found(), self._recorder.path)
        self._say(found)
        if not self._told and self._stopped is None and edges(self._known).high is not None:
            self._told = True  # from here on it is known how much there is to do
            if (ahead := self._ahead(self._known)) is not None and (ahead.points or ahead.confirmation):
                self._say(ahead)
        return found

    def _keep(self, found: Measured) -> None:
        """What is found at a point, in place of what was found at it before."""
        self._points = [*(point for point in self._points if point.point != found.point), found]
        if found.load == "paced" and self._held is not None:
            self._held = msgspec.structs.replace(self._held, measured=found)

    async def _on(self, scenario: Scenario) -> Stay:
        """The server that the scenario wants: the one that runs, or another one in its place."""
        wanted = settings(scenario)
        if self._stay is None or wanted != self._settings:
            self._stay, self._settings = None, wanted
            await self._stack.aclose()
            self._stay = await self._stack.enter_async_context(staying(scenario, self._means))
        return self._stay

    # -- what is made of them

    def _found(self) -> Found:
        """The answer, or what is known of it so far."""
        callers, high = edges(self._known).low, edges(self._known).high
        failed = next((point for point in reversed(self._points) if high is not None and point.count == high + 1), None)
        limit, stopped = self._stopped or (None, None)
        if limit is None and not self._over:
            limit, stopped = "interrupted", "killed, or still goes on"
        if limit is None and high is None:
            limit = self._end
            high = self._most if self._known.get(self._most) == "unclear" else None
        return Found(
            callers=callers,
            high=high,
            group=self._group,
            others=self._others,
            targets=[target.text for target in self._wish.targets],
            default=self._wish.default,
            limit=limit or ("target" if failed is not None and failed.figures else "server"),
            reason=None if failed is None or failed.why == (stopped or "") else why_fails(failed, self._wish.targets),
            stopped=stopped,
            slots=None if self._confirmed is None else self._confirmed.slots,
            confirmed=None if self._confirmed is None else self._confirmed.point,
            paced=self._held,
            confidence=confidence(self._wish.repeats),
            embedded=embedded(self._base),
            points=self._points,
        )
