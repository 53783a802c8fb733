"""Two readers to hold loadsim's client against: a bare Protocol, the least that can be done, and aiohttp as it comes.

Both decode every event into loadsim's own `Chunk`, so that what differs is the way to the bytes.
"""

import asyncio
from typing import Any, Protocol, cast
from urllib.parse import urlsplit

import aiohttp
import msgspec

from loadsim.server.stream import Chunk

_decode = msgspec.json.Decoder(Chunk).decode


class Sample(msgspec.Struct):
    """One request as its client saw it, loop time in seconds; `token_s` has an arrival per token."""

    truth_id: str
    sent: float = 0.0
    token_s: list[float] = []


class Client(Protocol):
    """Sends one chat request and reads it to its end. Raises if the reply is not whole."""

    async def chat(self, sample: Sample, fields: dict[str, Any]) -> None: ...
    async def close(self) -> None: ...


def take(sample: Sample, t: float, payload: bytes) -> None:
    """One event's payload, arrived at `t`: the tokens that the server counted since the last one with text."""
    chunk = _decode(payload)
    if chunk.choices and chunk.timings is not None:
        delta = chunk.choices[0].delta
        if delta is not None and delta.content:
            new = (chunk.timings.predicted_n or 0) - len(sample.token_s)
            sample.token_s.extend([t] * new)


def body(fields: dict[str, Any]) -> bytes:
    """The request that loadsim would send."""
    common = {
        "stream": True,
        "stream_options": {"include_usage": True},
        "timings_per_token": True,
        "cache_prompt": True,
    }
    return msgspec.json.encode(common | fields)


class BareReader(asyncio.Protocol):
    """One request on one connection; every arrival is stamped in `data_received`. Knows only what it needs of HTTP."""

    def __init__(self, sample: Sample, request: bytes) -> None:
        loop = asyncio.get_running_loop()
        self.ended: asyncio.Future[None] = loop.create_future()
        self._now = loop.time
        self._sample = sample
        self._request = request
        self._raw = b""
        self._events = b""
        self._in_body = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        stream = cast(asyncio.Transport, transport)  # uvloop's are not its instances
        stream.set_write_buffer_limits(high=0)  # write at once, not at the end of the loop's round
        self._sample.sent = self._now()
        stream.write(self._request)

    def data_received(self, data: bytes) -> None:
        t = self._now()
        self._raw += data
        if not self._in_body:
            head, found, rest = self._raw.partition(b"\r\n\r\n")
            if not found:
                return
            if not head.startswith(b"HTTP/1.1 200"):
                self._fail(head.decode())
                return
            self._in_body, self._raw = True, rest
        self._unchunk()
        *events, self._events = self._events.split(b"\n\n")
        for event in events:
            if event == b"data: [DONE]":
                self.ended.set_result(None)
            else:
                take(self._sample, t, event[6:])

    def _unchunk(self) -> None:
        """Moves whole HTTP chunks from the raw bytes to the events."""
        at, raw = 0, self._raw
        while (line := raw.find(b"\r\n", at)) >= 0:
            end = line + 2 + int(raw[at:line], 16)
            if len(raw) < end + 2:
                break
            self._events += raw[line + 2 : end]
            at = end + 2
        self._raw = raw[at:]

    def connection_lost(self, exc: Exception | None) -> None:
        self._fail("the connection was lost")

    def _fail(self, why: str) -> None:
        if not self.ended.done():
            self.ended.set_exception(ConnectionError(why))


class Bare:
    """BareReader as a client; a connection per request."""

    def __init__(self, url: str) -> None:
        parts = urlsplit(url)
        self._host, self._port = parts.hostname or "127.0.0.1", parts.port or 80

    async def chat(self, sample: Sample, fields: dict[str, Any]) -> None:
        data = body(fields)
        head = (
            f"POST /v1/chat/completions HTTP/1.1\r\nHost: {self._host}:{self._port}\r\n"
            f"Content-Type: application/json\r\nContent-Length: {len(data)}\r\n\r\n"
        )
        request = head.encode() + data
        loop = asyncio.get_running_loop()
        transport, reader = await loop.create_connection(lambda: BareReader(sample, request), self._host, self._port)
        try:
            await reader.ended
        finally:
            transport.close()

    async def close(self) -> None: ...


class Plain:
    """aiohttp by its manual: a session, and a task that reads line by line.

    It opens a connection per request as the other two do. llama-server resets a stream's connection when it is used
    again: of 60 requests over kept connections 20 failed with "Can not write request body".
    """

    def __init__(self, url: str) -> None:
        self._url = f"{url}/v1/chat/completions"
        self._session = aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0, force_close=True))

    async def chat(self, sample: Sample, fields: dict[str, Any]) -> None:
        now = asyncio.get_running_loop().time
        headers = {"Content-Type": "application/json"}
        sample.sent = now()
        async with self._session.post(self._url, data=body(fields), headers=headers) as response:
            response.raise_for_status()
            async for line in response.content:
                t = now()
                if line == b"data: [DONE]\n":
                    return
                if line.startswith(b"data: "):
                    take(sample, t, line[6:])
        raise ConnectionError("the reply ended without [DONE]")

    async def close(self) -> None:
        await self._session.close()
