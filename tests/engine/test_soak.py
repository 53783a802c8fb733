"""Hours of load in virtual time: pauses for one caller alone, phases, windows, and rules that end it."""

import gc
import itertools
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from loadsim.engine import point, soak
from loadsim.engine.abort import Limits
from loadsim.engine.ending import Ending
from loadsim.report.table import render
from loadsim.results.histograms import read_log
from loadsim.results.read import Run, read
from loadsim.scenario.load import restore
from loadsim.stats.summary import summarize
from loadsim.types import BadInput, CardSample, ChatRequest, RequestRow, RunAborted, RunInterrupted
from tests.engine.truthful import measured, of
from tests.engine.virtually import soaked
from tests.report.runs import text_of
from tests.stats.rows import row as row_of
from tests.truth import Faults, Request
from tests.virtual import run

SOAK: dict[str, Any] = {
    "callers": {"paced": {"count": 3, "turns": "all", "again": True, "start": "5 s"}},
    "pace": "speech",
    "baseline": {"every": "1 min", "replies": 3},
    "duration": "5 min",
}


def pauses(found: Run) -> list[dict[str, Any]]:
    return [event for event in found.events if event["event"] == "pause"]


def start(found: Run) -> float:
    (event,) = [event for event in found.events if event["event"] == "load"]
    return float(event["start_s"])


def spoken(rows: Iterable[RequestRow]) -> Iterable[tuple[RequestRow, float, float]]:
    for row in rows:
        assert row.spoke is not None
        assert row.due_s is not None
        yield row, row.spoke.start_s, row.due_s


def measured_alone(found: Run) -> list[RequestRow]:
    return [row for row in of(found, "baseline") if row.side == "during"]


# -- the pauses


def test_one_caller_is_alone_in_each_pause(tmp_path: Path) -> None:
    found, _ = soaked(tmp_path / "run", SOAK, slots=4)
    told = pauses(found)
    assert [event["number"] for event in told] == [1, 2, 3, 4]
    assert [row.call for row in measured_alone(found)] == [n for n in (1, 2, 3, 4) for _ in range(3)]
    assert [row.number for row in measured_alone(found)] == [0, 1, 2] * 4
    others = [row for row in found.rows if row.row == "load"]
    for event in told:
        mine = [row for row in measured_alone(found) if row.call == event["number"]]
        assert event["why"] is None
        assert all(event["quiet_s"] <= (row.sent_s or 0) and (row.end_s or 0) <= event["open_s"] for row in mine)
        # a turn that was begun is finished, and none begins before the floor opens
        assert all((row.end_s or 0) <= event["quiet_s"] or (row.sent_s or 0) >= event["open_s"] for row in others)
        assert all(
            not event["shut_s"] < begun < event["open_s"] for _, begun, _ in spoken(r for r in others if not r.step)
        )


def test_a_pause_comes_every_so_often_of_the_loads_own_time(tmp_path: Path) -> None:
    found, _ = soaked(tmp_path / "run", SOAK, slots=4)
    gone = 0.0
    for number, event in enumerate(pauses(found), 1):
        assert event["shut_s"] - start(found) - gone == pytest.approx(60.0 * number, abs=1e-5)
        gone += event["open_s"] - event["shut_s"]
    last = max(begun for _, begun, _ in spoken(r for r in of(found, "load") if not r.step))
    assert start(found) + 300 + gone - 15 < last < start(found) + 300 + gone


def test_time_stands_still_for_those_who_wait(tmp_path: Path) -> None:
    """Between two turns lies the recorded gap, and what of a pause came after the first one's reply."""
    found, _ = soaked(
        tmp_path / "run", SOAK | {"callers": {"paced": {"count": 3, "turns": "2-4", "again": True}}}, slots=4
    )
    held = 0
    for caller in range(3):
        rows = [row for row in of(found, "load") if row.caller == caller]
        for before, row in itertools.pairwise(rows):
            if row.step or row.call != before.call:
                continue
            assert before.playout is not None
            assert before.end_s is not None
            assert row.spoke is not None
            assert row.spoke.gap is not None
            wait = sum(
                event["open_s"] - max(event["shut_s"], before.end_s)
                for event in pauses(found)
                if before.end_s < event["open_s"] and event["shut_s"] < row.spoke.start_s
            )
            held += wait > 0
            assert row.spoke.start_s - before.playout.end_s - row.spoke.gap == pytest.approx(wait, abs=2e-5)
    assert held >= 4


def test_a_pause_is_no_late_reply_and_tries_nobodys_patience(tmp_path: Path) -> None:
    long = SOAK | {"baseline": {"every": "1 min", "replies": 40}, "patience": "3 s"}
    found, _ = soaked(tmp_path / "run", long, slots=4)
    assert min(event["open_s"] - event["shut_s"] for event in pauses(found)) > 20
    rows = of(found, "load")
    assert {row.outcome for row in rows} == {"ok"}
    assert {round((row.first_token_s or 0) - (row.due_s or 0), 4) for row in rows if not row.step} == {0.2}
    for row, _, due in spoken(row for row in rows if not row.step):
        assert row.spoke is not None
        assert due == pytest.approx(row.spoke.end_s + 0.5, abs=1e-5)


def test_callers_who_ask_at_once_go_on_as_far_apart_as_they_were(tmp_path: Path) -> None:
    at_once = SOAK | {
        "pace": "at_once",
        "callers": {"paced": {"count": 2, "every": "7 s", "again": True, "turns": "all"}},
    }
    found, _ = soaked(tmp_path / "run", at_once, slots=3)
    for caller in range(2):
        rows = [row for row in of(found, "load") if row.caller == caller and not row.step]
        for before, row in itertools.pairwise(rows):
            if row.call == before.call:
                assert before.due_s is not None
                assert row.due_s is not None
                paused = sum(
                    event["open_s"] - max(event["shut_s"], before.end_s or 0)
                    for event in pauses(found)
                    if before.due_s < event["shut_s"] < row.due_s
                )
                assert row.due_s - before.due_s == pytest.approx(7 + paused, abs=0.5)
    assert {round((row.first_token_s or 0) - (row.due_s or 0), 4) for row in of(found, "load")} == {0.2}
    # on a connection that stood by then
    first = [row for row in of(found, "load") if row.due_s == min(r.due_s or 0 for r in of(found, "load"))]
    assert [(row.due_s or 0) - (row.connected_s or 0) > 0.1 for row in first] == [True, True]


def test_a_slot_of_its_own(tmp_path: Path) -> None:
    found, _ = soaked(tmp_path / "run", SOAK, slots=5)
    assert {row.slot for row in of(found, "baseline")} == {4}
    assert found.facts["points"]["p"] == {"sets": {}, "slots": [0, 1, 2], "alone": 4, "shared": None}
    # what is warmed in the load is only the one caller's own slot
    assert {row.group for row in of(found, "warm") if (row.sent_s or 0) > start(found)} == {"baseline"}


def test_without_pauses_one_caller_has_the_first_ones_slot(tmp_path: Path) -> None:
    found, _ = soaked(tmp_path / "run", SOAK | {"baseline": {"replies": 3}, "duration": "20 s"}, slots=5)
    assert {row.slot for row in of(found, "baseline")} == {0}


def test_nothing_is_asked_twice(tmp_path: Path) -> None:
    """A prompt that a slot has held is answered at once, and measures nothing."""
    _, seen = soaked(tmp_path / "run", SOAK, slots=4)
    alone = [each.request.messages[-1]["content"] for each in seen if each.slot == 3 and each.request.max_tokens != 1]
    assert len(alone) == len(set(alone)) == 3 * (4 + 2)


def test_a_slot_that_was_borrowed_is_given_back_warm(tmp_path: Path) -> None:
    found, seen = soaked(tmp_path / "run", SOAK, slots=3)
    assert {row.slot for row in of(found, "baseline")} == {0}
    assert found.facts["points"]["p"]["shared"] == ["paced", 0]
    for event in pauses(found):
        within = [row for row in of(found, "warm") if event["quiet_s"] <= (row.sent_s or 0) <= event["open_s"]]
        last = within[-1]
        assert (last.group, last.caller, last.slot) == ("paced", 0, 0)
        assert max(row.end_s or 0 for row in measured_alone(found) if row.call == event["number"]) <= (last.sent_s or 0)
        after = min(
            (row for row in of(found, "load") if row.caller == 0 and (row.sent_s or 0) > event["open_s"]),
            key=lambda row: row.sent_s or 0.0,
        )
        # its history is there again, up to the caller's last words
        at = 1000 + (last.sent_s or 0)  # by the server's clock
        mine = [each for each in seen if each.slot == 0]
        warmed = next(each for each in mine if abs((each.started_s or 0) - at) < 1e-5).request
        asked = next(each for each in mine if (each.started_s or 0) > 1000 + event["open_s"]).request
        if after.turn > 1 and not after.step:
            said = len(warmed.messages)
            assert warmed.messages == asked.messages[:said]
            roles = [message["role"] for message in asked.messages[said - 1 :]]
            assert (roles[0], roles[-1], roles.count("user")) == ("user", "user", 2)
        assert after.planned
        assert after.cache_n is not None
        if after.turn > 1:
            assert last.prompt_n is not None
            assert last.cache_n is not None
            # of the next prompt all that was warmed is found, but for a template's last tokens
            assert 0 <= last.prompt_n + last.cache_n - after.cache_n <= 8
    assert {row.planned for row in of(found, "load")} == {True}


def test_a_turn_that_takes_too_long_does_not_hold_the_others(tmp_path: Path) -> None:
    slow = iter([False] * 40 + [True])

    def choose(request: ChatRequest) -> Faults:
        return Faults(first=100.0) if request.max_tokens != 1 and next(slow, False) else Faults()

    found, _ = soaked(tmp_path / "run", SOAK, choose, slots=4)
    (late,) = [row for row in of(found, "load") if (row.end_s or 0) - (row.sent_s or 0) > 90]
    first, second, *_ = pauses(found)
    assert first["why"] == "a turn under way took longer than 30 s"  # half of the minute between two pauses
    assert first["quiet_s"] is None
    assert first["open_s"] - first["shut_s"] == pytest.approx(30, abs=1e-5)
    assert measured_alone(found)[0].call > 1
    meanwhile = {row.caller for row in of(found, "load") if first["open_s"] < (row.sent_s or 0) < (late.end_s or 0)}
    assert meanwhile == {0, 1, 2} - {late.caller}
    assert pauses(found)[-1]["why"] is None
    assert second["shut_s"] - first["open_s"] == pytest.approx(60, abs=1e-5)


@pytest.mark.parametrize(
    ("failing", "why"),
    [(12, "slot 3 could not be warmed: HTTP 503: 503: Loading model"), (13, "HTTP 503: 503: Loading model")],
)
def test_a_baseline_that_fails_does_not_end_the_load(tmp_path: Path, failing: int, why: str) -> None:
    """Of slot 3's requests 12 to 17 are the second pause's: three times its history, and a turn."""
    chats = itertools.count()

    def choose(request: ChatRequest) -> Faults:
        return Faults(status=503) if request.slot == 3 and next(chats) == failing else Faults()

    found, _ = soaked(tmp_path / "run", SOAK, choose, slots=4)
    assert [event["why"] for event in pauses(found)] == [None, why, None, None]
    assert {row.outcome for row in of(found, "load")} == {"ok"}


def test_a_time_scale_divides_the_time_between_pauses_too(tmp_path: Path) -> None:
    found, _ = soaked(tmp_path / "run", SOAK | {"pace": {"by": "speech", "time_scale": 10}}, slots=4)
    told = pauses(found)
    assert len(told) == 4
    assert told[0]["shut_s"] - start(found) == pytest.approx(6, abs=1e-5)


def test_a_pause_that_ctrl_c_breaks_off_leaves_its_event(tmp_path: Path) -> None:
    """Of slot 3's requests 9 is in the first pause, which is told, with what was measured by then."""
    ending, asked = Ending(), itertools.count(1)

    def choose(request: ChatRequest) -> Faults:
        if request.slot == 3 and next(asked) == 9:
            ending.ask()
        return Faults()

    with pytest.raises(RunInterrupted):
        soaked(tmp_path / "run", SOAK, choose, slots=4, ending=ending)
    found = read(tmp_path / "run")
    (event,) = pauses(found)
    assert event["why"] == "broken off by hand"
    assert event["shut_s"] <= event["quiet_s"] < event["open_s"]
    assert "1 went wrong, the first: broken off by hand" in " ".join(text_of(render(found)).split())


def test_a_pause_in_which_the_load_ends_says_so(tmp_path: Path) -> None:
    """Turns at 0, 7, 14 and 21 s; the last one is under way when the floor is closed, and the next is not begun."""
    late: dict[str, Any] = {
        "pace": "at_once",
        "callers": {"one": {"count": 1, "every": "7 s", "again": True, "turns": "all"}},
        "baseline": {"every": "21200 ms", "replies": 3},
        "duration": "22 s",
    }
    found, _ = soaked(tmp_path / "run", late, slots=2)
    print([(r.due_s, r.end_s, r.turn, r.step) for r in of(found, "load")], pauses(found))
    (event,) = pauses(found)
    assert event["why"] == "the load ended in it"
    assert found.facts["ended"] == "complete"
    assert not [row for row in measured_alone(found) if row.outcome == "ok"]


def test_what_is_sent_while_a_pause_is_awaited_is_in_no_figure(tmp_path: Path) -> None:
    found, _ = soaked(tmp_path / "run", SOAK, slots=4)
    rows = of(found, "load")
    shut = [(event["shut_s"], event["open_s"]) for event in pauses(found)]
    late = [row for row in rows if any(on <= (row.sent_s or 0) < off for on, off in shut)]
    assert late
    assert [row for row in rows if row.draining] == late
    (who,) = summarize(found.rows, found.events)[0].load
    assert (who.draining, who.rows) == (len(late), len(rows) - len(late))
    assert f"{len(late)} requests sent while turns ended for a pause" in " ".join(text_of(render(found)).split())


def test_pauses_that_would_last_longer_than_the_load_between_them_are_refused(tmp_path: Path) -> None:
    often = SOAK | {"baseline": {"every": "20 s", "replies": 60}}
    said = r"^baseline\.every: one caller takes [0-9.]+ s to be measured, 60 replies, and 20 s is less: pauses would"
    with pytest.raises(BadInput, match=said):
        soaked(tmp_path / "run", often, slots=4)


def test_a_turn_that_no_pause_would_wait_for_is_told_before_the_load(tmp_path: Path) -> None:
    often = SOAK | {"baseline": {"every": "1 s", "replies": 2}}
    said = (
        r"^baseline\.every: turn \d+ takes its caller [0-9.]+ s, and a turn under way has half of 1 s to end before a"
    )
    with pytest.raises(BadInput, match=said):
        soaked(tmp_path / "run", often, slots=4)
    assert not read(tmp_path / "run").rows


# -- phases

PHASED: dict[str, Any] = {
    "callers": {"a": {"count": 2, "turns": "all", "again": True}, "b": {"count": 4, "turns": "all", "again": True}},
    "pace": "speech",
    "baseline": {"replies": 2},
    "phases": [
        {"name": "calm", "for": "2 min", "callers": 2},
        {"name": "ramp", "for": "2 min", "callers": [2, 4]},
        {"name": "spike", "for": "1 min", "callers": 6},
        {"name": "after", "for": "2 min", "callers": 3},
    ],
    "window": "20 s",
}


def who(rows: Iterable[RequestRow]) -> set[tuple[str, int]]:
    return {(row.group, row.caller) for row in rows}


def test_so_many_are_on_calls_as_the_phase_says(tmp_path: Path) -> None:
    found, _ = soaked(tmp_path / "run", PHASED, slots=6)
    rows = of(found, "load")
    by = {name: [row for row in rows if row.phase == name] for name in ("calm", "ramp", "spike", "after")}
    assert sum(map(len, by.values())) == len(rows)
    first = {("a", 0), ("a", 1)}
    begins = {"calm": (0, 120), "ramp": (120, 240), "spike": (240, 300), "after": (300, 500)}
    for name, (on, off) in begins.items():
        assert all(on <= (row.due_s or 0) - start(found) < off for row in by[name])
    assert who(by["calm"]) == first
    assert who(by["ramp"]) == first | {("b", 0), ("b", 1)}
    assert who(by["spike"]) == first | {("b", n) for n in range(4)}
    # a turn that was begun before the spike's end is finished behind it
    last = [row for row in by["after"] if (row.spoke.start_s if row.spoke else 0.0) > start(found) + 300]
    assert who(last) == first | {("b", 0)}
    joins = {b: min(begun for row, begun, _ in spoken(rows) if (row.group, row.caller) == ("b", b)) for b in range(4)}
    # 2 to 4 in 120 s: the third joins when the line passes 2.5, after 30 s, the fourth after 90
    assert [round(joins[b] - start(found), 3) for b in range(4)] == [150, 210, 240, 240]
    told = [
        (event["name"], round(event["at_s"] - start(found), 3))
        for event in found.events
        if event["event"] == "load phase"
    ]
    assert told == [("calm", 0), ("ramp", 120), ("spike", 240), ("after", 300)]


def test_those_of_the_first_phase_start_as_their_group_does(tmp_path: Path) -> None:
    spread = {"a": {"count": 2, "turns": "all", "again": True, "start": "20 s"}, "b": PHASED["callers"]["b"]}
    found, _ = soaked(tmp_path / "run", PHASED | {"callers": spread}, slots=6)
    begun = {
        a: min(b for row, b, _ in spoken(of(found, "load")) if (row.group, row.caller) == ("a", a)) for a in (0, 1)
    }
    assert [round(begun[a] - start(found), 3) for a in (0, 1)] == [0, 10]


def test_who_is_too_many_hangs_up_and_may_call_again_later(tmp_path: Path) -> None:
    waves = [{"name": f"{n}", "for": "1 min", "callers": c} for n, c in enumerate([3, 1, 3])]
    found, _ = soaked(tmp_path / "run", PHASED | {"phases": waves}, slots=6)
    ends = [
        event for event in found.events if event["event"] == "call" and (event["group"], event["caller"]) == ("b", 0)
    ]
    assert [event["why"] for event in ends if event["why"] != "ended"] == ["left", "time"]
    rows = [
        begun - start(found) for _, begun, _ in spoken(r for r in of(found, "load") if r.group == "b" and not r.step)
    ]
    assert not [t for t in rows if 60 <= t < 120]
    assert min(t for t in rows if t > 60) == pytest.approx(120, abs=1e-5)
    numbers = [event["call"] for event in ends]
    assert numbers == sorted(set(numbers))


def test_phases_stand_still_in_pauses(tmp_path: Path) -> None:
    found, _ = soaked(tmp_path / "run", PHASED | {"baseline": {"every": "70 s", "replies": 3}}, slots=7)
    at = {event["name"]: event["at_s"] - start(found) for event in found.events if event["event"] == "load phase"}
    lost = [0.0, *itertools.accumulate(event["open_s"] - event["shut_s"] for event in pauses(found))]
    assert at["ramp"] == pytest.approx(120 + lost[1], abs=1e-4)  # a pause after 70 s
    assert at["spike"] == pytest.approx(240 + lost[3], abs=1e-4)  # and after 140 and 210
    assert at["after"] == pytest.approx(300 + lost[4], abs=1e-4)  # and after 280


# -- windows


def test_a_windows_histograms_are_an_interval_of_the_log(tmp_path: Path) -> None:
    found, _ = soaked(tmp_path / "run", SOAK | {"window": "30 s"}, slots=4)
    log = [each for each in read_log(tmp_path / "run" / "histograms.hlog") if each.tag == "p/load/ttft"]
    ends = [each.start_s + each.length_s - start(found) for each in log]
    assert ends[:-1] == [pytest.approx(30.0 * n, abs=2e-3) for n in range(1, len(ends))]
    rows = [r for r in of(found, "load") if r.outcome == "ok" and r.planned is not False and not r.draining]
    for each, end in zip(log, ends, strict=True):
        mine = [row for row in rows if end - each.length_s < (row.end_s or 0) - start(found) <= end]
        assert each.histogram.get_total_count() == len(mine)
    assert sum(each.histogram.get_total_count() for each in log) == len(rows)
    clients = [event for event in found.events if event["event"] == "client"]
    assert [event.get("window") for event in clients] == [*range(1, len(log)), None]


# -- abort


def failing(after: float, every: int) -> Any:
    """From so many of the callers' requests on, each so-manyth fails."""
    count = itertools.count()

    def choose(request: ChatRequest) -> Faults:
        if request.max_tokens == 1 or request.slot == 3:  # a slot is warmed, and one caller alone
            return Faults()
        number = next(count)
        return Faults(status=500) if number > after and number % every == 0 else Faults()

    return choose


def ended(folder: Path, scenario: dict[str, Any], **options: Any) -> tuple[str, Run]:
    with pytest.raises(RunAborted) as caught:
        soaked(folder, scenario, **options)
    found = read(folder)
    assert (found.facts["ended"], found.facts["why"]) == ("stopped", str(caught.value))
    return str(caught.value), found


def test_too_many_errors_end_the_run_which_says_which_and_when(tmp_path: Path) -> None:
    why, found = ended(
        tmp_path / "run", SOAK | {"abort": {"errors": "20 %"}, "window": "30 s"}, choose=failing(100, 2), slots=4
    )
    assert why.startswith("abort, ")
    assert " requests of the last 30 s failed (" in why
    assert " x HTTP 500: " in why
    assert why.endswith("; the limit is 20 %")
    # the client's own delays are told to the end, too
    (client,) = [event for event in found.events if event["event"] == "client" and "window" not in event]
    assert client["t_s"] == pytest.approx(found.facts["seconds"], abs=0.6)
    rows = sorted((row for row in of(found, "load") if row.outcome != "cut"), key=lambda row: row.end_s or 0)
    for last in rows:
        end = last.end_s or 0
        window = [row for row in rows if end - 30 <= (row.end_s or 0) <= end]
        if len(window) >= 10 and sum(row.outcome == "error" for row in window) >= 0.2 * len(window):
            break
    # then, and no sooner; it is looked at every half second, and told in whole ones
    assert end - start(found) - 0.5 <= float(why.split()[1]) <= end - start(found) + 1


def test_what_a_server_says_of_an_error_is_shortened(tmp_path: Path) -> None:
    async def main() -> None:
        scenario = restore(SOAK | {"recording": "call", "abort": {"errors": "20 %"}}, "test")
        limits = Limits(scenario, 0.0, tuple, lambda: 0.0)
        for _ in range(10):
            limits.ended(row_of(outcome="error", error=f"HTTP 500: {'long ' * 58}"))
        await limits.look()

    with pytest.raises(RunAborted) as caught:
        run(main())
    named = f"HTTP 500: {' '.join(['long'] * 10)}"
    assert len(named) == 59
    assert str(caught.value).endswith(f"of the last 1 min failed (10 x {named}…); the limit is 20 %")


def test_as_many_errors_as_are_allowed_end_nothing(tmp_path: Path) -> None:
    found, _ = soaked(tmp_path / "run", SOAK | {"abort": {"errors": "60 %"}}, failing(100, 3), slots=4)
    assert sum(row.outcome == "error" for row in of(found, "load")) > 20
    assert found.facts["ended"] == "complete"


def test_a_few_requests_are_no_share(tmp_path: Path) -> None:
    few = SOAK | {"abort": {"errors": "20 %"}, "window": "2 s"}  # in which three callers never ask ten times
    found, _ = soaked(tmp_path / "run", few, failing(100, 2), slots=4)
    assert found.facts["ended"] == "complete"


@pytest.mark.parametrize(("limit", "stops"), [("92 C", True), ("93 C", False)])
def test_a_card_that_gets_too_hot_ends_the_run(tmp_path: Path, limit: str, stops: bool) -> None:
    seen: list[float] = []

    def cards() -> list[CardSample]:
        seen.append(len(seen))
        hot = 92.0 if len(seen) > 200 else 70.0  # looked at every half second
        t_s = len(seen) * 0.5
        return [CardSample(t_s=t_s, card=0, core_c=60.0), CardSample(t_s=t_s, card=1, core_c=hot)]

    scenario = SOAK | {"abort": {"card": limit}}
    if stops:
        why, _ = ended(tmp_path / "run", scenario, cards=cards, slots=4)
        assert why == "abort, 100 s into the load: card 1 was at 92 C; the limit is 92 C"
    else:
        soaked(tmp_path / "run", scenario, cards=cards, slots=4)
        assert len(seen) > 500


def test_a_sample_of_long_ago_ends_nothing(tmp_path: Path) -> None:
    def cards() -> list[CardSample]:
        return [CardSample(t_s=-31.0, card=0, core_c=99.0), CardSample(t_s=10.0, card=1, core_c=None)]

    found, _ = soaked(tmp_path / "run", SOAK | {"abort": {"card": "92 C"}}, cards=cards, slots=4)
    assert found.facts["ended"] == "complete"


def test_it_ends_the_run_with_the_points_that_it_still_had(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """On a real server, by the whole way."""
    monkeypatch.setattr(point, "AGAIN_S", 0.05)
    count = itertools.count()

    def choose(request: Request) -> Faults:
        return Faults(status=500) if next(count) > 30 else Faults()

    scenario = {
        "recording": "call",
        "callers": {"warm": {"count": 4, "turns": "2-4", "again": True, "every": "10 ms"}},
        "baseline": {"replies": 0},
        "repeat": 1,
        "duration": "20 s",
        "abort": {"errors": "20 %"},
        "sweep": {"callers.warm.count": [4, 3]},
    }
    with pytest.raises(RunAborted, match=r"^abort, \d+ s into the load: \d+ of \d+ requests of the last 1 min failed"):
        measured(tmp_path / "run", scenario, choose)
    found = read(tmp_path / "run")
    assert found.facts["ended"] == "stopped"
    assert len({row.point for row in found.rows}) == 1
    assert not [event for event in found.events if event["event"] in ("failed", "finished")]


# -- bounded


@pytest.mark.slow
def test_an_hour_of_load_keeps_nothing_of_its_requests(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    held: list[int] = []
    ending = soak.Soak.client

    def client(self: soak.Soak, **fields: Any) -> None:
        gc.collect()
        held.append(len(gc.get_objects()))
        ending(self, **fields)

    monkeypatch.setattr(soak.Soak, "client", client)
    found, _ = soaked(
        tmp_path / "run",
        SOAK | {"duration": "1 h", "baseline": {"every": "5 min"}, "window": "5 min"},
        slots=4,
        forget=True,
    )
    assert len(of(found, "load")) > 3000
    assert max(held[2:]) - held[1] < 500  # an object per row would be thousands
