"""Which number is measured next: as bisection, and where verdicts are unclear both edges of the noise."""

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loadsim.plan.steps import Edges, edges, next_count
from loadsim.plan.verdict import Verdict


def walk(judge: Callable[[int], Verdict], most: int = 256) -> dict[int, Verdict]:
    """Every number that is measured, in order."""
    known: dict[int, Verdict] = {}
    while (count := next_count(known, most)) is not None:
        assert count not in known
        assert 1 <= count <= most
        known[count] = judge(count)
    return known


def bisection(capacity: int, most: int) -> int:
    """How many numbers doubling and bisection take where every verdict is clear."""
    low, high, n = 0, 1, 1
    while high <= capacity and high < most:
        low, high, n = high, min(2 * high, most), n + 1
    if high <= capacity:
        return n
    while high - low > 1:
        middle = (low + high) // 2
        low, high, n = (middle, high, n + 1) if middle <= capacity else (low, middle, n + 1)
    return n


def noisy(low: int, high: int) -> Callable[[int], Verdict]:
    """Up to `low` holds, above `high` fails, and what lies between is unclear."""
    return lambda count: "meets" if count <= low else "misses" if count > high else "unclear"


@pytest.mark.parametrize(
    ("capacity", "measured"),
    [
        (0, [1]),
        (1, [1, 2]),
        (3, [1, 2, 4, 3]),
        (5, [1, 2, 4, 8, 6, 5]),
        (12, [1, 2, 4, 8, 16, 12, 14, 13]),
    ],
)
def test_the_number_doubles_and_then_the_middle_is_taken(capacity: int, measured: list[int]) -> None:
    known = walk(noisy(capacity, capacity))
    assert list(known) == measured
    assert edges(known) == Edges(capacity, capacity)


def test_beside_an_unclear_number_its_neighbours_are_measured() -> None:
    known = walk(noisy(11, 12))
    assert list(known) == [1, 2, 4, 8, 16, 12, 11, 13]
    assert edges(known) == Edges(11, 12)


def test_the_search_ends_at_the_most() -> None:
    known = walk(noisy(99, 99), most=12)
    assert list(known) == [1, 2, 4, 8, 12]
    assert edges(known) == Edges(12, None)
    assert edges(walk(noisy(11, 99), most=12)) == Edges(11, None)


def test_a_number_that_holds_above_an_unclear_one_settles_it() -> None:
    assert edges({4: "meets", 6: "unclear", 8: "meets", 9: "misses"}) == Edges(8, 8)
    assert next_count({4: "meets", 6: "unclear", 8: "meets", 9: "misses"}, 99) is None
    assert edges({4: "meets", 6: "misses", 8: "meets", 9: "misses"}) == Edges(8, 8)


@given(capacity=st.integers(0, 300), most=st.integers(1, 300))
def test_clear_verdicts_take_as_many_points_as_bisection(capacity: int, most: int) -> None:
    known = walk(noisy(capacity, capacity), most)
    assert edges(known) == (Edges(most, None) if capacity >= most else Edges(capacity, capacity))
    assert len(known) == bisection(capacity, most)


@given(low=st.integers(0, 300), most=st.integers(1, 400))
def test_an_unclear_number_takes_two_points_more_at_most(low: int, most: int) -> None:
    known = walk(noisy(low, low + 1), most)
    assert len(known) <= max(bisection(capacity, most) for capacity in (low, low + 1)) + 2


@given(low=st.integers(0, 100), wide=st.integers(1, 100), most=st.integers(1, 256))
def test_any_noise_is_bounded(low: int, wide: int, most: int) -> None:
    known = walk(noisy(low, low + wide), most)
    assert edges(known).low == min(low, most)
    if low + wide < most:
        assert edges(known).high == low + wide


@given(st.lists(st.sampled_from(["meets", "misses", "unclear"]), min_size=64, max_size=64))
def test_any_verdicts_come_to_an_end(verdicts: list[Verdict]) -> None:
    known = walk(lambda count: verdicts[count - 1], most=64)
    assert len(known) <= 64
    found = edges(known)
    assert found.high is None or found.high >= found.low
