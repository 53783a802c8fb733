"""What a caller does in one turn, decided before it begins: when they speak, for how long, and whether they cut in.

Times are seconds before any time scale. A turn's random numbers are always drawn in one order, so that the same seed
gives the same person whatever the scenario makes of it.
"""

import itertools
import random
from collections.abc import Sequence

import msgspec

from ..recording import humans
from ..recording.model import Recording, Reply
from ..scenario.model import BargeIn, Pace, Speculation
from .history import Lines


class Part(msgspec.Struct, frozen=True):
    """A stretch of an utterance: its first `words` words are said when it ends, after `seconds` of speech; then the
    caller is silent for `pause`."""

    words: int
    seconds: float
    pause: float = 0.0


class Manner(msgspec.Struct, frozen=True, kw_only=True):
    """One turn of a caller.

    `gap`: from the end of the agent's speech to their first word; may be negative. `parts`: the utterance; more than
    one if the agent takes a pause for its end. `cut`: seconds into the agent's speech when the caller talks over it.
    `halts`: false interruptions, (seconds into the agent's speech, seconds of silence).
    """

    gap: float
    parts: tuple[Part, ...]
    cut: float | None = None
    halts: tuple[tuple[float, float], ...] = ()


class Length(msgspec.Struct, frozen=True, kw_only=True):
    """The seconds of speech of a turn's recorded reply, and of its part that the caller heard before they cut in."""

    reply: float
    heard: float | None = None


def manner(
    pace: Pace,
    barge_in: BargeIn,
    speculation: Speculation,
    recording: Recording,
    turn: Lines,
    length: Length,
    chance: random.Random,
) -> Manner:
    """What the caller does in `turn`, and during the reply to it."""
    draw = [chance.random() for _ in range(10)]
    return Manner(
        gap=_gap(pace, recording, turn, draw[0]),
        parts=_parts(pace, speculation, turn, draw[1:5]),
        cut=_cut(barge_in, turn.reply, length, draw[5], draw[6]),
        halts=_halts(barge_in, recording, turn, length, draw[7:10]),
    )


def _gap(pace: Pace, recording: Recording, turn: Lines, u: float) -> float:
    if pace.gap is not None:
        return pace.gap
    if pace.times == "drawn":
        return humans.GAP_S.at(u)
    if turn.said is None:
        return humans.GAP_S.at(0.5)
    before = recording.turns[turn.number - 2].agent if turn.number > 1 else recording.greeting
    return turn.said.start - (before.end if before else 0.0)


def _parts(pace: Pace, speculation: Speculation, turn: Lines, draw: Sequence[float]) -> tuple[Part, ...]:
    words = len(turn.words.split())
    if pace.words_per_s is not None:
        seconds = words / pace.words_per_s
    elif pace.times == "drawn":
        seconds = humans.UTTERANCE_S.at(draw[0])
    elif turn.said is None:
        seconds = words / humans.WORDS_PER_S.at(0.5)
    else:
        seconds = turn.said.end - turn.said.start
    tries = speculation.tries - 1
    if speculation.by == "recorded" and turn.said is not None:
        # Where the pace is not the recorded one, the pauses keep their places in the words and their lengths.
        said = turn.said.pauses[:tries]
        own = pace.times == "recorded" and pace.words_per_s is None
        talk = seconds - sum(p.end - p.start for p in said) if own else seconds
        edges = [0, *(p.after for p in said), words]
        shares = [max(talk, 0.0) * (b - a) / max(words, 1) for a, b in itertools.pairwise(edges)]
        silences = [*(p.end - p.start for p in said), 0.0]
        return tuple(Part(n, s, p) for n, s, p in zip(edges[1:], shares, silences, strict=True))
    if speculation.by == "drawn" and tries and words > 1 and draw[1] < speculation.probability:
        first = 1 + int(draw[2] * (words - 1))
        talk = seconds * first / words
        return Part(first, talk, humans.PAUSE_S.at(draw[3])), Part(words, seconds - talk)
    return (Part(words, seconds),)


def _cut(barge_in: BargeIn, reply: Reply, length: Length, chance: float, u: float) -> float | None:
    if barge_in.by == "recorded" and reply.heard is not None:
        heard = length.heard if length.heard is not None else reply.end - reply.start
        # What the caller heard goes on until the agent has noticed them.
        return max(heard - barge_in.trigger, 0.0)
    if barge_in.by == "drawn" and chance < barge_in.probability:
        return humans.CUT_AFTER_S.at(u)
    return None


def _halts(
    barge_in: BargeIn, recording: Recording, turn: Lines, length: Length, draw: Sequence[float]
) -> tuple[tuple[float, float], ...]:
    if draw[2] >= barge_in.false_interruption:
        return ()
    if barge_in.backchannels == "recorded" and turn.number <= len(recording.turns):
        murmurs = recording.turns[turn.number - 1].backchannels
        return tuple((max(m.start - turn.reply.start, 0.0), float(barge_in.resume)) for m in murmurs)
    if barge_in.backchannels == "drawn" and draw[0] < humans.BACKCHANNEL:
        return ((draw[1] * length.reply, float(barge_in.resume)),)
    return ()
