"""Callers who speak and listen, against a server with a known schedule: when requests leave, and what is heard."""

import itertools
from pathlib import Path
from typing import Any

import pytest

from loadsim.recording.model import Recording
from loadsim.types import RequestRow
from tests.calls import CALL
from tests.engine.truthful import chats, measured, of
from tests.truth import Faults, Request

# The small call's turns 2 to 4: utterances of 1 s, gaps of 1, 1 and 0 s; the second reply is cut after "It is a".
SPEECH: dict[str, Any] = {
    "recording": "call",
    "callers": {"warm": {"count": 1, "turns": "2-4"}},
    "pace": {"by": "speech", "time_scale": 10},
    "voice": {"tts": "40 ms", "network": "10 ms"},
    "baseline": {"replies": 0},
    "repeat": 1,
}


def spoken(rows: list[RequestRow]) -> list[tuple[float, float]]:
    assert all(row.spoke for row in rows)
    return [(row.spoke.start_s, row.spoke.end_s) for row in rows if row.spoke]


def heard(row: RequestRow) -> tuple[float, float]:
    assert row.playout is not None
    return row.playout.start_s, row.playout.end_s


def test_a_turn_is_a_gap_an_utterance_endpointing_and_a_request(tmp_path: Path) -> None:
    found, _ = measured(tmp_path / "run", SPEECH)
    rows = of(found, "load")
    assert [(r.turn, r.step, r.outcome) for r in rows] == [(2, 0, "ok"), (2, 1, "ok"), (3, 0, "ok"), (4, 0, "ok")]
    # turn 2 and its tool step; turn 3 starts 1 s after the agent's end, turn 4 at once, all ten times faster
    second, _, third, fourth = spoken(rows)
    assert second[1] - second[0] == pytest.approx(0.1, abs=1e-5)
    assert third[0] - heard(rows[1])[1] == pytest.approx(0.1, abs=1e-5)
    assert fourth[0] - heard(rows[2])[1] == pytest.approx(0.0, abs=1e-5)
    assert [r.spoke.gap for r in rows if r.spoke] == [None, None, 1.0, 0.0]
    for row in (rows[0], *rows[2:]):
        assert row.spoke is not None
        assert row.due_s == pytest.approx(row.spoke.end_s + 0.05, abs=1e-5)
        assert row.spoke.seconds == 1.0


def test_the_voice_begins_with_the_first_chunk_and_drains_at_its_rate(tmp_path: Path) -> None:
    found, truth = measured(tmp_path / "run", SPEECH)
    last = of(found, "load")[-1]  # "Sure." is a word and a full stop
    assert last.playout is not None
    assert last.sent_s is not None
    start, end = heard(last)
    origin = min(e.received_s for e in truth.log) - min(r.sent_s for r in found.rows if r.sent_s is not None)
    chunk = truth.log[-1].token_s[1]
    assert start == pytest.approx(chunk - origin + 0.05, abs=0.01)
    assert end - start == pytest.approx(2 / 4.5 / 10, abs=1e-5)
    assert (last.playout.tokens, last.playout.chunk, last.playout.underruns, last.playout.rate) == (2, 2, 0, 4.5)


def test_a_tools_step_is_not_heard(tmp_path: Path) -> None:
    found, _ = measured(tmp_path / "run", SPEECH)
    call, reply = of(found, "load")[:2]
    assert (call.first_speech_s, call.playout) == (None, None)
    assert call.first_token_s is not None
    assert reply.playout is not None


def test_a_voice_of_words_a_minute_speaks_the_recorded_words(tmp_path: Path) -> None:
    found, _ = measured(tmp_path / "run", SPEECH | {"voice": {"rate": "150 words/min"}})
    third = of(found, "load")[2]  # "It is a long story.": 5 words, 10 tokens of the truth server's
    assert third.playout is not None
    assert third.playout.rate == pytest.approx(10 / 5 * 150 / 60)


def test_a_late_reply_delays_the_rest_of_the_call(tmp_path: Path) -> None:
    def slow(request: Request) -> Faults:
        return Faults(first=0.5) if request.json["messages"][-1]["content"].startswith("Tell me") else Faults()

    found, _ = measured(tmp_path / "run", SPEECH, slow)
    _, _, third, fourth = of(found, "load")
    assert third.sent_s is not None
    assert fourth.spoke is not None
    assert fourth.spoke.start_s - third.sent_s > 0.5


def test_gap_words_and_endpointing_can_be_set(tmp_path: Path) -> None:
    pace = {"by": "speech", "time_scale": 10, "gap": "3 s", "words_per_s": 1.5, "endpointing": "800 ms"}
    found, _ = measured(tmp_path / "run", SPEECH | {"pace": pace})
    _, before, third, _ = of(found, "load")
    assert third.spoke is not None
    assert third.spoke.start_s - heard(before)[1] == pytest.approx(0.3, abs=1e-5)
    assert third.spoke.seconds == pytest.approx(2.0)  # "Tell me more."
    assert third.due_s == pytest.approx(third.spoke.end_s + 0.08, abs=1e-5)


def test_the_same_seed_is_the_same_person(tmp_path: Path) -> None:
    drawn = SPEECH | {"pace": {"by": "speech", "times": "drawn", "time_scale": 100}}
    runs = [measured(tmp_path / name, drawn | {"seed": seed})[0] for name, seed in (("a", 1), ("b", 1), ("c", 2))]
    said = [[(r.spoke.gap, r.spoke.seconds) for r in of(found, "load") if r.spoke] for found in runs]
    assert said[0] == said[1] != said[2]


@pytest.mark.parametrize(
    ("start", "begins"),
    [
        ("together", [0.0, 0.0, 0.0, 0.0]),
        ("2 s", [0.0, 0.05, 0.1, 0.15]),
        ("at 1 s", [0.1, 0.1, 0.1, 0.1]),
        ("every 1 s", [0.1, 0.2, 0.3, 0.4]),
        ("call", [0.0, 0.25, 0.5, 0.75]),  # turns 2 to 4 take from 4 to 14 s
    ],
)
def test_calls_begin_as_the_group_says(tmp_path: Path, start: str, begins: list[float]) -> None:
    callers = {"warm": {"count": 4, "turns": "2-4", "start": start}}
    found, _ = measured(tmp_path / "run", SPEECH | {"callers": callers})
    first = [min(r.spoke.start_s for r in of(found, "load") if r.caller == i and r.spoke) for i in range(4)]
    zero = first[0] - begins[0]
    assert first == pytest.approx([zero + t for t in begins], abs=1e-5)
    assert all(e["why"] == "ended" and e["said"] == e["planned"] == 3 for e in found.events if e["event"] == "call")


def test_who_hangs_up_calls_again_until_the_time_is_over(tmp_path: Path) -> None:
    callers = {"warm": {"count": 3, "turns": "2-4", "again": True}}
    found, truth = measured(tmp_path / "run", SPEECH | {"callers": callers, "duration": "30 s"})
    rows = of(found, "load")
    ends = [e for e in found.events if e["event"] == "call"]
    assert {e["why"] for e in ends if e["call"] < 2} == {"ended"}
    last = {i: max(e["call"] for e in ends if e["caller"] == i) for i in range(3)}
    assert all(n >= 2 for n in last.values())
    assert {e["why"] for e in ends if e["call"] == last[e["caller"]]} == {"time"}
    zero = min(r.spoke.start_s for r in rows if r.spoke)
    assert 2.5 < max(r.spoke.start_s for r in rows if r.spoke) - zero < 3.0
    # between two calls of a caller there is no time in which they are not on the line
    for i in range(3):
        mine = [r for r in rows if r.caller == i and r.spoke]
        for before, row in itertools.pairwise(mine):
            if row.call > before.call:
                assert before.playout is not None
                assert row.spoke is not None
                assert row.spoke.start_s == pytest.approx(before.playout.end_s, abs=0.01)
    said = [body["messages"][-1]["content"] for body in chats(truth) if body["max_tokens"] > 1]
    salted = [text for text in said if text[-1].isdigit()]
    assert len(set(salted)) == len(salted)


def test_a_group_takes_several_recordings_in_turn(tmp_path: Path) -> None:
    other = Recording(
        title="another", source="the tests", system="Other.", tools=(), turns=CALL.turns[:1] + CALL.turns[3:]
    )
    callers = {"warm": {"count": 3, "recordings": ["call", "other"]}}
    found, truth = measured(tmp_path / "run", SPEECH | {"callers": callers}, recordings={"call": CALL, "other": other})
    systems = {b["id_slot"]: b["messages"][0]["content"] for b in chats(truth)}
    assert systems == {0: CALL.system, 1: "Other.", 2: CALL.system}
    assert {(r.caller, r.turn) for r in of(found, "load")} == {(0, 5), (1, 3), (2, 5)}
    assert {r.kind for r in of(found, "load")} == {"extension"}


def test_low_and_high_slots(tmp_path: Path) -> None:
    for where, joiner, warm in (("low", {0}, {1, 2}), ("high", {2}, {0, 1})):
        callers = {"warm": {"count": 2}, "joiner": {"count": 1, "cache": "cold", "slots": where}}
        found, _ = measured(tmp_path / where, SPEECH | {"callers": callers})
        assert {r.slot for r in of(found, "load") if r.group == "joiner"} == joiner
        assert {r.slot for r in of(found, "load") if r.group == "warm"} == warm
