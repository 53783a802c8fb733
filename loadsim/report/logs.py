"""What the logs of the cards and of this machine say under a load point's tables."""

from collections.abc import Iterator
from typing import Any

from ..results.read import Run
from ..stats.cards import CardSummary, HostSummary, Range, cards, host, within
from .setting import Setting
from .words import number, percent

BUSY = 0.9  # of this machine's CPU: whatever is measured then holds its own delay too
MIB, GIB = 1 << 20, 1 << 30


def log_lines(run: Run, found: Setting, point: str) -> Iterator[str]:
    """A line per card, or why there is none, and what befell the logs; a line about this machine where that matters."""
    start, end = _stretch(run, point)
    seen = cards(within(run.card, start, end))
    for card in seen:
        yield f"card{'' if len(seen) == 1 and not card.card else f' {card.card}'}: {card_line(card)}"
    yield from _doubts(run, found, seen, start, end)
    yield from _host(host(within(run.host, start, end)), found.embedded)


def card_doubts(run: Run, found: Setting, point: str) -> Iterator[str]:
    """Why nobody knows how the cards were at a load point, or not all the time."""
    start, end = _stretch(run, point)
    seen = cards(within(run.card, start, end))
    yield from (f"card {card.card}: unknown temperature" for card in seen if card.core is None)
    yield from _doubts(run, found, seen, start, end)


def _stretch(run: Run, point: str) -> tuple[float, float]:
    """From the first request of a load point to its last one's end."""
    rows = [row for row in run.rows if row.point == point]
    starts = [row.sent_s for row in rows if row.sent_s is not None]
    return min(starts, default=0.0), max((row.end_s or 0.0 for row in rows), default=0.0)


def _doubts(run: Run, found: Setting, seen: list[CardSummary], start: float, end: float) -> Iterator[str]:
    told = [event for event in run.events if event["event"] == "telemetry"]
    wanted = found.get("telemetry.card") not in (None, "auto", "none")  # the embedded server needs none
    if not seen and (wanted or not found.embedded):
        yield _none([event for event in told if event["log"] == "card"])
    if not seen and (limit := found.get("abort.card")) is not None:
        yield f"abort.card, {limit}, was never looked at: there was no card log"
    for event in told:
        if event["log"] == "card" and start <= event["t_s"] <= end:
            yield from _befell(event, bool(seen))


def card_line(card: CardSummary, now: bool = False) -> str:
    """A card over a stretch: temperatures, clocks, power, and what throttled it; `now`: of one sample."""
    heat = "unknown temperature" if card.core is None else f"{_degrees(card.core)} C"
    if card.memory is not None:
        heat += f" (memory {_degrees(card.memory)})"
    parts = [heat]
    if card.sm is not None:
        least = "" if card.sm_least in (None, card.sm) else f" ({card.sm_least:,.0f} at the least)"
        parts.append(f"SM {card.sm:,.0f} MHz{least}")
    if card.memory_clock is not None:
        parts.append(f"memory {card.memory_clock:,.0f} MHz")
    if card.power is not None:
        parts.append(f"{card.power:,.0f} W" + ("" if card.limit is None else f" of {card.limit:,.0f}"))
    return ", ".join([*parts, _throttled_now(card.reasons) if now else _throttled(card.reasons)])


def _throttled_now(reasons: dict[str, float] | None) -> str:
    if reasons is None:
        return "throttle reasons unknown"
    return f"throttled by: {', '.join(reasons)}" if reasons else "not throttled"


def _throttled(reasons: dict[str, float] | None) -> str:
    if reasons is None:
        return "throttle reasons unknown"
    if not reasons:
        return "never throttled"
    return "throttled by: " + ", ".join(f"{reason} {percent(share)} of the time" for reason, share in reasons.items())


def _none(told: list[dict[str, Any]]) -> str:
    """The last thing that was said of the log before it said nothing."""
    why = next((event["why"] for event in reversed(told) if event["what"] in ("none", "ended", "silent", "flood")), "")
    why = why or next((event["why"] for event in reversed(told) if event["what"] in ("lost", "garbage")), "")
    return f"no card log: unknown temperature{f' ({why})' if why else ''}"


def _befell(event: dict[str, Any], seen: bool) -> Iterator[str]:
    """What happened to a card, or to its log, while it was measured."""
    at, card = f"{number(event['t_s'])} s into the run", event.get("card")
    match event["what"]:
        case "lost":
            yield f"card {card} was lost {at}: {event['why']}"
        case "back" if card is not None:
            yield f"card {card} came back {at}"
        case "back":
            yield f"the card log went on {at}"
        case "ended" | "silent" | "flood" if seen:
            yield f"the card log broke off {at}: {event['why']}"


def _host(found: HostSummary | None, embedded: bool) -> Iterator[str]:
    """The embedded server computes on this machine; any other machine is worth a line where it had no time left."""
    if found is None or found.cpu is None or not (embedded or found.cpu > BUSY):
        return
    parts = [f"this machine: CPU {percent(found.cpu)} busy"]
    if found.heat is not None:
        parts.append(f"{_degrees(found.heat)} C")
    if found.server_cpu is not None:
        parts.append(f"the server took {number(found.server_cpu)} cores")
    if found.rss is not None:
        first, last = map(size, found.rss)
        parts.append(first if first == last else f"{first} of memory at first and {last} at last")
    yield ", ".join(parts)


def size(size: int) -> str:
    return f"{number(size / GIB)} GiB" if size >= GIB else f"{size / MIB:.0f} MiB"


def _degrees(heat: Range) -> str:
    low, high = heat
    return f"{low:.0f}" if f"{low:.0f}" == f"{high:.0f}" else f"{low:.0f} to {high:.0f}"
