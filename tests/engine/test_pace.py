"""Callers who speak and listen, against a server with a known schedule: when requests leave, and what is heard."""

import itertools
from pathlib import Path
from typing import Any

import msgspec
import pytest

from loadsim.engine import point
from loadsim.engine.places import places
from loadsim.recording.model import Recording
from loadsim.scenario.model import Group
from loadsim.types import RequestRow, RunStopped
from tests.calls import CALL
from tests.engine.truthful import chats, of
from tests.engine.virtually import measured
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
    found, _ = measured(tmp_path / "run", SPEECH)
    last = of(found, "load")[-1]  # "Sure." is a word and a full stop
    assert last.playout is not None
    assert last.sent_s is not None
    start, end = heard(last)
    # the second token is written after 12 ms; 50 ms of TTS and network, ten times faster
    assert start == pytest.approx(last.sent_s + 0.012 + 0.005, abs=1e-5)
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
    assert {e["why"] for e in ends if e["call"] == last[e["caller"]]} <= {"time", "ended"}
    assert all(e["said"] for e in ends)  # a call that the time keeps from beginning is none
    zero = min(r.spoke.start_s for r in rows if r.spoke)
    assert 2.5 < max(r.spoke.start_s for r in rows if r.spoke) - zero < 3.0
    # between two calls of a caller there is no time in which they are not on the line
    for i in range(3):
        mine = [r for r in rows if r.caller == i and r.spoke]
        for before, row in itertools.pairwise(mine):
            if row.call > before.call:
                assert before.playout is not None
                assert row.spoke is not None
                assert row.spoke.start_s == pytest.approx(before.playout.end_s, abs=1e-5)
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


def test_the_voice_waits_for_its_synthesis_and_the_network(tmp_path: Path) -> None:
    found, _ = measured(tmp_path / "run", SPEECH | {"voice": {"tts": "300 ms", "network": "200 ms"}})
    for row in of(found, "load"):
        if row.playout is not None:
            assert row.first_speech_s is not None
            assert row.playout.start_s - row.first_speech_s == pytest.approx(0.05, abs=1e-5)


def test_a_reply_in_the_servers_own_words_begins_with_its_own_first_chunk(tmp_path: Path) -> None:
    found, _ = measured(
        tmp_path / "run", SPEECH | {"reply": {"free": 50}}, lambda _: Faults(words=(" and",) * 5 + (".",))
    )
    for row in of(found, "load"):
        if row.playout is not None:
            assert row.playout.chunk is None
            assert row.first_speech_s is not None
            assert row.last_token_s is not None
            assert row.first_speech_s >= row.last_token_s  # the full stop


def test_a_reply_of_a_set_length_runs_over_its_end(tmp_path: Path) -> None:
    found, truth = measured(tmp_path / "run", SPEECH | {"reply": {"exactly": 20}})
    assert {len(r.token_s) for r in of(found, "load")} == {20}
    assert {body["ignore_eos"] for body in chats(truth) if body["max_tokens"] > 1} == {True}


def test_who_would_begin_before_the_reply_has_come_begins_when_it_has(tmp_path: Path) -> None:
    pace = {"by": "speech", "time_scale": 10}
    early = msgspec.structs.replace(CALL.turns[3].caller, start=-90.0, end=-89.0)
    turns = (*CALL.turns[:3], msgspec.structs.replace(CALL.turns[3], caller=early))
    recordings = {"call": msgspec.structs.replace(CALL, turns=turns)}
    found, _ = measured(tmp_path / "run", SPEECH | {"pace": pace}, recordings=recordings)
    third, fourth = of(found, "load")[2:]
    assert third.end_s is not None
    assert fourth.spoke is not None
    assert fourth.spoke.gap == -101.0
    assert fourth.spoke.start_s == pytest.approx(third.end_s, abs=1e-5)


def test_at_once_is_when_the_reply_has_ended(tmp_path: Path) -> None:
    for name, every in (("a", {}), ("b", {"every": "50 ms"})):
        callers = {"warm": {"count": 1, "turns": "2-4"} | every}
        found, _ = measured(tmp_path / name, SPEECH | {"callers": callers, "pace": "at_once"}, first=0.1)
        second, third, fourth = (r for r in of(found, "load") if r.step == 0)
        tool = of(found, "load")[1]
        for before, row in ((tool, third), (third, fourth)):
            assert before.end_s is not None
            assert row.due_s is not None
            assert row.due_s == pytest.approx(before.end_s, abs=1e-5)
        assert tool.due_s is not None
        assert second.end_s is not None
        assert tool.due_s == pytest.approx(second.end_s, abs=1e-5)


# -- where callers sit, and who is alone


def test_high_slots_are_above_spread_ones() -> None:
    groups = {"far": Group(count=2, slots="spread"), "high": Group(count=1, slots="high"), "near": Group(count=1)}
    assert places(groups, 6) == {"far": (1, 3), "high": (4,), "near": (0,)}


def test_one_caller_alone_has_the_slot_of_the_files_first_caller(tmp_path: Path) -> None:
    callers = {"far": {"count": 2, "slots": "spread"}, "near": {"count": 1}}
    found, _ = measured(tmp_path / "run", SPEECH | {"callers": callers, "baseline": {"replies": 2}})
    assert {r.slot for r in of(found, "baseline")} == {1}  # near has 0
    assert {r.slot for r in of(found, "load") if r.group == "far"} == {1, 6}


def test_one_caller_alone_beside_cold_ones_is_as_planned(tmp_path: Path) -> None:
    callers = {"new": {"count": 1, "cache": "cold", "turns": "2"}}
    found, _ = measured(tmp_path / "run", SPEECH | {"callers": callers, "baseline": {"replies": 2}})
    assert {(r.kind, r.planned) for r in of(found, "baseline")} == {("extension", True)}
    assert {r.planned for r in of(found, "load")} == {True}


# -- calls one after the other


def test_a_later_call_is_no_surprise_in_a_slot_that_was_warm_for_the_first(tmp_path: Path) -> None:
    callers = {"warm": {"count": 1, "turns": "2-3", "again": True}}
    found, _ = measured(tmp_path / "run", SPEECH | {"callers": callers, "duration": "20 s"})
    again = [r for r in of(found, "load") if r.call]
    assert "rewind" in {r.kind for r in again if r.turn == 2}
    assert all(r.planned for r in again)


def test_who_was_not_answered_calls_again_after_a_while(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(request: Request) -> Faults:
        return Faults(status=503) if request.json["id_slot"] == 1 and request.json["max_tokens"] > 1 else Faults()

    assert point.AGAIN_S == 2.0
    monkeypatch.setattr(point, "AGAIN_S", 4.0)  # ten times faster
    callers = {"warm": {"count": 2, "turns": "2", "again": True}}
    found, _ = measured(tmp_path / "run", SPEECH | {"callers": callers, "duration": "25 s"}, refused)
    failed = [r for r in of(found, "load") if r.caller == 1]
    waits = []
    for before, row in itertools.pairwise(failed):
        assert row.spoke is not None
        assert before.end_s is not None
        waits.append(row.spoke.start_s - before.end_s)
    # each time twice as long, while others are answered
    assert waits[:2] == [pytest.approx(0.4, abs=1e-5), pytest.approx(0.8, abs=1e-5)]


def test_a_load_in_which_all_wait_in_vain_stops_the_run(tmp_path: Path) -> None:
    def mute(request: Request) -> Faults:
        return Faults(silence_after=0) if request.json["max_tokens"] > 1 else Faults()

    with pytest.raises(RunStopped, match=r"^no caller was answered: no first token within 0\.2 s"):
        measured(tmp_path / "run", SPEECH | {"timeout": {"first_token": "200 ms"}}, mute)
