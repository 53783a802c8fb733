"""The largest number of callers that meets every target: measured by doubling and bisection, and made sure of."""

import contextlib
from collections.abc import Callable, Sequence
from typing import Any

import msgspec

from ..engine.ending import Ending
from ..engine.preflight import Recordings, calls
from ..engine.progress import Progress
from ..engine.serving import serving, settings
from ..engine.stay import Means, Serve, Stay, expect, staying
from ..scenario.load import dump
from ..scenario.model import Scenario
from ..telemetry.lag import Lag
from ..types import BadInput, RunStopped, ServerSettings
from .found import Found, Limit, Measured, Paced
from .kept import Kept
from .lines import why_fails
from .slo import Sample, Target, sample
from .steps import edges, next_count
from .variant import Sets, at_once, embedded, grows, others, paced, put, searched, sets_at
from .verdict import LEAST, Figure, Verdict, confidence, judge, judge_replies, needed, overall
from .watch import Watch

PATIENT = 6  # repeats that are given to a client or a card that is not as it was, once the verdict is clear
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


Say = Callable[[Measured | Paced], None]
"""Hears of each load point as it ends, and of the paced one before it begins."""


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
    base = at_once(wish.scenario, group, wish.repeats)
    texts = [target.text for target in wish.targets]
    recorder.begin(dump(base), {})
    recorder.describe(plan={"targets": texts, "group": group})
    lag = Lag()
    lag.start()
    means = Means(
        recordings=recordings,
        recorder=recorder,
        progress=progress,
        origin=recorder.start,
        key=key,
        lag=lag,
        serve=serve,
        ending=ending or Ending(),
    )
    try:
        async with contextlib.AsyncExitStack() as stack:
            return await Search(wish, base, group, means, recorder, say, stack).answer()
    finally:
        lag.stop()


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
        self._stopped: tuple[Limit, str] | None = None

    async def answer(self) -> Found:
        """Measure until nothing more would tell."""
        most, end = await self._most()
        while self._stopped is None and (count := next_count(self._known, most)) is not None:
            await self._together(count, self._slots(count))
        callers = edges(self._known).low
        confirmed: Measured | None = None
        while self._grows and callers and confirmed is None and self._stopped is None:
            confirmed = await self._confirm(callers)
            callers -= confirmed is None and self._stopped is None
        held = None
        if callers and self._stopped is None and not self._wish.together_only:
            held = await self._paced(callers)
        return self._found(callers, most, end, confirmed, held)

    # -- the load points

    async def _most(self) -> tuple[int, Limit]:
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
        found = await self._measure(label, count, slots, sets)
        self._known[count] = found.verdict
        return found

    async def _confirm(self, count: int) -> Measured | None:
        """The point at which so many callers hold on a server with a slot for each and no more; None: they do not."""
        slots = count + self._others
        for point in self._points:
            if (point.count, point.slots, point.verdict) == (count, slots, "meets"):
                return point
        found = await self._together(count, slots)
        return found if found.verdict == "meets" else None

    async def _paced(self, count: int) -> Paced:
        """Callers with the pace of people, for as many replies as the targets need."""
        wish, name = self._wish, calls(self._base.callers[self._group], self._base)[0]
        replies = needed(wish.targets)
        sets, seconds = paced(wish.scenario, self._group, self._means.recordings[name], count, round(replies * MARGIN))
        scale = wish.scenario.pace.time_scale
        told = Paced(callers=count, needed=replies, seconds=seconds, time_scale=scale)
        self._say(told)
        slots = count + self._others if self._grows else None
        sets = sets_at(self._base, self._group, count, slots) | sets
        found = await self._measure(f"{count} {self._group}, paced", count, slots, sets, load="paced")
        return msgspec.structs.replace(told, measured=found)

    async def _measure(self, label: str, count: int, slots: int | None, sets: Sets, load: Any = "together") -> Measured:
        """One load point; `self._stopped` says afterwards if the search cannot go on with it."""
        recorder, progress = self._recorder, self._means.progress
        scenario = put(self._base, sets)
        found = Measured(point=label, count=count, slots=slots, load=load, verdict="unclear")
        larger = slots is not None and slots > self._worked
        try:
            stay = await self._on(scenario)
            self._worked = max(self._worked, slots or 0)
            (point,) = await stay.prepare([(label, scenario)], {label: sets})
        except (BadInput, RunStopped) as error:
            if not self._points:
                raise
            why = f"the server does not start with {slots} slots: {error}" if larger else str(error)
            return self._failed(found, why, None if larger else "broken")
        if slots is None:
            found = msgspec.structs.replace(found, slots=stay.served.info.slots)
        progress.repeats = scenario.repeat
        expect(progress, [point])
        for number in range(1, scenario.repeat + 1):
            try:
                await point.repeat(number)
                figures = self._figures(label, load)
            except RunStopped as stopped:
                why, _ = await stay.why(stopped)
                if not self._points:
                    raise RunStopped(why) from None
                return self._failed(found, why, "broken")
            if number < min(LEAST, scenario.repeat):
                continue
            broken = self._watch.broken(label)
            # A moment in which the machine was busy elsewhere goes by: more repeats tell it from a client that is slow.
            self._stopped = broken or self._watch.changed(label)
            if broken or (overall(figures) != "unclear" and (self._stopped is None or number >= PATIENT)):
                break
        recorder.end_point(label)
        rows = [row for row in recorder.measured[label] if row.row == "load" and row.group == self._group]
        found = msgspec.structs.replace(
            found,
            repeats=number,
            replies=len(rows),
            alone=self._watch.alone(label),
            figures=figures,
            verdict=overall(figures),
        )
        if self._stopped is not None:
            limit, why = self._stopped
            verdict: Verdict = "misses" if limit == "errors" else "unclear"
            found = msgspec.structs.replace(found, verdict=verdict, why=why)
        return self._tell(found)

    def _failed(self, found: Measured, why: str, limit: Limit | None) -> Measured:
        """A point that could not be measured; without a `limit` that is its answer, else the search ends with it."""
        self._recorder.event("failed", point=found.point, why=why)
        if limit is not None:
            self._stopped = (limit, f"{found.point} could not be measured: {why}")
        return self._tell(msgspec.structs.replace(found, verdict="unclear" if limit else "misses", why=why))

    def _tell(self, found: Measured) -> Measured:
        self._points.append(found)
        self._say(found)
        return found

    async def _on(self, scenario: Scenario) -> Stay:
        """The server that the scenario wants: the one that runs, or another one in its place."""
        wanted = settings(scenario)
        if self._stay is None or wanted != self._settings:
            self._stay, self._settings = None, wanted
            await self._stack.aclose()
            self._stay = await self._stack.enter_async_context(staying(scenario, self._means))
        return self._stay

    # -- what is made of them

    def _figures(self, label: str, load: str) -> list[Figure]:
        """The targets' figures at a point so far. Raises RunStopped where one cannot be told."""
        rows = self._recorder.measured[label]
        voice = self._watch.voice(self._base)
        found: list[Figure] = []
        for target in self._wish.targets:
            loads = [row for row in rows if row.row == "load" and row.group == self._group]
            alone = [row for row in rows if row.row == "baseline"]
            if load == "paced":
                figure = judge_replies(target, loads, alone, voice)
            else:
                samples: list[Sample | None] = [
                    sample(
                        target,
                        [row for row in loads if row.repeat == repeat],
                        [row for row in alone if row.repeat == repeat],
                        voice,
                    )
                    for repeat in sorted({row.repeat for row in loads})
                ]
                told = [each for each in samples if each is not None]
                figure = judge(target, told, self._wish.repeats) if len(told) == len(samples) else None
            if figure is None:
                raise RunStopped(f"{target.title} cannot be told: no reply has what it takes")
            found.append(figure)
        return found

    def _found(self, callers: int, most: int, end: Limit, confirmed: Measured | None, held: Paced | None) -> Found:
        high = edges(self._known).high
        failed = next((point for point in reversed(self._points) if high is not None and point.count == high + 1), None)
        stopped = None if self._stopped is None else self._stopped[1]
        if self._stopped is not None:
            limit: Limit = self._stopped[0]
        elif high is None:
            limit = end
            high = most if self._known.get(most) == "unclear" else None
        else:
            limit = "target" if failed is not None and failed.figures else "server"
        return Found(
            callers=callers,
            high=high,
            group=self._group,
            others=self._others,
            targets=[target.text for target in self._wish.targets],
            default=self._wish.default,
            limit=limit,
            reason=None if failed is None or failed.why == (stopped or "") else why_fails(failed, self._wish.targets),
            stopped=stopped,
            slots=None if confirmed is None else confirmed.slots,
            confirmed=None if confirmed is None else confirmed.point,
            paced=held,
            confidence=confidence(self._wish.repeats),
            embedded=embedded(self._base),
            points=self._points,
        )
