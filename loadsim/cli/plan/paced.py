"""A paced run, as a planner reads it."""

from pathlib import Path

from ...report.setting import setting
from ...results.read import read
from ...stats.busy import Busy, busy
from ...types import BadInput


def paced(path: Path, point: str | None) -> Busy:
    """How long the calls of a run's load point lasted, and how busy they kept the server.

    Raises BadInput where callers did not pace themselves as people do, or the run has several points and none is named.
    """
    run = read(path)
    points = list(dict.fromkeys(row.point for row in run.rows if row.row == "load"))
    if point is not None and point not in points:
        raise BadInput(f"--point {point}: no such load point; the run has: {', '.join(points) or 'none'}")
    if not points:
        raise BadInput(f"{path} has no load: nothing can be measured of its calls")
    if point is None and len(points) > 1:
        raise BadInput(f"{path} has several load points: name one with --point: {', '.join(points)}")
    name = point or points[0]
    said = setting(run, name)
    if not said.paced:
        raise BadInput(f"{path} is no paced run: its callers do not speak and listen; run one with pace: speech")
    if said.around.time_scale != 1:
        raise BadInput(
            f"{path} ran {said.around.time_scale:g} times faster than people talk: it tells no times of theirs"
        )
    return busy(run.rows, run.events, name)
