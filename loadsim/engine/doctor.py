"""Asks a server that is about to be loaded, and this machine, what `findings` judges.

It sends a few requests of one token to slots 0 and 1, and two to slots that the server chooses: whatever those held is
gone afterwards.
"""

import asyncio
import resource
import uuid
from typing import Any

import msgspec

from ..caller.history import cold_system, salt
from ..recording.fit import FILLER, fit
from ..recording.messages import Message, answer_messages, prompt_messages
from ..recording.model import Recording
from ..scenario.check import EMBEDDED
from ..scenario.model import Scenario
from ..scenario.sweep import points
from ..server.api import Reply
from ..server.http import HttpServer
from ..telemetry.lag import Lag, LagReport
from ..telemetry.peek import peek
from ..types import BadInput, ChatRequest, RunStopped, ServerInfo
from .findings import Asked, Facts, Template, Trials
from .machine import LATE_MS, Client
from .preflight import Plan, Recordings, check_server, preflight, prompt_tokens
from .serving import waits

TOKEN_S = 30.0  # whoever hears nothing for so long has hung up
LAG_S, LAG_TRIES = 1.0, 3
FILLERS = 24  # some 1,200 tokens with most tokenizers
CONTEXT_PER_FILLER = 128  # so that the trials fit a small context twice over
TRIPS = 5


async def examine(url: str, scenario: Scenario, recordings: Recordings, key: str | None, build: str | None) -> Facts:
    """All that can be seen of the server at `url` before `scenario` loads it. `build`: for a server of our own, which
    does not know it."""
    allowed = waits(scenario)
    allowed = msgspec.structs.replace(allowed, first_token=min(allowed.first_token, TOKEN_S))
    groups = [group for _, point in points(scenario) for group in point.callers.values()]
    facts = Facts(
        callers=max(sum(group.count for group in point.callers.values()) for _, point in points(scenario)),
        pinned=all(group.slots != "server" for group in groups),
        pauses=scenario.baseline.every is not None and scenario.baseline.slot is None,
        client=await _client(scenario, url),
    )
    server = HttpServer(url, key, allowed)
    try:
        return await _examine(server, facts, scenario, recordings, build)
    except RunStopped as stopped:
        return msgspec.structs.replace(facts, unreached=str(stopped))
    finally:
        await server.close()


async def _examine(
    server: HttpServer, facts: Facts, scenario: Scenario, recordings: Recordings, build: str | None
) -> Facts:
    await server.ready()
    trip = await _round_trip(server)
    try:
        info = await server.info()
    except BadInput as refused:
        return msgspec.structs.replace(facts, refused=str(refused))
    info = msgspec.structs.replace(info, build=build or info.build)
    told = msgspec.structs.replace(facts, info=info, round_trip_s=trip, busy=await _busy(server))
    if info.slots is not None:
        told = msgspec.structs.replace(told, metrics=await server.metrics() is not None)
    told = msgspec.structs.replace(told, template=await _template(server, recordings[scenario.recording]))
    try:
        check_server(info, scenario)
        # A call that cannot be rendered cannot be counted either; that is one fault, not two.
        if info.slots is not None and told.template.error is None:
            prompt, reply = await _longest(server, info, scenario, recordings, facts.callers)
            told = msgspec.structs.replace(told, prompt=prompt, reply=reply)
    except BadInput as misfit:
        told = msgspec.structs.replace(told, misfit=str(misfit))
    hello = await _ask(server, scenario, [{"role": "user", "content": "Hello, who is there?"}], tokens=16)
    told = msgspec.structs.replace(told, hello=hello)
    if hello.first_s is None:
        return told
    return msgspec.structs.replace(told, trials=await _trials(server, info, scenario))


# -- the server


async def _round_trip(server: HttpServer) -> float:
    """Seconds of the quickest of a few questions, each on a connection of its own as requests are."""
    now = asyncio.get_running_loop().time
    seconds = []
    for _ in range(TRIPS):
        began = now()
        await server.ready()
        seconds.append(now() - began)
    return min(seconds)


async def _busy(server: HttpServer) -> int | None:
    slots = await server.slots()
    return None if slots is None else sum(bool(slot.get("is_processing")) for slot in slots)


async def _longest(
    server: HttpServer, info: ServerInfo, scenario: Scenario, recordings: Recordings, callers: int
) -> tuple[int | None, int]:
    """Tokens of the longest prompt and of the longest reply. Raises BadInput for a call that cannot be made."""

    async def count(call: Recording) -> int:
        return len(await prompt_tokens(server, prompt_messages(call, len(call.turns)), call.tools) or [])

    used = dict(recordings)
    if scenario.fit is not None:
        used = {name: await fit(call, count, scenario.fit) for name, call in used.items()}
    # Too few slots and too small a context are findings of their own: here there is room for all.
    roomy = msgspec.structs.replace(info, context=None, slots=max(info.slots or 0, callers))
    plans = [await preflight(server, roomy, label, point, used) for label, point in points(scenario)]
    prompts = [script.longest for plan in plans for scripts in plan.scripts.values() for script in scripts]
    return max((size for size in prompts if size is not None), default=None), max(map(_reply, plans))


def _reply(plan: Plan) -> int:
    return max(plan.max_tokens(text) for text in plan.tokens)


async def _template(server: HttpServer, recording: Recording) -> Template:
    tool = next((_name(tool) for tool in recording.tools), None)
    first = next((at for at, turn in enumerate(recording.turns) if turn.tools), 0)
    kept: list[tuple[int, int]] = []
    try:
        shown = await server.render(prompt_messages(recording, 1), recording.tools)
        for turn in {0, first}:
            messages = prompt_messages(recording, turn + 1)
            later = [*messages, *answer_messages(recording.turns[turn]), {"role": "user", "content": "Go on."}]
            one = await prompt_tokens(server, messages, recording.tools)
            other = await prompt_tokens(server, later, recording.tools)
            if one is not None and other is not None:
                kept.append((_common(one, other), len(one)))
    except BadInput as error:
        return Template(tool=tool, error=str(error))
    least, size = min(kept, key=lambda pair: pair[0] / pair[1], default=(None, None))
    return Template(tool=tool, shown=None if shown is None or tool is None else tool in shown, kept=least, size=size)


def _name(tool: dict[str, Any]) -> str:
    return str(tool.get("function", tool).get("name", ""))


def _common(one: list[int], other: list[int]) -> int:
    return next((i for i, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other)))


# -- trial requests


async def _trials(server: HttpServer, info: ServerInfo, scenario: Scenario) -> Trials:
    """See `Trials`. A reply of one token leaves its slot with the prompt alone, so that what follows is exact."""
    fillers = min(FILLERS, (info.context or 1 << 20) // CONTEXT_PER_FILLER)
    found: dict[str, Any] = {}

    async def ask(name: str, messages: list[Message], slot: int | None) -> None:
        found[name] = asked = await _ask(server, scenario, messages, slot)
        if asked.error is not None:
            raise RunStopped(asked.error)

    try:
        start = _call(fillers, "Good morning.")
        await ask("cold", start, 0)
        if found["cold"].cache_n is None:
            return Trials(**found)  # a server that does not tell what it had need not be asked on
        await ask("repeat", start, 0)
        await ask("extension", _further(start, "What time is it?"), 0)
        edited = _further(start, "Where are you?")
        await ask("edit", edited, 0)
        if info.slots is not None and info.slots > 1:
            await ask("elsewhere", _call(fillers, "Good evening."), 1)
            await ask("back", _further(edited, "What time is it?"), 0)
            one = _call(fillers, "My name is Anna.")
            await ask("one", one, None)
            await ask("other", [one[0], {"role": "user", "content": "This is about a parcel."}], None)
    except RunStopped as stopped:
        return Trials(broke=str(stopped))
    found.pop("elsewhere", None)
    return Trials(**found)


def _call(fillers: int, words: str) -> list[Message]:
    """A call that no slot holds any of."""
    system = cold_system(" ".join([FILLER] * fillers), salt(uuid.uuid4().hex))
    return [{"role": "system", "content": system}, {"role": "user", "content": words}]


def _further(messages: list[Message], words: str) -> list[Message]:
    return [*messages, {"role": "assistant", "content": "Yes."}, {"role": "user", "content": words}]


async def _ask(
    server: HttpServer, scenario: Scenario, messages: list[Message], slot: int | None = None, tokens: int = 1
) -> Asked:
    """One request, as the scenario's callers would send it, to its end."""
    request = ChatRequest(messages=messages, max_tokens=tokens, slot=slot, fields=scenario.request)
    reply = server.chat(request, lambda text, tokens: True)
    await reply.ended.wait()
    return _asked(reply)


def _asked(reply: Reply) -> Asked:
    first = None if reply.first.t is None else reply.first.t - (reply.sent or reply.opened)
    timings, failed = reply.timings, reply.outcome not in ("ok", "empty")
    return Asked(
        error=(reply.error or reply.outcome) if failed else None,
        status=reply.status,
        first_s=first,
        thinks=bool(reply.reasoning) or "".join(reply.text).lstrip().startswith("<think>"),
        cache_n=None if timings is None else timings.cache_n,
        prompt_n=None if timings is None else timings.prompt_n,
        slot=reply.slot,
    )


# -- this machine


async def _client(scenario: Scenario, url: str) -> Client:
    asked = scenario.server if scenario.server.url == EMBEDDED else msgspec.structs.replace(scenario.server, url=url)
    found: list[LagReport] = []
    # What passes is no finding: this machine's own delay is there each time.
    while not found or (_late(found[-1]) > LATE_MS and len(found) < LAG_TRIES):
        lag = Lag()
        lag.start()
        await asyncio.sleep(LAG_S)
        found.append(lag.stop())
    return Client(
        lag=min(found, key=_late),
        clock_s=_clock_step(),
        files=resource.getrlimit(resource.RLIMIT_NOFILE)[0],
        cards=await peek(scenario.telemetry, asked),
    )


def _late(report: LagReport) -> float:
    return report.lag_p99_ms or 0.0


def _clock_step() -> float:
    """The least time between two different readings of the loop's clock."""
    now = asyncio.get_running_loop().time
    steps = []
    for _ in range(100):
        began = now()
        while (later := now()) == began:
            pass
        steps.append(later - began)
    return min(steps)
