"""Barge-ins: what callers cut off, what was generated for nothing, and what the next prompt cost."""

from collections import Counter
from collections.abc import Iterable

import msgspec

from ..types import RequestRow
from .calls import Event
from .headline import ANSWERED, turn_of
from .spread import Spread, known, middle, spread


class Prompts(msgspec.Struct, frozen=True, kw_only=True):
    """Prompts of one sort: how many, their kinds, and medians of their tokens and of the time to evaluate them."""

    rows: int
    kinds: dict[str, int]
    cache_n: float | None
    prompt_n: float | None
    new_tokens: float | None
    prompt_ms: float | None


class Cuts(msgspec.Struct, frozen=True, kw_only=True):
    """Barge-ins of one group.

    replies: how many were cut, in so many `turns`; `closed` of their streams still ran. unheard: tokens generated for
    nothing. after: seconds of speech before the cut, p50. release: seconds from a hang-up of a running stream to its
    slot being free, of `released` that were seen; `unseen` were not. next, others: the first prompts of turns after a
    cut and of all other turns.
    """

    turns: int
    replies: int
    closed: int
    unheard: int
    after: float | None
    release: Spread
    released: int
    unseen: int
    next: Prompts
    others: Prompts


def cuts(rows: list[RequestRow], events: Iterable[Event], point: str, group: str) -> Cuts:
    """`rows`: the load rows of the point and group."""
    cut = [row.cut for row in rows if row.cut is not None]
    waits = [event["after_s"] for event in events if _is_release(event, point, group)]
    seen = known(waits)
    # Tool steps come after their own turn's prompt, never after a cut: beside them any prompt would look dear.
    first = [row for row in rows if row.step == 0 and row.outcome in ANSWERED]
    return Cuts(
        turns=len({turn_of(row) for row in rows if row.outcome != "superseded"}),
        replies=len(cut),
        closed=sum(one.closed for one in cut),
        unheard=sum(one.unheard for one in cut),
        after=middle(one.after for one in cut),
        release=spread(seen),
        released=len(seen),
        unseen=len(waits) - len(seen),
        next=_prompts([row for row in first if row.cut_tokens is not None]),
        others=_prompts([row for row in first if row.cut_tokens is None]),
    )


def _is_release(event: Event, point: str, group: str) -> bool:
    return event.get("event") == "released" and event.get("point") == point and event.get("group") == group


def _prompts(rows: list[RequestRow]) -> Prompts:
    return Prompts(
        rows=len(rows),
        kinds=dict(Counter(row.kind or "unknown" for row in rows)),
        cache_n=middle(row.cache_n for row in rows),
        # A plain server tells how long the prompt is, and not how much of it was evaluated.
        prompt_n=middle(row.prompt_n for row in rows if row.cache_n is not None),
        new_tokens=middle(row.new_tokens for row in rows),
        prompt_ms=middle(row.prompt_ms for row in rows),
    )
