"""aiohttp with the arrival time of every read. The one file that uses aiohttp's private names.

A reader that is woken by a future sees a token when the loop gets to it; here the time is taken, and the bytes are
handed on, inside `data_received`.
"""

import asyncio
import functools
from collections.abc import Callable
from typing import cast

import aiohttp
from aiohttp import StreamReader
from aiohttp.client_proto import ResponseHandler
from aiohttp.connector import Connection

Sink = Callable[[float, bytes], None]


class Body(StreamReader):
    """A body that keeps nothing: its connection's handler passes every piece on as it comes."""

    __slots__ = ()  # so that a reader which aiohttp has made can become one

    _protocol: "StampedHandler"

    def feed_data(self, data: bytes, size: int = 0) -> bool:
        if data:
            self._protocol.pass_on(data)
        return False

    def begin_http_chunk_receiving(self) -> None:
        """HTTP's own chunks mean nothing here."""

    def end_http_chunk_receiving(self) -> None:
        """As above."""


class StampedHandler(ResponseHandler):
    """A connection that knows when each part of a body arrived (loop time)."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        super().__init__(loop)
        self._now = loop.time
        self._read_at = 0.0
        self._body: StreamReader | None = None
        self._early: list[tuple[float, int]] = []
        self._sink: Sink | None = None
        self.headers_at: float | None = None
        self.on_lost: Callable[[], object] | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(transport)
        # Requests leave when they are written, not when the loop has run everybody else's callbacks.
        cast(asyncio.WriteTransport, transport).set_write_buffer_limits(high=0)

    def data_received(self, data: bytes) -> None:
        if data:  # else it is aiohttp's own call when reading resumes
            self._read_at = self._now()
        super().data_received(data)
        if self._sink is None:
            self._note(self._payload)

    def _note(self, body: StreamReader | None) -> None:
        """Until somebody streams the body, it is kept, and how far it had come at each read."""
        if self._body is None and body is not None:
            self._body = body
            self.headers_at = self._read_at
        if self._body is not None:
            self._early.append((self._read_at, self._body.total_bytes))

    def _reschedule_timeout(self) -> None:
        """aiohttp's own time-outs are off; it need not look at each read."""

    def pass_on(self, data: bytes) -> None:
        """A piece of a streamed body, out of the read that is being parsed."""
        assert self._sink is not None
        self._sink(self._read_at, data)

    def connection_lost(self, exc: BaseException | None) -> None:
        super().connection_lost(exc)
        if self.on_lost is not None:
            self.on_lost()

    def stream_to(self, body: StreamReader, sink: Sink) -> None:
        """Hand what has arrived to `sink`, with its times, and from now on all that arrives."""
        self._sink = sink
        data = body.read_nowait() if body._buffer else b""
        at = 0
        for t, end in self._early:
            if end > at:
                sink(t, data[at:end])
                at = end
        if not body.is_eof():
            body.__class__ = Body

    def let_go(self) -> None:
        """The reply is over: what still comes is dropped, and nothing stays that would wait for the garbage collector.
        It comes rarely here, and in hours of load each request would hold its prompt until then."""
        self._sink = _drop
        self._body = self._payload = self.on_lost = None


def _drop(_: float, __: bytes) -> None:
    """Nobody hears it any more."""


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
