"""A run's page: one HTML file that needs nothing else, made from the run alone."""

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
from .parts import Chart, Figure, Lanes, Section, Shown

SECTIONS: tuple[Callable[[list[Shown]], Section | None], ...] = (over_time,)
"""In the page's order; one that has no data gives None and does not appear."""

SAFE = {ord(sign): f"\\u{ord(sign):04x}" for sign in "<>&\u2028\u2029"}  # data must not end the script that holds it


def page(runs: Sequence[Run], found: Sequence[list[Point]] | None = None) -> str:
    """The page of one or several runs. `found`: each one's `points`, where they are known."""
    worked_out = [points(run) for run in runs] if found is None else found
    shown = [
        Shown(label=run.path.name if len(runs) > 1 else "", run=run, points=of)
        for run, of in zip(runs, worked_out, strict=True)
    ]
    sections = [section for make in SECTIONS if (section := make(shown)) is not None]
    drawn = [part for section in sections for part in section.parts if isinstance(part, Chart | Lanes)]
    return _template().render(
        title=", ".join(_name(run) for run in runs),
        heads=[_head(one) for one in shown],
        sections=sections,
        data=msgspec.json.encode({part.id: part for part in drawn}).decode().translate(SAFE),
        version=__version__,
    )


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
    env.globals["asset"] = lambda name: Markup(_asset(name))
    return env.from_string(_asset("page.html"))


def _asset(name: str) -> str:
    return (files(__package__) / "assets" / name).read_text(encoding="utf-8")
