"""What one caller hears of one reply while it comes, and what they do about it: listen, cut in, or hang up."""

import asyncio
import math

import msgspec

from ..server.api import Reply
from ..types import Cut, Playout, RequestRow
from .playout import dry_at, moment, playout

TICK_S = 0.02  # how often a caller who waits for the next word looks up
EARLY_S = 0.001  # the loop's timers may fire this much early


class Listener(msgspec.Struct, kw_only=True):
    """One reply as it is heard. Times are loop time, in seconds; speech is measured in seconds of sound.

    `rate`: tokens/s of the voice. `delay`: from a token's arrival to its sound. `floor`: the voice does not begin
    before: the caller, or the agent's own words before a tool call, have not ended. `cut`: seconds into the speech when
    the caller begins to talk over it, until the agent notices after
    `trigger` more. `halts`: as in Manner. `since`, `patience`: when the caller fell silent, and how long they bear it.
    `limit`: seconds that the agent's client waits for the first token, of `limit_name`. `scale` divides the time that
    speech takes.
    """

    rate: float
    delay: float
    chunk: int | None = None
    floor: float = 0.0
    cut: float | None = None
    trigger: float = 0.0
    halts: tuple[tuple[float, float], ...] = ()
    since: float | None = None
    patience: float | None = None
    limit: float | None = None
    limit_name: str = ""
    scale: float = 1.0
    abandoned: bool = False
    closed: bool = False

    async def listen(self, reply: Reply) -> None:
        """Wait for the reply's end, or end it."""
        now = asyncio.get_running_loop().time
        while reply.outcome is None:
            wake = self._wakes(reply, now())
            # Once there is something to hear, the end is all that can still come.
            event = reply.ended if reply.speech.t is not None else reply.speech
            try:
                async with asyncio.timeout_at(wake):
                    await event.wait()
            except TimeoutError:
                self._act(reply, now())

    def start(self, reply: Reply) -> float | None:
        """When the voice begins; None while it cannot."""
        return None if reply.speech.t is None else max(reply.speech.t + self.delay, self.floor)

    def finish(self, row: RequestRow, reply: Reply, origin: float) -> None:
        """Complete the row with what was heard."""
        row.abandoned = self.abandoned
        start, tokens = self.start(reply), reply.spoken_s
        if start is None or not tokens:
            return
        until = None if self.cut is None else self.cut + self.trigger
        heard = playout(
            tokens,
            start,
            self.rate,
            delay=self.delay,
            chunk=self.chunk,
            until=until,
            pauses=self.halts,
            complete=reply.outcome == "ok",
        )
        if self.closed or (until is not None and heard.tokens < len(tokens)):
            assert self.cut is not None
            at = moment(tokens, start, self.rate, self.cut, delay=self.delay, pauses=self.halts)
            if at is None:  # they speak into the silence of a reply that does not come
                at = dry_at(tokens, start, self.rate, delay=self.delay, pauses=self.halts)
            row.cut = Cut(
                at_s=round(self._no_sooner(tokens, start, at, self.cut) - origin, 6),
                after=round(self.cut, 6),
                heard=heard.tokens,
                unheard=len(tokens) - heard.tokens,
                closed=self.closed,
            )
        came = tokens[heard.tokens - 1] + self.delay if heard.tokens else start
        row.playout = msgspec.structs.replace(
            heard,
            start_s=round(start - origin, 6),
            end_s=round(max(self._scaled(start, heard.end_s), came) - origin, 6),
        )

    # -- while it comes

    def _wakes(self, reply: Reply, now: float) -> float | None:
        """The next time at which the caller, or the agent's client, may act; None: never."""
        times = []
        if self.limit is not None and reply.first.t is None:
            times.append((now if reply.sent is None else reply.sent) + self.limit)
        start = self.start(reply)
        if self.patience is not None:
            times.append(self._bears_until(reply, start))
        if self.cut is not None and start is not None:
            falls_silent = self._sounded(reply, start, self.cut + self.trigger)
            dry = self._dry(reply, start)
            # Not enough has come yet: look again when it has been spoken.
            times.append(max(dry, now + TICK_S) if falls_silent is None else falls_silent)
        return min(times, default=None)

    def _act(self, reply: Reply, now: float) -> None:
        now += EARLY_S
        start = self.start(reply)
        sent = now if reply.sent is None else reply.sent
        if self.limit is not None and reply.first.t is None and now >= sent + self.limit:
            reply.hang_up("timeout", f"no first token within {self.limit:g} s, as {self.limit_name} waits")
            return
        if self.patience is not None and now >= self._bears_until(reply, start):
            self.abandoned = reply.outcome is None
            reply.hang_up()
            return
        if self.cut is not None and start is not None:
            at = self._sounded(reply, start, self.cut + self.trigger)
            if at is not None and now >= at:
                self.closed = reply.outcome is None
                reply.hang_up()

    def _bears_until(self, reply: Reply, start: float | None) -> float:
        assert self.patience is not None
        silent_since = self.since if start is None else self._dry(reply, start)
        return (reply.opened if silent_since is None else silent_since) + self.patience

    def _sounded(self, reply: Reply, start: float, spoken: float) -> float | None:
        tokens = reply.spoken_s
        at = moment(tokens, start, self.rate, spoken, delay=self.delay, pauses=self.halts)
        return None if at is None else self._no_sooner(tokens, start, at, spoken)

    def _dry(self, reply: Reply, start: float) -> float:
        tokens = reply.spoken_s
        dry = dry_at(tokens, start, self.rate, delay=self.delay, pauses=self.halts)
        return self._no_sooner(tokens, start, dry, len(tokens) / self.rate)

    def _no_sooner(self, tokens: list[float], start: float, at: float, spoken: float) -> float:
        """The scaled time of `at`, when `spoken` seconds have sounded; where time runs faster, the words must still
        have come by then."""
        begun = min(math.ceil(spoken * self.rate - EARLY_S), len(tokens))
        return max(self._scaled(start, at), tokens[begun - 1] + self.delay if begun > 0 else start)

    def _scaled(self, start: float, t: float) -> float:
        return start + (t - start) / self.scale


def heard_share(row: RequestRow, tokens: int) -> float:
    """The share, 0 to 1, that the caller heard of a reply of `tokens` tokens."""
    return 1.0 if row.cut is None else min(row.cut.heard / max(tokens, 1), 1.0)


def silent_at(row: RequestRow, origin: float, ended: float) -> float:
    """Loop time from which the caller may speak: they cut in, or the agent's speech is over."""
    if row.cut is not None:
        return row.cut.at_s + origin
    heard: Playout | None = row.playout
    return ended if heard is None else heard.end_s + origin
