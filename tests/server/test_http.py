"""The HTTP client against the truth server: what it asks, when things happened, and every way a reply can fail."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import aiohttp
import msgspec
import pytest

from loadsim.run import run
from loadsim.server import stamped
from loadsim.server.api import Reply
from loadsim.server.http import HttpServer, Waits
from loadsim.types import BadInput, ChatRequest, CompletionRequest, RunStopped
from tests.calls import any_text
from tests.truth import Faults, Truth, serve

HELLO = [{"role": "system", "content": "You are a phone."}, {"role": "user", "content": "Hello 1 2 3"}]
QUICK: dict[str, Any] = {"first": 0.02, "step": 0.005, "tokens": 8}


def against(
    test: Callable[[Truth, HttpServer], Awaitable[None]],
    key: str | None = None,
    waits: Waits = Waits(),
    **options: Any,
) -> None:
    """Run `test` with a truth server and a client of it."""

    async def main() -> None:
        async with serve(**QUICK | options) as truth:
            server = HttpServer(truth.url, key, waits)
            try:
                await test(truth, server)
            finally:
                await server.close()

    run(main())


async def say(server: HttpServer, **fields: Any) -> Reply:
    """One reply to its end."""
    reply = server.chat(ChatRequest(messages=HELLO, **{"max_tokens": 8, "ignore_eos": True, **fields}), any_text)
    await reply.ended.wait()
    return reply


def failed(faults: Faults, waits: Waits = Waits(), **options: Any) -> Reply:
    """The reply that a server with `faults` gives."""
    found: list[Reply] = []

    async def test(_: Truth, server: HttpServer) -> None:
        found.append(await say(server))
        assert not server.live or found[0].outcome is not None

    against(test, waits=waits, faults=faults, **options)
    return found[0]


def test_a_reply_and_its_times() -> None:
    async def test(truth: Truth, server: HttpServer) -> None:
        reply = await say(server)
        (entry,) = truth.log
        assert (reply.outcome, reply.error, reply.chunks, len(reply.token_s)) == ("ok", None, 8, 8)
        assert reply.connected is not None
        assert reply.sent is not None
        assert reply.headers is not None
        assert reply.opened <= reply.connected <= reply.sent <= entry.received_s
        assert entry.received_s <= reply.headers <= reply.token_s[0]
        # A token can be seen no earlier than it was written, and is seen at once on an idle machine.
        assert all(seen >= written for seen, written in zip(reply.token_s, entry.token_s, strict=True))
        assert reply.timings is not None
        assert (reply.timings.cache_n, reply.timings.prompt_n) == (entry.cache_n, entry.prompt_n)

    against(test)


def test_a_request_is_held_connected_until_it_is_due() -> None:
    async def test(truth: Truth, server: HttpServer) -> None:
        due = asyncio.get_running_loop().time() + 0.15
        replies = [server.chat(ChatRequest(messages=HELLO, due=due, max_tokens=2), any_text) for _ in range(10)]
        for reply in replies:
            await reply.ended.wait()
        for reply, entry in zip(replies, truth.log, strict=True):
            assert reply.connected is not None
            assert reply.sent is not None
            assert reply.connected < due <= reply.sent
            assert entry.received_s >= due

    against(test)


def test_what_llama_server_is_sent() -> None:
    async def test(truth: Truth, server: HttpServer) -> None:
        await server.info()
        await say(server, slot=3, ignore_eos=True, fields={"temperature": 0}, tools=({"type": "function"},))
        body = truth.requests[-1].json
        assert body["messages"] == HELLO
        assert {name: body[name] for name in ("stream", "id_slot", "ignore_eos", "max_tokens", "temperature")} == {
            "stream": True, "id_slot": 3, "ignore_eos": True, "max_tokens": 8, "temperature": 0,
        }  # fmt: skip
        assert (body["timings_per_token"], body["cache_prompt"], body["tools"]) == (True, True, [{"type": "function"}])
        assert body["stream_options"] == {"include_usage": True}
        # With a conversation id a generation would outlive a hang-up.
        assert not any("conversation" in name.lower() for name in truth.requests[-1].headers)

    against(test)


def test_a_plain_server_is_sent_openais_fields_only() -> None:
    async def test(truth: Truth, server: HttpServer) -> None:
        info = await server.info()
        assert (info.slots, info.context, info.build) == (None, None, None)
        reply = await say(server, slot=3, ignore_eos=False)
        body = truth.requests[-1].json
        assert set(body) == {"messages", "stream", "stream_options", "model", "max_tokens"}
        assert (reply.outcome, reply.counted, reply.timings) == ("ok", False, None)
        # The end of the reply is a token to the server, and nothing to hear.
        assert (len(reply.token_s), reply.completion_tokens) == (7, 8)
        assert await server.render(HELLO, ()) is None
        assert await server.tokenize("a") is None
        assert await server.slots() is None

    against(test, plain=True)


def test_what_a_server_tells_of_itself() -> None:
    async def test(_: Truth, server: HttpServer) -> None:
        info = await server.info()
        assert (info.slots, info.context) == (7, 4096)
        assert info.model in info.models
        text = await server.render(HELLO, ())
        assert text is not None
        assert "Hello 1 2 3" in text
        slots = await server.slots()
        assert slots is not None
        assert [slot["id"] for slot in slots] == list(range(7))

    against(test, slots=7, context=4096)


@pytest.mark.parametrize("path", ["", "/", "/v1", "/v1/"])
def test_the_address_may_end_as_agents_write_it(path: str) -> None:
    async def main() -> None:
        async with serve(**QUICK) as truth:
            server = HttpServer(truth.url + path)
            assert (await say(server)).outcome == "ok"
            await server.close()

    run(main())


def test_the_key_is_sent() -> None:
    async def test(truth: Truth, server: HttpServer) -> None:
        await server.info()
        assert (await say(server)).outcome == "ok"
        assert truth.requests[-1].headers["authorization"] == "Bearer s3cret"

    against(test, key="s3cret", api_key="s3cret")


@pytest.mark.parametrize("key", [None, "wrong"])
def test_a_refused_key_says_what_to_set_and_not_what_it_was(key: str | None) -> None:
    async def test(_: Truth, server: HttpServer) -> None:
        with pytest.raises(BadInput, match=r"refuses the API key \(HTTP 401\): set LOADSIM_API_KEY") as raised:
            await server.info()
        assert "wrong" not in str(raised.value)
        reply = await say(server)
        assert reply.outcome == "error"
        assert "401" in (reply.error or "")

    against(test, key=key, api_key="s3cret")


@pytest.mark.parametrize("status", [400, 401, 404, 500, 501, 503])
def test_an_http_error_is_an_error_with_the_servers_words(status: Any) -> None:
    reply = failed(Faults(status=status))
    assert reply.outcome == "error"
    assert reply.error is not None
    assert reply.error.startswith(f"HTTP {status}: ")
    assert reply.first.t is None


def test_a_call_that_is_too_long_names_the_servers_reason() -> None:
    reply = failed(Faults(), context=4)
    assert reply.error == "HTTP 400: the request exceeds the available context size"


@pytest.mark.parametrize(
    ("faults", "said"),
    [
        (Faults(error_after=3), "500: the model gave up"),
        (Faults(end_after=3), "the stream ended in mid-reply, after 3 tokens"),
        (Faults(close_after=3), "the connection broke in mid-reply, after 3 tokens"),
        (Faults(reset_after=3), "the connection broke in mid-reply, after 3 tokens"),
        (Faults(close_after=0), "the connection broke in mid-reply, after 0 tokens"),
        (Faults(reset_after=0), "the connection broke in mid-reply, after 0 tokens"),
    ],
)
def test_a_reply_that_breaks_off_keeps_its_tokens(faults: Faults, said: str) -> None:
    reply = failed(faults)
    assert (reply.outcome, reply.error) == ("error", said)
    assert len(reply.token_s) == (0 if "after 0" in said else 3)


def test_a_body_that_ends_with_its_connection_breaks_off_too() -> None:
    assert failed(Faults(close_after=3), body="close").error == "the stream ended in mid-reply, after 3 tokens"
    assert failed(Faults(), body="close").outcome == "ok"


def test_silence_before_the_first_token_ends_in_time() -> None:
    reply = failed(Faults(silence_after=0), Waits(first_token=0.2))
    assert (reply.outcome, reply.error) == ("timeout", "no first token within 0.2 s")
    assert reply.ended.t is not None
    assert reply.sent is not None
    assert 0.2 <= reply.ended.t - reply.sent < 5


def test_silence_inside_a_reply_ends_in_time_and_keeps_its_tokens() -> None:
    reply = failed(Faults(silence_after=3, comments=True), Waits(silence=0.2))
    assert (reply.outcome, reply.error, len(reply.token_s)) == ("timeout", "no token for 0.2 s, after 3", 3)


def test_a_slow_reply_is_no_silence() -> None:
    async def test(_: Truth, server: HttpServer) -> None:
        reply = await say(server)
        assert (reply.outcome, len(reply.token_s)) == ("ok", 8)

    against(test, waits=Waits(first_token=0.8, silence=0.8), first=0.2, step=0.2)


@pytest.mark.parametrize(
    "faults",
    [
        Faults(crlf=True),
        Faults(comments=True),
        Faults(coalesce=4),
        Faults(split=7),
        Faults(tokens_per_chunk=5),
        Faults(held=(2, 3)),
        Faults(reasoning=3),
        Faults(tool_call_after=3),
    ],
)
def test_odd_streams_have_the_servers_count_of_tokens(faults: Faults) -> None:
    reply = failed(faults)
    assert (reply.outcome, len(reply.token_s)) == ("ok", 8)


def test_hanging_up_closes_the_connection_and_keeps_the_tokens() -> None:
    async def test(truth: Truth, server: HttpServer) -> None:
        reply = server.chat(ChatRequest(messages=HELLO, max_tokens=8), any_text)
        await reply.first.wait()
        reply.hang_up()
        assert reply.outcome == "cut"
        await asyncio.sleep(0.1)
        assert truth.log[0].outcome == "gone"
        assert 1 <= len(reply.token_s) <= len(truth.log[0].token_s) + 1
        assert not server.live

    against(test, step=0.05)


def test_closing_the_client_hangs_up_on_everything() -> None:
    async def test(truth: Truth, server: HttpServer) -> None:
        replies = [server.chat(ChatRequest(messages=HELLO, max_tokens=8), any_text) for _ in range(5)]
        await replies[0].first.wait()
        await server.close()
        assert {reply.outcome for reply in replies} == {"cut"}
        await asyncio.sleep(0.05)
        assert {entry.outcome for entry in truth.log} == {"gone"}

    against(test, step=0.05)


def test_no_server() -> None:
    async def main() -> None:
        async with serve(**QUICK) as truth:
            url = truth.url
        server = HttpServer(url)
        with pytest.raises(RunStopped, match=rf"^no server at {url}: cannot connect"):
            await server.ready()
        reply = await say(server)
        assert reply.outcome == "error"
        assert reply.error is not None
        assert reply.error.startswith("cannot connect")
        await server.close()

    run(main())


def test_a_port_that_speaks_no_http() -> None:
    async def main() -> None:
        async def babble(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            writer.write(b"SSH-2.0-what\r\n\r\n")
            writer.close()

        async with await asyncio.start_server(babble, "127.0.0.1", 0) as listener:
            server = HttpServer(f"http://127.0.0.1:{listener.sockets[0].getsockname()[1]}")
            reply = await say(server)
            assert reply.outcome == "error"
            with pytest.raises(RunStopped, match="no server at"):
                await server.info()
            await server.close()

    run(main())


def test_a_loading_server_is_waited_for_and_no_longer_than_allowed() -> None:
    async def patient(_: Truth, server: HttpServer) -> None:
        assert await server.ready() >= 0.4

    async def hasty(_: Truth, server: HttpServer) -> None:
        with pytest.raises(RunStopped, match=r"is still loading after 0\.3 s"):
            await server.ready()

    against(patient, loading=0.6)
    against(hasty, loading=30.0, waits=Waits(loading=0.3))


def test_two_hundred_callers_are_all_in_flight() -> None:
    async def test(truth: Truth, server: HttpServer) -> None:
        due = asyncio.get_running_loop().time() + 0.5
        request = ChatRequest(messages=HELLO, due=due, max_tokens=8)
        replies = [server.chat(request, any_text) for _ in range(200)]
        for reply in replies:
            await reply.ended.wait()
        assert {reply.outcome for reply in replies} == {"ok"}
        starts = max(entry.received_s for entry in truth.log)
        assert all(entry.token_s[-1] > starts for entry in truth.log)

    against(test, slots=200, first=0.5)


def test_a_caller_who_stops_waiting_takes_nobody_elses_reply_along() -> None:
    async def test(_: Truth, server: HttpServer) -> None:
        reply = server.chat(ChatRequest(messages=HELLO, max_tokens=8), any_text)
        waiters = [asyncio.create_task(reply.first.wait()) for _ in range(2)]
        await asyncio.sleep(0)
        waiters[0].cancel()
        assert await waiters[1]
        await reply.ended.wait()
        assert reply.outcome == "ok"

    against(test)


def test_aiohttps_private_names_are_still_there() -> None:
    async def main() -> None:
        session = stamped.session(aiohttp.TraceConfig())
        assert hasattr(session.connector, "_factory")
        handler = stamped.StampedHandler(asyncio.get_running_loop())
        assert hasattr(handler, "_payload")
        assert hasattr(aiohttp.client_proto.ResponseHandler, "_reschedule_timeout")
        body = aiohttp.StreamReader(handler, 2**16, loop=asyncio.get_running_loop())
        assert hasattr(body, "_buffer")
        assert hasattr(body, "total_bytes")
        body.feed_data(b"kept")
        body.__class__ = stamped.Body  # the reader's slots allow it
        assert body._protocol is handler
        await session.close()

    run(main())


def test_bytes_that_came_with_the_headers_keep_their_time() -> None:
    """A whole answer in one read: stamped when it came, not when the reader was ready."""
    body = b'data: {"choices":[{"delta":{"content":"Hi"},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n'
    head = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nContent-Length: %d\r\n\r\n" % len(body)

    async def main() -> None:
        async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            header = await reader.readuntil(b"\r\n\r\n")
            length = int(header.lower().partition(b"content-length:")[2].split(b"\r\n")[0])
            await reader.readexactly(length)
            writer.write(head + body)

        async with await asyncio.start_server(answer, "127.0.0.1", 0) as listener:
            server = HttpServer(f"http://127.0.0.1:{listener.sockets[0].getsockname()[1]}")
            reply = await say(server)
            assert (reply.outcome, reply.text, reply.token_s) == ("ok", ["Hi"], [reply.headers])
            await server.close()

    run(main())


def test_http_that_breaks_on_an_open_connection_is_an_error_at_once() -> None:
    head = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
    event = b'data: {"choices":[{"delta":{"content":"Hi"}}]}\n\n'

    async def main() -> None:
        async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await reader.readuntil(b"\r\n\r\n")
            writer.write(head)
            await asyncio.sleep(0.05)
            writer.write(b"%x\r\n%s\r\n" % (len(event), event))
            await asyncio.sleep(0.05)
            writer.write(b"no such size\r\n")
            await reader.read()

        async with await asyncio.start_server(answer, "127.0.0.1", 0) as listener:
            server = HttpServer(f"http://127.0.0.1:{listener.sockets[0].getsockname()[1]}")
            async with asyncio.timeout(5):
                reply = await say(server)
            assert (reply.outcome, reply.text) == ("error", ["Hi"])
            assert reply.error == "the connection broke in mid-reply, after 1 tokens"
            await server.close()

    run(main())


def test_the_body_is_json_that_decodes_to_what_was_asked() -> None:
    async def main() -> None:
        server = HttpServer("http://127.0.0.1:1")
        odd = [{"role": "user", "content": 'quotes " and \N{GRINNING FACE} and \x00'}]
        body = msgspec.json.decode(server.body(ChatRequest(messages=odd, fields={"seed": 4})))
        assert (body["messages"], body["seed"], body["response_fields"]) == (odd, 4, ["id_slot"])
        await server.close()

    run(main())


def test_a_round_trip_is_the_median_of_five_on_fresh_connections() -> None:
    """Held against a server that answers after 10, 300, 20, 500 and 100 ms."""
    delays = [0.01, 0.3, 0.02, 0.5, 0.1]
    seen: list[bytes] = []

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        seen.append(await reader.readuntil(b"\r\n\r\n"))
        await asyncio.sleep(delays[len(seen) - 1])
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 15\r\n\r\n")
        await asyncio.sleep(0.2)  # the rest of the answer is no part of the way
        writer.write(b'{"status":"ok"}')
        await writer.drain()
        writer.close()

    async def main() -> float:
        listener = await asyncio.start_server(answer, "127.0.0.1")
        server = HttpServer(f"http://127.0.0.1:{listener.sockets[0].getsockname()[1]}", "s3cret")
        try:
            return await server.round_trip()
        finally:
            await server.close()
            listener.close()

    assert 0.099 <= run(main()) < 0.18  # their mean is 0.186
    assert len(seen) == 5  # a connection each
    assert all(head.startswith(b"GET /health ") and b"Bearer s3cret" in head for head in seen)


def test_a_round_trip_to_nobody_stops_the_run() -> None:
    async def main() -> None:
        server = HttpServer("http://127.0.0.1:9")
        try:
            with pytest.raises(RunStopped, match=r"^no server at http://127\.0\.0\.1:9: cannot connect"):
                await server.round_trip()
        finally:
            await server.close()

    run(main())


def test_a_server_that_starts_is_waited_for_and_any_other_is_not() -> None:
    async def main() -> None:
        async with serve(**QUICK) as truth:
            url = truth.url
        port = int(url.rpartition(":")[2])
        server = HttpServer(url, waits=Waits(loading=0.2))
        try:
            with pytest.raises(RunStopped, match=r"^no server at"):
                await server.ready()
            with pytest.raises(RunStopped, match=r"^http://\S+ is not up after 0\.2 s: no server at "):
                await server.ready(starting=True)
            server.waits = Waits(loading=20)
            waiting = asyncio.create_task(HttpServer.ready(server, starting=True))
            await asyncio.sleep(0.1)
            async with serve(**QUICK, port=port):
                assert 0.05 < await waiting < 20
        finally:
            await server.close()

    run(main())


# -- exact prompts


async def complete(server: HttpServer, tokens: list[int], **fields: Any) -> Reply:
    reply = server.complete(CompletionRequest(tokens=tokens, **fields), any_text)
    await reply.ended.wait()
    return reply


def test_an_exact_prompt_is_answered_as_a_chat_is() -> None:
    async def test(truth: Truth, server: HttpServer) -> None:
        first = await complete(server, [5, 6, 7, 8], slot=2, max_tokens=4, ignore_eos=True)
        reply = await complete(server, [5, 6, 7, 9, 10], slot=2, max_tokens=4, ignore_eos=True, fields={"seed": 3})
        assert (first.outcome, reply.outcome, reply.finish, reply.slot) == ("ok", "ok", "length", 2)
        assert reply.timings is not None
        assert (reply.timings.cache_n, reply.timings.prompt_n, reply.timings.predicted_n) == (3, 2, 4)
        assert len(reply.token_s) == len(reply.token_ms) == 4
        assert reply.sent is not None
        assert reply.headers is not None
        assert reply.sent <= reply.headers <= reply.token_s[0]
        asked = truth.requests[-1]
        assert (asked.path, asked.json["prompt"], asked.json["n_predict"]) == ("/completion", [5, 6, 7, 9, 10], 4)
        assert (asked.json["id_slot"], asked.json["ignore_eos"], asked.json["seed"]) == (2, True, 3)
        # the last event would else repeat the prompt, 80 kB of it
        assert "prompt" not in asked.json["response_fields"]

    against(test)


def test_an_exact_prompt_fails_as_a_chat_does() -> None:
    async def test(truth: Truth, server: HttpServer) -> None:
        assert (await complete(server, list(range(40)))).error == (
            "HTTP 400: the request exceeds the available context size"
        )

    against(test, context=40)

    async def broken(_: Truth, server: HttpServer) -> None:
        reply = await complete(server, [1, 2, 3], max_tokens=5)
        assert (reply.outcome, len(reply.token_s)) == ("error", 2)

    against(broken, faults=Faults(close_after=2))

    async def plain(_: Truth, server: HttpServer) -> None:
        assert "HTTP 404" in ((await complete(server, [1])).error or "")

    against(plain, plain=True)
