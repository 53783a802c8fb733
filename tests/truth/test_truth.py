"""The truth server keeps its schedule, logs what it does, and each fault does what it says."""

import asyncio
import statistics
import subprocess
import sys
import time
from typing import Any

import msgspec
import pytest
import uvloop

from . import Entry, Faults, Request, Schedule, Truth, serve
from .asking import FAST, HELLO, SLACK, ask, chat, during, one
from .prompt import common_prefix, render, tokenize
from .slots import Slots
from .stream import ChatBody, length

# -- the schedule and the log


def test_tokens_are_written_on_the_schedule_never_early_and_without_drift() -> None:
    answer, entry = one(first=0.1, step=0.01, tokens=30, asked={"ignore_eos": True, "max_tokens": 30})
    late = [wrote - entry.received_s - 0.1 - 0.01 * n for n, wrote in enumerate(entry.token_s)]
    assert len(late) == 30
    assert min(late) >= 0
    assert statistics.median(late) < SLACK
    assert answer.done
    assert entry.outcome == "done"


def test_the_log_is_what_a_client_sees() -> None:
    answer, entry = one(asked={"ignore_eos": True, "max_tokens": 10, "truth_id": "a"})
    reads = [t for t, data in answer.reads if b'"content":"' in data]
    assert entry.truth_id == "a"
    assert entry.headers_s is not None
    assert entry.headers_s < answer.reads[0][0]
    between = [seen - wrote for seen, wrote in zip(reads, entry.token_s, strict=False)]
    assert min(between) > 0
    assert statistics.median(between) < SLACK
    assert entry.ended_s is not None
    assert entry.ended_s >= entry.token_s[-1]


def test_headers_come_at_once_or_with_the_first_token() -> None:
    at_once, entry = one()
    assert b'"role":"assistant","content":null' in at_once.reads[0][1]
    assert entry.headers_s is not None
    assert entry.headers_s < entry.token_s[0]
    late, entry = one(headers="first")
    assert entry.headers_s == entry.token_s[0]
    assert b'"content":"Certainly"' in late.reads[0][1]


def test_timings_are_cumulative_and_on_the_schedules_clock() -> None:
    answer, _ = one(asked={"ignore_eos": True, "max_tokens": 10})
    counted = [event["timings"] for event in answer.events[1:]]
    assert [timings["predicted_n"] for timings in counted] == [*range(1, 11), 10]
    assert [timings["predicted_ms"] for timings in counted] == [*(5.0 * n for n in range(10)), 45.0]
    assert {timings["prompt_ms"] for timings in counted} == {30.0}
    assert counted[0]["predicted_per_second"] is None
    assert counted[-1]["predicted_per_second"] == pytest.approx(200)


def test_without_timings_per_token_only_the_last_chunk_has_them_and_usage_takes_them_over() -> None:
    answer, _ = one(asked={"timings_per_token": False})
    assert ["timings" in event for event in answer.events] == [False] * 10 + [True]
    answer, _ = one(asked={"timings_per_token": False, "stream_options": {"include_usage": True}})
    *_, finish, usage = answer.events
    assert finish["choices"][0]["finish_reason"] == "stop"
    assert "timings" not in finish
    assert usage["choices"] == []
    assert usage["usage"]["completion_tokens"] == usage["timings"]["predicted_n"] == 10
    prompt_tokens = usage["timings"]["cache_n"] + usage["timings"]["prompt_n"]
    assert usage["usage"]["prompt_tokens"] == prompt_tokens == len(tokenize(render(HELLO)))


def test_a_verbose_request_learns_its_slot() -> None:
    answer, _ = one(asked={"id_slot": 3, "verbose": True, "response_fields": ["id_slot"]})
    assert [event["__verbose"] for event in answer.events if "__verbose" in event] == [{"id_slot": 3}]


def test_a_free_reply_ends_with_a_token_that_has_no_text() -> None:
    answer, entry = one()
    assert len(answer.deltas("content")) == 9
    assert len(entry.token_s) == 10
    assert answer.events[-1]["timings"]["predicted_n"] == 10


@pytest.mark.parametrize(
    ("asked", "want"),
    [
        ({}, (10, "stop")),
        ({"max_tokens": 4}, (4, "length")),
        ({"max_tokens": 40}, (10, "stop")),
        ({"max_tokens": 40, "ignore_eos": True}, (40, "length")),
        ({"n_predict": 3}, (3, "length")),
        ({"max_tokens": 0}, (1, "length")),
        ({"max_tokens": -1}, (10, "stop")),
    ],
)
def test_length(asked: dict[str, Any], want: tuple[int, str]) -> None:
    assert length(Schedule(tokens=10), ChatBody(messages=[], **asked)) == want


def test_many_streams_keep_the_schedule() -> None:
    async def test(truth: Truth) -> None:
        async with asyncio.TaskGroup() as group:
            for caller in range(50):
                group.create_task(chat(truth, id_slot=caller))
        late = [
            wrote - entry.received_s - truth.options.at(n)
            for entry in truth.log
            for n, wrote in enumerate(entry.token_s, 1)
        ]
        assert len(late) == 500
        assert min(late) >= 0
        assert statistics.median(late) < SLACK

    during(test, slots=50)


def test_a_server_that_becomes_slower_and_grows() -> None:
    """Twice as slow from the start, so that the nine steps after the first token take 90 ms, which it tells too."""
    answer, entry = one(slower=((0, 2), (10, 2)))
    assert entry.token_s[-1] - entry.token_s[0] >= 0.09 - 0.003
    assert answer.events[-1]["timings"]["predicted_ms"] == pytest.approx(90)

    async def test(truth: Truth) -> None:
        held, lasted = [], []
        began = time.monotonic()
        for wait in (0.05, 0.1):
            await asyncio.sleep(wait)
            await chat(truth)
            held.append(sum(map(len, truth._leaked)) / (1 << 20))
            lasted.append(time.monotonic() - began)
        # 1,000 MiB a second, in steps, as long as it has run
        assert 20 < held[0] < 1000 * lasted[0] + 30
        assert 100 < held[1] - held[0] < 1000 * (lasted[1] - lasted[0]) + 30

    during(test, leak=1000)


# -- routes


def test_routes() -> None:
    async def test(truth: Truth) -> None:
        async def get(path: str) -> Any:
            return (await ask(truth.url, "GET", path)).json

        async def post(path: str, body: Any) -> Any:
            return (await ask(truth.url, "POST", path, body)).json

        assert await get("/health") == {"status": "ok"}
        props = await get("/props")
        assert props["total_slots"] == 12
        assert props["default_generation_settings"]["n_ctx"] == 32768
        assert [slot["id"] for slot in await get("/slots")] == [*range(12)]
        assert (await get("/v1/models"))["data"][0]["id"] == "truth"
        prompt = (await post("/apply-template", {"messages": HELLO}))["prompt"]
        assert prompt == render(HELLO)
        assert (await post("/tokenize", {"content": prompt}))["tokens"] == tokenize(prompt)
        assert (await get("/nothing"))["error"]["type"] == "not_found_error"
        assert (await post("/tokenize", {}))["error"]["code"] == 400
        assert (await get("/metrics"))["error"]["code"] == 501
        await chat(truth, truth_id="b")
        log = await ask(truth.url, "GET", "/truth")
        assert msgspec.json.decode(log.body, type=Entry) == truth.log[0]

    during(test)


def test_a_plain_server_has_no_extras() -> None:
    async def test(truth: Truth) -> None:
        for path in ("/props", "/slots", "/metrics"):
            assert (await ask(truth.url, "GET", path)).status == 404
        answer = await chat(truth, stream_options={"include_usage": True}, return_progress=True)
        assert b"timings" not in answer.body
        assert b"prompt_progress" not in answer.body
        assert answer.events[-1]["usage"]["completion_tokens"] == 10
        assert answer.done

    during(test, plain=True)


def test_metrics_where_asked_for() -> None:
    async def test(truth: Truth) -> None:
        await chat(truth)
        metrics = (await ask(truth.url, "GET", "/metrics")).body
        assert b"llamacpp:tokens_predicted_total 10\n" in metrics

    during(test, metrics=True)


def test_the_key_is_asked_for_and_seen() -> None:
    async def test(truth: Truth) -> None:
        refused = await chat(truth)
        assert (refused.status, refused.json["error"]["type"]) == (401, "authentication_error")
        assert (await ask(truth.url, "GET", "/health")).status == 200
        assert (await chat(truth, headers="Authorization: Bearer k\r\n")).done
        assert truth.requests[-1].headers["authorization"] == "Bearer k"
        assert truth.requests[-1].json["messages"] == HELLO

    during(test, api_key="k")


def test_loading_ends() -> None:
    async def test(truth: Truth) -> None:
        loading = await ask(truth.url, "GET", "/health")
        assert (loading.status, loading.json["error"]["message"]) == (503, "Loading model")
        await asyncio.sleep(0.5)
        assert (await ask(truth.url, "GET", "/health")).status == 200

    during(test, loading=0.5)


def test_a_prompt_over_the_context_is_refused() -> None:
    answer, entry = one(context=5)
    error = answer.json["error"]
    assert answer.status == 400
    assert error["type"] == "exceed_context_size_error"
    assert (error["n_prompt_tokens"], error["n_ctx"]) == (len(tokenize(render(HELLO))), 5)
    assert (entry.outcome, entry.status) == ("refused", 400)


# -- prompts and slots


def test_tokens_are_words_marks_spaces_and_punctuation() -> None:
    assert len(tokenize("<|im_start|>user\nHello,  Zürich!")) == 8
    assert tokenize("a b")[:1] == tokenize("a")


def test_a_longer_chat_begins_with_the_shorter_one() -> None:
    longer = [*HELLO, {"role": "assistant", "content": "Me."}, {"role": "user", "content": "Good."}]
    assert render(longer).startswith(render(HELLO))
    assert render(longer[:3]) == render(HELLO) + "Me."


@pytest.mark.parametrize(
    ("a", "b"), [([], []), ([1], []), ([1, 2, 3], [1, 2]), ([1, 2, 3, 4], [1, 2, 9, 4]), ([5], [6])]
)
def test_common_prefix(a: list[int], b: list[int]) -> None:
    want = next((n for n, (x, y) in enumerate(zip(a, b, strict=False)) if x != y), min(len(a), len(b)))
    assert common_prefix(a, b) == want


def test_a_slot_reuses_what_its_last_prompt_shares() -> None:
    slots = Slots(2, defer=True)

    def evaluated(tokens: list[int], wanted: int | None = None, cache: bool = True) -> tuple[int, int, int]:
        slot = slots.take(tokens, wanted, cache)
        assert slot is not None
        slot.busy = False
        return slot.number, slot.cache_n, slot.prompt_n

    assert evaluated([1, 2, 3], 0) == (0, 0, 3)
    assert evaluated([1, 2, 3, 4, 5], 0) == (0, 3, 2)  # an extension
    assert evaluated([1, 2, 9], 0) == (0, 2, 1)  # a rewind
    assert evaluated([1, 2, 9], 0) == (0, 2, 1)  # the same again evaluates one token
    assert evaluated([1, 2, 9], 0, cache=False) == (0, 0, 3)
    assert evaluated([7, 8]) == (1, 0, 2)  # nothing alike: the least recently used
    assert evaluated([1, 2, 9, 9]) == (0, 3, 1)  # the one that holds most of it
    assert evaluated([6]) == (1, 0, 1)


def test_requests_wait_for_a_slot_in_their_order_and_the_schedule_counts_from_it() -> None:
    async def test(truth: Truth) -> None:
        async with asyncio.TaskGroup() as group:
            for name in "abc":
                group.create_task(chat(truth, truth_id=name))
                await asyncio.sleep(0.01)
            slots = (await ask(truth.url, "GET", "/slots")).json
            assert slots[0]["is_processing"]
        a, b, c = truth.log
        assert [a.truth_id, b.truth_id, c.truth_id] == ["a", "b", "c"]
        assert a.ended_s is not None
        assert b.started_s is not None
        assert c.started_s is not None
        assert a.ended_s <= b.started_s < c.started_s
        assert b.token_s[0] - b.started_s >= 0.03

    during(test, slots=1)


def test_who_waits_for_a_pinned_slot_holds_up_nobody_else() -> None:
    async def test(truth: Truth) -> None:
        await asyncio.gather(
            *(chat(truth, truth_id=name, id_slot=slot) for name, slot in (("a", 0), ("b", 0), ("c", 1)))
        )
        entries = {entry.truth_id: entry for entry in truth.log}
        assert [entries[name].slot for name in "abc"] == [0, 0, 1]
        assert entries["c"].started_s == entries["c"].received_s

    during(test, slots=2)


def test_without_defer_nobody_waits() -> None:
    async def test(truth: Truth) -> None:
        await asyncio.gather(chat(truth), chat(truth))
        assert all(entry.started_s == entry.received_s for entry in truth.log)

    during(test, slots=1, defer=False)


def test_a_client_that_leaves_frees_its_slot() -> None:
    async def test(truth: Truth) -> None:
        await chat(truth, wait=0.04)
        assert (await chat(truth, max_tokens=3)).done
        assert truth.log[0].outcome == "gone"
        assert len(truth.log[0].token_s) < 1000
        assert not (await ask(truth.url, "GET", "/slots")).json[0]["is_processing"]

    during(test, slots=1, tokens=1000)


# -- faults


@pytest.mark.parametrize("status", [400, 401, 404, 500, 501, 503])
def test_an_error_in_place_of_the_stream(status: int) -> None:
    answer, entry = one(faults=Faults(status=status))  # type: ignore[arg-type]
    assert answer.status == answer.json["error"]["code"] == status
    assert answer.json["error"].keys() == {"code", "message", "type"}
    assert entry.status == status


def test_an_error_inside_the_stream() -> None:
    answer, entry = one(faults=Faults(error_after=3))
    assert (answer.status, answer.ended, answer.done) == (200, "whole", False)
    assert answer.events[-1]["error"]["code"] == 500
    assert (len(entry.token_s), entry.outcome) == (3, "fault")


@pytest.mark.parametrize("after", [0, 1, 4])
@pytest.mark.parametrize(
    ("fault", "ended"),
    [("end_after", "whole"), ("close_after", "closed"), ("reset_after", "reset"), ("silence_after", "silent")],
)
def test_a_reply_that_stops(fault: str, ended: str, after: int) -> None:
    answer, entry = one(faults=msgspec.convert({fault: after}, Faults), asked={"wait": 0.3})
    assert (answer.ended, answer.done) == (ended, False)
    assert len(entry.token_s) == after
    if ended != "reset":  # a reset may drop what was not read yet
        assert len(answer.deltas("content")) == after


def test_a_connection_that_closes_without_an_answer() -> None:
    answer, _ = one(headers="first", faults=Faults(close_after=0))
    assert (answer.reads, answer.ended) == ([], "closed")


def test_comment_lines_come_alone() -> None:
    answer, _ = one(faults=Faults(comments=True), step=0.02)
    assert any(data.endswith(b"\r\n:\n\n\r\n") and b"data" not in data for _, data in answer.reads)
    assert answer.body.count(b":\n\n") == 11
    assert answer.done


def test_several_events_in_one_write() -> None:
    answer, entry = one(faults=Faults(coalesce=3), asked={"ignore_eos": True})
    assert [entry.token_s.count(t) for t in sorted(set(entry.token_s))] == [2, 3, 3, 2]
    assert [event["timings"]["predicted_n"] for event in answer.events[1:]] == [*range(1, 11), 10]
    assert answer.done


def test_events_split_anywhere_are_the_same_bytes() -> None:
    whole, _ = one(words=("é", "東", "🙂"))
    split, entry = one(words=("é", "東", "🙂"), faults=Faults(split=1))
    assert split.body == whole.body
    assert len(split.reads) > len(whole.reads)
    assert all(wrote - entry.received_s >= 0.03 for wrote in entry.token_s)
    assert not all(data.endswith(b"\n\n\r\n") for _, data in split.reads)


def test_crlf() -> None:
    whole, _ = one()
    crlf, _ = one(faults=Faults(crlf=True))
    assert crlf.body == whole.body.replace(b"\n", b"\r\n")


def test_five_tokens_a_chunk() -> None:
    answer, entry = one(faults=Faults(tokens_per_chunk=5), asked={"ignore_eos": True})
    assert [event["timings"]["predicted_n"] for event in answer.events[1:-1]] == [5, 10]
    assert answer.deltas("content")[0] == "Certainly, I can look"
    assert [entry.token_s.count(t) for t in sorted(set(entry.token_s))] == [5, 5]
    assert entry.token_s[0] - entry.received_s >= 0.03 + 4 * 0.005


def test_held_tokens_come_with_the_next_one() -> None:
    answer, entry = one(faults=Faults(held=(1, 4)), asked={"ignore_eos": True})
    assert [event["timings"]["predicted_n"] for event in answer.events[1:-1]] == [2, 3, 5, 6, 7, 8, 9, 10]
    assert entry.token_s[0] == entry.token_s[1]


def test_reasoning_first() -> None:
    answer, _ = one(faults=Faults(reasoning=4))
    assert len(answer.deltas("reasoning_content")) == 4
    assert len(answer.deltas("content")) == 5


@pytest.mark.parametrize("per_chunk", [1, 4])
def test_a_tool_call_in_fragments(per_chunk: int) -> None:
    answer, _ = one(faults=Faults(tool_call_after=2, tokens_per_chunk=per_chunk))
    calls = [call for calls in answer.deltas("tool_calls") for call in calls]
    assert (calls[0]["id"], calls[0]["function"]["name"]) == ("call_1", "look_up")
    assert "".join(answer.deltas("content")) == "Certainly,"
    assert msgspec.json.decode("".join(call["function"]["arguments"] for call in calls)) == {
        "query": " can look that up for you"
    }
    assert answer.events[-1]["choices"][0]["finish_reason"] == "tool_calls"


def test_progress_where_asked_for() -> None:
    answer, entry = one(asked={"return_progress": True})
    progress = [event["prompt_progress"] for event in answer.events if "prompt_progress" in event]
    assert [part["processed"] for part in progress] == [round(progress[0]["total"] / 2), progress[0]["total"]]
    assert all("timings" not in event for event in answer.events if "prompt_progress" in event)
    assert len(entry.token_s) == 10


def test_bodies_up_to_the_connections_end() -> None:
    answer, entry = one(body="close")
    assert "chunked" not in answer.headers
    assert (answer.ended, answer.done, entry.outcome) == ("closed", True, "done")


def test_a_request_brings_its_own_faults_and_a_bad_one_is_named() -> None:
    async def test(truth: Truth) -> None:
        assert not (await chat(truth, truth_fault={"end_after": 2})).done
        assert (await chat(truth)).done
        refused = await chat(truth, truth_fault={"end_before": 2})
        assert refused.status == 400
        assert "end_before" in refused.json["error"]["message"]

    during(test)


def test_a_test_can_choose_the_faults() -> None:
    def choose(request: Request) -> Faults:
        return Faults(status=500) if len(seen) == 1 else Faults()

    seen: list[int] = []

    async def run() -> None:
        async with serve(**FAST, choose=choose) as truth:
            for _ in range(2):
                seen.append((await chat(truth)).status)

    uvloop.run(run())
    assert seen == [200, 500]


# -- its own process


def test_the_process_says_where_it_is_and_ends_with_its_input(tmp_path: Any) -> None:
    log = tmp_path / "log.jsonl"
    command = [sys.executable, "-m", "tests.truth", "--log", str(log), "first=0.01", "step=0.001", "tokens=3"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdin is not None
        url = msgspec.json.decode(process.stdout.readline())["url"]
        body = {"messages": HELLO, "stream": True}
        answer = uvloop.run(ask(url, "POST", "/v1/chat/completions", body, headers="X-Truth-Id: c\r\n"))
        assert answer.done
        process.stdin.close()
        assert process.wait(5) == 0
    entry = msgspec.json.decode(log.read_bytes(), type=Entry)
    assert (entry.truth_id, len(entry.token_s), entry.outcome) == ("c", 3, "done")
