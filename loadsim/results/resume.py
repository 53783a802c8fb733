"""A run that broke off, made ready to go on: half lines cut off, and which of its load points are measured."""

import fcntl
import os
from collections import Counter
from pathlib import Path
from typing import Any
from urllib.parse import unquote_plus

import msgspec

from ..types import BadInput
from .histograms import LINE
from .read import SAMPLES, read_facts, read_whole
from .records import UNREADABLE, contents

APPENDED = ("requests.jsonl", "replies.jsonl", "events.jsonl", "histograms.hlog", *(f"{log}.jsonl" for log in SAMPLES))
FILES = ("run.json", "run.json.new", *APPENDED)


class Left(msgspec.Struct, frozen=True, kw_only=True):
    """What a run that broke off has left.

    facts: run.json; `finished`: the points that need not be measured again; `resumed`: how often it went on before;
    `rows`: how many requests it noted, also those that cannot be read any more; `text`: whether it keeps the replies'
    texts; `seconds`: on its clock, the last time that it noted.
    """

    facts: dict[str, Any]
    finished: frozenset[str]
    resumed: int
    rows: int
    text: bool
    seconds: float


def lock(path: Path) -> int:
    """Hold a run's folder, so that one program alone writes into it; returns what is to be closed at the end.

    Raises BadInput where another one holds it, and OSError.
    """
    held = os.open(path, os.O_RDONLY)
    try:
        fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(held)
        raise BadInput(f"{path}: the run still goes on") from None
    except OSError:
        pass  # a file system without locks
    return held


def broken_off(path: Path) -> dict[str, Any]:
    """run.json of a run that can go on. Raises BadInput for a folder without a run, and one that is complete."""
    facts = read_facts(path)
    if facts.get("ended") == "complete":
        raise BadInput(f"{path}: the run is complete; there is nothing to go on with")
    if "plan" in facts:
        raise BadInput(
            f"{path}: a search is not gone on with, since its load points follow from each other; begin anew"
        )
    if any(facts.get(key) is None for key in ("scenario", "id", "started")):
        raise BadInput(f"{path}: the run broke off before it began; start it anew")
    return facts


def mend(path: Path) -> Left:
    """Make the files of the run in `path` ready to be appended to, and tell what it has left.

    Half lines at the end are cut off; damaged ones before it stay, and are told by whoever reads. The histograms of
    points that will be measured again are taken out of their log: its readers could not tell them from the new ones.
    Raises BadInput as `broken_off` and `read` do; OSError.
    """
    facts = broken_off(path)
    for name in APPENDED:
        _end(path / name)
    run = read_whole(path)
    found = Left(
        facts=facts,
        finished=frozenset(event["point"] for event in run.events if event["event"] == "finished"),
        resumed=max([
            facts.get("resumed", 0),
            *(event.get("resumed", 0) for event in run.events),
            *(row.resumed for row in run.rows),
        ]),
        rows=run.noted,
        text=(path / "replies.jsonl").exists() or not run.noted,
        seconds=max([
            facts.get("seconds") or 0.0,
            *(event["t_s"] for event in run.events),
            *(row.end_s or 0.0 for row in run.rows),
            *(sample.t_s for log in (run.card, run.host, run.server) for sample in log),
        ]),
    )  # fmt: skip
    log = path / "histograms.hlog"
    if log.exists():
        lines = contents(log).splitlines(keepends=True)
        new = path / "histograms.hlog.new"
        new.write_bytes(b"".join(line for line in lines if _stays(line, found.finished)))
        new.replace(log)
    return found


def _end(file: Path) -> None:
    """Cut half a last line off; one that lacks its end alone, which is whole, gets it."""
    if not file.exists() or not (data := contents(file)) or data.endswith(b"\n"):
        return
    start = data.rfind(b"\n") + 1
    try:
        msgspec.json.decode(data[start:], type=dict[str, Any])
    except UNREADABLE:
        os.truncate(file, start)
        return
    with file.open("ab") as end:
        end.write(b"\n")


def _stays(line: bytes, finished: frozenset[str]) -> bool:
    match = LINE.fullmatch(line.decode(errors="replace").rstrip("\n"))
    return not match or not match[1] or unquote_plus(match[1].rsplit("/", 2)[0]) in finished


def clamped(left: Left) -> Counter[str]:
    """The counts of values outside the histograms of the points that stay."""
    found = left.facts.get("clamped") or {}
    return Counter({tag: n for tag, n in found.items() if unquote_plus(tag.rsplit("/", 2)[0]) in left.finished})
