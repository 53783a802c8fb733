"""A closed loop, worked out on paper: two callers, replies of half a second, one after the other."""

import pytest

from loadsim.stats.loop import loop
from loadsim.types import RequestRow
from tests.stats.rows import reply


def asks(caller: int, *sent: float, **fields: object) -> list[RequestRow]:
    """Replies of four tokens, the last one half a second after the request."""
    plain: dict[str, object] = {"caller": caller, "kind": "cold", "cache_n": 0, "prompt_n": 256}
    return [reply(t, 0.2, 0.3, 0.4, 0.5, **plain | fields) for t in sent]


def test_the_time_in_which_all_are_in_the_loop() -> None:
    # From 10.25, when the second caller comes, to 12.0, when the first one's last reply ends.
    rows = [*asks(0, 10.0, 10.5, 11.0, 11.5), *asks(1, 10.25, 10.75, 11.25, 11.75)]
    found = loop(rows)
    assert found is not None
    assert found.seconds == pytest.approx(1.75)
    assert found.requests == 7  # all but the second caller's last
    assert found.per_second == pytest.approx(7 / 1.75)
    # of the first caller's 16 tokens one came before 10.25; of the second's 16 two after 12: at 12.05, 12.15, 12.25
    assert found.tokens_per_second == pytest.approx((16 - 1 + 16 - 3) / 1.75)
    assert found.prompt_per_second == pytest.approx(7 * 256 / 1.75)
    assert found.in_flight == pytest.approx(2.0)
    assert (found.latency.p50, found.latency.max) == pytest.approx((0.5, 0.5))


def test_what_is_over_before_all_are_in_takes_nothing_away() -> None:
    found = loop([*asks(0, 10.0, 10.5, 11.0, 11.5), *asks(1, 11.0, 11.5, 12.0, 12.5)])
    assert found is not None
    assert found.seconds == pytest.approx(1.0)  # from 11 to 12
    assert found.in_flight == pytest.approx(2.0)


def test_who_idles_is_not_in_flight() -> None:
    found = loop(asks(0, 10.0, 11.0, 12.0))  # half a second of work, half a second of nothing
    assert found is not None
    assert found.seconds == pytest.approx(2.5)
    assert found.in_flight == pytest.approx(1.5 / 2.5)


def test_repeats_are_summed() -> None:
    rows = [*asks(0, 10.0, 10.5), *asks(0, 100.0, 100.5, repeat=2)]
    found = loop(rows)
    assert found is not None
    assert (found.seconds, found.requests) == pytest.approx((2.0, 4))
    assert found.in_flight == pytest.approx(1.0)


def test_what_failed_takes_time_and_counts_for_nothing() -> None:
    failed = reply(10.5, outcome="error", caller=0, end_s=11.25)
    found = loop([*asks(0, 10.0), failed, *asks(0, 11.25)])
    assert found is not None
    assert (found.seconds, found.requests) == pytest.approx((1.75, 2))
    assert found.in_flight == pytest.approx(1.0)
    assert found.latency.max == pytest.approx(0.5)


def test_who_never_meets_is_in_no_loop() -> None:
    assert loop([]) is None
    assert loop([*asks(0, 10.0), *asks(1, 20.0)]) is None
    assert loop(asks(0, 10.0, row="warm")) is None
    met = loop([*asks(0, 10.0), *asks(1, 20.0), *asks(0, 30.0, repeat=2)])
    assert met is not None
    assert met.seconds == pytest.approx(0.5)
