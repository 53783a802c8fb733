"""What callers hear, worked out on paper."""

import pytest

from loadsim.stats.heard import Around, heard
from tests.stats.rows import playout, reply, row, spoke

AROUND = Around(endpointing=0.5, tts=0.15, network=0.11)


def test_the_wait_for_the_voice_is_taken_from_the_clock_where_it_stands_there() -> None:
    rows = [
        row(first_speech_s=10.3, spoke=spoke(7.0, 9.5), playout=playout(10.56, 14.0)),
        row(turn=6, first_speech_s=10.5, spoke=spoke(7.0, 9.0), playout=playout(11.0, 14.0)),
        row(turn=7, first_speech_s=10.4),  # the call's last reply, without the caller's words
    ]
    found = heard(rows, AROUND)
    assert (found.ttfs.p50, found.ttfs.max) == pytest.approx((0.4, 0.5))
    assert found.measured
    assert (found.voice.p50, found.voice.max) == pytest.approx((1.06, 2.0))


def test_else_it_is_estimated_from_what_stands_around_the_server() -> None:
    spoken = [row(first_speech_s=10.3, spoke=spoke(7.0, 9.5), playout=playout(10.4, 14.0))]
    for rows, around in (
        ([row(first_speech_s=10.3)], AROUND),
        (spoken, Around(endpointing=0.5, tts=0.15, network=0.11, time_scale=4.0)),  # time runs faster than on a phone
    ):
        found = heard(rows, around)
        assert not found.measured
        assert found.voice.p50 == pytest.approx(0.5 + 0.3 + 0.15 + 0.11)
    assert heard([row(first_speech_s=10.3)], Around(endpointing=0.5, tts=0.15)).voice.p50 is None
    assert heard([row()], AROUND).voice.p50 is None


def test_words_and_voice_of_one_turn_may_stand_at_different_requests() -> None:
    rows = [
        reply(5.0, 0.2, outcome="superseded", spoke=spoke(1.0, 4.0), playout=playout(5.5, 6.0)),
        reply(8.0, 0.2, spoke=spoke(1.0, 7.5), attempt=1),  # calls a tool, and says nothing
        reply(9.0, 0.2, step=1, playout=playout(9.7, 12.0)),
        reply(9.0, 0.2, step=1, caller=1, playout=playout(9.7, 12.0)),  # of somebody else
    ]
    found = heard(rows, AROUND)
    assert found.measured
    assert found.voice.max == pytest.approx(9.7 - 7.5)


def test_silence_inside_replies() -> None:
    dry = {"underruns": 2, "silent_s": 0.5, "first_underrun_s": 3.0, "least_s": 0.0}
    rows = [
        row(playout=playout(10.5, 12.0, least_s=0.4)),
        row(turn=6, playout=playout(10.5, 12.0, **dry)),
        row(turn=7, playout=playout(10.5, 12.0, **dry | {"underruns": 1, "silent_s": 0.25, "first_underrun_s": 2.0})),
        row(turn=8, playout=playout(10.5, 12.0, paused_s=2.0), outcome="cut"),
        row(turn=9),
        row(turn=9, playout=playout(10.5, 12.0, **dry), outcome="superseded"),
        row(turn=9, playout=playout(10.5, 12.0, **dry), outcome="cut", abandoned=True),
    ]
    found = heard(rows, AROUND)
    assert (found.replies, found.dry, found.underruns) == (4, 2, 3)
    assert (found.silent, found.soonest, found.least) == (0.75, 2.0, 0.0)
    assert (found.pauses, found.paused) == (1, 2.0)
    calm = heard([row(playout=playout(10.5, 12.0))], AROUND)
    assert (calm.dry, calm.soonest, calm.least) == (0, None, None)


def test_a_voice_that_drags_is_not_heard_whole() -> None:
    """A server at 4.2 tokens/s starves a voice of 4.5 by 16 ms a token: no underrun, and soon a second of silence."""
    rows = [
        row(playout=playout(10.5, 20.0, silent_s=0.9)),
        row(turn=6, playout=playout(10.5, 14.0, silent_s=0.1)),
    ]
    found = heard(rows, AROUND)
    assert (found.dry, found.underruns, found.soonest) == (1, 0, None)
    assert found.silent == pytest.approx(1.0)
