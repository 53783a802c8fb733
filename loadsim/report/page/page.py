"""A run's page: one HTML file that needs nothing else, made from the run alone."""

import time
from collections.abc import Callable, Sequence

from ...results.read import Run
from ..answer import answers
from ..point import Point, points
from .barge import barge_ins
from .calls import calls
from .cold import cold_joins
from .over_time import over_time
from .parts import Head, Section, Shown
from .playout import worst_reply
from .render import render
from .swimlanes import swimlanes

SECTIONS: tuple[Callable[[list[Shown]], Section | None], ...] = (
    swimlanes,
    worst_reply,
    cold_joins,
    barge_ins,
    over_time,
    calls,
)
"""In the page's order; one that has no data gives None and does not appear."""


def page(runs: Sequence[Run], found: Sequence[list[Point]] | None = None) -> str:
    """The page of one or several runs. `found`: each one's `points`, where they are known."""
    worked_out = [points(run) for run in runs] if found is None else found
    shown = [
        Shown(label=run.path.name if len(runs) > 1 else "", run=run, points=of)
        for run, of in zip(runs, worked_out, strict=True)
    ]
    sections = [section for make in SECTIONS if (section := make(shown)) is not None]
    return render(", ".join(_name(run) for run in runs), [_head(one) for one in shown], sections)


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
