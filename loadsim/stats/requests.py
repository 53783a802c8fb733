"""How many requests a turn takes: what the server is asked beyond one prompt per turn that is answered."""

import msgspec

from ..types import RequestRow
from .headline import ANSWERED, Step, Turn, call_of, step_of, turn_of


class Requests(msgspec.Struct, frozen=True, kw_only=True):
    """Requests of one group over `said`, its turns that got a reply.

    superseded: sent too early and taken back; retries: sent again after a failure; steps: after tool results. What is
    left is one request per turn that was begun; `lost` of those turns got no reply. Beside them `empty` replies,
    `misses` (tool calls that the recording has no result for), and `abandoned` calls, whose caller hung up.
    """

    requests: int
    said: int
    superseded: int
    retries: int
    steps: int
    empty: int
    misses: int
    abandoned: int

    @property
    def lost(self) -> int:
        return self.requests - self.superseded - self.retries - self.steps - self.said

    @property
    def per_turn(self) -> float | None:
        """The amplification; None: no turn got a reply."""
        return self.requests / self.said if self.said else None


def requests(rows: list[RequestRow]) -> Requests:
    """`rows`: the load rows of one point and group."""
    taken_back = {(step_of(row), row.attempt) for row in rows if row.outcome == "superseded"}
    kept = [row for row in rows if row.outcome != "superseded"]
    retries = [row for row in kept if _is_retry(row, taken_back)]
    return Requests(
        requests=len(rows),
        said=_said(kept),
        superseded=len(rows) - len(kept),
        retries=len(retries),
        steps=sum(row.step > 0 for row in kept) - sum(row.step > 0 for row in retries),
        empty=sum(row.outcome == "empty" for row in rows),
        misses=sum(row.misses for row in rows),
        abandoned=len({call_of(row) for row in rows if row.abandoned}),
    )


def _said(rows: list[RequestRow]) -> int:
    """Turns whose last request was answered. Counted from rows: of a run that broke off, calls' ends are not known."""
    last: dict[Turn, RequestRow] = {}
    for row in sorted(rows, key=lambda row: (row.step, row.attempt)):
        last[turn_of(row)] = row
    return sum(row.outcome in ANSWERED and not row.abandoned for row in last.values())


def _is_retry(row: RequestRow, taken_back: set[tuple[Step, int]]) -> bool:
    """The attempt before it failed. After one that was taken back it is the turn's own request."""
    return row.attempt > 0 and (step_of(row), row.attempt - 1) not in taken_back
