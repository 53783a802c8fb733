"""A run's page: one HTML file that needs nothing else, made from the run alone."""

import base64
import hashlib
import re
import time
from collections.abc import Callable, Sequence
from functools import cache
from importlib.resources import files

import jinja2
import msgspec
from markupsafe import Markup

from ... import __version__
from ...results.read import Run
from ..answer import answers
from ..point import Point, points
from .over_time import over_time
from .parts import Chart, Figure, Lanes, Section, Shown, Table

SECTIONS: tuple[Callable[[list[Shown]], Section | None], ...] = (over_time,)
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
    """The page of one or several runs. `found`: each one's `points`, where they are known."""
    worked_out = [points(run) for run in runs] if found is None else found
    shown = [
        Shown(label=run.path.name if len(runs) > 1 else "", run=run, points=of)
        for run, of in zip(runs, worked_out, strict=True)
    ]
    sections = [section for make in SECTIONS if (section := make(shown)) is not None]
    return render(", ".join(_name(run) for run in runs), [_head(one) for one in shown], sections)


def render(title: str, heads: list["Head"], sections: list[Section]) -> str:
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


class Head(msgspec.Struct, frozen=True, kw_only=True):
    """What stands first: which run, when, the answer, and what one must know before believing it."""

    label: str
    name: str
    when: str
    answers: list[str]
    figures: list[Figure]
    warnings: list[str]


def _head(shown: Shown) -> Head:
    epoch_s = (shown.run.facts.get("started") or {}).get("epoch_s")
    return Head(
        label=shown.label,
        name=_name(shown.run),
        when="" if epoch_s is None else time.strftime("%Y-%m-%d %H:%M", time.localtime(epoch_s)),
        answers=[*answers(shown.points, shown.run)],
        figures=[],
        warnings=[],
    )


def _name(run: Run) -> str:
    return str((run.facts.get("scenario") or {}).get("name") or run.path.name)


@cache
def _template() -> jinja2.Template:
    env = jinja2.Environment(autoescape=True, trim_blocks=True, lstrip_blocks=True, undefined=jinja2.StrictUndefined)
    env.tests["table"] = lambda part: isinstance(part, Table)
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
