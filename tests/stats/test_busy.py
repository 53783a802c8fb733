"""How busy calls keep the server, worked out on paper."""

from typing import Any

import pytest

from loadsim.stats.busy import busy
from loadsim.types import RequestRow
from tests.stats.rows import call, playout, row, spoke


def ask(turn: int, sent: float, end: float, **fields: Any) -> RequestRow:
    """A request of a paced caller, who spoke in the second before it; the reply is heard for four seconds more."""
    fields = {"spoke": spoke(sent - 1.0, sent), "playout": playout(sent + 1.0, end + 4.0)} | fields
    return row(turn=turn, sent_s=sent, end_s=end, **fields)


def test_a_call_from_the_first_word_to_the_last() -> None:
    rows = [ask(1, 10.0, 11.0), ask(2, 20.0, 23.0), ask(3, 32.0, 33.0)]
    found = busy(rows, [call(3, 3, "ended")], "p")
    assert (found.call, found.ended) == (28.0, 1)  # 9 s to 37 s
    assert (found.busy, found.turn, found.turns) == (2.0, 11.0, 2)  # 1 s of 10 s and 3 s of 12 s; the last has no next
    assert found.callers == 1


def test_only_calls_that_came_to_their_end_have_a_length() -> None:
    rows = [ask(1, 10.0, 11.0), ask(2, 20.0, 21.0), ask(1, 10.0, 11.0, caller=1), ask(1, 60.0, 61.0, caller=2)]
    ends = [call(9, 2, "time"), call(5, 1, "hung_up", caller=1), call(4, 0, "failed", caller=2)]
    found = busy(rows, ends, "p")
    assert (found.call, found.ended, found.planned) == (None, 0, 6.0)
    assert (found.busy, found.turn, found.turns, found.callers) == (1.0, 10.0, 1, 3)


def test_tool_steps_and_requests_that_were_taken_back_keep_the_server_busy_too() -> None:
    rows = [
        ask(1, 10.0, 10.5, outcome="superseded"),
        ask(1, 11.0, 12.0, attempt=1),
        ask(1, 13.0, 15.0, step=1),
        ask(2, 30.0, 31.0),
    ]
    found = busy(rows, [], "p")
    assert (found.busy, found.turn, found.turns) == (3.5, 20.0, 1)
    assert (found.call, found.planned) == (None, None)  # nothing tells how the call ended


def test_other_rows_and_points_do_not_count() -> None:
    rows = [
        ask(1, 10.0, 11.0), ask(2, 20.0, 21.0), ask(1, 1.0, 5.0, row="warm"), ask(1, 5.0, 9.0, row="baseline"),
        ask(3, 30.0, 39.0, point="q"),
    ]  # fmt: skip
    found = busy([*rows, row(turn=3, sent_s=None, outcome="error")], [call(2, 2, "ended", point="q")], "p")
    assert (found.busy, found.turn, found.turns, found.ended) == (1.0, 10.0, 1, 0)


def test_calls_one_after_another_are_not_one_call() -> None:
    rows = [ask(1, 10.0, 11.0), ask(2, 20.0, 21.0), ask(1, 100.0, 101.0, call=1), ask(2, 114.0, 117.0, call=1)]
    found = busy(rows, [call(2, 2, "ended"), call(2, 2, "ended", call=1)], "p")
    assert found.call == (25.0 - 9.0 + 121.0 - 99.0) / 2
    assert (found.turn, found.turns) == (12.0, 2)  # 10 s and 14 s, and not the 80 s between the calls


def test_how_many_are_served_at_once() -> None:
    """Both are on the line from 12 s to 30 s: one is served for 14 to 16 s and 24 to 30 s, both for 26 to 28 s."""
    rows = [
        ask(1, 10.0, 11.0), ask(2, 14.0, 16.0), ask(3, 24.0, 28.0), ask(4, 40.0, 41.0),
        ask(1, 12.0, 12.0, caller=1), ask(2, 26.0, 30.0, caller=1),
    ]  # fmt: skip
    found = busy(rows, [], "p")
    assert found.at_once == pytest.approx([10 / 18, 6 / 18, 2 / 18])


def test_repeats_are_not_at_the_same_time() -> None:
    rows = [ask(1, 10.0, 12.0), ask(2, 18.0, 20.0), ask(1, 10.0, 14.0, repeat=2), ask(2, 19.0, 20.0, repeat=2)]
    found = busy(rows, [], "p")
    assert found.at_once == pytest.approx([11 / 20, 9 / 20])


def test_callers_who_were_never_on_the_line_together() -> None:
    assert busy([ask(1, 10.0, 11.0), ask(1, 50.0, 51.0, caller=1)], [], "p").at_once == []
    assert busy([], [], "p").at_once == []
