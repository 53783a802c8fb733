"""The stream reader, byte by byte, against streams as llama-server and others write them.

Each case is a line of what such readers got wrong in the field: see the comments.
"""

import asyncio
import itertools

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from loadsim.server.api import Reply, Speakable
from loadsim.server.stream import Stream
from tests.calls import any_text


def event(delta: object = None, finish: str | None = None, end: bytes = b"\n\n", **more: object) -> bytes:
    """One event with one choice, as llama-server writes it."""
    choice = {"index": 0, "delta": delta if delta is not None else {}, "finish_reason": finish}
    chunk = {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": [choice]}
    return b"data: " + msgspec.json.encode(chunk | more) + end


def timed(text: str, n: int, ms: float) -> bytes:
    """A chunk with llama-server's cumulative counts."""
    return event({"content": text}, timings=timings(n, ms))


def timings(n: int, ms: float) -> dict[str, object]:
    return {"cache_n": 10, "prompt_n": 5, "prompt_ms": 7.5, "predicted_n": n, "predicted_ms": ms}


ROLE = event({"role": "assistant", "content": None})
STOP = event({}, "stop")
DONE = b"data: [DONE]\n\n"


def read(*reads: bytes, speakable: Speakable = any_text, whole: bool = True) -> Reply:
    """The reply of a body that arrives in `reads`, at times 1, 2, 3 …; then its end."""

    async def main() -> Reply:
        reply = Reply(0.0, speakable)
        stream = Stream(reply)
        for t, data in enumerate(reads, 1):
            stream.feed(float(t), data)
        if whole:
            stream.finish(len(reads) + 1.0)
        return reply

    return asyncio.run(main())


def test_a_plain_reply() -> None:
    reply = read(ROLE, timed("Hel", 1, 0.0), timed("lo.", 2, 20.0), STOP, DONE)
    assert (reply.outcome, reply.error, reply.finish) == ("ok", None, "stop")
    assert "".join(reply.text) == "Hello."
    assert reply.token_s == [2.0, 3.0]
    assert reply.token_ms == [0.0, 20.0]
    assert (reply.first.t, reply.last, reply.ended.t, reply.chunks) == (2.0, 3.0, 5.0, 2)
    assert reply.counted
    assert reply.timings is not None
    assert (reply.timings.cache_n, reply.timings.prompt_n, reply.timings.prompt_ms) == (10, 5, 7.5)


# vllm 15106, 3759: an empty role chunk counted as the first token; evalscope 1694: a missing first token counted as 0
@pytest.mark.parametrize(
    "delta", [{"role": "assistant", "content": None}, {"role": "assistant", "content": ""}, {}, {"content": None}]
)
def test_a_chunk_without_output_is_no_token(delta: dict[str, object]) -> None:
    reply = read(event(delta), event(delta), STOP, DONE)
    assert (reply.outcome, reply.first.t, reply.chunks, reply.token_s) == ("empty", None, 0, [])


# llama.cpp 15827
def test_prompt_progress_is_no_token() -> None:
    progress = event({"role": "assistant", "content": None}, prompt_progress={"total": 9, "cache": 3, "processed": 6})
    reply = read(ROLE, progress, progress, timed("a", 1, 0.0), STOP, DONE)
    assert (reply.first.t, reply.token_s) == (4.0, [4.0])


# inference-perf 452: role, usage and [DONE] in the gaps
def test_finish_usage_and_done_are_no_tokens() -> None:
    usage = b'data: {"choices":[],"usage":{"completion_tokens":1,"prompt_tokens":15},"timings":{"predicted_n":2}}\n\n'
    reply = read(ROLE, timed("a", 1, 0.0), STOP, usage, DONE)
    assert (reply.token_s, reply.last, reply.completion_tokens, reply.prompt_tokens) == ([2.0], 2.0, 1, 15)
    assert reply.timings is not None
    assert reply.timings.predicted_n == 2  # the end token counts, but nobody hears it


def test_timings_are_the_last_ones_wherever_they_stand() -> None:
    reply = read(timed("a", 1, 0.0), event({}, "stop", timings=timings(2, 11.0)), DONE)
    assert reply.timings is not None
    assert (reply.timings.predicted_n, reply.timings.predicted_ms) == (2, 11.0)


# inference-perf 410: chunks counted as tokens
def test_several_tokens_in_a_chunk_are_counted_as_the_server_does() -> None:
    reply = read(timed("one two", 5, 80.0), timed(" three", 6, 100.0), timed(" four five", 8, 140.0), STOP, DONE)
    assert reply.token_s == [1.0] * 5 + [2.0] + [3.0] * 2
    assert reply.token_ms == [80.0] * 5 + [100.0] + [140.0] * 2
    assert reply.chunks == 3


def test_one_token_in_several_deltas_is_one_token() -> None:
    reply = read(timed("a", 1, 0.0), timed("b", 1, 0.0), timed("c", 2, 20.0), STOP, DONE)
    assert (reply.token_s, reply.chunks, "".join(reply.text)) == ([1.0, 3.0], 3, "abc")


def test_held_utf8_has_no_chunk_and_its_tokens_come_with_the_next_one() -> None:
    # tokens 2 and 3 are halves of an emoji; the server sends it whole with token 4
    reply = read(timed("a", 1, 0.0), timed("\N{GRINNING FACE}", 4, 60.0), STOP, DONE)
    assert reply.token_s == [1.0, 2.0, 2.0, 2.0]
    assert "".join(reply.text) == "a\N{GRINNING FACE}"


# guidellm 737, 835: reasoning ignored
@pytest.mark.parametrize("field", ["reasoning_content", "reasoning"])
def test_reasoning_is_a_token_but_not_spoken(field: str) -> None:
    reply = read(ROLE, event({field: "hm"}), event({"content": "Yes."}), STOP, DONE)
    assert (reply.first.t, reply.speech.t) == (2.0, 3.0)
    assert (reply.reasoning, reply.text) == (["hm"], ["Yes."])


def test_a_tool_call_in_fragments() -> None:
    reply = read(
        ROLE,
        event({"tool_calls": [{"index": 0, "id": "c1", "function": {"name": "find", "arguments": "{"}}]}),
        event({"tool_calls": [{"index": 0, "function": {"arguments": '"a":1'}}]}),
        event({"tool_calls": [{"index": 1, "id": "c2", "function": {"name": "book", "arguments": "{}"}}]}),
        event({"tool_calls": [{"index": 0, "function": {"arguments": "}"}}]}),
        event({}, "tool_calls"),
        DONE,
    )
    assert (reply.outcome, reply.finish, reply.first.t, reply.chunks) == ("ok", "tool_calls", 2.0, 4)
    assert reply.calls == {
        0: {"id": "c1", "name": "find", "arguments": '{"a":1}'},
        1: {"id": "c2", "name": "book", "arguments": "{}"},
    }
    assert reply.speech.t is None


# guidellm 795, llama.cpp 14566: an error in a 200 stream counted as a success
def test_an_error_inside_the_stream() -> None:
    error = b'data: {"error":{"code":500,"message":"Compute error.","type":"server_error"}}\n\n'
    reply = read(ROLE, timed("a", 1, 0.0), error)
    assert (reply.outcome, reply.error, reply.token_s) == ("error", "500: Compute error.", [2.0])


@pytest.mark.parametrize(
    ("error", "said"),
    [('"boom"', "boom"), ('{"message":"no"}', "no"), ('{"a":1}', '{"a":1}'), ("[1]", "[1]")],
)
def test_errors_of_other_shapes(error: str, said: str) -> None:
    assert read(f'data: {{"error":{error}}}\n\n'.encode()).error == said


def test_no_done_after_a_finish_is_whole_and_without_one_is_not() -> None:
    assert read(ROLE, timed("a", 1, 0.0), STOP).outcome == "ok"
    cut = read(ROLE, timed("a", 1, 0.0))
    assert (cut.outcome, cut.token_s) == ("error", [2.0])
    assert cut.error == "the stream ended in mid-reply, after 1 tokens"


def test_an_empty_body_is_an_error() -> None:
    assert read().error == "the stream ended in mid-reply, after 0 tokens"


def test_what_follows_done_changes_nothing() -> None:
    reply = read(ROLE, timed("a", 1, 0.0), STOP, DONE, timed("b", 2, 1.0), b'data: {"error":"late"}\n\n')
    assert (reply.outcome, reply.text, reply.ended.t) == ("ok", ["a"], 4.0)


@pytest.mark.parametrize(
    "broken", [b"data: {oops\n\n", b"data: \xff\xfe\n\n", b"data: 5\n\n", b'data: {"choices":7}\n\n']
)
def test_an_event_that_is_no_chunk_is_an_error_that_shows_it(broken: bytes) -> None:
    reply = read(timed("a", 1, 0.0), broken)
    assert reply.outcome == "error"
    assert reply.error is not None
    assert reply.error.startswith("an event that cannot be read")
    assert reply.token_s == [1.0]


def test_comments_other_fields_and_crlf() -> None:
    body = b": keep-alive\r\n\r\nevent: message\r\nid: 7\r\nretry: 10\r\n" + event({"content": "a"}, end=b"\r\n\r\n")
    reply = read(body, b":\n\n", STOP, DONE.replace(b"\n", b"\r\n"))
    assert (reply.outcome, reply.text, reply.token_s) == ("ok", ["a"], [1.0])


def test_data_without_a_space_and_over_several_lines() -> None:
    reply = read(b'data:{"choices":[{"delta":\ndata:{"content":"a"}}]}\n\n', STOP, b"data:[DONE]\n\n")
    assert (reply.outcome, reply.text) == ("ok", ["a"])


def test_a_last_event_without_its_empty_line() -> None:
    assert read(timed("a", 1, 0.0), STOP, b"data: [DONE]").outcome == "ok"
    assert read(timed("a", 1, 0.0), STOP.rstrip(b"\n")).finish == "stop"


def test_several_events_in_a_read_share_its_time() -> None:
    reply = read(ROLE + timed("a", 1, 0.0) + timed("b", 2, 20.0), timed("c", 3, 40.0) + STOP + DONE)
    assert reply.token_s == [1.0, 1.0, 2.0]


def test_null_fields_everywhere() -> None:
    nulls = b'data: {"choices":[{"delta":{"content":"a","tool_calls":null,"reasoning_content":null,"role":null},'
    nulls += b'"finish_reason":null,"logprobs":null}],"usage":null,"timings":null,"error":null}\n\n'
    reply = read(nulls, b'data: {"choices":null}\n\n', b'data: {"choices":[{"delta":null,"finish_reason":"stop"}]}\n\n')
    assert (reply.outcome, reply.text, reply.counted) == ("ok", ["a"], False)


def test_a_server_without_timings_counts_a_chunk_as_a_token_and_says_so() -> None:
    usage = b'data: {"choices":[],"usage":{"completion_tokens":2,"prompt_tokens":9}}\n\n'
    reply = read(ROLE, event({"content": "a"}), event({"content": "b"}), STOP, usage, DONE)
    assert (reply.token_s, reply.token_ms, reply.counted, reply.timings) == ([2.0, 3.0], [], False, None)
    assert reply.completion_tokens == 2


def test_speech_begins_with_the_first_speakable_text_or_with_the_whole() -> None:
    reply = read(
        timed("Well", 1, 0.0),
        timed(", yes", 2, 9.0),
        timed(".", 3, 9.0),
        STOP,
        DONE,
        speakable=lambda text, _: "," in text,
    )
    assert reply.speech.t == 2.0
    whole = read(timed("Well", 1, 0.0), STOP, DONE, speakable=lambda _, __: False)
    assert whole.speech.t == whole.ended.t == 3.0


def test_the_slot_that_served_it_where_the_server_tells() -> None:
    last = event({}, "stop", __verbose={"id_slot": 11, "prompt": "long", "timings": {"prompt_n": 1}})
    assert read(timed("a", 1, 0.0), last, DONE).slot == 11
    assert read(timed("a", 1, 0.0), STOP, DONE).slot is None


def test_hang_up_keeps_what_came() -> None:
    async def main() -> Reply:
        reply = Reply(0.0, any_text)
        Stream(reply).feed(1.0, timed("a", 1, 0.0))
        reply.hang_up()
        reply.end(9.0, "ok")
        return reply

    reply = asyncio.run(main())
    assert (reply.outcome, reply.token_s, reply.speech.is_set()) == ("cut", [1.0], True)


WHOLE = (
    b": hello\n\n" + ROLE + timed("Gr\N{LATIN SMALL LETTER U WITH DIAERESIS}n ", 1, 0.0)
    + timed("\N{GRINNING FACE}", 3, 40.0) + event({"content": " \r\n data: x"}, end=b"\r\n\r\n") + STOP + DONE
)  # fmt: skip


@given(st.lists(st.integers(0, len(WHOLE)), max_size=30))
def test_wherever_the_stream_is_cut_the_reply_is_the_same(cuts: list[int]) -> None:
    edges = [0, *sorted(cuts), len(WHOLE)]
    reply = read(*(WHOLE[a:b] for a, b in itertools.pairwise(edges)))
    assert reply.outcome == "ok"
    assert "".join(reply.text) == "Gr\N{LATIN SMALL LETTER U WITH DIAERESIS}n \N{GRINNING FACE} \r\n data: x"
    assert len(reply.token_s) == 4
    assert reply.token_s == sorted(reply.token_s)


@given(st.lists(st.binary(max_size=40), max_size=10))
def test_no_bytes_raise(reads: list[bytes]) -> None:
    assert read(*reads).outcome in ("error", "ok", "empty")


# -- llama-server's own route, its events as build 11549 wrote them


def native(text: str, n: int, ms: float) -> bytes:
    data = {"index": 0, "content": text, "tokens": [307], "stop": False, "id_slot": -1, "tokens_predicted": n}
    return b"data: " + msgspec.json.encode(data | {"timings": timings(n, ms)}) + b"\n\n"


def last(why: str, n: int = 2) -> bytes:
    data = {"content": "", "stop": True, "stop_type": why, "id_slot": 3, "timings": timings(n, 20.0)}
    return b"data: " + msgspec.json.encode(data) + b"\n\n"


@pytest.mark.parametrize(("why", "finish"), [("limit", "length"), ("eos", "stop"), ("word", "stop")])
def test_a_native_reply_fills_the_same_fields(why: str, finish: str) -> None:
    reply = read(native(" to", 1, 0.001), native(" Friday.", 2, 20.0), last(why))
    assert (reply.outcome, reply.error, reply.finish, reply.slot) == ("ok", None, finish, 3)
    assert "".join(reply.text) == " to Friday."
    assert (reply.token_s, reply.token_ms, reply.chunks) == ([1.0, 2.0], [0.001, 20.0], 2)
    assert (reply.first.t, reply.speech.t, reply.last, reply.ended.t) == (1.0, 1.0, 2.0, 3.0)
    assert reply.timings is not None
    assert (reply.timings.cache_n, reply.timings.prompt_n, reply.timings.predicted_n) == (10, 5, 2)


def test_native_progress_is_no_token_and_a_native_stream_has_its_own_end() -> None:
    assert read(native("", 0, 0.0), native("a", 1, 0.0), last("eos")).token_s == [2.0]
    assert read(native("", 0, 0.0), last("limit", 1)).outcome == "empty"
    assert "in mid-reply, after 1 tokens" in (read(native("a", 1, 0.0)).error or "")
