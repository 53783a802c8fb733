"""What a test chooses of a single reply: its text, its tool calls, its times, and how its slot is let go."""

import asyncio
import statistics
import time
from collections.abc import Callable
from typing import Any

import msgspec
import pytest
import uvloop

from . import Faults, Request, Truth, serve
from .asking import FAST, LATE, SLACK, Answer, ask, chat, during, one

FIND = ("find", '{"who": "me"}')
FIND_PIECES = ["{", '"', "who", '"', ":", " ", '"', "me", '"', "}"]
STOP = ("stop", "{}")


def calls(answer: Answer) -> dict[int, dict[str, str]]:
    """A reply's tool calls, put together as a client does."""
    made: dict[int, dict[str, str]] = {}
    for part in (part for parts in answer.deltas("tool_calls") for part in parts):
        call = made.setdefault(part["index"], {"id": "", "name": "", "arguments": ""})
        call["id"] += part.get("id", "")
        call["name"] += part["function"].get("name", "")
        call["arguments"] += part["function"]["arguments"]
    return made


def text(answer: Answer) -> str:
    return "".join(answer.deltas("content"))


def finish(answer: Answer) -> str:
    return [event["choices"][0]["finish_reason"] for event in answer.events if event["choices"]][-1]  # type: ignore[no-any-return]


def in_turn(*faults: Faults) -> Callable[[Request], Faults]:
    """Faults for the first request, the second and so on."""
    left = iter(faults)
    return lambda request: next(left)


# -- tool calls


def test_a_chosen_call_is_all_that_the_reply_has() -> None:
    answer, entry = one(faults=Faults(tool_calls=(FIND,)))
    assert calls(answer) == {0: {"id": "call_1", "name": "find", "arguments": '{"who": "me"}'}}
    assert text(answer) == ""
    assert finish(answer) == "tool_calls"
    # by hand: a token opens the call, one for each piece, the end token
    assert len(entry.token_s) == 1 + len(FIND_PIECES) + 1 == answer.events[-1]["timings"]["predicted_n"]
    assert [part[0]["function"]["arguments"] for part in answer.deltas("tool_calls")] == ["", *FIND_PIECES]


@pytest.mark.parametrize("per_chunk", [1, 4, 50])
def test_two_chosen_calls_after_some_text(per_chunk: int) -> None:
    faults = Faults(tool_calls=(FIND, STOP), tool_call_after=2, words=("One", " moment"), tokens_per_chunk=per_chunk)
    answer, entry = one(faults=faults)
    assert calls(answer) == {
        0: {"id": "call_1", "name": "find", "arguments": '{"who": "me"}'},
        1: {"id": "call_2", "name": "stop", "arguments": "{}"},
    }
    assert text(answer) == "One moment"
    assert finish(answer) == "tool_calls"
    assert len(entry.token_s) == 2 + (1 + len(FIND_PIECES)) + (1 + 2) + 1


def test_calls_come_after_reasoning() -> None:
    answer, _ = one(faults=Faults(reasoning=3, tool_calls=(STOP,)))
    assert len(answer.deltas("reasoning_content")) == 3
    assert calls(answer)[0]["arguments"] == "{}"


def test_a_call_that_the_limit_cuts_is_torn() -> None:
    answer, entry = one(faults=Faults(tool_calls=(FIND,)), asked={"max_tokens": 5})
    assert calls(answer)[0]["arguments"] == '{"who"'
    assert (finish(answer), len(entry.token_s)) == ("length", 5)


def test_a_reply_that_must_not_end_goes_on_without_text_after_its_calls() -> None:
    answer, entry = one(faults=Faults(tool_calls=(STOP,)), asked={"max_tokens": 9, "ignore_eos": True})
    assert calls(answer)[0]["arguments"] == "{}"
    assert (finish(answer), text(answer), len(entry.token_s)) == ("length", "", 9)
    assert entry.token_s[-1] - entry.received_s >= 0.03 + 8 * 0.005


def test_a_call_for_one_request_and_text_for_the_next() -> None:
    async def run() -> None:
        choose = in_turn(Faults(tool_calls=(FIND,)), Faults(words=("Found", " you", ".")), Faults())
        async with serve(**FAST, choose=choose) as truth:
            call, words, usual = [await chat(truth) for _ in range(3)]
        assert (finish(call), calls(call)[0]["name"], text(call)) == ("tool_calls", "find", "")
        assert (finish(words), calls(words), text(words)) == ("stop", {}, "Found you.")
        assert text(usual) == "Certainly, I can look that up for you"

    uvloop.run(run())


# -- text


def test_chosen_words_are_the_whole_reply() -> None:
    answer, entry = one(faults=Faults(words=("Yes", ".", " Who", "?")))
    assert text(answer) == "Yes. Who?"
    assert (len(entry.token_s), finish(answer)) == (5, "stop")


def test_chosen_words_begin_again_where_the_reply_must_be_longer() -> None:
    answer, _ = one(faults=Faults(words=("Yes", ".")), asked={"max_tokens": 5, "ignore_eos": True})
    assert text(answer) == "Yes.Yes.Yes"
    answer, _ = one(faults=Faults(words=("Yes", "."), tokens=4))
    assert text(answer) == "Yes.Yes"


def test_a_chosen_length() -> None:
    answer, entry = one(faults=Faults(tokens=3))
    assert (text(answer), len(entry.token_s)) == ("Certainly,", 3)


@pytest.mark.parametrize("asked", [{}, {"max_tokens": 8, "ignore_eos": True}, {"max_tokens": 1}])
@pytest.mark.parametrize("headers", ["at_once", "first"])
def test_an_empty_reply_ends_well_and_has_nothing(asked: dict[str, Any], headers: str) -> None:
    answer, entry = one(faults=Faults(empty=True), headers=headers, asked=asked)
    assert (answer.done, finish(answer)) == (True, "stop")
    assert answer.deltas("content") == answer.deltas("tool_calls") == []
    assert answer.events[-1]["timings"]["predicted_n"] == 1
    assert (len(entry.token_s), entry.outcome) == (1, "done")


# -- times


def test_a_stall_of_known_length() -> None:
    answer, entry = one(faults=Faults(stall_after=4, stall=0.3))
    gaps = [b - a for a, b in zip(entry.token_s, entry.token_s[1:], strict=False)]
    # a write may come late, so the gap may be shorter than planned by as much, and any gap may be longer
    late = [wrote - entry.received_s - 0.03 - 0.005 * n - 0.3 * (n > 3) for n, wrote in enumerate(entry.token_s)]
    assert min(late) >= 0
    assert gaps[3] >= 0.305 - late[3]
    assert statistics.median(gaps) < SLACK
    assert entry.token_s[4] - entry.received_s >= 0.03 + 4 * 0.005 + 0.3
    told = [event["timings"]["predicted_ms"] for event in answer.events[1:]]
    assert told == [0, 5, 10, 15, 320, 325, 330, 335, 340, 345]


def test_a_stall_before_the_first_token_is_the_prompts_time() -> None:
    answer, entry = one(faults=Faults(stall=0.2))
    assert answer.events[1]["timings"]["prompt_ms"] == 230
    assert [event["timings"]["predicted_ms"] for event in answer.events[1:4]] == [0, 5, 10]
    assert entry.token_s[0] - entry.received_s >= 0.23
    assert entry.headers_s is not None
    assert entry.headers_s < entry.token_s[0]


def test_a_reply_with_times_of_its_own_beside_one_without() -> None:
    async def test(truth: Truth) -> None:
        slow = {"first": 0.2, "step": 0.02}
        async with asyncio.TaskGroup() as group:
            group.create_task(chat(truth, truth_id="slow", truth_fault=slow))
            group.create_task(chat(truth, truth_id="usual"))
        wrote = {entry.truth_id: [t - entry.received_s for t in entry.token_s] for entry in truth.log}
        assert wrote["slow"][0] >= 0.2
        assert wrote["slow"][-1] >= 0.2 + 9 * 0.02
        assert wrote["usual"][0] < wrote["slow"][0]

    during(test)


# -- refusals and silence, request by request


def test_refusals_and_silence_before_a_good_reply() -> None:
    async def run() -> None:
        choose = in_turn(Faults(status=503), Faults(status=500), Faults(silence_after=0), Faults())
        async with serve(**FAST, slots=1, choose=choose) as truth:
            loading, failed = await chat(truth), await chat(truth)
            assert (loading.status, failed.status) == (503, 500)
            assert (loading.json["error"]["type"], failed.json["error"]["type"]) == (
                "unavailable_error",
                "server_error",
            )
            silent = await chat(truth, wait=0.2)
            assert (silent.status, silent.ended) == (200, "silent")
            assert silent.deltas("content") == []
            assert b'"role":"assistant"' in silent.body
            good = await chat(truth)
            assert (good.done, text(good)) == (True, "Certainly, I can look that up for you")
            assert [entry.outcome for entry in truth.log] == ["refused", "refused", "gone", "done"]

    uvloop.run(run())


# -- letting go


async def busy_for(truth: Truth) -> float:
    """Seconds from now until /slots says that slot 0 is free, to 5 ms."""
    start = time.monotonic()
    while (await ask(truth.url, "GET", "/slots")).json[0]["is_processing"]:
        await asyncio.sleep(0.005)
    return time.monotonic() - start


@pytest.mark.parametrize("release", [0.0, 0.3])
def test_a_slot_is_let_go_a_known_time_after_its_client_left(release: float) -> None:
    async def test(truth: Truth) -> None:
        await chat(truth, wait=0.06, id_slot=0)
        assert release <= await busy_for(truth) + 0.01
        entry = truth.log[0]
        assert entry.outcome == "gone"
        assert entry.ended_s is not None
        assert entry.freed_s is not None
        assert release <= entry.freed_s - entry.ended_s < release + LATE

    during(test, tokens=1000, release=release)


def test_requests_for_a_slot_wait_until_it_is_let_go() -> None:
    async def test(truth: Truth) -> None:
        await chat(truth, wait=0.06, id_slot=0)
        async with asyncio.TaskGroup() as group:
            group.create_task(chat(truth, truth_id="same", id_slot=0, max_tokens=2))
            group.create_task(chat(truth, truth_id="other", id_slot=1, max_tokens=2))
        entries = {entry.truth_id: entry for entry in truth.log}
        left, same, other = entries[None], entries["same"], entries["other"]
        assert left.ended_s is not None
        assert same.started_s is not None
        assert left.freed_s is not None
        assert left.freed_s <= same.started_s < left.freed_s + LATE
        assert same.started_s - left.ended_s >= 0.3
        assert other.started_s == other.received_s

    during(test, tokens=1000, release=0.3, slots=2)


def test_a_reply_that_ends_well_lets_its_slot_go_at_once() -> None:
    async def test(truth: Truth) -> None:
        await chat(truth, id_slot=0)
        entry = truth.log[0]
        assert entry.freed_s is not None
        assert entry.ended_s is not None
        assert entry.freed_s - entry.ended_s < LATE

    during(test, release=1.0)


def test_what_a_request_chooses_can_come_as_json() -> None:
    faults = Faults(tool_calls=(FIND,), words=("a",), stall=0.1)
    assert msgspec.json.decode(msgspec.json.encode(faults), type=Faults) == faults
