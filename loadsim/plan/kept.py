"""A recorder that also keeps what it writes, for whoever decides by it while the run goes on."""

from pathlib import Path
from typing import Any

from ..results.write import Recorder
from ..types import RequestRow


class Kept(Recorder):
    """`measured`: the rows that count, by load point; `events`: all of them."""

    def __init__(self, path: Path, start: float, text: bool) -> None:
        super().__init__(path, start, text)
        self.measured: dict[str, list[RequestRow]] = {}
        self.events: list[dict[str, Any]] = []

    def row(self, row: RequestRow, text: str | None) -> None:
        super().row(row, text)
        if row.row != "warm":
            self.measured.setdefault(row.point, []).append(row)

    def event(self, name: str, /, **fields: Any) -> None:
        super().event(name, **fields)
        self.events.append({"event": name, **fields})
