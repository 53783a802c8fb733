"""The life of a sampler's process: it does something every so often, and ends with whoever started it."""

import argparse
import os
import select
import sys
import time
from collections.abc import Iterator

import msgspec

from ..scenario.units import parse_duration
from ..types import BadInput

LEAST_S = 0.1


class Order(msgspec.Struct, frozen=True, kw_only=True):
    """What a sampler is told on its stdin, a line of JSON: the process group of the server that loadsim started, None
    while there is none. `guarded`: the group's first process only guards the server's."""

    group: int | None
    guarded: bool = False


def ticks(every: float) -> Iterator[Order | None]:
    """Now, and then every so many seconds, with the last order since; what took too long is skipped, not made up for.

    Ends when stdin does, or the program that started this one is gone: the pipe alone is not enough if another process
    holds its other end.
    """
    parent, due, said = os.getppid(), time.monotonic(), b""
    while True:
        *lines, said = said.split(b"\n")
        yield _order(lines[-1]) if lines else None
        due += every * max(1, -((due - time.monotonic()) // every))
        while (wait := due - time.monotonic()) > 0:
            if select.select([0], [], [], min(wait, 1.0))[0]:
                piece = os.read(0, 65536)
                if not piece:
                    return
                said += piece
            if os.getppid() != parent:
                return


def _order(line: bytes) -> Order | None:
    """None: it is none, as when somebody types."""
    try:
        return msgspec.json.decode(line, type=Order)
    except msgspec.DecodeError:
        return None


def say(record: object) -> None:
    """A line of JSON on stdout; ends the program where nobody reads it any more."""
    try:
        os.write(1, msgspec.json.encode(record) + b"\n")
    except BrokenPipeError:
        sys.exit(0)


def members(order: Order) -> set[int]:
    """The processes of the server's group."""
    import psutil

    found = set()
    for pid in psutil.pids():
        try:
            if os.getpgid(pid) == order.group and not (order.guarded and pid == order.group):
                found.add(pid)
        except (ProcessLookupError, PermissionError):
            continue
    return found


def seconds(text: str) -> float:
    """`2 s`, `2s` or `2`, which is seconds. Raises BadInput."""
    try:
        found = float(text) if text.replace(".", "", 1).isdecimal() else float(parse_duration(text))
    except ValueError as error:
        raise BadInput(f"--every: {error}") from None
    if found < LEAST_S:
        raise BadInput(f"--every: expected {LEAST_S * 1000:.0f} ms or more; got {text}")
    return found


def arguments(name: str, about: str | None) -> argparse.ArgumentParser:
    """What every sampler's command line has."""
    parser = argparse.ArgumentParser(prog=f"python -m {name}", description=about)
    # A shell may part `2 s`, as ssh's does.
    parser.add_argument("--every", nargs="+", default=["2 s"], metavar="TIME", help="such as 2 s")
    return parser
