"""Rules that end a run before its time: too many errors, or too hot a card."""

import asyncio
from collections import Counter, deque
from collections.abc import Callable, Iterable

from ..scenario.model import Scenario
from ..scenario.units import format_celsius, format_duration, format_percent
from ..stats.headline import failed
from ..types import CardSample, RequestRow, RunAborted

LOOK_S = 0.5
LEAST = 10  # requests in a window, of which a share says something
SAID = 3  # kinds of errors that are named
MOST = 60  # characters of one: a server may say much, and the whole text is in requests.jsonl
STALE_S = 30.0  # a sample so old says nothing of now


class Limits:
    """Holds a load that goes on against the scenario's `abort`. `cards`: each card's last sample; `clock`: seconds on
    the run's clock."""

    def __init__(
        self, scenario: Scenario, start: float, cards: Callable[[], Iterable[CardSample]], clock: Callable[[], float]
    ) -> None:
        self._rules = scenario.abort
        self._window = scenario.window
        self._start = start
        self._cards = cards
        self._clock = clock
        self._now = asyncio.get_running_loop().time
        self._ended: deque[tuple[float, str | None]] = deque()

    def ended(self, row: RequestRow) -> None:
        """A request of the load ended."""
        if self._rules.errors is not None and row.outcome != "superseded":
            self._ended.append((self._now(), (row.error or row.outcome) if failed(row) else None))
            self._forget()

    async def look(self) -> None:
        """Look until cancelled. Raises RunAborted where a rule says so."""
        while True:
            self._errors()
            self._heat()
            await asyncio.sleep(LOOK_S)

    def _forget(self) -> None:
        while self._ended and self._ended[0][0] < self._now() - self._window:
            self._ended.popleft()

    def _errors(self) -> None:
        limit = self._rules.errors
        if limit is None:
            return
        self._forget()
        errors = Counter(error for _, error in self._ended if error is not None)
        count, total = errors.total(), len(self._ended)
        if total < LEAST or count / total < limit:
            return
        most = ", ".join(f"{n} x {_short(error)}" for error, n in errors.most_common(SAID))
        over = f"the last {format_duration(self._window)}"
        self._end(f"{count} of {total} requests of {over} failed ({most}); the limit is {format_percent(limit)}")

    def _heat(self) -> None:
        limit = self._rules.card
        for sample in self._cards() if limit is not None else ():
            fresh = sample.t_s >= self._clock() - STALE_S
            if limit is not None and fresh and sample.core_c is not None and sample.core_c >= limit:
                self._end(f"card {sample.card} was at {sample.core_c:g} C; the limit is {format_celsius(limit)}")

    def _end(self, why: str) -> None:
        raise RunAborted(f"abort, {self._now() - self._start:.0f} s into the load: {why}")


def _short(error: str) -> str:
    return error if len(error) <= MOST else f"{error[: MOST - 1].rstrip()}…"
