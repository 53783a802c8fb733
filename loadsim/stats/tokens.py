"""What token times say. Times are in any one unit, ascending; equal times are tokens that arrived in one read."""

import math
from bisect import bisect_right
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Times = Sequence[float] | NDArray[np.float64]


def gaps(token_s: Times) -> NDArray[np.float64]:
    """One sample per token after the first read: n tokens read after a wait of d are n samples of d/n.

    The samples add up to the last time less the first. Works for the server's clock as for the client's.
    """
    times = np.asarray(token_s, dtype=np.float64)
    steps = times[1:] - times[:-1]
    if (steps > 0).all():
        return steps  # each came in a read of its own, as nearly all do: runs of millions are read again
    reads, tokens = np.unique(times, return_counts=True)
    return np.repeat(np.diff(reads) / tokens[1:], tokens[1:])


def stall(token_s: Times) -> float | None:
    """The largest gap of a reply. None: all came in one read."""
    found = gaps(token_s)
    return float(found.max()) if len(found) else None


def decode_rate(token_s: Times) -> float | None:
    """Tokens after the first read over the time from the first token to the last. None: all came in one read."""
    if not len(token_s) or token_s[-1] <= token_s[0]:
        return None
    return float((len(token_s) - bisect_right(token_s, token_s[0])) / (token_s[-1] - token_s[0]))


def median_gap_rate(token_s: Times) -> float | None:
    """1 / median gap: the decode rate that a few long gaps, such as neighbours' prefill, do not move. None: no gaps."""
    samples = gaps(token_s)
    if not len(samples):
        return None
    samples.sort()
    return float(2 / (samples[(len(samples) - 1) // 2] + samples[len(samples) // 2]))


def percentile(values: Times, q: float) -> float | None:
    """HdrHistogram's definition: the smallest value with at least `q` % of all at or below it. None: no values.

    Raises ValueError where `q` is not within 0 to 100.
    """
    if not 0 <= q <= 100:
        raise ValueError(f"a percentile is within 0 to 100; got {q}")
    if not len(values):
        return None
    # Not numpy's "inverted_cdf": it takes the 8th of 100 values for 7 %, since 0.07 x 100 is a little over 7.
    rank = math.ceil(round(q * len(values) / 100, 9))
    return float(np.sort(values)[max(rank, 1) - 1])


def window_rate(replies: Sequence[Times]) -> float | None:
    """Tokens per second of all replies together while all are speaking: latest first token to earliest last token.

    `replies`: the absolute arrival times of each reply that is in flight. A token at the window's start is not
    counted, one at its end is. None: they never all speak at once, or a reply has no token.
    """
    if not replies or not all(len(reply) for reply in replies):
        return None
    start, end = max(reply[0] for reply in replies), min(reply[-1] for reply in replies)
    if end <= start:
        return None
    tokens = sum(int(np.count_nonzero((start < t) & (t <= end))) for t in map(np.asarray, replies))
    return float(tokens / (end - start))
