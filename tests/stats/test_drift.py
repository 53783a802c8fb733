"""One caller alone in the course of a run."""

import pytest

from loadsim.stats.drift import alone, change, course
from tests.stats.rows import alone as one
from tests.stats.rows import reply


def test_sides_stand_in_the_order_in_which_they_were_measured() -> None:
    rows = [
        *(one(i, "after", 0.020, sent_s=900.0 + i, first_token_s=900.4 + i) for i in range(3)),
        *(one(i, "before", 0.010, sent_s=10.0 + i, first_token_s=10.1 + i) for i in range(3)),
        *(one(i, "before", 0.040, sent_s=1500.0 + i, point="q", repeat=2) for i in range(3)),
        reply(100.0, 0.1, 0.2),
    ]
    first, second, last = alone(rows)
    assert (first.point, first.repeat, first.side, first.at, first.replies) == ("p", 1, "before", 11.0, 2)  # not no. 0
    assert (first.decode, first.slowest, first.first_token) == pytest.approx((100.0, 100.0, 0.1))
    assert (second.side, last.point, last.repeat) == ("after", "q", 2)
    assert (second.decode, second.first_token, last.decode) == pytest.approx((50.0, 0.4, 25.0))
    assert change([first, second, last]) == pytest.approx(-0.75)


def test_each_pause_within_a_load_is_a_time_of_its_own() -> None:
    rows = [
        one(i, "during", step, sent_s=t + i, end_s=t + i + 0.5, call=n)
        for n, t, step in ((1, 300.0, 0.01), (2, 600.0, 0.02))
        for i in range(3)
    ]
    first, last = alone(rows)
    assert (first.side, first.at, first.until, last.at, last.until) == ("during", 301.0, 302.5, 601.0, 602.5)
    assert first.rates == pytest.approx((100.0, 100.0))
    assert last.rates == pytest.approx((50.0, 50.0))
    assert last.own == pytest.approx(50.0)  # 20 ms a token, by the rows' server's clock


def test_the_articles_card() -> None:
    rows = [one(1, "before", 1 / 218.6, sent_s=0.0), one(1, "after", 1 / 97.6, sent_s=1440.0)]
    assert change(alone(rows)) == pytest.approx(-0.55, abs=0.005)  # 218.6 to 97.6 tokens/s: "fell 55 %"


def test_medians_and_the_slowest() -> None:
    (found,) = alone([one(i, "before", step, sent_s=0.0) for i, step in ((1, 0.01), (2, 0.02), (3, 0.05))])
    assert (found.decode, found.slowest, found.replies) == pytest.approx((50.0, 20.0, 3))


def test_less_than_two_sides_do_not_drift() -> None:
    assert change([]) is None
    assert change(alone([one(1, "before", 0.01)])) is None
    silent = one(1, "after", 0.01, sent_s=20.0)
    silent.token_s = silent.token_s[:1]
    assert change(alone([one(1, "before", 0.01), silent])) is None  # a reply of one token has no rate


def test_the_course_of_the_load() -> None:
    rows = [
        reply(0.0, 1.0, 2.0),  # ends at 2
        reply(0.0, 1.0, 1.5),
        reply(28.0, 1.0, 1.1, caller=1),  # ends at 29.1
        reply(28.0, 1.0, 1.1, caller=2, planned=False),
        one(1, "after", 0.01, sent_s=5.0),
    ]
    early, late = course(rows, 10.0)
    assert (early.at, early.replies, early.decode) == pytest.approx((5.0, 2, 1.5))
    assert (late.at, late.replies, late.decode) == pytest.approx((25.0, 1, 10.0))
