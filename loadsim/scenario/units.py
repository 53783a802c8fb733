"""Times as a scenario writes them: a number and its unit."""

import math
import re
from decimal import Decimal

PATTERN = r"([0-9]+(?:\.[0-9]+)?|\.[0-9]+) *(ms|s|min|h)"  # a time that is not 0, also for the schema
EXAMPLES = "800 ms, 6 s, 5 min, 4 h"
TIME = f"a time with its unit: {EXAMPLES}"
START = f"together, or {TIME}"
UNITS = {"h": 3600, "min": 60, "s": 1}


class Duration(float):
    """Seconds: finite, 0 or more."""


class Start(Duration):
    """The seconds over which the first turns are spread evenly; 0 is written `together`."""


def parse_duration(text: str) -> Duration:
    """`800 ms`, `6 s`, `1.5s`, `5 min`, `4 h` or `0`, in seconds. Raises ValueError with what is allowed."""
    return Duration(_seconds(text, TIME))


def parse_start(text: str) -> Start:
    """`together` or a duration. Raises ValueError with what is allowed."""
    return Start(0 if text == "together" else _seconds(text, START))


def format_duration(seconds: float) -> str:
    """A text that parses to the very same float, in the largest unit that stays whole: `5 min`, `1.5 s`, `800 ms`."""
    if not seconds:
        return "together" if isinstance(seconds, Start) else "0 s"
    for unit, scale in UNITS.items():
        if seconds % scale == 0 and seconds < 2**53:  # up to there a float's products are exact
            return f"{int(seconds // scale)} {unit}"
    milliseconds = f"{seconds * 1000:.0f} ms"
    if seconds < 1 and parse_duration(milliseconds) == seconds:
        return milliseconds
    return f"{Decimal(repr(float(seconds))):f} s"  # never 1e-07, which a scenario does not allow


def _seconds(text: str, allowed: str) -> float:
    match = re.fullmatch(PATTERN, text)
    if not match:
        if text == "0":
            return 0.0
        raise ValueError(_refusal(text, allowed))
    number, unit = float(match[1]), match[2]
    # Divided, not multiplied by 0.001: 9 ms is then the float nearest to 0.009.
    seconds = number / 1000 if unit == "ms" else number * UNITS[unit]
    if math.isinf(seconds):
        raise ValueError(f"too long a time; got {text[:20]}...")
    return seconds


def _refusal(text: str, allowed: str) -> str:
    shown = text if len(text) < 60 else f"{text[:60]}..."
    if re.fullmatch(r"[0-9]+(\.[0-9]*)?|\.[0-9]+", text):
        return f"give a unit: {EXAMPLES}; got {shown}"
    unit = re.fullmatch(r"\.?[0-9][0-9.]* *([A-Za-z]+)", text)
    if unit and unit[1] not in ("ms", *UNITS):
        return f"no unit {unit[1][:20]!r}: give ms, s, min or h; got {shown!r}"
    negative = "; a time is never negative" if text.startswith("-") else ""
    return f"expected {allowed}; got {shown!r}{negative}"
