"""A run's files a line at a time, for runs of millions of tokens: what `read` holds whole passes by here."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, TypeVar

from ..types import RequestRow
from .read import EVENTS, EVENTS_FILE, LOGS, ROWS, ROWS_FILE, TEXTS, Sample, Text, goes_on, last_begun, read_facts
from .records import Damaged, Kind, Told, each

T = TypeVar("T")


class Stream:
    """The run in the folder `path`, as it was when each of its files was read.

    facts: run.json. `live`: another program still writes the run. `torn`: the files, read to their end, that end in
    half a line, which is left out; `damaged`: lines of them that could not be read, by file. Raises BadInput as `read`
    does; for a file of which no line can be read, at its end.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        live = goes_on(path)
        self.facts = read_facts(path)
        self.live = live and self.facts.get("ended") is None
        self.torn: set[str] = set()
        self.damaged: dict[str, Damaged] = {}
        events = [event for _, event in self._each(EVENTS_FILE, EVENTS)]
        self._begun = last_begun(events)
        if self.damaged and self.facts.get("resumed"):
            self._begun = last_begun(events, (row for _, row in self._each(ROWS_FILE, ROWS)))
        self.events = [event for event in events if self._stays(event.get("point", ""), event.get("resumed", 0))]

    def has(self, file: str) -> bool:
        """Whether the run has a file of that name."""
        return (self.path / file).exists()

    def rows(self) -> Iterator[tuple[int, RequestRow]]:
        """The rows with their numbers, from 0, by which texts refer to them; without those of load points that were
        begun again."""
        for place, row in self._each(ROWS_FILE, ROWS):
            if self._stays(row.point, row.resumed):
                yield (place if row.id is None else row.id), row

    def texts(self) -> Iterator[Text]:
        """The replies' texts, of the same rows."""
        resumed = any(self._begun.values())
        stay = {number for number, _ in self.rows()} if resumed else None
        for _, text in self._each("replies.jsonl", TEXTS):
            if stay is None or text.request in stay:
                yield text

    def samples(self, log: str) -> Iterator[Sample]:
        """The samples of the cards, the host or the server."""
        yield from (sample for _, sample in self._each(f"{log}.jsonl", LOGS[log]))

    def _stays(self, point: str, resumed: int) -> bool:
        return resumed >= self._begun.get(point, 0)

    def _each(self, name: str, kind: Kind[T]) -> Iterator[tuple[int, T]]:
        told = Told()
        for place, record in each(self.path / name, kind, told):
            yield (told.count if place is None else place), record
        if told.torn:
            self.torn.add(name)
        if told.damaged is not None:
            self.damaged[name] = told.damaged


def remarks(stream: Stream) -> Iterator[str]:
    """What a reader must know of what was read of a run: that it goes on, or how it ended, and what is left out."""
    ended: Mapping[str, Any] = stream.facts
    if stream.live:
        yield "the run still goes on; this is what it has so far"
    elif ended.get("ended") != "complete":
        why = f": {ended['why']}" if ended.get("why") else ""
        yield f"the run did not complete ({ended.get('ended') or 'it was killed'}){why}"
    for name in sorted(stream.torn if not stream.live else ()):
        yield f"{name} ends in half a line, which is left out"
    for name, found in sorted(stream.damaged.items()):
        lines = "1 line" if found.lines == 1 else f"{found.lines} lines"
        yield f"{lines} of {name} could not be read (first at line {found.first})"
