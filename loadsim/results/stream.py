"""A run's files a line at a time, for runs of millions of tokens: what `read` holds whole passes by here."""

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from ..types import BadInput, RequestRow
from .read import SAMPLES, Sample, Text, goes_on, last_begun, opened, read_facts
from .shape import check_event

T = TypeVar("T")


class Stream:
    """The run in the folder `path`, as it was when each of its files was read.

    facts: run.json. `live`: another program still writes the run. `torn`: the files, read to their end, that end in
    half a line, which is left out. Raises BadInput as `read` does; a line that cannot be read, when it comes.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        live = goes_on(path)
        self.facts = read_facts(path)
        self.live = live and self.facts.get("ended") is None
        self.torn: set[str] = set()
        events = list(self._lines("events.jsonl", dict[str, Any], check_event))
        self._begun = last_begun(events)
        self.events = [event for event in events if self._stays(event.get("point", ""), event.get("resumed", 0))]

    def has(self, file: str) -> bool:
        """Whether the run has a file of that name."""
        return (self.path / file).exists()

    def rows(self) -> Iterator[tuple[int, RequestRow]]:
        """The rows with their numbers in requests.jsonl, from 0; without those of load points that were begun again."""
        for number, row in enumerate(self._lines("requests.jsonl", RequestRow)):
            if self._stays(row.point, row.resumed):
                yield number, row

    def texts(self) -> Iterator[Text]:
        """The replies' texts, of the same rows."""
        resumed = any(self._begun.values())
        stay = {number for number, _ in self.rows()} if resumed else None
        for text in self._lines("replies.jsonl", Text):
            if stay is None or text.request in stay:
                yield text

    def samples(self, log: str) -> Iterator[Sample]:
        """The samples of the cards, the host or the server."""
        yield from self._lines(f"{log}.jsonl", SAMPLES[log])

    def _stays(self, point: str, resumed: int) -> bool:
        return resumed >= self._begun.get(point, 0)

    def _lines(self, name: str, kind: type[T], check: Callable[[T], None] | None = None) -> Iterator[T]:
        file = self.path / name
        decoder = msgspec.json.Decoder(kind)
        lines = opened(file)
        if lines is None:
            return
        with lines:
            for number, line in enumerate(lines, 1):
                try:
                    record = decoder.decode(line)
                    if check is not None:
                        check(record)
                except msgspec.DecodeError as error:
                    if not line.endswith(b"\n"):
                        self.torn.add(name)
                        return
                    raise BadInput(f"{file}:{number}: {error}") from error
                yield record


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
