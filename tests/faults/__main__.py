"""`python -m tests.faults PORT LOG`: the embedded server behind a proxy that notes what it handed on, in lines of JSON.

The first line holds the server's process id, the others when a reply was handed on to its end (time.monotonic). It ends
with its standard input, or at a TERM.
"""

import asyncio
import os
import sys
from pathlib import Path

import msgspec

from loadsim.server import embedded
from loadsim.types import ServerSettings

from .proxy import CHAT, NOTHING, Asked, Fault, proxied


async def main(port: int, log: Path) -> None:
    with log.open("ab", buffering=0) as file:
        server = await embedded.start(ServerSettings(slots=3, context=12288), log.with_suffix(".server"))
        file.write(msgspec.json.encode({"server": server.pid, "proxy": os.getpid()}) + b"\n")
        noted: set[int] = set()
        asked: list[Asked] = []

        def choose(each: Asked) -> Fault:
            # What asks whether the server gives tokens, before the run, has no row.
            if each.path == CHAT and len(each.body["messages"]) > 1:
                asked.append(each)
            return NOTHING

        async with proxied(server.ready["url"], choose, port):
            while True:
                for each in asked:
                    if each.whole and each.number not in noted:
                        noted.add(each.number)
                        file.write(msgspec.json.encode({"at": each.at}) + b"\n")
                await asyncio.sleep(0.005)


asyncio.run(main(int(sys.argv[1]), Path(sys.argv[2])))
