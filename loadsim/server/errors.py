"""Errors of servers and of the network, in plain words."""

import contextlib
import html
import os
import re
from typing import Any

import aiohttp
import msgspec

from .stream import error_text, one_line

_PAGE = re.compile(r"\s*<(!doctype html|html)\b", re.IGNORECASE)
_TITLE = re.compile(r"<title[^>]*>\s*([^<]*[^<\s])\s*</title>", re.IGNORECASE)


def is_page(body: Any) -> bool:
    """Whether an answer is a web page."""
    return isinstance(body, str) and _PAGE.match(body) is not None


def refusal(status: int, body: Any) -> str:
    """An answer that is an error: its status once, and what its body says."""
    return f"HTTP {status}: {body_error(body).removeprefix(f'{status}: ')}"


def body_error(body: Any) -> str:
    """What an error's body says, in one line; of a web page, its title."""
    if isinstance(body, str):
        with contextlib.suppress(msgspec.DecodeError):
            body = msgspec.json.decode(body)
    if isinstance(body, dict) and body.get("error") is not None:
        body = error_text(body["error"])
    if is_page(body):
        title = _TITLE.search(body)
        body = f"a web page ({html.unescape(title[1])})" if title else "a web page"
    return one_line(str(body))


def _system_error(error: OSError) -> str:
    """The system's words; the loop's own name the address once more, in another way. Negative: no system's number."""
    number = error.errno or 0
    return os.strerror(number) if number > 0 else error.strerror or str(error)


def network_error(error: Exception) -> str:
    """An exception of the network in plain words; aiohttp's own texts may hold headers, so none is shown whole."""
    if isinstance(error, aiohttp.ClientConnectorCertificateError):
        why = getattr(error.certificate_error, "verify_message", "") or "it names another host"
        return f"cannot connect (its certificate is refused: {why})"
    if isinstance(error, aiohttp.ClientSSLError):
        return "cannot connect (no TLS there: is it http, not https?)"
    if isinstance(error, aiohttp.ClientConnectorError):
        return f"cannot connect ({_system_error(error.os_error)})"
    if isinstance(error, aiohttp.ServerDisconnectedError):
        return "the server closed the connection without an answer"
    if isinstance(error, OSError) and error.strerror:
        return f"the connection broke ({_system_error(error)})"
    if isinstance(error, aiohttp.TooManyRedirects):
        return "it redirects without end"
    if isinstance(error, aiohttp.ClientResponseError):
        said = error.message.splitlines()[0].rstrip(":") if error.message else error.status
        return f"an answer that is not HTTP ({said})"
    return type(error).__name__
