"""One caller: asks, listens, and leaves a row for each request."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import msgspec

from ..server.api import Reply, Server, Speakable
from ..types import ChatRequest, Kind, RequestRow
from .kinds import kind

# A connection is opened this long before its request is due. Servers close one that says nothing for some seconds.
CONNECT_S = 0.5

Emit = Callable[[RequestRow, Reply], None]


def never(_: str, __: int) -> bool:
    """Nobody waits for this reply's speech."""
    return False


class Caller(msgspec.Struct, kw_only=True):
    """A place on the server, held for a whole call: who it is, and what its slot holds of it.

    `prompt`: tokens of its last prompt; `held`: those and the reply's that the slot has evaluated. None: not known.
    `opening`: tokens that all prompts share, up to the end of a cold salt.
    """

    group: str
    number: int
    slot: int | None
    opening: int = 0
    prompt: int | None = None
    held: int | None = None

    async def ask(
        self,
        server: Server,
        request: ChatRequest,
        emit: Emit,
        origin: float,
        *,
        expects: frozenset[Kind],
        speakable: Speakable = never,
        listen: Callable[[Reply], Awaitable[object]] | None = None,
        finish: Callable[[RequestRow, Reply], None] | None = None,
        leave: float | None = None,
        **labels: Any,
    ) -> tuple[RequestRow, Reply]:
        """Wait until a request is due, send it and listen until it has ended; `emit` gets the row.

        `origin`: the run's start in loop time. `expects`: the kinds that the scenario plans for this prompt; empty:
        any. `listen` waits for the reply's end, or ends it; `finish` completes the row. `leave`: loop time at which the
        caller may hang up before the request has left. `labels`: the row's other fields.
        """
        loop = asyncio.get_running_loop()
        if request.due is not None:
            opens = request.due - CONNECT_S if leave is None else min(request.due - CONNECT_S, leave)
            await asyncio.sleep(max(opens - loop.time(), 0.0))
        reply = server.chat(request, speakable)
        try:
            await (listen(reply) if listen else reply.ended.wait())
        finally:
            # Also when the run is broken off: what has come so far is kept.
            reply.hang_up()
            row = self.row(reply, request, origin, expects, labels)
            if finish is not None:
                finish(row, reply)
            emit(row, reply)
        return row, reply

    def row(
        self, reply: Reply, request: ChatRequest, origin: float, expects: frozenset[Kind], labels: dict[str, Any]
    ) -> RequestRow:
        """The row of an ended reply; notes what the slot holds from now on."""

        def on_clock(t: float | None) -> float | None:
            return None if t is None else round(t - origin, 6)

        timings = reply.timings
        cache_n = timings.cache_n if timings else None
        prompt_n = timings.prompt_n if timings else reply.prompt_tokens
        predicted_n = timings.predicted_n if timings else reply.completion_tokens
        known = timings is not None and cache_n is not None and prompt_n is not None
        total = cache_n + prompt_n if known else None  # type: ignore[operator]
        found = kind(cache_n, prompt_n, self.held, self.opening) if known else None
        sent = reply.sent
        row = RequestRow(
            group=self.group,
            caller=self.number,
            slot=request.slot,
            served=request.slot if reply.slot is None else reply.slot,
            kind=found,
            planned=None if found is None else not expects or found in expects,
            due_s=on_clock(reply.opened if request.due is None else request.due),
            connected_s=on_clock(reply.connected),
            sent_s=on_clock(sent),
            headers_s=on_clock(reply.headers),
            first_token_s=on_clock(reply.first.t),
            first_speech_s=on_clock(reply.speech.t),
            last_token_s=on_clock(reply.last),
            end_s=on_clock(reply.ended.t),
            outcome=reply.outcome or "error",
            error=reply.error,
            finish=reply.finish,
            chunks=reply.chunks,
            prompt_n=prompt_n,
            cache_n=cache_n,
            prompt_ms=timings.prompt_ms if timings else None,
            predicted_n=predicted_n,
            predicted_ms=timings.predicted_ms if timings else None,
            max_tokens=request.max_tokens,
            new_tokens=total - self.prompt if total is not None and self.prompt is not None else total,
            token_s=[] if sent is None else [round(t - sent, 6) for t in reply.token_s],
            token_server_ms=[round(ms, 3) for ms in reply.token_ms],
            **labels,
        )
        # Nothing is told of a prompt that was given up before its first token. What is new is still counted from the
        # last one that is known; what the slot holds is not known any more.
        self.prompt = self.prompt if total is None else total
        # The last token sampled is not evaluated before another one is asked for.
        self.held = None if total is None else total + max((predicted_n or 1) - 1, 0)
        return row
