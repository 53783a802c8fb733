"""What a caller hears of a reply: a buffer that tokens fill as they come and a voice drains at its own speed.

Token k sounds for d = 1/rate seconds, from b(k) = max(b(k-1) + d + the pauses between, a(k)) on, where a(k) is the
earliest moment for it. With c(k), the silence of all pauses up to the token's beginning, b(k) - k d - c(k) only ever
grows: it is the running maximum of a(k) - k d - c(k), computed at once for all tokens. The code calls it `shift`; where
it steps up, the voice waits.
"""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from ..types import Playout

FRAME_S = 0.02  # one audio frame: the voice being late by less is not heard

# Times come from divisions and sums: what differs by less is the same moment.
_NEAR_S = 1e-6

_Floats = npt.NDArray[np.float64]
_Pauses = Sequence[tuple[float, float]]


def playout(
    token_s: Sequence[float],
    start: float,
    rate: float,
    *,
    delay: float = 0.0,
    chunk: int | None = None,
    until: float | None = None,
    pauses: _Pauses = (),
    complete: bool = True,
) -> Playout:
    """What is heard of a reply whose tokens came at `token_s`, ascending, on the clock of `start`; all in seconds.

    The voice begins at `start` and speaks `rate` tokens/s; a token can sound `delay` after it came. A wait for one
    is silence; of FRAME_S or more it is an underrun too. A server a little slower than the voice brings silence without
    underruns: the voice drags. The first token's wait counts too. `pauses`: (seconds of speech after which the voice
    stops, seconds of silence until it goes on); tokens come on meanwhile. `until`: seconds of speech after which the
    caller cuts in, silences not counted; what would come at that very moment (a wait, a pause) is cut off. None, or a
    shorter reply: all is heard. `complete`: the reply's last token is in `token_s`. Where it is not, or came after the
    cut, `least_s` takes in what lay ready at the end: tokens were still to come then.
    """
    ready = np.asarray(token_s, np.float64) + delay
    shift = _shift(ready, start, rate, pauses)
    total = len(ready) / rate
    spoken = total if until is None else min(max(until, 0.0), total)
    reached = _begun(spoken, rate)
    end = _moment(shift, start, rate, pauses, spoken)
    waits = np.round(np.diff(shift[:reached], prepend=start), 6)
    dry = np.flatnonzero(waits >= FRAME_S)
    # What lies ready shrinks between two arrivals, so it is least just before one, or at the end. It is told as if the
    # voice never waited: where it did, nothing lay ready.
    to_come = (ready > start + _NEAR_S) & (ready <= end)
    before = np.flatnonzero(to_come)
    least = before / rate - _spoken(ready[before] - start, pauses)
    came = np.count_nonzero(ready <= end)
    if came < len(ready) or not complete:
        least = np.append(least, came / rate - spoken)
    return Playout(
        start_s=_round(start),
        end_s=_round(end),
        rate=rate,
        tokens=math.floor((spoken + _NEAR_S) * rate),
        chunk=chunk,
        underruns=len(dry),
        silent_s=_round(waits.sum()),
        first_underrun_s=_round(dry[0] / rate) if len(dry) else None,
        least_s=_round(max(least.min(), 0.0)) if len(least) else None,
        paused_s=_round(_paused(pauses, spoken)),
    )


def dry_at(token_s: Sequence[float], start: float, rate: float, delay: float = 0.0, pauses: _Pauses = ()) -> float:
    """When the speech of these tokens ends, on their clock; `start` where there are none. The rest as in `playout`."""
    ready = np.asarray(token_s, np.float64) + delay
    return _moment(_shift(ready, start, rate, pauses), start, rate, pauses, len(ready) / rate)


def begins(token_s: Sequence[float], start: float, rate: float, delay: float = 0.0) -> list[float]:
    """When each token begins to sound, on the tokens' clock, where nothing stops the voice. As in `playout`."""
    shift = _shift(np.asarray(token_s, np.float64) + delay, start, rate, ())
    return [_round(at) for at in shift + np.arange(len(shift)) / rate]


def moment(
    token_s: Sequence[float], start: float, rate: float, spoken: float, delay: float = 0.0, pauses: _Pauses = ()
) -> float | None:
    """When `spoken` seconds of speech have sounded, on the tokens' clock; None: they are not enough for that.

    The first such moment: before a wait or a pause that comes then. The rest as in `playout`.
    """
    ready = np.asarray(token_s, np.float64) + delay
    total = len(ready) / rate
    if spoken > total + _NEAR_S:
        return None
    return _moment(_shift(ready, start, rate, pauses), start, rate, pauses, min(max(spoken, 0.0), total))


def _shift(ready: _Floats, start: float, rate: float, pauses: _Pauses) -> _Floats:
    if not len(ready):
        return ready
    before = np.arange(len(ready)) / rate
    paused = sum((silence * (before >= at - _NEAR_S) for at, silence in pauses), np.zeros(len(ready)))
    shift: _Floats = np.maximum(np.maximum.accumulate(ready - before - paused), start)
    return shift


def _begun(spoken: float, rate: float) -> int:
    """How many tokens have begun to sound after `spoken` seconds of speech."""
    return math.ceil((spoken - _NEAR_S) * rate)


def _moment(shift: _Floats, start: float, rate: float, pauses: _Pauses, spoken: float) -> float:
    begun = _begun(spoken, rate)
    return (float(shift[begun - 1]) if begun else start) + spoken + _paused(pauses, spoken)


def _paused(pauses: _Pauses, spoken: float) -> float:
    """Seconds of silence by the pauses that come before `spoken` seconds of speech."""
    return sum((silence for at, silence in pauses if at < spoken - _NEAR_S), 0.0)


def _spoken(passed: _Floats, pauses: _Pauses) -> _Floats:
    """Seconds of speech within the first `passed` seconds of a voice that only pauses."""
    spoken = passed
    for at, silence in sorted(pauses):
        # After the pauses before it are taken out, the voice stands at `at` for this one.
        spoken = spoken - np.clip(spoken - at, 0.0, silence)
    return spoken


def _round(seconds: Any) -> float:
    return round(float(seconds), 6)
