"""Whether tokens flow while callers talk: since when they do not, what the server says meanwhile, and its new start."""

import asyncio
import time
from bisect import bisect_right
from collections.abc import Callable, Iterable
from typing import Any

from ..scenario.model import Scenario
from ..server.api import Reply, Server
from ..stats.headline import failed
from ..types import BadInput, RequestRow, RunStopped
from .serving import Served

LOOK_S = 0.1
ASK_S = 1.0  # between two questions to a server that gives no token
TOGETHER_S = 0.5  # connections that break with a server do so within this time of each other
HEALTH_S = 2.0  # a server that takes longer to say that it is well is not; asked so long before silence is too long
HEALTHY = "ok"


class Watch:
    """Looks after the server of one load.

    An outage begins where replies fail, or none that is under way gets a token for `timeout.silence`, and it is told:
    with what the server says of its health, or that it died. It is over with the next token. `emptied` counts the times
    that the slots may have lost what they held. `live`: the replies under way; `note` writes an event.
    """

    def __init__(
        self,
        server: Server,
        scenario: Scenario,
        served: Served | None,
        live: Callable[[], Iterable[Reply]],
        note: Callable[..., None],
        origin: float,
    ) -> None:
        self.answered = False
        self.emptied = 0
        self._server = server
        self._scenario = scenario
        self._served = served
        self._live = live
        self._note = note
        self._origin = origin
        self._now = asyncio.get_running_loop().time
        self._flowed = self._now()  # when somebody was last given a token, or an answer without one
        self._failed: list[float] = []  # when replies failed since then, or right before
        self._since: float | None = None  # of the outage under way
        self._said = HEALTHY
        self._asked = -ASK_S
        self._asking: asyncio.Task[str] | None = None
        self._answer: str | None = None  # the last one to a question asked since somebody was last given a token
        self._reached = asyncio.Event()  # clear while we know that nobody answers
        self._reached.set()

    def ended(self, row: RequestRow, reply: Reply) -> None:
        """A reply of the load ended."""
        assert reply.ended.t is not None
        if reply.last is not None:
            self._flow(reply, reply.last)
        if failed(row):
            if reply.ended.t > self._flowed - TOGETHER_S:
                self._failed.append(reply.ended.t)
        elif row.outcome in ("ok", "empty"):
            self.answered = True
            self._flow(reply, reply.ended.t)

    async def back(self, seconds: float, spread: float) -> None:
        """Wait so long; less where the server was away and can be reached again, which `spread` follows."""
        away = not self._reached.is_set()
        try:
            async with asyncio.timeout(seconds):
                await (self._reached.wait() if away else asyncio.Event().wait())
        except TimeoutError:
            return
        await asyncio.sleep(spread)

    async def look(self) -> None:
        """Watch until cancelled. Raises RunStopped where the server died for good, or gave no token for too long."""
        try:
            while True:
                self._listen()
                if self._served is not None and (end := self._served.died()) is not None:
                    await self._died(end)
                elif (quiet := self._quiet()) is not None:
                    self._silent(quiet)
                await asyncio.sleep(LOOK_S)
        finally:
            if self._asking is not None:
                self._asking.cancel()

    # -- tokens

    def _listen(self) -> None:
        """What the replies under way have been given."""
        for reply in list(self._live()):
            if reply.last is not None:
                self._flow(reply, reply.last)

    def _flow(self, reply: Reply, t: float) -> None:
        """Somebody was given something at `t`."""
        if t <= self._flowed:
            return
        if self._since is not None and t > self._since:
            place = bisect_right(reply.token_s, self._since)
            self._over(reply.token_s[place] if place < len(reply.token_s) else t)
        self._flowed, self._answer = t, None
        # Not at once: when a server goes, what its other connections still hold is read after the first has broken.
        self._failed = [end for end in self._failed if end > t - TOGETHER_S]

    def _quiet(self) -> float | None:
        """Since when nobody has been given anything, though somebody waits or was let down; None: all is well."""
        asked = [reply.sent for reply in self._live() if reply.outcome is None and reply.sent is not None]
        wanted = min([*asked, *(end for end in self._failed if end >= self._flowed)], default=None)
        return None if wanted is None else max(self._flowed, wanted)

    # -- outages

    def _silent(self, quiet: float) -> None:
        """Nobody has been given a token since `quiet`: ask how the server is, and tell, where it is time. The answer is
        not waited for: one that hangs does not hold up what is told."""
        waited, silence = self._now() - quiet, self._scenario.timeout.silence
        early = max(silence - HEALTH_S, silence / 2)  # so that the answer is there once it is wanted
        if self._since is not None or self._failed or waited >= early:
            self._ask()
        said = self._heard()
        # Where we slept ourselves, nobody has been asked yet, and what came meanwhile lies in the sockets unread.
        if self._since is None and said is not None and (waited >= silence or said != HEALTHY):
            self._listen()
            if self._flowed > quiet:
                return  # meanwhile it has spoken
            self._begin(quiet, said)
        if self._since is not None:
            if said is not None:
                self._hears(said)
            self._limit()

    def _ask(self) -> None:
        """Ask how the server is, if it is time to."""
        if self._asking is None and self._now() - self._asked >= ASK_S:
            self._asked = self._now()
            self._asking = asyncio.create_task(self._question())

    async def _question(self) -> str:
        try:
            async with asyncio.timeout(HEALTH_S):
                return await self._server.health()
        except TimeoutError:
            return f"health did not answer in {HEALTH_S:g} s"

    def _heard(self) -> str | None:
        """What the server last said of its health since somebody was given a token, or that it has not said anything
        for as long as it was asked; None: it was not."""
        if self._asking is None:
            return self._answer
        if self._asking.done():
            self._answer, self._asking = self._asking.result(), None
        elif self._answer is None and self._asked <= self._flowed:
            return None  # a question of before
        elif (so_far := self._now() - self._asked) >= min(HEALTH_S, self._scenario.timeout.silence / 2):
            return f"health did not answer in {so_far:.2g} s"
        return self._answer

    def _begin(self, since: float, said: str) -> None:
        self._since, self._said = since, said
        self._note("outage", since_s=round(since - self._origin, 6), said=said)

    def _hears(self, said: str) -> None:
        """What the server says in the outage under way."""
        if said != HEALTHY:
            self._said = said
            self._reached.clear()
        elif not self._reached.is_set():
            self.emptied += 1  # whoever comes back may be another one
            self._reached.set()

    def _over(self, t: float) -> None:
        assert self._since is not None
        if not self._reached.is_set():
            self.emptied += 1
            self._reached.set()
        seconds, since = round(t - self._since, 6), round(self._since - self._origin, 6)
        lost = sum(end <= t for end in self._failed)
        self._note("outage over", since_s=since, seconds=seconds, said=self._said, failed=lost)
        self._since, self._failed = None, [end for end in self._failed if end > t]

    def _limit(self) -> None:
        assert self._since is not None
        waited = self._now() - self._since
        if waited >= self._most:
            why = f"the server says {HEALTHY}" if self._said == HEALTHY else self._said
            raise RunStopped(f"no token came for {waited:.0f} s, from {self._clock(self._since)} on: {why}")

    @property
    def _most(self) -> float:
        """Seconds without a token that end the run: who may wait longer for the first one is let wait."""
        return max(self._scenario.timeout.outage, self._scenario.timeout.first_token)

    def _clock(self, t: float) -> str:
        return time.strftime("%H:%M:%S", time.localtime(time.time() - (self._now() - t)))

    # -- a server of ours

    async def _died(self, end: str) -> None:
        """Start it again, if that is wanted."""
        assert self._served is not None
        now = self._now()
        self._note("died", how=end)
        if self._since is None:
            self._begin(now, f"the server died ({end})")
        self._hears(f"the server died ({end})")
        if not self._scenario.server.restart:
            raise RunStopped(f"it died with {end}")
        assert self._since is not None
        try:
            async with asyncio.timeout_at(self._since + self._most):
                await self._served.restart(self._scenario)
        except TimeoutError:
            self._limit()
            raise RunStopped(f"the server died ({end}) and did not start again") from None
        except (BadInput, RunStopped) as error:
            raise RunStopped(f"the server died ({end}) and did not start again: {error}") from None
        self._note("restarted", **self._restarted(now))
        self._hears(HEALTHY)

    def _restarted(self, died: float) -> dict[str, Any]:
        assert self._served is not None
        return {"url": self._served.server.url, "after_s": round(self._now() - died, 6), "boot": self._served.boot}
