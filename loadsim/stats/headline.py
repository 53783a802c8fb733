"""Which rows a point's figures are made of."""

from collections.abc import Iterable

from ..types import RequestRow

ANSWERED = ("ok", "empty", "cut")
FAILED = ("error", "timeout")


def in_headline(row: RequestRow) -> bool:
    """Answered, of the planned kind, and not a baseline's first reply.

    A reply that the caller cut keeps its partial figures. One that was sent too early (superseded) nobody waited for,
    and one that the caller hung up on has no end to its wait: both are counted elsewhere. One that was sent while a
    load drained for a pause met fewer callers than the load point says.
    """
    answered = row.outcome == "ok" or (row.outcome == "cut" and row.first_token_s is not None)
    dropped = row.row == "baseline" and row.number == 0
    return answered and not row.abandoned and row.planned is not False and not dropped and not row.draining


def failed(row: RequestRow) -> bool:
    """The server did not answer; a caller who lost patience is counted as such."""
    return row.outcome in FAILED and not row.abandoned


Step = tuple[int, str, int, int, int, int]
Turn = tuple[int, str, int, int, int]
Call = tuple[int, str, int, int]


def call_of(row: RequestRow) -> Call:
    """The call that a row of a point belongs to."""
    return (row.repeat, row.group, row.caller, row.call)


def turn_of(row: RequestRow) -> Turn:
    """The turn that a row of a point belongs to."""
    return (*call_of(row), row.turn)


def step_of(row: RequestRow) -> Step:
    """The step of a turn that a row of a point is an attempt at."""
    return (*turn_of(row), row.step)


def last_attempts(rows: Iterable[RequestRow]) -> list[RequestRow]:
    """The rows without those that were sent again: a reply that came at the second try is one reply."""
    found = list(rows)
    last: dict[tuple[object, ...], int] = {}
    for row in found:
        step = (*step_of(row), row.row, row.side, row.number)
        last[step] = max(last.get(step, 0), row.attempt)
    return [row for row in found if row.attempt == last[(*step_of(row), row.row, row.side, row.number)]]
