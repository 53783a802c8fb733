"""The prompts of a caller: what each holds, and that each begins with the one before it."""

import itertools
import re

import pytest

from loadsim.caller.history import asks, salt, warm_prompt
from tests.calls import CALL


def test_a_salt_is_eight_spoken_digits_and_always_the_same_for_its_key() -> None:
    assert re.fullmatch(r"( [0-9]){8}", salt("run", 1, "load"))
    assert salt("run", 1, "load") == salt("run", 1, "load")


def test_salts_differ_in_every_part_of_their_key() -> None:
    keys = [(run, point, repeat, side) for run in "ab" for point in "xy" for repeat in range(50) for side in "ba"]
    assert len({salt(*key) for key in keys}) == len(keys)


def test_parts_of_a_key_do_not_run_together() -> None:
    assert salt("a", "bc") != salt("ab", "c")
    assert salt(1, 11) != salt(11, 1)


def test_a_warm_prompt_ends_in_the_caller_message_before_the_first_measured_turn() -> None:
    assert [message["role"] for message in warm_prompt(CALL, 2)] == ["system", "user"]
    last = warm_prompt(CALL, 5)
    assert last[-1] == {"role": "user", "content": "Stop."}
    assert [message["role"] for message in last] == [
        "system", "user", "assistant", "user", "assistant", "tool", "assistant", "user", "assistant", "user",
    ]  # fmt: skip


def test_the_fresh_turn_adds_the_last_reply_and_a_salted_message() -> None:
    (ask,) = asks(CALL, range(5, 6), lambda turn: f" {turn}")
    assert ask.messages[:-2] == warm_prompt(CALL, 5)
    assert ask.messages[-2:] == [
        {"role": "assistant", "content": "Sure."},
        {"role": "user", "content": "One more, it is 5"},
    ]
    assert (ask.turn, ask.step, ask.reply) == (5, 0, "Sure.")


def test_a_tool_turn_is_a_request_for_the_call_and_one_for_the_reply() -> None:
    call, reply = asks(CALL, range(2, 3), lambda _: " 7")
    assert (call.step, reply.step) == (0, 1)
    assert call.messages[-1] == {"role": "user", "content": "Find me. 7"}
    assert '"name": "find"' in call.reply
    assert reply.messages[: len(call.messages)] == call.messages
    assert reply.messages[-2]["tool_calls"][0]["function"] == {"name": "find", "arguments": '{"who":"me"}'}
    assert reply.messages[-1] == {"role": "tool", "tool_call_id": "c1", "content": '{"ok":true}'}
    assert reply.reply == "Found you."


def test_after_a_cut_the_history_holds_what_was_heard_but_the_reply_was_generated_whole() -> None:
    third, fourth = asks(CALL, range(3, 5), lambda _: "")
    assert third.reply == "It is a long story."
    assert fourth.messages[-2] == {"role": "assistant", "content": "It is a"}


@pytest.mark.parametrize("first", [1, 2, 3, 4])
def test_each_prompt_begins_with_the_whole_one_before_it(first: int) -> None:
    prompts = [ask.messages for ask in asks(CALL, range(first, 6), lambda turn: f" {turn}")]
    for before, after in itertools.pairwise(prompts):
        assert after[: len(before)] == before
        assert len(after) > len(before)


def test_a_cold_caller_shares_not_even_the_system_prompts_first_word() -> None:
    one, other = (next(asks(CALL, range(1, 2), lambda _: "", salt(caller))).messages[0] for caller in "ab")
    assert one["content"] == f"{salt('a')[1:]}. You answer the phone."
    assert one["content"] != other["content"]
