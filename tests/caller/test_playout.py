"""The playout buffer: cases computed by hand, and a voice simulated tick by tick."""

import math
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from loadsim.caller.playout import begins, dry_at, moment, playout
from loadsim.types import Playout

RATE = 4.0  # a token sounds for 0.25 s
STALL = [10.0, 10.1, 10.2, 10.3, 13.0, 13.1]  # the first four are spoken by 11.0; two seconds of silence


def test_tokens_faster_than_the_voice_never_run_dry() -> None:
    found = playout([10.0, 10.1, 10.2, 10.3], 10.05, RATE, chunk=1)
    # 0.2 s of speech lie ready before the second token, 0.25 + 0.25 - 0.15 before the third, more before the fourth.
    assert found == Playout(start_s=10.05, end_s=11.05, rate=4.0, tokens=4, chunk=1, least_s=0.2)


def test_nothing_was_still_to_come_where_the_reply_had_come_whole() -> None:
    assert playout([1.0, 2.0, 3.0], 3.0, RATE) == Playout(start_s=3.0, end_s=3.75, rate=4.0, tokens=3)


def test_a_stall_is_silent_for_as_long_as_the_buffer_does_not_cover() -> None:
    found = playout(STALL, 10.0, RATE)
    assert found == Playout(
        start_s=10.0, end_s=13.5, rate=4.0, tokens=6, underruns=1, silent_s=2.0, first_underrun_s=1.0, least_s=0.0
    )


def test_a_later_voice_is_silent_for_less() -> None:
    found = playout(STALL, 11.5, RATE)
    assert (found.silent_s, found.end_s) == (0.5, 13.5)
    found = playout(STALL, 12.25, RATE)  # its four tokens last until 13.25
    assert (found.underruns, found.silent_s, found.first_underrun_s, found.end_s) == (0, 0.0, None, 13.75)
    assert found.least_s == 0.25


def test_the_delay_of_the_speech_synthesis_counts_for_each_token() -> None:
    assert playout(STALL, 10.2, RATE, delay=0.2) == msgspec.structs.replace(
        playout(STALL, 10.0, RATE), start_s=10.2, end_s=13.7
    )
    assert playout(STALL, 10.0, RATE, delay=0.2).first_underrun_s == 0.0  # the first token comes late too


@pytest.mark.parametrize(("served", "voice", "tokens"), [(3.0, 4.5, 100), (2.0, 4.0, 2), (1.0, 5.0, 1)])
def test_a_server_slower_than_the_voice_leaves_a_gap_before_each_later_token(
    served: float, voice: float, tokens: int
) -> None:
    found = playout([k / served for k in range(tokens)], 0.0, voice)
    assert found.underruns == tokens - 1
    assert found.silent_s == pytest.approx((tokens - 1) * (1 / served - 1 / voice), abs=1e-4)
    assert found.end_s == pytest.approx((tokens - 1) / served + 1 / voice, abs=1e-6)
    assert found.first_underrun_s == (round(1 / voice, 6) if tokens > 1 else None)


def test_a_server_slower_than_the_voice_is_not_heard_before_the_first_tokens_lead_is_spent() -> None:
    # Token k comes at k/3 and is due at 2 + k/4.5: 0.111 s of the lead of 2 s are lost with each, so 18 lose it all.
    found = playout([k / 3 for k in range(100)], 2.0, 4.5)
    assert found.underruns == 99 - 18
    assert found.first_underrun_s == round(19 / 4.5, 6)
    assert found.silent_s == pytest.approx(99 / 9 - 2, abs=1e-4)


def test_jitter_below_a_frame_is_no_underrun() -> None:
    token_s = [0.25 * k + (0.001 if k % 2 else 0.0) for k in range(1000)]
    found = playout(token_s, 0.0, RATE)
    assert (found.underruns, found.silent_s, found.first_underrun_s) == (0, 0.001, None)
    assert found.end_s == 250.001  # it moves what follows
    assert found.least_s == 0.0


@pytest.mark.parametrize(("late", "counted"), [(0.019, 0), (0.019_999, 0), (0.02, 1), (0.021, 1)])
def test_an_underrun_is_a_frame_or_more(late: float, counted: int) -> None:
    found = playout([1000.0, 1000.25 + late], 1000.0, RATE)
    assert (found.underruns, found.silent_s) == (counted, round(late, 6))
    assert found.end_s == round(1000.5 + late, 6)


def test_waits_one_after_another_count_one_by_one() -> None:
    found = playout([0.0, 0.5, 1.0, 1.25, 1.6], 0.0, RATE)
    assert (found.underruns, found.silent_s, found.first_underrun_s) == (3, 0.6, 0.25)


def test_a_burst_fills_the_buffer() -> None:
    # Four tokens together at 0, 1 and 2.5: the first last until 1, the second until 2, silence until 2.5.
    found = playout([0.0] * 4 + [1.0] * 4 + [2.5] * 4, 0.0, RATE)
    assert found == Playout(
        start_s=0.0, end_s=3.5, rate=4.0, tokens=12, underruns=1, silent_s=0.5, first_underrun_s=2.0, least_s=0.0
    )
    assert playout([0.0] * 4 + [0.9] * 4 + [1.6] * 4, 0.0, RATE).least_s == 0.1


def test_a_pause_hides_a_stall() -> None:
    found = playout(STALL, 10.0, RATE, pauses=[(0.5, 3.0)])  # speech goes on at 13.5; the stall ends at 13
    assert found == Playout(start_s=10.0, end_s=14.5, rate=4.0, tokens=6, least_s=0.15, paused_s=3.0)


def test_a_pause_hides_a_part_of_a_stall() -> None:
    # Silent until 13 either way: from 11.5 on where the voice paused for 0.5 s before, or at that very moment.
    for at in (0.0, 0.3, 0.5, 1.0):
        found = playout(STALL, 10.0, RATE, pauses=[(at, 0.5)])
        assert (found.underruns, found.silent_s, found.first_underrun_s, found.paused_s) == (1, 1.5, 1.0, 0.5)
        assert found.end_s == 13.5


def test_a_pause_after_a_stall_hides_nothing_of_it() -> None:
    found = playout(STALL, 10.0, RATE, pauses=[(1.1, 0.5)])
    assert (found.silent_s, found.paused_s, found.end_s) == (2.0, 0.5, 14.0)


def test_only_pauses_that_are_reached_count() -> None:
    token_s = [0.0] * 4
    assert playout(token_s, 0.0, RATE, pauses=[(1.0, 0.5), (7.0, 0.5)]).paused_s == 0.0
    cut = playout(token_s, 0.0, RATE, until=0.5, pauses=[(0.5, 0.7), (0.25, 0.2), (0.25, 0.1)])
    assert (cut.paused_s, cut.end_s, cut.tokens) == (0.3, 0.8, 2)


def test_a_pause_or_a_cut_at_the_end_of_a_token_is_there_though_it_is_a_rounded_number() -> None:
    # 3 / 4.5 = 0.6666...: the third token's end, not a part of the fourth.
    token_s, end = [0.0, 0.0, 0.0, 1.6], 0.666667
    found = playout(token_s, 0.0, 4.5, pauses=[(end, 1.0)])
    assert (found.underruns, found.paused_s, found.end_s) == (0, 1.0, 1.888889)
    found = playout(token_s, 0.0, 4.5, until=end, pauses=[(3 / 4.5, 1.0)])
    assert (found.tokens, found.underruns, found.paused_s, found.end_s) == (3, 0, 0.0, end)
    assert moment(token_s, 0.0, 4.5, end) == pytest.approx(end, abs=1e-6)
    assert moment(token_s[:3], 0.0, 4.5, end) == pytest.approx(end, abs=1e-6)
    for tokens in range(1, 50):
        total = tokens / 4.5
        assert moment([0.0] * tokens, 0.0, 4.5, total + 1e-6) == dry_at([0.0] * tokens, 0.0, 4.5) == total


def test_a_voice_begins_with_all_that_is_ready_at_that_very_moment() -> None:
    assert 0.1 + 0.2 > 0.3
    assert playout([0.0, 0.1], 0.3, RATE, delay=0.2).least_s is None


def test_what_lies_ready_in_a_pause_is_speech_alone() -> None:
    # In the pause from 0.25 to 1.25 the second of the two first tokens lies ready, as the third comes.
    assert playout([0.0, 0.0, 1.0], 0.0, RATE, pauses=[(0.25, 1.0)]).least_s == 0.25
    assert playout([0.0, 0.0, 1.35], 0.0, RATE, pauses=[(0.25, 1.0)]).least_s == 0.15
    # Two pauses, to 1.25 and from 1.5 to 2.5: at 2.0 two of four tokens have been spoken.
    assert playout([0.0] * 4 + [2.0], 0.0, RATE, pauses=[(0.5, 1.0), (0.25, 1.0)]).least_s == 0.5


@pytest.mark.parametrize(
    ("until", "tokens", "end", "underruns", "least"),
    [
        (0.0, 0, 10.0, 0, 0.25),
        (0.2, 0, 10.2, 0, 0.15),  # before the second token 0.15 s lie ready; 0.55 s at the cut, with three there
        (0.25, 1, 10.25, 0, 0.15),
        (0.6, 2, 10.6, 0, 0.15),
        (0.9, 3, 10.9, 0, 0.1),  # 0.1 s is left, and tokens are still to come
        (1.0, 4, 11.0, 0, 0.0),  # as the silence begins
        (1.1, 4, 13.1, 1, 0.0),
        (1.25, 5, 13.25, 1, 0.0),
        (1.5, 6, 13.5, 1, 0.0),
        (9.9, 6, 13.5, 1, 0.0),
    ],
)
def test_a_cut(until: float, tokens: int, end: float, underruns: int, least: float) -> None:
    found = playout(STALL, 10.0, RATE, until=until)
    assert found == Playout(
        start_s=10.0,
        end_s=end,
        rate=4.0,
        tokens=tokens,
        underruns=underruns,
        silent_s=2.0 * underruns,
        first_underrun_s=1.0 if underruns else None,
        least_s=least,
    )


def test_a_token_heard_to_its_end_is_heard_though_the_cut_is_a_rounded_number() -> None:
    for tokens in range(1, 50):
        cut = playout([0.0] * 50, 0.0, 4.5, until=round(tokens / 4.5, 6))
        assert cut.tokens == tokens


def test_a_stream_that_broke_off_ran_dry() -> None:
    assert playout([0.0, 0.0], 0.0, RATE, complete=False).least_s == 0.0
    assert playout([0.0, 0.0], 0.0, RATE, until=0.4, complete=False).least_s == 0.1
    assert playout([0.0, 0.0], 0.0, RATE, until=0.4).least_s is None


def test_no_tokens() -> None:
    silent = Playout(start_s=3.0, end_s=3.0, rate=4.0, tokens=0)
    assert playout([], 3.0, RATE) == playout([], 3.0, RATE, until=1.0, pauses=[(0.0, 1.0)]) == silent
    assert playout([], 3.0, RATE, complete=False).least_s == 0.0
    assert dry_at([], 3.0, RATE) == 3.0
    assert (moment([], 3.0, RATE, 0.0), moment([], 3.0, RATE, 0.1)) == (3.0, None)


def test_when_the_buffer_runs_dry() -> None:
    assert dry_at(STALL[:4], 10.0, RATE) == 11.0
    assert dry_at(STALL[:4], 10.0, RATE, 0.5) == 11.5
    assert dry_at(STALL[:4], 10.0, RATE, 0.0, [(0.5, 3.0), (1.0, 1.0)]) == 14.0  # the second comes after them
    assert dry_at(STALL, 10.0, RATE) == 13.5


def test_the_moment_of_so_much_speech() -> None:
    for spoken, at in [(0.0, 10.0), (0.3, 10.3), (1.0, 11.0), (1.01, 13.01), (1.5, 13.5)]:
        assert moment(STALL, 10.0, RATE, spoken) == pytest.approx(at, abs=1e-9)
    assert moment(STALL, 10.0, RATE, 1.51) is None
    assert moment(STALL[:4], 10.0, RATE, 1.01) is None  # not known yet
    assert moment(STALL, 10.0, RATE, -1.0) == 10.0
    assert moment(STALL, 10.0, RATE, 0.5, 0.0, [(0.5, 3.0)]) == 10.5
    assert moment(STALL, 10.0, RATE, 0.6, 0.1, [(0.5, 3.0)]) == pytest.approx(13.7, abs=1e-9)


def test_when_each_token_begins_to_sound() -> None:
    # at 4 tokens/s from 10 s on; the third is a second late, the fourth was there by then, the fifth is late by 0.25 s
    assert begins([9.0, 9.1, 11.4, 11.5, 12.15], 10.0, 4.0, 0.1) == [10.0, 10.25, 11.5, 11.75, 12.25]
    assert begins([10.0, 10.1], 9.0, 4.0) == [10.0, 10.25]  # the first is waited for, too
    assert begins([], 10.0, 4.0) == []


# The oracle counts in ticks of 5 ms and moves one tick at a time.
TICK_S = 0.005
FRAME = 4


def simulated(
    ready: list[int], start: int, sound: int, until: int | None, pauses: list[tuple[int, int]], complete: bool
) -> dict[str, Any]:
    """A voice that says a token in `sound` ticks, all in whole ticks; `ready`: when each token can sound."""
    now, spoken, waited, paused = start, 0, 0, 0
    waits: list[tuple[int, int]] = []
    least: list[int] = []
    stop = len(ready) * sound if until is None else min(until, len(ready) * sound)
    ahead = sorted(pauses)
    while spoken < stop:
        if ahead and ahead[0][0] <= spoken and ahead[0][1] == 0:
            ahead.pop(0)
            continue
        if ahead and ahead[0][0] <= spoken:
            ahead[0] = (ahead[0][0], ahead[0][1] - 1)
            paused += 1
        elif spoken == sound * sum(at <= now for at in ready):
            waited += 1
        else:
            waits += [(spoken, waited)]
            spoken, waited = spoken + 1, 0
        now += 1
        if any(at >= now for at in ready):
            least.append(sound * sum(at < now for at in ready) - spoken)
    if not complete or any(at > now for at in ready):
        least.append(sound * sum(at <= now for at in ready) - spoken)
    dry = [(at, wait) for at, wait in waits if wait >= FRAME]
    return {
        "start_s": start * TICK_S,
        "end_s": now * TICK_S,
        "rate": 1 / (sound * TICK_S),
        "tokens": spoken // sound,
        "chunk": None,
        "underruns": len(dry),
        "silent_s": sum(wait for _, wait in waits) * TICK_S,
        "first_underrun_s": dry[0][0] * TICK_S if dry else None,
        "least_s": min(least) * TICK_S if least else None,
        "paused_s": paused * TICK_S,
    }


@given(
    gaps=st.lists(st.one_of(st.just(0), st.integers(0, 12), st.integers(0, 60)), max_size=12),
    early=st.integers(-20, 60),
    sound=st.integers(1, 12),
    delay=st.integers(0, 10),
    until=st.none() | st.integers(0, 90),
    pauses=st.lists(st.tuples(st.integers(0, 60), st.integers(0, 40)), max_size=3),
    complete=st.booleans(),
    origin=st.sampled_from([0, 200_000_000]),  # a loop's clock has run for days
)
def test_a_voice_simulated_tick_by_tick_hears_the_same(
    gaps: list[int],
    early: int,
    sound: int,
    delay: int,
    until: int | None,
    pauses: list[tuple[int, int]],
    complete: bool,
    origin: int,
) -> None:
    came = [origin + sum(gaps[: k + 1]) for k in range(len(gaps))]
    start = origin + early
    expected = simulated([at + delay for at in came], start, sound, until, pauses, complete)
    token_s = [at * TICK_S for at in came]
    in_seconds = [(at * TICK_S, silence * TICK_S) for at, silence in pauses]
    rate = 1 / (sound * TICK_S)
    found = playout(
        token_s,
        start * TICK_S,
        rate,
        delay=delay * TICK_S,
        until=None if until is None else until * TICK_S,
        pauses=in_seconds,
        complete=complete,
    )
    assert msgspec.structs.asdict(found) == pytest.approx(expected, abs=2e-6)
    ends = playout(token_s, start * TICK_S, rate, delay=delay * TICK_S, pauses=in_seconds).end_s
    assert dry_at(token_s, start * TICK_S, rate, delay * TICK_S, in_seconds) == pytest.approx(ends, abs=2e-6)
    if until is not None:
        at = moment(token_s, start * TICK_S, rate, until * TICK_S, delay * TICK_S, in_seconds)
        assert at is None if until > len(gaps) * sound else math.isclose(at or 0.0, found.end_s, abs_tol=2e-6)
