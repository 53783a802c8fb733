"""When a group's calls begin, and how long a recorded call is."""

import random

import pytest

from loadsim.engine.arrivals import arrivals, length
from loadsim.scenario.units import Start
from tests.calls import CALL


@pytest.mark.parametrize(
    ("start", "begins"),
    [
        (Start("together"), [0, 0, 0, 0]),
        (Start("spread", 6), [0, 1.5, 3, 4.5]),
        (Start("call"), [0, 2.5, 5, 7.5]),  # of a call of 10 s
        (Start("at", 6), [6, 6, 6, 6]),
        (Start("at", 0), [0, 0, 0, 0]),
        (Start("every", 6), [6, 12, 18, 24]),
    ],
)
def test_calls_begin_as_the_group_says(start: Start, begins: list[float]) -> None:
    assert arrivals(start, 4, 10.0, random.Random(1)) == begins


def test_poisson_callers_come_one_by_one_after_waits_that_mean_what_was_asked() -> None:
    found = arrivals(Start("poisson", 5), 20_000, 10.0, random.Random(1))
    waits = [b - a for a, b in zip([0.0, *found], found, strict=False)]
    assert min(waits) > 0
    assert sum(waits) / len(waits) == pytest.approx(5, rel=0.03)
    # 1 / e of all waits is longer than the mean one
    assert sum(wait > 5 for wait in waits) / len(waits) == pytest.approx(0.368, abs=0.01)


def test_the_same_chance_brings_the_same_callers() -> None:
    one, same, other = (arrivals(Start("poisson", 5), 9, 10.0, random.Random(seed)) for seed in (1, 1, 2))
    assert one == same != other


@pytest.mark.parametrize(
    ("first", "last", "seconds"),
    [(1, 4, 14), (2, 4, 10), (4, 4, 3), (4, 5, 3), (5, 5, 0)],  # turn 5 is the fresh message, an instant
)
def test_a_call_lasts_from_its_first_word_to_the_agents_last(first: int, last: int, seconds: float) -> None:
    assert length(CALL, range(first, last + 1)) == seconds
