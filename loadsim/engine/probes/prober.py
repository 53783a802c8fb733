"""One caller who asks what a probe needs, and leaves the rows."""

import asyncio
import random
from collections.abc import Callable
from typing import Any

import msgspec

from ...caller.call import Caller, Request
from ...caller.talk import ANY
from ...recording.messages import Message
from ...recording.model import Recording
from ...scenario.model import Probe
from ...server.api import Reply, Server
from ...types import ChatRequest, CompletionRequest, RequestRow, RunStopped
from ..bench import LEAD_S, Bench


class Prober:
    """A probe under way at one point and repeat. `pool`: the tokens that exact prompts are drawn from."""

    def __init__(
        self,
        *,
        bench: Bench,
        point: str,
        repeat: int,
        probe: Probe,
        recording: Recording,
        pool: tuple[int, ...],
        fields: dict[str, Any],
    ) -> None:
        self.probe = probe
        self.recording = recording
        self._bench = bench
        self._point = point
        self._repeat = repeat
        self._pool = pool
        self._fields = fields
        self._caller = Caller(group=probe.kind, number=0, slot=probe.slot)

    @property
    def server(self) -> Server:
        return self._bench.server

    # -- prompts

    def fresh(self, count: int, *key: object, unlike: int | None = None) -> list[int]:
        """So many tokens that no prompt of another run or repeat has; the first one is not `unlike`."""
        chance = self.chance(*key)
        drawn = chance.choices(self._pool, k=count)
        while drawn and drawn[0] == unlike:
            drawn[0] = chance.choice(self._pool)
        return drawn

    def chance(self, *key: object) -> random.Random:
        return random.Random(repr((self._bench.run, self._point, self._repeat, *key)))

    def exact(self, tokens: list[int]) -> CompletionRequest:
        """A prompt as token ids."""
        return CompletionRequest(
            tokens=tokens, max_tokens=1, ignore_eos=True, slot=self.probe.slot, fields=self._fields
        )

    def chat(
        self, messages: list[Message], tools: tuple[dict[str, Any], ...] = (), free: int | None = None
    ) -> ChatRequest:
        """A prompt through the template; its reply is one token, or the server's own of up to `free`."""
        return ChatRequest(
            messages=messages,
            tools=tools,
            max_tokens=free or 1,
            ignore_eos=free is None,
            slot=self.probe.slot,
            fields=self._fields,
        )

    async def count(self, messages: list[Message], tools: tuple[dict[str, Any], ...] = ()) -> list[int]:
        """A chat prompt's tokens."""
        text = await self.server.render(messages, tools)
        return [] if text is None else await self.server.tokenize(text) or []

    # -- requests

    async def hold(self, request: Request) -> None:
        """Bring the slot to a prompt. The row is not measured."""
        row, _ = await self._send(request, "warm", None)
        if row.outcome not in ("ok", "empty"):
            raise RunStopped(f"slot {self.probe.slot} could not be brought to its state: {row.error}")

    async def ask(
        self,
        request: Request,
        finish: Callable[[RequestRow, Reply], None] | None = None,
        **said: Any,
    ) -> RequestRow:
        """A measured request; `said` is what its row tells of it. The server is at rest when it is sent."""
        due = asyncio.get_running_loop().time() + LEAD_S
        row, _ = await self._send(_due(request, due), "probe", finish, probe=said)
        return row

    async def _send(
        self, request: Request, row: str, finish: Callable[[RequestRow, Reply], None] | None, **more: Any
    ) -> tuple[RequestRow, Reply]:
        return await self._caller.ask(
            self.server,
            request,
            self._bench.emit,
            self._bench.origin,
            expects=ANY,
            finish=finish,
            row=row,
            turn=more.get("probe", {}).get("turn", 0),
            point=self._point,
            repeat=self._repeat,
            **more,
        )


def _due(request: Request, due: float) -> Request:
    return msgspec.structs.replace(request, due=due)
