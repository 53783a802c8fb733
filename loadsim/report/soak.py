"""A load over time, in tables that stay short however long it was."""

from collections.abc import Iterator, Sequence
from statistics import median

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from ..stats.drift import Alone
from ..stats.windows import Course, Figures, Recovery, fold
from .grid import grid
from .words import lasting, ms, number, several, short

LINES = 20
MOST_ERRORS = 5  # windows whose errors are named
MOST_KINDS = 2  # of them in a window
COLUMNS = ("callers", "replies", "TTFT, ms\np50", "p95", "gap, ms\np50", "p95", "stall\nms", "tok/s", "errors")


def over_time(course: Course) -> Iterator[RenderableType]:
    """Tables and sentences; nothing for a load without windows, or of one or two."""
    if course.window is None or (len(course.windows) < 3 and not course.phases and not course.pauses):
        return
    if course.phases:
        yield _phases(course)
        yield from (Text(_recovery(found, course.window)) for found in course.recoveries)
    if len(course.windows) > 2:
        yield _windows(course)
        if notes := list(_notes(course)):
            yield Text("\n".join(notes))
    if course.pauses:
        yield _alone(course)
        yield Text(_pauses(course))


def last_minute(of: Figures, seconds: float) -> Table:
    """What was met in the last so many seconds, in the columns of the windows."""
    table = grid(f"last {lasting(seconds)}", *COLUMNS)
    table.add_row("", *_cells(of))
    return table


def clock(seconds: float) -> str:
    """Seconds into the load as hours, minutes and seconds."""
    whole = round(seconds)
    return f"{whole // 3600}:{whole // 60 % 60:02}:{whole % 60:02}"


def _windows(course: Course) -> Table:
    table = grid(f"by {course.window:g} s", *COLUMNS)
    for window in fold(course.windows, LINES):
        marks = ("*" if window.paused else "") + ("!" if window.dark else "")
        callers = f"{max(window.callers, window.figures.callers)}"
        table.add_row(_when(window.at, window.repeat, course) + marks, callers, *_cells(window.figures)[1:])
    return table


def _phases(course: Course) -> Table:
    table = grid("phase", *COLUMNS)
    table.columns[0].no_wrap, table.columns[0].overflow = False, "fold"  # of runs of old, whose names may be long
    for phase in course.phases:
        first, last = phase.callers
        callers = f"{first}" if first == last else f"{first}-{last}"
        name = phase.name if len({found.repeat for found in course.phases}) == 1 else f"{phase.name}, {phase.repeat}"
        table.add_row(name, callers, *_cells(phase.figures)[1:])
    return table


def _cells(of: Figures) -> list[str]:
    return [
        f"{of.callers}",
        f"{of.requests:,}",
        ms(of.ttft.p50),
        ms(of.ttft.p95),
        ms(of.gap.p50),
        ms(of.gap.p95),
        ms(of.gap.max),
        number(of.decode),
        f"{sum(of.errors.values()):,}",
    ]


def _when(at: float, repeat: int, course: Course) -> str:
    one = len({window.repeat for window in course.windows}) == 1
    return clock(at) if one else f"{repeat}, {clock(at)}"


def _notes(course: Course) -> Iterator[str]:
    if len(course.windows) > LINES:
        yield f"these are {LINES} of {len(course.windows)} windows: the first, the last, the worst, and evenly between"
    if any(window.paused for window in fold(course.windows, LINES)):
        yield "* callers paused in it"
    if any(window.dark for window in fold(course.windows, LINES)):
        yield "! for all or part of it nobody was given a token, though callers waited for a reply or to call again"
    wrong = [window for window in course.windows if window.figures.errors]
    for window in wrong[:MOST_ERRORS]:
        yield f"errors at {_when(window.at, window.repeat, course)}: {_named(window.figures.errors)}"
    if len(wrong) > MOST_ERRORS:
        yield f"errors in {several(len(wrong) - MOST_ERRORS, 'other window')}"


def _named(errors: dict[str, int]) -> str:
    """The most frequent ones, shortened: a server may say much, and the whole text is in requests.jsonl."""
    most = sorted(errors.items(), key=lambda found: -found[1])
    said = [f"{n} {short(error)}" for error, n in most[:MOST_KINDS]]
    return ", ".join([*said, *([f"{sum(n for _, n in most[MOST_KINDS:])} others"] if len(most) > MOST_KINDS else [])])


def _recovery(found: Recovery, window: float) -> str:
    usual = ms(found.high) if found.low == found.high else f"{ms(found.low)} to {ms(found.high)}"
    said = f"{found.spike}: before it the first token came within {usual} ms (p95 of a window)"
    if found.seconds is None:
        return f"{said}; after it, it never did again"
    return f"{said}, and did so again {number(found.seconds)} s after its end (by windows of {window:g} s)"


def _alone(course: Course) -> Table:
    table = grid("one caller", "replies", "TTFT\nms", "gap, ms\np50", "tok/s")
    starts = {window.repeat: window.start_s - window.at for window in course.windows}
    for alone in _some(course.alone):
        start = starts.get(alone.repeat)
        at = clock(alone.at - start) if start is not None and alone.side == "during" else alone.side
        table.add_row(at, str(alone.replies), ms(alone.first_token), ms(alone.gap), number(alone.decode))
    return table


def _some(alone: Sequence[Alone]) -> Sequence[Alone]:
    if len(alone) <= LINES:
        return alone
    return [alone[round(i * (len(alone) - 1) / (LINES - 1))] for i in range(LINES)]


def _pauses(course: Course) -> str:
    pauses = course.pauses
    waits = [pause.waited for pause in pauses if pause.waited is not None]
    said = f"{several(len(pauses), 'pause')} for one caller alone, {number(sum(p.seconds for p in pauses))} s in all"
    said += f", {number(median(p.seconds for p in pauses))} at p50"
    if waits:
        said += f", of which {number(median(waits))} until the turns under way had ended"
    wrong = [pause for pause in pauses if pause.why is not None]
    if wrong:
        said += f"; {len(wrong)} went wrong, the first: {wrong[0].why}"
    return said + "; the load's time stands still in them"
