"""Who is on calls, phase by phase."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loadsim.engine.phases import begins, phase_at, stays
from loadsim.scenario.model import Phase
from loadsim.scenario.units import Duration


def phase(name: str, seconds: float, callers: int | list[int]) -> Phase:
    return Phase(name=name, for_=Duration(seconds), callers=callers)


DAY = [
    phase("warm-up", 120, 4),
    phase("ramp", 600, [4, 12]),
    phase("spike", 60, 24),
    phase("recovery", 300, 12),
]


def test_a_caller_is_on_calls_while_the_count_is_above_it() -> None:
    assert stays(DAY, 0) == [(0, 1080)]
    assert stays(DAY, 3) == [(0, 1080)]
    assert stays(DAY, 11) == [(682.5, 1080)]  # the eighth of eight who join in 600 s: 120 + 600 * 15/16
    assert stays(DAY, 12) == [(720, 780)]
    assert stays(DAY, 23) == [(720, 780)]
    assert stays(DAY, 24) == []


def test_those_who_join_on_a_ramp_do_so_evenly() -> None:
    joins = [stays(DAY, number)[0][0] for number in range(4, 12)]
    assert joins == [120 + 37.5 + 75 * i for i in range(8)]


def test_a_ramp_down_is_left_last_come_first_gone() -> None:
    down = [phase("down", 100, [2, 0]), phase("up", 100, [0, 2])]
    assert stays(down, 1) == [(0, 25), (175, 200)]
    assert stays(down, 0) == [(0, 75), (125, 200)]


def test_a_time_scale_divides_all_of_it() -> None:
    assert stays(DAY, 12, 10) == [(72, 78)]
    assert begins(DAY, 10) == [0, 12, 72, 78]


@pytest.mark.parametrize(
    ("t", "name"), [(0, "warm-up"), (119.9, "warm-up"), (120, "ramp"), (720, "spike"), (9e9, "recovery")]
)
def test_the_phase_of_a_moment(t: float, name: str) -> None:
    found = phase_at(DAY, t)
    assert found is not None
    assert found.name == name
    assert phase_at([], t) is None


@given(
    st.lists(
        st.tuples(st.integers(1, 100), st.integers(0, 9) | st.tuples(st.integers(0, 9), st.integers(0, 9)).map(list)),
        min_size=1,
        max_size=5,
    ),
    st.floats(0, 1),
)
def test_so_many_are_on_calls_as_the_line_says(drawn: list[tuple[int, int | list[int]]], where: float) -> None:
    phases = [phase(str(i), seconds, callers) for i, (seconds, callers) in enumerate(drawn)]
    t = where * sum(seconds for seconds, _ in drawn)
    at = 0.0
    for each in phases:
        if t < at + each.for_ or each is phases[-1]:
            first, last = each.ends
            line = first + (last - first) * min((t - at) / each.for_, 1.0)
            break
        at += each.for_
    on = sum(any(start <= t < end for start, end in stays(phases, number)) for number in range(10))
    assert abs(on - line) <= 0.5 + 1e-9 or t >= at + each.for_
