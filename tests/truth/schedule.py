"""When a reply's tokens are due, and the one timer that wakes for them."""

import asyncio
import heapq
import itertools
import math
import time
from collections.abc import Callable
from typing import Literal

import msgspec

WORDS = (
    "Certainly", ",", " I", " can", " look", " that", " up", " for", " you", ".",
    " Your", " table", " at", " the", " café", " in", " Zürich", " is", " booked", ",",
    " and", " the", " room", " in", " 東京", " too", "!", " Anything", " else", "? 🙂 ",
)  # fmt: skip


class Schedule(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a reply is and when, in seconds after its request was read and got a slot.

    first: the first token. step: between tokens. tokens: what the server samples if the request does not say, the end
    token included, as `predicted_n` counts. headers: `at_once` (with the role chunk), or with the `first` token.
    words: the tokens' texts, over and over; some are longer than one byte a character, some end a sentence.
    stall: how much later everything after token number `stall_after` comes; 0 is before the first.
    """

    first: float = 0.2
    step: float = 0.02
    tokens: int = 50
    headers: Literal["at_once", "first"] = "at_once"
    words: tuple[str, ...] = WORDS
    stall_after: int = 0
    stall: float = 0.0

    def at(self, token: int) -> float:
        """When token number `token` (from 1) is due."""
        return self.first + (token - 1) * self.step + (self.stall if token > self.stall_after else 0.0)

    def word(self, token: int) -> str:
        """The text of token number `token` (from 1)."""
        return self.words[(token - 1) % len(self.words)]


Step = Callable[[float], float | None]


class Ticker:
    """Calls each step at its absolute time, so nothing drifts; never early, and some 1 ms late, the loop's timer step.

    A step is given the time (time.monotonic, seconds) and returns the time of its next call; None: no more.
    """

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._heap: list[tuple[float, int, Step]] = []
        self._order = itertools.count()
        self._timer: asyncio.TimerHandle | None = None
        self._wakes_at = math.inf

    def add(self, when: float, step: Step) -> None:
        heapq.heappush(self._heap, (when, next(self._order), step))
        if when < self._wakes_at:
            self._arm()

    def stop(self) -> None:
        self._heap.clear()
        if self._timer is not None:
            self._timer.cancel()

    def _arm(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        self._wakes_at = math.inf
        if self._heap:
            self._wakes_at = self._heap[0][0]
            # Whole milliseconds, upwards: uvloop rounds to the nearest and would wake early, again and again.
            wait = math.ceil((self._wakes_at - time.monotonic()) * 1000) / 1000
            self._timer = self._loop.call_later(max(wait, 0.0), self._wake)

    def _wake(self) -> None:
        heap, until = self._heap, time.monotonic()
        self._wakes_at = -math.inf  # a step that adds another must not arm: this function does, at its end
        while heap and heap[0][0] <= until:
            _, order, step = heapq.heappop(heap)
            when = step(time.monotonic())
            if when is not None:
                heapq.heappush(heap, (when, order, step))
        self._arm()
