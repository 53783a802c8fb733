"""The simulated server keeps its schedule exactly in virtual time, and fills replies as the real client does."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

import pytest

from loadsim.run import run as run_real
from loadsim.server.api import Reply, Server
from loadsim.server.http import HttpServer, Waits
from loadsim.types import ChatRequest

from .simulated import SimulatedServer
from .truth import Faults, serve
from .truth.prompt import render, tokenize
from .virtual import run

T = TypeVar("T")
HELLO: list[dict[str, Any]] = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Who is there?"}]
PROMPT = len(tokenize(render(HELLO)))
ROUND: dict[str, Any] = {"first": 0.25, "step": 0.125, "tokens": 9}  # times that floats hold exactly


def during(test: Callable[[SimulatedServer], Awaitable[T]], **options: Any) -> T:
    """Runs `test` in virtual time against a simulated server with these options."""

    async def main() -> T:
        server = SimulatedServer(**ROUND | options)
        found = await test(server)
        await server.close()
        return found

    return run(main())


def sentence(text: str, tokens: int) -> bool:
    return "." in text


def ask(server: Server, speakable: Callable[[str, int], bool] = sentence, **fields: Any) -> Reply:
    asked: dict[str, Any] = {"messages": HELLO, "slot": 0} | fields
    return server.chat(ChatRequest(**asked), speakable)


async def whole(server: Server, **fields: Any) -> Reply:
    reply = ask(server, **fields)
    await reply.ended.wait()
    return reply


def at(reply: Reply) -> list[float]:
    return reply.token_s


def test_the_server_is_one_by_the_protocol() -> None:
    async def test(server: Server) -> None:
        info = await server.info()
        assert (info.slots, info.context, info.model) == (12, 32768, "truth")
        prompt = await server.render(HELLO, ())
        assert prompt == render(HELLO)
        assert await server.tokenize(prompt) == tokenize(prompt)

    during(test)


@pytest.mark.parametrize("lazy", [False, True])
def test_tokens_arrive_on_the_schedule(lazy: bool) -> None:
    async def test(server: SimulatedServer) -> None:
        await asyncio.sleep(10)
        reply = await whole(server, due=12.0)
        assert (reply.opened, reply.connected, reply.sent, reply.headers) == (10, 10, 12, 12)
        assert reply.first.t == 12.25
        assert at(reply) == [12.25 + 0.125 * n for n in range(8)]
        assert reply.token_ms == [125 * n for n in range(8)]
        assert reply.ended.t == 13.25  # the end token is the ninth
        assert (reply.outcome, reply.finish, reply.status) == ("ok", "stop", 200)
        assert "".join(reply.text) == "Certainly, I can look that up for"
        assert reply.speech.t == 13.25  # no full stop: spoken when it is whole
        assert (reply.prompt_tokens, reply.completion_tokens) == (PROMPT, 9)
        assert [seen.reply for seen in server.seen] == [reply]

    during(test, lazy=lazy)


def test_a_request_without_a_due_time_is_sent_at_once_but_not_before_chat_returns() -> None:
    async def test(server: SimulatedServer) -> None:
        reply = ask(server)
        assert (reply.sent, server.seen) == (None, [])
        await reply.first.wait()
        assert reply.sent == 0
        late = ask(server, due=-1.0)
        await late.ended.wait()
        assert late.sent == 0.25

    during(test, slots=2, defer=False)


def test_the_limit_and_the_forbidden_end() -> None:
    async def test(server: SimulatedServer) -> None:
        short = await whole(server, max_tokens=2)
        assert (len(short.token_s), short.finish) == (2, "length")
        exact = await whole(server, max_tokens=20, ignore_eos=True)
        assert (len(exact.token_s), exact.finish) == (20, "length")

    during(test)


@pytest.mark.parametrize("lazy", [False, True])
def test_speech_begins_at_the_token_that_ends_the_sentence(lazy: bool) -> None:
    async def test(server: SimulatedServer) -> None:
        counted: list[tuple[str, int]] = []

        def speakable(text: str, tokens: int) -> bool:
            counted.append((text, tokens))
            return "." in text

        reply = ask(server, speakable)
        await reply.speech.wait()
        assert asyncio.get_running_loop().time() == reply.speech.t == 0.5
        assert counted == [("Yes", 1), ("Yes, sir", 2), ("Yes, sir.", 3)]
        await reply.ended.wait()
        assert len(reply.token_s) == 7

    during(test, lazy=lazy, words=("Yes", ", sir", ".", " I", " am", " here", "."), tokens=8)


def test_lazy_replies_come_in_few_steps_and_are_the_same() -> None:
    async def test(server: SimulatedServer) -> tuple[list[float], list[str], int]:
        steps = 0
        reply = ask(server, lambda text, tokens: True)
        loop = asyncio.get_running_loop()
        seen = -1
        while reply.outcome is None:
            steps, seen = steps + (len(reply.token_s) != seen), len(reply.token_s)
            await asyncio.sleep(0.0625)
        assert loop.time() >= 1.25
        return at(reply), reply.text, steps

    each, lazy = during(test), during(test, lazy=True)
    assert each[:2] == lazy[:2]
    # by hand: nothing and then each of the eight; nothing and then the first
    assert (each[2], lazy[2]) == (9, 2)


@pytest.mark.parametrize("lazy", [False, True])
def test_a_hang_up_keeps_what_came_and_frees_the_slot(lazy: bool) -> None:
    async def test(server: SimulatedServer) -> None:
        reply = ask(server, lambda text, tokens: True)
        await asyncio.sleep(0.8)
        assert (await server.slots() or [])[0]["is_processing"]
        reply.hang_up()
        assert (reply.outcome, reply.ended.t) == ("cut", 0.8)
        assert at(reply) == [0.25, 0.375, 0.5, 0.625, 0.75]
        assert "".join(reply.text) == "Certainly, I can look"
        assert reply.timings is not None
        assert (reply.timings.prompt_n, reply.timings.predicted_n) == (PROMPT, 5)
        assert not (await server.slots() or [])[0]["is_processing"]
        assert server.seen[0].freed_s == 0.8
        await asyncio.sleep(5)
        assert len(reply.token_s) == 5

    during(test, lazy=lazy)


def test_a_request_hung_up_before_it_was_due_is_never_sent() -> None:
    async def test(server: SimulatedServer) -> None:
        reply = ask(server, due=1.0)
        await asyncio.sleep(0.5)
        reply.hang_up()
        await asyncio.sleep(5)
        assert (reply.outcome, reply.sent, server.seen) == ("cut", None, [])

    during(test)


def test_requests_wait_for_their_slot_and_reuse_what_it_holds() -> None:
    async def test(server: SimulatedServer) -> None:
        longer = [*HELLO, {"role": "assistant", "content": "Me."}, {"role": "user", "content": "Good."}]
        first = ask(server)
        second = ask(server, messages=longer)
        other = ask(server, slot=1)
        for reply in (first, second, other):
            await reply.ended.wait()
        assert [seen.started_s for seen in server.seen] == [0, 1.25, 0]
        assert second.first.t == 1.5
        a, b, c = server.seen
        held = PROMPT  # with the assistant's opening, and all of it is in the longer chat
        assert (a.cache_n, a.prompt_n) == (0, PROMPT) == (c.cache_n, c.prompt_n)
        assert (b.cache_n, b.prompt_n) == (held, len(tokenize(render(longer))) - held)
        assert second.timings is not None
        assert (second.timings.cache_n, second.timings.prompt_n) == (b.cache_n, b.prompt_n)
        assert first.slot is None

    during(test)


def test_the_server_chooses_a_slot_and_tells_it() -> None:
    async def test(server: SimulatedServer) -> None:
        one, two = ask(server, slot=None), ask(server, slot=None)
        await one.ended.wait()
        await two.ended.wait()
        assert [one.slot, two.slot] == [seen.slot for seen in server.seen] == [0, 1]

    during(test)


def test_a_slot_is_busy_for_a_while_after_its_client_left() -> None:
    async def test(server: SimulatedServer) -> None:
        left, reply = ask(server), ask(server)
        await asyncio.sleep(0.5)
        left.hang_up()
        await reply.ended.wait()
        assert server.seen[0].freed_s == 2.5
        assert server.seen[1].started_s == 2.5
        assert server.seen[1].freed_s == reply.ended.t  # which ended well

    during(test, release=2.0)


def test_chosen_replies_request_by_request() -> None:
    chosen = iter([
        Faults(tool_calls=(("find", '{"a": 1}'),)),
        Faults(words=("Found", " it", ".")),
        Faults(empty=True),
        Faults(status=503),
        Faults(error_after=2),
        Faults(close_after=3),
        Faults(stall_after=2, stall=1.0),
        Faults(first=2.0, step=1.0),
        Faults(reasoning=3, tokens=6),
    ])  # fmt: skip

    async def test(server: SimulatedServer) -> None:
        call, words, empty, refused, error, closed, stalled, slow, thought = [await whole(server) for _ in range(9)]
        assert call.calls == {0: {"id": "call_1", "name": "find", "arguments": '{"a": 1}'}}
        assert (call.outcome, call.finish, call.text) == ("ok", "tool_calls", [])
        assert ("".join(words.text), words.finish) == ("Found it.", "stop")
        assert (empty.outcome, empty.token_s, empty.finish) == ("empty", [], "stop")
        assert (refused.outcome, refused.error) == ("error", "HTTP 503: 503: Loading model")
        assert (refused.status, refused.ended.t == refused.sent) == (503, True)
        assert (error.outcome, error.error, len(error.token_s)) == ("error", "500: the model gave up", 2)
        assert closed.error == "the connection broke in mid-reply, after 3 tokens"
        gaps = [b - a for a, b in zip(stalled.token_s, stalled.token_s[1:], strict=False)]
        assert gaps == [0.125, 1.125, 0.125, 0.125, 0.125, 0.125, 0.125]
        assert slow.sent is not None
        assert [t - slow.sent for t in slow.token_s[:3]] == [2, 3, 4]
        assert (len(thought.reasoning), len(thought.text), thought.text_from) == (3, 2, 3)

    during(test, choose=lambda request: next(chosen))


@pytest.mark.parametrize(("after", "said", "ended"), [
    (0, "no first token within 5 s", 5.0), (2, "no token for 3 s, after 2", 0.375 + 3),
])  # fmt: skip
def test_silence_ends_as_with_the_real_client(after: int, said: str, ended: float) -> None:
    async def test(server: SimulatedServer) -> None:
        reply = await whole(server)
        assert (reply.outcome, reply.error, reply.ended.t) == ("timeout", said, ended)
        assert len(reply.token_s) == after
        assert server.seen[0].freed_s == ended

    during(test, faults=Faults(silence_after=after), waits=Waits(first_token=5, silence=3))


def test_a_request_that_waits_too_long_for_a_slot() -> None:
    async def test(server: SimulatedServer) -> None:
        first = ask(server, max_tokens=100, ignore_eos=True)
        late = await whole(server)
        assert (late.outcome, late.ended.t) == ("timeout", 2.0)
        assert first.outcome is None
        await first.ended.wait()
        assert len(server.seen) == 2
        assert server.seen[1].started_s is None

    during(test, waits=Waits(first_token=2))


def test_a_plain_server_tells_less() -> None:
    async def test(server: SimulatedServer) -> None:
        reply = await whole(server)
        assert (reply.counted, reply.timings, reply.completion_tokens) == (False, None, 9)
        assert await server.slots() is None
        assert await server.render(HELLO, ()) is None
        assert await server.tokenize("a") is None
        assert (await server.info()).slots is None

    during(test, plain=True)


def test_close_hangs_up() -> None:
    async def test(server: SimulatedServer) -> Reply:
        reply = ask(server)
        await asyncio.sleep(0.3)
        return reply

    assert during(test).outcome == "cut"


def test_it_fills_a_reply_as_the_real_client_does() -> None:
    """The same server options, once with sockets in real time and once without in virtual time."""
    options: dict[str, Any] = {"first": 0.02, "step": 0.005, "tokens": 12, "faults": Faults(reasoning=2)}
    same = ("text", "reasoning", "calls", "chunks", "counted", "text_from", "token_ms", "timings", "outcome", "finish",
            "status", "error", "slot", "prompt_tokens", "completion_tokens")  # fmt: skip

    async def both(server: Server) -> list[dict[str, Any]]:
        found = [await whole(server, slot=slot) for slot in (None, 1)]
        return [{name: getattr(reply, name) for name in same} for reply in found]

    async def real() -> list[dict[str, Any]]:
        async with serve(**options) as truth:
            server = HttpServer(truth.url)
            try:
                return await both(server)
            finally:
                await server.close()

    assert during(both, **options) == run_real(real())


def test_it_runs_in_real_time_too() -> None:
    async def main() -> None:
        loop = asyncio.get_running_loop()
        reply = await whole(SimulatedServer(first=0.03, step=0.005, tokens=6), due=loop.time() + 0.05)
        assert reply.sent is not None
        assert 0.049 <= reply.sent - reply.opened < 0.5
        assert 0.028 <= reply.token_s[0] - reply.sent < 0.5
        assert (len(reply.token_s), reply.outcome) == (5, "ok")

    run_real(main())
