"""A server under measurement: started where that is ours to do, asked what it is, and gone afterwards."""

import asyncio
import contextlib
import shlex
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import msgspec

from ..scenario.check import EMBEDDED, started
from ..scenario.launch import fill
from ..scenario.model import Scenario, Server
from ..server import embedded, launch
from ..server.http import HttpServer, Waits
from ..server.process import Process, StartError, how
from ..server.short import keep_short
from ..types import BadInput, ChatRequest, RunStopped, ServerInfo, ServerSettings
from .progress import Progress

LOG = "server.log"
VACANT_TRIES = 10


class Boot(msgspec.Struct, frozen=True, kw_only=True):
    """Seconds from a server's start until it said that it was ready, and until its first token."""

    health_s: float
    first_token_s: float


class Served(msgspec.Struct, kw_only=True):
    """A server that answers; `process`, `started` (loop time), `boot` and `settings` are of one that we started, the
    last time that we did, `command` of one that a command of the user's did. `round_trip_s`: from a small request to
    its answer. `key`: its API key; `again`: called when we had to start it once more."""

    server: HttpServer
    info: ServerInfo
    process: Process | None
    started: float | None
    boot: Boot | None
    settings: ServerSettings | None
    command: list[str] | None
    loading_s: float
    round_trip_s: float
    log: Path
    key: str | None = None
    again: Callable[[], None] = lambda: None

    @property
    def group(self) -> int | None:
        """The process group of one that we started."""
        return None if self.process is None else self.process.pid

    @property
    def facts(self) -> dict[str, Any]:
        """What run.json tells of it."""
        told = {name: value for name, value in msgspec.structs.asdict(self.info).items() if name != "template"}
        return told | {
            "embedded": self.process is not None and self.command is None,
            "command": None if self.command is None else shlex.join(self.command),
            "loading_s": round(self.loading_s, 3),
            "boot": self.boot,
            "round_trip_s": round(self.round_trip_s, 6),
        }

    def event(self, origin: float) -> dict[str, Any]:
        """What events.jsonl tells of its start; `origin`: loop time at 0 on the run's clock."""
        return {
            "url": self.info.url,
            "started_s": None if self.started is None else round(self.started - origin, 6),
            "boot": self.boot,
            "round_trip_s": round(self.round_trip_s, 6),
            "settings": self.settings,
        }

    def died(self) -> str | None:
        """How it ended, if we started it and it did: `status 1`, `signal SIGKILL`."""
        return None if self.process is None or self.process.returncode is None else how(self.process.returncode)

    async def restart(self, scenario: Scenario) -> None:
        """Start it again as it was started, after it died. Raises BadInput and RunStopped where it does not come up."""
        now = asyncio.get_running_loop().time
        self.started = now()
        if self.command is None:
            self.process = await start_embedded(settings(scenario), self.log, self.key)
            self.server.url = str(self.process.ready["url"])
        else:
            size = _size(self.log)
            self.process = await _launched(self.command, self.log)
            await _up(self.server, self.process, self.log, size)
        await self.server.ready()
        healthy = now()
        self.boot = _boot(self.started, healthy, await _first_token(self.server, scenario))
        self.again()

    async def stop(self) -> None:
        """End what we started."""
        if self.process is not None:
            await asyncio.shield(self.process.stop())

    async def obituary(self) -> str | None:
        """That it is gone, if we started it and it is; its connections close a moment before we hear of it."""
        if self.process is None:
            return None
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(0.5):
                await self.process.ended()
        if self.process.returncode is None:
            return None
        return "the embedded server is gone" if self.command is None else "the launched server is gone"


def started_by_us(scenario: Scenario) -> bool:
    """Whether it is ours to start the scenario's server, and to start it again."""
    return started(scenario.server)


def settings(scenario: Scenario) -> ServerSettings:
    """How the scenario wants its server started."""
    return ServerSettings(**{name: getattr(scenario.server, name) for name in ServerSettings.__struct_fields__})


@contextlib.asynccontextmanager
async def serving(scenario: Scenario, folder: Path, progress: Progress, key: str | None) -> AsyncIterator[Served]:
    """The scenario's server once it answers; one that we started is gone afterwards, whatever happened.

    Its log is appended to in `folder`, and kept short. Raises BadInput and RunStopped where it does not come to that.
    """
    loop = asyncio.get_running_loop()
    async with contextlib.AsyncExitStack() as stack:
        process: Process | None = None
        command, began, boot, size, log = None, None, None, 0, folder / LOG
        url = scenario.server.url
        if started(scenario.server):
            short = asyncio.create_task(keep_short(log))
            stack.callback(short.cancel)
            progress.phase = "starting the server"
            began = loop.time()
            if scenario.server.launch is None:
                try:
                    process = await start_embedded(settings(scenario), log, key)
                except RunStopped as stopped:
                    raise RunStopped(f"{stopped} (see {log})") from None
                url = str(process.ready["url"])
            else:
                url, command = _command(scenario.server)
                await _vacant(url, key)
                size = _size(log)
                process = await _launched(command, log)
                began = loop.time()
            stack.push_async_callback(_stop, process)
        server = HttpServer(url, key, waits(scenario))
        stack.push_async_callback(server.close)
        progress.phase = "waiting for the server"
        if process is not None and command is not None:
            await _up(server, process, log, size)
        loading = await server.ready()
        healthy = loop.time()
        info = await server.info()
        if process is not None and began is not None:
            if command is None:
                info = msgspec.structs.replace(info, build=process.ready["build"])
            first = await _first_token(server, scenario)
            boot = _boot(began, healthy, first)
        round_trip = await server.round_trip()
        progress.live = server.live
        served = Served(
            server=server,
            info=info,
            process=process,
            started=began,
            boot=boot,
            settings=None if process is None else settings(scenario),
            command=command,
            loading_s=loading,
            round_trip_s=round_trip,
            log=log,
            key=key,
        )
        stack.push_async_callback(served.stop)
        yield served


def waits(scenario: Scenario) -> Waits:
    """How long each kind of silence of the scenario's server may last."""
    return Waits(**{name: getattr(scenario.timeout, name) for name in Waits.__struct_fields__})


def _boot(began: float, healthy: float, first: float) -> Boot:
    return Boot(health_s=round(healthy - began, 3), first_token_s=round(first - began, 3))


def _command(server: Server) -> tuple[str, list[str]]:
    """Where a server that a command starts will be, and the command."""
    url = server.url
    port = launch.free_port() if url == EMBEDDED else urlsplit(url).port or (443 if url.startswith("https") else 80)
    values = msgspec.structs.asdict(server) | {"port": port}
    assert server.launch is not None
    return f"http://127.0.0.1:{port}" if url == EMBEDDED else url, fill(server.launch, values)


async def _vacant(url: str, key: str | None) -> None:
    """Raises RunStopped where somebody answers already, whom the load would meet in place of the launched server."""
    server = HttpServer(url, key, Waits(connect=1.0, silence=1.0))
    try:
        for _ in range(VACANT_TRIES):  # the last point's server may need a moment to be gone
            if not await server.answers():
                return
            await asyncio.sleep(0.5)
    finally:
        await server.close()
    raise RunStopped(f"server.launch: a server answers at {url} already; end it, or leave launch out")


async def _launched(command: list[str], log: Path) -> Process:
    try:
        return await launch.start(command, log)
    except launch.CommandError as error:
        raise BadInput(f"server.launch: {error}") from None


async def _up(server: HttpServer, process: Process, log: Path, size: int) -> None:
    """Wait until a server that a command starts says that it is ready. Raises RunStopped, with the last line that it
    wrote to its log, from byte `size` on."""
    ready, ended = asyncio.ensure_future(server.ready(starting=True)), asyncio.ensure_future(process.ended())
    try:
        await asyncio.wait((ready, ended), return_when=asyncio.FIRST_COMPLETED)
        if not ready.done() or (ended.done() and ready.exception()):
            raise RunStopped(f"the command ended with status {process.returncode} before it served{_last(log, size)}")
        try:
            ready.result()
        except RunStopped as stopped:
            raise RunStopped(f"the launched server {stopped}{_last(log, size)}") from None
    finally:
        ready.cancel()
        ended.cancel()
        await asyncio.gather(ready, ended, return_exceptions=True)


def _size(log: Path) -> int:
    return log.stat().st_size if log.exists() else 0


def _last(log: Path, size: int) -> str:
    said = launch.last_line(log, size)
    return f"; its last line: {said} (see {log})" if said else " and wrote nothing"


async def start_embedded(settings: ServerSettings, log: Path, key: str | None) -> Process:
    """The embedded server. Raises MissingPackagesError, a BadInput, and RunStopped with its last words."""
    try:
        return await embedded.start(settings, log, key)
    except (StartError, TimeoutError) as error:
        said = str(error).strip().splitlines() or ["no answer in time"]
        raise RunStopped(f"the embedded server did not start: {said[-1].strip()}") from None


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
