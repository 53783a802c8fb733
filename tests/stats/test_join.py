"""A cold join, worked out on paper: the cold prompt is evaluated from 10 to 12 s."""

from typing import Any

import pytest

from loadsim.stats.join import Met, Place, around, joins, place, stall, steps, window
from loadsim.types import RequestRow
from tests.stats.rows import reply


def cold(**fields: Any) -> RequestRow:
    """Sent at 9.5 s, taken up at 10 s, first token at 12 s."""
    plain: dict[str, Any] = {"kind": "cold", "prompt_n": 10_369, "headers_s": 10.0, "prompt_ms": 2100.0}
    return reply(9.5, 2.5, 2.6, **{"group": "cold"} | plain | fields)


SPEAKS = reply(8.0, 1.0, 1.5, 2.5, 3.25, 4.0, 4.5)  # at 9, 9.5, 10.5, 11.25, 12 and 12.5 s
WAITS = reply(10.5, 1.0, 1.25, 3.0, caller=1)  # at 11.5, 11.75 and 13.5 s
BEFORE = reply(7.0, 0.1, 0.2, 0.3, caller=2)
NEXT = reply(11.0, 5.0, 5.1, caller=2)  # first token at 16 s


@pytest.mark.parametrize(
    ("batch", "ubatch", "predicted"), [(512, 512, 22), (1024, 1024, 12), (2048, 2048, 7), (4096, 2048, 5)]
)
def test_steps_of_the_lab(batch: int, ubatch: int, predicted: int) -> None:
    assert steps(10_369, batch, ubatch, 2) == predicted


def test_steps_at_the_edges() -> None:
    # 10,369 less min(4096, 4100) is 6,273: two steps of 4,094, and two more
    assert steps(10_369, 4096, 4096, 2) == 4
    # a ubatch over the batch is cut to it: less min(2048, 2052)
    assert steps(10_369, 2048, 8192, 2) == 7
    # twelve speak: 8,321 / 500 is 16.6
    assert steps(10_369, 512, 512, 12) == 22
    assert steps(10_369, 512, 512, 40) == 23  # 9,857 / 472 is 20.9
    assert steps(100, 2048, 2048, 2) == 2
    assert steps(100, 4, 4, 4) == 98
    assert steps(2500, 1002, 496, 2) == 4  # the last 500 tokens, not 496, are the edges'


@pytest.mark.parametrize(
    ("fields", "start"),
    [
        ({}, 10.0),  # the server says 2.1 s, but its slot began later
        ({"prompt_ms": 1500.0}, 10.5),  # headers came before the prompt's turn
        ({"headers_s": None}, 9.9),
        ({"prompt_ms": None}, 10.0),
    ],
)
def test_when_the_prompt_was_evaluated(fields: dict[str, Any], start: float) -> None:
    assert window(cold(**fields)) == pytest.approx((start, 12.0))


def test_a_prompt_whose_time_is_not_known() -> None:
    assert window(cold(headers_s=None, prompt_ms=None)) is None
    assert window(cold(first_token_s=None)) is None


def test_who_speaks_all_the_time_gets_a_token_a_step() -> None:
    met = stall([SPEAKS], (10.0, 12.0))
    assert (met.steps, met.whole) == (3, True)  # at 10.5, 11.25 and 12
    assert (met.wait, met.gap) == (None, 1.0)  # from 9.5 to 10.5, which began before
    assert met.decode == pytest.approx(3 / 2.0)
    assert not met.before


def test_who_waits_for_a_first_token_and_then_speaks() -> None:
    met = stall([WAITS], (10.0, 12.0))
    assert (met.steps, met.whole) == (2, False)
    assert (met.wait, met.gap, met.before) == (1.0, 1.75, False)
    assert (met.tokens, met.seconds) == (1, 0.5)  # one after its first, from 11.5 to 12
    met = stall([BEFORE, NEXT], (10.0, 12.0))
    assert (met.steps, met.wait, met.gap, met.before, met.decode) == (0, 5.0, None, True, None)


def test_who_gives_up_waited_at_least_until_then_and_nobody_waits_for_what_was_sent_too_early() -> None:
    gone = reply(10.5, outcome="timeout", end_s=15.5)
    assert stall([gone], (10.0, 12.0)).wait == 5.0
    early = reply(10.5, 1.0, outcome="superseded")
    assert stall([early], (10.0, 12.0)).wait is None
    assert stall([reply(12.5, 0.5)], (10.0, 12.0)).wait is None
    assert stall([reply(8.0, 1.9)], (10.0, 12.0)).wait is None
    assert stall([reply(8.0, 1.9, sent_s=None)], (10.0, 12.0)).steps == 0


def test_a_join_over_all_warm_callers() -> None:
    quiet = reply(20.0, 0.1, 0.2, caller=3)
    other_repeat = reply(10.0, 0.1, 9.0, caller=4, repeat=2)
    (join,) = joins([SPEAKS, WAITS, cold(), BEFORE, NEXT, quiet, other_repeat], ["cold"])
    assert (join.group, join.caller, join.repeat, join.prompt) == ("cold", 0, 1, 10_369)
    assert (join.ttft, join.seconds) == pytest.approx((2.5, 2.0))
    assert (join.generating, join.whole, join.steps, join.most) == (2, 1, 3, 3)
    assert (join.wait, join.before) == (5.0, 1)
    assert (join.gap, join.inside) == (1.75, 2)
    assert join.decode == join.slowest == pytest.approx(1.5)  # the other one spoke for a quarter of the time only
    (join,) = joins([WAITS, cold()], ["cold"])
    assert (join.steps, join.most, join.decode) == (None, 2, None)
    (join,) = joins([cold()], ["cold"])
    assert (join.most, join.wait, join.gap, join.before, join.inside) == (0, None, None, 0, 0)


def test_only_cold_prompts_join() -> None:
    later = cold(turn=6, kind="extension", sent_s=20.0)
    assert len(joins([cold(), later], ["cold"])) == 1
    assert joins([cold()], []) == []
    # a server that tells no kinds: the first prompt of each call is cold
    untold = [cold(kind=None), cold(kind=None, turn=6, sent_s=20.0), cold(kind=None, call=1, sent_s=30.0)]
    assert len(joins(untold, ["cold"])) == 2
    # two cold groups are no warm callers to each other
    both = joins([cold(), cold(group="b")], ["cold", "b"])
    assert [(join.group, join.wait) for join in both] == [("cold", None), ("b", None)]


def test_five_of_six_before_the_first_token() -> None:
    """The article's cold join: three repeats, two warm callers each; one of six heard a word first and then waited."""
    waits, speaks = 2.2, 0.121
    rows: list[RequestRow] = []
    for repeat in (1, 2, 3):
        rows.append(reply(10.0, 3.0, 3.1, kind="cold", prompt_n=10_377, prompt_ms=2900.0, group="cold", repeat=repeat))
        for caller in (0, 1):
            early = (repeat, caller) == (3, 1)
            first = speaks if early else waits
            rest = (first + 2.5, first + 2.6) if early else (first + 0.05, first + 0.1)
            rows.append(reply(10.0, first, *rest, repeat=repeat, caller=caller))
    assert place(joins(rows, ["cold"])) == Place(before=5, inside=1)
    assert place([]) == Place(0, 0)


def test_what_others_met_around_a_cold_prompt() -> None:
    joiner = reply(9.0, 3.0, group="joiner")
    # tokens at 7.9, 9.9, 12.5 (two at once), 14.1 s; within 2 s of 10 to 12 s the second and the third count
    speaks = reply(7.0, 0.9, 2.9, 5.5, 5.5, 7.1)
    waits = reply(8.5, 5.5, caller=1)
    others = [speaks, waits, reply(8.5, 3.0, 3.5, repeat=2), reply(8.5, 3.0, 3.5, outcome="superseded")]
    waited, gaps = around(joiner, (10.0, 12.0), others, 2.0)
    assert waited == [Met(4.0, 5.5, waits)]
    assert [(round(met.at, 6), round(met.seconds, 6)) for met in gaps] == [(-0.1, 2.0), (2.5, 2.6)]
    _, gaps = around(joiner, (10.0, 12.0), others, 2.2)
    assert [(round(met.at, 6), round(met.seconds, 6)) for met in gaps[2:]] == [(4.1, 1.6)]
    assert around(joiner, (10.0, 12.0), [reply(9.0, outcome="error", end_s=11.0)], 2.0) == ([], [])
