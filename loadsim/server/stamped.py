"""aiohttp with the arrival time of every read. The one file that uses aiohttp's private names.

A reader that is woken by a future sees a token when the loop gets to it; here the time is taken, and the bytes are
handed on, inside `data_received`.
"""

import asyncio
import functools
from collections.abc import Callable

import aiohttp
from aiohttp import StreamReader
from aiohttp.client_proto import ResponseHandler
from aiohttp.connector import Connection

Sink = Callable[[float, bytes], None]


class StampedHandler(ResponseHandler):
    """A connection that knows when each part of a body arrived (loop time)."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        super().__init__(loop)
        self._now = loop.time
        self._early: list[tuple[float, int]] = []
        self._sink: Sink | None = None
        self._body: StreamReader | None = None
        self.headers_at: float | None = None
        self.on_lost: Callable[[], object] | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(transport)
        # Requests leave when they are written, not when the loop has run everybody else's callbacks.
        if isinstance(transport, asyncio.WriteTransport):
            transport.set_write_buffer_limits(high=0)

    def data_received(self, data: bytes) -> None:
        if not data:  # aiohttp's own call when reading resumes
            super().data_received(data)
            return
        t = self._now()
        super().data_received(data)
        body = self._body
        if body is None:
            body = self._body = self._payload
            if body is None:
                return
            self.headers_at = t
        if self._sink is None:
            self._early.append((t, body.total_bytes))
        elif body._buffer:
            self._sink(t, body.read_nowait())

    def connection_lost(self, exc: BaseException | None) -> None:
        super().connection_lost(exc)
        if self.on_lost is not None:
            self.on_lost()

    def stream_to(self, body: StreamReader, sink: Sink) -> None:
        """Hand what has arrived to `sink`, with its times, and all that will arrive."""
        at = 0
        data = body.read_nowait() if body._buffer else b""
        for t, end in self._early:
            if end > at:
                sink(t, data[at:end])
                at = end
        self._sink = sink


class StampedResponse(aiohttp.ClientResponse):
    """A response that keeps its connection's handler; aiohttp lets it go when the body ends."""

    handler: StampedHandler

    async def start(self, connection: Connection) -> aiohttp.ClientResponse:
        assert isinstance(connection.protocol, StampedHandler)
        self.handler = connection.protocol
        return await super().start(connection)


def session(trace: aiohttp.TraceConfig) -> aiohttp.ClientSession:
    """A session that opens a connection per request, as many as asked for, and sets no time-outs."""
    connector = aiohttp.TCPConnector(limit=0, force_close=True, ttl_dns_cache=None)
    connector._factory = functools.partial(StampedHandler, asyncio.get_running_loop())  # type: ignore[assignment]
    return aiohttp.ClientSession(
        connector=connector,
        response_class=StampedResponse,
        timeout=aiohttp.ClientTimeout(total=None),
        trace_configs=[trace],
        cookie_jar=aiohttp.DummyCookieJar(),
        auto_decompress=False,
    )
