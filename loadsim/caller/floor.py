"""Whether callers may begin a turn: all the time, or not while one of them is measured alone."""

import asyncio
import math


class Floor:
    """The floor of a load that begins at loop time `start` and lasts `seconds` of its own time, None: to the last call.

    While it is closed nobody begins a turn, and the load's own time stands still: who waits to speak goes on, once it
    opens, as far from their next word as they were. `talking`: turns under way. `paused`: seconds of all closures.
    `closes`: whether it ever does.
    """

    def __init__(self, start: float = 0.0, seconds: float | None = None, closes: bool = False) -> None:
        self.talking = 0
        self.paused = 0.0
        self._start = start
        self._seconds = seconds
        self._may_close = closes
        self._closed_at: float | None = None
        self._now = asyncio.get_running_loop().time
        self._opens, self._closes, self._quiet = asyncio.Event(), asyncio.Event(), asyncio.Event()
        self._opens.set()
        self._quiet.set()

    @property
    def until(self) -> float | None:
        """Loop time from which no turn begins."""
        return None if self._seconds is None else self.at(self._seconds)

    def at(self, seconds: float) -> float:
        """Loop time at so many seconds of the load's own, if it is open from now on."""
        closed = 0.0 if self._closed_at is None else self._now() - self._closed_at
        return self._start + self.paused + closed + seconds

    def since(self, t: float) -> float:
        """The load's own seconds at loop time `t`, of the time since it last closed."""
        return t - self._start - self.paused

    async def reach(self, seconds: float) -> None:
        """Wait until the load's own time has come there."""
        await self._wait(self.at(seconds))

    async def enter(self, begins: float, early: float = 0.0) -> float:
        """Wait to begin a turn at loop time `begins`, but for the last `early` seconds; when it begins now, later by as
        long as it was held."""
        if self._may_close:
            begins = await self._wait(begins - early) + early
        self.talking += 1
        self._quiet.clear()
        return begins

    def leave(self) -> None:
        """A turn that was begun is over."""
        self.talking -= 1
        if not self.talking:
            self._quiet.set()

    def close(self) -> None:
        """From now on nobody begins a turn."""
        self._closed_at = self._now()
        self._opens.clear()
        self._closes.set()

    async def quiet(self) -> None:
        """Wait until no turn is under way."""
        await self._quiet.wait()

    def open(self) -> None:
        """Go on."""
        assert self._closed_at is not None
        self.paused += self._now() - self._closed_at
        self._closed_at = None
        self._closes.clear()
        self._opens.set()

    async def _wait(self, t: float) -> float:
        """Wait for loop time `t`, which moves on while the floor is closed; the time that it became."""
        while True:
            if self._closed_at is not None:
                held = self._now()
                await self._opens.wait()
                t += self._now() - held
            if self._now() >= t or math.isinf(t):
                return t
            try:
                async with asyncio.timeout_at(t):
                    await self._closes.wait()
            except TimeoutError:
                return t
