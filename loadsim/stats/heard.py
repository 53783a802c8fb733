"""What callers hear: when the voice begins, and whether it falls silent in the middle."""

import msgspec

from ..types import Playout, RequestRow
from .headline import Turn, in_headline, turn_of
from .spread import Spread, known, since, spread

DRAGS_S = 0.2  # of silence in all, in waits too short to be underruns: a server a little slower than the voice


class Around(msgspec.Struct, frozen=True, kw_only=True):
    """What stands around the server's time between the caller's last word and the agent's first; seconds.

    None: the run does not tell. `eager`: when requests leave that do not wait for `endpointing`; None: all do.
    `time_scale`: how many times faster than real the callers' time runs.
    """

    endpointing: float | None = None
    tts: float | None = None
    network: float | None = None
    eager: float | None = None
    time_scale: float = 1.0


class Heard(msgspec.Struct, frozen=True, kw_only=True):
    """What a group's callers heard of the replies that count.

    ttfs: sent to the first speakable chunk. voice: from the caller's last word to the agent's first; `measured` on the
    run's clock, or else estimated as endpointing, or what an early request waits, + TTFS + TTS + network. replies:
    those with a voice; `dry` of them ran out of speech, or dragged for want of it, `underruns` times in all, for
    `silent` seconds in all, the soonest after `soonest` seconds of speech;
    least: the least speech that lay ready while tokens were still to come. paused: seconds of silence by false
    interruptions, in `pauses` replies.
    """

    ttfs: Spread
    voice: Spread
    measured: bool
    replies: int
    dry: int
    underruns: int
    silent: float
    soonest: float | None
    least: float | None
    pauses: int
    paused: float


def heard(rows: list[RequestRow], around: Around) -> Heard:
    """`rows`: the load rows of one point and group."""
    good = [row for row in rows if in_headline(row)]
    ttfs = known(since(row.sent_s, row.first_speech_s) for row in good)
    told = _told(rows) if around.time_scale == 1 else []
    spoken = [row.playout for row in good if row.playout is not None]
    return Heard(
        ttfs=spread(ttfs),
        voice=spread(told or _estimate(ttfs, around)),
        measured=bool(told),
        replies=len(spoken),
        dry=sum(map(dry, spoken)),
        underruns=sum(playout.underruns for playout in spoken),
        silent=sum(playout.silent_s for playout in spoken),
        soonest=min(known(playout.first_underrun_s for playout in spoken), default=None),
        least=min(known(playout.least_s for playout in spoken), default=None),
        pauses=sum(playout.paused_s > 0 for playout in spoken),
        paused=sum(playout.paused_s for playout in spoken),
    )


def dry(playout: Playout) -> bool:
    """Whether the voice ran out of speech, or dragged for want of it."""
    return playout.underruns > 0 or playout.silent_s >= DRAGS_S


def _told(rows: list[RequestRow]) -> list[float]:
    """Seconds from the caller's last word to the agent's first, one per turn where both are known.

    Per turn and not per row: with tool calls or a second try the words stand at one request and the voice at another.
    """
    last: dict[Turn, float] = {}
    first: dict[Turn, float] = {}
    for row in rows:
        if row.spoke is not None:
            last[turn_of(row)] = max(last.get(turn_of(row), row.spoke.end_s), row.spoke.end_s)
        if row.playout is not None and in_headline(row):
            first[turn_of(row)] = min(first.get(turn_of(row), row.playout.start_s), row.playout.start_s)
    return [first[turn] - last[turn] for turn in first if turn in last]


def _estimate(ttfs: list[float], around: Around) -> list[float]:
    if around.endpointing is None or around.tts is None or around.network is None:
        return []
    leaves = around.endpointing if around.eager is None else around.eager
    return [max(leaves + seconds + around.tts + around.network, around.endpointing) for seconds in ttfs]
