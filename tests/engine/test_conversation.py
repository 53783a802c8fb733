"""Calls in the server's own words, with the tools it calls, against a server with a known schedule."""

from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from loadsim.caller.tools import MOST_STEPS
from tests.engine.test_cuts import OWN, WORDS, cut_after, loads, worded
from tests.engine.truthful import chats
from tests.engine.virtually import measured
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


def test_a_tool_call_after_the_last_step_is_not_answered(tmp_path: Path) -> None:
    _, truth = measured(tmp_path / "run", OWN, calls(*[(FIND,)] * 9))
    messages = chats(truth)[-1]["messages"]
    asked = next(i for i, m in enumerate(messages) if m["role"] == "user" and m["content"].startswith("Tell me"))
    assert [m["role"] for m in messages[asked:]] == ["user", *["assistant", "tool"] * 3, "assistant", "user"]
    assert "tool_calls" not in messages[-2]


def filler(request: Request) -> Faults:
    """Turn 3 begins with words, then calls a tool, then speaks."""
    messages = request.json["messages"]
    last = max(i for i, m in enumerate(messages) if m["role"] == "user")
    if messages[last]["content"].startswith("Tell me") and len(messages) == last + 1:
        return Faults(words=("Let", " me", " look", "."), tool_call_after=4, tool_calls=(FIND,))
    return Faults(words=WORDS)


def test_words_before_a_tool_call_are_heard_alone_and_before_those_after_it(tmp_path: Path) -> None:
    found, truth = measured(tmp_path / "run", OWN | {"callers": {"warm": {"count": 1, "turns": "3"}}}, filler)
    look, reply = loads(found)
    assert look.playout is not None
    assert reply.playout is not None
    assert len(look.token_s) > 4  # a call's tokens are not spoken
    assert look.playout.tokens == 4
    assert reply.playout.start_s == pytest.approx(look.playout.end_s, abs=1e-5)
    asked = chats(truth)[-1]["messages"][-2]
    assert asked["content"] == "Let me look."


def test_a_cut_in_the_words_before_a_tool_call_ends_the_turn(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cut_after(monkeypatch, 0.3)  # and 0.2 s until the agent notices: 2 of 4 tokens
    scenario = OWN | {"barge_in": {"by": "drawn", "probability": 1}}
    found, truth = measured(tmp_path / "run", scenario, filler)
    assert [(r.turn, r.step) for r in loads(found)] == [(3, 0), (4, 0)]
    assert chats(truth)[-1]["messages"][-2] == {"role": "assistant", "content": "Let me"}


def test_a_cut_behind_those_words_comes_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cut_after(monkeypatch, 1.8)  # the first four tokens take 1 s
    scenario = OWN | {"barge_in": {"by": "drawn", "probability": 1}, "callers": {"warm": {"count": 1, "turns": "3"}}}
    found, _ = measured(tmp_path / "run", scenario, filler)
    look, reply = loads(found)
    assert look.cut is None
    assert reply.cut is not None
    assert reply.cut.after == pytest.approx(0.8)


def test_who_hears_the_words_before_a_tool_call_is_patient(tmp_path: Path) -> None:
    scenario = OWN | {"pace": {"by": "speech"}, "patience": "1 s", "callers": {"warm": {"count": 1, "turns": "3"}}}

    def slow(request: Request) -> Faults:
        fault = filler(request)
        return fault if fault.tool_calls else Faults(words=WORDS, first=1.2)

    found, _ = measured(tmp_path / "run", scenario, slow)
    assert not any(r.abandoned for r in loads(found))
