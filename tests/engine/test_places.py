"""Which slots callers hold."""

import pytest

from loadsim.engine.places import places
from loadsim.scenario.model import Group
from loadsim.types import BadInput


def test_neighbours_take_the_lowest_slots_in_the_files_order() -> None:
    groups = {"warm": Group(count=2), "cold": Group(count=1, cache="cold")}
    assert places(groups, 12) == {"warm": (0, 1), "cold": (2,)}


def test_spread_callers_stand_apart_and_never_on_a_neighbours_slot() -> None:
    assert places({"warm": Group(count=6, slots="spread")}, 12) == {"warm": (0, 2, 4, 6, 8, 10)}
    both = places({"far": Group(count=3, slots="spread"), "near": Group(count=2)}, 8)
    assert both == {"far": (2, 4, 6), "near": (0, 1)}


def test_callers_that_the_server_places_are_warmed_in_slots_of_their_own() -> None:
    assert places({"warm": Group(count=3, slots="server")}, 3) == {"warm": (0, 1, 2)}


@pytest.mark.parametrize("slots", ["neighbours", "spread", "server"])
def test_too_few_slots_names_both_numbers(slots: str) -> None:
    groups = {"a": Group(count=3, slots=slots), "b": Group(count=2)}  # type: ignore[arg-type]
    with pytest.raises(BadInput, match=r"^5 callers need 5 slots; the server has 4: raise its -np or lower a count$"):
        places(groups, 4)


def test_a_server_that_tells_of_no_slots_is_asked_for_none() -> None:
    assert places({"a": Group(count=2)}, None) == {"a": (None, None)}


@pytest.mark.parametrize("count", range(1, 13))
def test_every_caller_has_a_slot_to_itself(count: int) -> None:
    (found,) = places({"a": Group(count=count, slots="spread")}, 12).values()
    assert len(set(found)) == count
