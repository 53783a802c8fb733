"""A chat request from its acceptance to its end, and its line in the log."""

import time
from collections.abc import Iterator
from typing import Literal

import msgspec

from .faults import Faults, Write
from .http import Connection
from .slots import Slot
from .stream import ChatBody, Reply


class Entry(msgspec.Struct, kw_only=True):
    """One chat request in the log; times are time.monotonic, seconds.

    number: as in the reply's id. started_s: it got its slot; the schedule counts from here. token_s: when each token
    was written, one for each even where they share a write. freed_s: its slot was given back. outcome: `running`,
    `done`, `fault` (an end that a fault made), `gone` (the client left) or `refused` (an HTTP error, in `status`).
    """

    number: int
    truth_id: str | None
    status: int = 200
    received_s: float
    started_s: float | None = None
    headers_s: float | None = None
    slot: int | None = None
    cache_n: int | None = None
    prompt_n: int | None = None
    token_s: list[float] = []
    ended_s: float | None = None
    freed_s: float | None = None
    outcome: Literal["running", "done", "fault", "gone", "refused"] = "running"

    def refused(self, status: int) -> None:
        self.status, self.outcome, self.ended_s = status, "refused", time.monotonic()


class Job:
    """One chat request: what was asked, and the rest of its writes once it has a slot."""

    def __init__(self, body: ChatBody, faults: Faults, tokens: list[int], entry: Entry, connection: Connection) -> None:
        self.body = body
        self.faults = faults
        self.tokens = tokens
        self.entry = entry
        self.slot: Slot | None = None
        self._connection = connection
        self._started = 0.0
        self._writes: Iterator[Write] = iter(())
        self._next: Write | None = None

    def start(self, slot: Slot, reply: Reply, now: float) -> float | None:
        """Begins the reply in this slot; returns as `step` does."""
        self.slot, self._started, self._writes = slot, now, reply.writes()
        slot.remain = reply.length.tokens
        entry = self.entry
        entry.started_s, entry.slot, entry.cache_n, entry.prompt_n = now, slot.number, slot.cache_n, slot.prompt_n
        self._next = next(self._writes, None)
        return self.step(now)

    def step(self, now: float) -> float | None:
        """Writes what is due; returns when the next write is, None at the end."""
        while self._next is not None and self.entry.outcome == "running":
            write = self._next
            due = self._started + write.at
            if due > now:
                return due
            self._next = next(self._writes, None)
            self._write(write)
        return None

    def _write(self, write: Write) -> None:
        entry = self.entry
        if write.data:
            wrote = self._connection.send(write.data)
            if entry.headers_s is None:
                entry.headers_s = wrote
            if write.tokens:
                entry.token_s.extend([wrote] * write.tokens)
                if self.slot is not None:
                    self.slot.decoded += write.tokens
                    self.slot.remain -= write.tokens
        if write.then and write.then != "silence":
            entry.ended_s, entry.outcome = time.monotonic(), "done" if write.then == "done" else "fault"
            self._connection.on_lost = None
            self._connection.end(write.then)
