"""A log that another program appends to, kept short: its beginning, and its end."""

import asyncio
import contextlib
import re
from pathlib import Path

LOOK_S = 1.0
MOST, HEAD, TAIL = 4 << 20, 1 << 20, 1 << 20
"""Bytes: a log that has more than the most is cut down to so many at its beginning, and so many at its end."""

MARK = re.compile(rb"\[loadsim: ([0-9]+) bytes are left out here\]\n")


async def keep_short(log: Path) -> None:
    """Look after the log until cancelled. A line that is written in the moment in which it is cut may be lost."""
    while True:
        with contextlib.suppress(OSError):
            shorten(log)
        await asyncio.sleep(LOOK_S)


def shorten(log: Path) -> None:
    """Leave out the middle of a log that has more than the most, whole lines, and say there how many bytes.

    Who appends to it goes on behind; the file is not renamed, for they would go on writing into the old one. Raises
    OSError.
    """
    if log.stat().st_size <= MOST:
        return
    with log.open("r+b") as file:
        head = _whole(file.read(HEAD))
        file.seek(len(head))
        mark = MARK.match(file.read(100))
        out, begins = (int(mark[1]), len(head) + mark.end()) if mark else (0, len(head))
        file.seek(-TAIL, 2)
        tail = file.read()
        end = file.tell()
        tail = tail[tail.find(b"\n") + 1 :]
        file.truncate(len(head))
    out += end - len(tail) - begins
    with log.open("ab") as file:
        file.write(b"[loadsim: %d bytes are left out here]\n%b" % (out, tail))


def _whole(head: bytes) -> bytes:
    return head[: head.rfind(b"\n") + 1] or head
