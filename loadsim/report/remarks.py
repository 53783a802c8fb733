"""What stands under a point's tables and is no column: shares, kinds, errors, and the load as it was delivered."""

from collections.abc import Iterator

from ..stats.spread import Range
from ..stats.summary import Who
from .point import Point
from .words import counts, ms, number, percent, several, short, span

LENGTH = 1.25  # prompts whose lengths differ by more are no like for like
ERROR = 68  # characters that are shown of one
MOVED = 0.3  # a baseline that differs so much on its two sides is no measure
MOST_ERRORS = 8  # that are told, the most frequent first

WHY = {
    "cold": "the slot held nothing of the call: does the server clear idle slots (--no-cache-idle-slots), or keep no "
    "checkpoints (--ctx-checkpoints 0)?",
    "full_hit": "the slot held the whole prompt already, so nothing was evaluated: was this run's salt used before?",
    "rewind": "less was reused than the slot held: another caller used the slot, or the prompt's start changed",
    "extension": "the slot held the call already",
}


def remarks(point: Point) -> Iterator[str]:
    """A line each."""
    summary = point.summary
    if summary.baseline is not None:
        before, after = number(summary.before), number(summary.after)
        yield f"one caller decodes {before} tokens/s before the load and {after} after it{_slot_alone(point)}"
    for who in summary.load:
        for name, sides in (
            ("share", summary.shares[who.name].mean),
            ("by 1 / median gap", summary.shares[who.name].gap),
        ):
            if sides.both is not None:
                one_side = f"by the baseline before {_mid(sides.before)}, by the one after {_mid(sides.after)}"
                told = ratio(sides.both) if unsteady(point) is None else "not told, for the baseline moved"
                yield f"{who.name}: {name} {told}; {one_side}"
        yield from (f"{who.name}: {said}" for said in unlike(who, summary.baseline))
    for who in point.everyone:
        yield from _replies(who)
    for who in summary.load:
        if who.evaluated is not None:
            told = f"; {several(who.untold, 'request')} ended before the server told theirs" if who.untold else ""
            new = f"the prompts grew by {who.new:,}{told}{_moved(who)}"
            yield f"{who.name}: {who.evaluated:,} prompt tokens evaluated, {new}"
    yield from _server(point)
    yield _delivered(point)
    yield from point.logs
    yield from _fitted(point)


def unlike(who: Who, alone: Who | None) -> Iterator[str]:
    """That a share is not of the load only."""
    if alone is not None and other_length(who, alone):
        lengths = f"their prompts have {span(who.prompt)} tokens, one caller's {span(alone.prompt)}"
        yield f"{lengths}: the share compares these too, for decoding slows down with what a slot holds"


def other_length(who: Who, alone: Who | None) -> bool:
    """Whether one caller alone was measured on prompts of another length, so that a share is not of the load only."""
    if alone is None or alone.prompt is None or who.prompt is None:
        return False
    return who.prompt[0] * LENGTH < alone.prompt[1] or who.prompt[1] > alone.prompt[0] * LENGTH


def unsteady(point: Point) -> str | None:
    """That the one-caller rate moved too far to be a measure; None: it did not."""
    if _drift(point) <= MOVED:
        return None
    before, after = number(point.summary.before), number(point.summary.after)
    return f"one caller's rate went from {before} before the load to {after} after it: no share can be told"


def _drift(point: Point) -> float:
    """By how much the one-caller rate after the load differs from the one before it."""
    before, after = point.summary.before, point.summary.after
    return abs(after - before) / min(before, after) if before and after else 0.0


def _slot_alone(point: Point) -> str:
    """Which slot one caller has who is measured within a load."""
    slot, whose = point.alone
    if not point.course.pauses or slot is None:
        return ""
    if whose is None:
        return f", in slot {slot}, which nobody else has"
    return f", in slot {slot}, which is {whose}'s and warmed again; one slot more (-np) would spare that"


def _server(point: Point) -> Iterator[str]:
    """What of a first token is the way there and back, and how long the server took to start."""
    if (round_trip := point.server.get("round_trip_s")) is not None:
        yield f"round trip to the server {ms(round_trip)} ms, in every first token"
    if boot := point.server.get("boot"):
        ready, first = number(boot["health_s"]), number(boot["first_token_s"])
        yield f"the server was ready {ready} s after its start, its first token came after {first} s"


def _replies(who: Who) -> Iterator[str]:
    kinds = counts(who.kinds) or "no answer"
    yield f"{who.name}: {kinds}; {counts(who.outcomes)}; prompt {span(who.prompt)} tokens"
    yield from _errors(who.errors)
    yield from (f"  {doubt}" for doubt in doubts(who))


def doubts(who: Who) -> Iterator[str]:
    """What is wrong with replies that were answered."""
    yield from (f"{n} x {kind.replace('_', ' ')} and not counted: {WHY[kind]}" for kind, n in who.unplanned.items())
    if who.draining:
        few = "while turns ended for a pause, with fewer callers than the point has: in no time or rate"
        yield f"{several(who.draining, 'request')} sent {few}"
    if who.clocks_differ:
        yield f"{who.clocks_differ} x other gaps by the server's clock: the network or this client held tokens"


def _errors(errors: dict[str, int]) -> Iterator[str]:
    """The most frequent ones: of an outage in hours of load, each reply may tell its own number of tokens."""
    most = sorted(errors.items(), key=lambda found: -found[1])
    # A line each; the whole text is in requests.jsonl.
    yield from (f"  {n} x {short(error, ERROR)}" for error, n in most[:MOST_ERRORS])
    if rest := sum(n for _, n in most[MOST_ERRORS:]):
        yield f"  {rest} x {len(most) - MOST_ERRORS} other errors, see requests.jsonl"


def _moved(who: Who) -> str:
    if who.moves is None:
        return ""
    return f"; {several(who.slots_used or 0, 'slot')} used, {several(who.moves, 'move')} to another one"


def _fitted(point: Point) -> Iterator[str]:
    """What `fit` made of the recordings."""
    target = point.setting.get("fit")
    for name, tokens in point.fitted.items():
        if target is not None and tokens is not None and tokens != target:
            how = "stretched with filler" if tokens < target else "trimmed"
            yield f"{name} has {tokens:,} prompt tokens here, and was {how} to {target:,} (fit)"


def _delivered(point: Point) -> str:
    load, client = point.summary.delivered, point.client
    start = f"start spread {ms(load.start_spread)} ms, " if load.start_spread is not None else ""
    worst = (
        ""
        if client.worst_lag_ms == client.lag_p99_ms
        else f" ({number(client.worst_lag_ms)} in the worst {client.each})"
    )
    return (
        f"load delivered: {load.in_flight} in flight, {start}sent {ms(load.late)} ms after due at p99; "
        f"client: event loop {number(client.lag_p99_ms)} ms late at p99{worst}, {client.gc_pauses:.0f} GC pauses "
        f"of {number(client.gc_longest_ms)} ms at most, {percent(client.cpu_share)} of a core"
    )


def _mid(ratio: Range | None) -> str:
    return percent(None if ratio is None else ratio.mid)


def ratio(ratio: Range) -> str:
    """A share, and how far it reaches over repeats."""
    spread = f" ({percent(ratio.low)} to {percent(ratio.high)} over {ratio.n} repeats)" if ratio.n > 1 else ""
    return f"{percent(ratio.mid)}{spread}"
