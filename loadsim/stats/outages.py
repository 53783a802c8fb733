"""When no tokens flowed under a load, from the events that the engine leaves of it."""

import math
from collections.abc import Iterable
from typing import Any

import msgspec

from ..types import RequestRow

Event = dict[str, Any]


class Outage(msgspec.Struct, kw_only=True):
    """One time without a token for anybody, of a repeat's load; `since_s` on the run's clock.

    `seconds`: None where it lasted to the load's end. `asked`: for so many of them some request was under way, one
    caller's alone too; the rest of the time callers waited to ask again, or nobody had anything to say. `said`: what
    the server said of its health, `ok` or why not. `failed`: replies that were lost in it. `again`: seconds from its
    death to its new start, of a server that was started again.
    """

    repeat: int
    since_s: float
    said: str
    seconds: float | None = None
    asked: float = 0.0
    failed: int = 0
    again: float | None = None

    @property
    def healthy(self) -> bool:
        return self.said == "ok"


def outages(events: Iterable[Event], rows: Iterable[RequestRow], point: str) -> list[Outage]:
    """A load point's, in their order; `rows`: its own, of all kinds."""
    found: list[Outage] = []
    for event in events:
        if event.get("point") != point:
            continue
        match event.get("event"):
            case "outage":
                found.append(Outage(repeat=event["repeat"], since_s=event["since_s"], said=event["said"]))
            case "restarted" if found:
                found[-1].again = event["after_s"]
            case "outage over":
                if not found or found[-1].since_s != event["since_s"]:  # the event of its begin is lost
                    found.append(Outage(repeat=event["repeat"], since_s=event["since_s"], said=event["said"]))
                found[-1].said, found[-1].seconds = event["said"], event["seconds"]
                found[-1].failed = event["failed"]
    ended = [row for row in rows if row.end_s is not None] if found else []
    for each in found:
        ends = math.inf if each.seconds is None else each.since_s + each.seconds
        each.asked = _union(
            (max(_begin(row), each.since_s), min(row.end_s or 0.0, ends)) for row in ended if row.repeat == each.repeat
        )
    return found


def _begin(row: RequestRow) -> float:
    """When a request left, or was to: one that found nobody was never sent."""
    return row.sent_s or row.due_s or row.end_s or 0.0


def _union(stretches: Iterable[tuple[float, float]]) -> float:
    """Seconds that lie in one stretch at least."""
    total, last = 0.0, -math.inf
    for begins, ends in sorted(stretches):
        total += max(ends - max(begins, last), 0.0)
        last = max(last, ends)
    return total
