"""A Server without sockets, for virtual and real time: the truth server's replies, handed to the client's reader."""

import asyncio
import functools
import itertools
import math
from collections import deque
from collections.abc import Callable
from typing import Any

import msgspec

from loadsim.server.api import Reply, Speakable
from loadsim.server.http import Waits
from loadsim.server.stream import Stream, error_text
from loadsim.types import ChatRequest, CompletionRequest, ServerInfo

from .truth import Faults, Options, prompt
from .truth.faults import Write, error
from .truth.slots import Slot, Slots
from .truth.stream import BUILD, MODEL, ChatBody
from .truth.stream import Reply as Script


class Seen(msgspec.Struct, kw_only=True, eq=False):
    """One request as the server saw it, and the reply that it fills; times are loop time.

    started_s: it got its slot, and its schedule counts from here. freed_s: the slot was given back.
    """

    request: ChatRequest
    reply: Reply
    faults: Faults = Faults()
    started_s: float | None = None
    freed_s: float | None = None
    slot: int | None = None
    cache_n: int | None = None
    prompt_n: int | None = None


class SimulatedReply(Reply):
    """A reply that is brought up to date before it is closed."""

    catch_up: Callable[[], None]

    def hang_up(self, *args: Any) -> None:
        self.catch_up()
        super().hang_up(*args)


class SimulatedServer:
    """Options are the truth server's, or their fields by name; those of its transport and faults of bytes alone do not
    matter here. A request is in the server's hands when it is sent, at its `due` or at once.

    choose: gives each request its faults. lazy: a good reply's tokens are handed over one by one until its speech can
    begin, and the others, with their times, at its end or when it is hung up: cheap, but a look at `token_s` in between
    sees too few. waits: silences that end a reply, as HttpServer's do. `seen`: the requests that were sent, in order.
    """

    def __init__(
        self,
        options: Options | None = None,
        *,
        choose: Callable[[ChatRequest], Faults] | None = None,
        lazy: bool = False,
        waits: Waits = Waits(),
        **fields: Any,
    ) -> None:
        self.options = options or Options(**fields)
        self.waits = waits
        self.lazy = lazy
        self.seen: list[Seen] = []
        self._choose = choose
        self._loop = asyncio.get_running_loop()
        self._slots = Slots(self.options.slots, self.options.defer)
        self._waiting: deque[Job] = deque()
        self._live: set[Job] = set()
        self._numbers = itertools.count()

    def chat(self, request: ChatRequest, speakable: Speakable) -> Reply:
        now = self._loop.time()
        reply = SimulatedReply(now, speakable)
        reply.connected = now
        job = Job(self, Seen(request=request, reply=reply))
        self._live.add(job)
        reply.catch_up = job.catch_up
        reply.close = functools.partial(self._closed, job)
        job.timer = self._loop.call_at(now if request.due is None else request.due, self._sent, job)
        return reply

    def complete(self, request: CompletionRequest, speakable: Speakable) -> Reply:
        raise NotImplementedError("exact prompts are asked of the truth server and the embedded one")

    async def info(self) -> ServerInfo:
        if self.options.plain:
            return ServerInfo(url="simulated", model=MODEL, models=(MODEL,))
        return ServerInfo(
            url="simulated",
            build=BUILD,
            model=MODEL,
            models=(MODEL,),
            slots=self.options.slots,
            context=self.options.context,
            template=prompt.TEMPLATE,
        )

    async def health(self) -> str:
        return "ok"

    async def render(self, messages: list[dict[str, Any]], tools: tuple[dict[str, Any], ...]) -> str | None:
        return None if self.options.plain else prompt.render(messages, tools)

    async def tokenize(self, text: str) -> list[int] | None:
        return None if self.options.plain else prompt.tokenize(text)

    async def slots(self) -> list[dict[str, Any]] | None:
        return None if self.options.plain else [slot.as_json(self.options.context) for slot in self._slots.all]

    async def close(self) -> None:
        """Hangs up on every live reply."""
        for job in list(self._live):
            job.seen.reply.hang_up()

    # -- a request's way

    def _sent(self, job: "Job") -> None:
        seen, now = job.seen, self._loop.time()
        seen.reply.sent = now
        seen.faults = self._choose(seen.request) if self._choose else self.options.faults
        self.seen.append(seen)
        status = seen.faults.status
        if status is not None:
            seen.reply.headers, seen.reply.status = now, status
            job.end("error", f"HTTP {status}: {error_text(error(status))}")
            return
        job.tokens = prompt.tokenize(prompt.render(seen.request.messages, seen.request.tools))
        if not self._start(job):
            self._waiting.append(job)
            job.arm()

    def _start(self, job: "Job") -> bool:
        """Gives the job a slot and begins its reply; False: there is none for it."""
        request, seen = job.seen.request, job.seen
        slot = self._slots.take(job.tokens, request.slot)
        if slot is None:
            return False
        # The fields that HttpServer would send to such a server.
        asked = {
            "messages": [],
            "timings_per_token": True,
            "verbose": request.slot is None,
            "ignore_eos": request.ignore_eos,
        }
        asked |= {"max_tokens": request.max_tokens, "stream_options": {"include_usage": True}}
        script = Script(
            number=next(self._numbers),
            body=msgspec.convert(asked | request.fields, ChatBody),
            schedule=seen.faults.schedule(self.options),
            faults=seen.faults,
            slot=slot.number,
            cache_n=slot.cache_n,
            prompt_n=slot.prompt_n,
            plain=self.options.plain,
        )
        seen.started_s, seen.slot, seen.cache_n, seen.prompt_n = (
            self._loop.time(), slot.number, slot.cache_n, slot.prompt_n,
        )  # fmt: skip
        slot.remain = script.length.tokens
        job.slot = slot
        job.begin(script)
        return True

    def over(self, job: "Job") -> None:
        """The reply has ended, or its client has gone: the slot is free, at once or after `release`."""
        self._live.discard(job)
        if job in self._waiting:
            self._waiting.remove(job)
        if job.slot is None:
            return
        gone = job.seen.reply.outcome in ("cut", "superseded", "timeout")
        if gone and self.options.release:
            self._loop.call_later(self.options.release, self._free, job.slot, job.seen)
        else:
            self._free(job.slot, job.seen)

    def _closed(self, job: "Job") -> None:
        job.stop()
        self.over(job)

    def _free(self, slot: Slot, seen: Seen) -> None:
        slot.busy, seen.freed_s = False, self._loop.time()
        for job in list(self._waiting):
            if self._start(job):
                self._waiting.remove(job)


class Job:
    """One request on its way: the rest of its writes, and the timer for the next one."""

    def __init__(self, server: SimulatedServer, seen: Seen) -> None:
        self.seen = seen
        self.tokens: list[int] = []
        self.slot: Slot | None = None
        self.timer: asyncio.TimerHandle | None = None
        self._server = server
        self._loop = asyncio.get_running_loop()
        self._stream = Stream(seen.reply)
        self._writes: deque[Write] = deque()
        self._lazy = False

    def begin(self, script: Script) -> None:
        self._writes = deque(script.writes())
        # A stalled reply might be given up in mid-way, and one with a fault does what its test says.
        self._lazy = self._server.lazy and self.seen.faults == Faults()
        self.arm()

    def arm(self) -> None:
        """Sets the timer for what comes next: a write, or the end of the client's patience."""
        self.stop()
        reply, waits = self.seen.reply, self._server.waits
        assert reply.sent is not None
        if reply.last is None:
            limit, said = reply.sent + waits.first_token, f"no first token within {waits.first_token:g} s"
        else:
            limit = reply.last + waits.silence
            said = f"no token for {waits.silence:g} s, after {len(reply.token_s)}"
        ahead = self._lazy and reply.speech.is_set()
        due = self._at(self._writes[-1 if ahead else 0]) if self._writes else math.inf
        if limit < due and limit < math.inf and not ahead:
            self.timer = self._loop.call_at(limit, reply.hang_up, "timeout", said)
        elif due < math.inf:
            self.timer = self._loop.call_at(due, self._due, due)

    def _due(self, due: float) -> None:
        self._deliver(due)
        if self.seen.reply.outcome is None:
            self.arm()

    def _deliver(self, until: float) -> None:
        """Hands over all that was written by then. A timer may be early by a millisecond on a real loop: so `until`."""
        reply = self.seen.reply
        while self._writes and reply.outcome is None and self._at(self._writes[0]) <= until:
            write = self._writes.popleft()
            t = self._at(write) if self._lazy else self._loop.time()
            if reply.headers is None:
                reply.headers, reply.status = t, 200
            if self.slot is not None:
                self.slot.decoded += write.tokens
                self.slot.remain -= write.tokens
            self._stream.feed(t, write.data)
            if write.then in ("done", "end"):
                self._stream.finish(t)
            elif write.then in ("close", "reset"):
                reply.end(t, "error", f"the connection broke in mid-reply, after {len(reply.token_s)} tokens")
        if reply.outcome is not None:
            self.stop()
            self._server.over(self)

    def catch_up(self) -> None:
        """Before a hang-up: what should have come by now."""
        if self.seen.reply.outcome is None and self._lazy:
            self._deliver(self._loop.time())

    def end(self, outcome: Any, why: str) -> None:
        self.seen.reply.end(self._loop.time(), outcome, why)
        self._server.over(self)

    def stop(self) -> None:
        if self.timer is not None:
            self.timer.cancel()
            self.timer = None

    def _at(self, write: Write) -> float:
        assert self.seen.started_s is not None
        return self.seen.started_s + write.at
