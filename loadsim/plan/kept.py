"""A recorder that also keeps what it writes, for whoever decides by it while the run goes on."""

from pathlib import Path
from typing import Any

from ..results.write import Recorder
from ..types import CardFacts, CardSample, HostSample, RequestRow, ServerSample


class Kept(Recorder):
    """`measured`: the rows that count, by load point; `events` and the `cards`' `samples`: all of them."""

    def __init__(self, path: Path, start: float, text: bool) -> None:
        super().__init__(path, start, text)
        self.measured: dict[str, list[RequestRow]] = {}
        self.events: list[dict[str, Any]] = []
        self.cards: list[CardFacts] = []
        self.samples: list[CardSample] = []

    def row(self, row: RequestRow, text: str | None) -> None:
        super().row(row, text)
        if row.row != "warm":
            self.measured.setdefault(row.point, []).append(row)

    def event(self, name: str, /, **fields: Any) -> None:
        super().event(name, **fields)
        self.events.append({"event": name, **fields})

    def describe(self, **facts: Any) -> None:
        super().describe(**facts)
        self.cards = facts.get("cards", self.cards)

    def sample(self, log: str, sample: CardSample | HostSample | ServerSample) -> None:
        super().sample(log, sample)
        if isinstance(sample, CardSample):
            self.samples.append(sample)
