"""What is checked and worked out before a load: whether the call fits, and what its prompts and replies will be."""

import asyncio
from pathlib import Path
from typing import Any

import msgspec
import pytest

from loadsim.engine.preflight import check_server, preflight
from loadsim.recording.model import Recording
from loadsim.scenario.load import restore
from loadsim.types import BadInput, ServerInfo
from tests.caller.test_people import Instant
from tests.calls import CALL
from tests.engine.test_pace import SPEECH
from tests.engine.truthful import of
from tests.engine.virtually import measured


def test_a_call_fits_to_the_token(tmp_path: Path) -> None:
    # "Sure.", then "It is a long story.", both of which must fit
    turns = (CALL.turns[0], CALL.turns[3], CALL.turns[2])
    recordings = {"call": Recording(title="t", source="s", system="Other.", tools=(), turns=turns)}
    scenario = SPEECH | {"callers": {"warm": {"count": 1, "turns": "2-3"}}}
    found, _ = measured(tmp_path / "a", scenario, recordings=recordings)
    last = of(found, "load")[-1]
    needed = (last.cache_n or 0) + (last.prompt_n or 0) + (last.max_tokens or 0)
    assert last.max_tokens == 10
    measured(tmp_path / "b", scenario, recordings=recordings, context=needed)
    with pytest.raises(BadInput, match=rf"needs {needed} tokens of context .* \(-c\) of 3072 or more$"):  # 12 times 256
        measured(tmp_path / "c", scenario, recordings=recordings, context=needed - 1)


def test_a_server_that_names_no_models_is_asked_for_any() -> None:
    wanted = restore(SPEECH | {"request": {"model": "gpt-9"}, "server": {"url": "http://x"}}, "test")
    check_server(ServerInfo(url="http://x", slots=1), wanted)
    with pytest.raises(BadInput, match=r"^request\.model: the server has no 'gpt-9'; it has a, b$"):
        check_server(ServerInfo(url="http://x", slots=1, models=("a", "b")), wanted)


class Rewriting(Instant):
    """A server whose template asks for a reply in other words than those that stand before it later."""

    asks = "?"

    async def render(self, messages: list[dict[str, Any]], tools: tuple[dict[str, Any], ...]) -> str | None:
        return "|".join(str(message["content"]) for message in messages) + self.asks

    async def tokenize(self, text: str) -> list[int] | None:
        return [ord(character) for character in text]


class Faithful(Rewriting):
    asks = "|"


@pytest.mark.parametrize(
    ("server", "group", "expects"),
    [
        (Faithful, {}, {"extension"}),
        (Rewriting, {}, {"extension", "rewind"}),
        (Rewriting, {"cache": "cold"}, {"cold"}),
        (Faithful, {"slots": "server"}, set()),
        (Faithful, {"slots": "server", "cache": "cold"}, set()),
    ],
)
def test_what_a_first_prompt_is_expected_to_be(
    server: type[Rewriting], group: dict[str, Any], expects: set[str]
) -> None:
    callers = {"a": {"count": 1, "turns": "3-4"} | group}
    wanted = restore(SPEECH | {"callers": callers, "server": {"url": "http://x"}}, "test")
    info = ServerInfo(url="http://x", slots=4)
    plan = asyncio.run(preflight(server(), info, "p", wanted, {"call": CALL}))
    assert plan.script("a", 0).expects == expects


@pytest.mark.parametrize(("reply", "most"), [({"free": 70}, 70), ({"exactly": 30}, 30), ("recorded", 19)])
def test_the_length_of_a_reply(reply: Any, most: int) -> None:
    wanted = restore(SPEECH | {"reply": reply, "server": {"url": "http://x"}}, "test")
    plan = asyncio.run(preflight(Faithful(), ServerInfo(url="http://x", slots=4), "p", wanted, {"call": CALL}))
    assert plan.max_tokens("It is a long story.") == most  # a character is a token there


def test_tokens_are_counted_without_those_that_every_text_begins_with() -> None:
    class Beginning(Faithful):
        async def tokenize(self, text: str) -> list[int] | None:
            return [1, 2, *[ord(character) for character in text]]

    wanted = restore(SPEECH | {"barge_in": "recorded", "server": {"url": "http://x"}}, "test")
    plan = asyncio.run(preflight(Beginning(), ServerInfo(url="http://x", slots=4), "p", wanted, {"call": CALL}))
    assert plan.tokens["Sure."] == 5
    assert plan.tokens["It is a"] == 7  # what was heard before the cut


def test_what_a_voice_begins_with_is_counted_too() -> None:
    agent = msgspec.structs.replace(CALL.turns[3].agent, text="Well, it is over.")
    turns = (*CALL.turns[:3], msgspec.structs.replace(CALL.turns[3], agent=agent))
    recordings = {"call": msgspec.structs.replace(CALL, turns=turns)}
    wanted = restore(SPEECH | {"server": {"url": "http://x"}}, "test")
    plan = asyncio.run(preflight(Faithful(), ServerInfo(url="http://x", slots=4), "p", wanted, recordings))
    assert plan.tokens["Well, it is over."] == 17
    assert plan.tokens["Well,"] == 5
