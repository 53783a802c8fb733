"""Predicted and measured counts: what was counted before the load against what the server and the client then saw.

Before the load every prompt is rendered and tokenized by the server (`/apply-template`, `/tokenize`). Where the counts
do not agree, something else was measured than was planned.
"""

from collections.abc import Iterable, Sequence
from typing import Any

import msgspec

from ..types import RequestRow
from .headline import last_attempts


class Tally(msgspec.Struct, frozen=True):
    """A count that was predicted, and what was measured of it. None: nobody tells."""

    predicted: int | None
    measured: int | None

    @property
    def agrees(self) -> bool | None:
        """None: one of them is not known."""
        return None if self.predicted is None or self.measured is None else self.predicted == self.measured


class Counts(msgspec.Struct, frozen=True, kw_only=True):
    """The counts of one group's first prompts, over `requests` that were answered whole.

    prompt: tokens of the prompts, by the server's prompt_n + cache_n. reused, evaluated: their two parts, where the
    slots were warm, or nothing was in them. reply: tokens that were asked for, where replies have a fixed length, and
    that the server counted; stamped: that the server counted, and that arrived with a time. slots: how many were asked
    for, and served. off: requests of another prompt length or slot than planned: two errors may make a right sum.
    """

    requests: int
    prompt: Tally
    reused: Tally
    evaluated: Tally
    reply: Tally
    stamped: Tally
    slots: Tally
    off: int

    @property
    def agree(self) -> bool:
        """Whether all that is known agrees, and something is."""
        all_ = (self.prompt, self.reused, self.evaluated, self.reply, self.stamped, self.slots)
        known = [each.agrees for each in all_ if each.agrees is not None]
        return bool(known) and all(known) and not self.off


def counts(rows: Iterable[RequestRow], scripts: Sequence[dict[str, Any]], *, fixed: bool, slots_told: bool) -> Counts:
    """`rows`: the load of one point and group. `scripts`: what run.json tells of the group's recordings, which its
    callers take in turn. `fixed`: every reply has the length that was asked for. `slots_told`: the server was asked
    which slot served; else a row has the slot that was asked for.

    Only the first prompt of each call is held against its count: later ones hold what the call has become.
    """
    load = [row for row in rows if row.row == "load" and row.outcome != "superseded"]
    firsts = []
    for row in last_attempts(load):
        script = scripts[row.caller % len(scripts)] if scripts else {}
        if row.outcome == "ok" and row.step == 0 and row.turn == script.get("turns", [None])[0]:
            firsts.append((row, script))
    told = [(row, script) for row, script in firsts if row.prompt_n is not None and row.cache_n is not None]
    lengths = [script.get("first_tokens") for _, script in told]
    found = [_reused(row, script) for row, script in told]
    measured = [(row.prompt_n or 0) + (row.cache_n or 0) for row, _ in told]
    replies = [row for row, _ in firsts if row.predicted_n is not None]
    served = {row.served if slots_told else None for row in load if row.outcome == "ok"}
    asked = {row.slot for row in load if row.outcome == "ok"}
    return Counts(
        requests=len(firsts),
        prompt=Tally(_sum(lengths), _sum(measured)),
        reused=Tally(_sum(found), _sum([row.cache_n for row, _ in told])),
        evaluated=Tally(
            _sum([None if n is None or part is None else n - part for n, part in zip(lengths, found, strict=True)]),
            _sum([row.prompt_n for row, _ in told]),
        ),
        reply=Tally(
            _sum([row.max_tokens for row in replies]) if fixed else None, _sum([row.predicted_n for row in replies])
        ),
        stamped=Tally(_sum([row.predicted_n for row in replies]), _sum([len(row.token_s) for row in replies])),
        slots=Tally(*(None if None in used or not used else len(used) for used in (asked, served))),
        off=sum(n is not None and n != got for n, got in zip(lengths, measured, strict=True))
        + sum(slots_told and row.slot is not None and row.slot != row.served for row, _ in firsts),
    )


def _reused(row: RequestRow, script: dict[str, Any]) -> int | None:
    """Tokens that the slot should hold of a call's first prompt; None: nobody can tell."""
    if row.kind == "cold" and script.get("expects") == ["cold"]:
        return row.cache_n  # the template's opening at the most: that it is cold was found by its length
    if script.get("expects") == ["extension"] and row.call == 0:
        return script.get("warm_tokens")
    return None


def _sum(values: Sequence[int | None]) -> int | None:
    """None: one of them is not known, or there are none."""
    known = [value for value in values if value is not None]
    return sum(known) if known and len(known) == len(values) else None
