"""What every figure is made of: the known ones of some values, their middle and how far they reach."""

from collections.abc import Iterable, Sequence
from statistics import median

import msgspec
import numpy as np
from numpy.typing import NDArray

from .tokens import percentile


class Spread(msgspec.Struct, frozen=True):
    """p50, p95 and the largest of a pool of samples."""

    p50: float | None
    p95: float | None
    max: float | None


class Range(msgspec.Struct, frozen=True):
    """The median of n samples, the smallest and the largest."""

    mid: float
    low: float
    high: float
    n: int


def spread(values: Sequence[float] | NDArray[np.float64]) -> Spread:
    return Spread(percentile(values, 50), percentile(values, 95), percentile(values, 100))


def middle(values: Iterable[float | None]) -> float | None:
    """The median of the known ones; None: none is."""
    found = known(values)
    return median(found) if found else None


def ranged(values: Iterable[float | None]) -> Range | None:
    """The range of the known ones; None: none is."""
    found = known(values)
    return Range(median(found), min(found), max(found), len(found)) if found else None


def known(values: Iterable[float | None]) -> list[float]:
    return [value for value in values if value is not None]


def since(start: float | None, end: float | None) -> float | None:
    return None if start is None or end is None else end - start
