"""The server that a command asks: a user's, or one of ours for as long as it is needed."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import msgspec

from ..server import embedded
from ..server.process import StartError
from ..types import RunStopped, ServerSettings


class Served(msgspec.Struct, frozen=True):
    """Where it is; `build`: what an embedded one is made of, None for a user's."""

    url: str
    build: str | None = None


@asynccontextmanager
async def served(url: str | None, settings: ServerSettings) -> AsyncIterator[Served]:
    """`url`, or an embedded server with these settings that is gone afterwards.

    Raises embedded.MissingPackagesError, and RunStopped where it does not start."""
    if url:
        yield Served(url)
        return
    with TemporaryDirectory() as folder:
        try:
            process = await embedded.start(settings, Path(folder) / "server.log")
        except (StartError, TimeoutError) as error:
            said = str(error).strip().splitlines() or ["no answer in time"]
            raise RunStopped(f"the embedded server did not start: {said[-1].strip()}") from None
        try:
            yield Served(str(process.ready["url"]), process.ready["build"])
        finally:
            await asyncio.shield(process.stop())
