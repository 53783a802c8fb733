"""Callers who speak and listen, against a server with a known schedule: when requests leave, and what is heard."""

import asyncio
import itertools
from pathlib import Path
from typing import Any

import msgspec
import pytest

from loadsim.engine import bench, point
from loadsim.engine.places import places
from loadsim.engine.preflight import check_server, preflight
from loadsim.engine.progress import Progress
from loadsim.recording.model import Recording
from loadsim.results.read import Run
from loadsim.scenario.load import restore
from loadsim.scenario.model import Group
from loadsim.server.api import Reply
from loadsim.telemetry import lag
from loadsim.types import BadInput, RequestRow, RunStopped, ServerInfo
from tests.caller.test_people import Instant
from tests.calls import CALL, any_text
from tests.engine import truthful
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
    assert start == pytest.approx(chunk - origin + 0.005, abs=0.01)  # 50 ms of TTS and network, ten times faster
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
    assert fourth.spoke.start_s == pytest.approx(third.end_s, abs=0.02)


def test_at_once_is_when_the_reply_has_ended(tmp_path: Path) -> None:
    for name, every in (("a", {}), ("b", {"every": "50 ms"})):
        callers = {"warm": {"count": 1, "turns": "2-4"} | every}
        found, _ = measured(tmp_path / name, SPEECH | {"callers": callers, "pace": "at_once"}, first=0.1)
        second, third, fourth = (r for r in of(found, "load") if r.step == 0)
        tool = of(found, "load")[1]
        for before, row in ((tool, third), (third, fourth)):
            assert before.end_s is not None
            assert row.due_s is not None
            assert 0 <= row.due_s - before.end_s < 0.05
        assert tool.due_s is not None
        assert second.end_s is not None
        assert 0 <= tool.due_s - second.end_s < 0.05


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
    assert waits[:2] == [pytest.approx(0.4, abs=0.02), pytest.approx(0.8, abs=0.02)]


def test_each_repeat_is_another_day_and_each_point_has_the_same(tmp_path: Path) -> None:
    drawn = SPEECH | {"pace": {"by": "speech", "times": "drawn", "time_scale": 100}, "repeat": 2}
    found, _ = measured(tmp_path / "run", drawn | {"sweep": {"callers.warm.count": [1, 2]}})
    days = {
        (r.point, r.repeat): [x.spoke.seconds for x in of(found, "load") if x.spoke and x.caller == 0 and same(x, r)]
        for r in of(found, "load")
    }
    one, other = ([days[where, repeat] for repeat in (1, 2)] for where in found.facts["points"])
    assert one == other
    assert one[0] != one[1]


def same(one: RequestRow, other: RequestRow) -> bool:
    return (one.point, one.repeat) == (other.point, other.repeat)


def test_a_load_in_which_all_wait_in_vain_stops_the_run(tmp_path: Path) -> None:
    def mute(request: Request) -> Faults:
        return Faults(silence_after=0) if request.json["max_tokens"] > 1 else Faults()

    with pytest.raises(RunStopped, match=r"^no caller was answered: no first token within 0\.2 s"):
        measured(tmp_path / "run", SPEECH | {"timeout": {"first_token": "200 ms"}}, mute)


def test_the_client_is_watched_under_the_load_alone(tmp_path: Path) -> None:
    at_once = {"callers": {"warm": {"count": 4}}, "pace": "at_once"}
    found, _ = measured(tmp_path / "run", SPEECH | at_once, first=0.3)
    (client,) = [e for e in found.events if e["event"] == "client"]
    # 0.1 s until the requests are due, and one reply; the warming before took four
    assert 0.3 < client["samples"] * lag.STEP_S < 0.8


# -- what the progress tells


def watched(folder: Path, patch: pytest.MonkeyPatch, scenario: dict[str, Any], **options: Any) -> tuple[Run, Progress]:
    """The run, and its progress at the end."""
    progress = Progress()
    patch.setattr(truthful, "Progress", lambda: progress)
    return measured(folder, SPEECH | scenario, **options)[0], progress


@pytest.mark.parametrize(
    ("baseline", "alone"), [({"replies": 0}, 0), ({"replies": 2}, 9), ({"replies": 2, "slot": 11}, 8)]
)
def test_the_progress_knows_of_every_row(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, baseline: dict[str, Any], alone: int
) -> None:
    callers = {"warm": {"count": 2, "turns": "2-4"}, "new": {"count": 1, "cache": "cold", "turns": "1-2"}}
    found, progress = watched(tmp_path / "run", monkeypatch, {"callers": callers, "baseline": baseline, "repeat": 2})
    # two slots warmed; turns 2 to 4 are four requests, turns 1 and 2 three; the first warming is not counted
    assert len(found.rows) == 2 * (2 + alone + 2 * 4 + 3)
    assert progress.done == progress.total == len(found.rows) - 2
    assert progress.tokens == sum(len(r.token_s) for r in found.rows)


@pytest.mark.parametrize(
    ("scenario", "seconds"),
    [
        # turns 2 to 4 take 10 s; the fourth caller comes after 4 s
        ({"callers": {"warm": {"count": 4, "turns": "2-4", "start": "every 1 s"}}}, 1.4),
        ({"pace": {"by": "speech", "times": "drawn", "time_scale": 100}}, 3 * 12.4 / 100),
        ({"callers": {"warm": {"count": 1, "turns": "2-4", "again": True}}, "duration": "3 s"}, 0.3),
        (
            {"callers": {"warm": {"count": 2, "turns": "2-4", "start": "1 s", "every": "150 ms"}}, "pace": "at_once"},
            0.8,
        ),
    ],
)
def test_the_load_ends_when_the_pace_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, scenario: dict[str, Any], seconds: float
) -> None:
    found, progress = watched(tmp_path / "run", monkeypatch, scenario | {"repeat": 2}, first=0.05)
    assert progress.measuring_since is not None
    assert progress.load_ends is not None
    assert progress.loads_left_s == pytest.approx(0, abs=1e-6)
    first, last = (e["t_s"] for e in found.events if e["event"] == "phase" and e["phase"] == "all callers")
    # the connections are opened before the load; measuring began with the first one
    lead = bench.LEAD_S + bench.LEAD_PER_CALLER_S * len({r.caller for r in of(found, "load")})
    assert progress.load_ends - progress.measuring_since == pytest.approx(last - first + lead + seconds, abs=0.02)


def test_nobody_knows_when_callers_end_who_go_as_fast_as_the_server(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, progress = watched(tmp_path / "run", monkeypatch, {"pace": "at_once"})
    assert (progress.load_ends, progress.loads_left_s) == (None, None)


def test_the_time_left_by_the_callers_pace() -> None:
    assert Progress(loads_left_s=60).left(100) is None
    assert Progress(loads_left_s=60, load_ends=130).left(100) == 90
    assert Progress(loads_left_s=60, load_ends=130).left(140) == 60  # late, but the other loads are as long


def test_the_time_left_by_the_rows_so_far() -> None:
    assert Progress(total=20).left(100) is None
    assert Progress(total=20, measuring_since=90).left(100) is None
    assert Progress(total=20, measuring_since=90, done=5).left(100) == 30  # 2 s a row


def test_live_replies_wait_or_are_spoken() -> None:
    waiting, other, spoken, over = (Reply(0.0, any_text) for _ in range(4))
    for reply in (spoken, over):
        reply.output(1.0, None)
        reply.output(2.0, None)
    over.end(3.0, "ok")
    progress = Progress(tokens=7, live=[waiting, other, spoken, over])
    assert progress.callers() == (2, 1)
    assert progress.tokens_so_far() == 9


# -- what is checked before


def test_a_call_fits_to_the_token(tmp_path: Path) -> None:
    # "Sure.", then "It is a long story.", both of which must fit
    turns = (CALL.turns[0], CALL.turns[3], CALL.turns[2])
    recordings = {"call": Recording(title="t", source="s", system="Other.", tools=(), turns=turns)}
    scenario = SPEECH | {"callers": {"warm": {"count": 1, "turns": "2-3"}}}
    found, _ = measured(tmp_path / "a", scenario, recordings=recordings)
    last = of(found, "load")[-1]
    needed = (last.cache_n or 0) + (last.prompt_n or 0) + (last.max_tokens or 0)
    assert last.max_tokens == 10
    measured(tmp_path / "b", scenario, recordings=recordings, context=needed)
    with pytest.raises(BadInput, match=rf"needs {needed} tokens of context .* \(-c\) of 3072 or more$"):  # 12 times 256
        measured(tmp_path / "c", scenario, recordings=recordings, context=needed - 1)


def test_a_server_that_names_no_models_is_asked_for_any() -> None:
    wanted = restore(SPEECH | {"request": {"model": "gpt-9"}, "server": {"url": "http://x"}}, "test")
    check_server(ServerInfo(url="http://x", slots=1), wanted)
    with pytest.raises(BadInput, match=r"^request\.model: the server has no 'gpt-9'; it has a, b$"):
        check_server(ServerInfo(url="http://x", slots=1, models=("a", "b")), wanted)


class Rewriting(Instant):
    """A server whose template asks for a reply in other words than those that stand before it later."""

    asks = "?"

    async def render(self, messages: list[dict[str, Any]], tools: tuple[dict[str, Any], ...]) -> str | None:
        return "|".join(str(message["content"]) for message in messages) + self.asks

    async def tokenize(self, text: str) -> list[int] | None:
        return [ord(character) for character in text]


class Faithful(Rewriting):
    asks = "|"


@pytest.mark.parametrize(
    ("server", "group", "expects"),
    [
        (Faithful, {}, {"extension"}),
        (Rewriting, {}, {"extension", "rewind"}),
        (Rewriting, {"cache": "cold"}, {"cold"}),
        (Faithful, {"slots": "server"}, set()),
        (Faithful, {"slots": "server", "cache": "cold"}, set()),
    ],
)
def test_what_a_first_prompt_is_expected_to_be(
    server: type[Rewriting], group: dict[str, Any], expects: set[str]
) -> None:
    callers = {"a": {"count": 1, "turns": "3-4"} | group}
    wanted = restore(SPEECH | {"callers": callers, "server": {"url": "http://x"}}, "test")
    info = ServerInfo(url="http://x", slots=4)
    plan = asyncio.run(preflight(server(), info, "p", wanted, {"call": CALL}))
    assert plan.script("a", 0).expects == expects


@pytest.mark.parametrize(("reply", "most"), [({"free": 70}, 70), ({"exactly": 30}, 30), ("recorded", 19)])
def test_the_length_of_a_reply(reply: Any, most: int) -> None:
    wanted = restore(SPEECH | {"reply": reply, "server": {"url": "http://x"}}, "test")
    plan = asyncio.run(preflight(Faithful(), ServerInfo(url="http://x", slots=4), "p", wanted, {"call": CALL}))
    assert plan.max_tokens("It is a long story.") == most  # a character is a token there


def test_tokens_are_counted_without_those_that_every_text_begins_with() -> None:
    class Beginning(Faithful):
        async def tokenize(self, text: str) -> list[int] | None:
            return [1, 2, *[ord(character) for character in text]]

    wanted = restore(SPEECH | {"barge_in": "recorded", "server": {"url": "http://x"}}, "test")
    plan = asyncio.run(preflight(Beginning(), ServerInfo(url="http://x", slots=4), "p", wanted, {"call": CALL}))
    assert plan.tokens["Sure."] == 5
    assert plan.tokens["It is a"] == 7  # what was heard before the cut


def test_what_a_voice_begins_with_is_counted_too() -> None:
    agent = msgspec.structs.replace(CALL.turns[3].agent, text="Well, it is over.")
    turns = (*CALL.turns[:3], msgspec.structs.replace(CALL.turns[3], agent=agent))
    recordings = {"call": msgspec.structs.replace(CALL, turns=turns)}
    wanted = restore(SPEECH | {"server": {"url": "http://x"}}, "test")
    plan = asyncio.run(preflight(Faithful(), ServerInfo(url="http://x", slots=4), "p", wanted, recordings))
    assert plan.tokens["Well, it is over."] == 17
    assert plan.tokens["Well,"] == 5
