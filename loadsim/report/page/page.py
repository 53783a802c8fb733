"""A run's page: one HTML file that needs nothing else, made from the run alone."""

from collections.abc import Callable, Sequence

from ...plan.found import read as read_search
from ...results.read import Run
from ..point import Point, points
from ..words import path_text
from .barge import barge_ins
from .calls import calls
from .cold import cold_joins
from .delivered import delivered
from .head import head
from .hidden import hidden
from .knee import knee
from .over_time import over_time
from .parts import Section, Shown
from .percentiles import percentiles
from .playout import worst_reply
from .probed import probed
from .rates import rates
from .render import render
from .searched import searched
from .setting import setting
from .swimlanes import swimlanes

SECTIONS: tuple[Callable[[list[Shown]], Section | None], ...] = (
    searched,
    probed,
    knee,
    rates,
    percentiles,
    swimlanes,
    worst_reply,
    cold_joins,
    barge_ins,
    over_time,
    calls,
    delivered,
    setting,
)
"""In the page's order; one that has no data gives None and does not appear."""


def page(runs: Sequence[Run], found: Sequence[list[Point]] | None = None) -> str:
    """The page of one or several runs. `found`: each one's `points`, where they are known. Raises BadInput where a
    search's plan.json cannot be read."""
    worked_out = [points(run) for run in runs] if found is None else found
    shown = [
        Shown(
            label=path_text(run.path).rpartition("/")[2] if len(runs) > 1 else "",
            run=run,
            points=of,
            search=read_search(run.path),
        )
        for run, of in zip(runs, worked_out, strict=True)
    ]
    sections = [hidden(section) for make in SECTIONS if (section := make(shown)) is not None]
    heads = [hidden(head(one)) for one in shown]
    return render(", ".join(one.name for one in heads), heads, sections)
