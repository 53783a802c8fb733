"""Rows and totals of a call."""

import asyncio
from typing import Any

import pytest
from msgspec.structs import replace

from loadsim.recording.model import Pause, Reply, Utterance
from loadsim.recording.show import Spread, Tokens, measure, rows, totals

from .calls import call, turn, with_tool

CALL = call(
    5,
    turn_2=with_tool(turn(2), "a", "b"),
    turn_4=replace(
        turn(4), agent=Reply("one two three four", 34, 36, heard="one two"), backchannels=(Utterance("mhm", 34.5, 35),)
    ),
)
TOKENS = Tokens((100, 120, 170, 200, 250), (8, 9, 10, 4, 12))


def test_a_turn_brings_what_its_prompt_has_more() -> None:
    assert [row.new for row in rows(CALL, TOKENS)] == [100, 20, 50, 30, 50]
    assert [row.reply for row in rows(CALL, TOKENS)] == [8, 9, 10, 4, 12]
    assert [row.number for row in rows(CALL)] == [1, 2, 3, 4, 5]
    assert [row.new for row in rows(CALL)] == [None] * 5


def test_turns_beside_tools_are_no_spoken_turns() -> None:
    assert [row.spoken for row in rows(CALL)] == [False, False, False, True, True]
    assert [row.tools for row in rows(CALL)] == [[], ["look_up", "look_up"], [], [], []]


def test_totals() -> None:
    found = totals(CALL, TOKENS)
    assert (found.turns, found.seconds, found.tool_turns, found.cuts, found.backchannels) == (5, 47, 1, 1, 1)
    assert found.spoken == Spread(30, 40, 50)
    assert found.tools == Spread(20, 35, 50)
    assert found.replies == Spread(4, 9, 12)
    assert found.prompt == 250
    assert found.caller_pace == pytest.approx(8 / 3)
    assert found.agent_pace == pytest.approx((4 * 8 + 2) / (4 * 3 + 2))  # of the cut reply, what was heard


def test_without_counts_there_are_no_token_figures() -> None:
    found = totals(call(1))
    assert (found.spoken, found.tools, found.replies, found.prompt) == (None,) * 4


def test_every_prompt_and_reply_is_counted_once() -> None:
    asked: list[Any] = []

    async def prompt(messages: list[dict[str, Any]]) -> int:
        asked.append(messages[-1]["content"])
        return len(messages)

    async def text(said: str) -> int:
        return len(said.split())

    found = asyncio.run(measure(CALL, prompt, text))
    assert asked == [turn.caller.text for turn in CALL.turns]
    assert found == Tokens((2, 4, 10, 12, 14), (8, 8, 8, 4, 8))


def test_a_greeting_counts_and_pauses_are_no_speech() -> None:
    paused = replace(turn(1), caller=Utterance("a b c d", 2, 8, (Pause(1, 3, 7),), drawn=True))
    found = totals(replace(call(1, turn_1=paused), greeting=Reply("one two three", 0, 1, heard="one two", drawn=True)))
    assert (found.cuts, found.drawn) == (1, 2)
    assert found.caller_pace == pytest.approx(4 / 2)
    assert found.agent_pace == pytest.approx((2 + 8) / (1 + 3))
