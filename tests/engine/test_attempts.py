"""Requests that are sent early, again, or in vain, against a server with a known schedule."""

from itertools import pairwise
from pathlib import Path
from typing import Any

import msgspec
import pytest

from loadsim.caller import release
from loadsim.recording.model import Pause, Recording
from loadsim.scenario.retry import RETRIES, Attempt
from loadsim.types import RequestRow
from tests.calls import CALL
from tests.engine.test_pace import SPEECH
from tests.engine.truthful import chats, of
from tests.engine.virtually import measured
from tests.truth import Faults, Request

# Turn 3, "Tell me more.", from 8 to 9 s, with half a second of silence after two of its words.
_THIRD = CALL.turns[2]
_SAID = msgspec.structs.replace(_THIRD.caller, pauses=(Pause(after=2, start=8.3, end=8.8),))
PAUSED: Recording = msgspec.structs.replace(
    CALL, turns=(*CALL.turns[:2], msgspec.structs.replace(_THIRD, caller=_SAID), CALL.turns[3])
)
ONE: dict[str, Any] = SPEECH | {"callers": {"warm": {"count": 1, "turns": "3-4"}}}


TWO: dict[str, Any] = SPEECH | {"callers": {"warm": {"count": 2, "turns": "3-4"}}}


def loads(found: Any) -> list[RequestRow]:
    """The first caller's rows."""
    return [row for row in of(found, "load") if row.caller == 0]


def test_a_request_at_a_pause_is_given_up_and_sent_again_with_the_longer_text(tmp_path: Path) -> None:
    scenario = ONE | {"pace": {"by": "speech"}, "speculation": {"by": "recorded", "eager": "100 ms"}}
    found, truth = measured(tmp_path / "run", scenario, lambda _: Faults(first=0.45), recordings={"call": PAUSED})
    early, third, fourth = loads(found)
    assert [(r.turn, r.attempt, r.outcome) for r in (early, third, fourth)] == [
        (3, 0, "superseded"), (3, 1, "ok"), (4, 0, "ok"),
    ]  # fmt: skip
    assert early.spoke is not None
    assert third.spoke is not None
    assert early.end_s is not None
    begins = third.spoke.start_s
    # 0.5 s of talk for three words: two of them last 1/3 s; the caller goes on half a second later
    assert early.spoke.end_s - begins == pytest.approx(1 / 3, abs=1e-5)
    assert early.due_s == pytest.approx(begins + 1 / 3 + 0.1, abs=1e-5)
    assert early.end_s - begins == pytest.approx(1 / 3 + 0.5, abs=1e-5)
    assert third.spoke.end_s - begins == pytest.approx(1.0, abs=1e-5)
    assert (third.spoke.seconds, third.spoke.pauses) == (1.0, 0.5)
    assert third.due_s == pytest.approx(begins + 1.1, abs=1e-5)
    said = [body["messages"][-1]["content"] for body in chats(truth) if body["max_tokens"] > 1]
    assert said[0] == "Tell me"
    assert said[1].startswith("Tell me more. ")
    assert not any(message["content"] == "Tell me" for message in chats(truth)[-1]["messages"])
    assert third.planned
    assert (early.spoke.gap, third.spoke.gap) == (None, None)  # the call's first words follow nobody's


def test_an_early_request_that_is_kept_is_not_heard_before_the_turn_has_ended(tmp_path: Path) -> None:
    scenario = ONE | {"pace": {"by": "speech"}, "speculation": {"by": "recorded", "eager": "100 ms"}}
    found, _ = measured(tmp_path / "run", scenario | {"voice": {"tts": "0", "network": "0"}})
    for row in loads(found):
        assert row.spoke is not None
        assert row.playout is not None
        assert row.first_speech_s is not None
        assert row.first_speech_s < row.spoke.end_s + 0.4
        assert row.playout.start_s == pytest.approx(row.spoke.end_s + 0.5, abs=1e-3)


def test_an_early_reply_that_was_whole_before_the_caller_went_on_is_superseded_too(tmp_path: Path) -> None:
    scenario = ONE | {"pace": {"by": "speech"}, "speculation": {"by": "recorded", "eager": "100 ms"}}
    found, _ = measured(tmp_path / "run", scenario, recordings={"call": PAUSED})
    early, third, _ = loads(found)
    assert (early.outcome, early.finish, third.outcome) == ("superseded", "length", "ok")


def test_pauses_and_early_requests_are_faster_by_the_scale_too(tmp_path: Path) -> None:
    scenario = ONE | {"pace": {"by": "speech", "time_scale": 4}, "speculation": {"by": "recorded", "eager": "400 ms"}}
    found, _ = measured(tmp_path / "run", scenario, lambda _: Faults(first=0.2), recordings={"call": PAUSED})
    early, third, _ = loads(found)
    assert early.spoke is not None
    assert third.spoke is not None
    assert early.due_s is not None
    assert early.end_s is not None
    begins = third.spoke.start_s
    assert early.due_s - begins == pytest.approx((1 / 3 + 0.4) / 4, abs=1e-5)
    assert early.end_s - begins == pytest.approx((1 / 3 + 0.5) / 4, abs=1e-5)
    assert early.outcome == "superseded"
    assert third.spoke.end_s - begins == pytest.approx(0.25, abs=1e-5)
    assert third.due_s == pytest.approx(begins + (1 + 0.4) / 4, abs=1e-5)


def test_a_pause_shorter_than_the_wait_for_it_sends_nothing(tmp_path: Path) -> None:
    pace = {"by": "speech", "time_scale": 10, "endpointing": "1 s"}
    scenario = ONE | {"pace": pace, "speculation": {"by": "recorded", "eager": "600 ms"}}
    found, _ = measured(tmp_path / "run", scenario, recordings={"call": PAUSED})
    third, fourth = loads(found)
    assert (third.attempt, third.outcome, fourth.attempt) == (0, "ok", 0)
    assert third.spoke is not None
    assert (third.spoke.seconds, third.spoke.pauses) == (1.0, 0.5)


@pytest.mark.parametrize(("tries", "requests"), [(1, 1), (2, 2), (3, 2)])
def test_a_turn_has_so_many_requests_at_most(tmp_path: Path, tries: int, requests: int) -> None:
    scenario = ONE | {"speculation": {"by": "recorded", "eager": "0", "tries": tries}}
    found, _ = measured(tmp_path / "run", scenario, recordings={"call": PAUSED})
    assert sum(r.turn == 3 for r in loads(found)) == requests


def test_drawn_pauses_come_as_often_as_they_should(tmp_path: Path) -> None:
    callers = {"warm": {"count": 10, "turns": "2-4", "again": True}}
    pace = {"by": "speech", "time_scale": 200, "times": "drawn"}
    scenario = SPEECH | {"callers": callers, "pace": pace, "duration": "400 s"}
    scenario |= {"speculation": {"by": "drawn", "probability": 0.5, "eager": "0"}}
    found, _ = measured(tmp_path / "run", scenario, first=0.001, step=0.0)
    turns = {(r.caller, r.call, r.turn) for r in of(found, "load") if r.turn < 4}  # turn 4 is one word: no pause in it
    early = {(r.caller, r.call, r.turn) for r in of(found, "load") if r.outcome == "superseded"}
    assert len(turns) > 150
    assert len(early) / len(turns) == pytest.approx(0.5, abs=0.12)


# -- the agent's client tries again


def some_fail(monkeypatch: pytest.MonkeyPatch) -> None:
    """The presets, fifty times faster."""
    for name, attempts in RETRIES.items():
        quick = tuple(Attempt(a.limit and a.limit / 50, a.after / 50) for a in attempts)
        monkeypatch.setitem(RETRIES, name, quick)


def turn_three(times: int, fault: Faults) -> Any:
    """The first caller's first requests of turn 3 fail."""
    left = [times]

    def choose(request: Request) -> Faults:
        body = request.json
        if body["id_slot"] != 0 or not body["messages"][-1]["content"].startswith("Tell me"):
            return Faults()
        left[0] -= 1
        return fault if left[0] >= 0 else Faults()

    return choose


def test_livekit_waits_ten_seconds_and_tries_three_times_more() -> None:
    assert RETRIES["livekit"] == (Attempt(10, 0), Attempt(10, 0.1), Attempt(10, 2), Attempt(10, 2))
    assert RETRIES["pipecat"] == (Attempt(5, 0), Attempt(None, 0))


@pytest.mark.parametrize(
    ("retry", "fault", "outcomes"),
    [
        ("none", Faults(silence_after=0), None),
        ("livekit", Faults(silence_after=0), ["timeout", "timeout", "ok"]),
        ("livekit", Faults(status=503), ["error", "error", "ok"]),
        ("livekit", Faults(reset_after=0), ["error", "error", "ok"]),
        ("livekit", Faults(status=400), ["error"]),
        ("livekit", Faults(reset_after=1), ["error"]),
        ("pipecat", Faults(status=503), ["error"]),
    ],
)  # fmt: skip
def test_what_is_tried_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, retry: str, fault: Faults, outcomes: list[str] | None
) -> None:
    some_fail(monkeypatch)
    scenario = TWO | {"retry": retry, "timeout": {"first_token": "11 s" if outcomes else "500 ms"}}
    found, _ = measured(tmp_path / "run", scenario, turn_three(2, fault))
    third = [r for r in loads(found) if r.turn == 3]
    assert [r.outcome for r in third] == (outcomes or ["timeout"])
    assert [r.attempt for r in third] == list(range(len(third)))
    assert [r.turn for r in loads(found) if r.turn == 4] == ([4] if third[-1].outcome == "ok" else [])
    (ended,) = [e for e in found.events if e["event"] == "call" and e["caller"] == 0]
    assert ended["why"] == ("ended" if third[-1].outcome == "ok" else "failed")


def test_pipecat_tries_once_more_and_then_waits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    some_fail(monkeypatch)
    found, _ = measured(tmp_path / "run", TWO | {"retry": "pipecat"}, turn_three(2, Faults(first=0.3)))
    third = [r for r in loads(found) if r.turn == 3]
    assert [r.outcome for r in third] == ["timeout", "ok"]
    assert third[0].error == "no first token within 0.1 s, as pipecat waits"


def test_a_retry_leaves_after_its_delay(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    some_fail(monkeypatch)
    found, _ = measured(tmp_path / "run", TWO | {"retry": "livekit"}, turn_three(9, Faults(status=500)))
    waits = [b.sent_s - a.end_s for a, b in pairwise(loads(found)) if b.sent_s is not None and a.end_s is not None]
    assert waits == pytest.approx([0.1 / 50, 2 / 50, 2 / 50], abs=1e-5)
    assert [r.outcome for r in loads(found)] == ["error"] * 4


def test_patience_ends_retries_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    some_fail(monkeypatch)
    scenario = TWO | {"retry": "livekit", "patience": "500 ms"}
    found, _ = measured(tmp_path / "run", scenario, turn_three(9, Faults(silence_after=0)))
    assert [r.outcome for r in loads(found)] == ["timeout", "timeout", "cut"]
    assert [r.abandoned for r in loads(found)] == [False, False, True]
    (ended,) = [e for e in found.events if e["event"] == "call" and e["caller"] == 0]
    assert ended["why"] == "hung_up"


# -- what a slot does with a request that was given up


def released(found: Any) -> list[float]:
    return [e["after_s"] for e in found.events if e["event"] == "released"]


def test_the_slot_of_an_early_request_that_was_given_up_is_watched(tmp_path: Path) -> None:
    scenario = ONE | {"pace": {"by": "speech"}, "speculation": {"by": "recorded", "eager": "100 ms"}}
    found, _ = measured(
        tmp_path / "a", scenario, lambda _: Faults(first=0.45), recordings={"call": PAUSED}, release=0.2
    )
    (after,) = released(found)
    assert 0.2 <= after <= 0.2 + release.LOOK_S
    # one that had come whole leaves nothing to watch
    found, _ = measured(tmp_path / "b", scenario, recordings={"call": PAUSED}, release=0.2)
    assert released(found) == []


def test_a_slot_with_another_request_has_left_the_one_that_was_given_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    some_fail(monkeypatch)
    mute = turn_three(2, Faults(silence_after=0))
    found, _ = measured(tmp_path / "run", TWO | {"retry": "livekit"}, mute, release=0.01)
    assert [r.outcome for r in loads(found) if r.turn == 3] == ["timeout", "timeout", "ok"]
    # each of them is silent for 0.2 s in the same slot
    assert all(after < 0.1 for after in released(found))


def test_an_early_request_that_fails_is_taken_back_like_any_other(tmp_path: Path) -> None:
    scenario = ONE | {"speculation": {"by": "recorded", "eager": "0"}}
    left = iter([Faults(status=503)])
    fails = lambda request: next(left, Faults()) if request.json["max_tokens"] > 1 else Faults()  # noqa: E731
    found, _ = measured(tmp_path / "run", scenario, fails, recordings={"call": PAUSED})
    assert [(r.turn, r.outcome) for r in loads(found)] == [(3, "superseded"), (3, "ok"), (4, "ok")]


def test_patience_ends_in_the_middle_of_a_retrys_delay(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(RETRIES, "livekit", (Attempt(10.0), Attempt(10.0, 3.0)))
    scenario = TWO | {"retry": "livekit", "patience": "700 ms"}
    found, _ = measured(tmp_path / "run", scenario, turn_three(9, Faults(status=503)))
    refused, gone = loads(found)
    assert (refused.outcome, gone.outcome, gone.abandoned, gone.sent_s) == ("error", "cut", True, None)
    assert gone.spoke is not None
    assert gone.end_s is not None
    assert gone.end_s - gone.spoke.end_s == pytest.approx(0.7, abs=1e-5)
