"""One caller's time as spans: who speaks, who waits, and what went wrong. Derived from rows alone."""

import math
from collections.abc import Collection, Iterable
from enum import IntEnum

import msgspec

from ..types import RequestRow
from .headline import failed


class State(IntEnum):
    """What a moment was, the least grave first. From JOIN on something went wrong, and shows however short it was."""

    NOTHING = 0
    CALLER = 1
    PAUSE = 2
    BUFFER = 3
    SPEAKS = 4
    COMES = 5
    WAIT = 6
    JOIN = 7
    SUPERSEDED = 8
    HUNG_UP = 9
    ERROR = 10
    UNDERRUN = 11
    BARGE_IN = 12


class Span(msgspec.Struct, frozen=True):
    """A state from `start` to `end`, seconds on the run's clock; a moment where both are the same."""

    start: float
    end: float
    state: State


def spans(row: RequestRow, cold: Collection[str] = (), scale: float = 1.0) -> list[Span]:
    """A request's spans, in no order; they may overlap. `cold`: names of cold groups; `scale`: the run's time scale."""
    found = []

    def add(state: State, start: float | None, end: float | None) -> None:
        if start is not None and end is not None and end >= start:
            found.append(Span(start, end, state))

    if row.spoke is not None:
        add(State.CALLER, row.spoke.start_s, row.spoke.end_s)
        add(State.PAUSE, row.spoke.end_s, row.sent_s)
    if row.outcome == "superseded":
        add(State.SUPERSEDED, row.sent_s, row.end_s)
        return found
    joins = row.group in cold and row.kind in ("cold", None)
    first = row.first_token_s
    add(State.JOIN if joins else State.WAIT, row.sent_s, row.end_s if first is None else first)
    heard, last = row.playout, row.last_token_s
    if heard is None:
        add(State.SPEAKS, first, last)
    else:
        add(State.COMES, first, heard.start_s)
        if last is None or last <= heard.start_s:
            add(State.BUFFER, heard.start_s, heard.end_s)
        else:
            add(State.SPEAKS, heard.start_s, min(last, heard.end_s))
            add(State.BUFFER, last, heard.end_s)
        if heard.first_underrun_s is not None:
            # Where the later ones are is not recorded: all silence stands where the first began.
            dry = heard.start_s + heard.first_underrun_s / scale
            add(State.UNDERRUN, dry, dry + heard.silent_s / scale)
    if row.cut is not None:
        add(State.BARGE_IN, row.cut.at_s, row.cut.at_s)
    if row.abandoned:
        add(State.HUNG_UP, row.end_s, row.end_s)
    if failed(row):
        add(State.ERROR, row.end_s, row.end_s)
    return found


def cells(found: Iterable[Span], start: float, step: float, count: int) -> list[State]:
    """The state of each of `count` steps of `step` seconds from `start` on: the gravest of those that went wrong, else
    the one that fills most of it.

    A span fills the steps that it lies in for longer than a hair; a moment fills one, the last step at its end too.
    """
    wrong = [State.NOTHING] * count
    fills = [dict[State, float]() for _ in range(count)]
    for span in found:
        first = math.floor((span.start - start) / step + 1e-6)
        if span.start == span.end and (span.start - start) / step < count + 1e-6:
            first = min(first, count - 1)
        last = max(math.ceil((span.end - start) / step - 1e-6) - 1, first)
        for i in range(max(first, 0), min(last, count - 1) + 1):
            if span.state >= State.JOIN:
                wrong[i] = max(wrong[i], span.state)
            else:
                begin = start + i * step
                share = min(span.end, begin + step) - max(span.start, begin)
                fills[i][span.state] = fills[i].get(span.state, 0.0) + share
    return [grave or _longest(fill, step) for grave, fill in zip(wrong, fills, strict=True)]


def _longest(fill: dict[State, float], step: float) -> State:
    # Where callers do not listen to the end, the next request waits while the last reply would still sound.
    if fill.get(State.WAIT, 0.0) > step / 3:
        return State.WAIT
    return max(fill, key=lambda state: (fill[state], state), default=State.NOTHING)
