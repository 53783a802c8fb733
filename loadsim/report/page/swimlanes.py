"""Swimlanes: what each caller's time was, for the load points of a run."""

from collections.abc import Iterator

from ...results.read import Run
from ...stats.join import window
from ...stats.lane import Span, State, spans
from ...stats.spread import since
from ...types import RequestRow
from ..lanes import LOOKS
from ..point import Point
from ..setting import Setting, setting
from ..words import listed, ms, number, several, whole
from .parts import Lane, Lanes, Look, Scene, Section, Shown, Stripe
from .scenes import MOST_SPANS, Cutout, Placed, badness, choose
from .voice import voice

PREFILL = "prefill"
ORDER = [*(state.name.lower() for state in State if state is not State.NOTHING)]
ORDER.insert(ORDER.index("wait") + 1, PREFILL)
NUMBER = {name: number for number, name in enumerate(ORDER)}
MEANS = {state.name.lower(): means for state, (_, _, means) in LOOKS.items()} | {PREFILL: "its prompt is evaluated"}

MOST_WORDS = 60  # characters of a reply in a note
MOST_ERROR = 160
ALONE = "one caller alone"

Timed = tuple[float, float, int]
"""Start and end on the run's clock, and the state's number."""


def swimlanes(shown: list[Shown]) -> Section | None:
    """None: no request of a load was sent."""
    found = [(one, point, list(_rows(one.run, point.name))) for one in shown for point in one.points]
    found = [(one, point, rows) for one, point, rows in found if any(row.row == "load" for _, row in rows)]
    scenes: list[Scene] = []
    left_out: list[str] = []
    most = MOST_SPANS // max(len(found), 1)
    for one, point, rows in found:
        chosen = choose(rows, most)
        name = one.name(point.name)
        scenes += [_scene(name, cutout, one.run, point) for cutout in chosen.cutouts]
        if chosen.left_out:
            left_out.append(f"{name}: not drawn: {chosen.left_out}.")
    if not scenes:
        return None
    words = [
        "A line for each caller, time from left to right. What went wrong stands above what is usual and shows however "
        "short it was; a stripe through all lines is a cold prompt being evaluated, a pause, or a time without a token."
    ]
    lanes = Lanes(
        id="swimlanes",
        title="What each caller's time was",
        said=_said(found),
        looks=[Look(state=name, means=MEANS[name]) for name in ORDER],
        scenes=scenes,
    )
    return Section(id="lanes", title="Callers over time", words=words + left_out, parts=[lanes])


def _rows(run: Run, point: str) -> Iterator[Placed]:
    """The load of a point, and of one caller alone what was measured within it."""
    for place, row in enumerate(run.rows):
        if row.point == point and (row.row == "load" or (row.row == "baseline" and row.side == "during")):
            yield place, row


def _said(found: list[tuple[Shown, Point, list[Placed]]]) -> str:
    """What went worst, where."""
    worst = max(found, key=lambda each: badness(row for _, row in each[2]))
    one, point, rows = worst
    lost, silent, longest = badness(row for _, row in rows)
    parts = [f"the longest wait for a first token is {ms(longest)} ms"]
    parts.append(f"replies fall silent for {number(silent)} s in all" if silent else "no reply falls silent")
    if lost:
        parts.append(f"{several(lost, 'request')} failed or had its caller hang up")
    where = f"the worst is {one.name(point.name)}: " if len(found) > 1 else ""
    said = f"{where}{listed(parts)}."
    return said[0].upper() + said[1:]


def _scene(name: str, cutout: Cutout, run: Run, point: Point) -> Scene:
    found = setting(run, point.name)
    by_caller: dict[tuple[str, int], list[Placed]] = {}
    for place, row in cutout.rows:
        who = (row.group, row.caller) if row.row == "load" else (ALONE, -1)
        by_caller.setdefault(who, []).append((place, row))
    groups = found.ordered(group for group, number in by_caller if number >= 0)
    order = sorted(by_caller, key=lambda who: (groups.index(who[0]) if who[1] >= 0 else len(groups), who[1]))
    why = f", {cutout.why}" if cutout.why else ""
    hidden = f", {several(cutout.hidden, 'caller')} left out" if cutout.hidden else ""
    return Scene(
        label=f"{name}, repeat {cutout.repeat}{why}{hidden}",
        seconds=round(cutout.end - cutout.start, 4),
        start=round(cutout.start - cutout.origin, 4),
        lanes=[_lane(who, by_caller[who], cutout, found, run.texts) for who in order],
        stripes=list(_stripes(cutout, found, point)),
    )


def _lane(who: tuple[str, int], rows: list[Placed], cutout: Cutout, found: Setting, texts: dict[int, str]) -> Lane:
    drawn: list[tuple[float, float, int, int]] = []
    notes: list[str] = []
    for place, row in sorted(rows, key=lambda each: each[1].sent_s or 0.0):
        seen = [
            (max(start, cutout.start), min(end, cutout.end), state)
            for start, end, state in timed(row, found)
            if start <= cutout.end and end >= cutout.start
        ]
        drawn += [(round(a - cutout.start, 4), round(b - cutout.start, 4), state, len(notes)) for a, b, state in seen]
        if seen:
            notes.append(note(row, texts.get(place)))
    return Lane(name=who[0] if who[1] < 0 else f"{who[0]} {who[1]}", spans=drawn, notes=notes)


def timed(row: RequestRow, found: Setting) -> Iterator[Timed]:
    """A request's spans, in no order. The wait for the first token is split where the server tells how long it
    evaluated the prompt; silences are where they were, if the row's tokens tell."""
    silences = list(_silences(row, found))
    for span in spans(row, found.cold, found.around.time_scale):
        if span.state is State.WAIT and row.prompt_ms is not None and (when := window(row)) is not None:
            split = min(max(when[0], span.start), span.end)
            if split > span.start:
                yield span.start, split, NUMBER["wait"]
            yield split, span.end, NUMBER[PREFILL]
        elif span.state is State.UNDERRUN and silences:
            yield from ((silence.start, silence.end, NUMBER["underrun"]) for silence in silences)
        else:
            yield span.start, span.end, NUMBER[span.state.name.lower()]


def _silences(row: RequestRow, found: Setting) -> Iterator[Span]:
    if row.playout is None or not row.playout.underruns or (told := voice(row, found)) is None:
        return
    for start, end in told.silences:
        at, until = ((t - told.start) / found.around.time_scale + row.playout.start_s for t in (start, end))
        yield Span(at, until, State.UNDERRUN)


def note(row: RequestRow, text: str | None = None) -> str:
    """A request in a line: its turn, what the prompt was to its slot, and the reply."""
    parts = [f"turn {row.turn}" + (f", step {row.step}" if row.step else "")]
    if row.attempt:
        parts[0] += f", attempt {row.attempt + 1}"
    if row.outcome == "superseded":
        parts.append("taken back")
    elif row.first_token_s is None:
        parts.append("no token came")
    else:
        parts.append(f"first token after {ms(since(row.sent_s, row.first_token_s))} ms")
    if row.prompt_n is not None or row.cache_n is not None:
        kind = f" ({row.kind.replace('_', ' ')})" if row.kind else ""
        parts.append(f"{whole(row.cache_n)} prompt tokens found, {whole(row.prompt_n)} evaluated{kind}")
    if row.token_s:
        parts.append(several(len(row.token_s), "token"))
    if row.cut is not None:
        parts.append(f"cut: {several(row.cut.unheard, 'token')} unheard")
    if row.error is not None:
        parts.append(_short(row.error, MOST_ERROR))
    if text:
        parts.append(f"“{_short(text, MOST_WORDS)}”")
    return "; ".join(parts)


def _short(text: str, most: int) -> str:
    line = " ".join(text.split())
    return line if len(line) <= most else f"{line[: most - 1]}…"


def _stripes(cutout: Cutout, found: Setting, point: Point) -> Iterator[Stripe]:
    """Cold prompts, pauses and times without a token."""

    def stripe(label: str, start: float, end: float, role: str) -> Iterator[Stripe]:
        if start < cutout.end and end > cutout.start:
            begin, until = max(start, cutout.start) - cutout.start, min(end, cutout.end) - cutout.start
            yield Stripe(label=label, start=round(begin, 4), end=round(until, 4), role=role)  # type: ignore[arg-type]

    for _, row in cutout.rows:
        if any(span.state is State.JOIN for span in spans(row, found.cold)) and (when := window(row)) is not None:
            yield from stripe(f"{row.group} {row.caller}: cold prompt evaluated", *when, "cold")
    for pause in point.course.pauses:
        if pause.repeat == cutout.repeat:
            yield from stripe("pause for one caller alone", pause.start_s, pause.start_s + pause.seconds, "alone")
    for outage in point.outages:
        if outage.repeat == cutout.repeat:
            end = cutout.end if outage.seconds is None else outage.since_s + outage.seconds
            yield from stripe("no token came to anybody", outage.since_s, end, "bad")
