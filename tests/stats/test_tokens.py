import math
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loadsim.stats.tokens import decode_rate, gaps, median_gap_rate, percentile, stall, window_rate

# Arrivals as rows hold them: whole microseconds, ascending, tokens of one read equal.
ARRIVALS = st.lists(st.integers(0, 10_000_000), max_size=60).map(lambda us: [t / 1e6 for t in sorted(us)])
VALUES = st.lists(st.floats(-1e9, 1e9), min_size=1, max_size=60)


def test_every_token_after_the_first_has_the_time_since_the_one_before() -> None:
    assert gaps([1.0, 1.25, 2.0, 2.5]).tolist() == [0.25, 0.75, 0.5]


def test_tokens_of_one_read_share_the_wait_for_it() -> None:
    assert gaps([0.0, 0.5, 1.25, 1.25, 1.25, 1.5]).tolist() == [0.5, 0.25, 0.25, 0.25, 0.25]


def test_tokens_of_the_first_read_give_no_gap() -> None:
    assert gaps([1.0, 1.0, 1.0, 1.5]).tolist() == [0.5]
    assert gaps([1.0, 1.0]).tolist() == []
    assert gaps([1.0]).tolist() == []
    assert gaps([]).tolist() == []


@given(ARRIVALS)
def test_gaps_are_one_per_token_after_the_first_read_and_add_up_to_the_span(token_s: list[float]) -> None:
    samples = gaps(token_s)
    assert len(samples) == sum(t > token_s[0] for t in token_s)
    assert all(samples > 0)
    assert math.isclose(sum(samples), token_s[-1] - token_s[0] if token_s else 0, abs_tol=1e-9)


def test_decode_rate_leaves_out_the_first_read() -> None:
    assert decode_rate([1.0, 1.0, 1.5, 2.0, 3.0]) == 1.5  # 3 tokens in 2 s
    assert decode_rate([0.0, 0.1, 0.2]) == 10.0


@pytest.mark.parametrize("token_s", [[], [1.0], [1.0, 1.0, 1.0]])
def test_there_is_no_rate_without_a_span(token_s: list[float]) -> None:
    assert decode_rate(token_s) is None
    assert median_gap_rate(token_s) is None


def test_a_stall_moves_the_mean_rate_but_not_the_median_one() -> None:
    token_s = [0.0, 0.25, 0.5, 0.75, 4.75, 5.0]
    assert median_gap_rate(token_s) == 4.0
    assert decode_rate(token_s) == 1.0


def test_the_median_of_an_even_number_of_gaps_is_between_the_middle_ones() -> None:
    assert median_gap_rate([0.0, 4.0, 5.0, 7.0, 15.0]) == 1 / 3  # gaps of 1, 2, 4 and 8
    assert median_gap_rate([0.0, 1.0, 4.0]) == 1 / 2


@given(ARRIVALS)
def test_the_mean_gap_is_the_decode_rate_upside_down(token_s: list[float]) -> None:
    rate = decode_rate(token_s)
    assert (rate is None) == (not len(gaps(token_s)))
    if rate is not None:
        assert math.isclose(gaps(token_s).mean(), 1 / rate, rel_tol=1e-9)


@pytest.mark.parametrize(
    ("q", "expected"),
    [(0, 1), (1, 1), (8, 1), (9, 2), (50, 6), (51, 7), (90, 11), (95, 12), (99, 12), (100, 12)],
)
def test_a_percentile_is_a_value_that_occurred(q: float, expected: float) -> None:
    assert percentile([7, 3, 12, 1, 10, 5, 8, 2, 11, 4, 6, 9], q) == expected


@pytest.mark.parametrize(("n", "q", "expected"), [(100, 7, 7), (25, 28, 7), (100, 55, 55), (1000, 99.9, 999)])
def test_a_whole_rank_is_not_rounded_up(n: int, q: float, expected: float) -> None:
    assert percentile(list(range(1, n + 1)), q) == expected


@given(VALUES, st.integers(0, 1000))
def test_percentile_is_the_smallest_value_with_enough_at_or_below_it(values: list[float], tenths: int) -> None:
    q = Fraction(tenths, 10)
    enough = [v for v in values if Fraction(sum(w <= v for w in values), len(values)) * 100 >= q]
    assert percentile(values, float(q)) == min(enough)


@given(VALUES.flatmap(lambda v: st.tuples(st.just(v), st.permutations(v))), st.floats(0, 100))
def test_percentile_does_not_depend_on_the_order(both: tuple[list[float], list[float]], q: float) -> None:
    assert percentile(both[0], q) == percentile(both[1], q)


def test_nothing_has_no_percentile() -> None:
    assert percentile([], 50) is None


@pytest.mark.parametrize("q", [-1, 100.5, math.nan])
def test_a_percentile_is_within_0_to_100(q: float) -> None:
    with pytest.raises(ValueError, match="within 0 to 100"):
        percentile([1.0], q)


def test_only_the_window_where_all_speak_is_counted() -> None:
    replies = [
        [1.0, 2.0, 3.0, 4.0, 5.0],  # 3, 4 count
        [2.0, 2.5, 3.5, 4.0],  # 2.5, 3.5 and 4 count, the window's last
        [1.5, 2.0, 2.75, 9.0],  # 2.75 counts; 2 is the window's start
    ]
    assert window_rate(replies) == 6 / 2.0


def test_one_reply_alone_has_its_decode_rate() -> None:
    assert window_rate([[1.0, 1.0, 1.5, 2.0, 3.0]]) == 1.5


@pytest.mark.parametrize(
    "replies",
    [
        pytest.param([], id="nobody"),
        pytest.param([[1.0, 2.0], []], id="one never speaks"),
        pytest.param([[1.0, 2.0], [3.0, 4.0]], id="one after the other"),
        pytest.param([[1.0, 2.0], [2.0, 4.0]], id="only touching"),
    ],
)
def test_without_a_common_window_there_is_no_rate(replies: list[list[float]]) -> None:
    assert window_rate(replies) is None


@given(st.lists(ARRIVALS, max_size=5))
def test_a_window_has_a_token_of_its_own_end(replies: list[list[float]]) -> None:
    rate = window_rate(replies)
    assert rate is None or rate > 0


def test_the_largest_gap_of_a_reply() -> None:
    assert stall([0.1, 0.2, 0.5, 0.6]) == pytest.approx(0.3)
    assert stall([0.1, 0.4, 0.4, 0.4]) == pytest.approx(0.1)  # three tokens that came in one read share their wait
    assert stall([0.1, 0.1]) is None
    assert stall([]) is None
