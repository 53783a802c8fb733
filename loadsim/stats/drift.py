"""Drift: how one caller alone fares in the course of a run. A card that heats up slows down while nothing else changes.

The one-caller rows that stand around each repeat are measured from the same state every time, so that what they differ
by is the card.
"""

from collections.abc import Iterable

import msgspec

from ..types import RequestRow, Side
from .headline import in_headline
from .spread import known, middle, since
from .tokens import decode_rate, gaps


class Alone(msgspec.Struct, frozen=True, kw_only=True):
    """One caller alone at one time, in `replies` replies that count; the first of them was sent at `at`, and the last
    ended at `until` (run's clock). Medians of the first token (s), the `gap` (s, all pooled) and the decode rate
    (tokens/s), the slowest, and all `rates`; `own`: the median by the server's own clock, where it tells. Where no
    reply counts, `at` and `until` are of those that were asked for."""

    point: str
    repeat: int
    side: Side | None
    at: float
    until: float
    replies: int
    first_token: float | None
    gap: float | None
    decode: float | None
    slowest: float | None
    rates: tuple[float, ...]
    own: float | None


class Minute(msgspec.Struct, frozen=True):
    """Replies under load that ended in one step of time: the step's middle on the run's clock, how many there are, and
    the median of their decode rates."""

    at: float
    replies: int
    decode: float | None


def alone(rows: Iterable[RequestRow], failed: bool = False) -> list[Alone]:
    """The one-caller rows of a run in the order in which they were measured, over all its load points: a side of a
    repeat is one time, and so is each pause within a load, which is told by the rows' `call`. `failed`: also times in
    which no reply counts."""
    times: dict[tuple[str, int, str | None, int], list[RequestRow]] = {}
    for row in rows:
        if row.row == "baseline" and row.sent_s is not None:
            times.setdefault((row.point, row.repeat, row.side, row.call), []).append(row)
    found = [_alone([row for row in asked if in_headline(row)], asked) for asked in times.values()]
    return sorted((each for each in found if each.replies or failed), key=lambda each: each.at)


def change(found: list[Alone]) -> float | None:
    """The last decode rate over the first, less 1; None: there are no two that are known."""
    rates = known(each.decode for each in found)
    return rates[-1] / rates[0] - 1 if len(rates) > 1 else None


def course(rows: Iterable[RequestRow], step: float) -> list[Minute]:
    """The decode rate under load over time, in steps of so many seconds; steps in which no reply ended are left out."""
    steps: dict[int, list[RequestRow]] = {}
    for row in rows:
        if row.row == "load" and in_headline(row) and row.end_s is not None:
            steps.setdefault(int(row.end_s // step), []).append(row)
    return [
        Minute((number + 0.5) * step, len(found), middle(decode_rate(row.token_s) for row in found))
        for number, found in sorted(steps.items())
    ]


def _alone(rows: list[RequestRow], asked: list[RequestRow]) -> Alone:
    """Of the replies that count, of those that were asked for at one time."""
    rates = known(decode_rate(row.token_s) for row in rows)
    return Alone(
        point=asked[0].point,
        repeat=asked[0].repeat,
        side=asked[0].side,
        at=min(row.sent_s for row in rows or asked if row.sent_s is not None),
        until=max((row.end_s or row.sent_s or 0.0) for row in rows or asked),
        replies=len(rows),
        first_token=middle(since(row.sent_s, row.first_token_s) for row in rows),
        gap=middle(float(gap) for row in rows for gap in gaps(row.token_s)),
        decode=middle(rates),
        slowest=min(rates, default=None),
        rates=tuple(rates),
        own=middle(decode_rate([ms / 1e3 for ms in row.token_server_ms]) for row in rows),
    )
