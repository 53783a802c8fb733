"""The server log: what llama-server counts, asked for by one short request at a time."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, Protocol, TypeVar

from ..types import RunStopped, ServerSample

T = TypeVar("T")

COUNTERS = {
    "prompt_tokens": "prompt_tokens_total",
    "cached_tokens": "prompt_tokens_cached_total",
    "generated_tokens": "tokens_predicted_total",
    "prompt_s": "prompt_seconds_total",
    "generated_s": "tokens_predicted_seconds_total",
    "decodes": "n_decode_total",
}
"""ServerSample's fields and the counters whose growth they are. /metrics' rates are reset by each question."""


class Asked(Protocol):
    """What is needed of a server."""

    async def slots(self) -> list[dict[str, Any]] | None: ...
    async def metrics(self) -> dict[str, float] | None: ...


class ServerLog:
    """Asks `server` every `every` seconds, on the running loop, until `stop`.

    `sample` gets what it says; `note` what it does not, once: `none`, it has neither route, or `silent`, it did not
    answer. A question that is late is waited for, and the ones that were due meanwhile are left out.
    """

    def __init__(
        self,
        server: Asked,
        every: float,
        clock: Callable[[], float],
        sample: Callable[[ServerSample], None],
        note: Callable[[str, str], None],
    ) -> None:
        self._server = server
        self._every = every
        self._clock = clock
        self._sample = sample
        self._note = note
        self._before: tuple[float, dict[str, float]] | None = None
        self._silent = False
        self._routes: dict[str, bool | None] = {"metrics": None, "slots": None}  # whether it is there
        self._task = asyncio.get_running_loop().create_task(self._keep())

    async def stop(self) -> None:
        self._task.cancel()
        await asyncio.gather(self._task, return_exceptions=True)

    async def _keep(self) -> None:
        loop = asyncio.get_running_loop()
        due = loop.time()
        while any(there is not False for there in self._routes.values()):
            try:
                await self._ask()
                self._silent = False
            except RunStopped as error:
                if not self._silent:
                    self._note("silent", str(error))
                self._silent = True
            due += self._every * max(1, -((due - loop.time()) // self._every))
            await asyncio.sleep(due - loop.time())
        self._note("none", "the server has neither /metrics (--metrics) nor /slots")

    async def _ask(self) -> None:
        began = self._clock()
        metrics = await self._route("metrics", self._server.metrics)
        t, took = self._clock(), self._clock() - began
        slots = await self._route("slots", self._server.slots)
        if metrics is None and slots is None:
            return
        if metrics is None:
            t, took = self._clock(), self._clock() - began
        self._sample(sample(t, took, slots, metrics or {}, self._before))
        self._before = None if metrics is None else (t, metrics)

    async def _route(self, name: str, ask: Callable[[], Awaitable[T | None]]) -> T | None:
        """The answer of a route; one that did not answer at first is not there, and not asked for again."""
        found = None if self._routes[name] is False else await ask()
        if self._routes[name] is None:
            self._routes[name] = found is not None
        return found


def sample(
    t: float,
    took: float,
    slots: list[dict[str, Any]] | None,
    metrics: dict[str, float],
    before: tuple[float, dict[str, float]] | None,
) -> ServerSample:
    """A sample from the two answers and the metrics of the last one. A server that was started again counts anew: what
    it had before is not known, and no difference is made."""
    grown: dict[str, Any] = {}
    if before is not None:
        then, old = before
        told = {name: key for name, key in COUNTERS.items() if key in metrics and key in old}
        grown = {name: metrics[key] - old[key] for name, key in told.items()}
        grown = {name: round(n, 6) if name.endswith("_s") else int(n) for name, n in grown.items()}
        if any(n < 0 for n in grown.values()):
            grown = {}
        elif grown:
            grown["over_s"] = round(t - then, 6)
    return ServerSample(
        t_s=round(t, 6),
        took_s=round(took, 6),
        busy=None if slots is None else _busy(slots),
        processing=_count(metrics, "requests_processing"),
        deferred=_count(metrics, "requests_deferred"),
        **grown,
    )


def _busy(slots: list[dict[str, Any]]) -> tuple[int, ...]:
    return tuple(slot.get("id", n) for n, slot in enumerate(slots) if slot.get("is_processing"))


def _count(metrics: dict[str, float], name: str) -> int | None:
    return int(metrics[name]) if name in metrics else None
