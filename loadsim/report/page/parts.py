"""What a page is made of: sections of words, charts, swimlanes, tables and texts, as data. The browser draws them.

Sections give these; `page` puts them into one file. A value that is not known is None, and is drawn as nothing.
"""

from collections.abc import Sequence
from typing import Literal

import msgspec

from ...plan.found import Found
from ...results.read import Run
from ..point import Point

Scale = Literal["linear", "log", "tail", "clock"]
"""How an axis goes: `tail` as HdrHistogram's plots do, by the logarithm of 1 / (1 - p), of a percentile p from 0 to
100; `clock` in seconds, told as h:mm:ss."""
Draw = Literal["line", "points", "steps", "band"]
Role = Literal["load", "alone", "cold", "other", "good", "warn", "bad", "heat", "clock", "power", "quiet"]
"""What a series is of; the page gives each its colour, those of one role in one chart different ones."""


class Axis(msgspec.Struct, frozen=True, kw_only=True):
    """An axis; `unit` is told with each value. `low`, `high`: it shows these at least."""

    label: str
    unit: str = ""
    scale: Scale = "linear"
    low: float | None = None
    high: float | None = None


class Series(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Values over `x`, as many of each; of a band `y` is its lower side and `top` its upper one.

    `axis`: the y axis that it belongs to. `dashed`: to tell apart what has the same colour. `notes`: a word to each
    value, shown where the pointer is.
    """

    label: str
    x: list[float]
    y: list[float | None]
    top: list[float | None] = []
    draw: Draw = "line"
    role: Role = "load"
    axis: int = 0
    dashed: bool = False
    notes: list[str] = []


class Rule(msgspec.Struct, frozen=True, kw_only=True):
    """A straight line across a chart, at a value of its first y axis, or of x: a limit, a voice's rate."""

    label: str
    at: float
    along: Literal["x", "y"] = "y"
    role: Role = "quiet"


class Stripe(msgspec.Struct, frozen=True, kw_only=True):
    """A span of x that is shaded from top to bottom: a phase, a pause, an outage, a cold prompt."""

    label: str
    start: float
    end: float
    role: Role = "quiet"


class Chart(msgspec.Struct, frozen=True, kw_only=True, tag="chart"):
    """A picture of series. `id` is the page's own; charts of the same `sync` share pointer and zoom.

    `more`: y axes beside the first. `said`: what the picture shows, in a sentence, for who does not see it.
    """

    id: str
    title: str
    said: str
    x: Axis
    y: Axis
    series: list[Series]
    more: list[Axis] = []
    rules: list[Rule] = []
    stripes: list[Stripe] = []
    sync: str = ""
    height: int = 280


class Look(msgspec.Struct, frozen=True, kw_only=True):
    """A state of a swimlane: its name in the data, which its look comes from, and its meaning."""

    state: str
    means: str


class Lane(msgspec.Struct, frozen=True, kw_only=True):
    """One caller's time. `spans`: start, end, the number of the state in `looks`, and of the note in `notes` or -1;
    seconds since the picture's beginning."""

    name: str
    spans: list[tuple[float, float, int, int]]
    notes: list[str] = []


class Scene(msgspec.Struct, frozen=True, kw_only=True):
    """One load point and repeat, drawn as swimlanes; `stripes` cross all lanes. `start`: seconds of the load at the
    picture's beginning."""

    label: str
    seconds: float
    lanes: list[Lane]
    stripes: list[Stripe] = []
    start: float = 0.0


class Lanes(msgspec.Struct, frozen=True, kw_only=True, tag="lanes"):
    """Swimlanes, one scene shown at a time. `looks`: the least grave first; the later stand before the earlier."""

    id: str
    title: str
    said: str
    looks: list[Look]
    scenes: list[Scene]


class Table(msgspec.Struct, frozen=True, kw_only=True, tag="table"):
    """Figures as they are read; the first column names the row. `open`: shown at once, else when asked for."""

    caption: str
    columns: list[str]
    rows: list[list[str]]
    open: bool = True


class Text(msgspec.Struct, frozen=True, kw_only=True, tag="text"):
    """Text that is shown as it is, line by line, such as a file. `open`: shown at once, else when asked for."""

    caption: str
    text: str
    open: bool = False


class Change(msgspec.Struct, frozen=True, kw_only=True):
    """A difference with its interval, `low` to `high`, in the unit of its `Changes`; None: not known."""

    label: str
    said: str
    mid: float | None
    low: float | None
    high: float | None
    role: Role = "quiet"


class Changes(msgspec.Struct, frozen=True, kw_only=True, tag="changes"):
    """Differences below each other on one scale, with the span from `-none` to `none` marked, in which none
    is."""

    caption: str
    changes: list[Change]
    none: float = 0.0


Part = Chart | Lanes | Table | Text | Changes


class Section(msgspec.Struct, frozen=True, kw_only=True):
    """A part of the page under a heading; `words` are paragraphs that stand before `parts`. `id` is a word."""

    id: str
    title: str
    parts: Sequence[Part]
    words: list[str] = []


class Figure(msgspec.Struct, frozen=True, kw_only=True):
    """One of the few figures that carry the answer: what it is, its value with unit, and `of` what: n and spread."""

    label: str
    value: str
    of: str = ""


class Head(msgspec.Struct, frozen=True, kw_only=True):
    """What stands first: which run, when, the answer, and what one must know before believing it."""

    label: str
    name: str
    when: str
    answers: list[str]
    figures: list[Figure]
    warnings: list[str]


class Shown(msgspec.Struct, frozen=True, kw_only=True):
    """A run that the page is of. `label` tells it from the others; empty where it is the only one. `search`: what
    `plan callers` found, where the run is one of its."""

    label: str
    run: Run
    points: list[Point]
    search: Found | None = None

    def name(self, point: str) -> str:
        """A load point's name on the page."""
        return f"{self.label}: {point}" if self.label else point
