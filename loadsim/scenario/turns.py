"""Which turns of a recording a group says."""

import re
from typing import Literal

ALLOWED = "last, last 3, all, a turn such as 40, or turns such as 40-42"
PATTERN = r"last(?: ([1-9][0-9]*))?|all|([0-9]+)(?:-([0-9]+))?"


def parse_turns(text: str, spoken: int, cache: Literal["warm", "cold"]) -> range:
    """The turn numbers, from 1, that `text` means for a recording of `spoken` turns.

    `last` is the fresh message after the recorded call, turn `spoken` + 1, and `last 3` the two turns before it too;
    `all` leaves out turn 1 for warm callers, who have no history in their slot before it. Raises ValueError that names
    what is allowed.
    """
    first, last = bounds(text, cache)
    if text.startswith("last"):
        start = spoken + 2 - int(text[4:] or 1)
        if start < first:
            raise ValueError(f"turns {text} begin before turn {first} of the recording, which has turns 1-{spoken}")
        return range(start, spoken + 2)
    if (last or first) > spoken:
        raise ValueError(f"turns {text} are not all in the recording, which has turns 1-{spoken}")
    return range(first, (last or spoken) + 1)


def bounds(text: str, cache: Literal["warm", "cold"]) -> tuple[int, int | None]:
    """First and last turn as far as `text` tells without a recording (None: its end). Raises ValueError."""
    match = re.fullmatch(PATTERN, text)
    if not match or len(text) > 20:  # Python refuses to read numbers of thousands of digits
        raise ValueError(f"expected {ALLOWED}; got {text!r}")
    lowest = 2 if cache == "warm" else 1
    if not match[2]:
        return lowest, None
    first, last = int(match[2]), int(match[3] or match[2])
    if first < 1:
        raise ValueError(f"turns are counted from 1; got {text!r}")
    if last < first:
        raise ValueError(f"the first turn is after the last one; got {text!r}")
    if first < lowest:
        raise ValueError(f"turn 1 has no history to be warm with: start at turn 2, or take cache: cold; got {text!r}")
    return first, last
