"""Which callers are on calls, phase by phase. Pure: seconds of the load's own time."""

from bisect import bisect_right
from collections.abc import Sequence
from itertools import accumulate

from ..scenario.model import Phase

Stay = tuple[float, float]
"""From when to when a caller is on calls."""


def stays(phases: Sequence[Phase], number: int, scale: float = 1.0) -> list[Stay]:
    """When caller `number`, from 0 over all groups, is on calls: while the phase's count is above it. On a ramp the
    count is the nearest whole number to the straight line, so that those who join do so evenly.

    `scale` divides all times.
    """
    found: list[Stay] = []
    at = 0.0
    for phase in phases:
        lasts = phase.for_ / scale
        first, last = phase.ends
        on, off = _within(first, last, lasts, number)
        if off > on:
            if found and found[-1][1] == at + on:
                found[-1] = (found[-1][0], at + off)
            else:
                found.append((at + on, at + off))
        at += lasts
    return found


def begins(phases: Sequence[Phase], scale: float = 1.0) -> list[float]:
    """When each phase begins."""
    return [0.0, *accumulate(phase.for_ / scale for phase in phases[:-1])]


def phase_at(phases: Sequence[Phase], t: float, scale: float = 1.0) -> Phase | None:
    """The phase at `t`; what comes after the last one is still its."""
    return phases[max(bisect_right(begins(phases, scale), t) - 1, 0)] if phases else None


def _within(first: int, last: int, lasts: float, number: int) -> Stay:
    """Of one phase, from its beginning: when its count is over `number`."""
    if first == last:
        return (0.0, lasts if number < first else 0.0)
    passes = min(max((number + 0.5 - first) / (last - first), 0.0), 1.0) * lasts
    return (passes, lasts) if first < last else (0.0, passes)
