"""Whether every request has its row: what the engine counted beside what was written."""

from collections import Counter
from collections.abc import Iterable
from typing import Any

import msgspec

from ..types import RequestRow


class Account(msgspec.Struct, frozen=True, kw_only=True):
    """Requests `asked` for, as the engine counted them, and the `rows` of these, over repeats that came to an end.

    `open`: rows of repeats that did not, as of a run that was killed. `short`: by load point, requests and rows where
    they differ. `asked` is None in runs of old, whose engine did not count; all rows are then open.
    """

    asked: int | None
    rows: int
    open: int
    short: dict[str, tuple[int, int]]


def account(rows: Iterable[RequestRow], events: Iterable[dict[str, Any]]) -> Account:
    """`rows`: of all kinds, the warm ones too."""
    written = Counter((row.point, row.repeat) for row in rows)
    asked: Counter[tuple[str, int]] = Counter()
    for event in events:
        if event["event"] == "requests":
            asked[event["point"], event["repeat"]] += event["asked"]
    by_point: dict[str, tuple[int, int]] = {}
    for (point, repeat), count in asked.items():
        before = by_point.get(point, (0, 0))
        by_point[point] = (before[0] + count, before[1] + written[point, repeat])
    found = sum(each for _, each in by_point.values())
    return Account(
        asked=asked.total() if asked else None,
        rows=found,
        open=written.total() - found,
        short={point: each for point, each in by_point.items() if each[0] != each[1]},
    )
