"""The watch over a load's tokens, in virtual time: one server that is away is one outage, however late we look."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

from loadsim.engine.outage import Watch
from loadsim.scenario.load import restore
from loadsim.server.api import Reply
from tests.stats.rows import row
from tests.virtual import VirtualLoop, run

SCENARIO: dict[str, Any] = {
    "recording": "call",
    "callers": {"warm": {"count": 3}},
    "server": {"url": "http://127.0.0.1:1"},
    "timeout": {"silence": "5 s"},
}
REFUSED = "cannot connect (Connection refused)"


class Asked:
    """A server that is only asked how it is, for 10 ms; `meanwhile` happens in that time."""

    said = "ok"

    def __init__(self) -> None:
        self.times = 0
        self.meanwhile: Callable[[], None] | None = None

    async def health(self) -> str:
        self.times += 1
        said = self.said
        await asyncio.sleep(0.01)
        if self.meanwhile is not None:
            self.meanwhile()
            self.meanwhile = None
        return said


class Load:
    """Replies that a test fills by hand, and what the watch says of them."""

    def __init__(self) -> None:
        self.loop = asyncio.get_running_loop()
        self.server = Asked()
        self.live: list[Reply] = []
        self.told: list[dict[str, Any]] = []
        self.watch = Watch(
            self.server,  # type: ignore[arg-type]
            restore(SCENARIO, "test"),
            None,
            lambda: self.live,
            lambda event, **fields: self.told.append({"event": event, **fields}),
            self.loop.time(),
        )

    def ask(self) -> Reply:
        reply = Reply(self.loop.time(), lambda text, tokens: True)
        reply.sent = self.loop.time()
        self.live.append(reply)
        return reply

    def ends(self, reply: Reply, outcome: Any = "ok", told: bool = True) -> None:
        reply.end(self.loop.time(), outcome)
        self.live.remove(reply)
        if told:
            self.tell(reply)

    def tell(self, reply: Reply) -> None:
        assert reply.outcome is not None
        self.watch.ended(row(outcome=reply.outcome), reply)

    def stall(self, seconds: float) -> None:
        """This program does nothing for so long, and neither reads nor looks."""
        assert isinstance(self.loop, VirtualLoop)
        self.loop._virtual += seconds


def watched(story: Callable[[Load], Coroutine[Any, Any, None]]) -> list[dict[str, Any]]:
    """The events of what happens to a load."""

    async def main() -> list[dict[str, Any]]:
        load = Load()
        looking = asyncio.ensure_future(load.watch.look())
        try:
            await story(load)
        finally:
            looking.cancel()
        return load.told

    return run(main(), 100.0)


async def flows(reply: Reply, seconds: float) -> None:
    """A token every 50 ms."""
    for _ in range(round(seconds / 0.05)):
        reply.output(asyncio.get_running_loop().time(), None)
        await asyncio.sleep(0.05)


def test_who_slept_through_a_silence_first_reads_what_has_come() -> None:
    async def story(load: Load) -> None:
        reply = load.ask()
        await flows(reply, 1.0)
        load.stall(6.0)
        # the look is due, and so are the reads; they come while the server is asked
        load.server.meanwhile = lambda: reply.output(load.loop.time(), None)
        await asyncio.sleep(0.5)
        await flows(reply, 1.0)
        load.ends(reply)
        assert load.server.times == 1

    assert watched(story) == []


def test_a_silence_that_goes_on_is_told_from_its_begin() -> None:
    async def story(load: Load) -> None:
        reply = load.ask()
        await flows(reply, 1.0)  # the last token comes after 0.95 s
        await asyncio.sleep(7.0)
        await flows(reply, 0.5)  # and the next one after 8 s

    began, over = watched(story)
    assert (began["event"], began["since_s"], began["said"]) == ("outage", 0.95, "ok")
    assert over == {"event": "outage over", "since_s": 0.95, "seconds": 7.05, "said": "ok", "failed": 0}


def test_connections_that_break_one_by_one_are_one_outage_and_all_are_counted() -> None:
    async def story(load: Load) -> None:
        one, two, three = load.ask(), load.ask(), load.ask()
        await flows(one, 1.0)
        load.server.said = REFUSED
        load.ends(one, "error")
        await asyncio.sleep(0.001)
        # the others' sockets still hold what had been sent; their callers tell of it only after the server was asked
        two.output(load.loop.time(), None)
        three.output(load.loop.time(), None)
        await asyncio.sleep(0.001)
        load.ends(two, "error", told=False)
        load.ends(three, "error", told=False)

        def late() -> None:
            load.tell(two)
            load.tell(three)

        load.server.meanwhile = late
        await asyncio.sleep(3.0)
        load.server.said = "ok"
        await asyncio.sleep(1.5)
        reply = load.ask()
        await asyncio.sleep(0.2)
        await flows(reply, 1.0)

    began, over = watched(story)
    assert (began["event"], began["said"], over["event"], over["said"]) == ("outage", REFUSED, "outage over", REFUSED)
    assert began["since_s"] == over["since_s"] == 1.002
    assert over["seconds"] == 4.7
    assert over["failed"] == 3


def test_a_failure_that_is_told_after_a_later_token_is_forgotten() -> None:
    async def story(load: Load) -> None:
        broken, whole = load.ask(), load.ask()
        load.ends(broken, "error", told=False)
        await flows(whole, 1.0)
        load.ends(whole)
        load.tell(broken)
        await asyncio.sleep(20)  # everybody thinks
        assert load.server.times == 0

    assert watched(story) == []


def test_failures_before_an_outage_and_after_it_are_not_its_own() -> None:
    async def story(load: Load) -> None:
        early, steady = load.ask(), load.ask()
        load.ends(early, "error")
        await flows(steady, 1.0)
        load.server.said = REFUSED
        load.ends(steady, "error")
        await asyncio.sleep(2.0)
        back, late = load.ask(), load.ask()
        await flows(back, 0.05)
        load.ends(late, "error")
        load.server.said = "ok"
        await flows(back, 1.0)

    _, over = watched(story)
    assert (over["seconds"], over["failed"]) == (2.0, 1)
