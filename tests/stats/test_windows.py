"""How a load went over time, worked out on paper."""

import itertools
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loadsim.stats.spread import Spread
from loadsim.stats.windows import Figures, Window, course, fold
from loadsim.types import RequestRow

from .rows import alone, reply


def load(start: float = 100.0, window: float = 60.0, **fields: Any) -> dict[str, Any]:
    return {"event": "load", "point": "p", "repeat": 1, "start_s": start, "window_s": window} | fields


def pause(number: int, shut: float, quiet: float | None, opens: float, why: str | None = None) -> dict[str, Any]:
    times = {"shut_s": shut, "quiet_s": quiet, "open_s": opens}
    return {"event": "pause", "point": "p", "repeat": 1, "number": number, "why": why} | times


def phase(name: str, at: float, first: int, last: int | None = None) -> dict[str, Any]:
    callers = [first, first if last is None else last]
    return {"event": "load phase", "point": "p", "repeat": 1, "at_s": at, "name": name, "callers": callers}


def said(at: float, first: float = 0.2, step: float = 0.02, **fields: Any) -> RequestRow:
    """A reply of five tokens that ends at `at`."""
    sent = at - first - 4 * step
    return reply(sent, *(first + i * step for i in range(5)), **fields)


def test_a_request_is_in_the_window_that_it_ended_in() -> None:
    rows = [said(100.5, caller=0), said(159.9, caller=1), said(160.3, 0.5, caller=0), said(300.0, caller=2)]
    found = course(rows, [load()], "p").windows
    assert [(w.at, w.figures.requests, w.figures.callers) for w in found] == [
        (0, 2, 2),
        (60, 1, 1),
        (120, 0, 0),
        (180, 1, 1),
    ]
    assert [w.figures.ttft.p50 for w in found] == [pytest.approx(0.2), pytest.approx(0.5), None, pytest.approx(0.2)]
    assert (found[0].start_s, found[0].end_s) == (100, 160)
    assert found[-1].end_s == pytest.approx(300.0)  # the last one ends with its last request


def test_gaps_stalls_and_rates_of_a_window() -> None:
    stalled = reply(110.0, 0.2, 0.22, 0.24, 0.74, 0.76)
    found = course([said(120.0), stalled], [load()], "p").windows[0].figures
    # six gaps of 20 ms, and one of 500; 4 tokens in 0.08 and in 0.56 s
    assert [found.gap.p50, found.gap.p95, found.gap.max] == pytest.approx([0.02, 0.5, 0.5])
    assert found.decode == pytest.approx((4 / 0.08 + 4 / 0.56) / 2)


def test_errors_are_by_name_and_in_no_other_figure() -> None:
    lost: dict[str, Any] = {"outcome": "error", "error": "HTTP 500", "token_s": [], "first_token_s": None}
    gone: dict[str, Any] = {"outcome": "timeout", "error": "no first token within 5 s", "abandoned": True}
    rows = [
        said(110.0),
        said(120.0, **lost),
        said(121.0, **lost),
        said(122.0, outcome="timeout", error="no first token within 5 s"),
        said(123.0, **gone),  # the caller hung up: no error
        said(124.0, outcome="superseded"),
        said(125.0, planned=False, first=0.9),
    ]
    found = course(rows, [load()], "p").windows[0].figures
    assert found.errors == {"HTTP 500": 2, "no first token within 5 s": 1}
    assert found.requests == 6
    assert found.ttft.max == pytest.approx(0.2)


def test_repeats_and_points_stay_apart() -> None:
    rows = [said(110.0), said(510.0, repeat=2), said(575.0, repeat=2)]
    found = course(rows, [load(), load(500.0, repeat=2), load(900.0, point="q")], "p").windows
    assert [(w.repeat, w.at, w.figures.requests) for w in found] == [(1, 0, 1), (2, 0, 1), (2, 60, 1)]
    assert course(rows, [], "p").windows == []
    assert course([alone(1, "before", 0.01)], [], "p").alone == []


def test_pauses_and_what_of_a_window_they_take() -> None:
    events = [load(), pause(1, 150.0, 155.0, 170.0), pause(2, 200.0, None, 230.0, "a turn took too long")]
    found = course([said(110.0), said(250.0)], events, "p")
    assert [w.paused for w in found.windows] == [10, 10 + 20, 10]
    assert [(p.number, p.start_s, p.seconds, p.waited, p.why) for p in found.pauses] == [
        (1, 150, 20, 5, None),
        (2, 200, 30, None, "a turn took too long"),
    ]


def test_who_waits_for_a_server_that_is_away_is_there() -> None:
    """Three callers are refused at 130 s; two of them ask again at 300 s and are served, one never comes so far."""
    gone: dict[str, Any] = {"outcome": "error", "error": "cannot connect", "token_s": [], "first_token_s": None}
    rows = [reply(130.0, end_s=130.0, caller=n, **gone) for n in range(3)] + [said(300.5, caller=n) for n in (0, 1)]
    out: dict[str, Any] = {"point": "p", "repeat": 1, "since_s": 130.0, "said": "cannot connect"}
    over = out | {"event": "outage over", "seconds": 170.5, "failed": 3}
    again = {"event": "call", "point": "p", "repeat": 1, "group": "warm", "again": True}
    found = course(rows, [load(), out | {"event": "outage"}, over, again], "p").windows
    assert [(w.at, w.figures.requests, w.callers, w.dark) for w in found] == [
        (0, 3, 3, 30), (60, 0, 3, 60), (120, 0, 3, 60), (180, 2, 3, 20.5)
    ]  # fmt: skip
    # who does not call again has hung up
    left = course(rows, [load(), out | {"event": "outage"}, over], "p").windows
    assert [w.callers for w in left] == [3, 2, 2, 2]


def test_who_waits_for_a_server_that_never_came_back_waits_to_the_last_window() -> None:
    """Three callers are refused at 130 s; one asks again, at 250 s and in vain, and the run ends without a token."""
    gone: dict[str, Any] = {"outcome": "error", "error": "cannot connect", "token_s": [], "first_token_s": None}
    rows = [reply(130.0, end_s=130.0, caller=n, **gone) for n in range(3)] + [reply(250.0, end_s=250.0, **gone)]
    out = {"event": "outage", "point": "p", "repeat": 1, "since_s": 130.0, "said": "cannot connect"}
    again = {"event": "call", "point": "p", "repeat": 1, "group": "warm", "again": True}
    found = course(rows, [load(), out, again], "p").windows
    assert [(w.at, w.figures.requests, w.callers, w.dark) for w in found] == [
        (0, 3, 3, 30),
        (60, 0, 3, 60),
        (120, 1, 3, 30),
    ]


def test_one_caller_at_each_time() -> None:
    rows = [alone(n, "before", 0.010, sent_s=50.0 + n, first_token_s=50.2 + n) for n in range(3)]
    rows += [alone(n, "during", 0.020, sent_s=150.0 + n, first_token_s=150.2 + n, call=1) for n in range(3)]
    rows += [alone(n, "during", 0.025, sent_s=450.0 + n, first_token_s=450.2 + n, call=2) for n in range(3)]
    rows += [alone(n, "after", 0.040, sent_s=950.0 + n, first_token_s=950.2 + n) for n in range(3)]
    found = course(rows[::-1], [load()], "p").alone
    # the first of each is dropped; five tokens from 0.1 s on
    assert [(each.side, each.at, each.replies) for each in found] == [
        ("before", 51, 2), ("during", 151, 2), ("during", 451, 2), ("after", 951, 2)
    ]  # fmt: skip
    assert [each.decode for each in found] == [pytest.approx(rate) for rate in (100, 50, 40, 25)]
    assert [each.gap for each in found] == [pytest.approx(gap) for gap in (0.010, 0.020, 0.025, 0.040)]
    assert [each.first_token for each in found] == [pytest.approx(0.2)] * 4


def test_a_time_in_which_one_caller_got_nothing_is_there_too() -> None:
    lost: dict[str, Any] = {"outcome": "error", "error": "HTTP 500", "token_s": [], "first_token_s": None}
    rows = [alone(n, "during", 0.02, sent_s=150.0 + n, call=1) for n in range(3)]
    rows += [alone(n, "during", 0.02, sent_s=450.0 + n, call=2) for n in range(3)]
    for each in rows[3:]:
        for name, value in lost.items():
            setattr(each, name, value)
    found = course(rows, [load()], "p").alone
    assert [(each.at, each.replies, each.decode) for each in found] == [(151, 2, pytest.approx(50)), (450, 0, None)]


DAY = [load(), phase("calm", 100, 4), phase("spike", 400, 12), phase("after", 460, 4)]


def day(*p95: float) -> list[RequestRow]:
    """A request a window, with such a first token; 5 windows of calm, one of spike."""
    names = ["calm"] * 5 + ["spike"] + ["after"] * 20
    return [said(100 + 60 * i + 30, first, phase=names[i]) for i, first in enumerate(p95)]


def test_figures_are_by_the_phase_in_which_a_request_was_due() -> None:
    rows = [said(130.0, phase="calm"), said(461.0, 0.9, phase="spike"), said(470.0, 0.3, phase="after")]
    found = course(rows, DAY, "p").phases
    assert [(p.name, p.callers, p.start_s, p.figures.requests) for p in found] == [
        ("calm", (4, 4), 100, 1), ("spike", (12, 12), 400, 1), ("after", (4, 4), 460, 1)
    ]  # fmt: skip
    assert [p.figures.ttft.p50 for p in found] == [pytest.approx(first) for first in (0.2, 0.9, 0.3)]
    assert [p.end_s for p in found][:2] == [400, 460]


def test_a_spike_is_over_when_first_tokens_are_what_they_were() -> None:
    rows = day(0.2, 0.3, 0.25, 0.2, 0.2, 2.0, 1.0, 0.31, 0.29, 0.2)
    (found,) = course(rows, DAY, "p").recoveries
    assert found.spike == "spike"
    assert [found.low, found.high] == pytest.approx([0.2, 0.3])
    assert found.seconds == pytest.approx(120)  # the third window after it, from 580 on
    (never,) = course(day(0.2, 0.2, 0.2, 0.2, 0.2, 2.0, 1.0, 0.5), DAY, "p").recoveries
    assert never.seconds is None
    (at_once,) = course(day(0.2, 0.2, 0.2, 0.2, 0.2, 2.0, 0.2), DAY, "p").recoveries
    assert at_once.seconds == 0


def test_a_window_that_began_in_the_spike_is_none_after_it() -> None:
    events = [load(), phase("calm", 100, 4), phase("spike", 400, 12), phase("after", 490, 4)]
    (found,) = course(day(0.2, 0.3, 0.2, 0.2, 0.2, 2.0, 0.1, 0.9, 0.2), events, "p").recoveries
    assert found.seconds == pytest.approx(580 - 490)


@pytest.mark.parametrize(
    "events",
    [
        [load(), phase("calm", 100, 4), phase("more", 400, 12)],  # nothing after it
        [load(), phase("calm", 100, 4), phase("more", 400, 12), phase("most", 460, 14)],  # it goes on
        [load(), phase("ramp", 100, 4, 12), phase("full", 400, 12), phase("after", 460, 4)],
    ],
)
def test_a_load_that_only_grows_or_falls_has_no_spike(events: list[dict[str, Any]]) -> None:
    assert course(day(*[0.2] * 10), events, "p").recoveries == []


# -- folding


def window(number: int, p95: float = 0.2, errors: int = 0) -> Window:
    of = Figures(
        requests=10, callers=3, ttft=Spread(0.1, p95, 0.3), gap=Spread(0.02, 0.02, 0.02), decode=50.0,
        errors={"x": errors} if errors else {},
    )  # fmt: skip
    return Window(repeat=1, at=60.0 * number, start_s=0, end_s=0, paused=0, figures=of)


def test_the_worst_stays_and_the_others_are_evenly_between() -> None:
    many = [window(n, 0.9 if n == 133 else 0.2) for n in range(240)]
    found = [round(w.at / 60) for w in fold(many, 20)]
    assert len(found) == 20
    assert (found[0], found[-1]) == (0, 239)
    assert 133 in found
    assert max(b - a for a, b in itertools.pairwise(found)) < 26
    assert [w.at for w in fold(many[:20], 20)] == [60.0 * n for n in range(20)]


def test_errors_are_worse_than_a_late_token() -> None:
    many = [window(n, 0.9 if n == 50 else 0.2, errors=n == 77) for n in range(240)]
    assert 77 in [round(w.at / 60) for w in fold(many, 20)]


@given(st.integers(1, 500), st.integers(3, 25), st.integers(0, 499))
def test_a_fold_is_never_longer_and_never_out_of_order(count: int, most: int, worst: int) -> None:
    many = [window(n, 0.9 if n == worst else 0.2) for n in range(count)]
    found = [w.at for w in fold(many, most)]
    assert len(found) == min(count, most)
    assert found == sorted(set(found))
    assert {0.0, 60.0 * (count - 1)} <= set(found)
    assert worst >= count or 60.0 * worst in found
