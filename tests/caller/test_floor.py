"""The floor: when a turn may begin, and time that stands still while it is closed."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

import pytest

from loadsim.caller.floor import Floor
from tests.virtual import run


def on(floor: Callable[[], Floor], test: Callable[[Floor, list[Any]], Coroutine[Any, Any, None]]) -> list[Any]:
    log: list[Any] = []

    async def main() -> None:
        await test(floor(), log)

    run(main(), 100.0)
    return log


def closes(seconds: float | None = None) -> Callable[[], Floor]:
    return lambda: Floor(100.0, seconds, closes=True)


async def enters(floor: Floor, begins: float, log: list[Any], talks: float = 0.0, early: float = 0.0) -> None:
    due = await floor.enter(begins, early)
    log.append((begins, asyncio.get_running_loop().time(), due))
    await asyncio.sleep(talks)
    floor.leave()


async def shut(floor: Floor, at: float, for_: float) -> None:
    await asyncio.sleep(at - asyncio.get_running_loop().time())
    floor.close()
    await asyncio.sleep(for_)
    floor.open()


def test_a_turn_begins_at_its_time_while_the_floor_is_open() -> None:
    async def test(floor: Floor, log: list[Any]) -> None:
        await asyncio.gather(enters(floor, 105.0, log), enters(floor, 103.0, log))

    assert on(closes(), test) == [(103, 103, 103), (105, 105, 105)]


def test_who_waits_goes_on_as_far_from_their_word_as_they_were() -> None:
    async def test(floor: Floor, log: list[Any]) -> None:
        waits = [enters(floor, begins, log) for begins in (104.0, 105.0, 109.0, 130.0)]
        await asyncio.gather(shut(floor, 105.0, 20.0), *waits)

    # closed from 105 to 125: what was due at its very beginning has begun, or waits for it to the end
    found = on(closes(), test)
    assert found[0] == (104, 104, 104)
    assert found[1] in [(105, 105, 105), (105, 125, 125)]
    assert found[2:] == [(109, 129, 129), (130, 150, 150)]


def test_who_comes_while_it_is_closed_waits_for_the_rest_of_it() -> None:
    async def late(floor: Floor, log: list[Any]) -> None:
        await asyncio.sleep(12)  # in the middle of it
        await enters(floor, 113.0, log)

    async def test(floor: Floor, log: list[Any]) -> None:
        await asyncio.gather(shut(floor, 105.0, 20.0), late(floor, log))

    assert on(closes(), test) == [(113, 126, 126)]


def test_a_moment_of_the_loads_own_time_is_known_while_it_is_closed() -> None:
    async def late(floor: Floor, log: list[Any]) -> None:
        await asyncio.sleep(12)  # in the middle of it
        await enters(floor, floor.at(20.0), log)

    async def test(floor: Floor, log: list[Any]) -> None:
        await asyncio.gather(shut(floor, 105.0, 20.0), late(floor, log))

    ((_, began, due),) = on(closes(), test)
    assert (began, due) == (140, 140)  # 20 s after the load's begin, and those that it was closed for


def test_who_is_due_at_once_waits_but_for_the_last_bit() -> None:
    async def test(floor: Floor, log: list[Any]) -> None:
        await enters(floor, 100.3, log, early=0.5)
        await asyncio.gather(shut(floor, 101.0, 4.0), enters(floor, 102.0, log, early=0.5))

    assert on(closes(), test) == [(100.3, 100, 100.3), (102, 105.5, 106)]


def test_two_closures_add_up() -> None:
    async def test(floor: Floor, log: list[Any]) -> None:
        await asyncio.gather(shut(floor, 102.0, 3.0), shut(floor, 106.0, 10.0), enters(floor, 110.0, log))
        log.append(floor.paused)

    assert on(closes(), test) == [(110, 123, 123), 13]


def test_it_is_quiet_when_the_last_turn_is_over() -> None:
    async def test(floor: Floor, log: list[Any]) -> None:
        async def waits() -> None:
            await asyncio.sleep(5)
            floor.close()
            await floor.quiet()
            log.append(asyncio.get_running_loop().time())
            floor.open()

        await asyncio.gather(enters(floor, 101.0, [], 7.0), enters(floor, 102.0, [], 9.5), waits())

    assert on(closes(), test) == [111.5]


def test_the_loads_own_time_stands_still() -> None:
    async def test(floor: Floor, log: list[Any]) -> None:
        async def reaches() -> None:
            await floor.reach(10.0)
            log.append(asyncio.get_running_loop().time())

        log.append(floor.until)
        await asyncio.gather(shut(floor, 104.0, 20.0), reaches())
        log.extend([floor.until, floor.at(30.0), floor.since(140.0)])

    assert on(closes(60.0), test) == [160, 130, 180, 150, 20]


@pytest.mark.parametrize("seconds", [None, 60.0])
def test_a_floor_that_never_closes_holds_nobody(seconds: float | None) -> None:
    async def test(floor: Floor, log: list[Any]) -> None:
        await enters(floor, 105.0, log)
        log.append(floor.until)

    assert on(lambda: Floor(100.0, seconds), test) == [(105, 100, 105), None if seconds is None else 160]
