"""Server-sent events of a stream, byte by byte, into a Reply: the chat route's, or llama-server's own `/completion`.

A chunk is not a token: the role chunk and progress chunks carry none, half a UTF-8 character or text that a parser
holds back has no chunk, and one read can bring several. Only chunks with text, reasoning or a tool call are output.
"""

from typing import Any

import msgspec

from ..types import Timings
from .api import Reply


class CallFunction(msgspec.Struct):
    name: str | None = None
    arguments: str | None = None


class CallDelta(msgspec.Struct):
    index: int = 0
    id: str | None = None
    function: CallFunction | None = None


class Delta(msgspec.Struct):
    content: str | None = None
    reasoning_content: str | None = None
    reasoning: str | None = None
    tool_calls: list[CallDelta] | None = None


class Choice(msgspec.Struct):
    delta: Delta | None = None
    finish_reason: str | None = None


class Usage(msgspec.Struct):
    prompt_tokens: int | None = None
    completion_tokens: int | None = None


class Verbose(msgspec.Struct):
    """llama-server's own view of a request, in the last chunk if it was asked for."""

    id_slot: int | None = None


class Chunk(msgspec.Struct):
    """An event of either route. `content`, `stop`, `stop_type` and `id_slot` are the native one's; its last event has
    `stop`, and no `[DONE]` behind it. Only there `id_slot` is the slot."""

    choices: list[Choice] | None = None
    content: str | None = None
    stop: bool = False
    stop_type: str | None = None
    id_slot: int | None = None
    timings: Timings | None = None
    usage: Usage | None = None
    error: Any = None
    verbose: Verbose | None = msgspec.field(default=None, name="__verbose")


LAST_FIELDS = ("content", "stop", "stop_type", "id_slot", "timings")
"""What the native route's last event shall carry."""

_FINISH = {"limit": "length"}  # the native route's words in the chat route's; every other end is a `stop`

MOST_SAID = 300  # characters of what a server says of an error

_decode = msgspec.json.Decoder(Chunk).decode


def error_text(error: Any) -> str:
    """A server's error object as one line: llama-server's {code, message, type}, or whatever it is."""
    if isinstance(error, dict) and isinstance(error.get("message"), str):
        code = error.get("code")
        return one_line(f"{code}: {error['message']}" if code is not None else error["message"])
    return one_line(error if isinstance(error, str) else msgspec.json.encode(error).decode())


def one_line(text: str) -> str:
    """What a server says, in one line that is not too long, with nothing in it that moves a terminal."""
    return "".join(c if c.isprintable() else "?" for c in " ".join(text.split())[:MOST_SAID])


class Stream:
    """Reads one reply's bytes as they arrive. `feed` may get any cut of the stream; `finish` is its end."""

    __slots__ = ("_data", "_reply", "_rest")

    def __init__(self, reply: Reply) -> None:
        self._reply = reply
        self._rest = b""
        self._data: list[bytes] = []

    def feed(self, t: float, data: bytes) -> None:
        """Bytes that arrived at loop time `t`."""
        # Nearly every read is one whole event: no splitting then.
        if data.find(b"\n\n") == len(data) - 2 and data[:6] == b"data: " and not (self._rest or self._data):
            payload = data[6:-2]
            if b"\n" not in payload:
                self._event(t, payload)
                return
        *lines, self._rest = (self._rest + data).split(b"\n")
        for line in lines:
            line = line.removesuffix(b"\r")
            if not line:
                self._dispatch(t)
            elif line.startswith(b"data:"):
                self._data.append(line[5:].removeprefix(b" "))
            # Comments (keep-alive) and other fields say nothing of the reply.

    def finish(self, t: float) -> None:
        """The body ended. A reply that had not said that it was over is an error."""
        if self._rest.startswith(b"data:"):
            self.feed(t, b"\n")
        self._dispatch(t)
        reply = self._reply
        if reply.finish is not None:
            self._over(t)
        else:
            reply.end(t, "error", f"the stream ended in mid-reply, after {len(reply.token_s)} tokens")

    def _dispatch(self, t: float) -> None:
        if self._data:
            payload, self._data = b"\n".join(self._data), []
            self._event(t, payload)

    def _over(self, t: float) -> None:
        self._reply.end(t, "ok" if self._reply.chunks else "empty")

    def _event(self, t: float, payload: bytes) -> None:
        reply = self._reply
        if reply.outcome is not None:
            return
        if payload == b"[DONE]":
            self._over(t)
            return
        try:
            chunk = _decode(payload)
        except msgspec.MsgspecError as error:
            self._spoilt(t, str(error), payload)
            return
        if chunk.error is not None:
            reply.end(t, "error", error_text(chunk.error))
            return
        if chunk.timings is not None:
            predicted = chunk.timings.predicted_n
            if predicted is not None and not reply.counts(t, predicted):
                self._spoilt(t, f"{predicted} tokens after {len(reply.token_s)}", payload)
                return
            reply.timings = chunk.timings
        if chunk.choices:
            choice = chunk.choices[0]
            if choice.finish_reason is not None:
                reply.finish = choice.finish_reason
            if choice.delta is not None:
                self._delta(t, choice.delta, chunk.timings)
        elif chunk.content:
            reply.output(t, chunk.timings)
            reply.say(t, chunk.content)
        if chunk.stop:
            reply.finish, reply.slot = _FINISH.get(chunk.stop_type or "", "stop"), chunk.id_slot
            self._over(t)
        if chunk.usage is not None:
            reply.prompt_tokens = chunk.usage.prompt_tokens
            reply.completion_tokens = chunk.usage.completion_tokens
        if chunk.verbose is not None:
            reply.slot = chunk.verbose.id_slot

    def _spoilt(self, t: float, why: str, payload: bytes) -> None:
        self._reply.end(t, "error", f"an event that cannot be read ({why}): {payload[:30].decode(errors='replace')!r}")

    def _delta(self, t: float, delta: Delta, timings: Timings | None) -> None:
        reply = self._reply
        if delta.content:
            reply.output(t, timings)
            reply.say(t, delta.content)
        elif delta.reasoning_content or delta.reasoning:
            reply.output(t, timings)
            reply.reasoning.append(delta.reasoning_content or delta.reasoning or "")
        elif delta.tool_calls:
            reply.output(t, timings)
            for part in delta.tool_calls:
                call = reply.calls.setdefault(part.index, {"id": "", "name": "", "arguments": ""})
                call["id"] = part.id or call["id"]
                if part.function is not None:
                    call["name"] = part.function.name or call["name"]
                    call["arguments"] += part.function.arguments or ""
