"""A stay: the load points that one server serves as it is started, each checked before its first load.

Who decides which points these are drives it: a sweep knows all of them before, a search only the next one.
"""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from ..recording.fit import fit
from ..recording.messages import prompt_messages
from ..recording.model import Recording
from ..results.write import Recorder
from ..scenario.model import Scenario
from ..scenario.sweep import Points
from ..server.api import Reply
from ..telemetry.lag import Lag
from ..telemetry.logs import Logs, logs
from ..types import BadInput, FolderGone, RequestRow, RunStopped, Unwritable
from .bench import Bench
from .counted import Counted
from .ending import Ending
from .point import Point
from .preflight import Plan, Recordings, Script, check_server, named, preflight, prompt_tokens
from .probe import ProbePlan, Probing, prepare
from .progress import Progress
from .serving import Served, serving

LOOK_S = 1.0  # between two looks whether the run's folder is still there

Serve = Callable[[Scenario, Path, Progress, str | None], contextlib.AbstractAsyncContextManager[Served]]


class Means(msgspec.Struct, frozen=True, kw_only=True):
    """What load points are measured with, whichever server they are on. `recordings`: by the names that scenarios give
    them; `origin`: loop time at 0 on the run's clock; `key`: the server's API key; `lag` and `logs` go on from point to
    point and from server to server; `ending`: the wish to end; `serve`: starts a server."""

    recordings: Recordings
    recorder: Recorder
    progress: Progress
    origin: float
    key: str | None
    lag: Lag
    logs: Logs
    ending: Ending
    serve: Serve = serving


class Stay:
    """One server, for as long as it is wanted as it is."""

    def __init__(self, served: Served, means: Means) -> None:
        self.served = served
        self._means = means
        self._counted = Counted(served.server)
        self._fitted: dict[tuple[str, int | None], Recording] = {}
        self._tokens: dict[str, int] = {}
        self._told = False

    async def prepare(self, points: Points, sets: Mapping[str, dict[str, Any]] | None = None) -> list[Point | Probing]:
        """Fit the recordings to this server, check every point, and note what it is. `sets`: what points set of the
        run's scenario, by label, where that is not noted yet. Raises BadInput before the first load."""
        recorder, progress = self._means.recorder, self._means.progress
        server, info = self.served.server, self.served.info
        for _, scenario in points:
            check_server(info, scenario)
        progress.phase = "checking the call"
        plans: list[Plan | ProbePlan] = []
        for label, scenario in points:
            used = {name: await self._call(name, scenario.fit) for name in named(scenario)}
            plans.append(await (prepare if scenario.probe else preflight)(server, info, label, scenario, used))
        told = {
            name: {"title": call.title, "turns": len(call.turns), "tokens": self._tokens.get(name)}
            for (name, _), call in self._fitted.items()
        }
        recorder.describe(recordings=told, server=self.served.facts)
        for plan in plans:
            groups = {name: [_told(script) for script in scripts] for name, scripts in plan.scripts.items()}
            own = _one_caller(plan) | ({} if sets is None else {"sets": sets[plan.point]})
            recorder.describe_point(plan.point, slots=plan.slots, groups=groups, **own)
        labels = [label for label, _ in points]
        recorder.event("stay" if self._told else "server", points=labels, **self.served.event(self._means.origin))
        self._told = True
        bench = self._bench()
        return [Probing(bench, plan) if isinstance(plan, ProbePlan) else Point(bench, plan) for plan in plans]

    async def repeat(self, point: Point | Probing, number: int) -> None:
        """Measure a point once more, and note how many requests that took. Raises as the point does."""
        before = self._counted.asked
        try:
            await point.repeat(number)
        finally:
            with contextlib.suppress(RunStopped):  # the next write, or the last one, says so
                asked = self._counted.asked - before
                self._means.recorder.event("requests", point=point.name, repeat=number, asked=asked)

    async def why(self, stopped: RunStopped) -> tuple[str, bool]:
        """Why a point could not be measured, and whether that is because the server is gone."""
        gone = await self.served.obituary()
        return (f"{gone} ({stopped}); see {self.served.log}", True) if gone else (str(stopped), False)

    async def _call(self, name: str, target: int | None) -> Recording:
        """A recording, fitted to so many of this server's tokens."""
        if (name, target) not in self._fitted:
            call = self._means.recordings[name]
            if target is not None:
                self._tokens[name] = await self._count(call)
                call = await fit(call, self._count, target)
            self._fitted[name, target] = call
        return self._fitted[name, target]

    async def _count(self, call: Recording) -> int:
        messages = prompt_messages(call, len(call.turns))
        tokens = await prompt_tokens(self.served.server, messages, call.tools)
        if tokens is None:
            url = self.served.info.url
            raise BadInput(f"fit: {url} does not count tokens (/apply-template, /tokenize): leave fit out")
        return len(tokens)

    def _bench(self) -> Bench:
        """What the points are measured with."""
        means = self._means

        def emit(row: RequestRow, reply: Reply) -> None:
            means.recorder.row(row, "".join(reply.text))
            means.progress.ended(row, reply)

        return Bench(
            run=means.recorder.salt,
            server=self._counted,
            origin=means.origin,
            progress=means.progress,
            emit=emit,
            note=means.recorder.event,
            lag=means.lag,
            window=means.recorder.end_window,
            cards=means.logs.latest.values,
            ending=means.ending,
            served=self.served,
        )


@contextlib.asynccontextmanager
async def measuring(
    scenario: Scenario,
    recordings: Recordings,
    recorder: Recorder,
    progress: Progress,
    origin: float,
    key: str | None,
    ending: Ending | None = None,
    serve: Serve = serving,
) -> AsyncIterator[Means]:
    """What the run's load points are measured with, its logs beside them, while the block runs. Raises FolderGone in
    the block's place where what it records is deleted meanwhile."""
    lag = Lag()
    lag.start()
    try:
        async with _kept(recorder), logs(scenario.telemetry, scenario.server, recorder) as kept:
            progress.cards, progress.clock = kept.latest.values, recorder.clock
            yield Means(
                recordings=recordings,
                recorder=recorder,
                progress=progress,
                origin=origin,
                key=key,
                lag=lag,
                logs=kept,
                ending=ending or Ending(),
                serve=serve,
            )
    finally:
        lag.stop()


@contextlib.asynccontextmanager
async def _kept(recorder: Recorder) -> AsyncIterator[None]:
    """End the block, with FolderGone, soon after the run's folder has been deleted or replaced: hours may pass until a
    row is to be written."""
    gone: list[FolderGone] = []

    async def look(limit: asyncio.Timeout) -> None:
        while not gone:
            await asyncio.sleep(LOOK_S)
            try:
                recorder.check()
            except FolderGone as error:
                gone.append(error)
        limit.reschedule(asyncio.get_running_loop().time())

    try:
        async with asyncio.timeout(None) as limit:
            looking = asyncio.create_task(look(limit))
            try:
                yield
            finally:
                looking.cancel()
    except (TimeoutError, Unwritable):  # in the block somebody may have found out what they lack
        if gone:
            raise gone[0] from None
        raise


@contextlib.asynccontextmanager
async def staying(scenario: Scenario, means: Means) -> AsyncIterator[Stay]:
    """The scenario's server, for points that want it so, and in the logs while they are measured. Raises BadInput and
    RunStopped where there is none."""
    async with means.serve(scenario, means.recorder.path, means.progress, means.key) as served:
        guarded = served.command is not None
        means.logs.serves(served.server, served.group, guarded)
        served.again = lambda: means.logs.moved(served.group, guarded)  # it is another process now
        try:
            yield Stay(served, means)
        finally:
            await means.logs.left()


def expect(progress: Progress, planned: Sequence[Point | Probing], unplanned: int = 0) -> None:
    """Tell how much is to be done from the first of the `planned` points on; the others are taken for as long."""
    share = progress.repeats * (1 + unplanned / len(planned))
    progress.total = progress.done + round(sum(point.rows() for point in planned) * share)
    loads = [point.load_seconds() for point in planned]
    known = [seconds for seconds in loads if seconds is not None]
    progress.loads_left_s = sum(known) * share if len(known) == len(loads) else None


def _one_caller(plan: Plan | ProbePlan) -> dict[str, Any]:
    """Which slot one caller has who is measured within a load, and whose it is else."""
    if isinstance(plan, ProbePlan) or plan.scenario.baseline.every is None:
        return {}
    return {"alone": plan.slot_alone, "shared": plan.shared}


def _told(script: Script) -> dict[str, Any]:
    return {
        "recording": script.recording.title,
        "turns": [script.turns[0], script.turns[-1]],
        "warm_tokens": script.warm,
        "first_tokens": script.first,
        "longest_tokens": script.longest,
        "expects": sorted(script.expects),
    }
