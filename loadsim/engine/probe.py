"""One question to the server in place of a load: what must hold before it, and its rows."""

import asyncio
import math
from collections.abc import Callable, Coroutine, Sequence
from typing import Any

import msgspec

from ..recording.messages import prompt_messages
from ..recording.model import Recording
from ..scenario.model import Probe, Scenario
from ..server.api import Server
from ..types import BadInput, ServerInfo
from .bench import Bench
from .preflight import Recordings
from .probes import checkpoints, floor, prefill, reach, tools
from .probes.prober import Prober

KINDS: dict[str, Callable[[Prober], Coroutine[Any, Any, None]]] = {
    "reach": reach.ask,
    "checkpoints": checkpoints.ask,
    "prefill": prefill.ask,
    "floor": floor.ask,
    "tools": tools.ask,
}


class ProbePlan(msgspec.Struct, frozen=True, kw_only=True):
    """One load point with a probe, checked. `pool`: the call's words as tokens, of which exact prompts are made."""

    point: str
    scenario: Scenario
    probe: Probe
    recording: Recording
    pool: tuple[int, ...]

    @property
    def slots(self) -> list[int]:
        return [self.probe.slot]

    @property
    def scripts(self) -> dict[str, Sequence[Any]]:
        """Nobody says anything."""
        return {}


async def prepare(
    server: Server, info: ServerInfo, point: str, scenario: Scenario, recordings: Recordings
) -> ProbePlan:
    """Check a probe against this server. Raises BadInput with both numbers where a prompt does not fit."""
    probe, recording = scenario.probe, recordings[scenario.recording]
    assert probe is not None
    if probe.kind == "tools" and not any(turn.tools for turn in recording.turns):
        raise BadInput(f"probe: tools needs a call with tool calls; {recording.title!r} has none")
    if info.slots is None and probe.kind != "tools":
        raise BadInput(f"probe: {probe.kind} needs llama-server's own counts and routes, and {info.url} is none")
    if info.slots is not None and probe.slot >= info.slots:
        raise BadInput(f"probe.slot: the server has slots 0 to {info.slots - 1}; got {probe.slot}")
    needed = _longest(probe) + 1  # the reply's one token
    if info.context is not None and needed > info.context:
        least = -(-needed // 256) * 256 * (info.slots or 1)
        raise BadInput(
            f"probe: {probe.kind} needs {needed:,} tokens of context; the server has {info.context:,} per slot: "
            f"give it a context (-c) of {least} or more"
        )
    empty = len(await server.tokenize("") or [])
    tokens = await server.tokenize(_text(recording)) or []
    return ProbePlan(
        point=point, scenario=scenario, probe=probe, recording=recording, pool=tuple(dict.fromkeys(tokens[empty:]))
    )


class Probing:
    """One load point whose question a probe is."""

    def __init__(self, bench: Bench, plan: ProbePlan) -> None:
        self.name = plan.point
        self._bench = bench
        self._plan = plan

    def rows(self) -> int:
        """About how many rows one repeat leaves."""
        probe, recording = self._plan.probe, self._plan.recording
        match probe.kind:
            case "reach":
                edits = math.log2(probe.tail) + 1 if probe.replaced == "bisect" else len(probe.replaced)
                return 1 + 2 * round(edits)
            case "checkpoints":
                return 4
            case "prefill":
                return 1 + len(probe.lengths)
            case "floor":
                return 2 * (len(probe.new_tokens) + len(probe.messages) * (2 if recording.tools else 1))
        return sum(len(turn.tools) for turn in recording.turns)

    def load_seconds(self) -> float | None:
        """It goes as fast as the server."""
        return None

    async def repeat(self, number: int) -> None:
        """Ask once. Raises RunStopped where a state cannot be set up, or nothing can be told."""
        progress, plan = self._bench.progress, self._plan
        progress.phase, progress.point, progress.repeat = plan.probe.kind, plan.point, number
        if progress.measuring_since is None:
            progress.measuring_since = asyncio.get_running_loop().time()
        self._bench.note("phase", phase=plan.probe.kind, point=plan.point, repeat=number)
        prober = Prober(
            bench=self._bench,
            point=plan.point,
            repeat=number,
            probe=plan.probe,
            recording=plan.recording,
            pool=plan.pool,
            fields=plan.scenario.request,
        )
        await KINDS[plan.probe.kind](prober)


def _longest(probe: Probe) -> int:
    """Tokens of the longest exact prompt."""
    match probe.kind:
        case "reach" | "checkpoints":
            return probe.history + probe.tail
        case "prefill":
            return max(probe.lengths)
        case "floor":
            return probe.history + max(probe.new_tokens)
    return 0


def _text(recording: Recording) -> str:
    """All that is said in a call, and its system prompt: words that any template and tokenizer has."""
    said = prompt_messages(recording, len(recording.turns))
    return " ".join(message["content"] for message in said if message["role"] != "tool")
