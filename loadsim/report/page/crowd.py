"""The load points of a page by their callers, as the lines that its charts draw."""

from collections.abc import Callable, Iterable, Sequence

import msgspec

from ...stats.headline import in_headline, last_attempts
from ...stats.spread import Range, ranged, since
from ...stats.summary import Who
from ...stats.tokens import decode_rate, percentile
from ...stats.tokens import stall as largest_gap
from ...types import RequestRow
from ..answer import refusal
from ..point import Point
from ..setting import sets
from .parts import Role, Shown

FEW = 100  # samples: with fewer there is no p99

Figure = Callable[[RequestRow], float | None]
"""What a chart shows of a reply; None: it has none."""
Key = tuple[str, str, bool, str]
"""What the load points of one line share: the run, the group, whether it is paced, and what else they set."""


class Mark(msgspec.Struct, frozen=True, kw_only=True):
    """One group's replies at one load point, those that count; `alone`: one caller's around it. `callers`: of the
    whole load point. `start`: when its first one was sent, on the run's clock."""

    shown: Shown
    point: Point
    who: Who
    callers: int
    rows: list[RequestRow]
    alone: list[RequestRow]
    start: float


class Line(msgspec.Struct, frozen=True, kw_only=True):
    """Load points that differ by their callers only, fewest first; `paced`: callers with the pace of people. `one`:
    all of one run, whose card is the same."""

    label: str
    role: Role
    paced: bool
    one: bool
    marks: list[Mark]

    @property
    def last(self) -> list[Mark]:
        """A mark for each number of callers: the one measured last, where a search came back to it."""
        return list({mark.callers: mark for mark in self.marks}.values())

    @property
    def grows(self) -> bool:
        return len(self.last) > 1


def lines(shown: Sequence[Shown]) -> list[Line]:
    """Those of the load points that have an answer."""
    marks = [mark for one in shown for mark in _marks(one)]
    keys = [(m.shown.label, m.who.name, m.point.setting.paced, _rest(m.shown, m.point.name)) for m in marks]
    found: dict[Key, list[Mark]] = {}
    for key, mark in zip(keys, marks, strict=True):
        found.setdefault(key, []).append(mark)
    if joined := _across(found):
        found = joined
    columns = [len(set(column)) > 1 for column in zip(*found, strict=True)]
    out = []
    for (run, group, paced, rest), of in found.items():
        pace = "paced" if paced else "together"
        parts = [part for part, told in zip((run, group, pace, rest), columns, strict=True) if told and part]
        out.append(
            Line(
                label=", ".join(parts) or group,
                role="cold" if group in of[0].point.setting.cold else "other" if paced else "load",
                paced=paced,
                one=len({mark.shown.label for mark in of}) == 1,
                marks=sorted(of, key=lambda mark: mark.callers),
            )
        )
    return out


def refused(shown: Sequence[Shown]) -> list[str]:
    """Why load points are in no chart."""
    return [
        f"{one.name(point.name)} is in no picture of this page: {why}"
        for one in shown
        for point in one.points
        if (why := refusal(point))
    ]


def counted(rows: Iterable[RequestRow]) -> list[RequestRow]:
    """The replies of one load point that its figures are made of."""
    return [row for row in last_attempts(row for row in rows if row.outcome != "superseded") if in_headline(row)]


def values(rows: Iterable[RequestRow], of: Figure) -> list[float]:
    return [value for row in rows if (value := of(row)) is not None]


def by_repeat(rows: Iterable[RequestRow], of: Figure) -> dict[int, list[float]]:
    """A figure of the replies of each repeat."""
    found: dict[int, list[float]] = {}
    for row in rows:
        if (value := of(row)) is not None:
            found.setdefault(row.repeat, []).append(value)
    return found


def over_repeats(rows: Iterable[RequestRow], of: Figure, q: float) -> Range | None:
    """How far each repeat's own percentile reaches."""
    return ranged(percentile(found, q) for found in by_repeat(rows, of).values())


def p99(found: Sequence[float]) -> float | None:
    """None: too few samples for one."""
    return percentile(found, 99) if len(found) >= FEW else None


def ttft(row: RequestRow) -> float | None:
    return since(row.sent_s, row.first_token_s)


def ttfs(row: RequestRow) -> float | None:
    return since(row.sent_s, row.first_speech_s)


def stall(row: RequestRow) -> float | None:
    return largest_gap(row.token_s)


def rate(row: RequestRow) -> float | None:
    return decode_rate(row.token_s)


def _marks(one: Shown) -> list[Mark]:
    load: dict[tuple[str, str], list[RequestRow]] = {}
    alone: dict[str, list[RequestRow]] = {}
    for row in one.run.rows:
        if row.row == "load":
            load.setdefault((row.point, row.group), []).append(row)
        elif row.row == "baseline":
            alone.setdefault(row.point, []).append(row)
    found = []
    for point in one.points:
        if refusal(point):
            continue
        callers = sum(who.callers for who in point.summary.load)
        quiet = counted(alone.get(point.name, []))
        groups = {who.name: counted(load.get((point.name, who.name), [])) for who in point.summary.load}
        everyone = [row.sent_s for rows in (quiet, *groups.values()) for row in rows if row.sent_s is not None]
        found += [
            Mark(
                shown=one,
                point=point,
                who=who,
                callers=callers,
                rows=groups[who.name],
                alone=quiet,
                start=min(everyone, default=0.0),
            )
            for who in point.summary.load
        ]
    return found


def _rest(one: Shown, point: str) -> str:
    """What a load point sets beside numbers of callers; a search has what it needs for so many callers."""
    sweep = (one.run.facts.get("scenario") or {}).get("sweep") or {}
    counts = [key for key in sweep if key.startswith("callers.") and key.endswith(".count")]
    zipped = (one.run.facts.get("scenario") or {}).get("sweep_by") == "zip"
    if one.search is not None or (zipped and counts):
        return ""
    rest = {key: value for key, value in sets(one.run, point).items() if key not in counts}
    return ", ".join(f"{key.rpartition('.')[2]}={value}" for key, value in rest.items())


def _across(found: dict[Key, list[Mark]]) -> dict[Key, list[Mark]] | None:
    """Runs of one load size each, all different, as lines across the runs; None: they are no such runs."""
    joined: dict[Key, list[Mark]] = {}
    for (_, group, paced, rest), marks in found.items():
        joined.setdefault(("", group, paced, rest), []).extend(marks)
    different = all(len({mark.callers for mark in of}) == len(of) for of in joined.values())
    return joined if different and len(joined) < len(found) else None
