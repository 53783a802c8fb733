"""Erlang's formulas against published values, and what must hold for any traffic."""

import math
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from loadsim.stats.erlang import (
    at_once,
    erlang_b,
    erlang_c,
    erlangs_for,
    fixed,
    mean_wait,
    on_the_line,
    or_more,
    slots_for,
    usual,
)

# Erlang B tables as they stand in textbooks: the traffic that so many trunks carry at so much blocking.
TABLE = [
    (2, 0.01, 0.153), (5, 0.01, 1.361), (10, 0.01, 4.461), (12, 0.01, 5.876), (21, 0.01, 12.838), (22, 0.01, 13.651),
    (24, 0.01, 15.295), (100, 0.01, 84.064), (10, 0.001, 3.092), (10, 0.02, 5.084), (10, 0.05, 6.216),
    (20, 0.02, 13.182), (50, 0.02, 40.255),
]  # fmt: skip

# T. S. Rappaport, Wireless Communications (2nd ed.), table 3.4, to three figures: erlangs at 1, 0.5, 0.2 and 0.1 %.
RAPPAPORT = {
    2: (0.153, 0.105, 0.065, 0.046),
    4: (0.869, 0.701, 0.535, 0.439),
    5: (1.36, 1.13, 0.900, 0.762),
    10: (4.46, 3.96, 3.43, 3.09),
    20: (12.0, 11.1, 10.1, 9.41),
    24: (15.3, 14.2, 13.0, 12.2),
    40: (29.0, 27.3, 25.7, 24.5),
    70: (56.1, 53.7, 51.0, 49.2),
    100: (84.1, 80.9, 77.4, 75.2),
}


@pytest.mark.parametrize(("slots", "blocking", "erlangs"), TABLE)
def test_erlang_b_is_the_published_table(slots: int, blocking: float, erlangs: float) -> None:
    assert erlangs_for(slots, blocking) == pytest.approx(erlangs, abs=6e-4)
    assert erlang_b(slots, erlangs) == pytest.approx(blocking, rel=0.005)


@pytest.mark.parametrize("slots", RAPPAPORT)
def test_erlang_b_is_rappaports_table(slots: int) -> None:
    for blocking, erlangs in zip((0.01, 0.005, 0.002, 0.001), RAPPAPORT[slots], strict=True):
        assert erlangs_for(slots, blocking) == pytest.approx(erlangs, rel=0.005, abs=6e-4)


@pytest.mark.parametrize(
    ("erlangs", "blocking", "slots"),
    [
        (1200 * 100 / 3600, 0.01, 45),  # erlang.com's answer to 33.333 erlangs in its forum, 2001
        (17, 0.01, 27),  # a student's exercise on the erlang-questions list, 2002
        (13.5, 0.01, 22),  # between the table's 12.838 of 21 and 13.651 of 22
        (0.001, 0.01, 1),
        (5.0, 1.0, 0),
    ],
)
def test_slots_for_a_blocking(erlangs: float, blocking: float, slots: int) -> None:
    assert slots_for(erlangs, blocking) == slots


def test_the_inverse_of_a_calculator() -> None:
    assert erlangs_for(15, 0.01) == pytest.approx(8.108, abs=5e-4)  # the example of erlang.com's manual


# N, A and the share that waits. The R package ErlangC 0.1.0 prints the first two in its README, the Python package
# erlang tests the next two; the rest are fractions: C(2, 1) = 1/3, C(3, 2) = 4/9, C(5, 4) = 128/231.
WAITS = [
    (11, 10, 0.6821182), (14, 10, 0.1741319), (132, 123, 0.3211), (12421, 12345, 0.3812),
    (1, 0.25, 0.25), (2, 1, 1 / 3), (3, 2, 4 / 9), (5, 4, 128 / 231),
]  # fmt: skip


@pytest.mark.parametrize(("slots", "erlangs", "waits"), WAITS)
def test_erlang_c_is_what_others_publish(slots: int, erlangs: float, waits: float) -> None:
    assert erlang_c(slots, erlangs) == pytest.approx(waits, abs=5e-5)


def test_the_mean_wait_is_what_others_publish() -> None:
    wait = mean_wait(14, 10, 180)
    assert wait == pytest.approx(7.83593701177724, rel=1e-12)  # average_speed_of_answer of R's ErlangC 0.1.0
    assert mean_wait(1, 0.5, 60) == pytest.approx(60)  # M/M/1: rho / (1 - rho) services


def test_a_queue_that_never_ends() -> None:
    assert erlang_c(12, 13.5) == erlang_c(12, 12) == 1.0
    assert mean_wait(12, 12, 270) is None
    assert erlang_b(0, 3) == 1.0


def test_a_thousand_slots_keep_their_digits() -> None:
    # log B = A's log terms less their sum, with the terms' logs from lgamma: another way to the same figure.
    logs = [k * math.log(900) - math.lgamma(k + 1) for k in range(1001)]
    exact = math.exp(logs[-1] - max(logs)) / math.fsum(math.exp(one - max(logs)) for one in logs)
    assert erlang_b(1000, 900) == pytest.approx(exact, rel=1e-9)
    assert erlang_b(1000, 900) == pytest.approx(5.93e-5, abs=5e-8)
    assert on_the_line(1000, 900)[-1] == pytest.approx(exact, rel=1e-9)
    assert erlang_b(1000, 1e-300) == 0.0
    assert erlang_b(3, 1e300) == 1.0


def test_callers_served_at_once_are_a_binomial() -> None:
    found = at_once(fixed(12), 0.137)
    for k in range(13):
        assert found[k] == pytest.approx(math.comb(12, k) * 0.137**k * 0.863 ** (12 - k), abs=1e-15)
    assert at_once(fixed(3), 0.0).tolist() == [1, 0, 0, 0]
    assert at_once(fixed(3), 1.0).tolist() == [0, 0, 0, 1]


def test_callers_of_an_unlimited_number_are_poisson() -> None:
    """Thinned Poisson is Poisson: 2 erlangs on slots that are never full, each served for a quarter of its call."""
    found = at_once(on_the_line(60, 2.0), 0.25)
    for k in range(8):
        assert found[k] == pytest.approx(math.exp(-0.5) * 0.5**k / math.factorial(k), rel=1e-9)


def test_nobody_calls() -> None:
    assert on_the_line(4, 0.0).tolist() == [1, 0, 0, 0, 0]


def test_or_more_and_usual_by_hand() -> None:
    chances = [0.5, 0.3, 0.15, 0.05]
    assert or_more(chances).tolist() == pytest.approx([1.0, 0.5, 0.2, 0.05])
    assert usual(chances) == 2
    assert usual([0.3, 0.35, 0.2, 0.1, 0.05]) == 3  # 0.95, but for the floats, which add up to less
    assert usual(chances, 0.96) == 3
    assert usual(chances, 0.5) == 0


traffics = st.floats(0, 500, allow_nan=False)


@given(st.integers(1, 300), traffics)
def test_what_holds_for_any_traffic(slots: int, erlangs: float) -> None:
    blocked = erlang_b(slots, erlangs)
    assert 0 <= blocked <= 1
    assert blocked <= erlang_b(slots - 1, erlangs)  # a slot more refuses no more
    assert blocked <= erlang_b(slots, erlangs + 1)  # a call more is refused no less
    assert blocked - 1e-12 <= erlang_c(slots, erlangs) <= 1  # who waits was not sent away
    line = on_the_line(slots, erlangs)
    assert line.sum() == pytest.approx(1)
    assert line[-1] == pytest.approx(blocked, abs=1e-12)
    assert float(line @ np.arange(slots + 1)) == pytest.approx(erlangs * (1 - blocked))  # what is carried
    assert all(a * erlangs == pytest.approx(b * k) for k, (a, b) in enumerate(pairwise(line), 1))  # in equilibrium


@given(st.integers(1, 200), st.floats(0.0001, 0.9))
@settings(max_examples=50)
def test_the_inverses_agree(slots: int, blocking: float) -> None:
    most = erlangs_for(slots, blocking)
    assert erlang_b(slots, most) <= blocking < erlang_b(slots, most * (1 + 1e-9))
    assert slots_for(most, blocking) == slots


@given(st.integers(0, 60), st.floats(0, 1), traffics)
def test_callers_served_at_once_for_any_share(calls: int, share: float, erlangs: float) -> None:
    for up in (fixed(calls), on_the_line(calls, erlangs)):
        found = at_once(up, share)
        assert found.sum() == pytest.approx(1)
        of = np.arange(calls + 1)
        assert float(found @ of) == pytest.approx(share * float(up @ of), abs=1e-9)
        assert usual(found) <= usual(up)
