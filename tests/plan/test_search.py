"""Searches in virtual time, on cards of known capacity: what is found, what it took, and what stops them."""

import asyncio
import errno
import itertools
from pathlib import Path
from typing import Any

import pytest

from loadsim.plan.ahead import Ahead
from loadsim.plan.found import Found, Measured, Paced
from loadsim.plan.found import read as read_found
from loadsim.plan.heat import too_hot
from loadsim.plan.lines import answer
from loadsim.report.point import points
from loadsim.report.table import render
from loadsim.results.read import read
from loadsim.stats.cards import cards
from loadsim.types import BadInput, CardSample, RunStopped, Unwritable
from tests.plan.card import SMALL, Card, find, first_token
from tests.plan.test_steps import bisection
from tests.report.runs import text_of
from tests.truth import Faults

GROWS = 0.048  # s of first token that a caller more costs
BASE = 0.02
URL = {"server": {"url": "http://127.0.0.1:9"}}


def midway(capacity: float) -> str:
    """The target that lies midway between so many callers and one more."""
    return f"ttft p95 <= {(BASE + GROWS * (capacity + 0.5)) * 1e3:.1f} ms"


def counts(found: Found) -> list[int]:
    return [point.count for point in found.points]


def test_the_largest_number_that_meets_the_target_is_found_with_the_reason(tmp_path: Path) -> None:
    card = Card(first_token(noise=0.006))
    found, said = find(tmp_path / "run", card, midway(5))
    assert (found.callers, found.high, found.limit, found.stopped) == (5, 5, "target", None)
    assert counts(found) == [1, 2, 4, 8, 6, 5, 5]
    assert found.reason is not None
    assert found.reason.startswith("6 fails: TTFT p95 3")
    assert found.reason.endswith(" ms of 284")
    assert card.started == [4, 8, 5]  # with more slots where they are needed, and for the answer just as many
    assert (found.confirmed, found.slots) == ("5 warm, slots=5", 5)
    assert [each for each in said if isinstance(each, Measured)] == found.points
    (ahead,) = (each for each in said if isinstance(each, Ahead))  # once 8 fails: 6 and 5, and 4 held with 4 slots
    assert (ahead.low, ahead.high, ahead.points, ahead.confirmation, said.index(ahead)) == (4, 7, 2, False, 4)
    assert [point.verdict for point in found.points] == ["meets"] * 3 + ["misses"] * 2 + ["meets"] * 2
    assert all(point.alone == pytest.approx(100) for point in found.points)  # a token every 10 ms


@pytest.mark.parametrize("seed", range(2))
def test_a_few_callers_are_found_in_the_noise(tmp_path: Path, seed: int) -> None:
    found, _ = find(tmp_path / "run", Card(first_token(noise=0.01), seed), midway(3))
    assert (found.callers, found.high) == (3, 3)


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize("capacity", [3, 12])
def test_a_known_capacity_is_found_in_nineteen_of_twenty_runs_and_never_more(tmp_path: Path, capacity: int) -> None:
    right = 0
    for seed in range(20):
        found, _ = find(tmp_path / str(seed), Card(first_token(noise=0.012), seed), midway(capacity))
        right += (found.callers, found.high) == (capacity, capacity)
        assert found.callers <= capacity
        searched = [point for point in found.points if "slots=" not in point.point]
        assert len(searched) <= bisection(capacity, 256) + 2
    assert right >= 19


@pytest.mark.slow
@pytest.mark.timeout(300)
@pytest.mark.parametrize("capacity", [37, 100])
def test_a_large_capacity_is_found(tmp_path: Path, capacity: int) -> None:
    found, _ = find(tmp_path / "run", Card(first_token(noise=0.01)), midway(capacity))
    assert (found.callers, found.high, found.slots) == (capacity, capacity, capacity)
    assert len(found.points) - 1 == bisection(capacity, 256)


def test_nearer_than_the_noise_the_answer_is_one_or_the_other(tmp_path: Path) -> None:
    found, _ = find(tmp_path / "run", Card(first_token(noise=0.012), 5), midway(3.5))  # the very figure of 4 callers
    assert (found.callers, found.high) == (3, 4)
    assert found.reason is not None
    assert found.reason.startswith("5 fails: ")
    (near,) = (point for point in found.points if point.verdict == "unclear")
    assert (near.count, near.repeats) == (4, 6)  # more would hardly tell


def sawtooth(first: dict[int, float], at: int = 6) -> Card:
    """The first token comes after so many s by callers, else 50 ms; `at` so many after 300 ms, 20 less or more."""
    card: Card

    def behave(callers: int, z: float) -> Faults:
        there = 0.32 if card.bursts % 2 else 0.28  # a repeat has an odd number of bursts
        return Faults(first=there if callers == at else first.get(callers, 0.05), step=0.01)

    card = Card(behave)
    return card


def test_an_unclear_number_is_gone_on_with_where_it_decides(tmp_path: Path) -> None:
    found, said = find(tmp_path / "run", sawtooth({7: 0.5, 8: 0.5}), "ttft p95 <= 320 ms")
    told = [(each.count, each.repeats, each.verdict) for each in said if isinstance(each, Measured)]
    assert told[4:] == [
        (6, 6, "unclear"), (5, 3, "meets"), (7, 3, "misses"), (6, 12, "meets"), (6, 12, "meets"),
    ]  # fmt: skip
    assert (found.callers, found.high, counts(found)) == (6, 6, [1, 2, 4, 8, 5, 7, 6, 6])


def test_an_unclear_number_that_alone_is_left_is_not_left(tmp_path: Path) -> None:
    _, said = find(tmp_path / "run", sawtooth({6: 0.5, 8: 0.5}, at=5), "ttft p95 <= 320 ms")
    told = [(each.point, each.verdict) for each in said if isinstance(each, Measured)]
    assert told[4:6] == [("6 warm", "misses"), ("5 warm", "meets")]


@pytest.mark.parametrize(("five", "seven", "answer"), [(0.05, 0.05, 7), (0.5, 0.5, 4)])
def test_an_unclear_number_is_left_where_its_neighbour_tells(
    tmp_path: Path, five: float, seven: float, answer: int
) -> None:
    found, _ = find(tmp_path / "run", sawtooth({5: five, 7: seven, 8: 0.5}), "ttft p95 <= 320 ms")
    assert (found.callers, found.high) == (answer, answer)
    (six,) = (point for point in found.points if point.count == 6)
    assert (six.verdict, six.repeats) == ("unclear", 6)


def test_an_unclear_number_whose_server_is_gone_is_measured_anew(tmp_path: Path) -> None:
    card = sawtooth({7: 0.5})
    card.most = 7  # 8 does not start: each number more is a larger server
    found, _ = find(tmp_path / "run", card, "ttft p95 <= 320 ms")
    assert card.started == [4, 6, 7, 6]
    assert [(point.point, point.repeats) for point in found.points][-4:] == [
        ("5 warm", 3), ("7 warm", 3), ("6 warm, slots=7", 11), ("6 warm, slots=6", 12),
    ]  # fmt: skip
    assert (found.callers, found.high) == (6, 6)


def test_only_a_share_needs_all_of_one_callers_replies(tmp_path: Path) -> None:
    six = {"baseline": {"replies": 6}}
    for folder, slo, each in (("ttft", midway(1), 2), ("share", "share >= 1 %", 6)):
        find(tmp_path / folder, Card(first_token()), slo, scenario=six, most=1)
        rows = [row for row in read(tmp_path / folder).rows if (row.row, row.point) == ("baseline", "1 warm")]
        assert {(row.repeat, row.side): 0 for row in rows}.keys() == {
            (repeat, side) for repeat in (1, 2, 3) for side in ("before", "after")
        }
        assert len(rows) == 3 * 2 * each


# -- what is there when it ends early


def test_what_is_known_is_on_disk_after_every_point(tmp_path: Path) -> None:
    seen = []

    def hear(what: Measured | Paced | Ahead) -> None:
        if isinstance(what, Measured):
            known = read_found(tmp_path / "run")
            assert known is not None
            assert known.points[-1] == what
            seen.append((known.callers, known.high, known.limit, known.stopped))

    found, _ = find(tmp_path / "run", Card(first_token()), midway(3), hear=hear)
    assert [each[:2] for each in seen] == [(1, None), (2, None), (2, 3), (3, 3), (3, 3)]
    assert {each[2:] for each in seen} == {("interrupted", "killed, or still goes on")}
    assert read_found(tmp_path / "run") == found
    assert (found.limit, found.stopped) == ("target", None)


def test_a_search_that_is_stopped_by_hand_loses_nothing(tmp_path: Path) -> None:
    def hear(what: Measured | Paced | Ahead) -> None:
        if isinstance(what, Measured) and what.count == 2:
            task = asyncio.current_task()
            assert task is not None
            asyncio.get_running_loop().call_later(2.5, task.cancel)

    with pytest.raises(asyncio.CancelledError):
        find(tmp_path / "run", Card(first_token()), midway(9), hear=hear)
    known = read_found(tmp_path / "run")
    assert known is not None
    assert (known.callers, known.high, known.limit, known.stopped) == (2, None, "interrupted", "stopped by hand")
    last = known.points[-1]
    assert (last.count, last.verdict, last.why) == (4, "unclear", "stopped by hand")
    assert last.repeats in (1, 2)
    assert last.replies == 4 * last.repeats
    assert list(answer(known))[1] == "The search was stopped by hand. Whether 3 or more hold is not known."


def test_a_confirmation_that_is_stopped_by_hand_takes_no_verdict_away(tmp_path: Path) -> None:
    def hear(what: Measured | Paced | Ahead) -> None:
        if isinstance(what, Measured) and what.point == "5 warm":
            task = asyncio.current_task()
            assert task is not None
            asyncio.get_running_loop().call_later(2.5, task.cancel)

    with pytest.raises(asyncio.CancelledError):
        find(tmp_path / "run", Card(first_token(noise=0.006)), midway(5), hear=hear)
    known = read_found(tmp_path / "run")
    assert known is not None
    assert [(point.point, point.verdict, point.why) for point in known.points[-2:]] == [
        ("5 warm", "meets", None), ("5 warm, slots=5", "unclear", "stopped by hand"),
    ]  # fmt: skip
    assert (known.callers, known.high, known.stopped, known.confirmed) == (5, 5, "stopped by hand", None)


def test_a_disk_that_is_full_is_told_and_the_last_answer_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def hear(what: Measured | Paced | Ahead) -> None:
        if isinstance(what, Measured) and what.count == 2:

            def full(path: Path, data: bytes) -> int:
                raise OSError(errno.ENOSPC, "No space left on device")

            monkeypatch.setattr(Path, "write_bytes", full)

    with pytest.raises(Unwritable, match="No space left on device"):
        find(tmp_path / "run", Card(first_token()), midway(9), hear=hear)
    known = read_found(tmp_path / "run")
    assert known is not None
    assert known.callers == 2


def test_a_repeat_that_adds_nothing_is_not_measured(tmp_path: Path) -> None:
    found, _ = find(tmp_path / "run", Card(first_token()), midway(3))
    assert {point.repeats for point in found.points} == {3}


def test_decode_limits(tmp_path: Path) -> None:
    card = Card(lambda callers, z: Faults(first=0.05, step=callers / 30 / 6.5 + 1e-4 * z))
    found, _ = find(tmp_path / "run", card, "decode >= 30 tokens/s", "ttft p95 <= 800 ms")
    assert (found.callers, found.high) == (6, 6)
    assert found.reason == "7 fails: slowest decode 27.8 tokens/s of 30"


def test_underruns_limit(tmp_path: Path) -> None:
    card = Card(lambda callers, z: Faults(first=0.05, step=0.3 if callers > 6 else 0.05))
    found, _ = find(tmp_path / "run", card, "underruns < 1 %", scenario={"reply": {"exactly": 12}})
    assert (found.callers, found.high) == (6, 6)
    assert found.reason == "7 fails: underruns 100 % of 1"
    assert found.points[-1].figures[0].shown == pytest.approx(1 - 0.05 ** (1 / 18))


def failing(above: int) -> Card:
    """More callers than that, and every fourth request fails."""
    numbers = itertools.count(1)
    return Card(
        lambda callers, z: Faults(status=503 if callers > above and next(numbers) % 4 == 0 else None, step=0.01)
    )


def test_errors_limit_where_they_are_a_target(tmp_path: Path) -> None:
    found, _ = find(tmp_path / "run", failing(5), "errors < 1 %", "ttft p95 <= 800 ms")
    assert (found.callers, found.high, found.stopped) == (5, 5, None)
    assert found.reason is not None
    assert found.reason.startswith("6 fails: errors 2")


def test_errors_stop_the_search_where_they_are_none(tmp_path: Path) -> None:
    found, _ = find(tmp_path / "run", failing(5), "ttft p95 <= 800 ms")
    assert (found.callers, found.high, found.limit) == (4, 7, "errors")
    assert found.stopped is not None
    assert found.stopped.startswith("at 8 warm 25.0 % of the load's turns failed: HTTP 503: ")
    assert counts(found) == [1, 2, 4, 8]


def test_the_slots_of_a_server_that_is_there_end_the_search(tmp_path: Path) -> None:
    card = Card(first_token(), slots=6)
    found, _ = find(tmp_path / "run", card, midway(50), scenario=URL)
    assert (found.callers, found.high, found.limit, found.reason) == (6, None, "slots", None)
    assert counts(found) == [1, 2, 4, 6]
    assert [point.slots for point in found.points] == [6] * 4
    assert (found.confirmed, card.started) == (None, [6])
    within, _ = find(tmp_path / "within", Card(first_token(), slots=6), midway(3), scenario=URL)
    assert (within.callers, within.high, within.limit) == (3, 3, "target")


def test_the_most_ends_the_search(tmp_path: Path) -> None:
    found, _ = find(tmp_path / "run", Card(first_token()), midway(50), most=3)
    assert (found.callers, found.high, found.limit) == (3, None, "most")
    assert counts(found) == [1, 2, 3, 3]


def test_memory_limits_where_a_server_with_more_slots_does_not_start(tmp_path: Path) -> None:
    card = Card(first_token(), most=5)
    found, _ = find(tmp_path / "run", card, midway(50))
    assert (found.callers, found.high, found.limit, found.stopped) == (5, 5, "server", None)
    assert (
        found.reason
        == "6 fails: the server does not start with 6 slots: the embedded server did not start: out of memory"
    )
    assert card.started == [4, 5]
    assert found.confirmed == "5 warm"
    assert read(tmp_path / "run").events[-1]["event"] != "failed"


def test_a_server_that_never_starts_is_no_answer(tmp_path: Path) -> None:
    with pytest.raises(RunStopped, match="did not start: out of memory"):
        find(tmp_path / "run", Card(first_token(), most=1), midway(3))


def test_even_one_caller_may_miss(tmp_path: Path) -> None:
    found, _ = find(tmp_path / "run", Card(first_token()), "ttft p95 <= 60 ms")
    assert (found.callers, found.high, found.reason) == (0, 0, "1 fails: TTFT p95 68.0 ms of 60")
    assert counts(found) == [1]


def test_an_answer_that_does_not_hold_with_as_many_slots_is_one_less(tmp_path: Path) -> None:
    card: Card

    def behave(callers: int, z: float) -> Faults:
        extra = 0.1 if card.started[-1] == 6 else 0.0
        return Faults(first=BASE + GROWS * callers + extra, step=0.01)

    card = Card(behave)
    found, _ = find(tmp_path / "run", card, midway(6))
    assert counts(found) == [1, 2, 4, 8, 6, 7, 6, 5]
    assert (found.callers, found.high, found.confirmed) == (5, 5, "5 warm")
    assert found.reason == "6 fails: TTFT p95 408 ms of 332"


def test_heat_stops_the_search(tmp_path: Path) -> None:
    bursts = itertools.count()

    def behave(callers: int, z: float) -> Faults:
        return Faults(first=0.05, step=0.01 if next(bursts) < 30 else 0.015)

    found, _ = find(tmp_path / "run", Card(behave), "ttft p95 <= 800 ms")
    assert found.limit == "heat"
    assert found.stopped is not None
    assert found.stopped.startswith(
        "heat suspected: around 4 warm one caller decodes 66.7 tokens/s at best, 33.3 % less than around 1 warm (100), "
        "at an unknown temperature"
    )
    assert (found.callers, found.high) == (2, None)  # what the hot card did is no verdict
    assert [point.verdict for point in found.points] == ["meets", "meets", "unclear"]


def slows(card: Card) -> bool:
    return card.bursts >= 30


def slowing() -> Card:
    """A card on which each token takes half as long again from the 30th burst on."""
    card: Card
    card = Card(lambda callers, z: Faults(first=0.05, step=0.015 if slows(card) else 0.01))
    return card


def test_with_a_card_log_a_slower_card_is_heat_where_it_has_warmed_up(tmp_path: Path) -> None:
    found, _ = find(
        tmp_path / "run", slowing(), "ttft p95 <= 800 ms",
        log=lambda card: CardSample(card=0, core_c=88.0 if slows(card) else 57.0, sm_mhz=1695, reasons=()),
    )  # fmt: skip
    assert (found.limit, found.callers) == ("heat", 2)
    assert found.stopped == (
        "heat: around 4 warm one caller decodes 66.7 tokens/s at best, 33.3 % less than around 1 warm (100), and the "
        "card has warmed up (57 C at most then, 88 C now); figures no longer compare"
    )


def test_with_a_card_log_a_slower_card_that_is_no_hotter_is_told(tmp_path: Path) -> None:
    log = lambda card: CardSample(card=0, core_c=58.0 if slows(card) else 57.0)  # noqa: E731
    found, _ = find(tmp_path / "run", slowing(), "ttft p95 <= 800 ms", log=log)
    assert found.limit == "broken"
    assert found.stopped is not None
    assert found.stopped.endswith(
        "not for heat (57 C at most then, 58 C now): something else slows it; figures no longer compare"
    )


@pytest.mark.parametrize(
    ("hot", "said"),
    [
        (
            {"core_c": 83.0, "reasons": ("sw thermal slowdown",)},
            "83 C, SM 1,200 MHz, throttled by: sw thermal slowdown",
        ),
        ({"core_c": 93.0, "reasons": ()}, "93 C, SM 1,200 MHz, never throttled; it slows down at 93 C"),
    ],
)
def test_a_card_that_says_that_it_is_hot_stops_the_search(tmp_path: Path, hot: dict[str, Any], said: str) -> None:
    """Also where its rate has not fallen yet."""
    now: dict[str, Any] = {"core_c": 57.0, "sm_mhz": 1200.0, "reasons": ()}

    def hear(what: Measured | Paced | Ahead) -> None:
        if isinstance(what, Measured) and what.count == 2:
            now.update(hot)

    log = lambda card: CardSample(card=0, **now)  # noqa: E731
    found, _ = find(tmp_path / "run", Card(first_token()), midway(9), log=log, hear=hear)
    assert (found.limit, found.callers, found.high) == ("heat", 2, None)
    assert found.stopped is not None
    assert found.stopped.startswith(f"heat at 4 warm: card 0: {said}")
    assert found.stopped.endswith("; figures no longer compare")
    assert found.points[-1].repeats == 3  # no repeat more makes it cooler


def test_a_power_cap_is_no_heat(tmp_path: Path) -> None:
    capped = CardSample(card=0, core_c=80.0, sm_mhz=1500, reasons=("sw power cap",))
    found, _ = find(tmp_path / "run", Card(first_token()), midway(3), log=lambda card: capped)
    assert (found.callers, found.stopped) == (3, None)


@pytest.mark.parametrize(("also", "hot"), [((), True), (("hw power brake slowdown",), False)])
def test_halved_clocks_are_heat_unless_the_power_brake_did_it(also: tuple[str, ...], hot: bool) -> None:
    seen = cards([CardSample(card=0, core_c=70.0, reasons=("hw slowdown", *also))])
    assert (too_hot(seen, []) is not None) is hot


def test_a_slow_client_stops_the_search(tmp_path: Path) -> None:
    found, _ = find(tmp_path / "run", Card(first_token()), midway(3), lag_p99_ms=40.0)
    assert (found.limit, found.callers, found.high) == ("client", 0, None)
    assert found.stopped == "the client is too slow at 1 warm: its event loop came 40.0 ms late at p99"
    assert [point.repeats for point in found.points] == [6]  # it might have been a moment


def test_a_moment_in_which_the_client_was_late_is_outlasted(tmp_path: Path) -> None:
    found, _ = find(tmp_path / "run", Card(first_token()), midway(3), lag_p99_ms=40.0, late=3)
    assert (found.callers, found.stopped) == (3, None)
    assert [point.repeats for point in found.points] == [6, 3, 3, 3, 3]  # till half of the repeats were not late


def test_a_load_that_breaks_stops_the_search_and_keeps_what_is_known(tmp_path: Path) -> None:
    card = Card(lambda callers, z: Faults(status=500 if callers > 4 else None, step=0.01))
    found, _ = find(tmp_path / "run", card, "errors < 1 %")
    assert (found.callers, found.high, found.limit) == (4, None, "broken")
    assert found.stopped is not None
    assert found.stopped.startswith("8 warm could not be measured: no caller was answered: HTTP 500")
    assert [event["point"] for event in read(tmp_path / "run").events if event["event"] == "failed"] == ["8 warm"]


def test_a_target_that_no_reply_tells_of_is_said(tmp_path: Path) -> None:
    with pytest.raises(RunStopped, match=r"^slowest decode cannot be told: no reply has what it takes$"):
        find(tmp_path / "run", Card(first_token()), "decode >= 30 tokens/s", scenario={"reply": {"exactly": 1}})


# -- with the pace of people


def test_the_answer_is_confirmed_with_the_pace_of_people(tmp_path: Path) -> None:
    found, said = find(
        tmp_path / "run", Card(first_token()), midway(3), "underruns < 10 %", together_only=False, most=3
    )
    assert found.paced is not None
    before = said[-2]  # it is told before it begins
    assert isinstance(before, Paced)
    assert (before.callers, before.seconds, before.measured) == (3, found.paced.seconds, None)
    assert before.needed == 60  # 5 % of first tokens: 3 / 0.05 clean ones
    paced = found.paced.measured
    assert paced is not None
    assert (paced.point, paced.load, paced.verdict, paced.repeats) == ("3 warm, paced", "paced", "meets", 1)
    assert [60 <= (figure.of or 0) <= 2 * 72 for figure in paced.figures] == [True, True]
    run = read(tmp_path / "run")
    rows = [row for row in run.rows if row.point == "3 warm, paced" and row.row == "load"]
    took = max(row.end_s or 0 for row in rows) - min(row.sent_s or 0 for row in rows)
    assert took == pytest.approx(found.paced.seconds, rel=0.1)
    assert all(row.spoke is not None for row in rows if row.step == 0)
    (setting,) = (point.setting for point in points(run) if point.name == "3 warm, paced")
    assert (setting.paced, setting.get("callers.warm.turns")) == (True, "all")


def test_what_fails_with_the_pace_of_people_is_told(tmp_path: Path) -> None:
    numbers = itertools.count()
    card = Card(lambda callers, z: Faults(first=0.05 if next(numbers) < 90 else 1.0, step=0.01))
    found, _ = find(tmp_path / "run", card, "ttft p95 <= 800 ms", together_only=False, most=3)
    assert found.callers == 3
    assert found.paced is not None
    assert found.paced.measured is not None
    assert found.paced.measured.verdict == "misses"


# -- what is searched


TWO = {
    "callers": {"old": {"count": 2}, "new": {"count": 1, "cache": "cold"}},
    "server": {"slots": 8, "context": 8 * 2048},
}


def test_of_two_groups_the_warm_one_is_searched_and_the_other_stays(tmp_path: Path) -> None:
    found, _ = find(tmp_path / "run", Card(first_token()), midway(4), scenario=TWO)
    assert (found.group, found.others, found.callers) == ("old", 1, 3)  # four in all
    run = read(tmp_path / "run")
    assert list(run.facts["points"])[:2] == ["1 old + 1 new", "2 old + 1 new"]
    assert {row.group for row in run.rows if row.row == "load"} == {"old", "new"}
    assert found.slots == 4
    new, _ = find(tmp_path / "new", Card(first_token()), midway(4), scenario=TWO, group="new")
    assert (new.group, new.others, new.callers) == ("new", 2, 2)


@pytest.mark.parametrize(
    ("scenario", "wished", "why"),
    [
        ({"callers": {"a": {"count": 1}, "b": {"count": 1}}}, {}, "--group a or --group b; the others stay"),
        (
            {"callers": {"a": {"count": 1, "cache": "cold"}, "b": {"count": 1, "cache": "cold"}}},
            {},
            "--group a or --group b; the others stay",
        ),
        ({}, {"group": "wram"}, r"^--group wram: no such group \(groups: warm\)$"),
        ({"sweep": {"request.top_k": [1, 2]}}, {}, r"a search has no sweep; leave out sweep \(request.top_k\)"),
    ],
)
def test_what_cannot_be_searched(tmp_path: Path, scenario: dict[str, Any], wished: Any, why: str) -> None:
    with pytest.raises(BadInput, match=why):
        find(tmp_path / "run", Card(first_token()), midway(3), scenario=scenario, **wished)
    assert not (tmp_path / "run" / "server.log").exists()


def test_a_share_needs_a_baseline(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match=r"a share is of one caller's rate, and baseline\.replies is 0"):
        find(tmp_path / "run", Card(first_token()), "share >= 10 %", scenario={"baseline": {"replies": 0}})


def test_a_share_limits(tmp_path: Path) -> None:
    card = Card(lambda callers, z: Faults(first=0.05, step=0.01 * callers))
    found, _ = find(tmp_path / "run", card, "share >= 18 %")
    assert (found.callers, found.high, found.reason) == (5, 5, "6 fails: share 16.7 % of 18")


def test_callers_who_pace_themselves_all_talk_at_once_first(tmp_path: Path) -> None:
    people = {
        "callers": {"warm": {"count": 9, "start": "1 min", "turns": "all", "again": True}},
        "pace": {"by": "speech", "endpointing": "300 ms"},
        "duration": "10 min",
    }
    found, _ = find(
        tmp_path / "run", Card(first_token()), midway(2), scenario=people | {"server": {"slots": 9}}, most=3
    )
    assert found.callers == 2
    rows = [row for row in read(tmp_path / "run").rows if row.row == "load" and row.point == "2 warm"]
    assert {row.repeat: row.due_s for row in rows} and all(row.spoke is None for row in rows)
    assert len({row.due_s for row in rows}) == len({row.repeat for row in rows})


def test_the_run_is_one_as_a_sweeps(tmp_path: Path) -> None:
    found, _ = find(tmp_path / "run", Card(first_token()), midway(5))
    run = read(tmp_path / "run")
    assert list(run.facts["points"]) == [point.point for point in found.points]
    assert run.facts["points"]["8 warm"]["sets"] == {
        "callers.warm.count": 8, "server.slots": 8, "server.context": 8 * 2048,
    }  # fmt: skip
    assert [p.setting.get("callers.warm.count") for p in points(run)] == counts(found)
    assert [p.setting.get("server.slots") for p in points(run)] == [4, 4, 4, 8, 8, 8, 5]
    assert [e["point"] for e in run.events if e["event"] == "finished"] == [point.point for point in found.points]
    starts = [event for event in run.events if event["event"] == "server"]
    assert [event["points"] for event in starts] == [["1 warm"], ["8 warm"], ["5 warm, slots=5"]]
    text = text_of(render(run))
    for point in found.points:
        assert f"\n{point.point}, slots 0" in text
    assert SMALL["callers"]["warm"]["count"] == 1
