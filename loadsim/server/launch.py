"""A server started by a command of the user's."""

import os
import socket
import sys
from collections.abc import Sequence
from pathlib import Path

from . import guard, process


class CommandError(Exception):
    """A command that cannot be run at all."""


async def start(command: Sequence[str], log: Path) -> process.Process:
    """Run `command`, with no shell and from our working directory; what it prints is appended to `log`.

    It has an open stdin, and ends with us, with its process group. Returned when it runs, which is long before it
    serves. Raises CommandError.
    """
    started = await process.start(guarded(command), log)
    if "error" in started.ready:
        await started.stop()
        raise CommandError(started.ready["error"])
    return started


def guarded(command: Sequence[str], stream: int = 2) -> list[str]:
    """The command that runs `command` so that it ends with us; see `guard` for where its prints go."""
    # A file of its own, not a module: the working directory may hold modules that would break it.
    return [sys.executable, "-I", "-S", guard.__file__, str(os.getpid()), str(stream), *command]


def free_port() -> int:
    """A port of this machine that nobody listens on now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def last_line(log: Path, start: int = 0) -> str:
    """The last line in a log that says anything, from byte `start` on."""
    try:
        with log.open("rb") as file:
            size = log.stat().st_size
            file.seek(max(start if start <= size else 0, size - 65536))
            said = file.read()
    except OSError:
        return ""
    return last_of(said)


def last_of(said: bytes) -> str:
    """The last line that says anything."""
    lines = said.decode(errors="replace").splitlines()
    return next((" ".join(line.split())[:300] for line in reversed(lines) if line.strip()), "")
