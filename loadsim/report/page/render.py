"""The page's file: its parts as HTML and data, with all that draws them, and nothing from anywhere else."""

import base64
import hashlib
import re
from collections.abc import Sequence
from functools import cache
from importlib.resources import files

import jinja2
import msgspec
from markupsafe import Markup

from ... import __version__
from .parts import Changes, Chart, Head, Lanes, Role, Section, Table, Text

STYLE = ("uPlot.min.css", "colours.css", "page.css", "lanes.css")
EARLY = ("theme.js",)
"""Runs before anything is shown, so that a dark page does not flash."""
LATE = (
    "data.js",
    "uPlot.iife.min.js",
    "numbers.js",
    "scales.js",
    "join.js",
    "looks.js",
    "views.js",
    "marks.js",
    "legend.js",
    "charts.js",
    "lanes_paint.js",
    "lanes_frame.js",
    "lanes.js",
    "tables.js",
    "page.js",
)
UNIT = r"(\s?[%°µ$€A-Za-z][%°µ/$€A-Za-z²]{0,9})?"
FIGURE = re.compile(rf"[-+<>~±$€£]*\d[\d,.:]*{UNIT}(\s(x|to|of|and|±)\s\d[\d,.:]*{UNIT})?|-?")
"""A cell that is a figure, perhaps with its unit, or missing: such columns end at the right."""

SAFE = {ord(sign): f"\\u{ord(sign):04x}" for sign in "<>&\u2028\u2029"}  # data must not end the script that holds it


def render(title: str, heads: Sequence[Head], sections: Sequence[Section]) -> str:
    """The file itself. It may run and show only what is in it, and fetch nothing."""
    style, early, late = (_assets(names) for names in (STYLE, EARLY, LATE))
    return _template().render(
        title=title,
        heads=heads,
        sections=sections,
        data=Markup(embedded(sections)),
        style=style,
        early=early,
        late=late,
        policy=f"default-src 'none'; img-src data:; style-src {_hash(style)}; script-src {_hash(early)} {_hash(late)}; "
        "base-uri 'none'; form-action 'none'",
        version=__version__,
    )


def embedded(sections: Sequence[Section]) -> str:
    """What the browser draws, by the parts' ids, as JSON that cannot end the element that holds it."""
    drawn = [part for section in sections for part in section.parts if isinstance(part, Chart | Lanes)]
    return msgspec.json.encode({part.id: part for part in drawn}).decode().translate(SAFE)


@cache
def _template() -> jinja2.Template:
    env = jinja2.Environment(autoescape=True, trim_blocks=True, lstrip_blocks=True, undefined=jinja2.StrictUndefined)
    env.tests["table"] = lambda part: isinstance(part, Table)
    env.tests["text"] = lambda part: isinstance(part, Text)
    env.tests["changes"] = lambda part: isinstance(part, Changes)
    env.filters["aligned"] = aligned
    env.filters["bars"] = bars
    return env.from_string(_asset("page.html"))


def aligned(table: Table) -> list[bool]:
    """Of each column, whether it holds figures alone; the first one names the row."""
    cells = [[row[n] for row in table.rows if n < len(row)] for n in range(len(table.columns))]
    return [n > 0 and bool(column) and all(map(FIGURE.fullmatch, column)) for n, column in enumerate(cells)]


class Bar(msgspec.Struct, frozen=True, kw_only=True):
    """A change as it is drawn: places from 0 to 100, left to right."""

    label: str
    said: str
    low: float | None
    mid: float | None
    high: float | None
    role: Role


def bars(part: Changes) -> tuple[list[Bar], float, float, float]:
    """The changes, and where none is and the span of none begins and ends; all on one scale that holds them."""
    ends = [value for each in part.changes for value in (each.low, each.mid, each.high) if value is not None]
    least, most = min([*ends, -part.none, 0.0]), max([*ends, part.none, 0.0])
    room = (most - least) * 0.02 or 1.0
    least, most = least - room, most + room

    def place(value: float | None) -> float | None:
        return None if value is None else round((value - least) / (most - least) * 100, 2)

    found = [
        Bar(
            label=each.label,
            said=each.said,
            low=place(each.low),
            mid=place(each.mid),
            high=place(each.high),
            role=each.role,
        )
        for each in part.changes
    ]
    return found, place(0.0) or 0.0, place(-part.none) or 0.0, place(part.none) or 0.0


@cache
def _assets(names: tuple[str, ...]) -> Markup:
    return Markup("\n".join(_asset(name) for name in names))


def _hash(text: str) -> str:
    """As a Content-Security-Policy allows it."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def _asset(name: str) -> str:
    return (files(__package__) / "assets" / name).read_text(encoding="utf-8")
