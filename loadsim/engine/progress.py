"""Where a run stands, for whoever watches it."""

from collections.abc import Iterable

import msgspec

from ..server.api import Reply


class Progress(msgspec.Struct, kw_only=True):
    """What the engine is at. `done` and `total` count the rows of the repeats; `tokens` those of ended replies.

    `load_ends`: loop time at which the load under way is over, where its pace tells; `loads_left_s`: seconds of the
    loads after it. None where callers go as fast as the server. `ends`: loop time at which all will be over, where who
    drives the points has reckoned it.
    """

    phase: str = "asking the server"
    point: str = ""
    repeat: int = 0
    repeats: int = 0
    done: int = 0
    total: int = 0
    tokens: int = 0
    errors: int = 0
    measuring_since: float | None = None
    load_ends: float | None = None
    loads_left_s: float | None = None
    ends: float | None = None
    live: Iterable[Reply] = ()

    def callers(self) -> tuple[int, int]:
        """How many wait for their first token, and how many replies are being spoken."""
        speaking = [reply.first.is_set() for reply in self.live if reply.outcome is None]
        return len(speaking) - sum(speaking), sum(speaking)

    def tokens_so_far(self) -> int:
        """Tokens that have arrived, those of replies under way included."""
        return self.tokens + sum(len(reply.token_s) for reply in self.live if reply.outcome is None)

    def left(self, now: float) -> float | None:
        """Seconds to go, by the callers' pace or the server's so far; None while nothing is known."""
        if self.ends is not None:
            return max(self.ends - now, 0.0)
        if self.loads_left_s is not None:
            return None if self.load_ends is None else max(self.load_ends - now, 0.0) + self.loads_left_s
        if self.measuring_since is None or not self.done or self.total <= 0:
            return None
        return (now - self.measuring_since) / self.done * (self.total - self.done)
