"""A child process that ends with us: it holds a pipe from us and ends when that pipe ends, whatever ended us.

Everything is a callback of the running loop: no thread, no child watcher, so that it works alike on uvloop and asyncio.
"""

import asyncio
import ctypes
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import msgspec

_LAST_LINES = 12
_LONGEST = 1 << 20  # bytes of a line; one that is longer is handed on in pieces


class StartError(Exception):
    """A child ended before it was ready; the text holds its exit status and the end of its log."""


class Process:
    """A running child. Made by `start`; `ready` is what it said when it was ready. Or made by `stream`."""

    ready: dict[str, Any]

    def __init__(
        self,
        popen: "subprocess.Popen[bytes]",
        heard: Callable[[bytes], None] | None = None,
        complained: Callable[[bytes], None] | None = None,
    ) -> None:
        assert popen.stdin is not None
        assert popen.stdout is not None
        loop = asyncio.get_running_loop()
        self._popen = popen
        self._stdin, self._stdout = popen.stdin, popen.stdout
        self._said = b""
        self._heard = heard
        self._complained = complained
        self._line: asyncio.Future[bytes] = loop.create_future()
        self._ended = asyncio.Event()
        os.set_blocking(self._stdout.fileno(), False)
        loop.add_reader(self._stdout.fileno(), self._read)
        if popen.stderr is not None:
            os.set_blocking(popen.stderr.fileno(), False)
            loop.add_reader(popen.stderr.fileno(), self._read_errors)

    @property
    def pid(self) -> int:
        """Of the child, and of its process group."""
        return self._popen.pid

    @property
    def returncode(self) -> int | None:
        """None while it runs; minus the signal's number if a signal ended it."""
        return self._popen.returncode

    async def ended(self) -> int:
        """Wait for the end, wanted or not; returns the `returncode`."""
        await self._ended.wait()
        return self._popen.returncode

    async def stop(self, grace: float = 10.0) -> int:
        """End it: by its pipe, and its whole group by force if it still runs after `grace` seconds. Idempotent."""
        self._stdin.close()
        try:
            async with asyncio.timeout(grace):
                return await self.ended()
        except TimeoutError:
            self.kill()
            return await self.ended()

    def kill(self) -> None:
        """End its whole group by force. It is not reaped before this, so that its number is still its own."""
        if not self._stdout.closed:
            asyncio.get_running_loop().remove_reader(self._stdout.fileno())
            self._stdout.close()
            self._stdin.close()
            self._let_go_of_errors()
            with suppress(ProcessLookupError):
                os.killpg(self.pid, signal.SIGKILL)
            self._reap()

    def tell(self, message: bytes) -> None:
        """Write a line to its stdin; nothing happens where it is gone, or has not read the last ones."""
        with suppress(OSError, ValueError):
            os.set_blocking(self._stdin.fileno(), False)
            self._stdin.write(message)

    async def _first_line(self, message: bytes) -> bytes:
        """Say `message`, wait for a line; empty if the child ended."""
        with suppress(BrokenPipeError):
            self._stdin.write(message)
        return await self._line

    def _read(self) -> None:
        """Its stdout brings a piece of the ready line, or has ended: the child is gone, or as good as gone."""
        try:
            said = os.read(self._stdout.fileno(), 65536)
        except BlockingIOError:
            return
        if not said:
            self.kill()  # what it may have left in its group
            return
        self._said += said
        *lines, self._said = self._said.split(b"\n")
        if len(self._said) > _LONGEST:
            lines, self._said = [*lines, self._said], b""
        for line in lines:
            if self._heard is not None:
                self._heard(line)
            elif not self._line.done():
                self._line.set_result(line)

    def _read_errors(self) -> None:
        """Its stderr brings a piece, or has ended."""
        stderr = self._popen.stderr
        if stderr is None or stderr.closed:
            return
        try:
            piece = os.read(stderr.fileno(), 65536)
        except BlockingIOError:
            return
        if not piece:
            self._close_errors()
        elif self._complained is not None:
            self._complained(piece)

    def _let_go_of_errors(self) -> None:
        """What it said before it ended may not have been read yet; who goes on saying is not waited for."""
        if self._popen.stderr is not None and not self._popen.stderr.closed:
            self._read_errors()
            self._close_errors()

    def _close_errors(self) -> None:
        stderr = self._popen.stderr
        if stderr is not None and not stderr.closed:
            asyncio.get_running_loop().remove_reader(stderr.fileno())
            stderr.close()

    def _reap(self) -> None:
        """It can be waited for a moment after its pipes have closed."""
        if self._popen.poll() is None:
            asyncio.get_running_loop().call_later(0.005, self._reap)
            return
        self._ended.set()
        if not self._line.done():
            self._line.set_result(b"")


async def start(command: Sequence[str], log: Path, message: bytes = b"", folder: Path | None = None) -> Process:
    """Run `command` in its own process group, in `folder` or here, and wait for its ready line: JSON on its stdout.

    Its stdin brings `message`, a line if any, and then stays open until `stop` or our end. Its stdout must stay open,
    and its own, while it runs. Its stderr is appended to `log`. Cancelled, or timed out, it leaves no child. Raises
    StartError if the child ends first. A child that asks to die with its parent dies with the thread that calls this:
    call it from the main thread.
    """
    with log.open("ab") as stderr:
        popen, written = _spawn(command, stderr.fileno(), folder), stderr.tell()
    process = Process(popen)
    try:
        line = await process._first_line(message)
        if not line:
            raise StartError(_obituary(command, await process.ended(), _since(log, written)))
        process.ready = msgspec.json.decode(line, type=dict[str, Any])
    except BaseException:
        process.kill()
        await process.ended()
        raise
    return process


def stream(
    command: Sequence[str],
    heard: Callable[[bytes], None],
    complained: Callable[[bytes], None],
    folder: Path | None = None,
) -> Process:
    """Run `command` as `start` does, and hand each line of its stdout to `heard`, and what comes on its stderr, in
    pieces, to `complained`. Raises OSError."""
    return Process(_spawn(command, subprocess.PIPE, folder), heard, complained)


def _spawn(command: Sequence[str], stderr: int, folder: Path | None) -> "subprocess.Popen[bytes]":
    """The child, in a session of its own so that Ctrl-C in a terminal reaches us alone."""
    pipe = subprocess.PIPE
    return subprocess.Popen(
        command, stdin=pipe, stdout=pipe, stderr=stderr, bufsize=0, cwd=folder, start_new_session=True
    )


def _since(log: Path, start: int) -> str:
    """What was written to the log from byte `start`."""
    with log.open("rb") as file:
        file.seek(start)
        return file.read().decode(errors="replace")


def how(returncode: int) -> str:
    """How a process ended, in two words."""
    return f"signal {signal.Signals(-returncode).name}" if returncode < 0 else f"status {returncode}"


def _obituary(command: Sequence[str], returncode: int, log: str) -> str:
    """How it ended, and the last lines of its log."""
    last = "".join(f"\n  {line}" for line in log.splitlines()[-_LAST_LINES:])
    return f"{' '.join(command)} ended with {how(returncode)} before it was ready; its last words:{last}"


def end_with_parent(parent: int) -> None:
    """Called in a child that `start` spawned: ends it when stdin ends, and on Linux when its parent (a pid) is gone.

    The pipe alone is not enough if another child of the parent still holds a copy of its end, the signal alone is not
    if the parent was gone before it was asked for, hence the check.
    """

    def watch() -> None:
        while os.read(0, 4096):
            pass
        os._exit(0)

    if sys.platform == "linux":
        pr_set_pdeathsig = 1
        ctypes.CDLL(None).prctl(pr_set_pdeathsig, signal.SIGKILL)
        if os.getppid() != parent:
            os._exit(0)
    threading.Thread(target=watch, daemon=True).start()
