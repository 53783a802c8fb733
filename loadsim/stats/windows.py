"""How a load went over time: window by window, phase by phase, and one caller alone in its pauses.

Seconds on the run's clock in, seconds and tokens/s out; what is not known is None.
"""

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

import msgspec
import numpy as np

from ..types import RequestRow
from .drift import Alone, alone
from .headline import failed, in_headline
from .outages import Outage, outages
from .spread import Spread, known, middle, since, spread
from .tokens import decode_rate, gaps

Event = dict[str, Any]


class Figures(msgspec.Struct, frozen=True, kw_only=True):
    """What some requests met. `requests`: without those that were taken back; `callers` had one that ended. `gap.max`
    is the longest stall, `decode` the median reply's rate, `errors` are by name."""

    requests: int
    callers: int
    ttft: Spread
    gap: Spread
    decode: float | None
    errors: dict[str, int]


class Window(msgspec.Struct, frozen=True, kw_only=True):
    """The requests that ended from `start_s` to `end_s`; `at`: seconds since the load began. `paused`: for so many of
    these seconds nobody began a turn; `dark`: for so many nobody was given a token, in an outage. `callers`: who had a
    request under way in it or, after one that failed, waited to ask again."""

    repeat: int
    at: float
    start_s: float
    end_s: float
    paused: float
    figures: Figures
    dark: float = 0.0
    callers: int = 0


class PhaseFigures(msgspec.Struct, frozen=True, kw_only=True):
    """The requests that were due in one phase of the scenario; `callers`: at its beginning and its end."""

    repeat: int
    name: str
    callers: tuple[int, int]
    start_s: float
    end_s: float
    figures: Figures


class Recovery(msgspec.Struct, frozen=True, kw_only=True):
    """How a phase with more callers than its neighbours was got over: `seconds` from its end to the first window whose
    first tokens (p95) were no later than in the windows before it, `low` to `high`. None: none was."""

    repeat: int
    spike: str
    low: float
    high: float
    seconds: float | None


class Pause(msgspec.Struct, frozen=True, kw_only=True):
    """One time in which nobody began a turn, `seconds` in all; `waited` of them for the turns under way, None: in vain.
    `why`: what was wrong with it, if something was."""

    repeat: int
    number: int
    start_s: float
    seconds: float
    waited: float | None
    why: str | None


class Course(msgspec.Struct, frozen=True, kw_only=True):
    """A load point over time; empty lists where it had no duration. `window`: seconds of one."""

    window: float | None
    windows: list[Window]
    phases: list[PhaseFigures]
    recoveries: list[Recovery]
    pauses: list[Pause]
    alone: list[Alone]


def course(rows: Iterable[RequestRow], events: Iterable[Event], point: str) -> Course:
    """`rows`: those of the point."""
    found = list(rows)
    told = [event for event in events if event.get("point") == point]
    loads = [event for event in told if event["event"] == "load"]
    pauses = [_pause(event) for event in told if event["event"] == "pause"]
    load = [row for row in found if row.row == "load"]
    dark = [(each.repeat, each.since_s, _end(each)) for each in outages(told, load, point)]
    waits = _waits(load, _again(told), dark)
    windows = [window for event in loads for window in _windows(load, event, pauses, dark, waits)]
    phases = [phase for event in loads for phase in _phases(load, event["repeat"], told, windows)]
    return Course(
        window=loads[0]["window_s"] if loads else None,
        windows=windows,
        phases=phases,
        recoveries=list(_recoveries(phases, windows)),
        pauses=pauses,
        alone=alone(found, failed=True) if loads else [],
    )


def figures(rows: Sequence[RequestRow]) -> Figures:
    """Times are of the rows that count; errors of all."""
    asked = [row for row in rows if row.outcome != "superseded"]
    good = [row for row in asked if in_headline(row)]
    pooled = [gaps(row.token_s) for row in good]
    return Figures(
        requests=len(asked),
        callers=len({(row.group, row.caller) for row in rows}),
        ttft=spread(known(since(row.sent_s, row.first_token_s) for row in good)),
        gap=spread(np.concatenate(pooled) if pooled else np.empty(0)),
        decode=middle(decode_rate(row.token_s) for row in good),
        errors=dict(Counter(row.error or row.outcome for row in asked if failed(row))),
    )


def fold(windows: Sequence[Window], most: int) -> list[Window]:
    """So many at the most: the first, the last, the worst, and others evenly between. The worst has the largest share
    of errors, and of those with as many the latest first tokens (p95)."""
    if len(windows) <= most:
        return list(windows)
    stay = {round(i * (len(windows) - 1) / (most - 1)) for i in range(most)}
    bad = max(range(len(windows)), key=lambda i: _badness(windows[i].figures))
    if bad not in stay:
        inner = sorted(stay)[1:-1]
        stay = stay - {min(inner, key=lambda i: abs(i - bad))} | {bad}
    return [windows[i] for i in sorted(stay)]


def _badness(of: Figures) -> tuple[float, float]:
    return (sum(of.errors.values()) / max(of.requests, 1), of.ttft.p95 or 0.0)


Stretch = tuple[float, float]
Asker = tuple[int, str, int]
"""A caller of a repeat's load."""


def _end(outage: Outage) -> float:
    return math.inf if outage.seconds is None else outage.since_s + outage.seconds


def _again(told: Iterable[Event]) -> set[str]:
    """The groups whose callers call again."""
    return {event["group"] for event in told if event["event"] == "call" and event.get("again")}


def _waits(
    load: Iterable[RequestRow], again: set[str], dark: Sequence[tuple[int, float, float]]
) -> dict[Asker, list[Stretch]]:
    """When each caller waited for a server: while a request was under way and, after one that failed, until the next
    one of theirs. After their last one, to the end of the outage that it failed in, where they would have gone on."""
    asked: dict[Asker, list[RequestRow]] = {}
    for row in load:
        if row.end_s is not None:
            asked.setdefault((row.repeat, row.group, row.caller), []).append(row)
    found: dict[Asker, list[Stretch]] = {}
    for who, rows in asked.items():
        rows.sort(key=lambda row: row.end_s or 0.0)
        for row, after in zip(rows, [*rows[1:], None], strict=True):
            end = row.end_s or 0.0
            until = end
            if failed(row) and after is not None:
                until = max(end, _begin(after))
            elif failed(row) and who[1] in again:
                until = next((off for repeat, on, off in dark if repeat == who[0] and on <= end <= off), end)
            found.setdefault(who, []).append((_begin(row), until))
    return found


def _begin(row: RequestRow) -> float:
    times = known((row.sent_s, row.due_s, row.end_s))
    return min(times, default=0.0)


def _windows(
    load: list[RequestRow],
    event: Event,
    pauses: list[Pause],
    dark: Sequence[tuple[int, float, float]],
    waits: dict[Asker, list[Stretch]],
) -> list[Window]:
    """The windows of one repeat's load; the last one ends with its last request."""
    start, length, repeat = event["start_s"], event["window_s"], event["repeat"]
    by_window: dict[int, list[RequestRow]] = {}
    last = start
    for row in load:
        if row.repeat == repeat and row.end_s is not None:
            by_window.setdefault(max(int((row.end_s - start) // length), 0), []).append(row)
            last = max(last, row.end_s)
    mine = [(pause.start_s, pause.start_s + pause.seconds) for pause in pauses if pause.repeat == repeat]
    out = [(on, off) for number, on, off in dark if number == repeat]
    callers: Counter[int] = Counter()
    for who, stretches in waits.items():
        if who[0] == repeat:
            # An outage may have no end: who waits in it does so to the last window.
            spans = ((on, min(off, last)) for on, off in stretches if on < last)
            callers.update({n for on, off in spans for n in _numbers(on - start, off - start, length)})
    found = []
    for number in range(max(by_window, default=-1) + 1):
        begins, ends = start + number * length, min(start + (number + 1) * length, last)
        window = Window(
            repeat=repeat,
            at=number * length,
            start_s=begins,
            end_s=ends,
            paused=_within(mine, begins, ends),
            dark=_within(out, begins, ends),
            callers=callers[number],
            figures=figures(by_window.get(number, [])),
        )
        found.append(window)
    return found


def _numbers(on: float, off: float, length: float) -> range:
    """The windows that a stretch reaches into, from seconds since the load began."""
    return range(max(int(on // length), 0), int(off // length) + 1)


def _within(stretches: Iterable[Stretch], begins: float, ends: float) -> float:
    return sum(max(min(ends, off) - max(begins, on), 0.0) for on, off in stretches)


def _phases(load: list[RequestRow], repeat: int, told: list[Event], windows: list[Window]) -> list[PhaseFigures]:
    begun = [event for event in told if event["event"] == "load phase" and event["repeat"] == repeat]
    end = max((window.end_s for window in windows if window.repeat == repeat), default=0.0)
    ends = [*(event["at_s"] for event in begun[1:]), end]
    return [
        PhaseFigures(
            repeat=repeat,
            name=event["name"],
            callers=(event["callers"][0], event["callers"][1]),
            start_s=event["at_s"],
            end_s=max(until, event["at_s"]),
            figures=figures([row for row in load if row.repeat == repeat and row.phase == event["name"]]),
        )
        for event, until in zip(begun, ends, strict=False)
    ]


def _recoveries(phases: list[PhaseFigures], windows: list[Window]) -> Iterable[Recovery]:
    """Of each phase that has more callers than the one before it ended with and the one after it begins with."""
    for before, spike, after in zip(phases, phases[1:], phases[2:], strict=False):
        peak = max(spike.callers)
        if before.repeat != after.repeat or peak <= before.callers[1] or peak <= after.callers[0]:
            continue
        mine = [w for w in windows if w.repeat == spike.repeat and w.figures.ttft.p95 is not None]
        usual = [w.figures.ttft.p95 or 0.0 for w in mine if before.start_s <= w.start_s and w.end_s <= spike.start_s]
        if not usual:
            continue
        later = [w for w in mine if w.start_s >= spike.end_s]
        well = next((w for w in later if (w.figures.ttft.p95 or 0.0) <= max(usual)), None)
        seconds = None if well is None else well.start_s - spike.end_s
        yield Recovery(repeat=spike.repeat, spike=spike.name, low=min(usual), high=max(usual), seconds=seconds)


def _pause(event: Event) -> Pause:
    quiet = event["quiet_s"]
    return Pause(
        repeat=event["repeat"],
        number=event["number"],
        start_s=event["shut_s"],
        seconds=event["open_s"] - event["shut_s"],
        waited=None if quiet is None else quiet - event["shut_s"],
        why=event["why"],
    )
