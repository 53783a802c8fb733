"""Times and rates as a scenario writes them: a number and its unit."""

import math
import re
from decimal import Decimal
from typing import Any, Literal, NoReturn, cast

_NUMBER = r"([0-9]+(?:\.[0-9]+)?|\.[0-9]+)"
_NOT_ZERO = r"(?=[0-9.]*[1-9])"

# Also for the schema, where a time may be a bare 0 too.
PATTERN = rf"{_NUMBER} *(ms|s|min|h)"
START_PATTERN = rf"together|call|{PATTERN}|at +(?:{PATTERN}|0)|(?:every|poisson) +{_NOT_ZERO}{PATTERN}"
PERCENT_PATTERN = rf"{_NOT_ZERO}{_NUMBER} *%"
CELSIUS_PATTERN = rf"{_NUMBER} *C"
RATE_PATTERN = rf"{_NOT_ZERO}{_NUMBER} *(tokens/s|words/min|wpm)"

EXAMPLES = "800 ms, 6 s, 5 min, 4 h"
TIME = f"a time with its unit: {EXAMPLES}"
START = f"together, call, at 5 s, every 10 s, poisson 10 s, or {TIME}"
RATE = "a rate with its unit, more than 0: 4.5 tokens/s, or 150 words/min"
PERCENT = "a share in per cent, more than 0 and 100 at the most: 20 %"
CELSIUS = "a temperature in degrees Celsius: 92 C"
UNITS = {"h": 3600, "min": 60, "s": 1}

How = Literal["together", "spread", "call", "at", "every", "poisson"]
RateUnit = Literal["tokens/s", "words/min"]


class Duration(float):
    """Seconds: finite, 0 or more."""


class Percent(float):
    """A share, more than 0 to 1."""


class Celsius(float):
    """Degrees Celsius, 0 or more."""


class _Value:
    """Attributes that never change and are compared. No struct, since msgspec would then read and write it itself."""

    def __init__(self, **values: Any) -> None:
        vars(self).update(values)

    def __setattr__(self, name: str, value: Any) -> NoReturn:
        raise AttributeError(f"{type(self).__name__} never changes")

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and vars(other) == vars(self)

    def __hash__(self) -> int:
        return hash(tuple(vars(self).values()))

    def __repr__(self) -> str:
        return f"{type(self).__name__}{tuple(vars(self).values())}"

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), tuple(vars(self).values())  # copy and pickle would set the attributes


class Start(_Value):
    """When a group's calls begin. `seconds` is 0 for `together` and `call`, 0 or more for `at`, more for the rest."""

    how: How
    seconds: float

    def __init__(self, how: How, seconds: float = 0.0) -> None:
        if how != "at" and (seconds > 0) == (how in ("together", "call")):
            raise ValueError(f"no start {how!r} with {seconds} s")
        super().__init__(how=how, seconds=seconds)


class VoiceRate(_Value):
    """How fast a voice speaks; `value` is more than 0."""

    value: float
    unit: RateUnit

    def __init__(self, value: float, unit: RateUnit) -> None:
        super().__init__(value=value, unit=unit)


def parse_duration(text: str) -> Duration:
    """`800 ms`, `6 s`, `1.5s`, `5 min`, `4 h` or `0`, in seconds. Raises ValueError with what is allowed."""
    return Duration(_seconds(text, TIME))


def parse_start(text: str) -> Start:
    """`together`, `6 s`, `call`, `at 5 s`, `every 10 s` or `poisson 10 s`. Raises ValueError with what is allowed."""
    if text in ("together", "call"):
        return Start(cast(How, text))
    match = re.fullmatch(r"(at|every|poisson) +(.+)", text)
    if not match:
        seconds = _seconds(text, START)
        return Start("spread", seconds) if seconds else Start("together")
    seconds = _seconds(match[2], TIME)
    if not seconds and match[1] != "at":
        raise ValueError(f"expected a time longer than 0 after {match[1]}; got {_shown(text)!r}")
    return Start(cast(How, match[1]), seconds)


def format_start(start: Start) -> str:
    """A text that parses to the same start."""
    if start.how in ("together", "call"):
        return start.how
    return ("" if start.how == "spread" else f"{start.how} ") + format_duration(start.seconds)


def parse_rate(text: str) -> VoiceRate:
    """`4.5 tokens/s`, `150 words/min` or `150 wpm`. Raises ValueError with what is allowed."""
    match = re.fullmatch(RATE_PATTERN, text)
    value = float(match[1]) if match else 0.0
    if not match or not value or math.isinf(value):
        raise ValueError(f"expected {RATE}; got {_shown(text)!r}")
    return VoiceRate(value, "tokens/s" if match[2] == "tokens/s" else "words/min")


def format_rate(rate: VoiceRate) -> str:
    """A text that parses to the same rate."""
    return f"{_digits(rate.value)} {rate.unit}"


def parse_percent(text: str) -> Percent:
    """`20 %` is 0.2. Raises ValueError with what is allowed."""
    match = re.fullmatch(PERCENT_PATTERN, text)
    if not match or not 0 < float(match[1]) <= 100:
        raise ValueError(f"expected {PERCENT}; got {_shown(text)!r}")
    return Percent(float(match[1]) / 100)


def format_percent(share: Percent) -> str:
    """A text that parses to the same share."""
    return f"{_digits(float(f'{share * 100:.15g}'))} %"


def parse_celsius(text: str) -> Celsius:
    """`92 C`. Raises ValueError with what is allowed."""
    match = re.fullmatch(CELSIUS_PATTERN, text)
    if not match or math.isinf(float(match[1])):
        raise ValueError(f"expected {CELSIUS}; got {_shown(text)!r}")
    return Celsius(float(match[1]))


def format_celsius(degrees: Celsius) -> str:
    """A text that parses to the same temperature."""
    return f"{_digits(degrees)} C"


def format_duration(seconds: float) -> str:
    """A text that parses to the very same float, in the largest unit that stays whole: `5 min`, `1.5 s`, `800 ms`."""
    if not seconds:
        return "0 s"
    for unit, scale in UNITS.items():
        if seconds % scale == 0 and seconds < 2**53:  # up to there a float's products are exact
            return f"{int(seconds // scale)} {unit}"
    milliseconds = f"{seconds * 1000:.0f} ms"
    if seconds < 1 and parse_duration(milliseconds) == seconds:
        return milliseconds
    return f"{_digits(seconds)} s"


def _digits(number: float) -> str:
    """Never 1e-07, which a scenario does not allow."""
    return f"{Decimal(repr(float(number))):f}".removesuffix(".0")


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
    shown = _shown(text)
    if re.fullmatch(r"[0-9]+(\.[0-9]*)?|\.[0-9]+", text):
        return f"give a unit: {EXAMPLES}; got {shown}"
    unit = re.fullmatch(r"\.?[0-9][0-9.]* *([A-Za-z]+)", text)
    if unit and unit[1] not in ("ms", *UNITS):
        return f"no unit {unit[1][:20]!r}: give ms, s, min or h; got {shown!r}"
    negative = "; a time is never negative" if text.startswith("-") else ""
    return f"expected {allowed}; got {shown!r}{negative}"


def _shown(text: str) -> str:
    return text if len(text) < 60 else f"{text[:60]}..."
