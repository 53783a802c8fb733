"""A run's page: one HTML file that needs nothing else, made from the run alone."""

import base64
import hashlib
import re
from collections.abc import Callable, Sequence
from functools import cache
from importlib.resources import files

import jinja2
import msgspec
from markupsafe import Markup

from ... import __version__
from ...plan.found import read as read_search
from ...results.read import Run
from ..point import Point, points
from .delivered import delivered
from .head import Head, head
from .hidden import hidden
from .knee import knee
from .over_time import over_time
from .parts import Chart, Lanes, Section, Shown, Table, Text
from .percentiles import percentiles
from .probed import probed
from .rates import rates
from .searched import searched
from .setting import setting

SECTIONS: tuple[Callable[[list[Shown]], Section | None], ...] = (
    searched,
    probed,
    knee,
    rates,
    percentiles,
    over_time,
    delivered,
    setting,
)
"""In the page's order; one that has no data gives None and does not appear."""

STYLE = ("uPlot.min.css", "colours.css", "page.css")
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
    "tables.js",
    "page.js",
)
FIGURE = re.compile(r"[-+<>~±$€£]*\s?\d[\d,.]*(\s?\S{1,12})?|-?")
"""A cell that is a figure, perhaps with its unit, or missing: such columns end at the right."""

SAFE = {ord(sign): f"\\u{ord(sign):04x}" for sign in "<>&\u2028\u2029"}  # data must not end the script that holds it


def page(runs: Sequence[Run], found: Sequence[list[Point]] | None = None) -> str:
    """The page of one or several runs. `found`: each one's `points`, where they are known. Raises BadInput where a
    search's plan.json cannot be read."""
    worked_out = [points(run) for run in runs] if found is None else found
    shown = [
        Shown(label=run.path.name if len(runs) > 1 else "", run=run, points=of, search=read_search(run.path))
        for run, of in zip(runs, worked_out, strict=True)
    ]
    sections = [hidden(section) for make in SECTIONS if (section := make(shown)) is not None]
    heads = [hidden(head(one)) for one in shown]
    return render(", ".join(one.name for one in heads), heads, sections)


def render(title: str, heads: list[Head], sections: list[Section]) -> str:
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


def embedded(sections: list[Section]) -> str:
    """What the browser draws, by the parts' ids, as JSON that cannot end the element that holds it."""
    drawn = [part for section in sections for part in section.parts if isinstance(part, Chart | Lanes)]
    return msgspec.json.encode({part.id: part for part in drawn}).decode().translate(SAFE)


@cache
def _template() -> jinja2.Template:
    env = jinja2.Environment(autoescape=True, trim_blocks=True, lstrip_blocks=True, undefined=jinja2.StrictUndefined)
    env.tests["table"] = lambda part: isinstance(part, Table)
    env.tests["text"] = lambda part: isinstance(part, Text)
    env.filters["aligned"] = aligned
    return env.from_string(_asset("page.html"))


def aligned(table: Table) -> list[bool]:
    """Of each column, whether it holds figures alone."""
    cells = [[row[n] for row in table.rows if n < len(row)] for n in range(len(table.columns))]
    return [any(cell.strip("-") for cell in column) and all(map(FIGURE.fullmatch, column)) for column in cells]


@cache
def _assets(names: tuple[str, ...]) -> Markup:
    return Markup("\n".join(_asset(name) for name in names))


def _hash(text: str) -> str:
    """As a Content-Security-Policy allows it."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def _asset(name: str) -> str:
    return (files(__package__) / "assets" / name).read_text(encoding="utf-8")
