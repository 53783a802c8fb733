"""A run's logs beside its rows: cards, this machine and the server, a sample of each every so often."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any, Literal, Protocol

import msgspec

from ..recording.wrong import line as plain
from ..scenario.model import Server, Telemetry
from ..types import CardFacts, CardSample, HostSample, RunStopped, ServerSample
from .card import Back, Known, Line, Lost, NoCards, Sampled
from .lag import Lag
from .sampler import SHOWN, Sampler, ours
from .server import Asked, ServerLog
from .source import source
from .ticks import Order

MOST = 100_000  # cards, MHz or watts

Log = Literal["card", "host", "server"]
Sample = CardSample | HostSample | ServerSample


class Sink(Protocol):
    """What keeps what is logged; each may raise RunStopped where the system refuses."""

    @property
    def path(self) -> Path: ...
    def clock(self) -> float: ...
    def sample(self, log: Log, sample: Sample) -> None: ...
    def event(self, name: str, /, **fields: Any) -> None: ...
    def describe(self, **facts: Any) -> None: ...


class Logs:
    """The logs of a run that goes on. `serves` and `left` say which server is under load; `latest`: each card's last
    sample, by its number."""

    def __init__(self, telemetry: Telemetry, sink: Sink) -> None:
        self._telemetry = telemetry
        self._sink = sink
        self._samplers: list[Sampler] = []
        self._card: Sampler | None = None
        self._server: ServerLog | None = None
        self._lag = Lag()
        self.latest: dict[int, CardSample] = {}
        self._missing: dict[int, tuple[str, ...]] = {}

    async def start(self, server: Server) -> None:
        """Begin the logs of the cards and of this machine."""
        every = self._telemetry.every
        if every is None:
            return
        self._lag.start()
        host = ours("host", every)
        log = self._sink.path / "host.log"
        self._samplers.append(Sampler(host, every, log, self._host_line, lambda *said: self._note("host", *said)))
        found = await source(self._telemetry, server)
        if found.why:
            self._note("card", "none", found.why)
        if found.command is not None:
            log = self._sink.path / "card.log"
            self._card = Sampler(
                found.command, every, log, self._card_line, lambda *said: self._note("card", *said), found.foreign
            )
            self._samplers.append(self._card)

    def serves(self, server: Asked, group: int | None, guarded: bool) -> None:
        """From now on this is the server; `group`: its process group, if we started it, `guarded` by its first one."""
        self.moved(group, guarded)
        if self._telemetry.every is not None:
            self._server = ServerLog(
                server,
                self._telemetry.every,
                self._sink.clock,
                lambda sample: self._keep("server", sample),
                lambda *said: self._note("server", *said),
            )

    def moved(self, group: int | None, guarded: bool) -> None:
        """It is another process group now."""
        for sampler in self._samplers:
            sampler.tell(Order(group=group, guarded=guarded))

    async def left(self) -> None:
        """That server is not asked any more."""
        if self._server is not None:
            await self._server.stop()
            self._server = None
        for sampler in self._samplers:
            sampler.tell(Order(group=None))

    async def stop(self) -> None:
        """End the logs and their processes."""
        await self.left()
        await asyncio.gather(*(sampler.stop() for sampler in self._samplers))
        if self._telemetry.every is not None:
            self._lag.stop()

    def _card_line(self, said: dict[str, Any]) -> bool:
        try:
            line = msgspec.convert(_plain(said), Line)
        except msgspec.ValidationError:
            return False
        numbers = self._telemetry.cards
        match line:
            case Sampled(sample):
                if not _possible(sample):
                    return False
                if numbers is None or sample.card in numbers:
                    self.latest[sample.card] = msgspec.structs.replace(sample, t_s=self._sink.clock())
                    self._keep("card", self.latest[sample.card])
            case Known(cards):
                self._know([card for card in cards if numbers is None or card.card in numbers])
            case Lost(card, why):
                self._note("card", "lost", why, card=card)
            case Back(card):
                self._note("card", "back", "", card=card)
            case NoCards(why):
                self._note("card", "none", why)
                assert self._card is not None
                self._card.last()
        return True

    def _host_line(self, said: dict[str, Any]) -> bool:
        try:
            sample = msgspec.convert(said, HostSample)
        except msgspec.ValidationError:
            return False
        late = self._lag.take()
        self._keep(
            "host",
            msgspec.structs.replace(
                sample,
                t_s=self._sink.clock(),
                lag_p50_ms=late.lag_p50_ms,
                lag_p99_ms=late.lag_p99_ms,
                lag_max_ms=late.lag_max_ms,
                gc_longest_ms=late.gc_longest_ms,
            ),
        )
        return True

    def _know(self, cards: list[CardFacts]) -> None:
        with contextlib.suppress(RunStopped):
            self._sink.describe(cards=cards)
        for card in cards:
            if card.missing and card.missing != self._missing.get(card.card):
                self._note("card", "missing", ", ".join(card.missing), card=card.card)
            self._missing[card.card] = card.missing

    def _keep(self, log: Log, sample: Sample) -> None:
        # Where the disk is full, the next row ends the run and says so.
        with contextlib.suppress(RunStopped):
            self._sink.sample(log, sample)

    def _note(self, log: Log, what: str, why: str, **fields: Any) -> None:
        with contextlib.suppress(RunStopped):
            self._sink.event("telemetry", log=log, what=what, why=why, **fields)


def _possible(sample: CardSample) -> bool:
    """Whether a card can say so: what lies beyond is a sensor's slip, or no card's."""
    heats = (sample.core_c, sample.memory_c)
    others = (sample.card, sample.sm_mhz, sample.memory_mhz, sample.power_w, sample.limit_w)
    return all(heat is None or -100 <= heat <= 1000 for heat in heats) and all(
        other is None or 0 <= other <= MOST for other in others
    )


def _plain(said: Any) -> Any:
    """What a sampler says, which may be another program's words, with nothing in it that moves a terminal."""
    if isinstance(said, str):
        return plain(said)[:SHOWN]
    if isinstance(said, dict):
        return {key: _plain(value) for key, value in said.items()}
    return [_plain(value) for value in said] if isinstance(said, list) else said


@contextlib.asynccontextmanager
async def logs(telemetry: Telemetry, server: Server, sink: Sink) -> AsyncIterator[Logs]:
    """The logs of a run against this server, while the block runs."""
    kept = Logs(telemetry, sink)
    try:
        await kept.start(server)
        yield kept
    finally:
        await asyncio.shield(kept.stop())
