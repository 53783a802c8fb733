"""A load point's figures from rows made by hand, so that each figure can be worked out on paper."""

from typing import Any

import pytest

from loadsim.stats.headline import in_headline
from loadsim.stats.summary import clocks_differ, summarize
from tests.stats.rows import alone, call, reply, row


def test_one_callers_and_the_loads_figures() -> None:
    rows = [
        alone(0, "before", 1.0),  # the first of a side is dropped
        alone(1, "before", 0.010),
        alone(0, "after", 1.0),
        alone(1, "after", 0.0125),
        row(caller=0),
        row(caller=1, first_token_s=10.4, token_s=[0.4, 0.44, 0.48, 0.52, 0.56], last_token_s=10.56, end_s=10.6),
    ]
    (point,) = summarize(rows)
    assert point.baseline is not None
    assert (point.baseline.rows, point.baseline.planned_rows) == (2, 2)
    assert point.before == pytest.approx(100.0)
    assert point.after == pytest.approx(80.0)
    (load,) = point.load
    assert (load.rows, load.planned_rows, load.callers, load.repeats) == (2, 2, 2, 1)
    assert load.ttft.p50 == pytest.approx(0.2)
    assert load.ttft.max == pytest.approx(0.4)
    assert load.ttft_due.p50 == pytest.approx(0.21)
    assert load.before_headers == pytest.approx(0.05)
    assert load.prompt_eval == pytest.approx(0.14)
    assert load.gap.p50 == pytest.approx(0.02)  # pooled: four gaps of 20 ms, four of 40
    assert load.gap.max == pytest.approx(0.04)
    assert load.decode == pytest.approx(37.5)
    assert load.decode_slowest == pytest.approx(25.0)
    # the median caller: (50 + 25) / 2 = 37.5 over (100 + 80) / 2 = 90
    share = point.shares["warm"]
    for sides in (share.mean, share.gap):  # the gaps are even, so both rates are the same
        found = [ratio and ratio.mid for ratio in (sides.both, sides.before, sides.after)]
        assert found == [pytest.approx(37.5 / 90), pytest.approx(37.5 / 100), pytest.approx(37.5 / 80)]


def test_total_is_counted_where_all_are_speaking_and_is_no_product() -> None:
    rows = [row(caller=0), row(caller=1, token_s=[0.25, 0.27, 0.29])]
    # all speak from 10.25 to 10.28: of the first one 10.26 and 10.28, of the second 10.27
    assert summarize(rows)[0].load[0].total == pytest.approx(3 / 0.03)
    assert summarize([row(caller=0), row(caller=1, sent_s=20.0)])[0].load[0].total is None


def test_repeats_are_the_samples_of_a_share() -> None:
    rows = []
    for repeat, step in enumerate((0.02, 0.02, 0.05), 1):
        rows += [alone(1, "before", 0.01, repeat), *(row(repeat=repeat, caller=i) for i in range(12))]
        for r in rows[-12:]:
            r.token_s = [0.2 + i * step for i in range(5)]
    share = summarize(rows)[0].shares["warm"].mean.both
    assert share is not None
    assert (share.mid, share.low, share.high, share.n) == (*map(pytest.approx, (0.5, 0.2, 0.5)), 3)


@pytest.mark.parametrize(
    ("fields", "counts"),
    [
        ({}, True),
        ({"outcome": "error", "error": "x"}, False),
        ({"outcome": "timeout"}, False),
        ({"outcome": "cut"}, True),
        ({"outcome": "cut", "first_token_s": None}, False),
        ({"outcome": "cut", "abandoned": True}, False),
        ({"outcome": "superseded"}, False),
        ({"outcome": "empty"}, False),
        ({"planned": False, "kind": "full_hit"}, False),
        ({"planned": None, "kind": None}, True),  # a server that tells no counts
        ({"row": "baseline", "number": 0}, False),
        ({"row": "baseline", "number": 1}, True),
    ],
)
def test_what_enters_the_headline(fields: dict[str, Any], counts: bool) -> None:
    assert in_headline(row(**fields)) is counts


def test_rows_of_another_kind_are_counted_and_do_not_move_the_figures() -> None:
    hit = row(caller=1, kind="full_hit", planned=False, first_token_s=10.003, cache_n=10_425, prompt_n=4)
    (load,) = summarize([row(caller=0), hit])[0].load
    assert (load.rows, load.planned_rows) == (1, 2)
    assert load.kinds == {"extension": 1, "full_hit": 1}
    assert load.unplanned == {"full_hit": 1}
    assert load.ttft.max == pytest.approx(0.2)
    assert load.cache_n == (10_369, 10_369)


@pytest.mark.parametrize(("failed", "holds"), [(0, True), (1, True), (2, False), (20, False)])
def test_over_five_per_cent_errors_take_the_answer_away(failed: int, holds: bool) -> None:
    rows = [row(caller=i, **({"outcome": "error", "error": "boom"} if i < failed else {})) for i in range(20)]
    (point,) = summarize(rows)
    assert point.holds is holds
    assert point.error_rate == pytest.approx(failed / 20)
    assert point.load[0].errors == ({"boom": failed} if failed else {})


def test_a_cut_reply_is_no_error() -> None:
    (point,) = summarize([row(caller=0), row(caller=1, outcome="cut")])
    assert (point.error_rate, point.load[0].outcomes) == (0.0, {"ok": 1, "cut": 1})


def test_nothing_of_the_planned_kind_is_no_answer() -> None:
    (point,) = summarize([row(kind="cold", planned=False)])
    assert not point.holds
    assert point.load[0].ttft.p50 is None
    assert point.shares["warm"].mean.both is None


def test_every_group_must_have_half_its_rows_as_planned() -> None:
    bad = {"kind": "cold", "planned": False}
    rows = [row(group="a", caller=i, **(bad if i < 3 else {})) for i in range(4)] + [row(group="b")]
    assert not summarize(rows)[0].holds
    assert summarize(rows[1:])[0].holds is False
    assert summarize(rows[2:])[0].holds is True


def test_the_total_of_a_part_is_not_passed_off_as_all() -> None:
    assert summarize([row(caller=0), row(caller=1, outcome="error", error="x")])[0].load[0].total is None


def test_a_server_that_tells_no_cache_leaves_what_was_evaluated_blank() -> None:
    (load,) = summarize([row(cache_n=None, new_tokens=None, kind=None, planned=None)])[0].load
    assert (load.evaluated, load.new, load.untold) == (None, None, 0)


def test_a_missing_value_is_missing_and_not_zero() -> None:
    bare = row(headers_s=None, prompt_ms=None, first_token_s=None, token_s=[], cache_n=None, prompt_n=None)
    (load,) = summarize([bare])[0].load
    found = (load.before_headers, load.prompt_eval, load.ttft.p50, load.gap.p50, load.decode, load.cache_n, load.prompt)
    assert found == (None,) * 7


def test_tokens_evaluated_and_those_of_them_that_were_new() -> None:
    (load,) = summarize([row(prompt_n=260, new_tokens=60), row(caller=1)])[0].load
    assert (load.evaluated, load.new, load.untold) == (320, 120, 0)
    hidden = {"cache_n": None, "prompt_n": None, "new_tokens": None}
    rows = [row(), row(outcome="superseded", **hidden), row(outcome="error", sent_s=None, **hidden)]
    (load,) = summarize(rows)[0].load
    assert (load.evaluated, load.new, load.untold) == (60, 60, 1)


def test_slots_and_moves_of_callers_that_the_server_places() -> None:
    served = {0: (0, 11, 11), 1: (1, 11, 2)}
    rows = [
        row(caller=caller, turn=turn, sent_s=10.0 + turn, served=slot)
        for caller, slots in served.items()
        for turn, slot in enumerate(slots)
    ]
    (load,) = summarize(rows)[0].load
    assert (load.slots_used, load.moves) == (4, 3)
    warm = [row(row="warm", caller=caller, slot=caller + 1, sent_s=9.0) for caller in served]
    assert summarize(warm + rows)[0].load[0].moves == 5  # and each left the slot that it was warmed in
    (unknown,) = summarize([row(served=None)])[0].load
    assert (unknown.slots_used, unknown.moves) == (None, None)


def test_the_load_delivered() -> None:
    rows = [
        row(caller=0, sent_s=10.0, end_s=11.0, due_s=10.0),
        row(caller=1, sent_s=10.004, end_s=10.5, due_s=10.0),
        row(caller=2, sent_s=10.5, end_s=11.0, due_s=10.0),
    ]
    delivered = summarize(rows)[0].delivered
    assert delivered.in_flight == 2
    assert delivered.start_spread == pytest.approx(0.5)
    assert delivered.late == pytest.approx(0.5)
    rows[2].due_s = 10.4
    assert summarize(rows)[0].delivered.start_spread is None  # not all were due at once


@pytest.mark.parametrize(
    ("server_ms", "differ"),
    [
        ([0.0, 20.0, 40.0, 60.0, 80.0], False),
        ([0.0, 20.5, 41.0, 61.5, 82.0], False),
        ([0.0, 18.0, 36.0, 54.0, 72.0], True),
        ([0.0, 20.0], False),
        ([], False),
    ],
)
def test_clocks_that_differ(server_ms: list[float], differ: bool) -> None:
    assert clocks_differ(row(token_server_ms=server_ms)) is differ


def test_points_come_in_the_order_of_the_run_and_warm_rows_are_left_out() -> None:
    rows = [row(point="b", row="warm"), row(point="b"), row(point="a"), row(point="b"), row(point="c", row="warm")]
    assert [(point.point, point.load[0].planned_rows) for point in summarize(rows)] == [("b", 2), ("a", 1)]


def test_a_request_taken_back_is_in_no_figure_and_no_error() -> None:
    early = reply(5.0, 0.9, 1.9, outcome="superseded", kind="rewind", planned=False, prompt_n=30, new_tokens=30)
    (point,) = summarize([row(attempt=1), early])
    (load,) = point.load
    assert (load.rows, load.planned_rows, load.each) == (1, 1, 1)
    assert (load.ttft.max, load.ttft_due.max) == pytest.approx((0.2, 0.21))  # due at 9.99, not at 5
    assert (load.kinds, load.unplanned, load.errors) == ({"extension": 1}, {}, {})
    assert load.outcomes == {"ok": 1, "superseded": 1}
    assert load.evaluated == 90  # but the server did evaluate it
    assert point.error_rate == 0.0
    assert point.holds


def test_who_hung_up_is_counted_beside_the_first_tokens() -> None:
    gone = [reply(10.0, outcome="cut", abandoned=True, end_s=10.0 + 4 * i, caller=i) for i in (1, 2)]
    gone.append(reply(9.0, outcome="timeout", abandoned=True, end_s=17.0, caller=2, attempt=1))
    late = reply(20.0, 0.5, outcome="timeout", abandoned=True, end_s=26.0, caller=0, call=1)
    (point,) = summarize([row(), row(turn=6), *gone, late])
    (load,) = point.load
    assert (load.rows, load.planned_rows) == (2, 5)
    assert (load.hung_up, load.calls, load.gave_up) == pytest.approx(
        (3, 4, 6.0)
    )  # they had waited 4, 8 and 6 s, since their first requests
    assert point.error_rate == 0.0  # they are no errors, but too many to go on without them
    assert not point.holds


def test_who_is_answered_at_the_second_try_has_waited_since_the_first() -> None:
    first = reply(2.0, outcome="timeout", error="no first token in 5 s", due_s=1.9)
    (load,) = summarize([first, row(attempt=1), row(caller=1, turn=6)])[0].load
    assert load.ttft_due.max == pytest.approx(10.2 - 1.9)
    assert load.ttft_due.p50 == pytest.approx(0.21)
    assert load.errors == {"no first token in 5 s": 1}
    (point,) = summarize([alone(1, "before", 0.01, due_s=3.0), alone(2, "before", 0.01), row()])
    assert point.baseline is not None
    assert point.baseline.ttft_due.p50 == pytest.approx(0.21)  # one caller's replies are no attempts at one thing


def test_errors_are_counted_by_turns_where_calls_tell_them() -> None:
    rows = [row(caller=i) for i in range(19)] + [row(caller=19, outcome="error", error="boom")]
    assert summarize(rows)[0].error_rate == pytest.approx(1 / 20)
    assert not summarize(rows)[0].by_turns
    # 39 turns planned, 7 of them lost with a call that broke off; those of the caller who hung up are no errors
    events = [
        call(10, 10, "ended"), call(10, 3, "failed"), call(10, 4, "hung_up"), call(10, 9, "time", group="b"),
        call(9, 0, "failed", point="q"), {"event": "client", "point": "p"},
    ]  # fmt: skip
    point = summarize(rows, events)[0]
    assert point.error_rate == pytest.approx(7 / 39)
    assert point.by_turns
    assert not point.holds
    # who was answered at the second try lost nothing
    assert summarize(rows, [call(10, 10, "ended")])[0].error_rate == 0.0


def test_rows_of_each_repeat_only_where_all_have_as_many() -> None:
    assert summarize([row(), row(caller=1), row(repeat=2), row(repeat=2, caller=1)])[0].load[0].each == 2
    assert summarize([row(), row(caller=1), row(repeat=2)])[0].load[0].each is None


def test_a_request_that_no_slot_took_hides_no_moves() -> None:
    lost = row(turn=4, sent_s=9.0, served=None, outcome="timeout")
    (load,) = summarize([lost, row(served=2), row(turn=6, sent_s=11.0, served=3)])[0].load
    assert (load.slots_used, load.moves) == (2, 1)
    (load,) = summarize([row(served=2), row(turn=6, sent_s=11.0, served=None)])[0].load
    assert (load.slots_used, load.moves) == (None, None)
