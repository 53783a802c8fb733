"""What the logs of cards and of this machine say of a stretch of time. Degrees Celsius, MHz, watts, shares."""

from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import TypeVar

import msgspec

from ..types import CardSample, HostSample
from .spread import middle

IDLE = "gpu idle"

Range = tuple[float, float]
Sample = TypeVar("Sample", CardSample, HostSample)


class CardSummary(msgspec.Struct, frozen=True, kw_only=True):
    """One card over a stretch; None: not told.

    `core`, `memory`: lowest and highest temperature. Clocks and power are medians, `sm_least` the lowest clock, over
    the samples in which the card was at work, all of them where it never was. `reasons`: clock event reasons by the
    share of those samples that had them, idleness left out; None: the card does not tell.
    """

    card: int
    samples: int
    core: Range | None
    memory: Range | None
    sm: float | None
    sm_least: float | None
    memory_clock: float | None
    power: float | None
    limit: float | None
    reasons: dict[str, float] | None


class HostSummary(msgspec.Struct, frozen=True, kw_only=True):
    """This machine over a stretch: medians; `busiest`: of the busiest core of each sample; `heat`: of its CPU, lowest
    and highest; `server_cpu`: cores; `rss`: the server's memory at first and at last, bytes."""

    samples: int
    cpu: float | None
    busiest: float | None
    heat: Range | None
    server_cpu: float | None
    rss: tuple[int, int] | None


def within(samples: Sequence[Sample], start: float, end: float) -> Sequence[Sample]:
    """The samples of a stretch, seconds on the run's clock; they are in the order of their times, as a log is."""
    first = bisect_left(samples, start, key=lambda sample: sample.t_s)
    return samples[first : bisect_right(samples, end, key=lambda sample: sample.t_s)]


def cards(samples: Sequence[CardSample]) -> list[CardSummary]:
    """A summary per card, by number."""
    numbers = sorted({sample.card for sample in samples})
    return [_card(number, [sample for sample in samples if sample.card == number]) for number in numbers]


def _card(number: int, samples: list[CardSample]) -> CardSummary:
    at_work = [sample for sample in samples if works(sample)] or samples
    clocks = [sample.sm_mhz for sample in at_work if sample.sm_mhz is not None]
    told = [sample.reasons for sample in at_work if sample.reasons is not None]
    counted = Counter(reason for reasons in told for reason in reasons if reason != IDLE)
    return CardSummary(
        card=number,
        samples=len(samples),
        core=_range(sample.core_c for sample in samples),
        memory=_range(sample.memory_c for sample in samples),
        sm=middle(clocks),
        sm_least=min(clocks, default=None),
        memory_clock=middle(sample.memory_mhz for sample in at_work),
        power=middle(sample.power_w for sample in at_work),
        limit=middle(sample.limit_w for sample in at_work),
        reasons={reason: n / len(told) for reason, n in counted.most_common()} if told else None,
    )


def works(sample: CardSample) -> bool:
    """A card that rests clocks down, which is no throttling. Where it does not tell, it is taken to work."""
    return sample.busy != 0 and IDLE not in (sample.reasons or ())


def host(samples: Sequence[HostSample]) -> HostSummary | None:
    """A summary; None: nothing was logged."""
    if not samples:
        return None
    rss = [sample.server_rss_bytes for sample in samples if sample.server_rss_bytes is not None]
    return HostSummary(
        samples=len(samples),
        cpu=middle(sample.cpu for sample in samples),
        busiest=middle(max(sample.cores, default=None) for sample in samples),
        heat=_range(sample.cpu_c for sample in samples),
        server_cpu=middle(sample.server_cpu for sample in samples),
        rss=(rss[0], rss[-1]) if rss else None,
    )


def _range(values: Iterable[float | None]) -> Range | None:
    known = [value for value in values if value is not None]
    return (min(known), max(known)) if known else None
