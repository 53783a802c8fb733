"""Requests per turn, worked out on paper."""

from loadsim.stats.requests import requests
from tests.stats.rows import row


def test_every_request_is_counted_once() -> None:
    rows = [
        row(turn=1, outcome="superseded"),
        row(turn=1, attempt=1, outcome="superseded"),
        row(turn=1, attempt=2),  # the turn's own request, no retry
        row(turn=2, outcome="timeout"),
        row(turn=2, attempt=1, misses=1),
        row(turn=2, step=1, outcome="error"),
        row(turn=2, step=1, attempt=1, misses=2),
        row(turn=2, step=2),
        row(turn=3, outcome="empty"),
        row(turn=4, outcome="cut"),
        row(turn=1, caller=1, outcome="error"),  # the call broke off
        row(turn=1, caller=2, outcome="cut", abandoned=True),
        row(turn=1, caller=2, call=1),
    ]
    found = requests(rows)
    assert (found.requests, found.said) == (13, 5)  # turns 1 to 4 of one caller, and one of the last caller's
    assert (found.superseded, found.retries, found.steps) == (2, 2, 2)
    assert found.lost == 2  # 13 - 2 - 2 - 2 is the seven turns that were begun
    assert (found.empty, found.misses, found.abandoned) == (1, 3, 1)
    assert found.per_turn == 13 / 5


def test_a_turn_is_said_once_its_last_request_is_answered() -> None:
    assert requests([row(), row(step=1, outcome="error")]).said == 0
    assert requests([row(attempt=1), row(outcome="error")]).said == 1
    assert requests([row(outcome="error")]).per_turn is None
    assert requests([row(turn=1), row(turn=2)]).per_turn == 1.0
