"""HTTP/1.1 as far as a server of tests needs it: a Protocol that reads requests and writes bodies at once."""

import asyncio
import socket
import struct
import time
from collections.abc import Callable
from http import HTTPStatus
from typing import Any, cast

import msgspec

from .faults import Then


class Request:
    """One request as it was read. `received`: time.monotonic when its last byte was; header names are lower case."""

    def __init__(self, method: str, path: str, headers: dict[str, str], body: bytes, received: float) -> None:
        self.method = method
        self.path = path
        self.headers = headers
        self.body = body
        self.received = received

    @property
    def json(self) -> Any:
        """The decoded body; None if it is empty."""
        return msgspec.json.decode(self.body) if self.body else None


class Connection(asyncio.Protocol):
    """One client. `handle` gets each request with this connection; `on_lost` is called if it goes while one runs."""

    def __init__(self, handle: Callable[[Request, "Connection"], None], chunked: bool) -> None:
        self._handle = handle
        self._chunked = chunked
        self._buffer = b""
        self._answering = False
        self._streaming = False
        self._transport: asyncio.Transport | None = None
        self.on_lost: Callable[[], None] | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)  # uvloop's are not its instances
        # At 0 uvloop writes at once; else it would at the end of the loop's round, later than the log says.
        self._transport.set_write_buffer_limits(high=0)

    def connection_lost(self, exc: Exception | None) -> None:
        self._transport = None
        if self.on_lost is not None:
            self.on_lost()

    def data_received(self, data: bytes) -> None:
        received = time.monotonic()
        self._buffer += data
        self._read(received)

    def _read(self, received: float) -> None:
        head, found, rest = self._buffer.partition(b"\r\n\r\n")
        if self._answering or not found:
            return
        start, *lines = head.decode("latin-1").split("\r\n")
        headers = {name.strip().lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
        size = int(headers.get("content-length", 0))
        if len(rest) < size:
            return
        self._buffer = rest[size:]
        self._answering = True
        method, path, _ = (start + "  ").split(" ", 2)
        self._handle(Request(method, path.partition("?")[0], headers, rest[:size], received), self)

    def answer(self, status: int, body: bytes, kind: str = "application/json; charset=utf-8") -> None:
        """A whole answer."""
        self._write(_head(status, f"Content-Type: {kind}\r\nContent-Length: {len(body)}\r\n") + body)
        self._answered()

    def send(self, data: bytes) -> float:
        """Some of a stream's body, with the headers if it is the first; returns when (time.monotonic)."""
        if self._chunked:
            data = b"%x\r\n%b\r\n" % (len(data), data) if data else b""
        if not self._streaming:
            self._streaming = True
            framing = "Transfer-Encoding: chunked\r\n" if self._chunked else "Connection: close\r\n"
            data = _head(200, f"Content-Type: text/event-stream\r\n{framing}") + data
        now = time.monotonic()
        self._write(data)
        return now

    def end(self, then: Then) -> None:
        """The stream's end, as `Write.then` names them."""
        transport = self._transport
        if transport is None or then == "silence":
            return
        if then in ("done", "end"):
            self._streaming = False
            if self._chunked:
                self._write(b"0\r\n\r\n")
                self._answered()
            else:
                transport.close()
        elif then == "close":
            transport.close()
        elif then == "reset":
            on_or_off, seconds = 1, 0  # lingering for no time makes the kernel send a reset
            linger = struct.pack("ii", on_or_off, seconds)
            transport.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
            transport.abort()

    def abort(self) -> None:
        if self._transport is not None:
            self._transport.abort()

    def _write(self, data: bytes) -> None:
        if self._transport is not None and data:
            self._transport.write(data)

    def _answered(self) -> None:
        self._answering = False
        if self._buffer:
            self._read(time.monotonic())


def _head(status: int, lines: str) -> bytes:
    return f"HTTP/1.1 {status} {HTTPStatus(status).phrase}\r\nServer: truth\r\n{lines}\r\n".encode()
