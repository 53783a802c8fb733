"""asyncio in virtual time: nothing waits, the clock jumps to the next timer. For hours of calls in a second."""

import asyncio
import heapq
import itertools
from asyncio.base_events import BaseEventLoop
from collections.abc import Callable, Coroutine
from contextvars import Context
from typing import Any, TypeVar, TypeVarTuple

T = TypeVar("T")
Ts = TypeVarTuple("Ts")


class DeadlockError(RuntimeError):
    """Every task waits and no timer is set: in real time this would hang for ever."""


class Timer(asyncio.TimerHandle):
    """A timer that is after all that were set before it for the same moment, as uvloop's are; asyncio's may not be."""

    order = 0

    def __lt__(self, other: object) -> bool:
        assert isinstance(other, Timer)
        return (self.when(), self.order) < (other.when(), other.order)


class VirtualLoop(BaseEventLoop):
    """A loop without sockets, threads and signals, whose time stands still while anything can run.

    It is its own selector: where others would wait for the next timer, it sets its clock to it.
    """

    _scheduled: list[Timer]

    def __init__(self, start: float = 0.0) -> None:
        super().__init__()
        self._virtual = start
        self._selector = self
        self._order = itertools.count()
        self._clock_resolution = 1e-9  # timers closer than this fire together; at 0 none would ever be due

    def time(self) -> float:
        return self._virtual

    def call_at(
        self, when: float, callback: Callable[[*Ts], object], *args: *Ts, context: Context | None = None
    ) -> Timer:
        timer = Timer(when, callback, args, self, context)
        timer.order = next(self._order)
        timer._scheduled = True  # type: ignore[attr-defined]
        heapq.heappush(self._scheduled, timer)
        return timer

    def select(self, timeout: float | None) -> tuple[()]:
        if timeout is None:
            raise DeadlockError("virtual time: every task waits and no timer is set")
        if timeout > 0:
            # Not by `timeout`: added to the clock it would miss the timer by a rounding, and it is a day at the most.
            self._virtual = self._scheduled[0].when()
        return ()

    def _process_events(self, events: tuple[()]) -> None:
        """There are none."""

    def _write_to_self(self) -> None:
        """Nobody sleeps who would have to be woken."""


def run(main: Coroutine[Any, Any, T], start: float = 0.0) -> T:
    """Runs `main` to its end in virtual time, from `start` on. Raises DeadlockError rather than hang."""
    with asyncio.Runner(loop_factory=lambda: VirtualLoop(start)) as runner:
        return runner.run(main)
