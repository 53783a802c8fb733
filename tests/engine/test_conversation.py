"""Calls in the server's own words, with the tools it calls, against a server with a known schedule."""

from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from loadsim.caller.tools import MOST_STEPS
from tests.engine.test_cuts import OWN, loads, worded
from tests.engine.truthful import chats, measured
from tests.truth import Faults, Request

FIND = ("find", '{"who": "me"}')  # the recording has its result
OTHER = ("find", '{"who":"you"}')


def calls(*groups: tuple[tuple[str, str], ...]) -> Any:
    """Each request of turn 3 gets one of these groups of tool calls; later ones get text."""

    def choose(request: Request) -> Faults:
        messages = request.json["messages"]
        last = max(i for i, m in enumerate(messages) if m["role"] == "user")
        steps = sum(m["role"] == "assistant" for m in messages[last:])
        if messages[last]["content"].startswith("Tell me") and steps < len(groups):
            return Faults(tool_calls=groups[steps])
        return Faults(words=("Yes", "."))

    return choose


def test_the_history_holds_the_servers_own_replies(tmp_path: Path) -> None:
    found, truth = measured(tmp_path / "run", OWN, worded)
    assert [r.turn for r in loads(found)] == [3, 4]
    assert chats(truth)[-1]["messages"][-2] == {
        "role": "assistant",
        "content": "Well, I am here. What now? Nothing more.",
    }


def test_a_tool_call_is_answered_from_the_recording(tmp_path: Path) -> None:
    found, truth = measured(tmp_path / "run", OWN, calls((FIND,)))
    rows = loads(found)
    assert [(r.turn, r.step, r.misses) for r in rows] == [(3, 0, 0), (3, 1, 0), (4, 0, 0)]
    asked, result = chats(truth)[2]["messages"][-2:]
    assert asked["tool_calls"][0]["function"] == {"name": "find", "arguments": '{"who": "me"}'}
    assert result == {"role": "tool", "tool_call_id": asked["tool_calls"][0]["id"], "content": '{"ok":true}'}
    assert (rows[0].first_speech_s, rows[0].playout) == (None, None)


def test_a_call_without_a_recorded_result_is_counted_and_answered_all_the_same(tmp_path: Path) -> None:
    found, truth = measured(tmp_path / "run", OWN, calls((OTHER, FIND), (("lost", "not json"),)))
    assert [r.misses for r in loads(found)] == [1, 1, 0, 0]
    first = chats(truth)[2]["messages"][-2:]
    assert [m["content"] for m in first] == ['{"status":"unknown"}', '{"ok":true}']
    second = chats(truth)[3]["messages"][-2:]
    assert second[0]["tool_calls"][0]["function"] == {"name": "lost", "arguments": "{}"}


def test_three_tool_steps_are_the_most(tmp_path: Path) -> None:
    found, _ = measured(tmp_path / "run", OWN, calls(*[(FIND,)] * 9))
    assert MOST_STEPS == 3
    assert [(r.turn, r.step) for r in loads(found)] == [(3, 0), (3, 1), (3, 2), (3, 3), (4, 0)]


def test_an_empty_reply_is_no_error_and_the_call_goes_on(tmp_path: Path) -> None:
    found, truth = measured(tmp_path / "run", OWN, lambda _: Faults(empty=True))
    assert [(r.turn, r.outcome, r.playout) for r in loads(found)] == [(3, "empty", None), (4, "empty", None)]
    assert chats(truth)[-1]["messages"][-2] == {"role": "assistant", "content": ""}


@pytest.mark.parametrize("heard", ["spoken_words", "spoken_sentences", "generated", "retranscribed"])
@pytest.mark.parametrize("history", ["replay", "conversation"])
def test_every_prompt_begins_with_the_one_before_it(tmp_path: Path, heard: str, history: str) -> None:
    """Byte by byte, whatever is cut, called or said again: else the server evaluates the call anew."""
    scenario = OWN | {"history": history, "callers": {"warm": {"count": 1, "turns": "2-4"}}}
    scenario |= {"barge_in": {"by": "drawn", "probability": 0.7, "heard": heard}, "repeat": 3}
    scenario |= {"pace": {"by": "speech", "time_scale": 50}}
    _, truth = measured(tmp_path / "run", scenario, calls((FIND, OTHER), (OTHER,)))
    bodies = chats(truth)
    pairs = [(a["messages"], b["messages"]) for a, b in pairwise(bodies) if b["max_tokens"] > 1]
    assert len(pairs) >= 9
    for before, after in pairs:
        assert after[: len(before)] == before
