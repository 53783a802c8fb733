"""The loop that everything waits on, and how a program runs on it."""

import asyncio
import gc
import os
import signal
import time
from collections.abc import Coroutine
from typing import Any, TypeVar

import uvloop

T = TypeVar("T")


class Loop(uvloop.Loop):
    """uvloop with the clock of `time.monotonic`; its own clock has steps of 1 ms.

    Timers may still fire up to 1 ms early: note when a thing happened, not when it was asked for.
    """

    def time(self) -> float:
        return time.monotonic()


def run(main: Coroutine[Any, Any, T]) -> T:
    """Run `main` to its end and return what it returns.

    The first Ctrl-C, TERM or hang-up cancels it, so that it can put its things in order, and KeyboardInterrupt is
    raised; a second one ends the program at once with code 130.
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

        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            loop.add_signal_handler(number, stop)
        try:
            return loop.run_until_complete(task)
        except asyncio.CancelledError:
            raise KeyboardInterrupt from None
        finally:
            gc.set_threshold(*thresholds)
            gc.unfreeze()
