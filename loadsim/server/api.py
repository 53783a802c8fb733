"""What the rest of loadsim knows of a server: the Server protocol and the Reply that fills while it streams."""

import asyncio
from collections.abc import Callable
from typing import Any, Protocol

from ..types import ChatRequest, CompletionRequest, Outcome, ServerInfo, Timings

FASTEST = 100_000.0  # tokens/s: no reply comes faster; a count that says so is a damaged one
AT_ONCE = 64

Speakable = Callable[[str, int], bool]
"""Whether a voice can begin, by the text so far and its tokens."""


class Moment(asyncio.Event):
    """An event that knows when it came: `t` is loop time, None while it has not. If the reply ends without it,
    waiters are woken and `t` stays None."""

    t: float | None = None

    def at(self, t: float) -> None:
        if not self.is_set():
            self.t = t
            self.set()


class Reply:
    """One streamed reply. Whoever reads the stream fills it; a caller awaits its moments, never its tokens.

    All times are loop time in seconds. `token_s` has one arrival per token that brought output, `token_ms` the server's
    own clock (ms since its first token) for the same tokens; both count as the server counts, or a chunk as one token
    where it does not tell (`counted` is then False). `text_from`, `text_to`: the tokens of text are those between;
    reasoning comes before them, tool calls behind. `status`: HTTP's, once there is one.
    """

    def __init__(self, opened: float, speakable: Speakable) -> None:
        self.opened = opened
        self.connected: float | None = None
        self.sent: float | None = None
        self.headers: float | None = None
        self.first, self.speech, self.ended = Moment(), Moment(), Moment()
        self.last: float | None = None
        self.token_s: list[float] = []
        self.token_ms: list[float] = []
        self.counted = False
        self.chunks = 0
        self.text_from = self.text_to = 0
        self.text: list[str] = []
        self.reasoning: list[str] = []
        self.calls: dict[int, dict[str, str]] = {}
        self.timings: Timings | None = None
        self.completion_tokens: int | None = None
        self.prompt_tokens: int | None = None
        self.slot: int | None = None
        self.finish: str | None = None
        self.status: int | None = None
        self.outcome: Outcome | None = None
        self.error: str | None = None
        self.close: Callable[[], object] | None = None
        self._speakable = speakable
        self._predicted = 0

    @property
    def spoken_s(self) -> list[float]:
        """The arrivals of the tokens that a voice speaks."""
        return self.token_s[self.text_from : self.text_to]

    def counts(self, t: float, predicted: int) -> bool:
        """Whether the server can have sampled so many tokens by `t`: never fewer than before, nor faster than any."""
        since = self.opened if self.sent is None else self.sent
        return self._predicted <= predicted <= AT_ONCE + FASTEST * (t - since)

    def output(self, t: float, timings: Timings | None) -> None:
        """A chunk with output arrived at `t`: the tokens are those that the server counted since the last one."""
        self.chunks += 1
        self.last = t
        if not self.text:
            self.text_from = len(self.token_s)
        if timings is None or timings.predicted_n is None:
            self.token_s.append(t)
        else:
            new, self._predicted = timings.predicted_n - self._predicted, timings.predicted_n
            self.counted = True
            if new == 1:
                self.token_s.append(t)
                self.token_ms.append(timings.predicted_ms or 0.0)
            elif new > 1:
                self.token_s.extend([t] * new)
                self.token_ms.extend([timings.predicted_ms or 0.0] * new)
        if self.first.t is None:
            self.first.at(t)

    def say(self, t: float, text: str) -> None:
        """Text to be spoken arrived at `t`."""
        self.text.append(text)
        self.text_to = len(self.token_s)
        if self.speech.t is None and self._speakable("".join(self.text), len(self.token_s) - self.text_from):
            self.speech.at(t)

    def end(self, t: float, outcome: Outcome, error: str | None = None) -> None:
        """The reply is over, for the first reason given; later ones change nothing."""
        if self.outcome is not None:
            return
        self.outcome, self.error = outcome, error
        if outcome == "ok" and self.text:
            self.speech.at(t)  # a reply without a clause's end is spoken when it is whole
        self.ended.at(t)
        self.first.set()
        self.speech.set()

    def hang_up(self, outcome: Outcome = "cut", why: str | None = None) -> None:
        """Close the stream now; what came so far is kept."""
        if self.outcome is None:
            self.end(asyncio.get_running_loop().time(), outcome, why)
            if self.close is not None:
                self.close()


class Server(Protocol):
    """A server that answers chat requests, and exact prompts if it is a llama-server. What it cannot tell is None,
    never zero."""

    async def info(self) -> ServerInfo: ...
    async def health(self) -> str: ...
    def chat(self, request: ChatRequest, speakable: Speakable) -> Reply: ...
    def complete(self, request: CompletionRequest, speakable: Speakable) -> Reply: ...
    async def render(self, messages: list[dict[str, Any]], tools: tuple[dict[str, Any], ...]) -> str | None: ...
    async def tokenize(self, text: str) -> list[int] | None: ...
    async def slots(self) -> list[dict[str, Any]] | None: ...
    async def close(self) -> None: ...
