"""HdrHistogram's percentile text (.hgrm), as its plotters read it: a run's times by load point, row and metric.

The levels, and the lines, are those of HdrHistogram's `outputPercentileDistribution` with 5 ticks per half distance: 0,
10 % ... 50 %, 55 % ... 75 %, 77.5 % ... Values are milliseconds with three decimals: the microseconds recorded. (The
hdrhistogram package's own function takes other levels, and does not scale the deviation.)
"""

import math
from collections.abc import Iterable, Iterator
from urllib.parse import quote

import msgspec
import numpy as np
from hdrh.histogram import HdrHistogram
from numpy.typing import NDArray

from ...results.histograms import US_PER_MS, Histograms, metrics
from ...results.stream import Stream
from ...scenario.secret import masked
from ...types import RowName

TICKS = 5
POOL = 1 << 16  # values that wait to be recorded together, which is cheaper by far
METRICS = ("ttft", "ttft_due", "before_headers", "prompt_eval", "gap", "gap_server")

SAFE, LONGEST = " =,;()@+&'", 200  # what stays of a point's name in a file's

Key = tuple[str, RowName, str]


class Chosen(msgspec.Struct, frozen=True, kw_only=True):
    """Which histograms are wanted; None: all."""

    point: str | None = None
    row: str | None = None
    metric: str | None = None

    def has(self, key: Key) -> bool:
        return all(want in (None, got) for want, got in zip((self.point, self.row, self.metric), key, strict=True))


def histograms(run: Stream, chosen: Chosen) -> dict[Key, HdrHistogram]:
    """The histograms of a run's rows, in microseconds, in the order in which the run first had each."""
    made, pools = Histograms(), dict[Key, list[NDArray[np.float64]]]()
    waiting = dict[Key, int]()

    def record(key: Key) -> None:
        made.record(*key, np.concatenate(pools[key]))
        pools[key], waiting[key] = [], 0

    for _, row in run.rows():
        for metric, seconds in metrics(row).items():
            key = (row.point, row.row, metric)
            if chosen.has(key):
                pools.setdefault(key, []).append(seconds)
                waiting[key] = waiting.get(key, 0) + len(seconds)
                if waiting[key] >= POOL:
                    record(key)
    for key in pools:
        if waiting[key]:
            record(key)
    return {key: made.found[key] for key in pools}


def file_names(keys: Iterable[Key]) -> dict[Key, str]:
    """`12 warm.load.ttft.hgrm`: what no file may be called is written as in a URL; no two are the same."""
    names: dict[Key, str] = {}
    for key in keys:
        point, row, metric = key
        base = f"{quote(masked(point), safe=SAFE)[:LONGEST]}.{row}.{metric}"
        name, number = f"{base}.hgrm", 1
        while name in names.values():
            number += 1
            name = f"{base}-{number}.hgrm"
        names[key] = name
    return names


class Value(msgspec.Struct, frozen=True):
    """Values that count as the same, in microseconds, and how many there are."""

    low: int
    high: int
    count: int

    @property
    def middle(self) -> int:
        return self.low + (self.high - self.low + 1 >> 1)


def values(histogram: HdrHistogram) -> list[Value]:
    """What was recorded. Not by the package's iterators, which visit every value that there could be."""
    counts = np.ctypeslib.as_array(histogram.counts)
    lows = {index: histogram.get_value_from_index(index) for index in np.flatnonzero(counts).tolist()}
    return [Value(low, histogram.get_highest_equivalent_value(low), int(counts[at])) for at, low in lows.items()]


def text(histogram: HdrHistogram) -> str:
    """A histogram of microseconds, which is not empty, as percentiles of milliseconds."""
    found = values(histogram)
    lines = [f"{'Value':>12} {'Percentile':>14} {'TotalCount':>10} {'1/(1-Percentile)':>14}", ""]
    for us, level, count in distribution(found):
        line = f"{us / US_PER_MS:12.3f} {level / 100:.12f} {count:10d}"
        lines.append(line if level == 100 else f"{line} {1 / (1 - level / 100):14.2f}")
    total = sum(each.count for each in found)
    mean = sum(each.middle * each.count for each in found) / total
    deviation = math.sqrt(sum((each.middle - mean) ** 2 * each.count for each in found) / total)
    lines += [
        f"#[Mean    = {mean / US_PER_MS:12.3f}, StdDeviation   = {deviation / US_PER_MS:12.3f}]",
        f"#[Max     = {found[-1].high / US_PER_MS:12.3f}, Total count    = {total:12d}]",
        f"#[Buckets = {histogram.bucket_count:12d}, SubBuckets     = {histogram.sub_bucket_count:12d}]",
    ]
    return "\n".join(lines) + "\n"


def distribution(found: list[Value]) -> Iterator[tuple[int, float, int]]:
    """The value (the largest that counts as the same), the level in per cent and the count up to it, line by line."""
    total, level, reached = sum(each.count for each in found), 0.0, 0
    for each in found:
        reached += each.count
        while 100 * reached / total >= level:
            yield each.high, level, reached
            if reached == total:
                yield each.high, 100.0, reached
                return
            level += 100 / (TICKS * 2 ** (math.floor(math.log2(100 / (100 - level))) + 1))
