"""The load as it really was."""

import msgspec
import numpy as np

from ..types import RequestRow
from .spread import known, since
from .tokens import percentile


class Delivered(msgspec.Struct, frozen=True, kw_only=True):
    """Requests in flight at once, seconds between the first and the last request of a repeat's start (None: they were
    not all due at once), and how late requests left after they were due (p99)."""

    in_flight: int
    start_spread: float | None
    late: float | None


def delivered(load: list[RequestRow]) -> Delivered:
    flights = [(row.sent_s, row.end_s) for row in load if row.sent_s is not None and row.end_s is not None]
    # At one instant the end of a reply comes before the start of another.
    steps = sorted([(start, 1) for start, _ in flights] + [(end, -1) for _, end in flights])
    in_flight = max(np.cumsum([step for _, step in steps]), default=0)
    starts: dict[int, list[float]] = {}
    for row in load:
        if row.sent_s is not None and row.due_s is not None:
            starts.setdefault(row.repeat, []).append(row.sent_s)
    together = _together(load)
    return Delivered(
        in_flight=int(in_flight),
        start_spread=max((max(sent) - min(sent) for sent in starts.values()), default=None) if together else None,
        late=percentile(known(since(row.due_s, row.sent_s) for row in load), 99),
    )


def _together(load: list[RequestRow]) -> bool:
    """Whether all requests of a repeat were due at one time."""
    due: dict[int, set[float | None]] = {}
    for row in load:
        due.setdefault(row.repeat, set()).add(row.due_s)
    return all(len(times) == 1 for times in due.values())
