"""Cold joins: what others met around the time in which a prompt that shares nothing with any slot was evaluated."""

from statistics import median

import numpy as np

from ...stats.join import Met, around, cold_prompts, place
from ...types import RequestRow
from ..point import Point
from ..topics import JOIN_COLUMNS, join_cells, join_notes
from ..words import ms, number, several, whole
from .parts import Axis, Chart, Lanes, Section, Series, Shown, Stripe, Table, Text
from .thin import kept

MOST_CHARTS = 8
MOST_JOINS = 24  # over one another in a chart
MOST_VALUES = 1500  # of a series
REACH_S = 2.0  # around a cold prompt's evaluation at least


def cold_joins(shown: list[Shown]) -> Section | None:
    """None: nobody came cold while others had a history."""
    found = [(one, point) for one in shown for point in one.points if point.joins]
    if not found:
        return None
    drawn = found
    words = [
        "Around each cold prompt: what callers who had a history waited for their first token, and the gaps between "
        "the tokens of their replies, at the moment when the token came. 0 is when the prompt's evaluation began."
    ]
    if len(found) > MOST_CHARTS:
        drawn = sorted(found, key=lambda each: -_largest(each[1]))[:MOST_CHARTS]
        drawn = [each for each in found if each in drawn]
        words.append(f"Drawn are the {MOST_CHARTS} load points of {len(found)} whose callers met the longest times.")
    parts: list[Chart | Lanes | Table | Text] = [_chart(one, point, n) for n, (one, point) in enumerate(drawn)]
    columns = ["load point", *(" ".join(name.replace("-\n", "").split()) for name in JOIN_COLUMNS)]
    columns = [_unit(name) for name in columns]
    rows = [[one.name(point.name), *cells] for one, point in found for cells in join_cells(point)]
    parts.append(Table(caption="What each cold join met", columns=columns, rows=rows))
    notes = dict.fromkeys(note for _, point in found for note in join_notes(point))
    words += [f"{note[0].upper()}{note[1:]}." for note in notes]
    return Section(id="cold", title="Cold joins", words=words, parts=parts)


def _unit(name: str) -> str:
    """A comma before a column's unit."""
    label, _, unit = name.rpartition(" ")
    return f"{label}, {unit}" if unit in ("s", "ms") and label else name


def _largest(point: Point) -> float:
    return max((time for join in point.joins for time in (join.wait, join.gap) if time is not None), default=0.0)


def _chart(one: Shown, point: Point, n: int) -> Chart:
    cold = point.setting.cold
    load = [row for row in one.run.rows if row.point == point.name and row.row == "load"]
    warm = [row for row in load if row.group not in cold]
    prompts = list(cold_prompts(load, cold))
    prompts = sorted(prompts, key=lambda each: -_ttft(each[0]))[:MOST_JOINS]
    waits, gaps = list[Met](), list[Met]()
    for joiner, when in prompts:
        mine = around(joiner, when, warm, max(when[1] - when[0], REACH_S))
        waits += mine[0]
        gaps += mine[1]
    lasts = median(when[1] - when[0] for _, when in prompts)
    name = "the cold prompt is evaluated"
    return Chart(
        id=f"cold-{n}",
        title=f"Around a cold prompt, {one.name(point.name)}",
        said=_said(point, len(prompts)),
        x=Axis(label="since the cold prompt's evaluation began", unit="s", low=0.0),
        y=Axis(label="time without a token", unit="ms", scale="log"),
        series=[
            _series("gap inside a reply", "other", gaps),
            _series("wait for the first token", "load", waits),
        ],
        stripes=[Stripe(label=name if len(prompts) == 1 else f"{name}, p50", start=0.0, end=lasts, role="cold")],
    )


def _series(label: str, role: str, met: list[Met]) -> Series:
    ordered = sorted(met, key=lambda each: each.at)
    places = kept(np.array([each.at for each in ordered]), np.array([each.seconds for each in ordered]), MOST_VALUES)
    stay = [ordered[i] for i in places]
    return Series(
        label=label if len(stay) == len(met) else f"{label}, {len(stay):,} of {len(met):,} drawn",
        x=[round(each.at, 4) for each in stay],
        y=[round(each.seconds * 1e3, 3) for each in stay],
        draw="points",
        role=role,  # type: ignore[arg-type]
        notes=[_note(each.row) for each in stay],
    )


def _note(row: RequestRow) -> str:
    return f"{row.group} {row.caller}, turn {row.turn}, repeat {row.repeat}"


def _ttft(row: RequestRow) -> float:
    return (row.first_token_s or 0.0) - (row.sent_s or 0.0)


def _said(point: Point, drawn: int) -> str:
    joins = point.joins
    prompts = [join.prompt for join in joins if join.prompt is not None]
    ttfts = [join.ttft for join in joins if join.ttft is not None]
    said = several(len(joins), "cold join")
    if len(joins) > drawn:
        said += f", of which the {drawn} slowest are drawn"
    if prompts:
        said += f", with a prompt of {whole(median(prompts))} tokens to evaluate"
    if ttfts:
        said += f", waited {number(median(ttfts))} s for the first token at p50"
    wait = max((join.wait for join in joins if join.wait is not None), default=None)
    gap = max((join.gap for join in joins if join.gap is not None), default=None)
    if wait is None and gap is None:
        return f"{said}. Nobody else waited or was spoken to meanwhile."
    hit = place(joins)
    parts = []
    if wait is not None:
        parts.append(f"others waited up to {ms(wait)} ms for their first token")
    if gap is not None:
        parts.append(f"replies stalled for up to {ms(gap)} ms")
    return (
        f"{said}. Meanwhile {' and '.join(parts)}; a caller's longest time stood {several(hit.before, 'time')} before "
        f"the first token and {several(hit.inside, 'time')} inside a reply."
    )
