"""A run from disk: a whole one, one that was killed, or one that is still being written."""

from pathlib import Path
from typing import Any, TypeVar

import msgspec

from ..types import BadInput, RequestRow
from .write import FORMAT

T = TypeVar("T")


class Run(msgspec.Struct, frozen=True, kw_only=True):
    """A run as recorded.

    facts: run.json; its `ended` is None for a run that was killed or is still going on.
    texts: the replies' texts by the row's number; empty where they were not kept.
    torn: how many files end in half a line, which is left out.
    """

    path: Path
    facts: dict[str, Any]
    rows: list[RequestRow]
    events: list[dict[str, Any]]
    texts: dict[int, str]
    torn: int


class Text(msgspec.Struct):
    """A line of replies.jsonl; `request` is the row's number in requests.jsonl, from 0."""

    request: int
    text: str


def read(path: Path) -> Run:
    """Read the run in the folder `path`.

    Raises BadInput for a folder without a run, a run in another format, and a line that cannot be read (file:line).
    """
    facts = _facts(path)
    rows, torn_rows = _lines(path / "requests.jsonl", RequestRow)
    events, torn_events = _lines(path / "events.jsonl", dict[str, Any])
    texts, torn_texts = _lines(path / "replies.jsonl", Text)
    return Run(
        path=path,
        facts=facts,
        rows=rows,
        events=events,
        texts={text.request: text.text for text in texts},
        torn=torn_rows + torn_events + torn_texts,
    )


def _facts(path: Path) -> dict[str, Any]:
    file = path / "run.json"
    try:
        facts = msgspec.json.decode(file.read_bytes(), type=dict[str, Any])
    except (FileNotFoundError, NotADirectoryError):
        raise BadInput(f"{path} is not a run: it has no run.json") from None
    except OSError as error:
        raise BadInput(f"cannot read {file}: {error.strerror}") from error
    except msgspec.DecodeError as error:
        raise BadInput(f"{file}: {error}") from error
    found = facts.get("format")
    if not isinstance(found, str) or not found.startswith("loadsim run "):
        raise BadInput(f"{path} is not a run: its run.json has no format of loadsim's")
    if found != FORMAT:
        raise BadInput(f"{path} was written by a newer loadsim: format {found!r}, and this one reads {FORMAT!r}")
    return facts


def _lines(file: Path, kind: type[T]) -> tuple[list[T], int]:
    """The records of a file, and 1 where it ends in half a line; a file that is not there has none."""
    try:
        data = file.read_bytes()
    except FileNotFoundError:
        return [], 0
    except OSError as error:
        raise BadInput(f"cannot read {file}: {error.strerror}") from error
    decoder = msgspec.json.Decoder(kind)
    records = []
    for number, line in enumerate(data.splitlines(keepends=True), 1):
        try:
            records.append(decoder.decode(line))
        except msgspec.DecodeError as error:
            if not line.endswith(b"\n"):
                return records, 1
            raise BadInput(f"{file}:{number}: {error}") from error
    return records, 0
