"""A run from disk: a whole one, one that was killed, or one that is still being written."""

import fcntl
import io
import os
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, BinaryIO, TypeVar

import msgspec

from ..types import BadInput, CardSample, HostSample, RequestRow, ServerSample
from .shape import check_event, check_facts

Sample = CardSample | HostSample | ServerSample
FORMAT = "loadsim run 1"
SAMPLES: dict[str, type[Sample]] = {"card": CardSample, "host": HostSample, "server": ServerSample}
"""The logs of samples, each a file of its own."""

T = TypeVar("T")


class Run(msgspec.Struct, frozen=True, kw_only=True):
    """A run as recorded.

    facts: run.json; its `ended` is None for a run that was killed or is still going on.
    texts: the replies' texts by the row's place in `rows`; empty where they were not kept.
    torn: how many files end in half a line, which is left out.
    card, host, server: the samples, of all points; empty in runs of old and where nothing was logged.
    live: another program still writes it.
    left_over: how many rows are not in `rows`, since their load point was begun again when the run was resumed.
    """

    path: Path
    facts: dict[str, Any]
    rows: list[RequestRow]
    events: list[dict[str, Any]]
    texts: dict[int, str]
    torn: int
    card: list[CardSample] = []
    host: list[HostSample] = []
    server: list[ServerSample] = []
    left_over: int = 0
    live: bool = False

    def measured(self, point: str) -> bool:
        """Whether a load point was measured to its end."""
        ends = (event.get("point") for event in self.events if event.get("event") == "finished")
        return self.facts.get("ended") == "complete" or point in ends


class Text(msgspec.Struct):
    """A line of replies.jsonl; `request` is the row's number in requests.jsonl, from 0."""

    request: int
    text: str


def read(path: Path) -> Run:
    """Read the run in the folder `path`. Of a load point that was begun again after the run broke off, only the rows
    and events since it was last begun are in it.

    Raises BadInput for a folder without a run, a run in another format, and a line that cannot be read (file:line).
    """
    run = read_whole(path)
    last = last_begun(run.events)
    stay = [number for number, row in enumerate(run.rows) if row.resumed >= last.get(row.point, 0)]
    events = [event for event in run.events if event.get("resumed", 0) >= last.get(event.get("point", ""), 0)]
    return msgspec.structs.replace(
        run,
        rows=[run.rows[number] for number in stay],
        events=events,
        texts={place: run.texts[number] for place, number in enumerate(stay) if number in run.texts},
        left_over=len(run.rows) - len(stay),
    )


def last_begun(events: Iterable[dict[str, Any]]) -> dict[str, int]:
    """How often the run had been resumed when each load point was last begun."""
    last: dict[str, int] = {}
    for event in events:
        if event.get("event") == "phase" and (point := event.get("point")):
            last[point] = max(event.get("resumed", 0), last.get(point, 0))
    return last


def read_whole(path: Path) -> Run:
    """`read` with everything that the run holds, what is left over too."""
    live, facts = goes_on(path), read_facts(path)
    rows, torn_rows = _lines(path / "requests.jsonl", RequestRow)
    events, torn_events = _lines(path / "events.jsonl", dict[str, Any], check_event)
    texts, torn_texts = _lines(path / "replies.jsonl", Text)
    card, torn_card = _lines(path / "card.jsonl", CardSample)
    host, torn_host = _lines(path / "host.jsonl", HostSample)
    server, torn_server = _lines(path / "server.jsonl", ServerSample)
    return Run(
        path=path,
        facts=facts,
        rows=rows,
        events=events,
        texts={text.request: text.text for text in texts},
        torn=torn_rows + torn_events + torn_texts + torn_card + torn_host + torn_server,
        card=card,
        host=host,
        server=server,
        live=live and facts.get("ended") is None,
    )


def goes_on(path: Path) -> bool:
    """Whether another program still writes the run."""
    try:
        looked = os.open(path, os.O_RDONLY)
    except OSError:
        return False
    try:
        fcntl.flock(looked, fcntl.LOCK_SH | fcntl.LOCK_NB)  # given back at once
    except BlockingIOError:
        return True
    except OSError:
        return False  # a file system without locks
    finally:
        os.close(looked)
    return False


def read_facts(path: Path) -> dict[str, Any]:
    """run.json. Raises BadInput as `read` does."""
    file = path / "run.json"
    try:
        facts = msgspec.json.decode(contents(file), type=dict[str, Any])
    except (FileNotFoundError, NotADirectoryError):
        raise BadInput(f"{path} is not a run: it has no run.json") from None
    except msgspec.DecodeError as error:
        raise BadInput(f"{file}: {error}") from error
    found = facts.get("format")
    if not isinstance(found, str) or not found.startswith("loadsim run "):
        raise BadInput(f"{path} is not a run: its run.json has no format of loadsim's")
    if found != FORMAT:
        raise BadInput(f"{path} was written by a newer loadsim: format {found!r}, and this one reads {FORMAT!r}")
    try:
        check_facts(facts)
    except msgspec.ValidationError as error:
        raise BadInput(f"{file}: {error}") from error
    return facts


def opened(file: Path) -> BinaryIO | None:
    """A file of a run, to be read by lines; None: it is not there. Raises BadInput where it cannot be read."""
    try:
        _no_pipe(file)
        return file.open("rb")
    except FileNotFoundError:
        return None
    except OSError as error:
        raise BadInput(f"cannot read {file}: {error.strerror}") from error


def contents(file: Path) -> bytes:
    """What a file of a run holds. Raises BadInput where it cannot be read, FileNotFoundError and NotADirectoryError."""
    try:
        _no_pipe(file)
        return file.read_bytes()
    except (FileNotFoundError, NotADirectoryError):
        raise
    except OSError as error:
        raise BadInput(f"cannot read {file}: {error.strerror}") from error


def _no_pipe(file: Path) -> None:
    """Who reads a pipe waits for its writer."""
    if file.exists() and not (file.is_file() or file.is_dir()):
        raise BadInput(f"cannot read {file}: not a file")


def _lines(file: Path, kind: type[T], check: Callable[[T], None] | None = None) -> tuple[list[T], int]:
    """The records of a file, and 1 where it ends in half a line; a file that is not there has none."""
    try:
        data = contents(file)
    except FileNotFoundError:
        return [], 0
    decoder = msgspec.json.Decoder(kind)
    records = []
    for number, line in enumerate(io.BytesIO(data), 1):
        try:
            record = decoder.decode(line)
            if check is not None:
                check(record)
            records.append(record)
        except msgspec.DecodeError as error:
            if not line.endswith(b"\n"):
                return records, 1
            raise BadInput(f"{file}:{number}: {error}") from error
    return records, 0
