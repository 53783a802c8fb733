"""How calls ended, from the events that the engine leaves at each call's end."""

from collections import Counter
from collections.abc import Iterable
from typing import Any

import msgspec

Event = dict[str, Any]

UNFINISHED = ("time", "left", "stopped")
"""Why a call ended that would have gone on: the scenario's time or the caller's phase was over, or Ctrl-C."""


class Calls(msgspec.Struct, frozen=True, kw_only=True):
    """Calls that have ended, by why: `ended`, `failed`, `hung_up`, `time`, `left`, `stopped`.

    `planned`, `said`: turns of those calls, and those of them that got a reply; of an unfinished call, only what it
    came to is planned; `failed`: turns that were lost because a call broke off on an error. Of a call whose caller
    calls again (`again`) that is one: the others come in the next call. A turn that was answered at the second try is
    said.
    """

    ended: dict[str, int]
    planned: int
    said: int
    failed: int

    @property
    def error_rate(self) -> float:
        return self.failed / max(self.planned, 1)


def calls(events: Iterable[Event], point: str, group: str | None = None) -> Calls | None:
    """The calls of a point, or of one of its groups. None: no call's end is recorded, as in runs of old."""
    found = [
        event
        for event in events
        if event.get("event") == "call" and event.get("point") == point and group in (None, event.get("group"))
    ]
    if not found:
        return None
    return Calls(
        ended=dict(Counter(event["why"] for event in found)),
        planned=sum(event["said"] + _rest(event) for event in found),
        said=sum(event["said"] for event in found),
        failed=sum(map(_rest, (event for event in found if event["why"] == "failed"))),
    )


def _rest(event: Event) -> int:
    """Turns that were still to come."""
    if event["why"] in UNFINISHED:
        return 0
    rest: int = event["planned"] - event["said"]
    return min(rest, 1) if event.get("again") else rest
