"""A figure of many replies as a chart: over callers where their number differs, else over repeats, else over time."""

from collections.abc import Callable, Sequence
from itertools import chain
from statistics import median
from typing import Literal

from ...stats.tokens import percentile
from ...types import RequestRow
from ..words import ms, number
from .crowd import Figure, Line, Mark, p99, values
from .parts import Axis, Role, Series
from .thin import thin

Along = Literal["callers", "repeats", "time"]

AXES: dict[Along, Axis] = {
    "callers": Axis(label="callers", low=0),
    "repeats": Axis(label="repeat", low=0.5),
    "time": Axis(label="since the first request", scale="clock"),
}
MOST = 60  # single replies of a line that are drawn at one place of x
LONG = 1500  # and in all, where they are drawn over time


def along(lines: Sequence[Line]) -> Along:
    """What the lines differ by, or their replies do."""
    if any(line.grows for line in lines):
        return "callers"
    repeats = {row.repeat for line in lines for mark in line.marks for row in mark.rows}
    return "repeats" if len(repeats) > 1 else "time"


def replies(lines: Sequence[Line], of: Figure, by: Along, scale: float) -> list[Series]:
    """Each reply as a point, or so many that their shape stays; values times `scale`."""
    found = [_points(f"{line.label}, each reply", line.role, line, of, by, scale) for line in lines]
    return [series for series in found if series.x]


def alone(lines: Sequence[Line], of: Figure, by: Along, scale: float, side: str | None = None) -> list[Series]:
    """One caller alone: each reply, or over callers the median of each load point; `side` of the load, where one is
    asked for."""
    found = []
    for run in dict.fromkeys(mark.shown.label for line in lines for mark in line.marks):
        marks = [mark for line in lines for mark in line.last if mark.shown.label == run]
        name = "one caller" + (f" {side}" if side else "") + (f", {run}" if run else "")
        x, y = [], []
        for mark in sorted({(m.callers, m.point.name): m for m in marks}.values(), key=lambda mark: mark.callers):
            rows = [row for row in mark.alone if side in (None, row.side)]
            got = [(_at(mark, row, by), value) for row in rows if (value := of(row)) is not None]
            if by == "callers" and got:
                got = [(float(mark.callers), median(value for _, value in got))]
            x += [at for at, _ in got]
            y += [value * scale for _, value in got]
        draw: Literal["line", "points"] = "line" if by == "callers" and len(x) > 1 else "points"
        if x:
            pairs = sorted(zip(x, y, strict=True), key=lambda pair: pair[0])
            found.append(
                Series(
                    label=name,
                    x=[round(at, 3) for at, _ in pairs],
                    y=[round(value, 3) for _, value in pairs],
                    draw=draw,
                    role="alone",
                    dashed=side == "after",
                )
            )
    return found


def percentiles(lines: Sequence[Line], of: Figure, scale: float, tail: bool = True) -> list[Series]:
    """p50, p95 and p99 over callers; p99 where a load point has replies enough. Without the `tail`, p50 alone."""
    found = []
    for line in lines:
        pools = [(mark.callers, values(mark.rows, of)) for mark in line.last]
        pools = [(callers, pool) for callers, pool in pools if pool]
        for name, figure, dashed in (
            ("p50", lambda pool: percentile(pool, 50), False),
            ("p95", lambda pool: percentile(pool, 95), True),
            ("p99", p99, True),
        )[: 3 if tail else 1]:
            y = [figure(pool) for _, pool in pools]
            if any(value is not None for value in y):
                found.append(_line(f"{line.label} {name}", line.role, [n for n, _ in pools], y, scale, dashed))
    return found


def summed(lines: Sequence[Line], name: str, of: Callable[[Mark], float | None], scale: float = 1.0) -> list[Series]:
    """A figure of whole load points over callers."""
    found = []
    for line in lines:
        y = [of(mark) for mark in line.last]
        if any(value is not None for value in y):
            label = f"{line.label} {name}".strip()
            found.append(_line(label, line.role, [mark.callers for mark in line.last], y, scale, name != ""))
    return found


def ends(line: Line, of: Figure, q: float, unit: str) -> str:
    """A line's percentile at its fewest and its most callers, in words: `160 ms at 1 caller, 1,129 ms at 12`."""
    told = ms if unit == "ms" else number
    said = []
    for mark in (line.last[0], line.last[-1]) if line.grows else line.last[:1]:
        pool = values(mark.rows, of)
        if pool:
            callers = f"{mark.callers} caller{'s' if mark.callers > 1 else ''}"
            said.append(f"{told(percentile(pool, q))} {unit} at {callers}")
    return ", ".join(said)


def _line(label: str, role: Role, x: list[int], y: list[float | None], scale: float, dashed: bool) -> Series:
    return Series(
        label=label,
        x=[float(n) for n in x],
        y=[None if value is None else round(value * scale, 3) for value in y],
        draw="line" if len(x) > 1 else "points",
        role=role,
        dashed=dashed,
    )


def _points(label: str, role: Role, line: Line, of: Figure, by: Along, scale: float) -> Series:
    places: dict[float, list[float]] = {}
    for mark, row in chain.from_iterable(((mark, row) for row in mark.rows) for mark in line.marks):
        if (value := of(row)) is not None:
            places.setdefault(_at(mark, row, by), []).append(round(value * scale, 3))
    found = [(round(at, 3), value) for at in sorted(places) for value in _spread(places[at])]
    x, y = thin([at for at, _ in found], [value for _, value in found], LONG if by == "time" else len(found))
    return Series(label=label, x=x, y=y, draw="points", role=role)


def _at(mark: Mark, row: RequestRow, by: Along) -> float:
    if by == "callers":
        return float(mark.callers)
    return float(row.repeat) if by == "repeats" else (row.sent_s or mark.start) - mark.start


def _spread(pool: list[float]) -> list[float]:
    """Not more than `MOST` of some values, evenly through their ranks, with the smallest and the largest."""
    ranked = sorted(pool)
    if len(ranked) <= MOST:
        return ranked
    return [ranked[round(i * (len(ranked) - 1) / (MOST - 1))] for i in range(MOST)]
