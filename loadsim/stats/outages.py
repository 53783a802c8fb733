"""When no tokens flowed under a load, from the events that the engine leaves of it."""

from collections.abc import Iterable
from typing import Any

import msgspec

Event = dict[str, Any]


class Outage(msgspec.Struct, kw_only=True):
    """One time without a token for anybody, of a repeat's load; `since_s` on the run's clock.

    `seconds`: None where it lasted to the load's end. `said`: what the server said of its health, `ok` or why not.
    `failed`: replies that were lost in it. `again`: seconds from its death to its new start, of a server that was
    started again.
    """

    repeat: int
    since_s: float
    said: str
    seconds: float | None = None
    failed: int = 0
    again: float | None = None

    @property
    def healthy(self) -> bool:
        return self.said == "ok"


def outages(events: Iterable[Event], point: str) -> list[Outage]:
    """A load point's, in their order."""
    found: list[Outage] = []
    for event in events:
        if event.get("point") != point:
            continue
        match event.get("event"):
            case "outage":
                found.append(Outage(repeat=event["repeat"], since_s=event["since_s"], said=event["said"]))
            case "restarted" if found:
                found[-1].again = event["after_s"]
            case "outage over" if found:
                found[-1].said, found[-1].seconds = event["said"], event["seconds"]
                found[-1].failed = event["failed"]
    return found
