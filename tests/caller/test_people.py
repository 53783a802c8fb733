"""Hundreds of days of calls in virtual time: what callers did beside what people do (PriMock57's percentiles)."""

import asyncio
import json
import random
from collections.abc import Callable
from typing import Any

import msgspec
import numpy as np
import pytest

from loadsim.caller.call import Caller
from loadsim.caller.line import Line
from loadsim.caller.talk import ANY, Call
from loadsim.recording.model import Recording
from loadsim.scenario.load import restore
from loadsim.server.api import Reply, Speakable
from loadsim.types import ChatRequest, CompletionRequest, RequestRow, ServerInfo
from tests.recording.primock import SHARED
from tests.virtual import run

pytestmark = pytest.mark.slow

TOKENS = 90  # at 4.5 tokens/s a reply takes 20 s, longer than anybody lets the agent speak before they cut in
CALLS, TURNS = 410, 500
MODEL = SHARED / "primock57" / "pacing_percentiles.json"


class Instant:
    """A server whose replies are whole the moment they are due."""

    def chat(self, request: ChatRequest, speakable: Speakable) -> Reply:
        loop = asyncio.get_running_loop()
        reply = Reply(loop.time(), speakable)
        loop.call_at(request.due or loop.time(), self._answer, reply)
        return reply

    @staticmethod
    def _answer(reply: Reply) -> None:
        now = asyncio.get_running_loop().time()
        reply.connected = reply.sent = reply.headers = now
        reply.output(now, None)
        reply.token_s = [now] * TOKENS
        reply.say(now, "Well, that is that. ")
        reply.finish = "stop"
        reply.end(now, "ok")

    def complete(self, request: CompletionRequest, speakable: Speakable) -> Reply:
        raise NotImplementedError

    async def info(self) -> ServerInfo:
        return ServerInfo(url="instant")

    async def health(self) -> str:
        return "ok"

    async def render(self, messages: list[dict[str, Any]], tools: tuple[dict[str, Any], ...]) -> str | None:
        return None

    async def tokenize(self, text: str) -> list[int] | None:
        return None

    async def slots(self) -> list[dict[str, Any]] | None:
        return None

    async def close(self) -> None: ...


def call_of(turns: int) -> Recording:
    said = [
        {"caller": {"text": "So I said.", "start": 9 * i, "end": 9 * i + 1},
         "agent": {"text": "Well.", "start": 9 * i + 2, "end": 9 * i + 3}}
        for i in range(turns)
    ]  # fmt: skip
    return msgspec.convert({"title": "t", "source": "s", "system": "", "tools": [], "turns": said}, Recording)


def rows_of(settings: dict[str, Any]) -> list[RequestRow]:
    """The rows of many calls, one after the other in virtual time."""
    scenario = restore(
        {"recording": "x", "callers": {"a": {"count": 1}}, "server": {"url": "http://x"}, "reply": {"free": TOKENS}}
        | settings,
        "test",
    )
    recording, rows = call_of(TURNS), list[RequestRow]()

    async def main() -> None:
        async with asyncio.TaskGroup() as group:
            line = Line(
                server=Instant(),
                scenario=scenario,
                origin=0.0,
                emit=lambda row, _: rows.append(row),
                note=lambda *_, **__: None,
                spawn=group.create_task,
                tokens={},
                max_tokens=lambda _: TOKENS,
                labels={"point": "p", "repeat": 1},
            )
            for i in range(CALLS):
                group.create_task(held(line, i))

    async def held(line: Line, i: int) -> None:
        chance: Callable[[int], random.Random] = lambda turn: random.Random(f"7 {i} {turn}")  # noqa: E731
        caller = Caller(group="a", number=i, slot=None)
        turns = range(1, TURNS + 1)
        call = Call(line, caller, recording, turns, slot=None, salted=str, opening=None, chance=chance, expects=ANY)
        # Prompts that grow over 500 turns would fill the memory.
        monkeypatch_history(call)
        await call.hold(0.0)

    run(main())
    return rows


def monkeypatch_history(call: Call) -> None:
    for name in ("agent", "caller"):
        setattr(call._history, name, lambda _: None)


@pytest.mark.timeout(300)
def test_gaps_lengths_and_cuts_are_those_of_people() -> None:
    if not MODEL.exists():
        pytest.skip("the percentiles are not here")
    human = json.loads(MODEL.read_text())
    rows = rows_of({"pace": {"by": "speech", "times": "drawn"}, "barge_in": {"by": "drawn", "probability": 0.5}})
    before: dict[int, RequestRow] = {}
    gaps, lengths, cuts = [], [], []
    for row in rows:
        assert row.spoke is not None
        assert row.playout is not None
        lengths.append(row.spoke.end_s - row.spoke.start_s)
        last = before.get(row.caller)
        if last is not None and last.cut is None:
            assert last.playout is not None
            gaps.append(row.spoke.start_s - last.playout.end_s)
        if row.cut is not None:
            cuts.append(row.cut.at_s - row.playout.start_s)
        before[row.caller] = row
    assert min(len(gaps), len(lengths), len(cuts)) >= 100_000
    known = human["gap_agent_end_to_caller_start_s"], human["caller_utterance_s"], {"p50": 3.2, "p90": 9.0}
    for drawn, people in zip((gaps, lengths, cuts), known, strict=True):
        for p in (50, 90):
            print(f"p{p} of {len(drawn):,}: {np.percentile(drawn, p):.3f} s, people {people[f'p{p}']} s")
            assert np.percentile(drawn, p) == pytest.approx(people[f"p{p}"], rel=0.05)
