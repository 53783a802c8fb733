"""The server that a command asks: a user's, or one of ours for as long as it is needed."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import msgspec

from ..engine.serving import start_embedded
from ..types import ServerSettings


class Served(msgspec.Struct, frozen=True):
    """Where it is; `build`: what an embedded one is made of, None for a user's."""

    url: str
    build: str | None = None


@asynccontextmanager
async def served(url: str | None, settings: ServerSettings) -> AsyncIterator[Served]:
    """`url`, or an embedded server with these settings that is gone afterwards.

    Raises BadInput where its packages are missing, and RunStopped where it does not start."""
    if url:
        yield Served(url)
        return
    with TemporaryDirectory() as folder:
        process = await start_embedded(settings, Path(folder) / "server.log", None)
        try:
            yield Served(str(process.ready["url"]), process.ready["build"])
        finally:
            await asyncio.shield(process.stop())
