"""Stretches or trims a call to an exact number of prompt tokens, so that cards and models compare on the same length.

The rule, the same for any tokenizer:
1. Too long: whole turns without tools are left out, from the second on, earliest first, never one of the last ten. The
   times of what follows close up. Fewest turns that bring the prompt to the target or below.
2. Too short: plain words about nothing are added at the end of the system prompt, as many as go below the target.
3. A last word is chosen among a few that brings the rest.
"""

from collections.abc import Awaitable, Callable
from itertools import cycle, islice
from typing import TypeVar

import msgspec

from ..types import BadInput
from .model import Pause, Recording, Reply, Turn, Utterance

Said = TypeVar("Said", Utterance, Reply, Pause)

Count = Callable[[Recording], Awaitable[int]]
"""The tokens of a recording's prompt up to its last caller message, generation prompt included."""

KEPT = 10  # turns at the end that are never left out
FILLER = (
    "The line is open and the day is long. It is one of those days, and there is time for all of it. "
    "What is here is here, and what is not is not. So it goes on, and that is all there is to say."
)
TAILS = (" a", ".", " so", " now", ",", " then", ".....", " again", " really", " nothing", " 1", " a a", " is it")
"""Last words of different size in any tokenizer: a token, a few bytes, one to eight letters."""


async def fit(recording: Recording, count: Count, target: int) -> Recording:
    """The recording with a prompt of exactly `target` tokens by `count`; itself where it has that many already.

    Asks for some 5 to 20 counts. Turns that are left out change the numbers of those behind them.
    Raises BadInput with both numbers if no call of that length can be made.
    """
    tokens = await count(recording)
    if tokens > target:
        recording, tokens = await _trimmed(recording, count, target, tokens)
    return recording if tokens == target else await _padded(recording, count, target, tokens)


def plain_turns(recording: Recording) -> list[int]:
    """The turns that may be left out, counted from 0, in the order in which they go."""
    return [at for at, turn in enumerate(recording.turns[:-KEPT]) if at and not turn.tools]


def without(recording: Recording, left_out: list[int]) -> Recording:
    """The call without these turns (from 0; not the last one): each next turn starts when the one left out did."""
    turns, shift = [], 0.0
    for at, turn in enumerate(recording.turns):
        if at in left_out:
            shift += recording.turns[at + 1].caller.start - turn.caller.start
        else:
            turns.append(_earlier(turn, shift))
    return msgspec.structs.replace(recording, turns=tuple(turns))


def padded(recording: Recording, words: int, tail: str = "") -> Recording:
    """The call with so many words of filler, and a tail, at the end of its system prompt."""
    filler = "".join(f" {word}" for word in islice(cycle(FILLER.split()), words))
    return msgspec.structs.replace(recording, system=recording.system + filler + tail)


def _earlier(turn: Turn, seconds: float) -> Turn:
    if not seconds:
        return turn
    replace = msgspec.structs.replace

    def moved(said: Said) -> Said:
        return replace(said, start=round(said.start - seconds, 6), end=round(said.end - seconds, 6))

    caller = replace(moved(turn.caller), pauses=tuple(map(moved, turn.caller.pauses)))
    murmurs = tuple(map(moved, turn.backchannels))
    return replace(turn, caller=caller, agent=moved(turn.agent), backchannels=murmurs)


async def _trimmed(recording: Recording, count: Count, target: int, tokens: int) -> tuple[Recording, int]:
    """The call without the fewest turns that bring it to the target or below, and its tokens."""
    plain = plain_turns(recording)
    shortest = without(recording, plain)
    least = await count(shortest) if plain else tokens
    if least > target:
        raise BadInput(
            f"fit: {target:,} tokens are too few for this call: it has {tokens:,}, and {least:,} without all turns "
            "that can be left out"
        )
    few, many, best = 0, len(plain), (shortest, least)  # too few are left out; enough are
    while many - few > 1:
        middle = (few + many) // 2
        tried = without(recording, plain[:middle])
        size = await count(tried)
        if size > target:
            few = middle
        else:
            many, best = middle, (tried, size)
    return best


async def _padded(recording: Recording, count: Count, target: int, tokens: int) -> Recording:
    """The call with the words that bring it to the target exactly."""
    sizes = {0: tokens}  # prompt tokens by words of filler
    while (words := _guess(sizes, target)) is not None:
        if words > 8 * (target - tokens) + 64:
            known = max(sizes)
            raise BadInput(f"fit: {target:,} tokens are out of reach: {known:,} words more make {sizes[known]:,}")
        tried = padded(recording, words)
        sizes[words] = await count(tried)
        if sizes[words] == target:
            return tried
    most = max(words for words, size in sizes.items() if size < target)
    for words in range(most, max(most - 3, -1), -1):
        for tail in TAILS:
            tried = padded(recording, words, tail)
            if await count(tried) == target:
                return tried
    raise BadInput(f"fit: no call of exactly {target:,} tokens can be made; {sizes[most]:,} is the nearest below")


def _guess(sizes: dict[int, int], target: int) -> int | None:
    """How many words to try next; None if one more than the most that are too few is known to be too many."""
    high = min((words for words, size in sizes.items() if size > target), default=None)
    low = max(words for words, size in sizes.items() if size < target and (high is None or words < high))
    missing = target - sizes[low]
    if high is None:
        per_word = (sizes[low] - sizes[0]) / low if low else 1.0
        return low + max(1, round(missing / max(per_word, 0.25)))
    if high - low == 1:
        return None
    if len(sizes) % 3 == 0:  # a curve could lead guesses along the line astray for long
        return (low + high) // 2
    along = low + round((high - low) * missing / (sizes[high] - sizes[low]))
    return min(max(along, low + 1), high - 1)
