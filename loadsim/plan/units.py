"""What a planner's flags are written in, beside a scenario's times: percentages, prices, amounts of data."""

import math
import re

import msgspec

from ..scenario.units import parse_duration

HOURS = {"h": 1, "hour": 1, "day": 24, "mo": 730, "month": 730}
BYTES = {"kB": 1e3, "MB": 1e6, "GB": 1e9, "TB": 1e12}
_NUMBER = r"([0-9]+(?:\.[0-9]+)?|\.[0-9]+)"
_SIGN = r"([$€£¥]?) *"
PRICE = "a price and its time: 0.26/h, $0.26/h, 6.20/day, 190/mo"
NETWORK = "a price by time or by data: 0.01/h, 5/mo, 0.02/GB, 10/TB"
DATA = "data a voice minute: 400 kB/min, 0.4 MB/min"


class Price(msgspec.Struct, frozen=True, kw_only=True):
    """Money per hour, or per byte; `sign` is the currency's, empty where none was given."""

    sign: str
    hour: float = 0.0
    byte: float = 0.0


def parse_number(text: str) -> float:
    """More than 0 and finite. Raises ValueError with what is allowed."""
    value = float(text) if re.fullmatch(_NUMBER, text) else 0.0
    if not 0 < value < math.inf:
        raise ValueError(f"expected a number more than 0; got {_shown(text)}")
    return value


def parse_time(text: str) -> float:
    """A scenario's time in seconds, more than 0; in `m` it is minutes too. Raises ValueError with what is allowed."""
    minutes = re.fullmatch(rf"{_NUMBER} *m", text)
    seconds = parse_duration(f"{minutes[1]} min" if minutes else text)
    if not seconds:
        raise ValueError(f"expected a time longer than 0; got {_shown(text)}")
    return float(seconds)


def parse_percent(text: str) -> float:
    """`1 %` or `55%` as a ratio, more than 0 and at most 1. Raises ValueError with what is allowed."""
    match = re.fullmatch(rf"{_NUMBER} *%", text)
    value = float(match[1]) / 100 if match else 0.0
    if not 0 < value <= 1:
        raise ValueError(f"expected a percentage, more than 0 % and at most 100 %, such as 1 %; got {_shown(text)}")
    return value


def parse_blocking(text: str) -> float:
    """A percentage less than 100 %. Raises ValueError with what is allowed."""
    value = parse_percent(text)
    if value == 1:
        raise ValueError(f"expected a percentage less than 100 %, such as 1 %; got {_shown(text)}")
    return value


def parse_price(text: str) -> Price:
    """What a card costs, by the hour, day or month of 730 hours. Raises ValueError with what is allowed."""
    match = re.fullmatch(rf"{_SIGN}{_NUMBER} */ *({'|'.join(HOURS)})", text)
    if not match or not math.isfinite(float(match[2])):
        raise ValueError(f"expected {PRICE}; got {_shown(text)}")
    return Price(sign=match[1], hour=float(match[2]) / HOURS[match[3]])


def parse_network(text: str) -> Price:
    """What the network costs, by time or by data. Raises ValueError with what is allowed."""
    match = re.fullmatch(rf"{_SIGN}{_NUMBER} */ *({'|'.join([*HOURS, *BYTES])})", text)
    if not match or not math.isfinite(float(match[2])):
        raise ValueError(f"expected {NETWORK}; got {_shown(text)}")
    money, unit = float(match[2]), match[3]
    return (
        Price(sign=match[1], byte=money / BYTES[unit])
        if unit in BYTES
        else Price(sign=match[1], hour=money / HOURS[unit])
    )


def parse_data(text: str) -> float:
    """Bytes a voice minute. Raises ValueError with what is allowed."""
    match = re.fullmatch(rf"{_NUMBER} *({'|'.join(BYTES)}) */ *min", text)
    value = float(match[1]) * BYTES[match[2]] if match else math.inf
    if not math.isfinite(value):
        raise ValueError(f"expected {DATA}; got {_shown(text)}")
    return value


def _shown(text: str) -> str:
    return repr(text if len(text) < 60 else f"{text[:60]}...")
