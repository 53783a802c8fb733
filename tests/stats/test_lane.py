"""A caller's time as spans, worked out on paper."""

from typing import Any

import pytest

from loadsim.stats.lane import Span, State, cells, spans
from tests.stats.rows import cut, playout, reply, spoke


def found(**fields: Any) -> dict[State, tuple[float, float]]:
    """A reply asked for at 10 s, with tokens at 11, 12 and 13 s: its spans by state."""
    cold = fields.pop("cold", ())
    scale = fields.pop("scale", 1.0)
    return {span.state: (span.start, span.end) for span in spans(reply(10.0, 1.0, 2.0, 3.0, **fields), cold, scale)}


def test_a_turn_that_is_only_asked_and_answered() -> None:
    assert found() == {State.WAIT: (10.0, 11.0), State.SPEAKS: (11.0, 13.0)}


def test_a_turn_that_is_spoken_and_heard() -> None:
    assert found(spoke=spoke(7.0, 9.5), playout=playout(11.5, 18.0)) == {
        State.CALLER: (7.0, 9.5),
        State.PAUSE: (9.5, 10.0),
        State.WAIT: (10.0, 11.0),
        State.COMES: (11.0, 11.5),
        State.SPEAKS: (11.5, 13.0),
        State.BUFFER: (13.0, 18.0),
    }


def test_a_voice_that_begins_after_the_last_token_or_ends_before_it() -> None:
    late = found(playout=playout(14.0, 18.0))
    assert (late[State.COMES], late[State.BUFFER]) == ((11.0, 14.0), (14.0, 18.0))
    assert State.SPEAKS not in late
    short = found(playout=playout(11.5, 12.5), cut=cut(12.0, 0.5, 1))
    assert (short[State.SPEAKS], short[State.BARGE_IN]) == ((11.5, 12.5), (12.0, 12.0))
    assert State.BUFFER not in short


def test_silence_stands_where_the_buffer_first_ran_dry() -> None:
    dry = playout(11.5, 18.0, underruns=2, first_underrun_s=2.0, silent_s=1.0)
    assert found(playout=dry)[State.UNDERRUN] == (13.5, 14.5)
    assert found(playout=dry, scale=4.0)[State.UNDERRUN] == (12.0, 12.25)  # speech, and its time, run faster


def test_a_cold_join_waits_and_only_with_its_cold_prompt() -> None:
    assert found(group="j", kind="cold", cold=["j"])[State.JOIN] == (10.0, 11.0)
    assert found(group="j", kind=None, cold=["j"])[State.JOIN] == (10.0, 11.0)
    assert State.JOIN not in found(group="j", kind="extension", cold=["j"])
    assert State.JOIN not in found(kind="cold", cold=["j"])


def test_a_request_taken_back_is_nothing_else() -> None:
    early = found(outcome="superseded", end_s=12.0, spoke=spoke(8.0, 9.8), playout=playout(11.0, 15.0))
    assert early == {State.CALLER: (8.0, 9.8), State.PAUSE: (9.8, 10.0), State.SUPERSEDED: (10.0, 12.0)}


@pytest.mark.parametrize(
    ("fields", "state"),
    [
        ({"outcome": "error"}, State.ERROR),
        ({"outcome": "timeout"}, State.ERROR),
        ({"outcome": "cut", "abandoned": True}, State.HUNG_UP),
        ({"outcome": "timeout", "abandoned": True}, State.HUNG_UP),
    ],
)
def test_how_waiting_in_vain_ends(fields: dict[str, Any], state: State) -> None:
    lost = {span.state: (span.start, span.end) for span in spans(reply(10.0, end_s=15.0, **fields))}
    assert lost == {State.WAIT: (10.0, 15.0), state: (15.0, 15.0)}


def test_what_was_never_sent_has_no_span() -> None:
    assert spans(reply(10.0, sent_s=None, end_s=None, outcome="error")) == []


def test_a_step_shows_what_went_wrong_or_what_fills_most_of_it() -> None:
    line = [
        Span(0.0, 2.0, State.CALLER),
        Span(2.0, 2.5, State.PAUSE),
        Span(2.5, 2.6, State.WAIT),
        Span(2.6, 5.0, State.SPEAKS),
        Span(4.0, 4.0, State.BARGE_IN),
        Span(4.2, 4.4, State.ERROR),
    ]
    caller, pause, speaks, cuts = State.CALLER, State.PAUSE, State.SPEAKS, State.BARGE_IN
    assert cells(line, 0.0, 1.0, 7) == [caller, caller, pause, speaks, cuts, State.NOTHING, State.NOTHING]
    assert cells(line, 1.5, 1.0, 2) == [pause, speaks]  # of two as long the graver
    assert cells(line, 2.45, 0.15, 1) == [State.WAIT]
    # a wait is not hidden by the reply before it, which would still sound
    assert cells([Span(0.0, 9.0, State.BUFFER), Span(2.0, 2.5, State.WAIT)], 2.0, 1.0, 2) == [State.WAIT, State.BUFFER]
    assert cells(line, 1.0, 1.0, 1) == [caller]  # what only touches a step is not in it
    assert cells(line, 0.0, 10.0, 1) == [cuts]
    assert cells(line, 2.0, 1.0, 2) == [pause, cuts]  # at the very end
    assert cells(line, 2.0, 0.9, 2) == [pause, speaks]  # after it
    assert cells([Span(4.0, 5.0, speaks)], 2.0, 1.0, 2) == [State.NOTHING] * 2


def test_the_order_of_what_is_grave() -> None:
    assert State.BARGE_IN > State.UNDERRUN > State.ERROR > State.HUNG_UP > State.SUPERSEDED > State.JOIN > State.WAIT
    assert State.WAIT > State.COMES > State.SPEAKS > State.BUFFER > State.PAUSE > State.CALLER > State.NOTHING
