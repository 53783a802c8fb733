"""Times without a token, and what of them a caller met."""

from typing import Any

import pytest

from loadsim.stats.outages import outages

from .rows import alone, reply

LOST: dict[str, Any] = {"outcome": "error", "error": "cannot connect"}
OUT: dict[str, Any] = {"event": "outage", "point": "p", "repeat": 1, "since_s": 10.0, "said": "cannot connect"}
OVER = OUT | {"event": "outage over", "seconds": 40.0, "failed": 3}


def test_seconds_in_which_nobody_asked_are_told_apart() -> None:
    rows = [
        reply(8.0, end_s=12.0, **LOST),  # two seconds of it lie within
        reply(11.0, end_s=15.0, caller=1, **LOST),  # and three more, beside a second that counts once
        reply(30.0, end_s=31.0, **LOST),
        reply(48.0, 2.0, caller=1),  # served at last, at its end
        reply(20.0, end_s=29.0, repeat=2, **LOST),
    ]
    (found,) = outages([OUT, OVER], rows, "p")
    assert found.seconds == 40
    assert found.asked == pytest.approx(5 + 1 + 2)


def test_one_caller_alone_asks_too() -> None:
    """In a pause nobody of the load has a request under way, but one caller has."""
    rows = [reply(8.0, 1.0), alone(0, "during", 0.01, sent_s=20.0, end_s=26.0, outcome="timeout", call=1)]
    (found,) = outages([OUT, OVER], rows, "p")
    assert found.asked == pytest.approx(6)


def test_one_that_lasts_to_the_loads_end() -> None:
    (found,) = outages([OUT], [reply(9.0, end_s=19.0, **LOST), reply(25.0, end_s=26.5, **LOST)], "p")
    assert found.seconds is None
    assert found.asked == pytest.approx(9 + 1.5)
    assert outages([], [reply(9.0)], "p") == []
