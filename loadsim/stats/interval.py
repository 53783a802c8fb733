"""How sure a figure is: intervals over repeats, and of counted shares."""

import math
from collections.abc import Sequence
from statistics import fmean, stdev

import msgspec
from scipy.special import betaincinv, stdtrit


class Interval(msgspec.Struct, frozen=True):
    """A figure, and the bounds that the true one lies within."""

    mid: float
    low: float
    high: float


def of_mean(values: Sequence[float], confidence: float) -> Interval:
    """Student's t-interval of the mean of independent values; of a single one it has no ends. Raises ValueError for
    none."""
    if not values:
        raise ValueError("an interval needs a value")
    mid = fmean(values)
    if len(values) == 1:
        return Interval(mid, -math.inf, math.inf)
    half = float(stdtrit(len(values) - 1, 0.5 + confidence / 2)) * stdev(values) / math.sqrt(len(values))
    return Interval(mid, mid - half, mid + half)


def of_share(hits: int, of: int, confidence: float) -> Interval:
    """Clopper and Pearson's interval of `hits` in `of` independent trials. Raises ValueError where there was none."""
    if not 0 <= hits <= of or not of:
        raise ValueError(f"{hits} of {of} is no share")
    tail = (1 - confidence) / 2
    low = float(betaincinv(hits, of - hits + 1, tail)) if hits else 0.0
    high = float(betaincinv(hits + 1, of - hits, 1 - tail)) if hits < of else 1.0
    return Interval(hits / of, low, high)


def clean_trials(limit: float) -> int:
    """How many trials without a hit show, at 95 %, that hits are rarer than `limit`: the rule of three."""
    return math.ceil(round(3 / limit, 9))
