"""`python -m tests.truth [--port N] [--log FILE] [--cpu N] [OPTION=VALUE …]`: the truth server in its own process.

The options are those of `Options`, values in JSON: `first=0.1 slots=500 'faults={"split":1}'`. One line on standard
output, `{"url":…}`, says that it listens. It ends when standard input (a pipe or a terminal) does, and then writes its
log, a JSON line per chat request, to FILE.
"""

import argparse
import asyncio
import gc
import os
import sys
from pathlib import Path
from typing import Any

import msgspec
import uvloop

from .server import Options, Truth, serve


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.truth", description=__doc__)
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--log", type=Path)
    parser.add_argument("--cpu", type=int, help="the only core to run on, where the system can do that")
    parser.add_argument("options", nargs="*", metavar="OPTION=VALUE")
    arguments = parser.parse_args()
    if arguments.cpu is not None and hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {arguments.cpu})
    try:
        options = msgspec.convert(dict(map(_option, arguments.options)), Options)
    except msgspec.ValidationError as problem:
        parser.error(str(problem))
    truth = uvloop.run(_run(options, arguments.port))
    if arguments.log:
        arguments.log.write_bytes(b"".join(msgspec.json.encode(entry) + b"\n" for entry in truth.log))


def _option(text: str) -> tuple[str, Any]:
    name, _, value = text.partition("=")
    try:
        return name, msgspec.json.decode(value)
    except msgspec.DecodeError:
        return name, value


async def _run(options: Options, port: int) -> Truth:
    async with serve(options, port=port) as truth:
        print(msgspec.json.encode({"url": truth.url}).decode(), flush=True)
        gc.freeze()
        gc.disable()  # a collection would hold up hundreds of streams; the log makes no cycles
        await _input_ended()
        return truth


async def _input_ended() -> None:
    loop, ended, stdin = asyncio.get_running_loop(), asyncio.Event(), sys.stdin.fileno()

    def read() -> None:
        if not os.read(stdin, 65536):
            loop.remove_reader(stdin)
            ended.set()

    loop.add_reader(stdin, read)
    await ended.wait()


if __name__ == "__main__":
    main()
