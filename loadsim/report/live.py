"""The view of a run while it goes on: a few lines that change on a terminal, a line per phase elsewhere."""

import asyncio
import contextlib
from collections.abc import Iterator, Sequence
from types import TracebackType

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.text import Text

from ..engine.progress import RECENT_S, Progress
from ..stats.cards import cards
from ..stats.headline import in_headline
from ..stats.spread import middle, since
from ..stats.tokens import decode_rate
from ..stats.windows import figures
from ..types import RequestRow
from .logs import card_line
from .soak import last_minute
from .words import lasting, ms, number, several

EVERY_S = 0.25
FIGURES_S = 1.0  # between two looks at the last minute
MOST_GAPS = 20_000  # that are looked at each time: more would hold up the loop, and delay what is measured
MOST_CARDS = 4
OLD_S = 30.0  # a sample of so long ago is not of now: its log may have broken off


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
        self._figures: tuple[float, RenderableType] | None = None
        progress.watched = self._live is not None

    def __enter__(self) -> None:
        if self._live is not None:
            self._live.start()
        self._draw()

    def __exit__(self, *_: type[BaseException] | BaseException | TracebackType | None) -> None:
        self._timer.cancel()
        self._progress.watched = False
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
            self._live.update(Group(*self._parts()), refresh=True)
        elif self._phases and (seen := (progress.point, progress.repeat, progress.phase)) != self._seen:
            self._seen = seen
            self._console.print(self._where(), soft_wrap=True)

    def _parts(self) -> Iterator[RenderableType]:
        yield _line(self._where(), "bold")
        yield _line(self._now())
        yield from self._minute()
        yield from map(_line, around(self._progress, self._loop.time()))

    def _where(self) -> str:
        progress = self._progress
        if not progress.point:
            return progress.phase
        left = progress.left(self._loop.time())
        part = f" ({progress.part})" if progress.part else ""
        said = f"{progress.point}, repeat {progress.repeat} of {progress.repeats}: {progress.phase}{part}"
        return said if left is None else f"{said}, about {lasting(round(left) or 1.0)} left"

    def _now(self) -> str:
        progress, now = self._progress, self._loop.time()
        (then, before), tokens = self._tokens, progress.tokens_so_far()
        self._tokens = (now, tokens)
        rate = (tokens - before) / (now - then) if now > then else 0.0
        waiting, speaking = progress.callers()
        return f"{waiting} waiting, {speaking} speaking, {number(rate)} tokens/s, {several(progress.errors, 'error')}"

    def _minute(self) -> Iterator[RenderableType]:
        """What the requests of the last minute met, in the report's columns."""
        now = self._loop.time()
        self._progress.forget(now)
        if not self._progress.recent:
            self._figures = None
            return
        if self._figures is None or now - self._figures[0] >= FIGURES_S:
            rows = _fewer([row for _, row in self._progress.recent])
            self._figures = (now, last_minute(figures(rows), RECENT_S))
        yield self._figures[1]


def around(progress: Progress, now: float) -> Iterator[str]:
    """One caller alone as measured last, and the cards as they are; a line each."""
    if progress.alone is not None:
        at, rows = progress.alone
        good = [row for row in rows if in_headline(row)]
        rate = number(middle(decode_rate(row.token_s) for row in good))
        first = ms(middle(since(row.sent_s, row.first_token_s) for row in good))
        yield f"one caller: {rate} tokens/s, TTFT {first} ms, {lasting(max(round(now - at), 1))} ago"
    samples = sorted(progress.cards(), key=lambda sample: sample.card)
    for sample in samples[:MOST_CARDS]:
        (card,) = cards([sample])
        name = "card" if len(samples) == 1 and not card.card else f"card {card.card}"
        age = 0.0 if progress.clock is None else progress.clock() - sample.t_s
        yield f"{name}{f', {lasting(round(age))} ago' if age >= OLD_S else ''}: {card_line(card, now=True)}"
    if len(samples) > MOST_CARDS:
        yield f"and {several(len(samples) - MOST_CARDS, 'other card')}, see card.jsonl"


def _fewer(rows: Sequence[RequestRow]) -> Sequence[RequestRow]:
    """Every so many of them, where all would have too many gaps."""
    return rows[:: -(-sum(len(row.token_s) for row in rows) // MOST_GAPS) or 1]


def _line(text: str, style: str = "") -> Text:
    return Text(text, style=style, no_wrap=True, overflow="ellipsis")
