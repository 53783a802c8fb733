"""The slope of the first token, by hand and by formulas from outside the code."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from loadsim.stats.slope import growth, medians, slope
from loadsim.types import RequestRow
from tests.stats.rows import reply, row

T_2 = 4.302653  # Student's t, 97.5 %, 2 degrees of freedom, from the tables
T_1 = 12.70620  # 1 degree


def test_a_line_is_found_as_it_is() -> None:
    found = slope([(1, 0.25), (4, 0.40), (8, 0.60), (12, 0.80)])  # 50 ms a caller from 200 ms on
    assert found is not None
    assert (found.per, found.start, found.fit, found.n) == pytest.approx((0.05, 0.2, 1.0, 4))
    assert (found.low, found.high) == pytest.approx((0.05, 0.05))
    assert found.at(24) == pytest.approx(1.4)


def test_by_hand() -> None:
    # x 1, 1, 2, 2: mean 1.5, Sxx 1; y 3, 4, 5, 7: mean 4.75, Sxy 2.5, Syy 8.75; residuals -.5, .5, -1, 1: 2.5
    found = slope([(1, 3.0), (1, 4.0), (2, 5.0), (2, 7.0)])
    assert found is not None
    assert (found.per, found.start) == pytest.approx((2.5, 1.0))
    assert found.fit == pytest.approx(1 - 2.5 / 8.75)
    error = math.sqrt(2.5 / 2 / 1.0)
    assert (found.low, found.high) == pytest.approx((2.5 - T_2 * error, 2.5 + T_2 * error), rel=1e-6)
    three = slope([(1, 1.0), (2, 2.0), (3, 2.0)])  # residuals -1/6, 1/3, -1/6; Sxx 2
    assert three is not None
    assert three.high is not None
    assert three.high - three.per == pytest.approx(T_1 * math.sqrt((1 / 6) / 1 / 2), rel=1e-5)


def test_two_samples_have_no_interval() -> None:
    found = slope([(1, 0.1), (3, 0.3)])
    assert found is not None
    assert (found.low, found.high, found.n) == (None, None, 2)
    assert found.per == pytest.approx(0.1)


def test_what_does_not_grow_has_no_fit() -> None:
    found = slope([(1, 5.0), (2, 5.0), (3, 5.0)])
    assert found is not None
    assert (found.per, found.low, found.high, found.fit) == (0.0, 0.0, 0.0, None)


def test_one_number_of_callers_is_no_line() -> None:
    assert slope([]) is None
    assert slope([(4, 0.1)]) is None
    assert slope([(4, 0.1), (4, 0.2), (4, 0.3)]) is None


@given(st.lists(st.tuples(st.integers(1, 64), st.floats(0.001, 100)), min_size=3, max_size=30))
def test_as_numpys_least_squares(samples: list[tuple[int, float]]) -> None:
    found = slope(samples)
    if len({callers for callers, _ in samples}) < 2:
        assert found is None
        return
    assert found is not None
    per, start = np.polyfit(np.array([x for x, _ in samples]), np.array([y for _, y in samples]), 1)
    assert found.per == pytest.approx(per, rel=1e-6, abs=1e-6)
    assert found.start == pytest.approx(start, rel=1e-6, abs=1e-6)
    assert found.low is not None
    assert found.high is not None
    assert found.low <= found.per <= found.high


def test_a_repeats_median_is_a_sample() -> None:
    def burst(point: str, repeat: int, *first: float) -> list[RequestRow]:
        told = [{"headers_s": 10.0 + t / 4, "prompt_ms": 750 * t, "due_s": 9.0} for t in first]
        return [reply(10.0, t, t + 0.1, point=point, repeat=repeat, caller=i, **told[i]) for i, t in enumerate(first)]

    rows = [
        *burst("3", 1, 0.4, 0.2, 0.9),
        *burst("3", 2, 0.8, 0.2, 0.2),
        *burst("1", 1, 0.1),
        reply(10.0, 7.0, 7.1, point="1", caller=0, row="baseline", number=1, side="before"),  # no load
        reply(10.0, 7.0, 7.1, point="1", caller=0, outcome="superseded", attempt=1),
        reply(10.0, 7.0, 7.1, point="1", caller=0, turn=9, planned=False),  # not of the planned kind
    ]
    found = growth(rows)
    assert np.array(found.first_token) == pytest.approx(np.array([(1, 0.1), (3, 0.2), (3, 0.4)]))
    assert np.array(found.before_headers) == pytest.approx(np.array([(1, 0.025), (3, 0.05), (3, 0.1)]))
    assert np.array(found.prompt_eval) == pytest.approx(np.array([(1, 0.075), (3, 0.15), (3, 0.3)]))


def test_a_caller_who_failed_was_there_too() -> None:
    rows = [reply(10.0, 0.3, 0.4, caller=0), reply(10.0, caller=1, outcome="error")]
    assert [callers for callers, _ in growth(rows).first_token] == [2]


def test_what_the_server_does_not_tell_is_no_sample() -> None:
    found = growth([reply(10.0, 0.3, 0.4, headers_s=None, prompt_ms=None)])
    assert (found.before_headers, found.prompt_eval) == ([], [])
    assert len(found.first_token) == 1


def test_a_second_try_at_one_load_point_leaves_the_others_alone() -> None:
    """Rows are told apart by repeat, caller and turn: at two load points they are the same."""
    rows = [row(point="a", caller=0, attempt=1), row(point="b", caller=0), row(point="b", caller=1)]
    assert medians(rows, lambda each: 1.0) == [(1, 1.0), (2, 1.0)]
