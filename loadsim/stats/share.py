"""The share: decode rate per caller under load over one caller's, measured around it.

A card that heats up has no absolute speed; the ratio of two rates a minute apart has. Repeats are its samples: the
callers of one burst share their steps, so they are one event.
"""

from collections.abc import Callable, Iterable, Sequence
from statistics import median

import msgspec

from ..types import RequestRow
from .spread import Range, ranged
from .tokens import decode_rate, median_gap_rate

Rate = Callable[[Sequence[float]], float | None]


class Sides(msgspec.Struct, frozen=True, kw_only=True):
    """A share by the baseline on both sides of the load, by the one before and by the one after; None: a part is
    missing. Each over repeats."""

    both: Range | None
    before: Range | None
    after: Range | None


class Share(msgspec.Struct, frozen=True, kw_only=True):
    """`mean` by the mean rate, which holds the neighbours' prefill under a burst; `gap` by 1 / median gap, which does
    not."""

    mean: Sides
    gap: Sides


def share(alone: Iterable[RequestRow], load: Iterable[RequestRow]) -> Share:
    """The share of each repeat's median caller against the median of the same repeat's one-caller replies."""
    alone, load = list(alone), list(load)
    return Share(mean=_sides(alone, load, decode_rate), gap=_sides(alone, load, median_gap_rate))


def _sides(alone: list[RequestRow], load: list[RequestRow], rate: Rate) -> Sides:
    many = _by_repeat(load, rate)
    return Sides(
        both=_ratio(alone, many, rate),
        before=_ratio([row for row in alone if row.side == "before"], many, rate),
        after=_ratio([row for row in alone if row.side == "after"], many, rate),
    )


def _ratio(alone: list[RequestRow], many: dict[int, float], rate: Rate) -> Range | None:
    one = _by_repeat(alone, rate)
    shares = [many[repeat] / one[repeat] for repeat in many if repeat in one]
    return ranged(shares)


def _by_repeat(rows: list[RequestRow], rate: Rate) -> dict[int, float]:
    """The median rate of each repeat."""
    rates: dict[int, list[float]] = {}
    for row in rows:
        if (found := rate(row.token_s)) is not None:
            rates.setdefault(row.repeat, []).append(found)
    return {repeat: median(found) for repeat, found in rates.items()}
