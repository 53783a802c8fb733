"""Intervals, against tables and closed forms."""

import math

import pytest

from loadsim.stats.interval import clean_trials, of_mean, of_share


def test_a_mean_has_students_interval() -> None:
    found = of_mean([1, 2, 3, 4, 5], 0.95)
    half = 2.776445 * math.sqrt(2.5) / math.sqrt(5)  # t of 4 degrees of freedom, from a table
    assert found.mid == 3
    assert (found.low, found.high) == pytest.approx((3 - half, 3 + half), rel=1e-6)
    assert of_mean([1, 2, 3], 0.99).high == pytest.approx(2 + 9.924843 / math.sqrt(3), rel=1e-6)


def test_one_value_has_no_ends_and_none_no_interval() -> None:
    assert of_mean([7.0], 0.95) == of_mean([7.0], 0.5)
    assert (of_mean([7.0], 0.95).low, of_mean([7.0], 0.95).high) == (-math.inf, math.inf)
    with pytest.raises(ValueError, match="needs a value"):
        of_mean([], 0.95)


def test_a_share_has_clopper_and_pearsons_interval() -> None:
    found = of_share(5, 100, 0.95)  # as R's binom.test(5, 100) prints it
    assert (found.mid, found.low, found.high) == pytest.approx((0.05, 0.01643188, 0.1128349), rel=1e-5)
    none, all_ = of_share(0, 300, 0.9), of_share(300, 300, 0.9)
    assert (none.low, none.high) == pytest.approx((0, 1 - 0.05 ** (1 / 300)))
    assert (all_.low, all_.high) == pytest.approx((0.05 ** (1 / 300), 1))


@pytest.mark.parametrize(("hits", "of"), [(0, 0), (3, 2), (-1, 2)])
def test_what_is_no_share(hits: int, of: int) -> None:
    with pytest.raises(ValueError, match="is no share"):
        of_share(hits, of, 0.95)


@pytest.mark.parametrize(("limit", "trials"), [(0.01, 300), (0.05, 60), (0.1, 30), (0.5, 6), (0.07, 43)])
def test_the_rule_of_three(limit: float, trials: int) -> None:
    assert clean_trials(limit) == trials
    assert of_share(0, clean_trials(limit), 0.9).high <= limit
