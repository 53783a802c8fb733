"""How late the client itself is: a client that was the bottleneck must be able to say so."""

import asyncio
import gc
import time
from array import array

import msgspec

from ..stats.tokens import percentile

STEP_S = 0.005


class LagReport(msgspec.Struct, frozen=True, kw_only=True):
    """A window of the client's own delays, in milliseconds; `lag_*` are None where no sample was due.

    cpu_share: the process's CPU seconds over the wall's, all threads; 1.0 is one core. samples: those of the lag.
    """

    lag_p50_ms: float | None
    lag_p99_ms: float | None
    lag_max_ms: float | None
    samples: int
    gc_pauses: int
    gc_longest_ms: float
    gc_total_ms: float
    cpu_share: float | None


class Lag:
    """Asks the running loop, every 5 ms, how late it comes; and the garbage collector how long it stops everything.

    A loop that stands still for 100 ms is late for 20 samples, not for one: callers wait at any moment of it.
    """

    def start(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._gc_began = 0.0
        self._reset()
        self._due = self._loop.time() + STEP_S
        self._timer = self._loop.call_at(self._due, self._tick)
        gc.callbacks.append(self._collected)

    def take(self) -> LagReport:
        """The report since the start or the last call."""
        wall, cpu = time.perf_counter() - self._wall, time.process_time() - self._cpu
        report = LagReport(
            lag_p50_ms=_ms(percentile(self._late, 50)),
            lag_p99_ms=_ms(percentile(self._late, 99)),
            lag_max_ms=_ms(percentile(self._late, 100)),
            samples=len(self._late),
            gc_pauses=len(self._pauses),
            gc_longest_ms=round(max(self._pauses, default=0.0) * 1e3, 3),
            gc_total_ms=round(sum(self._pauses) * 1e3, 3),
            cpu_share=round(cpu / wall, 3) if wall > 0 else None,
        )
        self._reset()
        return report

    def stop(self) -> LagReport:
        """End watching; the report since the last one. May be called again, and then reports nothing new."""
        self._timer.cancel()
        if self._collected in gc.callbacks:
            gc.callbacks.remove(self._collected)
        return self.take()

    def _reset(self) -> None:
        self._late = array("d")
        self._pauses = array("d")
        self._wall, self._cpu = time.perf_counter(), time.process_time()

    def _tick(self) -> None:
        now = self._loop.time()
        # uvloop may come 1 ms early; that is not late.
        self._late.append(max(now - self._due, 0.0))
        self._due += STEP_S
        while self._due <= now:
            self._late.append(now - self._due)
            self._due += STEP_S
        self._timer = self._loop.call_at(self._due, self._tick)

    def _collected(self, phase: str, info: dict[str, int]) -> None:
        if phase == "start":
            self._gc_began = time.perf_counter()
        else:
            self._pauses.append(time.perf_counter() - self._gc_began)


def _ms(seconds: float | None) -> float | None:
    return None if seconds is None else round(seconds * 1e3, 3)
