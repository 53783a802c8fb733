"""HdrHistogram's percentile plot, from the exact values of the rows: how far the tail reaches, one caller's beside."""

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from ...stats.summary import Who
from ...stats.tokens import gaps, percentile
from ...types import RequestRow
from ..table import n
from ..words import ms, several
from .crowd import FEW, Line, Mark, lines, stall, ttfs, ttft, values
from .parts import Axis, Chart, Role, Section, Series, Shown, Table

MOST = 200  # values of a line
APART = 4  # load points, each with a line for its own baseline

Values = NDArray[np.float64]
Pool = Callable[[list[RequestRow]], Values]

METRICS: tuple[tuple[str, str, str, Pool], ...] = (
    ("ttft", "TTFT", "First token", lambda rows: np.array(values(rows, ttft))),
    ("ttfs", "TTFS", "First speakable chunk", lambda rows: np.array(values(rows, ttfs))),
    ("gap", "gap", "Gaps between tokens", lambda rows: np.concatenate([np.empty(0), *(gaps(r.token_s) for r in rows)])),
    ("stall", "stall", "Stalls: the largest gap of each reply", lambda rows: np.array(values(rows, stall))),
)


def percentiles(shown: list[Shown]) -> Section | None:
    """None: no load point has an answer."""
    found = lines(shown)
    parts: list[Chart] = []
    rows: list[list[str]] = []
    for name, short, title, pool in METRICS:
        series: list[Series] = []
        told: list[str] = []
        for label, role, dashed, who, of in _pools(found):
            ranked = np.sort(pool(of))
            if not len(ranked):
                continue
            if len(ranked) > 1:
                series.append(_line(label, role, dashed, ranked))
            if not dashed:
                told.append(f"{label} {ms(percentile(ranked, 50))} ms at p50, {ms(float(ranked[-1]))} at most")
            rows.append([f"{short}, {label}", _n(who, len(ranked)), *_cells(ranked)])
        if series:
            parts.append(
                Chart(
                    id=f"percentiles-{name}",
                    title=title,
                    said=f"{short}: {'; '.join(told)}.",
                    x=Axis(label="percentile", unit="%", scale="tail"),
                    y=Axis(label=short, unit="ms", scale="log"),
                    series=series,
                    height=340,
                )
            )
    if not parts:
        return None
    columns = ["ms", "n", "p50", "p90", "p95", "p99", "p99.9", "max"]
    caption = f"Percentiles; p99 from {FEW} values on, p99.9 from {several(10 * FEW, 'value')} on"
    return Section(
        id="percentiles",
        title="Percentiles",
        words=[
            "To the right each step is ten times as rare. A line ends where one value is left beyond it: the largest "
            "is in the table."
        ],
        parts=[*parts, Table(caption=caption, columns=columns, rows=rows, open=len(rows) <= 12)],
    )


def _pools(found: Sequence[Line]) -> list[tuple[str, Role, bool, Who | None, list[RequestRow]]]:
    """Each line's label, role, whether it is dashed, whose replies it has, and these: the load points, and each one's
    baseline; of many load points the baselines of a run as one."""
    marks = [(line.role, mark) for line in found for mark in line.marks]
    each = len({(mark.shown.label, mark.point.name) for _, mark in marks}) <= APART
    pools: list[tuple[str, Role, bool, Who | None, list[RequestRow]]] = []
    alone: dict[str, tuple[Who | None, list[RequestRow]]] = {}
    for role, mark in marks:
        pools.append((_name(mark, found), role, False, mark.who, mark.rows))
        if each and mark.alone:
            name = f"one caller beside {mark.shown.name(mark.point.name)}"
            alone[name] = (mark.point.summary.baseline, mark.alone)
    if not each:
        points = {(mark.shown.label, mark.point.name): mark for _, mark in marks if mark.alone}
        for (run, _), mark in points.items():
            _, rows = alone.setdefault(f"one caller{f', {run}' if run else ''}", (None, []))
            rows += mark.alone
    return pools + [(name, "alone", True, who, rows) for name, (who, rows) in alone.items()]


def _name(mark: Mark, found: Sequence[Line]) -> str:
    """A load point's name, with the group's where the point has several."""
    groups = sum(each.shown is mark.shown and each.point is mark.point for of in found for each in of.marks)
    name = mark.shown.name(mark.point.name)
    return f"{name}, {mark.who.name}" if groups > 1 else name


def _line(label: str, role: Role, dashed: bool, ranked: Values) -> Series:
    """The i-th of n values at i / n, evenly along the tail; without the last, whose percentile nothing supports.

    Percentiles are rounded down: a hair above i / n stands the next value."""
    count = len(ranked)
    steps = 1 - np.logspace(0, -np.log10(count), MOST)  # from 0 to 1 - 1/n
    ranks = np.unique(np.clip(np.ceil(np.round(steps * count, 9)).astype(int), 1, count - 1))
    return Series(
        label=label,
        x=[(10**8 * int(i) // count) / 1e6 for i in ranks],
        y=[_known(ranked[i - 1] * 1e3) for i in ranks],
        role=role,
        dashed=dashed,
    )


def _known(value: float) -> float | None:
    """What a logarithmic axis can show, to three decimals or figures."""
    return float(f"{value:.6g}") if value > 0 else None


def _n(who: Who | None, found: int) -> str:
    """Repeats times replies, where each has a value; how many values, where they are more or fewer."""
    return n(who) if who is not None and who.rows == found else f"{found:,}"


def _cells(ranked: Values) -> list[str]:
    count = len(ranked)
    figures = [percentile(ranked, q) for q in (50, 90, 95)]
    rare = [percentile(ranked, 99) if count >= FEW else None, percentile(ranked, 99.9) if count >= 10 * FEW else None]
    return [*map(ms, (*figures, *rare, float(ranked[-1])))]
