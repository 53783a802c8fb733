"""Times of utterances: known ones stay, missing ones are drawn and fit in."""

import statistics
from random import Random

from hypothesis import given
from hypothesis import strategies as st

from loadsim.recording.draft import Said
from loadsim.recording.timing import Timed, timed

TEN = "one two three four five six seven eight nine ten"


def caller(text: str = TEN, start: float | None = None, end: float | None = None) -> Said:
    return Said(by="caller", text=text, start=start, end=end)


def agent(text: str = TEN, start: float | None = None, end: float | None = None, interrupted: bool = False) -> Said:
    return Said(by="agent", text=text, start=start, end=end, interrupted=interrupted)


def times(*said: Said) -> list[Timed]:
    return timed(said, Random(1))


def test_known_times_are_left_alone() -> None:
    found = times(caller(start=1, end=4), agent(start=3.5, end=9), caller(start=8, end=9.5))
    assert [(one.start, one.end, one.drawn) for one in found] == [(1, 4, False), (3.5, 9, False), (8, 9.5, False)]


def test_an_end_is_drawn_from_the_words_and_ends_before_the_next_start() -> None:
    free, close = times(caller(start=1))[0], times(caller(start=1), agent(start=2))[0]
    assert free.drawn and 1 + 10 / 4.8 <= free.end <= 1 + 10 / 1.2
    assert close.drawn and 1 < close.end <= 2


def test_a_start_is_drawn_behind_what_was_before() -> None:
    one, other = times(caller(start=1, end=4), agent(end=30))
    assert 4 <= other.start < 30
    assert (one.end, other.end, other.drawn) == (4, 30, True)


def test_utterances_between_known_times_share_the_room() -> None:
    found = times(caller(start=0, end=2), agent(), caller(), agent(start=4, end=6))
    assert [one.start for one in found] == sorted(one.start for one in found)
    assert found[1].start >= 2 and found[2].end <= 4
    assert found[1].end > found[1].start and found[2].end > found[2].start


def test_what_is_before_the_first_known_time_is_counted_back_from_it() -> None:
    found = times(agent(), caller(start=60, end=62))
    assert 50 < found[0].start < found[0].end <= 60
    assert times(agent(), caller(start=0.5, end=2))[0].end <= 0.5


def test_who_is_cut_stops_when_the_caller_starts() -> None:
    found = times(agent(start=1, interrupted=True), caller(start=3, end=5))
    assert (found[0].end, found[0].drawn) == (3, False)
    drawn = times(agent(interrupted=True), caller())
    assert drawn[0].end == drawn[1].start


def test_times_that_cannot_be_are_drawn() -> None:
    for start, end in [(float("nan"), 5.0), (-3.0, 5.0), (1e9, 2e9), (2.0, 9.0)]:
        found = times(caller(start=3, end=4), agent(start=start, end=end if start < 3 else None))
        assert found[1].drawn and found[1].start >= 4 - 1e-9 and found[1].end > found[1].start
    assert times(caller(start=3, end=2))[0].end > 3


def test_drawn_calls_have_human_pace() -> None:
    found = timed([caller(), agent()] * 2000, Random(3))
    pace = statistics.median(10 / (one.end - one.start) for one in found[::2])
    gaps = [after.start - before.end for before, after in zip(found[1::2], found[2::2], strict=False)]
    assert 2.6 <= pace <= 2.95  # PriMock57: 2.77
    assert 0.35 <= statistics.median(gaps) <= 0.47  # 0.41
    assert min(gaps) >= -0.001


SECONDS = st.none() | st.floats(0, 100)


@given(st.lists(st.tuples(st.sampled_from(["caller", "agent"]), SECONDS, SECONDS, st.booleans()), max_size=8))
def test_every_utterance_has_a_length_and_known_starts_stay_in_order(
    given: list[tuple[str, float, float, bool]],
) -> None:
    said = [(caller if by == "caller" else agent)("one two", start, end) for by, start, end, _ in given]
    for one in timed(said, Random(5)):
        assert 0 <= one.start < one.end
        if not one.drawn:
            assert one.said.start is not None and abs(one.start - one.said.start) < 0.001
