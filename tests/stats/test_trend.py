"""Trends, by hand and by formulas from outside the code."""

import math
import random

import pytest
from scipy import stats

from loadsim.stats.trend import Value, trend


def of(*rates: float, step: float = 60.0) -> list[Value]:
    return [Value(n * step, rate) for n, rate in enumerate(rates)]


def test_the_articles_two_ends() -> None:
    found = trend([Value(0.0, 218.6, (210.0, 218.6, 225.0)), Value(1440.0, 97.6, (95.0, 97.6, 99.0))])
    assert found is not None
    assert (found.first, found.last, found.n, found.first_at, found.last_at) == (218.6, 97.6, 2, 0, 1440)
    assert found.change == pytest.approx(-0.5535, abs=1e-4)
    assert found.low is not None
    assert found.high is not None
    assert found.low < -0.5535 < found.high < -0.5
    assert found.slope is not None
    # By hand: means of 217.87 and 97.2 tokens/s in 24 minutes, six samples.
    assert found.slope.per == pytest.approx((97.2 - 217.8667) / 24, rel=1e-4)
    assert found.slope.n == 6


def test_the_interval_of_two_values_is_welchs() -> None:
    first, last = (100.0, 104.0, 97.0, 101.0), (90.0, 95.0, 88.0)
    found = trend([Value(0.0, 100.5, first), Value(600.0, 90.0, last)])
    assert found is not None
    logs = [[math.log(rate) for rate in rates] for rates in (last, first)]
    interval = stats.ttest_ind(*logs, equal_var=False).confidence_interval(0.95)
    half = (interval.high - interval.low) / 2
    assert found.low == pytest.approx(90 / 100.5 * math.exp(-half) - 1)
    assert found.high == pytest.approx(90 / 100.5 * math.exp(half) - 1)


def test_a_steady_fall_has_no_noise_and_is_told_from_three_values_on() -> None:
    found = trend(of(100.0, 90.0, 81.0))
    assert found is not None
    assert (found.change, found.low, found.high) == pytest.approx((-0.19, -0.19, -0.19))


def test_two_single_values_tell_nothing_of_their_noise() -> None:
    found = trend(of(100.0, 50.0))
    assert found is not None
    assert found.change == pytest.approx(-0.5)
    assert (found.low, found.high) == (None, None)
    assert trend(of(100.0)) is None
    assert trend([]) is None


def test_noise_is_no_trend_in_nearly_all_of_many_draws() -> None:
    chance = random.Random(1)
    missed = 0
    for _ in range(500):
        found = trend(of(*(chance.gauss(100, 5) for _ in range(20))))
        assert found is not None
        assert found.low is not None
        assert found.high is not None
        missed += not found.low <= 0 <= found.high
    assert missed / 500 < 0.12  # 5 % are meant; the median of 19 steps is itself a draw


def test_a_sudden_fall_among_many_values_is_told() -> None:
    chance = random.Random(2)
    found = trend(of(200.0, *(chance.gauss(100, 2) for _ in range(10))))
    assert found is not None
    assert found.high is not None
    assert found.high < -0.4


def test_a_bad_last_moment_is_as_wide_as_its_neighbours_differ() -> None:
    """One burst of replies that all are slow, among values that jump by as much, is no fall."""
    rates = (100.0, 112.0, 95.0, 110.0, 99.0, 92.0)
    found = trend([Value(n * 60.0, rate, (rate * 0.999, rate, rate * 1.001)) for n, rate in enumerate(rates)])
    assert found is not None
    assert found.high is not None
    assert found.high > 0
