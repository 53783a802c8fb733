"""A reply as llama-server streams it: server-sent events, nearly all of their bytes encoded once for all requests."""

import functools
from collections.abc import Iterator
from typing import Any, NamedTuple

import msgspec

from .faults import Faults, Write, event
from .prompt import Message
from .schedule import Schedule

BUILD = "b10902-truth"
MODEL = "truth"
CREATED = 1_760_000_000
DONE = b"data: [DONE]\n\n"
TOOL = "look_up"


class StreamOptions(msgspec.Struct, frozen=True):
    include_usage: bool = False


class ChatBody(msgspec.Struct, frozen=True):
    """What the server reads of a chat request; other fields are let through."""

    messages: list[Message]
    tools: list[Any] | None = None
    stream: bool = False
    stream_options: StreamOptions | None = None
    max_tokens: int | None = None
    n_predict: int | None = None
    ignore_eos: bool = False
    id_slot: int = -1
    cache_prompt: bool = True
    timings_per_token: bool = False
    return_progress: bool = False
    verbose: bool = False
    truth_id: str | None = None
    truth_fault: Faults | None = None

    @property
    def usage(self) -> bool:
        return self.stream_options is not None and self.stream_options.include_usage


class Length(NamedTuple):
    """How many tokens a reply samples, and why it ends; the end token of a `stop` is one of them and has no text."""

    tokens: int
    finish: str

    @property
    def spoken(self) -> int:
        return self.tokens - (self.finish == "stop")


def length(schedule: Schedule, body: ChatBody) -> Length:
    """As llama-server: the request's limit, or the end token before it; a limit of 0 still gives one token."""
    limit = body.max_tokens if body.max_tokens is not None else body.n_predict
    if limit is not None and limit >= 0 and (body.ignore_eos or limit < schedule.tokens):
        return Length(max(limit, 1), "length")
    return Length(schedule.tokens, "length" if body.ignore_eos else "stop")


class Chunk(NamedTuple):
    """The part of a chunk that every request shares; what stands between `head` and `tail` is the request's."""

    at: float
    tokens: int
    head: bytes
    tail: bytes


def timings(schedule: Schedule, cache_n: int, prompt_n: int, predicted_n: int) -> dict[str, float | int | None]:
    """llama-server's `timings`, on the schedule's clock. A rate over no time is null, as JSON has no infinity."""
    prompt_ms = round(schedule.at(1) * 1000, 3)
    predicted_ms = round((schedule.at(max(predicted_n, 1)) - schedule.at(1)) * 1000, 3)
    steps = predicted_n - 1
    return {
        "cache_n": cache_n,
        "prompt_n": prompt_n,
        "prompt_ms": prompt_ms,
        "prompt_per_token_ms": prompt_ms / prompt_n if prompt_n else None,
        "prompt_per_second": 1000 / prompt_ms * prompt_n if prompt_ms else None,
        "predicted_n": predicted_n,
        "predicted_ms": predicted_ms,
        "predicted_per_token_ms": predicted_ms / steps if steps > 0 else None,
        "predicted_per_second": 1000 / predicted_ms * steps if predicted_ms else None,
    }


@functools.lru_cache(maxsize=64)
def chunks(schedule: Schedule, faults: Faults, spoken: int) -> tuple[Chunk, ...]:
    """The chunks of a reply of `spoken` tokens."""
    deltas = _deltas(schedule, faults, spoken)
    return tuple(
        _chunk(schedule, first, last, _merged(deltas[first - 1 : last])) for first, last in faults.groups(len(deltas))
    )


def _chunk(schedule: Schedule, first: int, last: int, delta: dict[str, Any]) -> Chunk:
    choices = [{"finish_reason": None, "index": 0, "delta": delta}]
    head = b'data: {"choices":' + msgspec.json.encode(choices) + b","
    # The first five timings are the request's own, the last four the same for all: see _own.
    last_four = dict(list(timings(schedule, 0, 1, last).items())[5:])
    return Chunk(schedule.at(last), last - first + 1, head, msgspec.json.encode(last_four)[1:] + b"}\n\n")


def _deltas(schedule: Schedule, faults: Faults, spoken: int) -> list[dict[str, Any]]:
    """What each token brings; nothing comes after chosen tool calls."""
    if not faults.tool_calls:
        return [_delta(schedule, faults, token, spoken) for token in range(1, spoken + 1)]
    before = [_delta(schedule, faults, token, spoken) for token in range(1, faults.before_calls + 1)]
    return (before + faults.fragments())[:spoken]


def _delta(schedule: Schedule, faults: Faults, token: int, spoken: int) -> dict[str, Any]:
    word = schedule.word(token)
    if token <= faults.reasoning:
        return {"reasoning_content": word}
    if faults.tool_call_after is None or token <= faults.tool_call_after:
        return {"content": word}
    # From here on the one call that needs no choosing: its arguments are the reply's words, as many as there are.
    if token == faults.tool_call_after + 1:
        call: dict[str, Any] = {"index": 0, "id": "call_1", "type": "function"}
        return {"tool_calls": [call | {"function": {"name": TOOL, "arguments": ""}}]}
    opening = '{"query":"' if token == faults.tool_call_after + 2 else ""
    closing = '"}' if token == spoken else ""
    return {"tool_calls": [{"index": 0, "function": {"arguments": opening + word + closing}}]}


def _merged(deltas: list[dict[str, Any]]) -> dict[str, Any]:
    """Deltas that share a chunk: texts are joined by field, tool call fragments by their call."""
    merged: dict[str, Any] = {}
    for delta in deltas:
        for field, value in delta.items():
            if field not in merged:
                merged[field] = value
            elif field == "tool_calls":
                if merged[field][-1]["index"] == value[0]["index"]:
                    merged[field][-1]["function"]["arguments"] += value[0]["function"]["arguments"]
                else:
                    merged[field] += value
            else:
                merged[field] += value
    return merged


class Reply(NamedTuple):
    """One reply to be streamed: what was asked, its slot and what that held. `plain`: without llama-server's extras."""

    number: int
    body: ChatBody
    schedule: Schedule
    faults: Faults
    slot: int
    cache_n: int
    prompt_n: int
    plain: bool

    @property
    def length(self) -> Length:
        return Length(1, "stop") if self.faults.empty else length(self.schedule, self.body)

    def writes(self) -> Iterator[Write]:
        """Every write with its time, faults applied."""
        writes = self._good()
        return writes if self.faults == GOOD else self.faults.apply(writes)

    def _good(self) -> Iterator[Write]:
        schedule, tokens = self.schedule, self.length
        role = self._event([{"finish_reason": None, "index": 0, "delta": {"role": "assistant", "content": None}}])
        shared = iter(chunks(schedule, self.faults, tokens.spoken))
        own, each, written = self._own(), self.body.timings_per_token and not self.plain, 0
        if schedule.headers == "at_once":
            yield Write(0.0, role)
            if self.body.return_progress and not self.plain:
                yield from self._progress()
        else:
            chunk = next(shared, Chunk(schedule.at(1), 0, b"", b""))
            written += chunk.tokens
            yield Write(chunk.at, role + self._join(chunk, own, each), chunk.tokens)
        for chunk in shared:
            written += chunk.tokens
            yield Write(chunk.at, self._join(chunk, own, each), chunk.tokens)
        yield Write(schedule.at(tokens.tokens), self._last(tokens), tokens.tokens - written, "done")

    @staticmethod
    def _join(chunk: Chunk, own: bytes, each: bool) -> bytes:
        if not chunk.tokens:
            return b""
        return chunk.head + own + (chunk.tail if each else b"}\n\n")

    def _own(self) -> bytes:
        """What each of this request's chunks carries between the shared parts."""
        own = msgspec.json.encode(self._envelope())[1:-1]
        if not self.body.timings_per_token or self.plain:
            return own
        first_five = dict(list(timings(self.schedule, self.cache_n, self.prompt_n, 1).items())[:5])
        return own + b',"timings":' + msgspec.json.encode(first_five)[:-1] + b","

    def _envelope(self) -> dict[str, Any]:
        return {
            "created": CREATED,
            "id": f"chatcmpl-{self.number}",
            "model": MODEL,
            "system_fingerprint": BUILD,
            "object": "chat.completion.chunk",
        }

    def _event(self, choices: list[Any], **more: Any) -> bytes:
        return event({"choices": choices, **self._envelope(), **more})

    def _progress(self) -> Iterator[Write]:
        """Two batches of the prompt: a chunk after each, with the role and no token."""
        choices = [{"finish_reason": None, "index": 0, "delta": {"role": "assistant", "content": None}}]
        total = self.cache_n + self.prompt_n
        for part in (0.5, 1.0):
            progress = {
                "total": total,
                "cache": self.cache_n,
                "processed": self.cache_n + round(part * self.prompt_n),
                "time_ms": round(part * self.schedule.at(1) * 1000, 3),
            }
            yield Write(part * self.schedule.at(1), self._event(choices, prompt_progress=progress))

    def _last(self, tokens: Length) -> bytes:
        """The finish chunk, the usage chunk if asked for, `[DONE]`; `timings` on the last chunk."""
        finish = tokens.finish
        calls = self.faults.tool_call_after is not None or self.faults.tool_calls
        if calls and finish == "stop":
            finish = "tool_calls"
        choices = [{"finish_reason": finish, "index": 0, "delta": {}}]
        verbose = {"__verbose": {"id_slot": self.slot}} if self.body.verbose and not self.plain else {}
        extra = {} if self.plain else {"timings": timings(self.schedule, self.cache_n, self.prompt_n, tokens.tokens)}
        if not self.body.usage:
            return self._event(choices, **verbose, **extra) + DONE
        usage: dict[str, Any] = {
            "completion_tokens": tokens.tokens,
            "prompt_tokens": self.cache_n + self.prompt_n,
            "total_tokens": tokens.tokens + self.cache_n + self.prompt_n,
        }
        if not self.plain:
            usage["prompt_tokens_details"] = {"cached_tokens": self.cache_n}
        return self._event(choices, **verbose) + self._event([], usage=usage, **extra) + DONE


GOOD = Faults()
