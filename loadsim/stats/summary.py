"""The figures of a load point from its rows. Seconds in, seconds and tokens/s out; what is not known is None."""

from collections import Counter
from collections.abc import Iterable, Sequence

import msgspec
import numpy as np

from ..types import RequestRow
from .calls import Event, calls
from .delivered import Delivered, delivered
from .headline import ANSWERED, call_of, failed, in_headline, last_attempts, step_of
from .places import Places, moves, slots_used
from .share import Share, share
from .spread import Spread, known, middle, since, spread
from .tokens import decode_rate, gaps, median_gap_rate, window_rate

TOO_MANY_ERRORS = 0.05


class Who(msgspec.Struct, frozen=True, kw_only=True):
    """What one group's callers met at a load point, or one caller alone; over all repeats pooled.

    Figures are over `rows`, the answered ones of the planned kind, of `planned_rows` in all; `each`: how many of those
    a repeat has, where all have as many. A request that was sent again counts at its last try. Superseded requests are
    in `outcomes`, `evaluated` and `new` only. `kinds`,
    `draining`: requests that were sent while the load drained for a pause, in none of the figures. `outcomes` and
    `errors` count every row, `unplanned` those of a kind that was not planned. `calls`, `hung_up`:
    calls, and those whose caller lost patience, after waiting for `gave_up` seconds (p50). `ttft_due` is from the first
    of a request's attempts.
    `total` is tokens/s of all callers while all are speaking, the median over repeats. `prompt`: tokens of whole
    prompts; `evaluated`, `new`: prompt tokens evaluated in all, and by how many the prompts grew, without those of
    `untold` requests, which ended before the server told. `moves`: how often a turn was served by another slot
    than the caller's one before it, its warm row's at first.
    """

    name: str
    callers: int
    repeats: int
    rows: int
    planned_rows: int
    draining: int
    each: int | None
    calls: int
    hung_up: int
    gave_up: float | None
    ttft: Spread
    ttft_due: Spread
    before_headers: float | None
    prompt_eval: float | None
    gap: Spread
    decode: float | None
    decode_slowest: float | None
    gap_rate: float | None
    total: float | None
    cache_n: tuple[int, int] | None
    prompt: tuple[int, int] | None
    evaluated: int | None
    new: int | None
    untold: int
    slots_used: int | None
    moves: int | None
    kinds: dict[str, int]
    unplanned: dict[str, int]
    outcomes: dict[str, int]
    errors: dict[str, int]
    clocks_differ: int


class PointSummary(msgspec.Struct, frozen=True, kw_only=True):
    """A load point: one caller alone, the groups under load, their share of the one caller's decode rate.

    `error_rate` is of turns where calls' ends are recorded (`by_turns`), else of requests.
    """

    point: str
    baseline: Who | None
    before: float | None
    after: float | None
    load: list[Who]
    shares: dict[str, Share]
    delivered: Delivered
    error_rate: float
    by_turns: bool

    @property
    def holds(self) -> bool:
        """Whether the figures may be given as an answer: enough was answered, and of each group half as planned."""
        enough = all(who.rows and who.rows * 2 >= who.planned_rows for who in self.load)
        return self.error_rate <= TOO_MANY_ERRORS and bool(self.load) and enough


def summarize(rows: Iterable[RequestRow], events: Sequence[Event] = ()) -> list[PointSummary]:
    """A summary per load point that has a measured row, in the order of their first rows."""
    points: dict[str, list[RequestRow]] = {}
    for row in rows:
        points.setdefault(row.point, []).append(row)
    return [
        _point(name, found, events)
        for name, found in points.items()
        if any(row.row in ("baseline", "load") for row in found)
    ]


def _point(name: str, rows: list[RequestRow], events: Sequence[Event]) -> PointSummary:
    alone = [row for row in rows if row.row == "baseline" and row.number != 0]
    load = [row for row in rows if row.row == "load"]
    warm = {(row.repeat, row.group, row.caller): row.slot for row in rows if row.row == "warm"}
    groups = {row.group: None for row in load}
    clean = [row for row in alone if in_headline(row)]
    ended = calls(events, name)
    return PointSummary(
        point=name,
        baseline=_who("one caller", alone, {}) if alone else None,
        before=middle(decode_rate(row.token_s) for row in clean if row.side == "before"),
        after=middle(decode_rate(row.token_s) for row in clean if row.side == "after"),
        load=[_who(group, [row for row in load if row.group == group], warm) for group in groups],
        shares={
            group: share(clean, [row for row in load if row.group == group and in_headline(row)]) for group in groups
        },
        delivered=delivered(load),
        error_rate=ended.error_rate if ended else _error_rate(load),
        by_turns=ended is not None,
    )


def _who(name: str, every: list[RequestRow], warm: Places) -> Who:
    rows = last_attempts(row for row in every if row.outcome != "superseded" and not row.draining)
    tries = [row for row in every if row.outcome != "superseded"]
    good = [row for row in rows if in_headline(row)]
    decode = known(decode_rate(row.token_s) for row in good)
    pooled = np.concatenate([gaps(row.token_s) for row in good]) if good else np.empty(0)
    repeats = Counter(row.repeat for row in rows)
    each = set(repeats.values())
    told = [row for row in every if row.cache_n is not None]
    gone = [row for row in rows if row.abandoned]
    due = _first_due(tries)
    return Who(
        name=name,
        callers=len({row.caller for row in rows}),
        repeats=len(repeats),
        rows=len(good),
        planned_rows=len(rows),
        draining=sum(row.draining for row in every),
        each=each.pop() if len(each) == 1 else None,
        calls=len(set(map(call_of, rows))),
        hung_up=len(set(map(call_of, gone))),
        gave_up=middle(since(row.spoke.end_s if row.spoke else due.get(_step(row)), row.end_s) for row in gone),
        ttft=spread(known(since(row.sent_s, row.first_token_s) for row in good)),
        ttft_due=spread(known(since(due.get(_step(row)), row.first_token_s) for row in good)),
        before_headers=middle(since(row.sent_s, row.headers_s) for row in good),
        prompt_eval=middle(None if row.prompt_ms is None else row.prompt_ms / 1e3 for row in good),
        gap=spread(pooled),
        decode=middle(decode),
        decode_slowest=min(decode, default=None),
        gap_rate=middle(median_gap_rate(row.token_s) for row in good),
        total=middle(_total([row for row in every if row.repeat == repeat]) for repeat in repeats),
        cache_n=_range(row.cache_n for row in good),
        prompt=_range(_prompt(row) for row in good),
        evaluated=sum(row.prompt_n or 0 for row in told) if told else None,
        new=sum(row.new_tokens or 0 for row in told) if told else None,
        untold=sum(row.cache_n is None and row.sent_s is not None for row in every) if told else 0,
        slots_used=slots_used(rows),
        moves=moves(rows, warm),
        kinds=dict(Counter(row.kind or "unknown" for row in rows if row.outcome in ANSWERED)),
        unplanned=dict(Counter(row.kind for row in rows if row.planned is False and row.kind is not None)),
        outcomes=dict(Counter(row.outcome for row in every)),
        errors=dict(Counter(row.error or row.outcome for row in tries if failed(row))),
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


def _error_rate(load: list[RequestRow]) -> float:
    """Of requests; those that were sent too early are none that a caller waited for."""
    return sum(map(failed, load)) / max(sum(row.outcome != "superseded" for row in load), 1)


def _first_due(rows: list[RequestRow]) -> dict[tuple[object, ...], float]:
    """When each step was first due: who is answered at the second try has waited since the first."""
    due: dict[tuple[object, ...], float] = {}
    for row in rows:
        if row.due_s is not None:
            due[_step(row)] = min(due.get(_step(row), row.due_s), row.due_s)
    return due


def _step(row: RequestRow) -> tuple[object, ...]:
    """What a row is an attempt at; one caller alone asks for the same again and again."""
    return (*step_of(row), row.side, row.number)


def _prompt(row: RequestRow) -> int | None:
    return None if row.prompt_n is None else row.prompt_n + (row.cache_n or 0)


def _total(rows: list[RequestRow]) -> float | None:
    """Of a repeat whose rows all count; a part of them would pass for all."""
    if not all(map(in_headline, rows)):
        return None
    spoken = [row for row in rows if row.first_token_s is not None and row.last_token_s is not None]
    if max((row.first_token_s or 0.0 for row in spoken), default=0.0) > min(
        (row.last_token_s or 0.0 for row in spoken), default=0.0
    ):
        return None  # they never all speak at once, as in hours of load
    return window_rate([[t + row.sent_s for t in row.token_s] for row in rows if row.sent_s is not None])


def _range(values: Iterable[int | None]) -> tuple[int, int] | None:
    found = [value for value in values if value is not None]
    return (min(found), max(found)) if found else None
