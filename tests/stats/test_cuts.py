"""Barge-ins, worked out on paper."""

from typing import Any

import pytest

from loadsim.stats.cuts import cuts
from tests.stats.rows import cut, row


def released(after: float | None, **fields: Any) -> dict[str, Any]:
    return {"event": "released", "point": "p", "group": "warm", "after_s": after} | fields


def test_what_was_cut_off_and_what_the_next_prompt_cost() -> None:
    rows = [
        row(turn=1, outcome="cut", cut=cut(11.0, 1.0, 30, closed=True)),
        row(turn=2, cut_tokens=30, kind="rewind", cache_n=9000, prompt_n=400, new_tokens=50, prompt_ms=300.0),
        row(turn=3, outcome="cut", cut=cut(11.0, 4.0, 10, closed=True)),
        row(turn=4, outcome="cut", cut=cut(11.0, 2.0, 0), cut_tokens=10, kind="rewind", cache_n=9100, prompt_n=500,
            new_tokens=70, prompt_ms=500.0),
        row(turn=5, cut_tokens=0, cache_n=9200, prompt_n=60, new_tokens=60, prompt_ms=100.0),
        row(turn=5, step=1, cache_n=9300, prompt_n=7, new_tokens=7, prompt_ms=9.0),  # a tool's result
        row(turn=6, prompt_ms=40.0),
        row(turn=6, outcome="superseded", prompt_ms=1.0),
        row(turn=7, outcome="error", prompt_ms=None),
    ]  # fmt: skip
    found = cuts(rows, [], "p", "warm")
    assert (found.turns, found.replies, found.closed, found.unheard) == (7, 3, 2, 40)
    assert found.after == 2.0
    after = found.next
    assert (after.rows, after.kinds) == (3, {"rewind": 2, "extension": 1})
    assert (after.cache_n, after.prompt_n, after.new_tokens, after.prompt_ms) == (9100, 400, 60, 300.0)
    others = found.others  # turns 1, 3 and 6
    assert (others.rows, others.kinds, others.cache_n) == (3, {"extension": 3}, 10_369)
    assert (others.prompt_n, others.new_tokens, others.prompt_ms) == (60, 60, 140.0)


def test_how_long_slots_stayed_busy_after_a_hang_up() -> None:
    events = [
        released(0.02), released(0.04), released(0.3), released(None), released(9.0, point="q"),
        released(9.0, group="b"), {"event": "client", "point": "p", "after_s": 9.0},
    ]  # fmt: skip
    found = cuts([row()], events, "p", "warm")
    assert (found.release.p50, found.release.max) == pytest.approx((0.04, 0.3))
    assert (found.released, found.unseen) == (3, 1)


def test_without_a_cut_nothing_is_known_of_one() -> None:
    found = cuts([row(cache_n=None)], [], "p", "warm")
    assert (found.replies, found.unheard, found.after, found.release.p50) == (0, 0, None, None)
    assert (found.next.rows, found.next.cache_n, found.others.cache_n) == (0, None, None)
