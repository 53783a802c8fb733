"""A swimlane of a run as text: a line per caller, time from left to right."""

import math
from collections.abc import Iterator

import msgspec
from rich.console import Group, RenderableType
from rich.text import Text

from ..results.read import Run
from ..stats.lane import Span, State, cells, spans
from ..types import BadInput, RequestRow
from .setting import setting
from .words import runs, several

MOST_CALLERS = 40
TICK = 10  # characters between two times on the axis

LOOKS: dict[State, tuple[str, str, str]] = {
    State.CALLER: ("=", "cyan", "caller speaks"),
    State.PAUSE: ("·", "dim", "pause or endpointing"),
    State.WAIT: ("w", "yellow", "waits for the first token"),
    State.JOIN: ("J", "bold yellow", "waits for it as a cold join"),
    State.COMES: (":", "yellow", "first words on their way"),
    State.SPEAKS: ("█", "green", "agent speaks, tokens still come"),
    State.BUFFER: ("▄", "green", "agent speaks from the buffer"),
    State.UNDERRUN: ("!", "bold red", "silence: the buffer ran dry"),
    State.BARGE_IN: ("X", "bold magenta", "caller cuts in"),
    State.SUPERSEDED: ("s", "blue", "request sent too early, taken back"),
    State.HUNG_UP: ("H", "bold red", "caller hangs up"),
    State.ERROR: ("E", "bold red", "request failed"),
}
"""Each state's character, colour and meaning, in the order of a turn."""


class View(msgspec.Struct, frozen=True, kw_only=True):
    """What of a run is shown; None: the first point, the first repeat, from the beginning, to the end.

    `start`, `end`: seconds since the load began.
    """

    point: str | None = None
    repeat: int | None = None
    start: float | None = None
    end: float | None = None


def lanes(run: Run, width: int = 80, view: View = View()) -> RenderableType:
    """The swimlane, no wider than `width`. Raises BadInput for a point, repeat or time that the run has not."""
    rows = _chosen(run, view)
    found = setting(run, rows[0].point)
    callers: dict[tuple[str, int], list[Span]] = {}
    for row in rows:
        callers.setdefault((row.group, row.caller), []).extend(spans(row, found.cold, found.around.time_scale))
    groups = found.ordered(row.group for row in rows)
    order = sorted(callers, key=lambda who: (groups.index(who[0]), who[1]))
    shown = order[:MOST_CALLERS]
    names = {who: f"{_short(who[0])} {who[1]}" for who in shown}
    every = [span for line in callers.values() for span in line]
    if not every:
        raise BadInput(f"{rows[0].point}, repeat {rows[0].repeat}: no request was sent, so there is nothing to draw")
    origin = min(span.start for span in every)
    start, end = _times(view, max(span.end for span in every) - origin)
    margin = max(map(len, names.values())) + 1
    step = _step((end - start) / max(width - margin, 10))
    count = max(math.ceil((end - start) / step - 1e-6), 1)
    lines = {who: cells(callers[who], origin + start, step, count) for who in shown}
    title = f"{rows[0].point}, repeat {rows[0].repeat}: seconds of the load, one character is {step:g} s"
    parts = [Text(title, style="bold"), Text(), _row(" " * margin + _axis(start, step, count))]
    parts += [_line(names[who].ljust(margin), line) for who, line in lines.items()]
    if len(order) > len(shown):
        parts.append(Text(f"these are the first {MOST_CALLERS} of {several(len(order), 'caller')}"))
    used = {state for line in lines.values() for state in line}
    note = Text("one character shows what went wrong in its time, else what filled most of it")
    return Group(*parts, Text(), *map(Text, _legend(used, width)), note)


def _chosen(run: Run, view: View) -> list[RequestRow]:
    """The load's rows of one repeat of one point."""
    load = [row for row in run.rows if row.row == "load"]
    if not load:
        raise BadInput(f"{run.path} has no request of a load, so there is nothing to draw")
    names = list(dict.fromkeys(row.point for row in load))
    point = names[0] if view.point is None else view.point
    if point not in names:
        raise BadInput(f"--point {point}: no such load point; the run has: {'; '.join(names)}")
    repeats = sorted({row.repeat for row in load if row.point == point})
    repeat = repeats[0] if view.repeat is None else view.repeat
    if repeat not in repeats:
        raise BadInput(f"--repeat {repeat}: no such repeat; {point} has: {runs(repeats)}")
    return [row for row in load if row.point == point and row.repeat == repeat]


def _times(view: View, length: float) -> tuple[float, float]:
    """What is shown, seconds since the load began."""
    start = view.start or 0.0
    end = length if view.end is None else min(view.end, length)
    if start < 0 or start >= length:
        raise BadInput(f"--from {start:g}: the load lasts from 0 to {length:.3f} s")
    if end <= start:
        raise BadInput(f"--to {view.end:g}: not after --from {start:g}")
    return start, end


def _step(least: float) -> float:
    """The smallest of 1, 2 and 5 times a power of ten that is not under `least`."""
    power = 10.0 ** math.floor(math.log10(max(least, 1e-6)))
    return next(round(power * times, 9) for times in (1, 2, 5, 10) if power * times >= least * (1 - 1e-9))


def _axis(start: float, step: float, count: int) -> str:
    axis = ""
    for column in range(0, count, TICK):
        label = f"{round(start + column * step, 6):g}"
        if column + len(label) <= count:
            axis = axis.ljust(column) + label[: TICK - 1]
    return axis


def _line(name: str, line: list[State]) -> Text:
    text = Text(name, no_wrap=True, overflow="crop")
    for state in line:
        mark, style, _ = LOOKS.get(state, (" ", "", ""))
        text.append(mark, style=style)
    return text


def _legend(used: set[State], width: int) -> Iterator[str]:
    """Two meanings a line where there is room."""
    texts = [f"{mark} {meaning}" for state, (mark, _, meaning) in LOOKS.items() if state in used]
    wide = max(map(len, texts)) + 3
    each = 2 if wide * 2 <= width + 3 else 1
    for i in range(0, len(texts), each):
        yield "".join(text.ljust(wide) for text in texts[i : i + each]).rstrip()


def _row(text: str) -> Text:
    return Text(text, no_wrap=True, overflow="crop")


def _short(name: str) -> str:
    return name if len(name) <= 20 else f"{name[:19]}…"
