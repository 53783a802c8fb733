"""The shipped call front_desk, counted by the embedded server."""

import asyncio
import statistics
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import pytest

from loadsim.caller.history import salt
from loadsim.engine.preflight import prompt_tokens
from loadsim.recording.check import check
from loadsim.recording.fit import fit
from loadsim.recording.load import load
from loadsim.recording.messages import prompt_messages
from loadsim.recording.model import Recording
from loadsim.recording.show import Tokens, measure, rows
from loadsim.server import embedded
from loadsim.server.http import HttpServer
from loadsim.types import ServerSettings

CALL = load("front_desk")
PROMPT = 10_369  # the length of the article's call-1
LONG = 34  # the turn whose reply is the longest, as in the article's calls


class Counts:
    """The embedded server as a counting machine."""

    def __init__(self, runner: asyncio.Runner, server: HttpServer) -> None:
        self.runner, self.server = runner, server

    async def prompt(self, messages: list[dict[str, Any]]) -> int:
        return len(await prompt_tokens(self.server, messages, CALL.tools) or [])

    async def text(self, said: str) -> int:
        return len(await self.server.tokenize(said) or [])

    async def recording(self, call: Recording) -> int:
        return await self.prompt(prompt_messages(call, len(call.turns)))

    def all(self) -> Tokens:
        return self.runner.run(measure(CALL, self.prompt, self.text))


@pytest.fixture(scope="module")
def counts(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Counts]:
    async def connect(url: str) -> HttpServer:
        server = HttpServer(url)
        await server.info()
        return server

    with asyncio.Runner() as runner:
        settings = ServerSettings(slots=1, context=4096)
        process = runner.run(embedded.start(settings, tmp_path_factory.mktemp("front_desk") / "server.log"))
        server = runner.run(connect(process.ready["url"]))
        yield Counts(runner, server)
        runner.run(server.close())
        runner.run(process.stop())


@pytest.fixture(scope="module")
def tokens(counts: Counts) -> Tokens:
    return counts.all()


def test_the_prompt_has_the_articles_length(tokens: Tokens) -> None:
    assert tokens.prompts[-1] == PROMPT


def test_spoken_turns_bring_what_the_articles_bring(tokens: Tokens) -> None:
    spoken = {row.number: row.new or 0 for row in rows(CALL, tokens) if row.spoken}
    behind_the_long_reply = spoken.pop(LONG + 1)
    assert behind_the_long_reply > 105
    assert min(spoken.values()) >= 26
    assert max(spoken.values()) <= 105
    assert 55 <= statistics.median(spoken.values()) <= 70


def test_replies_are_spoken_ones_and_one_is_long(tokens: Tokens) -> None:
    replies = list(tokens.replies)
    assert replies.pop(LONG - 1) == 107
    assert min(replies) >= 6
    assert max(replies) <= 75
    assert 43 <= replies[-1] <= 47  # what a measured turn says


def test_the_call_has_what_a_call_has() -> None:
    assert len(CALL.turns) == 75
    assert len(CALL.tools) == 5
    assert sum(bool(turn.tools) for turn in CALL.turns) == 6
    assert sum(len(turn.tools) == 2 for turn in CALL.turns) == 1
    assert sum(len(calls) == 2 for turn in CALL.turns for calls in turn.tools) == 1
    assert {call.name for turn in CALL.turns for calls in turn.tools for call in calls} == {
        tool["function"]["name"] for tool in CALL.tools
    }
    assert sum(turn.agent.heard is not None for turn in CALL.turns) == 5


def test_every_salt_costs_the_same(counts: Counts) -> None:
    async def cost(words: str, key: int) -> int:
        said = [{"role": "user", "content": words + salt("caller", key)}]
        return len(await prompt_tokens(counts.server, said, ()) or [])

    for words in (CALL.fresh, CALL.turns[-1].caller.text):
        assert len({counts.runner.run(cost(words, key)) for key in range(100)}) == 1


def test_it_fits_already(counts: Counts) -> None:
    assert counts.runner.run(fit(CALL, counts.recording, PROMPT)) is CALL


@pytest.mark.parametrize("target", [8_000, PROMPT - 1, PROMPT + 1, 17_878])
def test_it_fits_other_lengths_in_few_counts(counts: Counts, target: int) -> None:
    asked = 0

    async def count(call: Recording) -> int:
        nonlocal asked
        asked += 1
        return await counts.recording(call)

    made = counts.runner.run(fit(CALL, count, target))
    assert counts.runner.run(counts.recording(made)) == target
    assert asked <= 25


def test_it_is_sound() -> None:
    assert check(CALL) == []


def test_it_is_paced_as_people_are() -> None:
    """Beside PriMock57's percentiles: caller 1.8 to 3.8 words/s, 0.7 to 9.5 s, silence between turns up to 1.3 s."""
    turns = CALL.turns
    pace = [len(turn.caller.text.split()) / (turn.caller.end - turn.caller.start) for turn in turns]
    gaps = [after.caller.start - turn.agent.end for turn, after in pairwise(turns)]
    waits = [turn.agent.start - turn.caller.end for turn in turns if not turn.tools]
    voice = [len(turn.agent.in_history.split()) / (turn.agent.end - turn.agent.start) for turn in turns]
    assert 2.3 <= statistics.median(pace) <= 3.3
    assert 1.5 <= min(pace) <= max(pace) <= 4.8
    assert 0.2 <= statistics.median(gaps) <= 0.8
    assert -0.9 <= min(gaps) <= max(gaps) <= 2.5
    assert 0.8 <= min(waits) <= max(waits) <= 2.0
    assert 2.5 <= min(voice) <= max(voice) <= 4.5
    assert 12 * 60 <= turns[-1].agent.end <= 20.5 * 60
