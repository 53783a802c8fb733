"""HdrHistograms of a run's times, and the interval log that the HdrHistogram tools read.

Values are whole microseconds, from 1 µs to 1 h to 3 significant digits; what lies outside counts at the nearer end.
`Interval_Max` is in milliseconds, as the tools have it; give them `-outputValueUnitRatio 1000` for the rest.
The lines are made here: the hdrhistogram package's writer knows no tags, and its `output_start_time` raises.
"""

import binascii
import re
import zlib
from collections import Counter
from datetime import UTC, datetime
from pathlib import Path
from typing import Protocol
from urllib.parse import quote_plus

import msgspec
import numpy as np
from hdrh.codec import HdrCookieException, HdrLengthException
from hdrh.histogram import HdrHistogram
from numpy.typing import NDArray

from ..stats.tokens import gaps
from ..types import BadInput, RequestRow, RowName

LOWEST_US, HIGHEST_US, DIGITS = 1, 3_600_000_000, 3
BITS = 11  # that 3 digits take: up to 2048 µs a histogram tells single microseconds apart
US_PER_S, US_PER_MS = 1e6, 1e3

LINE = re.compile(r"(?:Tag=([^,]*),)?([0-9.]+),([0-9.]+),[0-9.]+,(\S+)")
LEGEND = '"StartTimestamp","Interval_Length","Interval_Max","Interval_Compressed_Histogram"'
UNREADABLE = (ValueError, IndexError, binascii.Error, zlib.error, HdrCookieException, HdrLengthException)


class Interval(msgspec.Struct, frozen=True, kw_only=True):
    """One line of the log: seconds on the run's clock, and a histogram of microseconds.

    hdrh's `get_value_at_percentile` rounds the rank to the nearest, where the Java tools and `stats.tokens` take the
    next one up: of 12 values it gives the 11th for 95 %, they the 12th.
    """

    tag: str | None
    start_s: float
    length_s: float
    histogram: HdrHistogram


class Sink(Protocol):
    def write(self, lines: bytes, /) -> object: ...


def metrics(row: RequestRow) -> dict[str, NDArray[np.float64]]:
    """A row's times by metric, in seconds; what it does not know is not there.

    `ttft` from the request sent and `ttft_due` from when it was due, `before_headers`, `prompt_eval`; `gap` and, by the
    server's clock, `gap_server`, a sample per token. Nothing for a row that is not measured: a warm one, one that did
    not end well or was not what the scenario planned, one of a load that drains for a pause, and a baseline's first
    reply.
    """
    first_reply = row.row == "baseline" and row.number == 0
    if row.row == "warm" or row.outcome != "ok" or row.planned is False or row.draining or first_reply:
        return {}
    spans = {
        "ttft": (row.sent_s, row.first_token_s),
        "ttft_due": (row.due_s, row.first_token_s),
        "before_headers": (row.sent_s, row.headers_s),
        "prompt_eval": (0.0, None if row.prompt_ms is None else row.prompt_ms / 1e3),
    }
    found = {
        name: np.array([end - start])
        for name, (start, end) in spans.items()
        if start is not None and end is not None
    }  # fmt: skip
    found |= {"gap": gaps(row.token_s), "gap_server": gaps(row.token_server_ms) / 1e3}
    return {name: seconds for name, seconds in found.items() if len(seconds)}


def tag(point: str, row: RowName, metric: str) -> str:
    """`12+callers/load/gap`: the point as in a URL's query, since a tag holds no comma, space or newline.

    No two points have the same tag; `unquote_plus` gives the point back.
    """
    return f"{quote_plus(point, safe='/:=;@()')}/{row}/{metric}"


def header(epoch_s: float) -> bytes:
    """The log's first lines. `epoch_s`: the wall time at 0 on the run's clock, in seconds since the epoch."""
    when = datetime.fromtimestamp(epoch_s, UTC).isoformat(" ", "milliseconds")
    # With the base time no reader has to guess that intervals are relative to the start.
    lines = [
        "#[loadsim: values in microseconds, Interval_Max in milliseconds]",
        "#[Histogram log format version 1.2]",
        f"#[StartTime: {epoch_s:.3f} (seconds since epoch), {when}]",
        f"#[BaseTime: {epoch_s:.3f} (seconds since epoch)]",
        LEGEND,
    ]
    return "\n".join([*lines, ""]).encode()


class Histograms:
    """The histograms of the interval under way, `found` by point, row and metric.

    `clamped` counts by tag, over the whole run, the values outside.
    """

    def __init__(self) -> None:
        self.clamped: Counter[str] = Counter()
        self.found: dict[tuple[str, RowName, str], HdrHistogram] = {}

    def record(self, point: str, row: RowName, metric: str, seconds: NDArray[np.float64]) -> None:
        """Add values in seconds."""
        key = (point, row, metric)
        histogram = self.found.get(key)
        if histogram is None:
            histogram = self.found[key] = HdrHistogram(LOWEST_US, HIGHEST_US, DIGITS)
        with np.errstate(over="ignore"):  # what is too large is clamped
            us = np.rint(seconds * US_PER_S)
        within = np.clip(us, LOWEST_US, HIGHEST_US)
        if outside := int(np.count_nonzero(us != within)):
            self.clamped[tag(*key)] += outside
        # A record costs a microsecond, so each value the histogram can tell apart is recorded once, with its count.
        step = np.exp2(np.maximum(np.frexp(within)[1] - BITS, 0))
        for value, count in zip(*np.unique(np.floor(within / step) * step, return_counts=True), strict=True):
            histogram.record_value(int(value), int(count))

    def write(self, file: Sink, start_s: float, end_s: float, point: str | None = None) -> None:
        """Append a line for each histogram of `point`, None: of all, and begin them anew.

        The interval is in seconds on the run's clock, which are never negative.
        """
        keys = [key for key in self.found if point in (None, key[0])]
        lines = []
        for key in keys:
            histogram = self.found.pop(key)
            times = f"{start_s:.3f},{end_s - start_s:.3f},{histogram.get_max_value() / US_PER_MS:.3f}"
            lines.append(f"Tag={tag(*key)},{times},{histogram.encode().decode()}\n")
            # It and its encoder hold each other, and under load the garbage collector comes so seldom that each
            # window's, some 100 KB, would stay.
            histogram.encoder = None
        if lines:
            file.write("".join(lines).encode())


def read_log(path: Path) -> list[Interval]:
    """The intervals of a log; half a last line, as a killed run leaves it, is not among them.

    Raises BadInput, with file and line, where another line cannot be read.
    """
    try:
        lines = path.read_bytes().splitlines(keepends=True)
    except OSError as error:
        raise BadInput(f"cannot read {path}: {error.strerror}") from error
    found = []
    for number, line in enumerate(lines, 1):
        text = line.decode("utf-8", "replace").strip()
        if not text or text[0] in '#"':
            continue
        match = LINE.fullmatch(text)
        try:
            if not match:
                raise ValueError("not an interval of HdrHistogram's log format")
            histogram = HdrHistogram.decode(match[4])
            interval = Interval(tag=match[1], start_s=float(match[2]), length_s=float(match[3]), histogram=histogram)
        except UNREADABLE as error:
            if not line.endswith(b"\n"):
                break
            raise BadInput(f"{path}:{number}: {error or 'not a histogram'}") from error
        found.append(interval)
    return found
