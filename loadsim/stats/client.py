"""The client's own delays: a client that was the bottleneck must say so."""

from collections.abc import Iterable
from statistics import median

import msgspec

from .calls import Event


class Client(msgspec.Struct, frozen=True, kw_only=True):
    """The client's own delays at a point, medians over its repeats or its windows (`each`), or of the worst.
    `still_ms`: the longest time in which it did nothing at all. None: not recorded."""

    each: str = "repeat"
    lag_p99_ms: float | None = None
    worst_lag_ms: float | None = None
    still_ms: float | None = None
    cpu_share: float | None = None
    gc_pauses: float = 0
    gc_longest_ms: float | None = None


def client(events: Iterable[Event], point: str) -> Client:
    """At a load point. One late repeat, or window, of many is the machine's; where half are, it is the client."""
    seen: dict[str, list[float]] = {}
    each = "repeat"
    for event in events:
        if event.get("event") != "client" or event.get("point") != point:
            continue
        if "window" in event:
            each = "window"
        for name, value in event.items():
            if isinstance(value, int | float):
                seen.setdefault(name, []).append(value)
    lag, cpu, longest = seen.get("lag_p99_ms"), seen.get("cpu_share"), seen.get("gc_longest_ms")
    return Client(
        each=each,
        lag_p99_ms=median(lag) if lag else None,
        worst_lag_ms=max(lag) if lag else None,
        still_ms=max(seen["lag_max_ms"]) if "lag_max_ms" in seen else None,
        cpu_share=median(cpu) if cpu else None,
        gc_pauses=max(seen.get("gc_pauses", [0])),
        gc_longest_ms=max(longest) if longest else None,
    )
