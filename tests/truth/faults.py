"""What can go wrong in a reply, or only look odd, and what a test chooses of it."""

import random
from collections.abc import Iterable, Iterator
from typing import Any, Literal, NamedTuple

import msgspec

from .prompt import pieces
from .schedule import Schedule

Then = Literal["", "done", "end", "close", "reset", "silence"]


class Write(NamedTuple):
    """One write to the connection: `at` seconds after the start; `tokens` are complete with it.

    then: `done` ends a good reply, `end` one that is cut, both properly; `close` ends the connection in mid-body,
    `reset` does it with a TCP reset, `silence` leaves it open for good.
    """

    at: float
    data: bytes
    tokens: int = 0
    then: Then = ""


class Faults(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What to do to a reply; the defaults are a good one. `_after` counts tokens, 0 is before the first.

    status: answer with this HTTP error in place of the stream.
    error_after: an `{"error": …}` event in the stream, then its proper end, without `[DONE]`.
    end_after, close_after, reset_after, silence_after: see `Write.then`; without `[DONE]`.
    comments: a `:` line halfway between any two writes. crlf: CR LF in place of LF.
    coalesce: so many events in one write, at the time of the last. split: each write in four, cut at random places by
    this seed, the last piece at the write's time and the others up to 3 ms before.
    tokens_per_chunk: tokens that share a chunk, sent when its last one is due. held: tokens (from 1) that have no text
    yet, as half a UTF-8 character has none; it comes with the next one.
    reasoning: so many tokens of reasoning first. tool_call_after: after so many tokens of text, a tool call.
    tool_calls: these calls (name, arguments as JSON text) in place of that one, at once if `tool_call_after` is None; a
    token opens a call, and its arguments have one per piece of their text. The reply ends with them, or goes on
    without text if the end token is forbidden.
    words: the reply's text, a token each; it ends with them, and begins again if the end token is forbidden.
    tokens: as `Schedule.tokens`, whatever text there is. empty: nothing but the end token, even if it is forbidden.
    first, step, stall_after, stall: this reply's own, as in `Schedule`.
    """

    status: Literal[400, 401, 404, 500, 501, 503] | None = None
    error_after: int | None = None
    end_after: int | None = None
    close_after: int | None = None
    reset_after: int | None = None
    silence_after: int | None = None
    comments: bool = False
    crlf: bool = False
    coalesce: int = 1
    split: int | None = None
    tokens_per_chunk: int = 1
    held: tuple[int, ...] = ()
    reasoning: int = 0
    tool_call_after: int | None = None
    tool_calls: tuple[tuple[str, str], ...] = ()
    words: tuple[str, ...] | None = None
    tokens: int | None = None
    empty: bool = False
    first: float | None = None
    step: float | None = None
    stall_after: int = 0
    stall: float = 0.0

    def schedule(self, usual: Schedule) -> Schedule:
        """The server's schedule with what is this reply's own."""
        own: dict[str, Any] = {"first": self.first, "step": self.step, "words": self.words, "tokens": self._sampled()}
        own = {name: value for name, value in own.items() if value is not None}
        if self.stall:
            own |= {"stall_after": self.stall_after, "stall": self.stall}
        return msgspec.structs.replace(usual, **own) if own else usual

    def _sampled(self) -> int | None:
        """How many tokens the reply has if the request does not say, the end token included."""
        if self.empty:
            return 1
        if self.tokens is not None:
            return self.tokens
        if self.tool_calls:
            return self.before_calls + len(self.fragments()) + 1
        return None if self.words is None else len(self.words) + 1

    @property
    def before_calls(self) -> int:
        """Tokens of text and reasoning before the chosen calls."""
        return max(self.tool_call_after or 0, self.reasoning)

    def fragments(self) -> list[dict[str, Any]]:
        """The chosen calls as deltas, one a token."""
        deltas: list[dict[str, Any]] = []
        for index, (name, arguments) in enumerate(self.tool_calls):
            call = {"index": index, "id": f"call_{index + 1}", "type": "function"}
            deltas.append({"tool_calls": [call | {"function": {"name": name, "arguments": ""}}]})
            for piece in pieces(arguments):
                deltas.append({"tool_calls": [{"index": index, "function": {"arguments": piece}}]})
        return deltas

    def groups(self, tokens: int) -> Iterator[tuple[int, int]]:
        """The tokens (first, last) of each chunk."""
        first = 1
        for token in range(1, tokens + 1):
            full = (token - first + 1) >= self.tokens_per_chunk and token not in self.held
            if full or token == tokens:
                yield first, token
                first = token + 1

    def apply(self, writes: Iterator[Write]) -> Iterator[Write]:
        """The same writes with everything that is to go wrong."""
        cuts: list[tuple[int | None, bytes, Then]] = [
            (self.error_after, event({"error": error(500, "the model gave up")}), "end"),
            (self.end_after, b"", "end"),
            (self.close_after, b"", "close"),
            (self.reset_after, b"", "reset"),
            (self.silence_after, b"", "silence"),
        ]
        for after, last, then in cuts:
            if after is not None:
                writes = _cut(writes, after, last, then)
        if self.comments:
            writes = _comments(writes)
        if self.crlf:
            writes = (write._replace(data=write.data.replace(b"\n", b"\r\n")) for write in writes)
        if self.coalesce > 1:
            writes = _coalesce(writes, self.coalesce)
        if self.split is not None:
            writes = _split(writes, random.Random(self.split))
        return writes


ERRORS = {
    400: ("invalid_request_error", "the request cannot be used"),
    401: ("authentication_error", "Invalid API Key"),
    404: ("not_found_error", "File Not Found"),
    500: ("server_error", "something failed"),
    501: ("not_supported_error", "This server does not support it."),
    503: ("unavailable_error", "Loading model"),
}


def error(code: int, message: str | None = None) -> dict[str, int | str]:
    """llama-server's `error` object."""
    kind, usual = ERRORS[code]
    return {"code": code, "message": usual if message is None else message, "type": kind}


def event(data: object) -> bytes:
    """One server-sent event."""
    return b"data: " + msgspec.json.encode(data) + b"\n\n"


def _cut(writes: Iterable[Write], after: int, last: bytes, then: Then) -> Iterator[Write]:
    tokens, at = 0, 0.0
    for write in writes:
        if tokens >= after and (after > 0 or write.tokens):  # after 0: what comes before the first token still comes
            yield Write(at if after else write.at, last, 0, then)
            return
        yield write
        tokens, at = tokens + write.tokens, write.at


def _comments(writes: Iterable[Write]) -> Iterator[Write]:
    at = 0.0
    for write in writes:
        yield Write((at + write.at) / 2, b":\n\n")
        yield write
        at = write.at


def _coalesce(writes: Iterable[Write], count: int) -> Iterator[Write]:
    held: list[Write] = []
    for write in writes:
        held.append(write)
        if len(held) == count or write.then:
            yield _join(held)
            held = []


def _join(writes: list[Write]) -> Write:
    data = b"".join(write.data for write in writes)
    return Write(writes[-1].at, data, sum(write.tokens for write in writes), writes[-1].then)


def _split(writes: Iterable[Write], rng: random.Random) -> Iterator[Write]:
    before = 0.0
    for write in writes:
        count = min(3, max(len(write.data) - 1, 0))
        cuts = sorted(rng.sample(range(1, len(write.data)), count)) if count else []
        edges = [0, *cuts]
        for number, (start, end) in enumerate(zip(edges, cuts, strict=False)):
            before = max(before, write.at - (count - number) * 0.001)
            yield Write(before, write.data[start:end])
        yield write._replace(data=write.data[edges[-1] :])
        before = write.at
