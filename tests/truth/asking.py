"""A raw client for the truth server's own tests, and how they run."""

import asyncio
import time
from collections.abc import Callable, Coroutine
from typing import Any

import msgspec
import uvloop

from . import Entry, Truth, serve

FAST: dict[str, Any] = {"first": 0.03, "step": 0.005, "tokens": 10}
SLACK = 0.05  # seconds that a busy machine may wake us late, more often than not
LATE = 0.5  # and that it may now and then
HELLO = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Hello, who is there?"}]


class Answer(msgspec.Struct):
    """An HTTP answer read by hand: `reads` are (time.monotonic, raw bytes), `ended` how the connection did."""

    status: int
    headers: str
    body: bytes
    reads: list[tuple[float, bytes]]
    ended: str

    @property
    def json(self) -> Any:
        return msgspec.json.decode(self.body)

    @property
    def events(self) -> list[Any]:
        """The decoded `data:` events but for `[DONE]`."""
        lines = self.body.replace(b"\r\n", b"\n").split(b"\n")
        data = [line[6:] for line in lines if line.startswith(b"data: ")]
        return [msgspec.json.decode(event) for event in data if event != b"[DONE]"]

    @property
    def done(self) -> bool:
        return self.body.rstrip().endswith(b"data: [DONE]")

    def deltas(self, field: str) -> list[Any]:
        """The values of one delta field, in order, without those that are missing or null."""
        deltas = [event["choices"][0]["delta"] for event in self.events if event.get("choices")]
        return [delta[field] for delta in deltas if delta.get(field) is not None]


async def ask(url: str, method: str, path: str, body: Any = None, wait: float = 5.0, headers: str = "") -> Answer:
    """One request on a raw socket, read to the end of its answer, or for `wait` seconds."""
    host, _, port = url.removeprefix("http://").partition(":")
    reader, writer = await asyncio.open_connection(host, int(port))
    data = b"" if body is None else msgspec.json.encode(body)
    writer.write(f"{method} {path} HTTP/1.1\r\nHost: x\r\nContent-Length: {len(data)}\r\n{headers}\r\n".encode() + data)
    reads: list[tuple[float, bytes]] = []
    ended = "whole"
    until = time.monotonic() + wait
    while not _whole(b"".join(data for _, data in reads)):
        try:
            async with asyncio.timeout(until - time.monotonic()):
                data = await reader.read(65536)
        except TimeoutError:
            ended = "silent"
            break
        except ConnectionResetError:
            ended = "reset"
            break
        if not data:
            ended = "closed"
            break
        reads.append((time.monotonic(), data))
    writer.close()
    head, _, raw = b"".join(data for _, data in reads).partition(b"\r\n\r\n")
    body_read = _unchunked(raw) if b"chunked" in head else raw
    return Answer(int(head[9:12] or 0), head.decode(), body_read, reads, ended)


def _whole(raw: bytes) -> bool:
    head, found, body = raw.partition(b"\r\n\r\n")
    if b"chunked" in head:
        return body.endswith(b"\r\n0\r\n\r\n")
    size = [line for line in head.split(b"\r\n") if line.startswith(b"Content-Length")]
    return bool(found and size) and len(body) >= int(size[0].split(b":")[1])


def _unchunked(raw: bytes) -> bytes:
    body = b""
    while b"\r\n" in raw:
        line, _, rest = raw.partition(b"\r\n")
        size = int(line, 16)
        body, raw = body + rest[:size], rest[size + 2 :]
    return body


async def chat(truth: Truth, wait: float = 5.0, headers: str = "", **fields: Any) -> Answer:
    request = {"messages": HELLO, "stream": True, "timings_per_token": True} | fields
    return await ask(truth.url, "POST", "/v1/chat/completions", request, wait, headers)


def during(test: Callable[[Truth], Coroutine[Any, Any, None]], **options: Any) -> None:
    """Runs `test` against a server with these options."""

    async def run() -> None:
        async with serve(**FAST | options) as truth:
            await test(truth)

    uvloop.run(run())


def one(**options: Any) -> tuple[Answer, Entry]:
    """One reply of a server with these options, and its log entry."""
    answers: list[tuple[Answer, Entry]] = []
    asked = options.pop("asked", {})

    async def test(truth: Truth) -> None:
        answer = await chat(truth, **asked)
        answers.append((answer, truth.log[0]))

    during(test, **options)
    return answers[0]
