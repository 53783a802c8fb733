"""A run on disk while it goes on: it only appends; run.json alone is written anew."""

import asyncio
import contextlib
import os
import time
import uuid
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal

import msgspec

from ..types import BadInput, CardSample, FolderGone, HostSample, RequestRow, RunStopped, ServerSample, Unwritable
from .histograms import Histograms, header, metrics
from .lines import Lines, same
from .machine import host, versions
from .read import FORMAT, SAMPLES
from .resume import clamped, lock, mend

BLOCK, SPARE = 4096, 1024  # bytes: what file systems give at a time, and what a run's end may add to run.json

Ended = Literal["complete", "interrupted", "stopped"]


def default_folder(scenario: str, now: datetime) -> Path:
    """Make `results/<scenario>-<time>`, with -2, -3 and so on where that is taken, also in this very moment."""
    base = Path("results") / f"{scenario}-{now:%Y%m%d-%H%M%S}"
    folder, number = base, 1
    while not claim(folder, new=True):
        number += 1
        folder = base.with_name(f"{base.name}-{number}")
    return folder


def claim(folder: Path, new: bool = False) -> bool:
    """Make a run's folder; False where it is there already. Raises BadInput where it cannot be made or, unless a `new`
    one is wanted, holds something."""
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        try:
            folder.mkdir()
            return True
        except FileExistsError:
            if not new and any(folder.iterdir()):
                raise BadInput(f"{folder} is not empty: a run needs a folder of its own") from None
            return False
    except OSError as error:
        raise BadInput(f"cannot write a run into {folder}: {error.strerror}") from error


class Recorder:
    """Writes a run into the folder `path`, which it makes.

    `start`: loop time at 0 on the run's clock. `text`: keep the replies' texts. `now`: the clock; None: the running
    loop's. `rows`: how many the run has. `finished`: the load points that it has; `resumed`: how often it has been.
    Raises BadInput where the folder holds something or cannot be written; every later write raises FolderGone where the
    folder is no longer this one, and RunStopped, naming the file, where the system refuses it.
    """

    def __init__(self, path: Path, start: float, text: bool, now: Callable[[], float] | None = None) -> None:
        try:
            path.mkdir(parents=True, exist_ok=True)
            if any(path.iterdir()):
                raise BadInput(f"{path} is not empty: a run needs a folder of its own")
        except OSError as error:
            raise _refused(path, error) from error
        self._open(path, start, text, now)
        self.id = uuid.uuid4().hex
        self.finished: frozenset[str] = frozenset()
        self.resumed = self.rows = 0
        self._written_s = 0.0
        epoch_s = time.time() - self.clock()
        self._facts: dict[str, Any] = {
            "format": FORMAT,
            "id": self.id,
            "ended": None,
            "why": None,
            "started": {"epoch_s": round(epoch_s, 6), "time": datetime.fromtimestamp(epoch_s, UTC).isoformat()},
            "versions": versions(),
            "host": msgspec.to_builtins(host()),
        }
        try:
            self._save()
        except OSError as error:
            raise _refused(path, error) from error
        self._log.write(header(epoch_s))

    @classmethod
    def resume(cls, path: Path, loop_s: float, now: Callable[[], float] | None = None) -> "Recorder":
        """Go on with the run in the folder `path`, which broke off: its files are mended and appended to.

        `loop_s`: loop time now. The run's clock goes on by the wall's, never back. Raises BadInput for a run that is
        complete, that still goes on or that cannot be read.
        """
        self = cls.__new__(cls)
        try:
            held = lock(path)
            found = mend(path)
        except OSError as error:
            raise BadInput(f"cannot go on with the run in {path}: {error.strerror}") from error
        passed = max(time.time() - found.facts["started"]["epoch_s"], found.seconds)
        self._open(path, loop_s - passed, found.text, now, held)
        self.id = found.facts["id"]
        self.finished, self.resumed, self.rows = found.finished, found.resumed + 1, found.rows
        self._histograms.clamped = clamped(found)
        self._written_s = self.clock()
        self._facts = found.facts | {"ended": None, "why": None, "resumed": self.resumed}
        self._describe({})
        self.event("resumed", versions=versions())
        return self

    def _open(
        self, path: Path, start: float, text: bool, now: Callable[[], float] | None, held: int | None = None
    ) -> None:
        self.path = path
        self.start = start
        self._now = now or asyncio.get_running_loop().time
        try:
            self._held: int | None = lock(path) if held is None else held
        except OSError as error:
            raise _refused(path, error) from error
        self._requests = Lines(path / "requests.jsonl")
        self._replies = Lines(path / "replies.jsonl") if text else None
        self._events = Lines(path / "events.jsonl")
        self._log = Lines(path / "histograms.hlog")
        self._samples = {name: Lines(path / f"{name}.jsonl") for name in SAMPLES}
        self._histograms = Histograms()

    @property
    def salt(self) -> str:
        """What no other run has, nor this one before it was resumed."""
        return f"{self.id}-{self.resumed}" if self.resumed else self.id

    def begin(self, scenario: dict[str, Any], points: Mapping[str, dict[str, Any]]) -> None:
        """Put the scenario into run.json, and its load points in their order, measured or not, with what each sets."""
        known = self._facts.get("points", {})
        told = {point: known.get(point, {}) | {"sets": sets} for point, sets in points.items()}
        self.describe(scenario=scenario, points=told)

    def describe_point(self, point: str, **facts: Any) -> None:
        """Put facts about a load point into run.json, beside those that are there."""
        known = self._facts.get("points", {})
        self.describe(points=known | {point: known.get(point, {}) | facts})

    def describe(self, **facts: Any) -> None:
        """Put facts into run.json, each under its name; a later one of the same name takes its place."""
        # Copied, so that what the giver changes later is not written by accident.
        self._describe(msgspec.to_builtins(facts))

    def row(self, row: RequestRow, text: str | None) -> None:
        """Append a request as it ended, and its reply's text; None: it has none."""
        self._own()
        row.resumed, row.id = self.resumed, self.rows
        self._requests.write(_line(row))
        self.rows += 1
        for metric, seconds in metrics(row).items():
            self._histograms.record(row.point, row.row, metric, seconds)
        if self._replies is not None and text is not None:
            self._replies.write(_line({"request": row.id, "text": text}))

    def event(self, name: str, /, **fields: Any) -> None:
        """Append what happened now."""
        self._own()
        again = {"resumed": self.resumed} if self.resumed else {}
        self._events.write(_line({"t_s": self.clock(), "event": name, **again, **fields}))

    def sample(self, log: str, sample: CardSample | HostSample | ServerSample) -> None:
        """Append a sample to the log of the cards, the host or the server."""
        self._own()
        self._samples[log].write(_line(sample))

    def end_window(self, point: str) -> None:
        """A window of a point's load is over: append its histograms, as an interval since the last such call."""
        self._write_histograms(point)

    def end_point(self, point: str) -> None:
        """A point is measured: append its histograms, as an interval since the last such call, and that it is."""
        self._write_histograms(point)
        self.event("finished", point=point)

    def check(self) -> None:
        """Raises FolderGone where what was written is no longer in the run's folder."""
        self._own()
        for lines in self._files:
            lines.check()

    def close(self, ended: Ended, why: str | None = None) -> None:
        """Write what is left and how the run ended, `why` in one line."""
        try:
            self._write_histograms(None)
        except RunStopped as error:
            ended, why = "stopped", why or str(error)
            raise
        finally:
            for lines in self._files:
                lines.close()
            facts = {"ended": ended, "why": why, "seconds": self.clock(), "clamped": dict(self._histograms.clamped)}
            try:
                self._describe(facts, last=True)
            finally:
                if self._held is not None:
                    os.close(self._held)
                    self._held = None

    @property
    def _files(self) -> list[Lines]:
        found = (self._requests, self._replies, self._events, self._log, *self._samples.values())
        return [lines for lines in found if lines is not None]

    def _own(self) -> None:
        """Nothing is written into a folder that has come into the place of ours."""
        if self._held is not None and not same(self._held, self.path):
            raise FolderGone(f"{self.path} was deleted or replaced while the run went on: nothing more can be kept")

    def _write_histograms(self, point: str | None) -> None:
        since, self._written_s = self._written_s, max(self.clock(), self._written_s)
        self._histograms.write(self._log, since, self._written_s, point)

    def _describe(self, facts: dict[str, Any], last: bool = False) -> None:
        self._own()
        self._facts |= facts
        try:
            self._save(last)
        except OSError as error:
            raise Unwritable(f"cannot write {self.path / 'run.json'}: {error.strerror}") from error

    def _save(self, last: bool = False) -> None:
        """Put a new run.json in the old one's place, in one step.

        It ends in blanks, to a whole block: on a disk that has become full, the `last` one is written over the old one
        and takes no room, so that even such a run tells how it ended.
        """
        new, old = self.path / "run.json.new", self.path / "run.json"
        data = msgspec.json.format(msgspec.json.encode(self._facts), indent=2)
        try:
            size = -(-(len(data) + SPARE) // BLOCK) * BLOCK
            new.write_bytes(data.ljust(size - 1) + b"\n")
            new.replace(old)
        except OSError:
            with contextlib.suppress(OSError):
                new.unlink(missing_ok=True)
            if not last or not old.exists() or (size := old.stat().st_size) <= len(data):
                raise
            with old.open("r+b") as file:
                file.write(data.ljust(size - 1) + b"\n")

    def clock(self) -> float:
        """Seconds on the run's clock."""
        return round(self._now() - self.start, 6)


def _refused(path: Path, error: OSError) -> BadInput:
    return BadInput(f"cannot write a run into {path}: {error.strerror}")


def _line(record: Any) -> bytes:
    return msgspec.json.encode(record) + b"\n"
