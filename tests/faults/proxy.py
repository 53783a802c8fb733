"""A proxy between loadsim and a server that breaks what it is told to break: a connection carries one request."""

import asyncio
import contextlib
import socket
import struct
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any, Literal
from urllib.parse import urlsplit

import msgspec

Then = Literal["", "close", "reset", "stall"]

CHAT = "/v1/chat/completions"
EVENT = b"\n\n"


class Fault(msgspec.Struct, frozen=True, kw_only=True):
    """What is done to one answer; the defaults are nothing.

    answer: sent in place of the server's, which is not asked.
    then: what becomes of the connection, once `after` (bytes of the answer, its head included) or `after_events` of its
    events and `into` bytes of the next one have passed; both None: before the first byte. `stall` leaves it open.
    delay: seconds before the answer's first byte. rate: bytes per second. edit: changes an event by its number, from 0;
    the answer's head is number -1.
    """

    answer: bytes | None = None
    then: Then = ""
    after: int | None = None
    after_events: int | None = None
    into: int = 0
    delay: float = 0.0
    rate: float | None = None
    edit: Callable[[int, bytes], bytes] | None = None


NOTHING = Fault()


class Asked(msgspec.Struct, kw_only=True):
    """A request as it passed: its number from 0, `whole` if its stream was handed on to the end, and when that was
    (time.monotonic)."""

    number: int
    path: str
    body: Any = None
    whole: bool = False
    at: float = 0.0

    @property
    def measured(self) -> bool:
        """Not one that only warms a slot, or asks for no reply."""
        return self.path == CHAT and self.body["max_tokens"] > 1


class Proxy:
    """Stands before the server at `target`; `choose` gives a request its fault. `asked`: all requests, in order."""

    def __init__(self, target: str, choose: Callable[[Asked], Fault] = lambda _: NOTHING, port: int = 0) -> None:
        self.target = urlsplit(target)
        self.choose = choose
        self.asked: list[Asked] = []
        self.port = port
        self._open = asyncio.Event()  # clear: the network is cut
        self._open.set()
        self._listener: asyncio.Server | None = None
        self._tasks: set[asyncio.Task[None]] = set()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    async def up(self) -> None:
        """Be there, at the same port as before."""
        self._listener = await asyncio.start_server(self._serve, "127.0.0.1", self.port, backlog=1024)
        self.port = self._listener.sockets[0].getsockname()[1]

    async def down(self) -> None:
        """Go away, as a server that is killed: every connection is reset."""
        if self._listener is not None:
            self._listener.close()
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def cut(self) -> None:
        """Cut the network: nothing passes any more, and nobody is told."""
        self._open.clear()

    def mend(self) -> None:
        self._open.set()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        try:
            await self._pass(reader, writer)
        except asyncio.CancelledError:
            _reset(writer)
        except (OSError, asyncio.IncompleteReadError):
            writer.close()
        finally:
            self._tasks.discard(task)

    async def _pass(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        lines = head.decode("latin-1").split("\r\n")
        sizes = [int(line.partition(":")[2]) for line in lines if line.lower().startswith("content-length:")]
        body = await reader.readexactly(sum(sizes))
        path = lines[0].split(" ")[1]
        asked = Asked(number=len(self.asked), path=path, body=msgspec.json.decode(body) if body else None)
        self.asked.append(asked)
        await self._open.wait()
        fault = self.choose(asked)
        if fault.answer is None and fault.after is None and fault.after_events is None and fault.then:
            await self._end(fault.then, writer)
            return
        await asyncio.sleep(fault.delay)
        if fault.answer is not None:
            await self._write(writer, fault.answer, fault)
            writer.close()
            return
        assert self.target.hostname is not None
        source, sink = await asyncio.open_connection(self.target.hostname, self.target.port)
        gone = asyncio.ensure_future(reader.read(1))  # the client hangs up
        # the server is to end the connection with its answer
        sink.write(head.replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n") + body)
        answer = asyncio.ensure_future(self._answer(source, writer, fault, asked))
        try:
            await asyncio.wait((gone, answer), return_when=asyncio.FIRST_COMPLETED)
        finally:
            gone.cancel()
            answer.cancel()
            sink.close()
            writer.close()

    async def _answer(
        self, source: asyncio.StreamReader, writer: asyncio.StreamWriter, fault: Fault, asked: Asked
    ) -> None:
        """Hand an answer on, as far as the fault lets."""
        passed, number, rest, streamed = 0, -1, b"", True
        while True:
            data = await source.read(65536)
            rest += data
            while piece := _piece(rest, number, whole=not data or not streamed):
                rest = rest[len(piece) :]
                piece = fault.edit(number, piece) if fault.edit else piece
                if fault.after is not None and passed + len(piece) > fault.after:
                    await self._write(writer, piece[: fault.after - passed], fault)
                    await self._end(fault.then, writer)
                    return
                if fault.after_events == number:
                    await self._write(writer, piece[: fault.into], fault)
                    await self._end(fault.then, writer)
                    return
                await self._write(writer, piece, fault)
                if b"data: [DONE]" in piece:
                    asked.whole, asked.at = True, time.monotonic()
                streamed = b"text/event-stream" in piece if number < 0 else streamed
                passed, number = passed + len(piece), number + 1
            if not data:
                return

    async def _write(self, writer: asyncio.StreamWriter, data: bytes, fault: Fault) -> None:
        step = len(data) if fault.rate is None else max(round(fault.rate * 0.01), 1)
        for start in range(0, len(data), max(step, 1)):
            await self._open.wait()
            writer.write(data[start : start + step])
            await writer.drain()
            if fault.rate is not None:
                await asyncio.sleep(step / fault.rate)

    async def _end(self, then: Then, writer: asyncio.StreamWriter) -> None:
        if then == "stall":
            await asyncio.Event().wait()
        elif then == "reset":
            _reset(writer)
        writer.close()


def _piece(data: bytes, number: int, whole: bool) -> bytes:
    """The head, or the next event with the end of its HTTP chunk; what is left once the answer is `whole`."""
    end = data.find(b"\r\n\r\n" if number < 0 else EVENT)
    if end < 0:
        return data if whole else b""
    if number < 0:
        return data[: end + 4]
    if len(data) < end + 4 and not whole:
        return b""  # the chunk's own end, CR LF, is still to come
    return data[: end + 4 if data[end + 2 : end + 4] == b"\r\n" else end + 2]


def _reset(writer: asyncio.StreamWriter) -> None:
    on_or_off, seconds = 1, 0  # lingering for no time makes the kernel send a reset
    with contextlib.suppress(OSError):
        linger = struct.pack("ii", on_or_off, seconds)
        writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
    writer.transport.abort()


@asynccontextmanager
async def proxied(
    target: str, choose: Callable[[Asked], Fault] = lambda _: NOTHING, port: int = 0
) -> AsyncIterator[Proxy]:
    """A proxy before `target` on this loop."""
    proxy = Proxy(target, choose, port)
    await proxy.up()
    try:
        yield proxy
    finally:
        await proxy.down()
