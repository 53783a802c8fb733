"""The truth server: llama-server's routes over a known schedule, and a log of when each token was really written."""

import asyncio
import functools
import itertools
import time
import weakref
from collections import deque
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any, Literal

import msgspec
import numpy as np

from . import prompt
from .faults import Faults, error
from .http import Connection, Request
from .job import Entry, Job
from .native import PATH, Completion, CompletionBody
from .schedule import Schedule, Ticker
from .slots import Slots
from .stream import BUILD, CREATED, MODEL, ChatBody, Reply

CHAT = (("POST", "/v1/chat/completions"), ("POST", "/chat/completions"))
COMPLETE = ("POST", PATH)
LOG = ("GET", "/truth")
MIB = 1 << 20
OPEN = ("/health", "/v1/health", "/models", "/v1/models")  # as in llama-server, without a key


class Options(Schedule, frozen=True, kw_only=True):
    """The schedule and what surrounds it.

    slots, context: how many, and tokens in each. defer: requests wait, first come first served, while all slots are
    busy; without, they share them. faults: for requests that bring none (`truth_fault`). loading: seconds of 503.
    plain: an OpenAI server without timings, slots, props and the like. api_key: 401 without it.
    body: streams in HTTP chunks, or up to the connection's end. metrics, listed: serve /metrics, /slots. cached: a slot
    keeps its prompt for the next one. release: how long a slot stays busy after its client has left.
    slower: (seconds since the server began, factor) in straight lines: by how much a reply's steps are longer that
    begins then. leak: MiB a second that the server's memory grows by.
    """

    slots: int = 12
    context: int = 32768
    defer: bool = True
    faults: Faults = Faults()
    loading: float = 0.0
    plain: bool = False
    api_key: str | None = None
    body: Literal["chunked", "close"] = "chunked"
    metrics: bool = False
    listed: bool = True
    cached: bool = True
    release: float = 0.0
    slower: tuple[tuple[float, float], ...] = ()
    leak: float = 0.0


class Truth:
    """The server's state: `url`, the `requests` it has seen and the `log` of its chat requests, in order."""

    def __init__(self, options: Options, choose: Callable[[Request], Faults] | None = None) -> None:
        self.options = options
        self.url = ""
        self.requests: list[Request] = []
        self.log: list[Entry] = []
        self._choose = choose
        self._ticker = Ticker()
        self._slots = Slots(options.slots, options.defer)
        self._waiting: deque[Job] = deque()
        self._numbers = itertools.count()
        self._connections: weakref.WeakSet[Connection] = weakref.WeakSet()
        self._opened = time.monotonic()
        self._leaked: list[bytes] = []

    def connection(self) -> Connection:
        """A protocol for one more client."""
        connection = Connection(self._handle, self.options.body == "chunked")
        self._connections.add(connection)
        return connection

    def close(self) -> None:
        """Ends every connection at once."""
        self._ticker.stop()
        for connection in self._connections:
            connection.on_lost = None
            connection.abort()

    def _handle(self, request: Request, connection: Connection) -> None:
        self.requests.append(request)
        route = request.method, request.path
        try:
            barred = self._barred(route, request)
            if barred is None and (route in CHAT or (route == COMPLETE and not self.options.plain)):
                self._reply(request, connection)
                return
            answer = self._answer(route, request) if barred is None else barred
        except (msgspec.MsgspecError, KeyError, TypeError) as problem:
            self._refuse(connection, 400, str(problem))
            return
        if isinstance(answer, int):
            self._refuse(connection, answer)
        elif isinstance(answer, str):
            connection.answer(200, answer.encode(), "text/plain; version=0.0.4")
        else:
            connection.answer(200, msgspec.json.encode(answer))

    def _barred(self, route: tuple[str, str], request: Request) -> int | None:
        """The status for a client that may not come in yet, or at all."""
        options = self.options
        if route == LOG:
            return None
        if time.monotonic() < self._opened + options.loading:
            return 503
        known = options.api_key is None or request.headers.get("authorization") == f"Bearer {options.api_key}"
        return None if known or request.path in OPEN else 401

    def _refuse(self, connection: Connection, status: int, message: str | None = None, **more: Any) -> None:
        connection.answer(status, msgspec.json.encode({"error": error(status, message) | more}))

    def _answer(self, route: tuple[str, str], request: Request) -> dict[str, Any] | list[Any] | str | int:
        """What a route other than chat answers: JSON, a text, or an error's status."""
        options = self.options
        match route:
            case "GET", "/truth":
                return "".join(msgspec.json.encode(entry).decode() + "\n" for entry in self.log)
            case "GET", "/v1/models" | "/models":
                model = {"id": MODEL, "object": "model", "created": CREATED, "owned_by": "llamacpp"}
                return {"object": "list", "data": [model]}
            case "GET", "/health" | "/v1/health":
                return {"status": "ok"}
            case _ if options.plain:
                return 404
            case "GET", "/props":
                return {
                    "default_generation_settings": {"n_ctx": options.context},
                    "total_slots": options.slots,
                    "model_alias": MODEL,
                    "model_path": f"{MODEL}.gguf",
                    "chat_template": prompt.TEMPLATE,
                    "build_info": BUILD,
                }
            case "GET", "/slots":
                return [slot.as_json(options.context) for slot in self._slots.all] if options.listed else 501
            case "GET", "/metrics":
                return self._metrics() if options.metrics else 501
            case "POST", "/tokenize":
                return {"tokens": prompt.tokenize(request.json["content"])}
            case "POST", "/apply-template":
                return {"prompt": prompt.render(request.json["messages"], request.json.get("tools") or ())}
        return 404

    def _metrics(self) -> str:
        started = [entry for entry in self.log if entry.started_s is not None]
        values = {
            "prompt_tokens_total": sum(entry.prompt_n or 0 for entry in started),
            "tokens_predicted_total": sum(len(entry.token_s) for entry in started),
            "requests_processing": sum(slot.busy for slot in self._slots.all),
            "requests_deferred": len(self._waiting),
        }
        return "".join(f"llamacpp:{name} {value}\n" for name, value in values.items())

    def _reply(self, request: Request, connection: Connection) -> None:
        body = msgspec.json.decode(request.body, type=CompletionBody if request.path == PATH else ChatBody)
        truth_id = body.truth_id or request.headers.get("x-truth-id")
        entry = Entry(number=next(self._numbers), truth_id=truth_id, received_s=request.received)
        self.log.append(entry)
        faults = body.truth_fault or (self._choose(request) if self._choose else self.options.faults)
        if isinstance(body, CompletionBody):
            tokens = body.tokens
        else:
            tokens = prompt.tokenize(prompt.render(body.messages, body.tools or ()))
        sizes = {"n_prompt_tokens": len(tokens), "n_ctx": self.options.context}
        refuse = functools.partial(self._refuse, connection)
        if faults.status is not None:
            entry.refused(faults.status)
            refuse(faults.status)
        elif not body.stream:
            entry.refused(400)
            refuse(400, "this server only streams")
        elif len(tokens) >= self.options.context:
            entry.refused(400)
            refuse(400, "the request exceeds the available context size", type="exceed_context_size_error", **sizes)
        else:
            job = Job(body, faults, tokens, entry, connection)
            connection.on_lost = functools.partial(self._lost, job)
            if not self._start(job, request.received):
                self._waiting.append(job)

    def _start(self, job: Job, now: float) -> bool:
        """Gives the job a slot and begins its reply; False: there is none for it."""
        body = job.body
        cached = body.cache_prompt and self.options.cached
        slot = self._slots.take(job.tokens, body.id_slot if body.id_slot >= 0 else None, cached)
        if slot is None:
            return False
        reply = (Completion if isinstance(body, CompletionBody) else Reply)(
            number=job.entry.number,
            body=body,
            schedule=self._slowed(job.faults.schedule(self.options)),
            faults=job.faults,
            slot=slot.number,
            cache_n=slot.cache_n,
            prompt_n=slot.prompt_n,
            plain=self.options.plain,
        )
        when = job.start(slot, reply, now)
        if when is None:
            self._ended(job)
        else:
            self._ticker.add(when, functools.partial(self._step, job))
        return True

    def _slowed(self, schedule: Schedule) -> Schedule:
        options, since = self.options, time.monotonic() - self._opened
        if options.leak:
            self._leaked.append(b"x" * (int(options.leak * since * MIB) - sum(map(len, self._leaked))))
        if not options.slower:
            return schedule
        times, factors = np.array(options.slower).T
        factor = float(np.interp(since, times, factors))
        # In steps of a hundredth, since the chunks of a schedule are kept.
        return msgspec.structs.replace(schedule, step=schedule.step * round(factor, 2))

    def _step(self, job: Job, now: float) -> float | None:
        when = job.step(now)
        if when is None and job.entry.outcome != "gone":  # whoever left is let go by _lost
            self._ended(job)
        return when

    def _lost(self, job: Job) -> None:
        job.entry.outcome, job.entry.ended_s = "gone", time.monotonic()
        if job in self._waiting:
            self._waiting.remove(job)
        if job.slot is not None and self.options.release:
            self._ticker.add(time.monotonic() + self.options.release, functools.partial(self._released, job))
        else:
            self._ended(job)

    def _released(self, job: Job, now: float) -> None:
        self._ended(job)

    def _ended(self, job: Job) -> None:
        """Gives the job's slot to the first who can use it; a job that fell silent keeps it."""
        if job.slot is None or job.entry.outcome == "running":
            return
        job.slot.busy, job.slot, job.entry.freed_s = False, None, time.monotonic()
        for waiting in list(self._waiting):
            if self._start(waiting, time.monotonic()):
                self._waiting.remove(waiting)


@asynccontextmanager
async def serve(
    options: Options | None = None,
    *,
    port: int = 0,
    choose: Callable[[Request], Faults] | None = None,
    **fields: Any,
) -> AsyncIterator[Truth]:
    """The server on this loop, on 127.0.0.1; its options, or their fields by name.

    `choose`: gives each request its faults, for a server that changes its behaviour as a test goes on.
    """
    truth = Truth(options or Options(**fields), choose)
    loop = asyncio.get_running_loop()
    listener = await loop.create_server(truth.connection, "127.0.0.1", port, backlog=4096)
    truth.url = f"http://127.0.0.1:{listener.sockets[0].getsockname()[1]}"
    try:
        yield truth
    finally:
        listener.close()
        truth.close()
        await listener.wait_closed()
