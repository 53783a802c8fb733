"""A run: one scenario against its servers, from the first question to the last row."""

import contextlib
from collections.abc import Sequence
from itertools import takewhile

from ..results.write import Recorder
from ..scenario.load import dump
from ..scenario.model import Scenario
from ..scenario.sweep import Points, in_order, points, values
from ..types import BadInput, RunAborted, RunStopped, Unwritable
from .ending import Ending
from .preflight import Recordings
from .progress import Progress
from .serving import settings, started_by_us
from .stay import expect, measuring, staying

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
    recorder.begin(dump(scenario), values(scenario))
    failed: dict[str, str] = {}
    alone, begun, ours = len(everyone) == 1, False, started_by_us(scenario)
    progress.repeats = scenario.repeat

    def fail(labels: Sequence[str], error: BadInput | RunStopped, why: str) -> None:
        """Note that points failed; where there is nothing to go on with, the run ends here."""
        if alone or (not begun and (isinstance(error, BadInput) or not ours)):
            raise type(error)(why) from None
        for label in labels:
            failed[label] = why
            recorder.event("failed", point=label, why=why)

    async with measuring(scenario, recordings, recorder, progress, origin, key, ending) as means:
        while left:
            here = _here(left)
            async with contextlib.AsyncExitStack() as stack:
                try:
                    stay = await stack.enter_async_context(staying(here[0][1], means))
                    measured = await stay.prepare(here)
                except Unwritable:
                    raise
                except (BadInput, RunStopped) as error:
                    left = left[len(here) :]
                    fail([label for label, _ in here], error, str(error))
                    continue
                while measured:
                    begun = True
                    expect(progress, measured, len(left) - len(measured))
                    point, _ = measured.pop(0), left.pop(0)
                    try:
                        for number in range(1, scenario.repeat + 1):
                            await stay.repeat(point, number)
                    except (RunAborted, Unwritable):
                        raise  # no other point is wanted, or would leave anything
                    except RunStopped as stopped:
                        why, gone = await stay.why(stopped)
                        fail([point.name], stopped, why)
                        if gone:
                            break  # the rest of the stay gets a new server
                    else:
                        recorder.end_point(point.name)
    if failed:
        raise RunStopped(_told_failed(failed, len(everyone)))


def _here(left: Points) -> Points:
    """The points from the first one on that one server can serve as it is started."""
    wanted = settings(left[0][1])
    return list(takewhile(lambda each: settings(each[1]) == wanted, left))


def _told_failed(failed: dict[str, str], count: int) -> str:
    said = [f"{label} ({why})" for label, why in list(failed.items())[:SAID]]
    more = [f"and {len(failed) - SAID} more"] if len(failed) > SAID else []
    return f"{len(failed)} of {count} load points failed: {'; '.join([*said, *more])}"
