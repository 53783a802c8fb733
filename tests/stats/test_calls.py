"""How calls ended."""

import pytest

from loadsim.stats.calls import calls
from tests.stats.rows import call


def test_calls_of_a_point_and_of_a_group() -> None:
    events = [
        call(10, 10, "ended"), call(10, 4, "failed"), call(10, 6, "hung_up"), call(10, 7, "time"),
        call(5, 5, "ended", group="cold"), call(5, 0, "failed", point="q"), {"event": "phase", "point": "p"},
    ]  # fmt: skip
    found = calls(events, "p")
    assert found is not None
    assert found.ended == {"ended": 2, "failed": 1, "hung_up": 1, "time": 1}
    assert (found.planned, found.said, found.failed) == (42, 32, 6)  # the time was over after seven turns
    assert found.error_rate == 6 / 42
    group = calls(events, "p", "cold")
    assert group is not None
    assert (group.ended, group.planned, group.error_rate) == ({"ended": 1}, 5, 0.0)


def test_who_calls_again_after_an_error_has_lost_one_turn() -> None:
    often = [call(74, 24, "time", again=True, caller=n) for n in (1, 2)]
    found = calls([call(74, 2, "failed", again=True), *often], "p")
    assert found is not None
    assert (found.planned, found.said, found.failed) == (51, 50, 1)
    never = calls([call(74, 0, "failed", again=True, call=n) for n in range(3)], "p")
    assert never is not None
    assert never.error_rate == 1


def test_runs_of_old_tell_nothing_of_calls() -> None:
    assert calls([{"event": "client", "point": "p"}], "p") is None
    assert calls([call(1, 1, "ended")], "q") is None


@pytest.mark.parametrize("why", ["time", "left", "stopped"])
def test_of_a_call_that_was_not_to_go_on_only_what_it_came_to_is_planned(why: str) -> None:
    found = calls([call(74, 10, why), call(74, 74, "ended")], "p")
    assert found is not None
    assert (found.planned, found.said, found.error_rate) == (84, 84, 0)
