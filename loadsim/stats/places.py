"""Which slots served a group's callers, and how often one was moved."""

from ..types import RequestRow
from .headline import ANSWERED

Places = dict[tuple[int, str, int], int | None]
"""The slot of each caller: by repeat, group and number."""


def slots_used(rows: list[RequestRow]) -> int | None:
    """How many slots answered; None: the server does not tell."""
    served = {row.served for row in _placed(rows)}
    return None if None in served or not served else len(served)


def moves(rows: list[RequestRow], warm: Places) -> int | None:
    """How often a request was served by another slot than the caller's one before it, the `warm` one at first."""
    placed = _placed(rows)
    if not placed or any(row.served is None for row in placed):
        return None
    moved, last = 0, dict(warm)
    for row in sorted(placed, key=lambda row: row.sent_s or 0.0):
        caller = (row.repeat, row.group, row.caller)
        moved += caller in last and last[caller] != row.served
        last[caller] = row.served
    return moved


def _placed(rows: list[RequestRow]) -> list[RequestRow]:
    """Without requests that ended before a slot took them."""
    return [row for row in rows if row.served is not None or row.outcome in ANSWERED]
