"""When each utterance was spoken: the known times, and drawn ones where a file tells none."""

import math
from collections.abc import Sequence
from random import Random

import msgspec

from . import humans
from .draft import Said

LEAST_S = 0.05  # no utterance is shorter
LONGEST_S = 86_400.0  # a time beyond a day is another unit, or a date


class Timed(msgspec.Struct, frozen=True):
    """An utterance with both times; `drawn` if one of them is not the file's."""

    said: Said
    start: float
    end: float
    drawn: bool


def timed(said: Sequence[Said], chance: Random) -> list[Timed]:
    """The utterances of a call, in order, with times.

    Times that are missing, run backwards or lie outside a day are drawn from how people talk, and pressed together
    where the known times around them leave less room.
    """
    points = [point for one in _known(said) for point in one]
    steps = _steps(said, chance)
    filled = _filled(points, steps)
    found = []
    for number, one in enumerate(said):
        start, end = filled[2 * number : 2 * number + 2]
        drawn = None in points[2 * number : 2 * number + 2]
        found.append(Timed(one, round(start, 3), round(max(end, start + LEAST_S), 3), drawn))
    return found


def _known(said: Sequence[Said]) -> list[tuple[float | None, float | None]]:
    """Start and end as far as they can be right."""
    known: list[tuple[float | None, float | None]] = []
    latest = 0.0
    for number, one in enumerate(said):
        start, end = _possible(one.start), _possible(one.end)
        start = None if start is not None and start < latest else start
        if one.interrupted and end is None and number + 1 < len(said):
            end = _possible(said[number + 1].start)  # who is cut stops when the other starts
        end = None if end is not None and end <= (latest if start is None else start) else end
        known.append((start, end))
        latest = start or latest
    return known


def _possible(time: float | None) -> float | None:
    return time if time is not None and math.isfinite(time) and 0 <= time <= LONGEST_S else None


def _steps(said: Sequence[Said], chance: Random) -> list[float]:
    """Drawn seconds from each point to the next, points being the starts and ends in turn; a first one from zero."""
    steps = []
    before: Said | None = None
    for one in said:
        pace = humans.WORDS_PER_S if one.by == "caller" else humans.AGENT_WORDS_PER_S
        steps += [_silence(before, one, chance), len(one.text.split()) / pace.at(chance.random())]
        before = one
    return steps


def _silence(before: Said | None, one: Said, chance: Random) -> float:
    """Seconds between two utterances, drawn even where they are not needed so that each stands for itself."""
    u = chance.random()
    if before is None or (before.interrupted and one.by == "caller"):
        return 0.0
    if one.by == "agent":
        return max(0.0, humans.REPLY_GAP_S.at(u))
    # Nobody talks over the other by chance: that would be a cut, and a cut is known.
    return max(0.0, (humans.GAP_S if before.by == "agent" else humans.PAUSE_S).at(u))


def _filled(points: Sequence[float | None], steps: Sequence[float]) -> list[float]:
    """All points: unknown ones stand their steps behind the last known one, closer if the next known one is."""
    filled: list[float] = []
    at = 0
    while at < len(points):
        if (known := points[at]) is not None:
            filled.append(known)
            at += 1
            continue
        stop = next((n for n in range(at, len(points)) if points[n] is not None), len(points))
        after = points[stop] if stop < len(points) else None
        span = sum(steps[at : stop + 1])
        # The first utterances are counted back from the first known time, all others on from the last one.
        before = filled[-1] if filled else max(0.0, after - span) if after is not None else 0.0
        share = 1.0 if after is None or span <= after - before else max(0.0, after - before) / span
        for step in steps[at:stop]:
            before += step * share
            filled.append(before)
        at = stop
    return filled
