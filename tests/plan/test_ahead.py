"""What a search has still to do, and how long that takes."""

from loadsim.plan.ahead import Ahead, Reckoning, counts_ahead


def test_what_is_left_is_counted_as_if_all_failed() -> None:
    assert counts_ahead({1: "meets", 2: "meets", 4: "meets", 8: "misses"}, 256) == [6, 5]
    assert counts_ahead({8: "meets", 16: "misses"}, 256) == [12, 10, 9]
    assert counts_ahead({8: "meets"}, 256) == [16, 12, 10, 9]
    assert counts_ahead({8: "meets", 9: "misses"}, 256) == []


def test_nothing_is_reckoned_from_nothing() -> None:
    assert Reckoning().one(4) is None
    assert Reckoning().ahead({}, 8, confirms=False) is None
    first = Reckoning()
    first.took(1, 5.0)  # filled the slot
    assert first.one(1) is None


def test_a_repeat_takes_as_long_as_with_the_nearest_number() -> None:
    known = Reckoning()
    for count, seconds in ((1, 9.0), (1, 2.0), (1, 3.0), (1, 2.5), (8, 12.0), (8, 4.0)):
        known.took(count, seconds)
    assert known.one(1) == 2.5
    assert known.one(7) == 4.0  # no less than with more callers
    assert known.one(16) == 8.0  # twice as many


def test_seconds_ahead() -> None:
    known = Reckoning()
    for count, seconds in ((8, 12.0), (8, 4.0), (16, 24.0), (16, 8.0)):
        known.took(count, seconds)
    told = known.ahead({8: "meets", 16: "misses"}, 256, confirms=True)
    # 12, 10 and 9, each three times as 8 or 16; then 8, three times, in slots of which each takes a second to fill
    assert told == Ahead(low=8, high=15, points=3, confirmation=True, seconds=3 * (6 + 5 + 4.5 + 4) + 8)
    over = known.ahead({8: "meets", 9: "misses"}, 256, confirms=False)
    assert over == Ahead(low=8, high=8, points=0, confirmation=False, seconds=0)
