"""A sampler's process, seen from the run: what it says, and what becomes of it."""

import asyncio
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import msgspec

from ..recording.wrong import line as plain
from ..server.launch import guarded, last_of
from ..server.process import Process, stream
from .ticks import Order

HOME = Path(__file__).resolve().parents[2]  # ours start here, to import the loadsim that we are
PATIENCE_S = 10.0  # beside five intervals: who says nothing for so long is ended, and started again
AGAIN_S = 30.0  # between two starts
GRACE_S = 2.0
SHOWN = 200
LAST = 4096  # bytes of its stderr, to look for its last words in
GONE = {"silent", "ended"}
LOG_MOST = 1 << 20  # bytes of its stderr: who fills more, or says more that is no sample, is ended for good
GARBAGE_MOST = 1000

Note = Callable[[str, str], None]


def ours(module: str, every: float, *arguments: str) -> list[str]:
    """The command of a sampler of our own on this machine."""
    return [sys.executable, "-m", f"loadsim.telemetry.{module}", "--every", f"{every:g}", *arguments]


class Sampler:
    """Keeps a sampler's process going until `stop`: one that ends or falls silent is started again, after a while.

    `heard` gets each line that is a JSON object, and returns whether that is what a sampler says; `note` what became
    of it, and why: `garbage` once; `silent` or `ended` once until a sample has come again, then `back`. What it prints
    on stderr goes to `log`, a file that is only there if something does; one that floods it, or its stdout, is ended
    for good, and `flood` is noted. A `foreign` command is the user's, and ends with us whatever it does; one of ours
    runs here, and hears what it is told.
    """

    def __init__(
        self,
        command: Sequence[str],
        every: float,
        log: Path,
        heard: Callable[[dict[str, Any]], bool],
        note: Note,
        foreign: bool = False,
    ) -> None:
        self._command = command
        self._patience = PATIENCE_S + 5 * every
        self._log = log
        self._heard = heard
        self._note = note
        self._foreign = foreign
        self._loop = asyncio.get_running_loop()
        self._process: Process | None = None
        self._order = b""
        self._said: set[str] = set()
        self._final = False
        self._garbage = 0
        self._logged = 0  # bytes of its stderr that are in the log
        self._complaint = b""  # the last of them since it was started
        self._strange = ""  # what it printed last that is no sample, since the last one
        self._heard_at = 0.0
        self._task = self._loop.create_task(self._keep())

    def tell(self, order: Order) -> None:
        """Say which server is meant from now on; a foreign command is told nothing."""
        self._order = msgspec.json.encode(order) + b"\n"
        if self._process is not None and not self._foreign:
            self._process.tell(self._order)

    def last(self) -> None:
        """It has nothing more to say, and need not be started again."""
        self._final = True

    async def stop(self) -> None:
        """End it and its process."""
        self._task.cancel()
        await asyncio.gather(self._task, return_exceptions=True)

    async def _keep(self) -> None:
        while not self._final:
            self._complaint, self._strange = b"", ""
            try:
                command = guarded(self._command, 1) if self._foreign else self._command
                home = HOME if not self._foreign else None
                self._process = process = stream(command, self._line, self._complain, home)
            except OSError as error:
                self._tell_once("ended", f"cannot be started: {error.strerror}")
                return
            try:
                if self._order and not self._foreign:
                    process.tell(self._order)
                self._heard_at = self._loop.time()
                how = await self._end_of(process)
            finally:
                self._process = None
                await asyncio.shield(self._away(process))
            if not self._final:
                what, why = how
                last = plain(last_of(self._complaint))
                self._tell_once(what, f"{why}; its last words: {last[:SHOWN]}" if last else why)
                await asyncio.sleep(AGAIN_S)

    async def _end_of(self, process: Process) -> tuple[str, str]:
        """Wait until it ends, or is silent for too long."""
        while (wait := self._heard_at + self._patience - self._loop.time()) > 0:
            with suppress(TimeoutError):
                async with asyncio.timeout(wait):
                    status = await process.ended()
                    return "ended", f"it ended with status {status}" if status >= 0 else f"signal {-status} ended it"
        if self._strange:
            return "silent", f"it gave no sample for {self._patience:g} s; it printed: {self._strange[:SHOWN]}"
        return "silent", f"it said nothing for {self._patience:g} s"

    async def _away(self, process: Process) -> None:
        """A user's command is ended kindly, since it may have a far end; ours at once."""
        if self._foreign:
            await process.stop(GRACE_S)
        else:
            process.kill()
            await process.ended()

    def _line(self, line: bytes) -> None:
        with suppress(msgspec.DecodeError):
            said = msgspec.json.decode(line, type=dict[str, Any])
            if self._foreign and "says" not in said and said.keys() <= {"pid", "error"}:  # its guard's word
                if "error" in said:
                    self._final = True
                    self._tell_once("ended", str(said["error"]))
                return
            if self._heard(said):
                self._heard_at, self._strange = self._loop.time(), ""
                if self._said & GONE:
                    self._said -= GONE
                    self._note("back", "")
                return
        shown = plain(line.decode(errors="replace").strip())
        if shown:
            self._strange = shown
            self._tell_once("garbage", f"it printed what is no sample: {shown[:SHOWN]}")
        self._garbage += 1
        if self._garbage == GARBAGE_MOST and self._process is not None:
            self._flooded(f"it printed {GARBAGE_MOST:,} lines that are no samples")
            self._process.kill()

    def _complain(self, piece: bytes) -> None:
        """It printed something on stderr. The log is made by the first such piece, so that a run that is killed leaves
        no empty one."""
        kept = piece[: LOG_MOST - self._logged]
        self._logged += len(kept)
        self._complaint = (self._complaint + kept)[-LAST:]
        # Where the disk is full, or the folder gone, the next row ends the run and says so.
        with suppress(OSError), self._log.open("ab") as file:
            file.write(kept)
        if self._logged >= LOG_MOST and not self._final:
            self._flooded(f"it printed {LOG_MOST >> 20} MiB on stderr")
            if self._process is not None:
                self._process.kill()

    def _flooded(self, why: str) -> None:
        self._final = True
        self._tell_once("flood", f"{why}, and was ended for good")

    def _tell_once(self, what: str, why: str) -> None:
        if what not in self._said:
            self._said.add(what)
            self._note(what, why)
