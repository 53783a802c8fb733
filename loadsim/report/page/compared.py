"""Two runs beside each other as a page."""

from collections.abc import Iterator, Sequence

from ...stats.comparison import Comparison, Difference, PointDifference
from ...stats.metrics import ENOUGH
from ...stats.rule import Ruling
from ..compare import (
    between,
    change_said,
    column_heads,
    interval_said,
    method,
    metric_label,
    rows,
    ruling_line,
    run_line,
    sentences,
    title,
    under,
)
from ..words import exact, several
from .hidden import hidden
from .parts import Axis, Change, Changes, Chart, Figure, Head, Part, Role, Section, Series, Table
from .render import render

ROLES: dict[str, Role] = {"better": "good", "worse": "bad"}
DRAWN = ("ttft p50", "decode p50", "share")
"""Metrics whose repeats are drawn one by one."""


def compared(found: Comparison, rulings: Sequence[Ruling] = ()) -> str:
    """The page of a comparison: what came of it, and a section for each load point."""
    head = Head(
        label="",
        name="B beside A",
        when="",
        answers=list(sentences(found)),
        figures=_figures(found),
        warnings=[reason for point in found.points for reason in (*point.reasons, *point.disturbed)],
    )
    sections = [_runs(found, rulings), *(_point(point, n, found) for n, point in enumerate(found.points))]
    return render("B beside A", [hidden(head)], [hidden(section) for section in sections])


def _figures(found: Comparison) -> list[Figure]:
    """The changes that a reader looks for first, of the first load point."""
    return [
        Figure(label=f"{each.who}, {each.metric}", value=change_said(each), of=f"{interval_said(each)}; {each.verdict}")
        for point in found.points[:1]
        for each in point.differences
        if each.metric in DRAWN and each.change is not None
    ]


def _runs(found: Comparison, rulings: Sequence[Ruling]) -> Section:
    rules = [[ruling_line(ruling).partition(": ")[2], ruling.verdict] for ruling in rulings]
    return Section(
        id="runs",
        title="What is compared",
        words=[run_line("A", found.a), run_line("B", found.b), *(line.strip() for line in between(found))],
        parts=[Table(caption="Rules", columns=["rule", "verdict"], rows=rules)] if rules else [],
    )


def _point(point: PointDifference, number: int, found: Comparison) -> Section:
    heads = ["metric", *column_heads(point)[1:]]
    cells = [[row.name, *(row.cells or [""] * (len(heads) - 1))] for row in rows(point)]
    parts: list[Part] = []
    if changes := [*_changes(point)]:
        caption = f"Change from A to B, with the {found.confidence:.0%} interval; grey: under {exact(found.least)}"
        parts.append(Changes(caption=caption, changes=changes, none=found.least))
    parts.append(Table(caption="Figures of A and B", columns=heads, rows=cells))
    parts += _repeats(point, number)
    words = [*under(point), *(method(found) if changes else ())]
    return Section(id=f"point{number}", title=title(point), words=words, parts=parts)


def _changes(point: PointDifference) -> Iterator[Change]:
    """Of what is counted, the change is in points; it has no place among per cents."""
    for each in point.differences:
        if each.change is not None and each.low is not None and not each.counted:
            yield Change(
                label=f"{each.who}, {each.metric}",
                said=f"{change_said(each)} ({interval_said(each)})",
                mid=each.change,
                low=each.low,
                high=each.high,
                role=ROLES.get(each.verdict, "quiet"),
            )


def _repeats(point: PointDifference, number: int) -> Iterator[Chart]:
    """Each repeat's own figure in both runs."""
    for n, each in enumerate(point.differences):
        if each.metric in DRAWN and max(len(each.repeats_a), len(each.repeats_b)) > 1:
            yield Chart(
                id=f"point{number}-{n}",
                title=f"{each.who}, {each.metric}: each repeat",
                said=_said(each),
                x=Axis(label="repeat", low=0.5),
                y=Axis(label=metric_label(each), low=0),
                series=[_series("A", each, each.repeats_a, "alone"), _series("B", each, each.repeats_b, "load")],
                height=220,
            )


def _said(each: Difference) -> str:
    few = min(len(each.repeats_a), len(each.repeats_b))
    if few < ENOUGH:
        return f"{few} of {several(ENOUGH, 'repeat')} that a verdict takes."
    return f"B {change_said(each)} ({interval_said(each)}): {each.verdict}."


def _series(name: str, each: Difference, repeats: list[float], role: Role) -> Series:
    factor = {"s": 1e3, "ratio": 100.0}.get(each.unit, 1.0)
    at = [float(n) for n in range(1, len(repeats) + 1)]
    return Series(label=name, x=at, y=[value * factor for value in repeats], draw="points", role=role)
