"""A section per topic, where a load point has something to say of it."""

import time
from collections.abc import Iterator

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from ..stats.calls import Calls
from ..stats.cuts import Cuts
from ..stats.heard import Around, Heard
from ..stats.join import Join
from ..stats.outages import Outage
from ..stats.requests import Requests
from .grid import grid
from .point import Point
from .words import counts, listed, ms, number, several, whole

MOST_JOINS = 12
MOST_OUTAGES = 10
ALL = 0.99  # of an outage: the rest is the moment between two requests
CHUNKS = {"clause": "first clause", "sentence": "first sentence", "livekit": "first sentence of 20 characters or more"}
PROMPT_COLUMNS = ("prompts", "n", "cache_n", "evaluated", "grew by", "eval, ms")
JOIN_COLUMNS = (
    "cold join", "TTFT\ns", "steps\np50", "max", "pre-\ndict", "wait\nms", "hit", "gap\nms", "hit", "tok/s"
)  # fmt: skip
CALL_ENDS = {
    "ended": "{} to the end",
    "failed": "{} failed",
    "hung_up": "{} hung up",
    "time": "{} ended when the time was over",
    "stopped": "{} broken off with the run",
    "left": "{} ended when their phase had fewer callers",
}


REQUESTS = (
    ("superseded", "request sent too early and taken back", "requests sent too early and taken back"),
    ("retries", "retry", "retries"),
    ("steps", "tool step", "tool steps"),
    ("lost", "turn without a reply", "turns without a reply"),
    ("empty", "empty reply", "empty replies"),
    ("misses", "tool call without a recorded result", "tool calls without a recorded result"),
    ("abandoned", "caller hung up", "callers hung up"),
)
"""What `Requests` counts, in words for one and for more."""


def topics(point: Point) -> Iterator[RenderableType]:
    """Times without a token, what is heard, barge-ins, cold joins, requests per turn, and how calls ended."""
    yield from map(Text, _outages(point))
    setting = point.setting
    lines = [
        f"what is heard, {group}: {_heard(heard, setting.around, CHUNKS.get(str(setting.get('voice.chunk')), ''))}"
        for group, heard in point.heard.items()
        if setting.paced or heard.replies
    ]
    yield from map(Text, lines)
    for group, cuts in point.cuts.items():
        if cuts.replies:
            yield Text(f"barge-in, {group}: {_cuts(cuts)}")
            yield _prompts(cuts)
        elif cuts.released or cuts.unseen:
            yield Text(f"{group}: {_released(cuts)}")
    if point.joins:
        yield _joins(point)
        yield from map(Text, join_notes(point))
    lines = [
        f"requests per turn, {group}: {_requests(found)}" for group, found in point.requests.items() if _extra(found)
    ]
    yield from map(Text, lines)
    if point.calls is not None and (setting.paced or set(point.calls.ended) != {"ended"}):
        yield Text(f"calls: {ends(point.calls)}")


def ends(calls: Calls) -> str:
    """How calls ended, and how many of their turns were answered."""
    found = listed(CALL_ENDS.get(why, why + " {}").format(n) for why, n in calls.ended.items())
    return f"{found}; {calls.said:,} of {calls.planned:,} turns answered"


def _outages(point: Point) -> Iterator[str]:
    """When nobody was given a token, for how long, and what the server said meanwhile."""
    for found in point.outages[:MOST_OUTAGES]:
        when = _clock(found.since_s, point.epoch_s)
        end = "until now" if point.loading == found.repeat else "to the end of the load"
        long = end if found.seconds is None else f"for {number(found.seconds)} s"
        long += _asked(found)
        lost = f"; {several(found.failed, 'reply')} failed" if found.failed else ""
        if found.healthy:
            yield f"health said ok, but no token came from {when} {long}{lost}"
        else:
            again = f"; it ran again {number(found.again)} s after its death" if found.again is not None else ""
            yield f"no token came from {when} {long}: {found.said}{again}{lost}"
    if len(point.outages) > MOST_OUTAGES:
        told = sum(found.seconds or 0.0 for found in point.outages)
        yield f"these are the first {MOST_OUTAGES} of {len(point.outages)} outages, {number(told)} s in all"


def _asked(found: Outage) -> str:
    """What of an outage a caller met: between two tries nobody knows whether the server would have answered."""
    if found.seconds is not None and found.asked >= ALL * found.seconds:
        return ""
    return f" (a request was under way in {number(found.asked)} s of it)"


def _clock(seconds: float, epoch_s: float | None) -> str:
    """The time of day here."""
    return f"{seconds:.1f} s" if epoch_s is None else time.strftime("%H:%M:%S", time.localtime(epoch_s + seconds))


def _heard(heard: Heard, around: Around, chunk: str) -> str:
    parts = []
    if heard.ttfs.p50 is not None:
        rule = f" ({chunk})" if chunk else ""
        parts.append(f"TTFS {ms(heard.ttfs.p50)} ms at p50, {ms(heard.ttfs.p95)} at p95{rule}")
    if heard.voice.p50 is not None:
        how = "measured, of which assumed" if heard.measured else "estimated"
        voice = f"voice to voice {number(heard.voice.p50)} s at p50, {number(heard.voice.p95)} at p95"
        parts.append(f"{voice} ({how}: {_assumed(around, heard.measured)})")
    if heard.replies:
        parts.append(_underruns(heard))
    if heard.pauses:
        paused = several(heard.pauses, "reply")
        parts.append(f"{paused} stopped by false interruptions, for {number(heard.paused)} s in all")
    return "; ".join(parts) or "nothing that counts"


def _assumed(around: Around, measured: bool) -> str:
    """What voice-to-voice holds besides the server's time."""
    waits = (around.endpointing, "endpointing") if around.eager is None else (around.eager, "before an early request")
    parts = (waits, (around.tts, "TTS"), (around.network, "network"))
    known = [f"{seconds:g} s {name}" for seconds, name in parts if seconds is not None]
    return " + ".join(known if measured else [*known[:1], "TTFS", *known[1:]])


def _underruns(heard: Heard) -> str:
    of = f"underruns in {heard.dry} of {several(heard.replies, 'reply')}"
    if heard.dry:
        soonest = "" if heard.soonest is None else f", the soonest {number(heard.soonest)} s into a reply"
        return f"{of}: {heard.underruns} in all, {number(heard.silent)} s of silence{soonest}"
    return of if heard.least is None else f"{of}, {number(heard.least)} s of speech lay ready at the least"


def _cuts(cuts: Cuts) -> str:
    said = f"{several(cuts.replies, 'reply')} cut in {several(cuts.turns, 'turn')}, {number(cuts.after)} s into the "
    said += f"speech at p50; {several(cuts.closed, 'stream')} closed while running; "
    said += f"{several(cuts.unheard, 'token')} generated for nothing"
    if cuts.released or cuts.unseen:
        said += f"; {_released(cuts)}"
    if cuts.next.rows:
        said += f"; next prompts: {counts(cuts.next.kinds)}"
    return said


def _released(cuts: Cuts) -> str:
    said = f"slots free {ms(cuts.release.p50)} ms after a hang-up at p50, {ms(cuts.release.max)} at most"
    return said + (f", {cuts.unseen} not seen free" if cuts.unseen else "")


def _prompts(cuts: Cuts) -> Table:
    table = grid(*PROMPT_COLUMNS)
    for cells in prompt_cells(cuts):
        table.add_row(*cells)
    return table


def prompt_cells(cuts: Cuts) -> Iterator[list[str]]:
    """The prompts after a cut and the others, as PROMPT_COLUMNS name their figures."""
    for name, prompts in (("after a cut", cuts.next), ("others", cuts.others)):
        figures = (prompts.cache_n, prompts.prompt_n, prompts.new_tokens)
        yield [name, str(prompts.rows), *map(whole, figures), number(prompts.prompt_ms)]


def _joins(point: Point) -> Table:
    table = grid(*JOIN_COLUMNS)
    for cells in join_cells(point):
        table.add_row(*cells)
    return table


def join_cells(point: Point) -> Iterator[list[str]]:
    """What each cold join met, as JOIN_COLUMNS name its figures; of many the slowest."""
    for join in _shown(point.joins):
        yield [
            f"{join.group} {join.caller}, repeat {join.repeat}",
            number(join.ttft),
            whole(join.steps),
            str(join.most),
            whole(point.predicted(join)),
            ms(join.wait),
            str(join.before),
            ms(join.gap),
            str(join.inside),
            number(join.decode),
        ]


def _shown(joins: list[Join]) -> list[Join]:
    if len(joins) <= MOST_JOINS:
        return joins
    return sorted(joins, key=lambda join: -(join.ttft or 0.0))[:MOST_JOINS]


def join_notes(point: Point) -> Iterator[str]:
    """What the figures of `join_cells` are."""
    if len(point.joins) > MOST_JOINS:
        yield f"these are the {MOST_JOINS} slowest of {len(point.joins)} cold joins"
    yield (
        "while the cold prompt is evaluated, of other callers: steps, the tokens that each gets (p50 of those who "
        "speak all the time), and how many the batch size predicts; wait, the longest for a first token; gap, the "
        "largest inside a reply; hit, how many had their longest wait there; tok/s, of those who speak (a voice takes "
        f"{point.voice:g})"
    )


def _extra(found: Requests) -> bool:
    return found.per_turn != 1.0 or bool(found.misses or found.empty)


def _requests(found: Requests) -> str:
    said = f"{number(found.per_turn)}, {several(found.requests, 'request')} for {several(found.said, 'turn')}"
    told = ((getattr(found, field), one, more) for field, one, more in REQUESTS)
    parts = [f"{n} {one if n == 1 else more}" for n, one, more in told if n]
    return f"{said}: {', '.join(parts)}" if parts else said
