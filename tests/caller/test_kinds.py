"""Kinds, by the lab's own counts: a history of 10,369 tokens in the slot, a turn of 60 new ones."""

import pytest

from loadsim.caller.kinds import kind


@pytest.mark.parametrize(
    ("cache_n", "prompt_n", "held", "opening", "found"),
    [
        (10_369, 60, 10_369, 3, "extension"),
        (10_413, 60, 10_413, 3, "extension"),
        (10_415, 60, 10_413, 3, "extension"),  # more than it held: the server's own reply came back word for word
        (10_365, 64, 10_369, 3, "rewind"),  # from the checkpoint four tokens before the prompt's end
        (17_362, 516, 17_878, 3, "rewind"),
        (10_365, 4, 10_369, 3, "full_hit"),  # the same prompt again
        (10_369, 4, 10_369, 3, "extension"),  # four tokens that are really new
        (0, 10_377, 10_369, 3, "cold"),
        (3, 10_374, None, 3, "cold"),  # the template's opening is always there
        (4, 10_373, None, 3, "rewind"),
        (500, 9_877, None, 3, "rewind"),  # planned cold, but the system prompt was found
        (None, 10, 10, 3, None),
        (10, None, 10, 3, None),
    ],
)
def test_kind(cache_n: int | None, prompt_n: int | None, held: int | None, opening: int, found: str | None) -> None:
    assert kind(cache_n, prompt_n, held, opening) == found
