"""Where a run's card log comes from."""

import asyncio
import ipaddress
import socket
from collections.abc import Sequence
from urllib.parse import urlsplit

import msgspec

from ..scenario.check import EMBEDDED
from ..scenario.launch import fill
from ..scenario.model import Server, Telemetry
from .sampler import ours

ELSEWHERE = "the server is on another machine; telemetry.card takes a command that logs its cards"


class Source(msgspec.Struct, frozen=True, kw_only=True):
    """The command of the card log's sampler, `foreign` where it is the user's; None: there is none, `why` if that is
    not as wanted."""

    command: Sequence[str] | None = None
    foreign: bool = False
    why: str = ""


async def source(telemetry: Telemetry, server: Server) -> Source:
    """What `telemetry.card` means for a server: `auto` is this machine's cards if the server runs here on a card."""
    if telemetry.every is None or telemetry.card == "none":
        return Source()
    if telemetry.card != "auto":
        return Source(command=fill(telemetry.card, {"every": f"{telemetry.every:g}"}), foreign=True)
    if server.url == EMBEDDED and server.launch is None:
        return Source()  # it computes on the CPU
    if server.url != EMBEDDED and not await here(server.url):
        return Source(why=ELSEWHERE)
    numbers = [word for number in telemetry.cards or () for word in ("--card", str(number))]
    return Source(command=ours("card", telemetry.every, *numbers))


async def here(url: str) -> bool:
    """Whether a URL's host is this machine: one of its addresses can be listened on."""
    host = urlsplit(url).hostname or ""
    try:
        found = await asyncio.get_running_loop().getaddrinfo(host, None, type=socket.SOCK_DGRAM)
    except OSError:
        return False
    return any(_ours(family, address[0]) for family, *_, address in found)


def _ours(family: int, address: str | int) -> bool:
    if ipaddress.ip_address(str(address).partition("%")[0]).is_loopback:
        return True
    try:
        with socket.socket(family, socket.SOCK_DGRAM) as probe:
            probe.bind((address, 0))
            return True
    except OSError:
        return False
