"""Whole runs against the truth server: which rows there are, what was sent for each, and how broken runs end."""

import asyncio
import itertools
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from loadsim.engine.progress import Progress
from loadsim.engine.run import run as run_scenario
from loadsim.report.answer import answers
from loadsim.results.read import Run, read
from loadsim.results.write import Recorder
from loadsim.run import run
from loadsim.scenario.load import restore
from loadsim.telemetry import lag
from loadsim.types import BadInput, RequestRow, RunStopped
from tests.calls import CALL
from tests.engine import truthful
from tests.engine.truthful import QUICK, chats, of
from tests.truth import Faults, Request, Truth, serve

SMALL: dict[str, Any] = {
    "recording": "call",
    "callers": {"warm": {"count": 3}},
    "baseline": {"replies": 2},
    "repeat": 2,
}


def measured(folder: Path, scenario: dict[str, Any], *args: Any, **options: Any) -> tuple[Run, Truth]:
    return truthful.measured(folder, SMALL | scenario, *args, **options)


def test_the_rows_of_a_point_in_their_order(tmp_path: Path) -> None:
    found, _ = measured(tmp_path / "run", {})
    # by hand: 3 slots warmed; 2 replies alone, each warmed; the shared slot warmed again; 3 callers; 2 alone, warmed
    one = ["warm"] * 3 + ["warm", "baseline"] * 2 + ["warm"] + ["load"] * 3 + ["warm", "baseline"] * 2
    assert [r.row for r in found.rows] == one * 2
    assert [r.repeat for r in found.rows] == [1] * len(one) + [2] * len(one)
    assert Counter((r.side, r.number) for r in of(found, "baseline")) == {
        ("before", 0): 2, ("before", 1): 2, ("after", 0): 2, ("after", 1): 2,
    }  # fmt: skip
    assert {r.outcome for r in found.rows} == {"ok"}
    counted = [(each["repeat"], each["asked"]) for each in found.events if each["event"] == "requests"]
    assert counted == [(1, len(one)), (2, len(one))]
    assert [each.id for each in found.rows] == [*range(2 * len(one))]
    assert found.facts["points"]["3 warm"]["slots"] == [0, 1, 2]


def test_a_request_whose_row_is_lost_is_missed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    record = Recorder.row

    def lossy(self: Recorder, row: RequestRow, text: str | None) -> None:
        if (row.row, row.caller, row.repeat) != ("load", 1, 2):
            record(self, row, text)

    monkeypatch.setattr(Recorder, "row", lossy)
    found, _ = measured(tmp_path / "run", {})
    # by hand: 15 requests a repeat
    assert "3 warm: 30 requests were counted, and 29 rows are there." in list(answers([], found))


def test_every_measured_row_starts_from_the_same_state(tmp_path: Path) -> None:
    found, truth = measured(tmp_path / "run", {})
    rows = of(found, "load") + of(found, "baseline")
    assert {(r.kind, r.planned) for r in rows} == {("extension", True)}
    assert len({(r.cache_n, r.prompt_n, r.new_tokens) for r in rows}) == 1
    assert {(r.cache_n, r.prompt_n) for r in rows} <= {(e.cache_n, e.prompt_n) for e in truth.log}
    warm = of(found, "warm")
    # the last message but one of the call's end: nothing measured is ever sent twice
    said = [body["messages"][-1]["content"] for body in chats(truth) if body["max_tokens"] > 1]
    assert len(set(said)) == len(said) == len(rows)
    assert {body["messages"][-1]["content"] for body in chats(truth) if body["max_tokens"] == 1} == {"Stop."}
    assert len(warm) == len(chats(truth)) - len(rows)


def test_one_caller_alone_is_asked_as_the_load_is(tmp_path: Path) -> None:
    """Asked right behind its warm row, one caller was a tenth slower than the same caller as a load of one."""
    found, _ = measured(tmp_path / "run", {"callers": {"warm": {"count": 1}}})
    for before, row in itertools.pairwise(found.rows):
        if row.row in ("baseline", "load"):
            assert before.row == "warm" or row.row == "load"
            assert row.due_s is not None
            assert row.connected_s is not None
            assert before.end_s is not None
            assert row.connected_s < row.due_s
            assert row.due_s - before.end_s >= 0.09


def test_recorded_replies_have_their_length_and_run_over_the_end(tmp_path: Path) -> None:
    found, truth = measured(tmp_path / "run", {})
    sure = 2  # "Sure." is a word and a full stop to the truth server
    assert {len(r.token_s) for r in of(found, "load")} == {sure}
    assert {body.get("ignore_eos", False) for body in chats(truth) if body["max_tokens"] == sure} == {True}
    assert not any(body.get("ignore_eos") for body in chats(truth) if body["max_tokens"] == 1)


def test_free_replies_have_a_cap_and_end_themselves(tmp_path: Path) -> None:
    found, truth = measured(tmp_path / "run", {"reply": {"free": 50}})
    assert {len(r.token_s) for r in of(found, "load")} == {7}  # the truth server's eighth token is the end
    assert {r.finish for r in of(found, "load")} == {"stop"}
    assert not any(body.get("ignore_eos") for body in chats(truth))


@pytest.mark.slow
def test_callers_hold_a_slot_each_and_all_talk_at_once(tmp_path: Path) -> None:
    found, _ = measured(tmp_path / "run", {"callers": {"warm": {"count": 5}}}, first=0.2)
    for repeat in (1, 2):
        rows = [r for r in of(found, "load") if r.repeat == repeat]
        assert [(r.caller, r.slot) for r in sorted(rows, key=lambda r: r.caller)] == [(i, i) for i in range(5)]
        assert len({r.due_s for r in rows}) == 1
        ends = [r.end_s for r in rows if r.end_s is not None]
        assert max(r.sent_s for r in rows if r.sent_s is not None) < min(ends)


def test_spread_slots_and_a_baseline_in_its_own(tmp_path: Path) -> None:
    found, _ = measured(tmp_path / "run", {
        "callers": {"warm": {"count": 3, "slots": "spread"}}, "baseline": {"replies": 2, "slot": 11},
    })  # fmt: skip
    assert {r.slot for r in of(found, "load")} == {0, 4, 8}
    assert {r.slot for r in of(found, "baseline")} == {11}


def test_the_server_may_choose_the_slot_of_everything_but_the_warm_rows(tmp_path: Path) -> None:
    found, truth = measured(tmp_path / "run", {"callers": {"warm": {"count": 3, "slots": "server"}}})
    assert {r.slot for r in of(found, "load")} == {None}
    assert {r.slot for r in of(found, "warm")} == {0, 1, 2}
    unpinned = [body for body in chats(truth) if "id_slot" not in body]
    assert len(unpinned) == len(of(found, "load"))
    assert all(r.planned for r in of(found, "load"))


def test_a_cold_caller_shares_nothing_and_never_twice(tmp_path: Path) -> None:
    found, truth = measured(tmp_path / "run", {"callers": {"warm": {"count": 1}, "new": {"count": 2, "cache": "cold"}}})
    cold = [r for r in of(found, "load") if r.group == "new"]
    assert {(r.kind, r.planned) for r in cold} == {("cold", True)}
    opened = [b["messages"][0]["content"] for b in chats(truth) if b["messages"][0]["content"] != CALL.system]
    assert len(set(opened)) == len(opened) == len(cold) == 4
    assert all(text.endswith(CALL.system) and text != CALL.system for text in opened)


@pytest.mark.parametrize(("turns", "alone"), [("1-3", 2), ("2", 2), ("3-4", 3), ("last", 5)])
def test_beside_cold_callers_only_one_warm_caller_says_their_first_turn(tmp_path: Path, turns: str, alone: int) -> None:
    found, _ = measured(tmp_path / "run", {"callers": {"new": {"count": 2, "cache": "cold", "turns": turns}}})
    assert {r.turn for r in of(found, "baseline")} == {alone}
    assert {r.outcome for r in found.rows} == {"ok"}


def test_the_baselines_prompt_must_fit_too(tmp_path: Path) -> None:
    # turn 1 alone is short, turn 2 of the one warm caller beside it is not
    callers = {"new": {"count": 1, "cache": "cold", "turns": "1"}}
    found, _ = measured(tmp_path / "a", {"callers": callers, "baseline": {"replies": 0}})
    longest = max((r.prompt_n or 0) + (r.cache_n or 0) + (r.max_tokens or 0) for r in found.rows)
    with pytest.raises(BadInput, match=r"^the call of baseline needs \d+ tokens of context"):
        measured(tmp_path / "b", {"callers": callers}, context=longest)


def test_a_second_run_on_the_same_server_is_as_cold_as_the_first(tmp_path: Path) -> None:
    async def main() -> None:
        async with serve(**QUICK) as truth:
            for name in "ab":
                origin = asyncio.get_running_loop().time()
                recorder = Recorder(tmp_path / name, origin, text=False)
                wanted = SMALL | {"callers": {"new": {"count": 2, "cache": "cold"}}, "server": {"url": truth.url}}
                await run_scenario(restore(wanted, "test"), {"call": CALL}, recorder, Progress(), origin, None)
                recorder.close("complete")

    run(main())
    for name in "ab":
        rows = read(tmp_path / name).rows
        assert {r.kind for r in rows if r.group == "new"} == {"cold"}


def test_several_turns_each_extend_or_rewind_the_callers_own_prompt(tmp_path: Path) -> None:
    found, truth = measured(
        tmp_path / "run", {"callers": {"warm": {"count": 2, "turns": "2-4", "start": "100 ms", "every": "150 ms"}}}
    )
    rows = [r for r in of(found, "load") if r.repeat == 1 and r.caller == 1]
    # turn 2 calls a tool: a request for the call, one for the reply
    assert [(r.turn, r.step) for r in rows] == [(2, 0), (2, 1), (3, 0), (4, 0)]
    # the truth server forgets its own replies, so what follows one reuses less than the slot should hold
    assert [r.kind for r in rows] == ["extension", "rewind", "rewind", "rewind"]
    assert all(r.planned for r in rows)
    due = [r.due_s for r in rows if r.due_s is not None and r.step == 0]
    assert [b - a for a, b in itertools.pairwise(due)] == [pytest.approx(0.15, abs=2e-6)] * 2
    other = [r for r in of(found, "load") if r.repeat == 1 and r.caller == 0]
    assert rows[0].due_s is not None
    assert other[0].due_s is not None
    assert rows[0].due_s - other[0].due_s == pytest.approx(0.05, abs=2e-6)
    bodies = [b["messages"] for b in chats(truth) if b["max_tokens"] > 1 and b.get("id_slot") == 1][:4]
    for before, after in itertools.pairwise(bodies):
        assert after[: len(before)] == before


def test_the_round_trip_is_told_of_every_server(tmp_path: Path) -> None:
    found, truth = measured(tmp_path / "run", {"repeat": 1})
    told = found.facts["server"]
    assert 0 < told["round_trip_s"] < 5  # seconds, whatever else this machine does
    assert (told["boot"], told["command"]) == (None, None)
    first = next(i for i, request in enumerate(truth.requests) if request.path == "/v1/chat/completions")
    # one question whether it is ready, five for the way; none of them under the load
    assert [request.path for request in truth.requests[:first]].count("/health") == 6
    assert "/health" not in [request.path for request in truth.requests[first:]]
    (event,) = [event for event in found.events if event["event"] == "server"]
    assert (event["points"], event["round_trip_s"], event["started_s"]) == (["3 warm"], told["round_trip_s"], None)


def test_replies_are_kept_with_their_row(tmp_path: Path) -> None:
    found, _ = measured(tmp_path / "run", {})
    assert set(found.texts) == set(range(len(found.rows)))
    assert all(found.texts[i] for i, r in enumerate(found.rows) if r.row == "load")


def test_a_plain_server_needs_free_replies_and_then_works(tmp_path: Path) -> None:
    with pytest.raises(
        BadInput, match=r"^reply: recorded needs a server that counts tokens.*use reply: \{free: 120\}$"
    ):
        measured(tmp_path / "a", {}, plain=True)
    found, _ = measured(tmp_path / "b", {"reply": {"free": 20}}, plain=True)
    assert {(r.kind, r.planned, r.cache_n) for r in of(found, "load")} == {(None, None, None)}
    assert {r.outcome for r in found.rows} == {"ok"}


def test_a_call_that_does_not_fit_is_refused_before_the_load_with_both_numbers(tmp_path: Path) -> None:
    with pytest.raises(
        BadInput, match=r"^the call of callers\.warm needs \d+ tokens of context .*the server has 40 per slot"
    ):
        measured(tmp_path / "run", {}, context=40)
    assert read(tmp_path / "run").rows == []


def test_a_model_that_the_server_has_not(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match=r"^request\.model: the server has no 'gpt-9'; it has \w+"):
        measured(tmp_path / "run", {"request": {"model": "gpt-9"}})


def test_too_few_slots(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match=r"^3 callers need 3 slots; the server has 2"):
        measured(tmp_path / "run", {}, slots=2)


def test_a_baseline_slot_that_the_server_has_not(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match=r"^baseline\.slot: the server has slots 0 to 11; got 12$"):
        measured(tmp_path / "run", {"baseline": {"replies": 2, "slot": 12}})


def test_turns_that_the_recording_has_not(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match=r"^callers\.warm\.turns: .*turns 1-4$"):
        measured(tmp_path / "run", {"callers": {"warm": {"count": 1, "turns": "70-75"}}})


def failing(when: Callable[[Any], bool], faults: Faults) -> Callable[[Request], Faults]:
    return lambda request: faults if when(request.json) else Faults()


@pytest.mark.parametrize(
    ("faults", "outcome"),
    [
        (Faults(status=500), "error"),
        (Faults(reset_after=1), "error"),
        (Faults(error_after=1), "error"),
        (Faults(silence_after=0), "timeout"),
    ],
)
def test_one_callers_error_ends_its_call_and_nobody_elses(tmp_path: Path, faults: Faults, outcome: str) -> None:
    def second(body: Any) -> bool:
        return bool(body["max_tokens"] > 1 and body["id_slot"] == 1)

    scenario = {"callers": {"warm": {"count": 3, "turns": "3-4"}}, "timeout": {"first_token": "1 s"}}
    found, _ = measured(tmp_path / "run", scenario, failing(second, faults))
    rows = of(found, "load")
    assert Counter(r.outcome for r in rows if r.caller == 1) == {outcome: 2}  # one turn a repeat, the next is not asked
    assert Counter(r.outcome for r in rows if r.caller != 1) == {"ok": 8}
    assert all(r.error for r in rows if r.caller == 1)


def test_a_slot_that_cannot_be_warmed_stops_the_run_and_keeps_its_rows(tmp_path: Path) -> None:
    def third(body: Any) -> bool:
        return bool(body["max_tokens"] == 1 and body["id_slot"] == 2)

    with pytest.raises(RunStopped, match=r"^slot 2 could not be warmed: HTTP 500: "):
        measured(tmp_path / "run", {}, failing(third, Faults(status=500)))
    found = read(tmp_path / "run")
    assert [r.outcome for r in found.rows] == ["ok", "ok", "error"]
    assert found.facts["ended"] == "stopped"


def test_a_load_that_nobody_answers_stops_the_run(tmp_path: Path) -> None:
    with pytest.raises(RunStopped, match=r"^no caller was answered: HTTP 503: "):
        measured(
            tmp_path / "run", {"baseline": {"replies": 0}}, failing(lambda b: b["max_tokens"] > 1, Faults(status=503))
        )
    assert [r.outcome for r in of(read(tmp_path / "run"), "load")] == ["error"] * 3


def test_a_sweep_measures_each_point(tmp_path: Path) -> None:
    found, _ = measured(tmp_path / "run", {"sweep": {"callers.warm.slots": ["neighbours", "server"]}, "repeat": 1})
    assert Counter(r.point for r in of(found, "load")) == {"slots=neighbours": 3, "slots=server": 3}
    assert list(found.facts["points"]) == ["slots=neighbours", "slots=server"]


def test_a_run_broken_off_keeps_the_replies_under_way(tmp_path: Path) -> None:
    async def main() -> None:
        async with serve(**QUICK | {"step": 0.2}) as truth:
            origin = asyncio.get_running_loop().time()
            recorder = Recorder(tmp_path / "run", origin, text=False)
            scenario = SMALL | {"baseline": {"replies": 0}, "reply": {"free": 50}, "server": {"url": truth.url}}
            task = asyncio.create_task(
                run_scenario(restore(scenario, "test"), {"call": CALL}, recorder, Progress(), origin, None)
            )
            while len(truth.log) < 6 or not all(entry.token_s for entry in truth.log):
                await asyncio.sleep(0.01)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            recorder.close("interrupted")

    run(main())
    rows = of(read(tmp_path / "run"), "load")
    assert [r.outcome for r in rows] == ["cut"] * 3
    assert all(r.token_s for r in rows)


def test_the_key_reaches_the_server_and_nothing_on_disk(tmp_path: Path) -> None:
    _, truth = measured(tmp_path / "run", {}, key="s3cret-key", api_key="s3cret-key")
    assert {r.headers.get("authorization") for r in truth.requests} == {"Bearer s3cret-key"}
    assert not any(b"s3cret" in file.read_bytes() for file in (tmp_path / "run").iterdir())


def test_a_full_disk_in_mid_load_stops_the_run_in_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(self: Recorder, row: RequestRow, text: str | None) -> None:
        if row.row == "load":
            raise RunStopped("cannot write requests.jsonl: No space left on device")

    monkeypatch.setattr(Recorder, "row", full)
    with pytest.raises(RunStopped, match=r"^cannot write requests.jsonl"):
        measured(tmp_path / "run", {})


def test_nobody_who_begins_in_time_is_told(tmp_path: Path) -> None:
    callers = {"warm": {"count": 1, "start": "poisson 4 h"}}
    with pytest.raises(RunStopped, match="nobody's call began before the scenario's duration was over"):
        measured(tmp_path / "run", {"callers": callers, "duration": "1 s"})
    callers = {"warm": {"count": 1, "start": "at 5 s"}}
    with pytest.raises(
        BadInput, match=r"callers.warm.start: nobody begins before the scenario's duration, 1 s, is over"
    ):
        measured(tmp_path / "run2", {"callers": callers, "duration": "1 s"})


def test_recordings_can_be_swept(tmp_path: Path) -> None:
    swept = {"sweep": {"callers.warm.recordings": [["call"], ["other"]]}}
    found, _ = measured(tmp_path / "run", swept, recordings={"call": CALL, "other": CALL})
    assert len({r.point for r in found.rows}) == 2
    assert found.facts["ended"] == "complete"


def test_another_call_of_a_caller_is_new_from_its_first_token(tmp_path: Path) -> None:
    callers = {"new": {"count": 1, "cache": "cold", "turns": "1", "again": True}}
    found, _ = measured(tmp_path / "run", {"callers": callers, "duration": "1 s"})
    rows = of(found, "load")
    assert len(rows) > 2
    assert {r.new_tokens for r in rows} == {rows[0].new_tokens}


def test_the_client_is_watched_under_the_load_alone(tmp_path: Path) -> None:
    found, _ = measured(
        tmp_path / "run", {"callers": {"warm": {"count": 4}}, "repeat": 1, "baseline": {"replies": 0}}, first=0.3
    )
    (client,) = [e for e in found.events if e["event"] == "client"]
    (began,) = [e["t_s"] for e in found.events if e["event"] == "phase" and e["phase"] == "all callers"]
    # 0.1 s until the requests are due, and one reply; the warming before took four
    lasted = max(row.end_s or 0.0 for row in of(found, "load")) - began
    assert 0.3 < client["samples"] * lag.STEP_S < lasted + 0.2
