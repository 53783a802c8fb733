"""What a search still has to measure, and about how long that takes."""

from collections.abc import Mapping
from statistics import median

import msgspec

from .steps import edges, next_count
from .verdict import LEAST, Verdict


class Ahead(msgspec.Struct, frozen=True, kw_only=True):
    """What is left of a search that looks between `low` and `high`: so many load `points` if none of them holds, with
    or without a `confirmation`, in about `seconds`."""

    low: int
    high: int
    points: int
    confirmation: bool
    seconds: float


def counts_ahead(known: Mapping[int, Verdict], most: int) -> list[int]:
    """The numbers to be measured if all of them fail."""
    told, found = dict(known), list[int]()
    while (count := next_count(told, most)) is not None:
        found.append(count)
        told[count] = "misses"
    return found


class Reckoning:
    """How long repeats took, by number of callers."""

    def __init__(self) -> None:
        self._took: dict[int, list[float]] = {}

    def took(self, count: int, seconds: float) -> None:
        """So many callers were measured once more."""
        self._took.setdefault(count, []).append(seconds)

    def one(self, count: int) -> float | None:
        """About how long a repeat takes, as with the nearest number known. None: nothing is known."""
        known = self._usual()
        if not known:
            return None
        nearest = min(known, key=lambda callers: abs(callers - count))
        return known[nearest] * max(count / nearest, 1.0)

    def ahead(self, known: Mapping[int, Verdict], most: int, confirms: bool) -> Ahead | None:
        """What is left, as far as can be told, with a server of as many slots as the answer, if it `confirms`."""
        counts, found = counts_ahead(known, most), edges(known)
        times = [self.one(count) for count in [*counts, *([found.low] if confirms else [])]]
        if None in times:
            return None
        return Ahead(
            low=found.low,
            high=found.low if found.high is None else found.high,
            points=len(counts),
            confirmation=confirms,
            seconds=LEAST * sum(filter(None, times)) + (found.low * self._filling() if confirms else 0.0),
        )

    def _usual(self) -> dict[int, float]:
        """Without the first repeat of each, which fills slots that are new."""
        return {callers: median(times[1:]) for callers, times in self._took.items() if len(times) > 1}

    def _filling(self) -> float:
        """About how long it takes to fill a slot."""
        return max(((self._took[callers][0] - usual) / callers for callers, usual in self._usual().items()), default=0)
