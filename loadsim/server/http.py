"""A server reached by HTTP: llama-server, or any that speaks OpenAI's chat route."""

import asyncio
import functools
from statistics import median
from types import SimpleNamespace
from typing import Any

import aiohttp
import msgspec

from ..types import BadInput, ChatRequest, CompletionRequest, RunStopped, ServerInfo
from .api import Reply, Speakable
from .errors import body_error, is_page, network_error, refusal
from .stamped import StampedResponse, session
from .stream import LAST_FIELDS, Stream

WATCH_S = 0.1
LOADING_S = 0.25  # between two questions to a server that loads, and to one whose start is timed
STARTING_S = 0.02
HEALTH_S = 5.0  # a server that takes longer to say that it is well is not
CHAT, COMPLETION = "/v1/chat/completions", "/completion"


class Waits(msgspec.Struct, frozen=True, kw_only=True):
    """How long each kind of silence may last, in seconds."""

    loading: float = 300.0
    connect: float = 10.0
    first_token: float = 120.0
    silence: float = 30.0


class HttpServer:
    """A Server at `url` (scheme, host, port, and a path if the API lies below one).

    `key` is sent as a bearer token and never shown. Everything that waits is bounded by `waits`.
    """

    def __init__(self, url: str, key: str | None = None, waits: Waits = Waits()) -> None:
        self.url = url.rstrip("/").removesuffix("/v1")
        self.waits = waits
        self.extras = True  # llama-server's own fields and routes; `info` finds out
        self.model: str | None = None  # what plain servers must be told
        self.live: dict[Reply, asyncio.Task[None]] = {}
        self._headers = {"Authorization": f"Bearer {key}"} if key else {}
        self._watch: asyncio.TimerHandle | None = None
        self._loop = asyncio.get_running_loop()
        self._connect = aiohttp.ClientTimeout(total=None, connect=waits.connect)  # replies are watched instead
        trace = aiohttp.TraceConfig()
        trace.on_connection_create_end.append(_hold)
        trace.on_request_chunk_sent.append(_stamp_sent)
        self._session = session(trace)

    # -- replies

    def chat(self, request: ChatRequest, speakable: Speakable) -> Reply:
        """Start a streamed reply and return at once; it is filled as the stream arrives."""
        return self._ask_for(CHAT, self.body(request), request.due, speakable)

    def complete(self, request: CompletionRequest, speakable: Speakable) -> Reply:
        """The same for an exact prompt, by llama-server's own route. A plain server answers it with an error."""
        return self._ask_for(COMPLETION, self.completion_body(request), request.due, speakable)

    def _ask_for(self, path: str, body: bytes, due: float | None, speakable: Speakable) -> Reply:
        reply = Reply(self._loop.time(), speakable)
        task = self._loop.create_task(self._converse(reply, path, body, due))
        self.live[reply] = task
        reply.close = task.cancel
        if self._watch is None:
            self._watch = self._loop.call_later(WATCH_S, self._look)
        return reply

    def body(self, request: ChatRequest) -> bytes:
        """The request as JSON. A plain server gets only OpenAI's fields."""
        body: dict[str, Any] = {"messages": request.messages, "stream": True, "stream_options": {"include_usage": True}}
        if self.model is not None:
            body["model"] = self.model
        if request.tools:
            body["tools"] = request.tools
        if request.max_tokens is not None:
            body["max_tokens"] = request.max_tokens
        if request.ignore_eos:
            body["ignore_eos"] = True
        if self.extras:
            body |= {"timings_per_token": True, "cache_prompt": True}
            # Who leaves the choice to the server wants to know what it chose.
            body |= (
                {"verbose": True, "response_fields": ["id_slot"]} if request.slot is None else {"id_slot": request.slot}
            )
        return msgspec.json.encode(body | request.fields)

    @staticmethod
    def completion_body(request: CompletionRequest) -> bytes:
        """The request as JSON. The last event would else repeat the whole prompt."""
        body: dict[str, Any] = {"prompt": request.tokens, "stream": True, "cache_prompt": True}
        body |= {"timings_per_token": True, "ignore_eos": request.ignore_eos, "response_fields": LAST_FIELDS}
        if request.max_tokens is not None:
            body["n_predict"] = request.max_tokens
        if request.slot is not None:
            body["id_slot"] = request.slot
        return msgspec.json.encode(body | request.fields)

    async def _converse(self, reply: Reply, path: str, body: bytes, due: float | None) -> None:
        now = self._loop.time
        context = SimpleNamespace(reply=reply, due=due)
        try:
            async with self._session.post(
                self.url + path,
                data=body,
                headers=self._headers | {"Content-Type": "application/json"},
                trace_request_ctx=context,
            ) as response:
                assert isinstance(response, StampedResponse)
                reply.headers = response.handler.headers_at or now()
                reply.status = response.status
                if response.status != 200:
                    reply.end(now(), "error", refusal(response.status, await response.text(errors="replace")))
                    return
                if response.content_type == "text/html":
                    page = body_error(await response.text(errors="replace"))
                    reply.end(now(), "error", f"{page} in place of a reply: is this the server's address?")
                    return
                await self._read(reply, response)
        except (aiohttp.ClientError, OSError) as error:
            reply.end(now(), "error", network_error(error))
        except asyncio.CancelledError:
            reply.end(now(), "cut")
        except Exception as error:  # noqa: BLE001 a fault of ours ends this reply and says so, not the run
            reply.end(now(), "error", f"{type(error).__name__}: {error}")
        finally:
            self.live.pop(reply, None)

    async def _read(self, reply: Reply, response: StampedResponse) -> None:
        """Fill the reply to its end, whether `[DONE]` comes, the body ends or the connection breaks."""
        now, stream, handler = self._loop.time, Stream(reply), response.handler

        def lost() -> None:
            reply.end(now(), "error", f"the connection broke in mid-reply, after {len(reply.token_s)} tokens")

        def whole() -> None:
            stream.finish(now())

        handler.stream_to(response.content, stream.feed)
        if response.content.is_eof():
            whole()
        elif not handler.is_connected():
            lost()
        else:
            # aiohttp tells the end of the body before `data_received` has handed on its last bytes; a body that ends
            # with its connection is whole before that is lost.
            response.content.on_eof(functools.partial(self._loop.call_soon, whole))  # type: ignore[arg-type]
            handler.on_lost = functools.partial(self._loop.call_soon, lost)
            try:
                await reply.ended.wait()
            finally:
                handler.let_go()

    def _look(self) -> None:
        """The watch over all live replies: end those that have been silent for too long."""
        now, waits = self._loop.time(), self.waits
        for reply in list(self.live):
            if reply.outcome is not None:
                continue
            if reply.sent is None:
                late = now - reply.opened > waits.connect and reply.connected is None
                said = f"no connection within {waits.connect:g} s"
            elif reply.last is None:
                late = now - reply.sent > waits.first_token
                said = f"no first token within {waits.first_token:g} s"
            else:
                late = now - reply.last > waits.silence
                said = f"no token for {waits.silence:g} s, after {len(reply.token_s)}"
            if late:
                reply.hang_up("timeout", said)
        self._watch = self._loop.call_later(WATCH_S, self._look) if self.live else None

    # -- what the server tells

    async def ready(self, starting: bool = False) -> float:
        """Wait while the server says that it loads its model, and one that is `starting` while nobody answers; returns
        the seconds that took. Raises RunStopped."""
        start = self._loop.time()
        most = self.waits.connect + self.waits.silence
        while True:
            left = self.waits.loading - (self._loop.time() - start)
            try:
                status, body = await self._ask("GET", "/health", within=min(most, max(left, self.waits.connect + 1)))
                said = f"is still loading after {self.waits.loading:g} s: {body_error(body)}"
            except RunStopped as error:
                if not starting:
                    raise
                status, said = 503, f"is not up after {self.waits.loading:g} s: {error}"
            if status != 503:
                return self._loop.time() - start
            if self._loop.time() - start > self.waits.loading:
                raise RunStopped(f"{self.url} {said}")
            await asyncio.sleep(STARTING_S if starting else LOADING_S)

    async def answers(self) -> bool:
        """Whether anybody answers there."""
        try:
            await self._ask("GET", "/health")
        except RunStopped:
            return False
        return True

    async def health(self) -> str:
        """`ok`, or in a few words what is the matter; never raises."""
        try:
            async with asyncio.timeout(HEALTH_S):
                status, body = await self._ask("GET", "/health", within=2 * HEALTH_S)  # ours is the one that ends it
        except TimeoutError:
            return f"health did not answer in {HEALTH_S:g} s"
        except RunStopped as error:
            return str(error).removeprefix(f"no server at {self.url}: ")
        return "ok" if status < 500 else f"HTTP {status}: {body_error(body)}"  # a plain server may have no /health

    async def round_trip(self, times: int = 5) -> float:
        """Seconds from a request to its answer's first bytes, where the server has nothing to do: the median of so many
        small requests, each on a connection of its own that stood before."""
        return median([await self._round_trip() for _ in range(times)])

    async def _round_trip(self) -> float:
        opened = SimpleNamespace(connected=None)
        context = SimpleNamespace(reply=opened, due=None)
        try:
            async with (
                asyncio.timeout(self.waits.connect + self.waits.silence),
                self._session.get(
                    f"{self.url}/health", headers=self._headers, trace_request_ctx=context, timeout=self._connect
                ) as response,
            ):
                assert isinstance(response, StampedResponse)
                answered = response.handler.headers_at or self._loop.time()
                await response.read()
        except TimeoutError as error:
            raise self._late("/health", error) from None
        except (aiohttp.ClientError, OSError) as error:
            raise RunStopped(f"no server at {self.url}: {network_error(error)}") from None
        return float(answered - opened.connected)

    async def info(self) -> ServerInfo:
        """Ask the server what it is; from then on it is spoken to as llama-server, or as any other."""
        status, props = await self._ask("GET", "/props")
        _refuse_key(self.url, status)
        self.extras = status == 200 and isinstance(props, dict) and "total_slots" in props
        status, listed = await self._ask("GET", "/v1/models")
        _refuse_key(self.url, status)
        if status == 200 and is_page(listed):
            raise RunStopped(f"{self.url} is no model server: {body_error(listed)} answers there")
        entries = listed.get("data") if status == 200 and isinstance(listed, dict) else None
        models = [entry for entry in entries or [] if isinstance(entry, dict) and isinstance(entry.get("id"), str)]
        names = tuple(dict.fromkeys(name for entry in models for name in (entry["id"], *(entry.get("aliases") or ()))))
        self.model = names[0] if names else None
        if not self.extras:
            return ServerInfo(url=self.url, model=self.model, models=names)
        settings = props.get("default_generation_settings") or {}
        return ServerInfo(
            url=self.url,
            build=props.get("build_info"),
            model=props.get("model_alias") or self.model or props.get("model_path"),
            models=names,
            slots=props.get("total_slots"),
            context=settings.get("n_ctx"),
            template=props.get("chat_template"),
        )

    async def render(self, messages: list[dict[str, Any]], tools: tuple[dict[str, Any], ...]) -> str | None:
        """The prompt as the server's template writes it, generation prompt included; None if it does not tell."""
        if not self.extras:
            return None
        status, body = await self._ask("POST", "/apply-template", {"messages": messages, "tools": tools})
        if status in (404, 501):
            return None
        if status != 200:
            raise BadInput(f"the server's template does not take this call: {refusal(status, body)}")
        return str(body["prompt"])

    async def tokenize(self, text: str) -> list[int] | None:
        """The tokens of a rendered prompt, as the chat route would have them; None if the server does not tell."""
        if not self.extras:
            return None
        question = {"content": text, "add_special": True, "parse_special": True}
        status, body = await self._ask("POST", "/tokenize", question)
        return list(body["tokens"]) if status == 200 else None

    async def slots(self) -> list[dict[str, Any]] | None:
        """llama-server's slots as it lists them; None where it does not."""
        if not self.extras:
            return None
        status, body = await self._ask("GET", "/slots")
        listed = status == 200 and isinstance(body, list) and all(isinstance(slot, dict) for slot in body)
        return body if listed else None

    async def metrics(self) -> dict[str, float] | None:
        """llama-server's metrics by name; None where it does not tell. Each call resets its rates."""
        status, body = await self._ask("GET", "/metrics")
        if status != 200 or not isinstance(body, str):
            return None
        lines = (line.split() for line in body.splitlines() if line.startswith("llamacpp:"))
        return {name.removeprefix("llamacpp:"): float(value) for name, value in lines} or None

    async def close(self) -> None:
        """Hang up on every live reply and let the connections go."""
        tasks = list(self.live.values())
        for reply in list(self.live):
            reply.hang_up()
        await asyncio.gather(*tasks, return_exceptions=True)
        if self._watch is not None:
            self._watch.cancel()
        await self._session.close()

    async def _ask(self, method: str, path: str, json: Any = None, within: float | None = None) -> tuple[int, Any]:
        """(HTTP status, decoded body or its text); raises RunStopped where the server cannot be reached, or does not
        answer `within` seconds."""
        data = None if json is None else msgspec.json.encode(json)
        headers = self._headers | ({} if data is None else {"Content-Type": "application/json"})
        try:
            async with (
                asyncio.timeout(within or self.waits.connect + self.waits.silence),
                self._session.request(
                    method, self.url + path, data=data, headers=headers, timeout=self._connect
                ) as response,
            ):
                raw = await response.read()
        except TimeoutError as error:
            raise self._late(path, error) from None
        except (aiohttp.ClientError, OSError) as error:
            raise RunStopped(f"no server at {self.url}: {network_error(error)}") from None
        try:
            return response.status, msgspec.json.decode(raw)
        except msgspec.DecodeError:
            return response.status, raw.decode(errors="replace")

    def _late(self, path: str, error: TimeoutError) -> RunStopped:
        if not isinstance(error, aiohttp.ServerTimeoutError):
            return RunStopped(f"{self.url}{path} did not answer in time")
        # Whoever speaks no TLS may wait for more of what it takes for a request.
        hint = "; is it http, not https?" if self.url.startswith("https:") else ""
        return RunStopped(f"no server at {self.url}: no connection within {self.waits.connect:g} s{hint}")


async def _hold(_: aiohttp.ClientSession, trace: SimpleNamespace, __: Any) -> None:
    """The connection stands; keep the request back until it is due."""
    context = trace.trace_request_ctx
    if context is not None:
        now = asyncio.get_running_loop().time
        context.reply.connected = now()
        while context.due is not None and (wait := context.due - now()) > 0:
            await asyncio.sleep(wait)


async def _stamp_sent(_: aiohttp.ClientSession, trace: SimpleNamespace, __: Any) -> None:
    if trace.trace_request_ctx is not None:
        trace.trace_request_ctx.reply.sent = asyncio.get_running_loop().time()


def _refuse_key(url: str, status: int) -> None:
    if status in (401, 403):
        raise BadInput(f"{url} refuses the API key (HTTP {status}): set LOADSIM_API_KEY to the server's key")
