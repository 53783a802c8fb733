"""What all calls of a load point have in common: the server they reach, and how an agent there asks and speaks."""

import asyncio
from collections.abc import Callable, Coroutine, Mapping
from typing import Any

import msgspec

from ..recording.model import Recording
from ..scenario.model import Scenario
from ..server.api import Server, Speakable
from ..types import ChatRequest
from .call import Emit
from .floor import Floor
from .listener import Listener
from .speech import first_chunk

TOKENS_PER_WORD = 1.4  # of English, where nobody counts


class Line(msgspec.Struct, frozen=True, kw_only=True):
    """What all calls of a load point have in common.

    `tokens`: those of recorded texts, as far as the server counts; `max_tokens`: of a reply, by its recorded text.
    `floor`: when turns may begin; None: at any time; `over`: once it is set, none does. `labels`: the rows' point and
    repeat. `spawn` runs a coroutine beside the call, `note` writes an event.
    """

    server: Server
    scenario: Scenario
    origin: float
    emit: Emit
    note: Callable[..., None]
    spawn: Callable[[Coroutine[Any, Any, None]], object]
    tokens: Mapping[str, int]
    max_tokens: Callable[[str], int]
    floor: Floor | None = None
    over: asyncio.Event | None = None
    labels: dict[str, Any] = {}

    @property
    def until(self) -> float | None:
        """Loop time from which no turn begins."""
        return None if self.floor is None else self.floor.until

    def rate(self, text: str) -> float:
        """The voice's tokens/s for a reply of about this text."""
        voice = self.scenario.voice.rate
        if voice.unit == "tokens/s":
            return voice.value
        words = max(len(text.split()), 1)
        return voice.value / 60 * self.tokens.get(text, words * TOKENS_PER_WORD) / words

    def request(
        self, recording: Recording, messages: list[dict[str, Any]], recorded: str, slot: int | None, due: float | None
    ) -> ChatRequest:
        """A request for a reply such as the recorded one."""
        reply = self.scenario.reply
        return ChatRequest(
            messages=messages,
            tools=recording.tools,
            max_tokens=self.max_tokens(recorded),
            ignore_eos=reply == "recorded" or reply.exactly is not None,
            slot=slot,
            due=due,
            fields=self.scenario.request,
        )

    def listener(self, recorded: str) -> Listener:
        """Somebody who hears a reply such as the recorded one to its end."""
        voice = self.scenario.voice
        delay = (voice.tts + voice.network) / self.scenario.pace.time_scale
        return Listener(rate=self.rate(recorded), delay=delay, chunk=self._chunk(recorded))

    def speakable(self, chunk: int | None) -> Speakable:
        """Whether the voice can begin: after `chunk` tokens; None: the reply's own text tells."""
        if chunk is not None:
            return lambda _, tokens: tokens >= chunk
        rule = self.scenario.voice.chunk
        return lambda text, _: first_chunk(rule, text) is not None

    def _chunk(self, recorded: str) -> int | None:
        """Tokens of a recorded reply's first speakable chunk."""
        if self.scenario.reply != "recorded" or self.scenario.history == "conversation":
            return None
        end = first_chunk(self.scenario.voice.chunk, recorded, whole=True)
        return None if end is None else self.tokens.get(recorded[:end])
