"""A run's tables, to be read by other programs: rows come one by one, however long the run.

Missing is None. Times are seconds on the run's clock, unless a name ends in another unit.
"""

from collections.abc import Callable, Iterator, Sequence
from itertools import repeat
from typing import Any

import msgspec

from ...results.read import SAMPLES, read
from ...results.stream import Stream
from ...scenario.secret import masked
from ...stats.delivered import Delivered
from ...stats.headline import in_headline
from ...stats.spread import Range, since
from ...stats.summary import Who
from ...stats.tokens import decode_rate, gaps
from ...types import RequestRow
from ..point import Point, points
from .columns import Cell, Column, Kind, Record, as_json, record

Row = tuple[Cell, ...]


class Table(msgspec.Struct, frozen=True, kw_only=True):
    """A table: what its rows are, its columns, the run's file that it is made of, and its rows."""

    about: str
    columns: tuple[Column, ...]
    file: str
    rows: Callable[[Stream], Iterator[Row]]


def _columns(**kinds: Kind) -> tuple[Column, ...]:
    return tuple(Column(name, kind) for name, kind in kinds.items())


_REQUEST = record(RequestRow, leave=("id", "token_s", "token_server_ms"))
_WHOSE = ("point", "repeat", "row", "group", "caller", "call", "turn", "step", "attempt")
_OF_TOKEN = record(RequestRow, leave=[name for name in RequestRow.__struct_fields__ if name not in _WHOSE])
_WHO = record(Who)
_SHARE, _SHARE_BY_GAP = record(Range, prefix="share_"), record(Range, prefix="share_by_gap_")
_DELIVERED = record(Delivered)


def _requests(run: Stream) -> Iterator[Row]:
    for number, row in run.rows():
        ttft, ttfs = since(row.sent_s, row.first_token_s), since(row.sent_s, row.first_speech_s)
        counted = row.row != "warm" and in_headline(row)
        figures = (counted, _micro(ttft), _micro(ttfs), len(row.token_s), decode_rate(row.token_s))
        yield (number, *_REQUEST.cells(row), *figures)


def _tokens(run: Stream) -> Iterator[Row]:
    for number, row in run.rows():
        times, server = row.token_s, row.token_server_ms
        n = len(times)
        whose = [repeat(value, n) for value in (number, *_OF_TOKEN.cells(row))]
        sent = row.sent_s
        at = [None if sent is None else _micro(sent + t) for t in times]
        yield from zip(
            *whose,
            range(n),
            *(_filled(cells, n) for cells in (at, times, _gaps(times), server, _gaps(server))),
            strict=True,
        )


def _gaps(times: Sequence[float]) -> list[float | None]:
    """The gap before each token, as `stats.tokens` has them; none before those of the first read."""
    found = [round(float(gap), 6) for gap in gaps(times)] if len(times) > 1 else []
    return [*repeat(None, len(times) - len(found)), *found]


def _filled(cells: Sequence[Any], n: int) -> Sequence[Any]:
    return cells if len(cells) == n else [*cells[:n], *repeat(None, n - len(cells))]


def _micro(seconds: float | None) -> float | None:
    """A microsecond is all that is recorded; the rest is what adding makes of it."""
    return None if seconds is None else round(seconds, 6)


def _replies(run: Stream) -> Iterator[Row]:
    for text in run.texts():
        yield (text.request, text.text)


def _events(run: Stream) -> Iterator[Row]:
    own = ("t_s", "event", "point", "repeat", "resumed")
    for event in run.events:
        rest = {name: value for name, value in event.items() if name not in own}
        point, repeat_ = event.get("point"), event.get("repeat")
        yield (
            float(event["t_s"]),
            masked(event["event"]),
            masked(point) if isinstance(point, str) else None,
            repeat_ if isinstance(repeat_, int) else None,
            event.get("resumed", 0),
            as_json(rest) if rest else None,
        )


def _summary(run: Stream) -> Iterator[Row]:
    for point in points(read(run.path)):
        yield from _lines(point)


def _lines(point: Point) -> Iterator[Row]:
    summary = point.summary
    for who in point.everyone:
        alone = who is summary.baseline
        share = None if alone else summary.shares[who.name]
        by_mean, by_gap = (share.mean.both, share.gap.both) if share else (None, None)
        yield (
            masked(summary.point),
            "baseline" if alone else "load",
            *_WHO.cells(who),
            *_range(_SHARE, by_mean),
            *_range(_SHARE_BY_GAP, by_gap),
            *(repeat(None, len(_DELIVERED.gets)) if alone else _DELIVERED.cells(summary.delivered)),
            None if alone else summary.error_rate,
            summary.holds,
        )


def _range(of: Record, found: Range | None) -> Row:
    return tuple(repeat(None, len(of.gets))) if found is None else of.cells(found)


def _log(name: str) -> Table:
    kind = SAMPLES[name]
    of = record(kind)

    def rows(run: Stream) -> Iterator[Row]:
        yield from map(of.cells, run.samples(name))

    return Table(about=kind.__doc__ or "", columns=of.columns, file=f"{name}.jsonl", rows=rows)


_ABOUT_REQUESTS = f"""A row per request, as it ended. {RequestRow.__doc__}

`request` is its number in requests.jsonl, from 0; the times of its tokens are in `tokens`. Rows of load points that
were begun again are left out. `counted`: the request is in the tables' figures. `ttft_s`, `ttfs_s`: from the request
sent to the first token, and to the first speakable chunk. `tokens`: how many arrived; `decode`: tokens/s after the
first read.
"""
_ABOUT_TOKENS = """A row per token, in the order of the requests' ends.

`token` is its number in the reply, from 0; `t_s` when it arrived, on the run's clock, and `after_s` after the request
was sent. `gap_s`: since the read before it; tokens that arrived in one read share that time, those of a reply's first
read have none. `server_ms`, `server_gap_ms`: the same by the server's own clock, milliseconds since its first token.
"""
_ABOUT_SUMMARY = f"""A row per load point for one caller alone (`row` is `baseline`), and for each group under load.
Seconds and tokens/s. {Who.__doc__}

`share`: of one caller's decode rate, its median, least and most over `n` repeats; `share_by_gap` by 1 / median gap.
{Delivered.__doc__} `holds`: the figures may be given as an answer.
"""

TABLES: dict[str, Table] = {
    "requests": Table(
        about=_ABOUT_REQUESTS,
        columns=(
            Column("request", "integer"),
            *_REQUEST.columns,
            *_columns(counted="boolean", ttft_s="real", ttfs_s="real", tokens="integer", decode="real"),
        ),
        file="requests.jsonl",
        rows=_requests,
    ),
    "tokens": Table(
        about=_ABOUT_TOKENS,
        columns=(
            Column("request", "integer"),
            *_OF_TOKEN.columns,
            *_columns(
                token="integer", t_s="real", after_s="real", gap_s="real", server_ms="real", server_gap_ms="real"
            ),
        ),
        file="requests.jsonl",
        rows=_tokens,
    ),
    "replies": Table(
        about="A reply's text, as it came; `request` is its number in requests.jsonl.",
        columns=_columns(request="integer", text="text"),
        file="replies.jsonl",
        rows=_replies,
    ),
    **{name: _log(name) for name in SAMPLES},
    "events": Table(
        about="What happened, and when; `fields`: what else the event told, as JSON.",
        columns=_columns(t_s="real", event="text", point="text", repeat="integer", resumed="integer", fields="text"),
        file="events.jsonl",
        rows=_events,
    ),
    "summary": Table(
        about=_ABOUT_SUMMARY,
        columns=(
            *_columns(point="text", row="text"),
            *_WHO.columns,
            *_SHARE.columns,
            *_SHARE_BY_GAP.columns,
            *_DELIVERED.columns,
            *_columns(error_rate="real", holds="boolean"),
        ),
        file="requests.jsonl",
        rows=_summary,
    ),
}
"""By their names, in the order in which they are listed."""
