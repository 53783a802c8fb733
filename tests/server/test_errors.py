"""What is said of somebody who is no model server: one line in plain words, and in time."""

import asyncio
import ssl
import subprocess
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from loadsim.run import run
from loadsim.server.errors import body_error, refusal
from loadsim.server.http import HttpServer, Waits
from loadsim.types import BadInput, ChatRequest, RunStopped
from tests.calls import any_text

PAGE = b"<!DOCTYPE html>\n<html><head><title>\n Welcome to nginx &amp; co!</title></head><body>" + b"<p>x" * 500
HELLO = [{"role": "user", "content": "Hello."}]
WAITS = Waits(connect=0.4, loading=0.4, silence=5.0)


def answer(status: str, body: bytes = b"", headers: str = "") -> bytes:
    head = f"HTTP/1.1 {status}\r\nContent-Type: text/html\r\nContent-Length: {len(body)}\r\n{headers}\r\n"
    return head.encode() + body


def asked(says: bytes | None, ask: Callable[[HttpServer], Awaitable[Any]], scheme: str = "http", **listen: Any) -> Any:
    """What `ask` gives of somebody who says the same to everyone; None: who says nothing."""

    async def main() -> Any:
        async def meet(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            if says is not None:
                await reader.read(65536)
                writer.write(says)
            else:
                await reader.read()
            writer.close()

        somebody = await asyncio.start_server(meet, "127.0.0.1", 0, **listen)
        port = somebody.sockets[0].getsockname()[1]
        server = HttpServer(f"{scheme}://127.0.0.1:{port}", waits=WAITS)
        try:
            async with asyncio.timeout(4):
                return await ask(server)
        finally:
            await server.close()
            somebody.close()

    return run(main())


async def reply_error(server: HttpServer) -> str | None:
    reply = server.chat(ChatRequest(messages=HELLO), any_text)
    await reply.ended.wait()
    assert reply.outcome == "error"
    return reply.error


def test_a_web_page_is_no_model_server_and_told_by_its_title() -> None:
    with pytest.raises(RunStopped) as stopped:
        asked(answer("200 OK", PAGE), lambda server: server.info())
    assert " is no model server: a web page (Welcome to nginx & co!) answers there" in str(stopped.value)
    said = asked(answer("200 OK", PAGE), reply_error)
    assert said == "a web page (Welcome to nginx & co!) in place of a reply: is this the server's address?"
    assert asked(answer("502 Bad Gateway", b"<html>\n<center>nginx</center>"), reply_error) == "HTTP 502: a web page"


def test_a_page_of_a_gateway_is_waited_for_as_loading_and_told_by_its_title() -> None:
    page = b"<html><head><title>503 Service Temporarily Unavailable</title></head></html>"
    with pytest.raises(RunStopped, match=r" is still loading after 0\.4 s: a web page \(503 Service [\w ]+\)$"):
        asked(answer("503 Unavailable", page), lambda server: server.ready())


def test_a_gateway_that_knows_only_the_chat_route_may_be_asked() -> None:
    info = asked(answer("404 Not Found", PAGE), lambda server: server.info())
    assert (info.slots, info.model) == (None, None)


def test_a_code_is_said_once() -> None:
    error = '{"error": {"code": 500, "message": "the template failed", "type": "server_error"}}'
    assert refusal(500, error) == "HTTP 500: the template failed"
    assert refusal(400, error) == "HTTP 400: 500: the template failed"
    assert body_error(error) == "500: the template failed"


def test_a_call_that_the_template_refuses_says_its_code_once() -> None:
    refused = answer("500 Error", b'{"error": {"code": 500, "message": "no tools here"}}')
    with pytest.raises(BadInput) as bad:
        asked(refused, lambda server: server.render(HELLO, ()))
    assert str(bad.value) == "the server's template does not take this call: HTTP 500: no tools here"


def test_redirects_without_end() -> None:
    with pytest.raises(RunStopped, match=r": it redirects without end$"):
        asked(answer("302 Found", headers="Location: /login\r\n"), lambda server: server.ready())


@pytest.mark.parametrize("ask", [HttpServer.ready, HttpServer.round_trip, HttpServer.info])
def test_https_to_a_port_that_waits_for_a_request_ends_in_time(ask: Callable[[HttpServer], Awaitable[Any]]) -> None:
    with pytest.raises(RunStopped, match=r"^no server at .*: no connection within 0\.4 s; is it http, not https\?$"):
        asked(None, ask, scheme="https")


def test_https_to_a_port_that_answers_in_plain_words() -> None:
    with pytest.raises(RunStopped, match=r": cannot connect \(no TLS there: is it http, not https\?\)$"):
        asked(answer("400 Bad Request"), lambda server: server.ready(), scheme="https")


def test_a_certificate_that_nobody_vouches_for(tmp_path: Path) -> None:
    key, certificate = tmp_path / "key.pem", tmp_path / "box.pem"
    made = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=box", "-days", "2"]
    try:
        subprocess.run([*made, "-keyout", key, "-out", certificate], capture_output=True, check=True)
    except FileNotFoundError:
        pytest.skip("no openssl here")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    with pytest.raises(RunStopped, match=r": cannot connect \(its certificate is refused: self.signed certificate\)$"):
        asked(answer("200 OK"), lambda server: server.ready(), scheme="https", ssl=context)


def test_nobody_is_told_in_the_systems_words() -> None:
    with pytest.raises(RunStopped, match=r"^no server at http://\[::1\]:9: cannot connect \([A-Z][\w ]+\)$"):
        run(_ready("http://[::1]:9"))


def test_who_takes_connections_and_says_nothing_is_given_up_when_loading_is() -> None:
    with pytest.raises(RunStopped, match=r"/health did not answer in time$"):
        asked(None, lambda server: server.ready())
    with pytest.raises(RunStopped, match=r" is not up after 0\.4 s: .*/health did not answer in time$"):
        asked(None, lambda server: server.ready(starting=True))


async def _ready(url: str) -> None:
    server = HttpServer(url, waits=WAITS)
    try:
        await server.ready()
    finally:
        await server.close()


@pytest.mark.parametrize("wrap", [str, lambda text: {"error": {"message": text}}, lambda text: {"error": text}])
def test_what_a_server_says_moves_no_terminal(wrap: Callable[[str], Any]) -> None:
    assert body_error(wrap("out of\r\n memory \x1b[2J\x07now")) == "out of memory ?[2J?now"
    assert len(body_error(wrap("x" * 5000))) == 300
