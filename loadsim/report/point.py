"""Everything that is known of one load point, worked out once for its tables and sentences."""

from statistics import median
from typing import Any

import msgspec

from ..results.read import Run
from ..stats.calls import Calls, calls
from ..stats.client import Client, client
from ..stats.cuts import Cuts, cuts
from ..stats.heard import Heard, heard
from ..stats.join import Join, joins, steps
from ..stats.outages import Outage, outages
from ..stats.requests import Requests, requests
from ..stats.summary import PointSummary, Who, summarize
from ..stats.windows import Course, course
from ..types import RequestRow
from .logs import log_lines
from .setting import VOICE, Setting, setting


class Point(msgspec.Struct, frozen=True, kw_only=True):
    """One load point; the groups' figures are by their names. `alone`: one caller's slot, and whose it is else.
    `course`: how it went over time. `voice`: tokens/s that the voice speaks; `fitted`: prompt tokens of the recordings
    before they were fitted; `server`: the event of its server's start, with the round trip to it; empty in runs of old.
    `logs`: what the logs of cards and of this machine say; `epoch_s`: wall time at 0 on the run's clock, where known;
    `loading`: which repeat is under load as this is read.
    """

    summary: PointSummary
    setting: Setting
    slots: list[int]
    alone: tuple[int | None, str | None]
    client: Client
    calls: Calls | None
    heard: dict[str, Heard]
    cuts: dict[str, Cuts]
    requests: dict[str, Requests]
    course: Course
    joins: list[Join]
    voice: float
    fitted: dict[str, int | None]
    server: dict[str, Any] = {}
    logs: tuple[str, ...] = ()
    outages: list[Outage] = []
    epoch_s: float | None = None
    loading: int | None = None

    @property
    def name(self) -> str:
        return self.summary.point

    @property
    def everyone(self) -> list[Who]:
        """One caller alone, if measured, and the load's groups."""
        return [*([self.summary.baseline] if self.summary.baseline else []), *self.summary.load]

    def predicted(self, join: Join) -> int | None:
        """How many steps a cold prompt should take. None: the server's settings are not known."""
        batches = self.setting.batches
        if batches is None or join.prompt is None:
            return None
        return steps(join.prompt, *batches, join.generating)


def points(run: Run) -> list[Point]:
    """The load points of a run that have a measured row, as the scenario lists them, however they were measured."""
    load: dict[str, list[RequestRow]] = {}
    for row in run.rows:
        if row.row == "load":
            load.setdefault(row.point, []).append(row)
    listed = list(run.facts.get("points", {}))
    found = summarize(run.rows, run.events)
    found.sort(key=lambda each: listed.index(each.point) if each.point in listed else len(listed))
    return [_point(summary, load.get(summary.point, []), run) for summary in found]


def _point(summary: PointSummary, load: list[RequestRow], run: Run) -> Point:
    name = summary.point
    found = setting(run, name)
    order = found.ordered(who.name for who in summary.load)
    summary = msgspec.structs.replace(summary, load=sorted(summary.load, key=lambda who: order.index(who.name)))
    mine = [row for row in run.rows if row.point == name]
    rows = {who.name: [row for row in load if row.group == who.name] for who in summary.load}
    return Point(
        summary=summary,
        setting=found,
        slots=run.facts.get("points", {}).get(name, {}).get("slots", []),
        alone=_alone(run.facts.get("points", {}).get(name, {})),
        client=client(run.events, name),
        calls=calls(run.events, name),
        heard={group: heard(of, found.around) for group, of in rows.items()},
        cuts={group: cuts(of, run.events, name, group) for group, of in rows.items()},
        requests={group: requests(of) for group, of in rows.items()},
        course=course(mine, run.events, name),
        joins=joins(load, found.cold) if found.joined else [],
        voice=_voice(load, found),
        fitted={name: call.get("tokens") for name, call in (run.facts.get("recordings") or {}).items()},
        logs=tuple(log_lines(run, found, name)),
        server=next((event for event in reversed(run.events) if name in event.get("points", ())), {}),
        outages=outages(run.events, mine, name),
        epoch_s=(run.facts.get("started") or {}).get("epoch_s"),
        loading=_loading(run, name),
    )


def _loading(run: Run, name: str) -> int | None:
    """Which repeat of a point is under load at this moment, of a run that still goes on."""
    phases = [event for event in run.events if event["event"] == "phase"] if run.live else []
    under = bool(phases) and (phases[-1]["point"], phases[-1]["phase"]) == (name, "all callers")
    return phases[-1]["repeat"] if under else None


def _alone(facts: dict[str, Any]) -> tuple[int | None, str | None]:
    shared = facts.get("shared")
    return facts.get("alone"), f"{shared[0]} {shared[1]}" if shared else None


def _voice(load: list[RequestRow], found: Setting) -> float:
    """As it was heard, or as the scenario writes it: a rate in words/min depends on the words."""
    rates = [row.playout.rate for row in load if row.playout is not None]
    if rates:
        return median(rates)
    number, _, unit = str(found.get("voice.rate")).partition(" ")
    return float(number) if unit == "tokens/s" else VOICE
