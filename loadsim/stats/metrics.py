"""What two runs are compared by: one figure per repeat, for twelve first tokens of one burst are one sample."""

from collections.abc import Iterable, Sequence
from typing import Literal

import msgspec

from ..types import RequestRow
from .headline import ANSWERED, failed, in_headline, last_attempts
from .heard import Around, dry, heard
from .summary import PointSummary, Who, summarize

Unit = Literal["s", "tokens/s", "ratio", "replies"]

ONE_CALLER = "one caller"
ENOUGH = 5  # repeats that an interval takes: see tests/benchmarks/coverage.py
BLOCKS = 10  # samples that one long load gives
BLOCK_ROWS = 20  # replies in each at the least


class Metric(msgspec.Struct, frozen=True, kw_only=True):
    """`name` as rules write it; `unit` of a repeat's figure, `replies` where such are counted that were bad. `speed`:
    moved by whatever makes the machine slower, as a share of one caller's rate is not."""

    name: str
    unit: Unit
    less_is_better: bool = True
    speed: bool = True

    @property
    def counted(self) -> bool:
        return self.unit == "replies"


TTFT, DECODE = "ttft p50", "decode p50"
SHARE, ERRORS, UNDERRUNS, OTHER_KIND, HUNG_UP = "share", "errors", "underruns", "other kind", "hung up"

METRICS = {
    metric.name: metric
    for metric in (
        Metric(name=TTFT, unit="s"),
        Metric(name="ttft p95", unit="s"),
        Metric(name="ttfs p50", unit="s"),
        Metric(name="ttfs p95", unit="s"),
        Metric(name="gap p50", unit="s"),
        Metric(name="gap p95", unit="s"),
        Metric(name=DECODE, unit="tokens/s", less_is_better=False),
        Metric(name="decode slowest", unit="tokens/s", less_is_better=False),
        Metric(name=SHARE, unit="ratio", less_is_better=False, speed=False),
        Metric(name="total", unit="tokens/s", less_is_better=False),
        Metric(name=ERRORS, unit="replies", speed=False),
        Metric(name=UNDERRUNS, unit="replies"),
        Metric(name=OTHER_KIND, unit="replies", speed=False),
        Metric(name=HUNG_UP, unit="replies"),
    )
}
OF_ONE = (TTFT, DECODE)
"""What one caller alone is compared by."""


class Sample(msgspec.Struct, frozen=True, kw_only=True):
    """One repeat of a group, or one block of a long load: figures by their metrics' names, None where not known, and of
    those that are counted how many replies were bad, and of how many."""

    figures: dict[str, float | None]
    counts: dict[str, tuple[int, int]] = {}


def samples(rows: Iterable[RequestRow], lasting: bool) -> dict[str, list[Sample]]:
    """The samples of each group of a load point and of one caller alone. `rows`: the point's; `lasting`: its load has a
    length, so that where repeats are too few, stretches of it are samples."""
    found: dict[str, list[Sample]] = {}
    for part in parts(list(rows), lasting):
        summary = next(iter(summarize(part)), None)
        if summary is None:
            continue
        if summary.baseline is not None:
            found.setdefault(ONE_CALLER, []).append(Sample(figures=_alone(summary.baseline)))
        for who in summary.load:
            load = [row for row in part if row.row == "load" and row.group == who.name]
            sample = Sample(figures=_figures(summary, who, load), counts=_counts(load))
            found.setdefault(who.name, []).append(sample)
    return found


def parts(rows: list[RequestRow], lasting: bool) -> list[list[RequestRow]]:
    """The rows by repeat, or by blocks of equal time of each repeat."""
    repeats: dict[int, list[RequestRow]] = {}
    for row in rows:
        repeats.setdefault(row.repeat, []).append(row)
    ordered = [repeats[number] for number in sorted(repeats)]
    if not lasting or len(ordered) >= ENOUGH:
        return ordered
    return [block for repeat in ordered for block in _blocks(repeat, BLOCKS // len(ordered))]


def _blocks(rows: list[RequestRow], most: int) -> list[list[RequestRow]]:
    """One long load in stretches of equal time; one caller's rows before and after it go to the first and the last."""
    sent = [row.sent_s for row in rows if row.row == "load" and row.sent_s is not None]
    count = max(min(most, len(sent) // BLOCK_ROWS), 1)
    if count == 1:
        return [rows]
    start, length = min(sent), max(max(sent) - min(sent), 1e-9) / count
    blocks: list[list[RequestRow]] = [[] for _ in range(count)]
    for row in rows:
        at = row.sent_s if row.sent_s is not None else row.due_s
        place = 0 if at is None else int((at - start) // length)
        blocks[min(max(place, 0), count - 1)].append(row)
    return blocks


def _alone(who: Who) -> dict[str, float | None]:
    return {TTFT: who.ttft.p50, DECODE: who.decode}


def _figures(summary: PointSummary, who: Who, load: Sequence[RequestRow]) -> dict[str, float | None]:
    ttfs = heard(list(load), Around()).ttfs
    share = summary.shares[who.name].mean.both
    return {
        TTFT: who.ttft.p50,
        "ttft p95": who.ttft.p95,
        "ttfs p50": ttfs.p50,
        "ttfs p95": ttfs.p95,
        "gap p50": who.gap.p50,
        "gap p95": who.gap.p95,
        DECODE: who.decode,
        "decode slowest": who.decode_slowest,
        SHARE: None if share is None else share.mid,
        "total": who.total,
    }


def _counts(load: Sequence[RequestRow]) -> dict[str, tuple[int, int]]:
    """How many replies were bad; a request that was sent again counts at its last try."""
    rows = last_attempts(row for row in load if row.outcome != "superseded")
    answered = [row for row in rows if row.outcome in ANSWERED and row.planned is not None]
    spoken = [row.playout for row in rows if in_headline(row) and row.playout is not None]
    counted = {
        ERRORS: (sum(map(failed, rows)), len(rows)),
        UNDERRUNS: (sum(map(dry, spoken)), len(spoken)),
        OTHER_KIND: (sum(row.planned is False for row in answered), len(answered)),
        HUNG_UP: (sum(row.abandoned for row in rows), len(rows)),
    }
    return {name: found for name, found in counted.items() if found[1]}
