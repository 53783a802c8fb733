"""HdrHistogram's percentile text (.hgrm), as its plotters read it: a run's times by load point, row and metric.

The levels, and the lines, are those of HdrHistogram's `outputPercentileDistribution` with 5 ticks per half distance: 0,
10 % ... 50 %, 55 % ... 75 %, 77.5 % ... Values are milliseconds with three decimals: the microseconds recorded. (The
hdrhistogram package's own function takes other levels, and does not scale the deviation.)
"""

import math
from collections.abc import Iterator
from urllib.parse import quote

import msgspec
import numpy as np
from hdrh.histogram import HdrHistogram
from numpy.typing import NDArray

from ...results.histograms import US_PER_MS, Histograms, metrics
from ...results.stream import Stream
from ...types import RowName

TICKS = 5
POOL = 1 << 16  # values that wait to be recorded together, which is cheaper by far
METRICS = ("ttft", "ttft_due", "before_headers", "prompt_eval", "gap", "gap_server")

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


def file_name(key: Key) -> str:
    """`12 warm.load.ttft.hgrm`: what no file may be called is written as in a URL."""
    point, row, metric = key
    name = quote(point, safe=" =,;()@+&'")
    return f"{name[:200].rstrip('%')}.{row}.{metric}.hgrm"


def text(histogram: HdrHistogram) -> str:
    """A histogram of microseconds as percentiles of milliseconds."""
    lines = [f"{'Value':>12} {'Percentile':>14} {'TotalCount':>10} {'1/(1-Percentile)':>14}", ""]
    for value, level, count in distribution(histogram):
        line = f"{value / US_PER_MS:12.3f} {level / 100:.12f} {count:10d}"
        lines.append(line if level == 100 else f"{line} {1 / (1 - level / 100):14.2f}")
    mean, deviation = histogram.get_mean_value() / US_PER_MS, histogram.get_stddev() / US_PER_MS
    most, total = histogram.get_max_value() / US_PER_MS, histogram.get_total_count()
    lines += [
        f"#[Mean    = {mean:12.3f}, StdDeviation   = {deviation:12.3f}]",
        f"#[Max     = {most:12.3f}, Total count    = {total:12d}]",
        f"#[Buckets = {histogram.bucket_count:12d}, SubBuckets     = {histogram.sub_bucket_count:12d}]",
    ]
    return "\n".join(lines) + "\n"


def distribution(histogram: HdrHistogram) -> Iterator[tuple[int, float, int]]:
    """The value (the largest that counts as the same), the level in per cent and the count up to it, line by line."""
    total, level, reached = histogram.get_total_count(), 0.0, 0
    for step in histogram.get_recorded_iterator():
        value, reached = step.value_iterated_to, step.total_count_to_this_value
        while 100 * reached / total >= level:
            yield value, level, reached
            if reached == total:
                yield value, 100.0, reached
                return
            level += 100 / (TICKS * 2 ** (math.floor(math.log2(100 / (100 - level))) + 1))
