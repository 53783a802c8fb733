"""Where a run stands, for whoever watches it."""

from collections import deque
from collections.abc import Callable, Iterable

import msgspec

from ..server.api import Reply
from ..types import CardSample, RequestRow

RECENT_S = 60.0  # whoever watches is told of so long


class Progress(msgspec.Struct, kw_only=True):
    """What the engine is at. `done` and `total` count the rows of the repeats; `tokens` those of ended replies.

    `load_ends`: loop time at which the load under way is over, where its pace tells; `loads_left_s`: seconds of the
    loads after it. None where callers go as fast as the server. `ends`: loop time at which all will be over, where who
    drives the points has reckoned it. `part`: the scenario's phase under way.

    `watched`: somebody wants to know what the last minute's requests met: `recent` has them, with the loop time of
    their ends, and `alone` the loop time and the rows of the last time that one caller was measured. `cards`: the last
    sample of each card that is logged, and `clock` the run's own, by which they have their times.
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
    part: str = ""
    watched: bool = False
    recent: deque[tuple[float, RequestRow]] = msgspec.field(default_factory=deque)
    alone: tuple[float, list[RequestRow]] | None = None
    cards: Callable[[], Iterable[CardSample]] = tuple
    clock: Callable[[], float] | None = None

    def ended(self, row: RequestRow, reply: Reply) -> None:
        """A request ended."""
        self.done += 1
        self.tokens += len(reply.token_s)
        self.errors += row.outcome in ("error", "timeout")
        if self.watched and row.row == "load" and reply.ended.t is not None:
            self.recent.append((reply.ended.t, row))
            self.forget(reply.ended.t)

    def forget(self, now: float) -> None:
        """Keep no request that ended longer ago than is told of."""
        while self.recent and self.recent[0][0] < now - RECENT_S:
            self.recent.popleft()

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
