"""A trend: how a rate moved from its first measurement to its last, and whether that is more than its noise."""

import math
from collections.abc import Sequence
from itertools import pairwise
from statistics import median, variance

import msgspec
from scipy.special import stdtrit

from .slope import CONFIDENCE, Slope, slope

LEAST_NEIGHBOURS = 5
"""Of fewer values than these, a single large step among them would pass for noise."""


class Value(msgspec.Struct, frozen=True):
    """A rate, or a ratio of rates, at a moment on the run's clock; `each`: what it is the median of, where those are
    independent of each other."""

    at: float
    rate: float
    each: tuple[float, ...] = ()


class Trend(msgspec.Struct, frozen=True, kw_only=True):
    """`first` and `last` at their moments on the run's clock; `change`: the last over the first, less 1, with the
    interval `low` to `high` at 95 %; None: too few values to tell. `slope`: by minutes of the run's clock."""

    first: float
    last: float
    first_at: float
    last_at: float
    change: float
    low: float | None
    high: float | None
    slope: Slope | None
    n: int


def trend(values: Sequence[Value]) -> Trend | None:
    """Of rates in the order of their times. None: there are no two. The slope's samples are the values, of two values
    what those are the medians of."""
    if len(values) < 2:
        return None
    first, last = values[0], values[-1]
    moved = math.log(last.rate / first.rate)
    half = _half(values)
    of_each = [(value.at / 60, rate) for value in values for rate in value.each or (value.rate,)]
    of_all = [(value.at / 60, value.rate) for value in values]
    return Trend(
        first=first.rate,
        last=last.rate,
        first_at=first.at,
        last_at=last.at,
        change=math.expm1(moved),
        low=None if half is None else math.expm1(moved - half),
        high=None if half is None else math.expm1(moved + half),
        slope=slope(of_all if len(values) > 2 else of_each),
        n=len(values),
    )


def _half(values: Sequence[Value]) -> float | None:
    """Half the interval's width on the logarithm of the change: the wider of what the first and the last value's own
    samples say, and what neighbours differ by. The last one may have had a bad moment that all its samples share."""
    first, last = values[0].each, values[-1].each
    own = _welch(first, last) if min(len(first), len(last)) > 1 else None
    near = _neighbours([value.rate for value in values])
    if own is None or (near is not None and len(values) >= LEAST_NEIGHBOURS):
        return near if own is None or near is None else max(own, near)
    return own


def _welch(first: Sequence[float], last: Sequence[float]) -> float:
    """Welch's interval of the difference of two means, of logarithms."""
    parts = [(variance([math.log(rate) for rate in rates]) / len(rates), len(rates)) for rates in (first, last)]
    error = sum(part for part, _ in parts)
    if not error:
        return 0.0
    free = error**2 / sum(part**2 / (n - 1) for part, n in parts)
    return _quantile(free) * math.sqrt(error)


def _neighbours(rates: Sequence[float]) -> float | None:
    """By how much neighbours differ beside what all of them do, which is the decay itself: the noise of a difference of
    two values, from the median so that a sudden step does not count. None under three values."""
    if len(rates) < 3:
        return None
    steps = [math.log(b / a) for a, b in pairwise(rates)]
    usual = median(steps)
    return _quantile(len(rates) - 2) * 1.4826 * median(abs(step - usual) for step in steps)


def _quantile(free: float) -> float:
    return float(stdtrit(free, (1 + CONFIDENCE) / 2))
