"""Predicted and measured counts of hand-made rows."""

from typing import Any

import pytest

from loadsim.stats.counts import Counts, Tally, counts
from loadsim.types import RequestRow
from tests.stats.rows import row

WARM: dict[str, Any] = {"turns": [76, 76], "warm_tokens": 10_369, "first_tokens": 10_464, "expects": ["extension"]}
COLD: dict[str, Any] = {"turns": [76, 76], "warm_tokens": 0, "first_tokens": 10_473, "expects": ["cold"]}


def asked(caller: int, **fields: Any) -> RequestRow:
    plain: dict[str, Any] = {"turn": 76, "slot": caller, "served": caller, "cache_n": 10_369, "prompt_n": 95}
    return row(caller=caller, **plain | {"max_tokens": 5, "predicted_n": 5} | fields)


def test_what_was_planned_and_came() -> None:
    found = counts([asked(i) for i in range(12)], [WARM], fixed=True, slots_told=True)
    assert found == Counts(
        requests=12,
        prompt=Tally(12 * 10_464, 125_568),
        reused=Tally(12 * 10_369, 124_428),
        evaluated=Tally(12 * 95, 1140),
        reply=Tally(60, 60),
        stamped=Tally(60, 60),
        slots=Tally(12, 12),
        off=0,
    )
    assert found.agree


@pytest.mark.parametrize(
    ("fields", "differs"),
    [
        ({"prompt_n": 96}, "prompt"),
        ({"cache_n": 10_368, "prompt_n": 96}, "reused"),
        ({"predicted_n": 4}, "reply"),
        ({"token_s": [0.1]}, "stamped"),
        ({"served": 0}, "slots"),
    ],
)
def test_one_request_of_twelve_that_differs(fields: dict[str, Any], differs: str) -> None:
    found = counts([*(asked(i) for i in range(11)), asked(11, **fields)], [WARM], fixed=True, slots_told=True)
    tally: Tally = getattr(found, differs)
    assert tally.agrees is False
    assert not found.agree


def test_two_errors_make_no_right_sum() -> None:
    found = counts([asked(0, prompt_n=94), asked(1, prompt_n=96)], [WARM], fixed=True, slots_told=True)
    assert found.prompt.agrees
    assert (found.off, found.agree) == (2, False)
    swapped = counts([asked(0, served=1), asked(1, served=0)], [WARM], fixed=True, slots_told=True)
    assert swapped.slots.agrees
    assert (swapped.off, swapped.agree) == (2, False)


def test_cold_prompts() -> None:
    found = counts([asked(0, kind="cold", cache_n=3, prompt_n=10_470)], [COLD], fixed=True, slots_told=True)
    assert found.agree  # the three tokens are the template's opening
    warm = counts([asked(0, kind="rewind", cache_n=300, prompt_n=10_173)], [COLD], fixed=True, slots_told=True)
    assert (warm.prompt.agrees, warm.reused) == (True, Tally(None, 300))


def test_callers_take_recordings_in_turn() -> None:
    other = WARM | {"warm_tokens": 900, "first_tokens": 1000, "turns": [9, 9]}
    rows = [asked(0), asked(1, turn=9, cache_n=900, prompt_n=100)]
    found = counts(rows, [WARM, other], fixed=True, slots_told=True)
    assert (found.prompt, found.agree) == (Tally(11_464, 11_464), True)


def test_only_first_prompts_that_were_answered_whole_are_held_against_their_count() -> None:
    rows = [
        asked(0),
        asked(1, turn=77, prompt_n=5),
        asked(2, step=1, prompt_n=5),
        asked(3, outcome="error", prompt_n=5),
        asked(0, outcome="superseded", attempt=1, prompt_n=5),
        asked(5, row="warm", prompt_n=5),
    ]
    found = counts(rows, [WARM], fixed=True, slots_told=True)
    assert (found.requests, found.prompt, found.off) == (1, Tally(10_464, 10_464), 0)


def test_what_nobody_tells_is_not_held_against_anything() -> None:
    untold = asked(0, cache_n=None, prompt_n=None, predicted_n=None, served=None, slot=None)
    found = counts([untold], [WARM], fixed=True, slots_told=True)
    nothing = Tally(None, None)
    assert (found.prompt, found.reused, found.evaluated, found.slots) == (nothing,) * 4
    assert not found.agree
    assert counts([asked(0)], [WARM], fixed=False, slots_told=True).reply == Tally(None, 5)
    chosen = counts([asked(0, slot=None)], [WARM], fixed=True, slots_told=True)
    assert chosen.slots == Tally(None, 1)  # the server chose
    again = counts([asked(0, call=1)], [WARM], fixed=True, slots_told=True)
    assert again.reused == Tally(None, 10_369)  # nobody can tell what the call before left in the slot
    assert counts([asked(0)], [WARM], fixed=True, slots_told=False).slots == Tally(1, None)
    uncounted = WARM | {"first_tokens": None, "warm_tokens": None}
    assert counts([asked(0)], [uncounted], fixed=True, slots_told=True).prompt == Tally(None, 10_464)
    assert counts([], [], fixed=True, slots_told=True).agree is False
