"""The view of a run while it goes on: two lines that change on a terminal, a line per phase elsewhere."""

import asyncio
import contextlib
from types import TracebackType

from rich.console import Console
from rich.live import Live
from rich.text import Text

from ..engine.progress import Progress
from .words import number

EVERY_S = 0.25


class LiveView:
    """Shows `progress` on `console` while the `with` block runs. It draws from the loop: no thread, and rarely.

    `phases`: where the console is no terminal, a line for each; else nothing there.
    """

    def __init__(self, console: Console, progress: Progress, phases: bool = True) -> None:
        self._console = console
        self._progress = progress
        self._loop = asyncio.get_running_loop()
        self._live = Live(console=console, auto_refresh=False, transient=True) if console.is_terminal else None
        self._phases = phases
        self._seen: tuple[str, int, str] | None = None
        self._tokens = (self._loop.time(), 0)

    def __enter__(self) -> None:
        if self._live is not None:
            self._live.start()
        self._draw()

    def __exit__(self, *_: type[BaseException] | BaseException | TracebackType | None) -> None:
        self._timer.cancel()
        if self._live is not None:
            with contextlib.suppress(OSError, SystemExit):
                self._live.stop()

    def _draw(self) -> None:
        self._timer = self._loop.call_later(EVERY_S, self._draw)
        try:
            self._show()
        except (OSError, SystemExit):  # rich exits where a pipe is closed; the run is worth more than its view
            self._timer.cancel()

    def _show(self) -> None:
        progress = self._progress
        if self._live is not None:
            view = Text(f"{self._where()}\n{self._now()}", no_wrap=True, overflow="ellipsis")
            self._live.update(view, refresh=True)
        elif self._phases and (seen := (progress.point, progress.repeat, progress.phase)) != self._seen:
            self._seen = seen
            self._console.print(self._where(), soft_wrap=True)

    def _where(self) -> str:
        progress = self._progress
        if not progress.point:
            return progress.phase
        left = progress.left(self._loop.time())
        said = f"{progress.point}, repeat {progress.repeat} of {progress.repeats}: {progress.phase}"
        return said if left is None else f"{said}, about {left:.0f} s left"

    def _now(self) -> str:
        progress, now = self._progress, self._loop.time()
        (then, before), tokens = self._tokens, progress.tokens_so_far()
        self._tokens = (now, tokens)
        rate = (tokens - before) / (now - then) if now > then else 0.0
        waiting, speaking = progress.callers()
        return f"{waiting} waiting, {speaking} speaking, {number(rate)} tokens/s, {progress.errors} errors"
