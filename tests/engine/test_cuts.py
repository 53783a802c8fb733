"""Callers who talk over the agent, hang up or are misheard, against a server with a known schedule."""

from pathlib import Path
from typing import Any

import msgspec
import pytest

from loadsim.caller import release
from loadsim.recording import humans
from loadsim.types import Heard, RequestRow
from tests.calls import CALL
from tests.engine.test_pace import SPEECH
from tests.engine.truthful import chats, of
from tests.engine.virtually import measured
from tests.truth import Faults, Request

WORDS = ("Well", ",", " I", " am", " here", ".", " What", " now", "?", " Nothing", " more", ".")
# The agent's own words, 12 tokens: at 4 tokens/s half of them are spoken after 1.5 s.
OWN: dict[str, Any] = SPEECH | {
    "callers": {"warm": {"count": 1, "turns": "3-4"}},
    "history": "conversation",
    "reply": {"free": 50},
    "voice": {"rate": "4 tokens/s", "tts": "0", "network": "0"},
}


def cut_after(monkeypatch: pytest.MonkeyPatch, seconds: float) -> None:
    """Every drawn cut comes so late."""
    monkeypatch.setattr(humans, "CUT_AFTER_S", _Always(seconds))


class _Always:
    def __init__(self, value: float) -> None:
        self.value = value

    def at(self, _: float) -> float:
        return self.value


def worded(_: Request) -> Faults:
    return Faults(words=WORDS)


def said_before_last(truth: Any) -> str:
    """The agent's last words in the last prompt."""
    messages = chats(truth)[-1]["messages"]
    assert messages[-1]["role"] == "user"
    return str(messages[-2]["content"])


def loads(found: Any) -> list[RequestRow]:
    return of(found, "load")


def test_a_recorded_cut_comes_when_the_recorded_words_have_been_heard(tmp_path: Path) -> None:
    found, truth = measured(tmp_path / "run", SPEECH | {"barge_in": "recorded"})
    third, fourth = loads(found)[2:]
    # "It is a long story." has 10 tokens, "It is a" 5: heard after 5 / 4.5 s, the last 0.2 s of it with both talking
    assert third.cut is not None
    assert third.playout is not None
    assert (third.playout.tokens, third.cut.heard, third.cut.unheard, third.cut.closed) == (5, 5, 5, False)
    assert third.cut.after == pytest.approx(5 / 4.5 - 0.2, abs=1e-5)
    assert third.outcome == "ok"  # the stream had ended long before
    assert fourth.spoke is not None
    assert fourth.spoke.start_s == pytest.approx(third.cut.at_s, abs=1e-5)
    assert fourth.spoke.gap is None
    assert (third.cut_tokens, fourth.cut_tokens) == (None, 5)
    assert said_before_last(truth) == "It is a"


def test_without_barge_in_the_recorded_cut_stands_only_in_the_history(tmp_path: Path) -> None:
    found, truth = measured(tmp_path / "run", SPEECH)
    assert all(r.cut is None for r in loads(found))
    assert said_before_last(truth) == "It is a"


@pytest.mark.parametrize(
    ("mode", "kept"),
    [
        ("spoken_words", "Well, I am here. What"),
        ("spoken_sentences", "Well, I am here."),
        ("generated", "".join(WORDS)),
        ("retranscribed", "well i am here what"),
    ],
)
def test_what_was_heard_stands_in_the_history(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, mode: Heard, kept: str
) -> None:
    cut_after(monkeypatch, 1.7)  # and 0.2 s until the agent notices: 7 of 12 tokens, some 24 of 38 characters
    barge_in = {"by": "drawn", "probability": 1, "heard": mode}
    found, truth = measured(tmp_path / "run", OWN | {"barge_in": barge_in}, worded)
    third, fourth = loads(found)
    assert third.cut is not None
    assert (third.cut.heard, third.cut.unheard) == (7, 5)
    assert fourth.cut_tokens == 5
    assert said_before_last(truth) == kept


def test_a_transcript_takes_the_place_of_every_reply(tmp_path: Path) -> None:
    _, truth = measured(tmp_path / "run", OWN | {"barge_in": {"heard": "retranscribed"}}, worded)
    told = [m["content"] for m in chats(truth)[-1]["messages"] if m["role"] == "assistant" and m["content"]]
    assert told == ["hi there", "found you", "well i am here what now nothing more"]
    warm = [m["content"] for m in chats(truth)[0]["messages"] if m["role"] == "assistant" and m["content"]]
    assert warm == told[: len(warm)]


def test_a_stream_that_still_runs_is_closed_and_its_slot_watched(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cut_after(monkeypatch, 1.3)
    scenario = OWN | {"pace": {"by": "speech"}, "barge_in": {"by": "drawn", "probability": 1}}
    scenario |= {"callers": {"warm": {"count": 1, "turns": "3"}}}
    found, truth = measured(tmp_path / "run", scenario, worded, step=0.22, release=0.3)
    (row,) = loads(found)
    assert (row.outcome, row.finish, row.error) == ("cut", None, None)
    assert row.cut is not None
    assert row.playout is not None
    assert row.first_speech_s is not None
    # heard: 1.5 s from the first clause, the second token, on; by then 8 tokens have come
    assert row.cut.closed
    assert row.cut.at_s - row.playout.start_s == pytest.approx(1.3, abs=1e-5)
    assert row.end_s is not None
    assert row.end_s - row.playout.start_s == pytest.approx(1.5, abs=1e-5)
    assert row.cut.heard == 6
    assert len(row.token_s) == row.cut.heard + row.cut.unheard == 8
    assert row.predicted_n == 8
    assert truth.seen[-1].reply.outcome == "cut"
    (released,) = [e for e in found.events if e["event"] == "released"]
    assert 0.3 <= released["after_s"] <= 0.3 + release.LOOK_S
    assert (released["turn"], released["caller"]) == (3, 0)


def test_a_reply_shorter_than_the_cut_is_heard_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cut_after(monkeypatch, 4.0)  # twelve tokens last 3 s
    found, _ = measured(tmp_path / "run", OWN | {"barge_in": {"by": "drawn", "probability": 1}}, worded)
    assert all(r.cut is None and r.playout and r.playout.tokens == 12 for r in loads(found))
    assert all(r.cut_tokens is None for r in loads(found))


def test_a_false_interruption_halts_the_voice_and_no_stream(tmp_path: Path) -> None:
    scenario = OWN | {"barge_in": {"backchannels": "drawn", "false_interruption": 1, "resume": "2 s"}}
    scenario |= {"callers": {"warm": {"count": 1, "turns": "2-4", "again": True}}, "duration": "200 s"}
    found, _ = measured(tmp_path / "run", scenario, worded)
    rows = [r for r in loads(found) if r.playout]
    halted = [r for r in rows if r.playout and r.playout.paused_s]
    assert 0 < len(halted) < len(rows)
    assert {r.outcome for r in rows} == {"ok"}
    for row in halted:
        assert row.playout is not None
        assert row.playout.paused_s == 2.0
        assert (row.playout.end_s - row.playout.start_s) * 10 == pytest.approx(3.0 + 2.0, abs=1e-3)


def test_who_hears_nothing_hangs_up(tmp_path: Path) -> None:
    def silent(request: Request) -> Faults:
        mute = request.json["messages"][-1]["content"].startswith("Tell me")
        return Faults(silence_after=0) if mute else Faults()

    found, _ = measured(tmp_path / "run", SPEECH | {"patience": "400 ms"}, silent)
    rows = loads(found)
    assert [r.turn for r in rows] == [2, 2, 3]
    last = rows[-1]
    assert (last.outcome, last.abandoned, last.error) == ("cut", True, None)
    assert last.spoke is not None
    assert last.end_s is not None
    assert last.end_s - last.spoke.end_s == pytest.approx(0.4, abs=1e-5)
    (ended,) = [e for e in found.events if e["event"] == "call"]
    assert (ended["why"], ended["said"], ended["planned"]) == ("hung_up", 1, 3)


def test_patience_also_ends_when_the_voice_falls_silent(tmp_path: Path) -> None:
    def stalled(_: Request) -> Faults:
        return Faults(words=WORDS, silence_after=4)

    scenario = OWN | {"pace": {"by": "speech"}, "patience": "1 s", "callers": {"warm": {"count": 1, "turns": "4"}}}
    found, _ = measured(tmp_path / "run", scenario, stalled)
    (row,) = loads(found)
    assert row.abandoned
    assert row.playout is not None
    assert row.end_s is not None
    assert row.playout.tokens == 4
    assert row.end_s - row.playout.end_s == pytest.approx(1.0, abs=1e-5)


def test_without_patience_nobody_hangs_up(tmp_path: Path) -> None:
    found, _ = measured(tmp_path / "run", SPEECH, lambda _: Faults(first=0.5))
    assert not any(r.abandoned for r in loads(found))


def test_who_cuts_in_does_not_wait_for_a_gap(tmp_path: Path) -> None:
    pace = {"by": "speech", "time_scale": 10, "gap": "5 s"}
    found, _ = measured(tmp_path / "run", SPEECH | {"barge_in": "recorded", "pace": pace})
    third, fourth = loads(found)[2:]
    assert third.cut is not None
    assert fourth.spoke is not None
    assert fourth.spoke.start_s == pytest.approx(third.cut.at_s, abs=1e-5)
    assert fourth.spoke.gap is None
    assert third.spoke is not None
    assert third.spoke.gap == 5.0


def test_what_was_cut_off_is_told_of_the_next_turns_first_request_only(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def choose(request: Request) -> Faults:
        last = request.json["messages"][-1]
        asks = last["role"] == "user" and last["content"].startswith("Stop")
        return Faults(tool_calls=(("find", "{}"),)) if asks else Faults(words=WORDS)

    cut_after(monkeypatch, 1.3)  # and 0.2 s until the agent notices: 6 of 12 tokens
    found, _ = measured(tmp_path / "run", OWN | {"barge_in": {"by": "drawn", "probability": 1}}, choose)
    rows = [(r.turn, r.step, r.cut_tokens) for r in loads(found)]
    assert rows == [(3, 0, None), (4, 0, 6), (4, 1, None)]


def test_patience_goes_on_from_a_tools_step_to_the_next(tmp_path: Path) -> None:
    at_once = {"callers": {"warm": {"count": 1, "turns": "2"}}, "pace": "at_once", "patience": "500 ms"}
    found, _ = measured(tmp_path / "run", SPEECH | at_once, first=0.3)
    call, reply = loads(found)
    assert (call.outcome, call.abandoned) == ("ok", False)
    assert (reply.outcome, reply.abandoned) == ("cut", True)
    assert call.due_s is not None
    assert reply.end_s is not None
    assert reply.end_s - call.due_s == pytest.approx(0.5, abs=1e-5)


@pytest.mark.parametrize(
    ("mode", "kept"),
    [
        ("spoken_words", "It is a"),
        ("spoken_sentences", ""),
        ("generated", "It is a long story."),
        ("retranscribed", "it is a"),
    ],
)
def test_a_recorded_cut_stands_in_the_history_as_it_was_heard(tmp_path: Path, mode: Heard, kept: str) -> None:
    _, truth = measured(tmp_path / "run", SPEECH | {"barge_in": {"by": "recorded", "heard": mode}})
    assert said_before_last(truth) == kept


def test_what_the_model_thought_is_no_part_of_what_was_heard(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cut_after(monkeypatch, 0.8)  # and 0.2 s until the agent notices: 4 tokens
    scenario = OWN | {"barge_in": {"by": "drawn", "probability": 1}}
    found, truth = measured(tmp_path / "run", scenario, lambda _: Faults(words=WORDS, reasoning=6))
    third = loads(found)[0]
    assert third.cut is not None
    assert (third.cut.heard, third.cut.unheard, len(third.token_s)) == (4, 2, 12)
    # two thirds of " What now? Nothing more."
    assert said_before_last(truth).strip() == "What now?"


def test_a_recorded_cut_that_did_not_come_leaves_the_whole_reply_in_the_history(tmp_path: Path) -> None:
    scenario = SPEECH | {"barge_in": "recorded", "reply": {"free": 50}}
    found, truth = measured(tmp_path / "run", scenario, lambda _: Faults(words=("Yes", ".")))
    assert all(r.cut is None for r in loads(found))
    assert said_before_last(truth) == "It is a long story."


def test_of_a_reply_that_was_closed_the_share_is_of_its_recorded_length(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cut_after(monkeypatch, 0.5)  # and 0.2 s until the agent notices: 3 of 13 tokens, 5 of 25 characters
    agent = msgspec.structs.replace(CALL.turns[2].agent, text="Well, it is a long story.", heard=None)
    turns = (*CALL.turns[:2], msgspec.structs.replace(CALL.turns[2], agent=agent), CALL.turns[3])
    scenario = SPEECH | {"pace": {"by": "speech"}, "callers": {"warm": {"count": 1, "turns": "3-4"}}}
    scenario |= {"barge_in": {"by": "drawn", "probability": 1}}
    recordings = {"call": msgspec.structs.replace(CALL, turns=turns)}
    found, truth = measured(tmp_path / "run", scenario, step=0.2, recordings=recordings)
    third = loads(found)[0]
    assert third.cut is not None
    assert (third.cut.heard, third.cut.closed) == (3, True)
    assert third.cut.heard + third.cut.unheard < 8
    assert said_before_last(truth) == "Well,"
