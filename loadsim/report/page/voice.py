"""A reply's voice told again from its row: when each token came, and when it sounded."""

from collections.abc import Sequence

import msgspec

from ...caller.playout import FRAME_S, begins, playout
from ...types import Playout, RequestRow
from ..setting import Setting, seconds

NEAR_S = 0.002  # rows keep times to 1 µs, and sums of them are less sure
MOST_TRIES = 1000


class Voice(msgspec.Struct, frozen=True, kw_only=True):
    """The tokens that a voice speaks; seconds after the request was sent, by the voice's own speed.

    `came`: arrivals; `begins`: when each begins to sound, if nobody cuts in; `delay`: from a token's arrival to its
    sound at the soonest; `heard`: how many are.
    """

    came: Sequence[float]
    begins: list[float]
    start: float
    rate: float
    delay: float
    heard: int

    @property
    def silences(self) -> list[tuple[float, float]]:
        """When the voice had spoken all that came, of what is heard."""
        ends = [self.start, *(at + 1 / self.rate for at in self.begins)]
        pairs = zip(ends, self.begins[: self.heard], strict=False)
        return [(end, at) for end, at in pairs if at - end >= FRAME_S]


def voice(row: RequestRow, setting: Setting) -> Voice | None:
    """None: the row does not tell enough. It lacks when false interruptions stopped the voice, and which of its tokens
    are spoken (others think or call tools): those are taken that give what was recorded as heard."""
    heard = row.playout
    if heard is None or row.sent_s is None or not row.token_s or heard.paused_s > 0:
        return None
    around = setting.around
    delay = ((around.tts or 0.0) + (around.network or 0.0)) / around.time_scale
    start = heard.start_s - row.sent_s
    spoken = heard.tokens + (row.cut.unheard if row.cut else 0)
    until = None if row.cut is None else row.cut.after + (seconds(setting.get("barge_in.trigger")) or 0.0)
    for first in range(min(len(row.token_s) - spoken + 1, MOST_TRIES)):
        came = row.token_s[first : first + spoken]
        if came and _same(playout(came, start, heard.rate, delay=delay, until=until), heard):
            return Voice(
                came=came,
                begins=begins(came, start, heard.rate, delay),
                start=start,
                rate=heard.rate,
                delay=delay,
                heard=heard.tokens,
            )
    return None


def _same(again: Playout, heard: Playout) -> bool:
    return again.underruns == heard.underruns and abs(again.silent_s - heard.silent_s) < NEAR_S
