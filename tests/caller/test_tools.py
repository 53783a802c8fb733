"""Tool calls of the server's model, answered from the recording."""

from typing import Any

import msgspec
import pytest

from loadsim.caller.tools import answer, results
from loadsim.recording.model import Recording, ToolCall
from tests.calls import CALL


def recorded(*calls: ToolCall) -> Recording:
    """The small call with these tool calls, one step each, in its second turn."""
    found = msgspec.structs.replace(CALL.turns[1], tools=tuple((call,) for call in calls))
    return msgspec.structs.replace(CALL, turns=(CALL.turns[0], found, *CALL.turns[2:]))


def called(name: str, arguments: str, number: str = "x1") -> dict[str, str]:
    return {"id": number, "name": name, "arguments": arguments}


BOOK = {"day": "Monday", "people": 2}
KNOWN = results(recorded(ToolCall("c1", "book", BOOK, {"table": 7}), ToolCall("c2", "book", BOOK, {"table": 9})))


def told(calls: list[dict[str, str]]) -> list[Any]:
    """The results that go back for these calls."""
    return [msgspec.json.decode(message["content"]) for message in answer(calls, KNOWN)[0][1:]]


def test_of_the_same_call_made_twice_the_first_result_is_given() -> None:
    assert told([called("book", '{"day": "Monday", "people": 2}')]) == [{"table": 7}]


def test_arguments_are_the_same_in_any_order_and_spacing() -> None:
    assert told([called("book", '{"people":2,   "day":"Monday"}')]) == [{"table": 7}]


@pytest.mark.parametrize("arguments", ['{"day": "Monday"}', '{"day": "Monday", "people": 3}', "{}"])
def test_other_arguments_are_a_miss(arguments: str) -> None:
    messages, misses = answer([called("book", arguments)], KNOWN)
    assert misses == 1
    assert messages[0]["tool_calls"][0]["function"] == {"name": "book", "arguments": arguments}
    assert messages[1]["content"] == '{"status":"unknown"}'


def test_another_tool_with_the_same_arguments_is_a_miss() -> None:
    calls = [called("find", '{"day": "Monday", "people": 2}'), called("book", '{"day": "Monday", "people": 2}')]
    assert told(calls) == [{"status": "unknown"}, {"table": 7}]
    assert answer(calls, KNOWN)[1] == 1


@pytest.mark.parametrize("arguments", ["", "no json", "[1, 2]", '"Monday"', "null", '{"day": ', '{"a":' * 9000])
def test_arguments_that_are_no_object_go_back_as_an_empty_one(arguments: str) -> None:
    messages, misses = answer([called("book", arguments)], KNOWN)
    assert misses == 1
    assert messages[0]["tool_calls"][0]["function"]["arguments"] == "{}"
    assert messages[1]["content"] == '{"status":"unknown"}'


def test_each_result_names_its_call() -> None:
    first, *said = answer([called("a", "{}", "one"), called("b", "{}", "two")], KNOWN)[0]
    assert [call["id"] for call in first["tool_calls"]] == ["one", "two"]
    assert [(message["role"], message["tool_call_id"]) for message in said] == [("tool", "one"), ("tool", "two")]


def test_calls_without_an_id_get_one_each() -> None:
    first, *said = answer([called("a", "{}", ""), called("b", "{}", "")], KNOWN)[0]
    assert [call["id"] for call in first["tool_calls"]] == ["call_1", "call_2"]
    assert [message["tool_call_id"] for message in said] == ["call_1", "call_2"]


@pytest.mark.parametrize("text", ["", "One moment."])
def test_what_was_said_beside_a_call_stands_before_it(text: str) -> None:
    messages, _ = answer([called("book", '{"day": "Monday"}')], KNOWN, text)
    assert (messages[0]["role"], messages[0]["content"]) == ("assistant", text)
