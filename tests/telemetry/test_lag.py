import asyncio
import gc
import selectors
import time
from collections.abc import Callable, Coroutine, Iterator

import pytest

from loadsim.run import Loop
from loadsim.telemetry.lag import STEP_S, Lag, LagReport


class Selector(selectors.DefaultSelector):
    """Waits in no time: the loop's clock jumps to the next timer instead."""

    now = 0.0

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        self.now += timeout or 0.0
        return super().select(0)


class JumpingLoop(asyncio.SelectorEventLoop):
    """A loop that is late only when a test says so: `stand_still` passes time without running anything."""

    def __init__(self) -> None:
        self.clock = Selector()
        super().__init__(self.clock)

    def time(self) -> float:
        return self.clock.now

    def stand_still(self, seconds: float) -> None:
        self.clock.now += seconds


@pytest.fixture
def no_gc() -> Iterator[None]:
    """Collections only where a test asks for them."""
    gc.disable()
    yield
    gc.enable()


Watch = Callable[[Lag, JumpingLoop], Coroutine[None, None, LagReport]]


def watched(watch: Watch) -> LagReport:
    with asyncio.Runner(loop_factory=JumpingLoop) as runner:
        loop = runner.get_loop()
        assert isinstance(loop, JumpingLoop)
        return runner.run(_watched(watch, loop))


async def _watched(watch: Watch, loop: JumpingLoop) -> LagReport:
    lag = Lag()
    lag.start()
    try:
        return await watch(lag, loop)
    finally:
        lag.stop()


def test_a_loop_that_is_on_time_has_no_lag() -> None:
    async def watch(lag: Lag, loop: JumpingLoop) -> LagReport:
        await asyncio.sleep(1.0025)
        return lag.take()

    report = watched(watch)
    assert report.samples == 200
    assert report.lag_max_ms == pytest.approx(0, abs=0.001)


def test_a_loop_that_stood_still_is_late_for_all_who_were_due() -> None:
    async def watch(lag: Lag, loop: JumpingLoop) -> LagReport:
        await asyncio.sleep(0.1025)  # 20 samples on time, the last at 100 ms
        loop.stand_still(0.1)
        await asyncio.sleep(0)
        await asyncio.sleep(0.5)  # 600 to 700 ms: the samples at 105, 110 .. 200 ms were late, at 202.5 ms
        return lag.take()

    report = watched(watch)
    assert report.samples == 140
    assert report.lag_p50_ms == pytest.approx(0, abs=0.001)
    assert report.lag_p99_ms == pytest.approx(92.5, abs=0.002)  # the 139th of 140
    assert report.lag_max_ms == pytest.approx(97.5, abs=0.002)


def test_early_is_not_late() -> None:
    async def watch(lag: Lag, loop: JumpingLoop) -> LagReport:
        await asyncio.sleep(0.0025)
        loop.stand_still(-0.5)
        lag._tick()
        return lag.take()

    report = watched(watch)
    assert (report.samples, report.lag_max_ms) == (1, 0.0)


@pytest.mark.usefixtures("no_gc")
def test_a_window_begins_where_the_last_was_taken() -> None:
    async def watch(lag: Lag, loop: JumpingLoop) -> LagReport:
        loop.stand_still(0.2)
        await asyncio.sleep(0.0025)
        gc.collect()
        assert lag.take().samples > 0
        await asyncio.sleep(0.1)
        return lag.take()

    report = watched(watch)
    assert report.samples == 20
    assert report.lag_max_ms == pytest.approx(0, abs=0.001)
    assert (report.gc_pauses, report.gc_total_ms, report.gc_longest_ms) == (0, 0.0, 0.0)


def test_a_window_without_samples_has_no_lag() -> None:
    async def watch(lag: Lag, loop: JumpingLoop) -> LagReport:
        return lag.take()

    report = watched(watch)
    assert report.samples == 0
    assert report.lag_p50_ms is report.lag_p99_ms is report.lag_max_ms is None


@pytest.mark.usefixtures("no_gc")
def test_collections_are_counted_and_timed(monkeypatch: pytest.MonkeyPatch) -> None:
    async def watch(lag: Lag, loop: JumpingLoop) -> LagReport:
        now = 100.0
        monkeypatch.setattr(time, "perf_counter", lambda: now)
        for pause in (0.25, 0.5, 0.125):
            for callback in gc.callbacks:
                callback("start", {})
            now += pause
            for callback in gc.callbacks:
                callback("stop", {})
        return lag.take()

    report = watched(watch)
    assert (report.gc_pauses, report.gc_longest_ms, report.gc_total_ms) == (3, 500.0, 875.0)


def test_a_real_collection_is_seen() -> None:
    async def watch(lag: Lag, loop: JumpingLoop) -> LagReport:
        gc.collect()
        gc.collect()
        return lag.take()

    report = watched(watch)
    assert report.gc_pauses >= 2
    assert 0 < report.gc_longest_ms < report.gc_total_ms


def test_the_cpu_share_is_the_processs_time_over_the_walls(monkeypatch: pytest.MonkeyPatch) -> None:
    async def watch(lag: Lag, loop: JumpingLoop) -> LagReport:
        cpu, wall = 7.0, 100.0
        monkeypatch.setattr(time, "process_time", lambda: cpu)
        monkeypatch.setattr(time, "perf_counter", lambda: wall)
        lag.take()
        cpu, wall = 10.0, 104.0
        return lag.take()

    assert watched(watch).cpu_share == 0.75


def test_nothing_is_left_behind_and_a_second_stop_does_nothing() -> None:
    before = list(gc.callbacks)

    async def main() -> int:
        lag = Lag()
        lag.start()
        assert len(gc.callbacks) == len(before) + 1
        lag.stop()
        lag.stop()
        loop.stand_still(1.0)
        await asyncio.sleep(1)
        return lag.take().samples

    loop = JumpingLoop()
    assert loop.run_until_complete(main()) == 0
    loop.close()
    assert gc.callbacks == before


def test_a_real_loop_that_is_blocked_says_so() -> None:
    async def main() -> tuple[float, LagReport, LagReport]:
        lag, began = Lag(), time.monotonic()
        lag.start()
        await asyncio.sleep(0.2)
        idle, lasted = lag.take(), time.monotonic() - began
        time.sleep(0.2)  # noqa: ASYNC251
        await asyncio.sleep(0.05)
        return lasted, idle, lag.stop()

    with asyncio.Runner(loop_factory=Loop) as runner:
        lasted, idle, blocked = runner.run(main())
    assert 0.15 <= idle.samples * STEP_S <= lasted + STEP_S
    assert blocked.lag_max_ms is not None
    assert blocked.lag_max_ms > 190
    assert blocked.samples >= 40  # each step that was due meanwhile counts, not the last one alone
