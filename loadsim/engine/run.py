"""A run: one scenario against its servers, from the first question to the last row."""

import contextlib
import functools
from collections.abc import Sequence
from itertools import takewhile
from typing import Any

from ..recording.fit import fit
from ..recording.messages import prompt_messages
from ..recording.model import Recording
from ..results.write import Recorder
from ..scenario.load import dump
from ..scenario.model import Scenario
from ..scenario.sweep import Points, in_order, points
from ..server.api import Reply
from ..telemetry.lag import Lag
from ..telemetry.logs import Logs, logs
from ..types import BadInput, RequestRow, RunAborted, RunStopped, Unwritable
from .bench import Bench
from .ending import Ending
from .point import Point
from .preflight import Plan, Recordings, Script, check_server, named, preflight, prompt_tokens
from .probe import ProbePlan, Probing, prepare
from .progress import Progress
from .serving import Served, serving, settings, started_by_us

SAID = 3  # failed points that are told with their reasons


async def run(
    scenario: Scenario,
    recordings: Recordings,
    recorder: Recorder,
    progress: Progress,
    origin: float,
    key: str | None,
    ending: Ending | None = None,
) -> None:
    """Measure every load point of `scenario` that `recorder` has not, and record it. `recordings`: by the names that it
    gives them; `origin`: loop time at 0 on the run's clock; `key`: the server's API key; `ending`: the wish to end.

    A point that fails does not end a sweep: it is noted, and told at the end. Raises BadInput before the load where
    scenario, recording and server do not go together; RunStopped where the run could not go on, or a point of it;
    RunInterrupted where it was asked to end. All leave what was recorded.
    """
    everyone = points(scenario)
    left = [(label, point) for label, point in in_order(everyone, scenario) if label not in recorder.finished]
    recorder.begin(dump(scenario), [label for label, _ in everyone])
    failed: dict[str, str] = {}
    alone, begun, ours = len(everyone) == 1, False, started_by_us(scenario)
    progress.repeats = scenario.repeat
    lag = Lag()
    lag.start()

    def fail(labels: Sequence[str], error: BadInput | RunStopped, why: str) -> None:
        """Note that points failed; where there is nothing to go on with, the run ends here."""
        if alone or (not begun and (isinstance(error, BadInput) or not ours)):
            raise type(error)(why) from None
        for label in labels:
            failed[label] = why
            recorder.event("failed", point=label, why=why)

    try:
        async with logs(scenario.telemetry, scenario.server, recorder) as kept:
            while left:
                stay = _stay(left)
                async with contextlib.AsyncExitStack() as stack:
                    try:
                        served = await stack.enter_async_context(serving(stay[0][1], recorder.path, progress, key))
                        plans = await _prepare(served, stay, recordings, recorder, progress)
                    except Unwritable:
                        raise
                    except (BadInput, RunStopped) as error:
                        left = left[len(stay) :]
                        fail([label for label, _ in stay], error, str(error))
                        continue
                    recorder.event("server", points=[label for label, _ in stay], **served.event(origin))
                    kept.serves(served.server, served.group, guarded=served.command is not None)
                    served.again = functools.partial(_again, served, kept)
                    stack.push_async_callback(kept.left)
                    bench = _bench(served, recorder, progress, origin, lag, kept, ending or Ending())
                    measured = [
                        Probing(bench, plan) if isinstance(plan, ProbePlan) else Point(bench, plan) for plan in plans
                    ]
                    while measured:
                        begun = True
                        _expect(progress, measured, len(left) - len(measured))
                        point, _ = measured.pop(0), left.pop(0)
                        try:
                            for number in range(1, scenario.repeat + 1):
                                await point.repeat(number)
                        except (RunAborted, Unwritable):
                            raise  # no other point is wanted, or would leave anything
                        except RunStopped as stopped:
                            gone = await served.obituary()
                            why = f"{gone} ({stopped}); see {served.log}" if gone else str(stopped)
                            fail([point.name], stopped, why)
                            if gone:
                                break  # the rest of the stay gets a new server
                        else:
                            recorder.end_point(point.name)
    finally:
        lag.stop()
    if failed:
        raise RunStopped(_told_failed(failed, len(everyone)))


def _again(served: Served, kept: Logs) -> None:
    """The server was started again: it is another process."""
    kept.moved(served.group, guarded=served.command is not None)


def _stay(left: Points) -> Points:
    """The points from the first one on that one server can serve as it is started."""
    wanted = settings(left[0][1])
    return list(takewhile(lambda each: settings(each[1]) == wanted, left))


def _told_failed(failed: dict[str, str], count: int) -> str:
    said = [f"{label} ({why})" for label, why in list(failed.items())[:SAID]]
    more = [f"and {len(failed) - SAID} more"] if len(failed) > SAID else []
    return f"{len(failed)} of {count} load points failed: {'; '.join([*said, *more])}"


async def _prepare(
    served: Served, stay: Points, recordings: Recordings, recorder: Recorder, progress: Progress
) -> list[Plan | ProbePlan]:
    """Fit the recordings to this server and check every point that it is to serve, before its first load."""
    server, info = served.server, served.info
    for _, point in stay:
        check_server(info, point)
    progress.phase = "checking the call"

    async def count(call: Recording) -> int:
        tokens = await prompt_tokens(server, prompt_messages(call, len(call.turns)), call.tools)
        if tokens is None:
            raise BadInput(f"fit: {info.url} does not count tokens (/apply-template, /tokenize): leave fit out")
        return len(tokens)

    fitted: dict[tuple[str, int | None], Recording] = {}
    tokens: dict[str, int] = {}
    plans: list[Plan | ProbePlan] = []
    for label, point in stay:
        used = {}
        for name in named(point):
            if (name, point.fit) not in fitted:
                call = recordings[name]
                if point.fit is not None:
                    tokens[name] = await count(call)
                fitted[name, point.fit] = call if point.fit is None else await fit(call, count, point.fit)
            used[name] = fitted[name, point.fit]
        plans.append(await (prepare if point.probe else preflight)(server, info, label, point, used))
    told = {
        name: {"title": call.title, "turns": len(call.turns), "tokens": tokens.get(name)}
        for (name, _), call in fitted.items()
    }
    recorder.describe(recordings=told, server=served.facts)
    for plan in plans:
        groups = {name: [_told(script) for script in scripts] for name, scripts in plan.scripts.items()}
        recorder.describe_point(plan.point, slots=plan.slots, groups=groups, **_one_caller(plan))
    return plans


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


def _bench(
    served: Served, recorder: Recorder, progress: Progress, origin: float, lag: Lag, kept: Logs, ending: Ending
) -> Bench:
    """What the points of one server are measured with."""

    def emit(row: RequestRow, reply: Reply) -> None:
        recorder.row(row, "".join(reply.text))
        progress.done += 1
        progress.tokens += len(reply.token_s)
        progress.errors += row.outcome in ("error", "timeout")

    return Bench(
        run=recorder.salt,
        server=served.server,
        origin=origin,
        progress=progress,
        emit=emit,
        note=recorder.event,
        lag=lag,
        window=recorder.end_window,
        cards=kept.latest.values,
        ending=ending,
        served=served,
    )


def _expect(progress: Progress, planned: Sequence[Point | Probing], unplanned: int) -> None:
    """Tell how much is to be done from the first of the `planned` points on; the others are taken for as long."""
    share = progress.repeats * (1 + unplanned / len(planned))
    progress.total = progress.done + round(sum(point.rows() for point in planned) * share)
    loads = [point.load_seconds() for point in planned]
    known = [seconds for seconds in loads if seconds is not None]
    progress.loads_left_s = sum(known) * share if len(known) == len(loads) else None
