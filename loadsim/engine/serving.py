"""A server under measurement: started where that is ours to do, asked what it is, and gone afterwards."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import msgspec

from ..scenario.check import EMBEDDED
from ..scenario.model import Scenario
from ..server import embedded
from ..server.http import HttpServer, Waits
from ..server.process import Process, StartError
from ..types import BadInput, ChatRequest, RunStopped, ServerInfo, ServerSettings
from .progress import Progress

LOG = "server.log"


class Boot(msgspec.Struct, frozen=True, kw_only=True):
    """Seconds from a server's start until it said that it was ready, and until its first token."""

    health_s: float
    first_token_s: float


class Served(msgspec.Struct, frozen=True, kw_only=True):
    """A server that answers; `process`, `started` (loop time), `boot` and `settings` are of one that we started."""

    server: HttpServer
    info: ServerInfo
    process: Process | None
    started: float | None
    boot: Boot | None
    settings: ServerSettings | None
    loading_s: float
    log: Path

    @property
    def facts(self) -> dict[str, Any]:
        """What run.json tells of it."""
        told = {name: value for name, value in msgspec.structs.asdict(self.info).items() if name != "template"}
        return told | {
            "embedded": self.process is not None,
            "loading_s": round(self.loading_s, 3),
            "boot": self.boot,
        }

    def event(self, origin: float) -> dict[str, Any]:
        """What events.jsonl tells of its start; `origin`: loop time at 0 on the run's clock."""
        return {
            "url": self.info.url,
            "started_s": None if self.started is None else round(self.started - origin, 6),
            "boot": self.boot,
            "settings": self.settings,
        }

    async def obituary(self) -> str | None:
        """That it is gone, if we started it and it is; its connections close a moment before we hear of it."""
        if self.process is None:
            return None
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(0.5):
                await self.process.ended()
        return None if self.process.returncode is None else "the embedded server is gone"


def started_by_us(scenario: Scenario) -> bool:
    """Whether it is ours to start the scenario's server, and to start it again."""
    return scenario.server.url == EMBEDDED


def settings(scenario: Scenario) -> ServerSettings:
    """How the scenario wants its server started."""
    return ServerSettings(**{name: getattr(scenario.server, name) for name in ServerSettings.__struct_fields__})


@contextlib.asynccontextmanager
async def serving(scenario: Scenario, folder: Path, progress: Progress, key: str | None) -> AsyncIterator[Served]:
    """The scenario's server once it answers; one that we started is gone afterwards, whatever happened.

    Its log is appended to in `folder`. Raises BadInput and RunStopped where it does not come to that.
    """
    loop = asyncio.get_running_loop()
    async with contextlib.AsyncExitStack() as stack:
        process, started, boot = None, None, None
        url = scenario.server.url
        if url == EMBEDDED:
            progress.phase = "starting the server"
            started = loop.time()
            process = await _embedded(scenario, folder / LOG, key)
            stack.push_async_callback(_stop, process)
            url = str(process.ready["url"])
        server = HttpServer(url, key, Waits(**msgspec.structs.asdict(scenario.timeout)))
        stack.push_async_callback(server.close)
        progress.phase = "waiting for the server"
        loading = await server.ready()
        healthy = loop.time()
        info = await server.info()
        if process is not None and started is not None:
            info = msgspec.structs.replace(info, build=process.ready["build"])
            first = await _first_token(server, scenario)
            boot = Boot(health_s=round(healthy - started, 3), first_token_s=round(first - started, 3))
        progress.live = server.live
        yield Served(
            server=server,
            info=info,
            process=process,
            started=started,
            boot=boot,
            settings=None if process is None else settings(scenario),
            loading_s=loading,
            log=folder / LOG,
        )


async def _embedded(scenario: Scenario, log: Path, key: str | None) -> Process:
    try:
        return await embedded.start(settings(scenario), log, key)
    except embedded.MissingPackagesError as error:
        raise BadInput(f"server.url: {error}; or name a server with --url") from None
    except (StartError, TimeoutError) as error:
        said = str(error).strip().splitlines() or ["no answer in time"]
        raise RunStopped(f"the embedded server did not start: {said[-1].strip()} (see {log})") from None


async def _stop(process: Process) -> None:
    await asyncio.shield(process.stop())


async def _first_token(server: HttpServer, scenario: Scenario) -> float:
    """Loop time at which the server has given a token: that it says it is ready does not mean that tokens flow."""
    request = ChatRequest(messages=[{"role": "user", "content": "Hello."}], max_tokens=1, fields=scenario.request)
    reply = server.chat(request, lambda text, tokens: False)
    await reply.ended.wait()
    if reply.outcome not in ("ok", "empty"):
        raise RunStopped(f"the server is up but gives no token: {reply.error}")
    first = reply.first.t or reply.ended.t
    assert first is not None
    return first
