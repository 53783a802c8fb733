"""How long a call holds its slot, and for how much of it the server works for it. From a paced run's rows."""

from collections.abc import Iterable
from itertools import pairwise
from statistics import mean

import msgspec

from ..types import RequestRow
from .calls import Event
from .headline import Call, call_of, turn_of


class Busy(msgspec.Struct, frozen=True, kw_only=True):
    """Of the load of one point; seconds on the run's clock, means.

    call: from the caller's first word to the agent's last, over `ended` calls that came to their end by themselves;
    None: none did. planned: turns that a call was to have. turn: from a turn's first request to the next one's, over
    `turns` that had a next one. busy: of that, how long requests were with the server, sent to end; also those that
    were taken back or tried again. callers: on the line at a time, at most. at_once: for what part of the time that all
    were on the line 0, 1, ... requests were with the server; empty where they never were.
    """

    call: float | None
    ended: int
    planned: float | None
    busy: float | None
    turn: float | None
    turns: int
    callers: int
    at_once: list[float]


def busy(rows: Iterable[RequestRow], events: Iterable[Event], point: str) -> Busy:
    """`rows`, `events`: of a run; those of the load of `point` count."""
    load = [row for row in rows if row.row == "load" and row.point == point and row.sent_s is not None]
    ends = [event for event in events if event.get("event") == "call" and event.get("point") == point]
    by_call: dict[Call, list[RequestRow]] = {}
    for row in load:
        by_call.setdefault(call_of(row), []).append(row)
    whole = {_call(event) for event in ends if event.get("why") == "ended"}
    lengths = [_length(of) for call, of in by_call.items() if call in whole]
    turns = [turn for of in by_call.values() for turn in _turns(of)]
    return Busy(
        call=mean(lengths) if lengths else None,
        ended=len(lengths),
        planned=mean(event["planned"] for event in ends) if ends else None,
        busy=mean(held for held, _ in turns) if turns else None,
        turn=mean(step for _, step in turns) if turns else None,
        turns=len(turns),
        callers=len({(row.group, row.caller) for row in load}),
        at_once=_at_once(load),
    )


def _call(event: Event) -> Call:
    return (event["repeat"], event["group"], event["caller"], event["call"])


def _length(rows: list[RequestRow]) -> float:
    begin = min(row.spoke.start_s if row.spoke else row.sent_s or 0.0 for row in rows)
    return max(max(row.end_s or begin, row.playout.end_s if row.playout else begin) for row in rows) - begin


def _turns(rows: list[RequestRow]) -> list[tuple[float, float]]:
    """Of each turn of a call but its last: how long its requests were with the server, and until the next turn."""
    turns: dict[object, list[RequestRow]] = {}
    for row in sorted(rows, key=lambda row: row.sent_s or 0.0):
        turns.setdefault(turn_of(row), []).append(row)
    return [
        (sum((row.end_s or 0.0) - (row.sent_s or 0.0) for row in one), (then[0].sent_s or 0.0) - (one[0].sent_s or 0.0))
        for one, then in pairwise(turns.values())
    ]


def _at_once(load: list[RequestRow]) -> list[float]:
    """Parts of the time; repeats follow one another, so that each has its own window."""
    held: dict[int, float] = {}
    for repeat in {row.repeat for row in load}:
        callers: dict[tuple[str, int], list[tuple[float, float]]] = {}
        for row in load:
            if row.repeat == repeat and row.sent_s is not None and row.end_s is not None:
                callers.setdefault((row.group, row.caller), []).append((row.sent_s, row.end_s))
        start = max((min(sent for sent, _ in of) for of in callers.values()), default=0.0)
        end = min((max(end for _, end in of) for of in callers.values()), default=0.0)
        if end <= start:
            continue
        spans = [(max(a, start), min(b, end)) for of in callers.values() for a, b in of if b > start and a < end]
        edges = sorted([(start, 0), *((a, 1) for a, _ in spans), *((b, -1) for _, b in spans), (end, 0)])
        now = 0
        for (at, step), (then, _) in pairwise(edges):
            now += step
            held[now] = held.get(now, 0.0) + then - at
    total = sum(held.values())
    return [held.get(k, 0.0) / total for k in range(max(held) + 1)] if total > 0 else []
