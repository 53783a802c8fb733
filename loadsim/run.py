"""The loop that everything waits on, and how a program runs on it."""

import asyncio
import gc
import os
import signal
import time
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

import uvloop

T = TypeVar("T")


class Loop(uvloop.Loop):
    """uvloop with the clock of `time.monotonic`; its own clock has steps of 1 ms.

    Timers may still fire up to 1 ms early: note when a thing happened, not when it was asked for.
    """

    def time(self) -> float:
        return time.monotonic()


def run(main: Coroutine[Any, Any, T], finish: Callable[[], bool] | None = None) -> T:
    """Run `main` to its end and return what it returns.

    The first Ctrl-C asks `finish` whether `main` will end by itself, soon. If not, or without one, and at the next
    Ctrl-C, and at once at TERM or hang-up, `main` is cancelled, so that it can put its things in order, and
    KeyboardInterrupt is raised; one more of them ends the program there and then with code 130.
    """
    # What start-up allocated stays for good: the collector need not walk it again while tokens arrive. Nor need it come
    # as often as by default: a full collection under 500 streams held everything up for 30 ms.
    gc.collect()
    gc.freeze()
    thresholds = gc.get_threshold()
    gc.set_threshold(50_000, 20, 100)
    with asyncio.Runner(loop_factory=Loop) as runner:
        loop = runner.get_loop()
        task = loop.create_task(main)
        asked = False

        def stop() -> None:
            nonlocal asked
            if asked:
                os._exit(130)
            asked = True
            task.cancel()

        def interrupt() -> None:
            if finish is None or asked or not finish():
                stop()

        loop.add_signal_handler(signal.SIGINT, interrupt)
        for number in (signal.SIGTERM, signal.SIGHUP):
            loop.add_signal_handler(number, stop)
        try:
            return loop.run_until_complete(task)
        except asyncio.CancelledError:
            raise KeyboardInterrupt from None
        finally:
            gc.set_threshold(*thresholds)
            gc.unfreeze()
