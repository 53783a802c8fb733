"""Fewer points for the eye: what a screen cannot show is left out, peaks and dips stay."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from tsdownsample import MinMaxLTTBDownsampler

MOST = 2000  # points of one series: a screen is hardly wider


def thin(x: Sequence[float], y: Sequence[float | None], most: int = MOST) -> tuple[list[float], list[float | None]]:
    """About `most` of the points, by MinMaxLTTB; `x` never falls. A run of unknown values stays as one, so that
    a line breaks where it did."""
    values = np.array([np.nan if value is None else value for value in y], dtype=np.float64)
    keep = kept(np.asarray(x, dtype=np.float64), values, most)
    return [float(x[i]) for i in keep], [None if np.isnan(values[i]) else float(values[i]) for i in keep]


def kept(x: NDArray[np.float64], y: NDArray[np.float64], most: int = MOST) -> list[int]:
    """The places of the points that stay, in their order. Unknown values are NaN."""
    if len(y) <= most:
        return list(range(len(y)))
    known = np.flatnonzero(~np.isnan(y))
    unknown = np.isnan(y)
    breaks = np.flatnonzero(unknown[1:] & ~unknown[:-1]) + 1
    if unknown[0]:
        breaks = np.insert(breaks, 0, 0)
    if len(known) > most:
        by = MinMaxLTTBDownsampler()  # type: ignore[no-untyped-call]
        found: NDArray[np.uint64] = by.downsample(x[known], y[known], n_out=most)
        ends = [int(known[np.argmin(y[known])]), int(known[np.argmax(y[known])])]  # of few points it may leave them out
        known = np.union1d(known[found.astype(np.int64)], ends)
    return sorted({*known.tolist(), *breaks.tolist()})
