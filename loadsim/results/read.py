"""A run from disk: a whole one, one that was killed, or one that is still being written."""

import fcntl
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import msgspec

from ..scenario.secret import masked, masked_data
from ..types import BadInput, CardSample, HostSample, RequestRow, ServerSample
from .records import UNREADABLE, Damaged, Kind, contents, packed, records
from .shape import check_event, check_facts, check_row

Sample = CardSample | HostSample | ServerSample
FORMAT = "loadsim run 1"
SAMPLES: dict[str, type[Sample]] = {"card": CardSample, "host": HostSample, "server": ServerSample}
"""The logs of samples, each a file of its own."""
ROWS_FILE, EVENTS_FILE = "requests.jsonl", "events.jsonl"


class Run(msgspec.Struct, frozen=True, kw_only=True):
    """A run as recorded.

    facts: run.json; its `ended` is None for a run that was killed or is still going on.
    texts: the replies' texts by the row's place in `rows`; empty where they were not kept.
    torn: how many files end in half a line, which is left out.
    damaged: lines that could not be read, by file. noted: how many rows were recorded, and missing: how many of these
    could not be read, at the least. tokens: in all of the rows. The three count left over rows too.
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
    damaged: tuple[Damaged, ...] = ()
    noted: int = 0
    missing: int = 0
    tokens: int = 0
    left_over: int = 0
    live: bool = False

    def measured(self, point: str) -> bool:
        """Whether a load point was measured to its end."""
        ends = (event.get("point") for event in self.events if event.get("event") == "finished")
        return self.facts.get("ended") == "complete" or point in ends


class Text(msgspec.Struct):
    """A line of replies.jsonl; `request` is the row's `id`."""

    request: int
    text: str


def _pack(row: RequestRow) -> None:
    if row.token_s:
        row.token_s = packed(row.token_s)
    if row.token_server_ms:
        row.token_server_ms = packed(row.token_server_ms)


ROWS = Kind(type=RequestRow, begins=b'{"point":', check=check_row)
EVENTS = Kind(type=dict[str, Any], begins=b'{"t_s":', check=check_event)
TEXTS = Kind(type=Text, begins=b'{"request":')
# A sample's type takes nearly any line, since a sensor may tell nothing.
CARD = Kind(type=CardSample, begins=b'{"t_s":', foreign=(b'"event":', b'"outcome":'))
HOST = Kind(type=HostSample, begins=b'{"t_s":', foreign=(*CARD.foreign, b'"request":', b'"stamp_s":', b'"took_s":'))
SERVER = Kind(type=ServerSample, begins=b'{"t_s":', foreign=(*CARD.foreign, b'"stamp_s":'))


LOGS: dict[str, Kind[Any]] = {"card": CARD, "host": HOST, "server": SERVER}


def read(path: Path) -> Run:
    """Read the run in the folder `path`. Of a load point that was begun again after the run broke off, only the rows
    and events since it was last begun are in it. Lines that cannot be read are left out and told. Secrets that a run of
    old may hold are masked, but for those in replies.

    Raises BadInput for a folder without a run, a run in another format, and a file of which no line can be read.
    """
    run = read_whole(path)
    damaged = any(file.file == EVENTS_FILE for file in run.damaged)
    last = last_begun(run.events, run.rows if damaged else ())
    stay = [number for number, row in enumerate(run.rows) if row.resumed >= last.get(row.point, 0)]
    events = [event for event in run.events if event.get("resumed", 0) >= last.get(event.get("point", ""), 0)]
    return msgspec.structs.replace(
        run,
        facts=masked_data(run.facts),
        rows=[masked_row(run.rows[number]) for number in stay],
        events=masked_data(events),
        texts={place: run.texts[number] for place, number in enumerate(stay) if number in run.texts},
        left_over=len(run.rows) - len(stay),
    )


def masked_row(row: RequestRow) -> RequestRow:
    """The row, its names and its error masked in place."""
    row.point, row.group = masked(row.point), masked(row.group)
    row.error = None if row.error is None else masked(row.error)
    row.phase = None if row.phase is None else masked(row.phase)
    row.finish = None if row.finish is None else masked(row.finish)
    row.probe = masked_data(row.probe) if row.probe else row.probe
    return row


def last_begun(events: Iterable[dict[str, Any]], rows: Iterable[RequestRow] = ()) -> dict[str, int]:
    """How often the run had been resumed when each load point was last begun; where events are damaged, by its `rows`
    too."""
    last: dict[str, int] = {}
    for row in rows:
        last[row.point] = max(row.resumed, last.get(row.point, 0))
    for event in events:
        if event.get("event") == "phase" and (point := event.get("point")):
            last[point] = max(event.get("resumed", 0), last.get(point, 0))
    return last


def read_whole(path: Path) -> Run:
    """`read` with everything that the run holds, what is left over too."""
    live, facts = goes_on(path), read_facts(path)
    rows = records(path / ROWS_FILE, ROWS, _pack)
    events = records(path / EVENTS_FILE, EVENTS)
    texts = records(path / "replies.jsonl", TEXTS)
    card = records(path / "card.jsonl", CARD)
    host = records(path / "host.jsonl", HOST)
    server = records(path / "server.jsonl", SERVER)
    files = (rows, events, texts, card, host, server)
    ids = [place if row.id is None else row.id for row, place in zip(rows.found, rows.places, strict=True)]
    said = {text.request: text.text for text in texts.found}
    noted = max([rows.told.count, *(number + 1 for number in (*ids, *said) if number is not None)])
    return Run(
        path=path,
        facts=facts,
        rows=rows.found,
        events=events.found,
        texts={place: said[number] for place, number in enumerate(ids) if number is not None and number in said},
        torn=sum(file.told.torn for file in files),
        damaged=tuple(file.told.damaged for file in files if file.told.damaged is not None),
        noted=noted,
        missing=noted - len(rows.found),
        tokens=sum(len(row.token_s) for row in rows.found),
        card=card.found,
        host=host.found,
        server=server.found,
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


def _no_run(path: Path) -> str:
    """Why a folder is none, and which run it may have been meant for."""
    if not path.is_dir():
        return "there is no such folder" if not path.exists() else "it is a file; name the run's folder"
    within = sorted((file.parent for file in path.glob("*/run.json")), key=lambda run: run.stat().st_mtime)
    return "it has no run.json" + (f"; the last run in it is {within[-1]}" if within else "")


def read_facts(path: Path) -> dict[str, Any]:
    """run.json. Raises BadInput as `read` does."""
    file = path / "run.json"
    try:
        facts = msgspec.json.decode(contents(file), type=dict[str, Any])
    except (FileNotFoundError, NotADirectoryError):
        raise BadInput(f"{path} is not a run: {_no_run(path)}") from None
    except UNREADABLE as error:
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
