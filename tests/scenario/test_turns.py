from typing import Literal

import pytest

from loadsim.scenario.turns import parse_turns


@pytest.mark.parametrize(
    ("text", "cache", "turns"),
    [
        ("last", "warm", [76]),
        ("last", "cold", [76]),
        ("last 1", "warm", [76]),
        ("last 3", "warm", [74, 75, 76]),
        ("last 75", "warm", list(range(2, 77))),
        ("last 76", "cold", list(range(1, 77))),
        ("40", "warm", [40]),
        ("40-42", "warm", [40, 41, 42]),
        ("74-75", "warm", [74, 75]),
        ("1", "cold", [1]),
        ("1-3", "cold", [1, 2, 3]),
        ("2", "warm", [2]),
        ("all", "cold", list(range(1, 76))),
        ("all", "warm", list(range(2, 76))),
    ],
)
def test_turns_of_a_call_of_75(text: str, cache: Literal["warm", "cold"], turns: list[int]) -> None:
    assert list(parse_turns(text, 75, cache)) == turns


@pytest.mark.parametrize(
    ("text", "cache", "error"),
    [
        ("76", "warm", "turns 76 are not all in the recording, which has turns 1-75"),
        ("74-76", "cold", "turns 74-76 are not all in the recording, which has turns 1-75"),
        ("last 76", "warm", "turns last 76 begin before turn 2 of the recording, which has turns 1-75"),
        ("last 77", "cold", "turns last 77 begin before turn 1 of the recording, which has turns 1-75"),
        ("last 0", "warm", "expected last, last 3, all, a turn such as 40, or turns such as 40-42; got 'last 0'"),
        ("42-40", "warm", "the first turn is after the last one; got '42-40'"),
        ("0", "cold", "turns are counted from 1; got '0'"),
        ("0-4", "warm", "turns are counted from 1; got '0-4'"),
        ("1", "warm", "turn 1 has no history to be warm with: start at turn 2, or take cache: cold; got '1'"),
        ("1-4", "warm", "turn 1 has no history to be warm with: start at turn 2, or take cache: cold; got '1-4'"),
        ("first", "warm", "expected last, last 3, all, a turn such as 40, or turns such as 40-42; got 'first'"),
        ("-4", "warm", "expected last, last 3, all, a turn such as 40, or turns such as 40-42; got '-4'"),
        ("4-", "warm", "expected last, last 3, all, a turn such as 40, or turns such as 40-42; got '4-'"),
        ("4 - 6", "warm", "expected last, last 3, all, a turn such as 40, or turns such as 40-42; got '4 - 6'"),
        ("", "warm", "expected last, last 3, all, a turn such as 40, or turns such as 40-42; got ''"),
    ],
)
def test_anything_else_says_what_is_allowed(text: str, cache: Literal["warm", "cold"], error: str) -> None:
    with pytest.raises(ValueError) as raised:
        parse_turns(text, 75, cache)
    assert str(raised.value) == error


def test_a_recording_of_one_turn_has_none_to_be_warm_in() -> None:
    assert list(parse_turns("last", 1, "warm")) == [2]
    with pytest.raises(ValueError, match="which has turns 1-1"):
        parse_turns("all", 1, "warm")


def test_a_number_of_thousands_of_digits_is_no_turn() -> None:
    with pytest.raises(ValueError, match=r"^expected last, last 3, all"):
        parse_turns("9" * 5000, 75, "warm")
