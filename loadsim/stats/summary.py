"""The figures of a load point from its rows. Seconds in, seconds and tokens/s out; what is not known is None."""

from collections import Counter
from collections.abc import Iterable, Sequence
from statistics import median

import msgspec
import numpy as np

from ..types import RequestRow
from .share import Share, share
from .tokens import decode_rate, gaps, median_gap_rate, percentile, window_rate

TOO_MANY_ERRORS = 0.05
ANSWERED = ("ok", "empty", "cut")

Places = dict[tuple[int, str, int], int | None]
"""The slot of each caller: by repeat, group and number."""


class Spread(msgspec.Struct, frozen=True):
    """p50, p95 and the largest of a pool of samples."""

    p50: float | None
    p95: float | None
    max: float | None


class Who(msgspec.Struct, frozen=True, kw_only=True):
    """What one group's callers met at a load point, or one caller alone; over all repeats pooled.

    Figures are over `rows`, the answered ones of the planned kind, of `planned_rows` in all; `kinds`, `outcomes` and
    `errors` count every row, `unplanned` those of a kind that was not planned. `total` is tokens/s of all callers while
    all are speaking, the median over repeats. `prompt`: tokens of whole prompts; `evaluated`, `new`: prompt tokens
    evaluated in all, and those of them that were new to the call. `moves`: how often a turn was served by another slot
    than the caller's one before it, its warm row's at first.
    """

    name: str
    callers: int
    repeats: int
    rows: int
    planned_rows: int
    ttft: Spread
    ttft_due: Spread
    before_headers: float | None
    prompt_eval: float | None
    first_speech: float | None
    gap: Spread
    decode: float | None
    decode_slowest: float | None
    gap_rate: float | None
    total: float | None
    cache_n: tuple[int, int] | None
    prompt: tuple[int, int] | None
    evaluated: int | None
    new: int | None
    slots_used: int | None
    moves: int | None
    kinds: dict[str, int]
    unplanned: dict[str, int]
    outcomes: dict[str, int]
    errors: dict[str, int]
    clocks_differ: int


class Delivered(msgspec.Struct, frozen=True, kw_only=True):
    """The load as it really was: callers in flight at once, seconds between the first and the last request of a
    repeat's start, and how late requests left after they were due (p99)."""

    in_flight: int
    start_spread: float | None
    late: float | None


class PointSummary(msgspec.Struct, frozen=True, kw_only=True):
    """A load point: one caller alone, the groups under load, their share of the one caller's decode rate."""

    point: str
    baseline: Who | None
    before: float | None
    after: float | None
    load: list[Who]
    shares: dict[str, Share]
    delivered: Delivered
    error_rate: float

    @property
    def holds(self) -> bool:
        """Whether the figures may be given as an answer: enough was answered, and of each group half as planned."""
        enough = all(who.rows and who.rows * 2 >= who.planned_rows for who in self.load)
        return self.error_rate <= TOO_MANY_ERRORS and bool(self.load) and enough


def in_headline(row: RequestRow) -> bool:
    """Answered, of the planned kind, and not a baseline's first reply."""
    return row.outcome == "ok" and row.planned is not False and not (row.row == "baseline" and row.number == 0)


def summarize(rows: Iterable[RequestRow]) -> list[PointSummary]:
    """A summary per load point that has a measured row, in the order of their first rows."""
    points: dict[str, list[RequestRow]] = {}
    for row in rows:
        points.setdefault(row.point, []).append(row)
    return [_point(name, found) for name, found in points.items() if any(row.row != "warm" for row in found)]


def _point(name: str, rows: list[RequestRow]) -> PointSummary:
    alone = [row for row in rows if row.row == "baseline" and row.number != 0]
    load = [row for row in rows if row.row == "load"]
    warm = {(row.repeat, row.group, row.caller): row.slot for row in rows if row.row == "warm"}
    groups = {row.group: None for row in load}
    clean = [row for row in alone if in_headline(row)]
    return PointSummary(
        point=name,
        baseline=_who("one caller", alone, {}) if alone else None,
        before=_median(decode_rate(row.token_s) for row in clean if row.side == "before"),
        after=_median(decode_rate(row.token_s) for row in clean if row.side == "after"),
        load=[_who(group, [row for row in load if row.group == group], warm) for group in groups],
        shares={
            group: share(clean, [row for row in load if row.group == group and in_headline(row)]) for group in groups
        },
        delivered=_delivered(load),
        error_rate=sum(row.outcome not in ANSWERED for row in load) / max(len(load), 1),
    )


def _who(name: str, rows: list[RequestRow], warm: Places) -> Who:
    good = [row for row in rows if in_headline(row)]
    decode = _known(decode_rate(row.token_s) for row in good)
    pooled = np.concatenate([gaps(row.token_s) for row in good]) if good else np.empty(0)
    repeats = {row.repeat for row in rows}
    told = [row for row in rows if row.cache_n is not None]
    return Who(
        name=name,
        callers=len({row.caller for row in rows}),
        repeats=len(repeats),
        rows=len(good),
        planned_rows=len(rows),
        ttft=_spread(_known(_since(row, row.sent_s, row.first_token_s) for row in good)),
        ttft_due=_spread(_known(_since(row, row.due_s, row.first_token_s) for row in good)),
        before_headers=_median(_since(row, row.sent_s, row.headers_s) for row in good),
        prompt_eval=_median(None if row.prompt_ms is None else row.prompt_ms / 1e3 for row in good),
        first_speech=_median(_since(row, row.sent_s, row.first_speech_s) for row in good),
        gap=_spread(pooled),
        decode=percentile(decode, 50),
        decode_slowest=min(decode, default=None),
        gap_rate=_median(median_gap_rate(row.token_s) for row in good),
        total=_median(_total([row for row in rows if row.repeat == repeat]) for repeat in repeats),
        cache_n=_range(row.cache_n for row in good),
        prompt=_range(_prompt(row) for row in good),
        evaluated=sum(row.prompt_n or 0 for row in told) if told else None,
        new=sum(row.new_tokens or 0 for row in told) if told else None,
        slots_used=_slots_used(rows),
        moves=_moves(rows, warm),
        kinds=dict(Counter(row.kind or "unknown" for row in rows if row.outcome in ANSWERED)),
        unplanned=dict(Counter(row.kind for row in rows if row.planned is False and row.kind is not None)),
        outcomes=dict(Counter(row.outcome for row in rows)),
        errors=dict(Counter(row.error or row.outcome for row in rows if row.outcome not in ANSWERED)),
        clocks_differ=sum(map(clocks_differ, good)),
    )


def clocks_differ(row: RequestRow) -> bool:
    """The client saw another mean gap than the server, by over 5 % and 1 ms: the network or the client held tokens."""
    if len(row.token_s) < 2 or len(row.token_server_ms) != len(row.token_s):
        return False
    steps = len(row.token_s) - 1
    client = (row.token_s[-1] - row.token_s[0]) / steps
    server = (row.token_server_ms[-1] - row.token_server_ms[0]) / 1e3 / steps
    return abs(client - server) > max(0.05 * server, 1e-3)


def _prompt(row: RequestRow) -> int | None:
    return None if row.prompt_n is None else row.prompt_n + (row.cache_n or 0)


def _total(rows: list[RequestRow]) -> float | None:
    """Of a repeat whose rows all count; a part of them would pass for all."""
    if not all(map(in_headline, rows)):
        return None
    return window_rate([[t + row.sent_s for t in row.token_s] for row in rows if row.sent_s is not None])


def _delivered(load: list[RequestRow]) -> Delivered:
    flights = [(row.sent_s, row.end_s) for row in load if row.sent_s is not None and row.end_s is not None]
    # At one instant the end of a reply comes before the start of another.
    steps = sorted([(start, 1) for start, _ in flights] + [(end, -1) for _, end in flights])
    in_flight = max(np.cumsum([step for _, step in steps]), default=0)
    starts: dict[int, list[float]] = {}
    for row in load:
        if row.sent_s is not None and row.due_s is not None:
            starts.setdefault(row.repeat, []).append(row.sent_s)
    together = _together(load)
    return Delivered(
        in_flight=int(in_flight),
        start_spread=max((max(sent) - min(sent) for sent in starts.values()), default=None) if together else None,
        late=percentile(_known(_since(row, row.due_s, row.sent_s) for row in load), 99),
    )


def _together(load: list[RequestRow]) -> bool:
    """Whether all requests of a repeat were due at one time."""
    due: dict[int, set[float | None]] = {}
    for row in load:
        due.setdefault(row.repeat, set()).add(row.due_s)
    return all(len(times) == 1 for times in due.values())


def _slots_used(rows: list[RequestRow]) -> int | None:
    served = {row.served for row in rows}
    return None if None in served else len(served)


def _moves(rows: list[RequestRow], warm: Places) -> int | None:
    if any(row.served is None for row in rows):
        return None
    moved, last = 0, dict(warm)
    for row in sorted(rows, key=lambda row: row.sent_s or 0.0):
        call = (row.repeat, row.group, row.caller)
        moved += call in last and last[call] != row.served
        last[call] = row.served
    return moved


def _since(row: RequestRow, start: float | None, end: float | None) -> float | None:
    return None if start is None or end is None else end - start


def _known(values: Iterable[float | None]) -> list[float]:
    return [value for value in values if value is not None]


def _median(values: Iterable[float | None]) -> float | None:
    known = _known(values)
    return median(known) if known else None


def _range(values: Iterable[int | None]) -> tuple[int, int] | None:
    known = [value for value in values if value is not None]
    return (min(known), max(known)) if known else None


def _spread(values: Sequence[float] | np.ndarray) -> Spread:
    return Spread(percentile(values, 50), percentile(values, 95), percentile(values, 100))
