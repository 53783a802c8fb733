"""Virtual time: the right order, exact clocks, no waiting, and an error where real time would hang."""

import asyncio
import time

import pytest

from .virtual import DeadlockError, run


def test_sleeps_end_in_their_order_at_their_exact_times() -> None:
    async def sleeper(seconds: float) -> None:
        await asyncio.sleep(seconds)
        woke.append((seconds, asyncio.get_running_loop().time()))

    async def main() -> None:
        async with asyncio.TaskGroup() as group:
            for seconds in (3600.0, 0.3, 0.1, 86400.0 * 30, 0.2):
                group.create_task(sleeper(seconds))

    woke: list[tuple[float, float]] = []
    run(main())
    assert woke == [(seconds, seconds) for seconds in (0.1, 0.2, 0.3, 3600.0, 86400.0 * 30)]


def test_the_clock_does_not_drift_by_rounding() -> None:
    async def main() -> float:
        loop = asyncio.get_running_loop()
        woken = loop.create_future()
        loop.call_at(0.9, woken.set_result, None)
        await woken
        return loop.time()

    assert 0.2 + (0.9 - 0.2) != 0.9
    assert run(main(), start=0.2) == 0.9


def test_time_stands_still_while_anything_can_run() -> None:
    async def main() -> None:
        loop = asyncio.get_running_loop()
        for _ in range(1000):
            await asyncio.sleep(0)
        assert loop.time() == 7.0
        await asyncio.sleep(2)
        assert loop.time() == 9.0

    run(main(), start=7.0)


def test_timers_of_one_moment_fire_in_the_order_they_were_set() -> None:
    async def main() -> None:
        loop = asyncio.get_running_loop()
        for name in "abc":
            loop.call_later(1.5, seen.append, name)
        loop.call_at(1.0, seen.append, "first")
        loop.call_later(0.5, seen.append, "gone").cancel()
        await asyncio.sleep(1.4)
        assert seen == ["first"]
        await asyncio.sleep(0.2)

    seen: list[str] = []
    run(main())
    assert seen == ["first", "a", "b", "c"]


def test_timeouts_come_at_their_time_and_only_if_nothing_else_does() -> None:
    async def main() -> None:
        loop = asyncio.get_running_loop()
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(asyncio.Event().wait(), 5)
        assert loop.time() == 5
        assert await asyncio.wait_for(asyncio.sleep(2, "done"), 10) == "done"
        assert loop.time() == 7
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.25):
                await asyncio.sleep(1)
        assert loop.time() == 7.25

    run(main())


def test_the_result_and_errors_of_main_come_through() -> None:
    async def main(fail: bool) -> int:
        await asyncio.sleep(1)
        return 1 // (not fail)

    assert run(main(False)) == 1
    with pytest.raises(ZeroDivisionError):
        run(main(True))


def test_a_hundred_thousand_sleeps_take_no_time() -> None:
    async def ticks() -> None:
        for _ in range(1000):
            await asyncio.sleep(0.02)

    async def main() -> float:
        async with asyncio.TaskGroup() as group:
            for _ in range(100):
                group.create_task(ticks())
        return asyncio.get_running_loop().time()

    start = time.monotonic()
    assert run(main()) == pytest.approx(20)
    assert time.monotonic() - start < 10  # 0.5 s on a free core; 20 s without the jumps


def test_waiting_for_what_never_comes_is_an_error() -> None:
    async def main() -> None:
        await asyncio.sleep(1)
        async with asyncio.TaskGroup() as group:
            for _ in range(3):
                group.create_task(asyncio.Event().wait())

    with pytest.raises(DeadlockError, match="no timer is set"):
        run(main())


def test_a_cancelled_timer_keeps_nobody_waiting() -> None:
    async def main() -> None:
        asyncio.get_running_loop().call_later(1, print).cancel()
        await asyncio.Event().wait()

    with pytest.raises(DeadlockError):
        run(main())
