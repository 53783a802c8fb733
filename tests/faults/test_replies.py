"""What breaks in one reply: its row says so in a few words, nobody else's call is touched, and no figure is made of it.

All against the embedded server, behind the proxy.
"""

import os
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from loadsim.report.table import render
from loadsim.results.histograms import metrics, read_log
from loadsim.results.read import Run
from loadsim.run import run
from loadsim.stats.summary import summarize
from tests.calls import CALL
from tests.engine.truthful import measure, of
from tests.faults.proxy import NOTHING, Asked, Fault, Proxy, proxied
from tests.report.runs import text_of

ROOT = Path(__file__).parents[2]
TOKENS = 12
SCENARIO: dict[str, Any] = {
    "recording": "call",
    "callers": {"warm": {"count": 3, "turns": "3-4"}},
    "baseline": {"replies": 0},
    "reply": {"exactly": TOKENS},
    "repeat": 2,
    "timeout": {"connect": "1 s", "first_token": "2 s", "silence": "1 s"},
}
LOAD, WARM = 3 * 2 * 2, 3 * 2  # callers, turns, repeats; a warm row for each caller and repeat


@pytest.fixture(scope="module")
def embedded() -> Iterator[str]:
    command = [sys.executable, "-m", "loadsim", "server", "--set", "slots=3", "--set", "context=12288"]
    env = {name: value for name, value in os.environ.items() if name != "LOADSIM_API_KEY"} | {"PYTHONPATH": str(ROOT)}
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=env) as server:
        assert server.stdout is not None
        yield server.stdout.readline().strip()
        server.terminate()


def measured(folder: Path, url: str, choose: Callable[[Asked], Fault], **scenario: Any) -> tuple[Run, Proxy]:
    async def main() -> tuple[Run, Proxy]:
        async with proxied(url, choose) as proxy:
            return await measure(folder, proxy, SCENARIO | scenario, {"call": CALL}), proxy  # type: ignore[arg-type]

    return run(main())


def second_caller(fault: Fault) -> Callable[[Asked], Fault]:
    """The fault, for the replies of the caller in slot 1; what warms the slot passes."""
    return lambda asked: fault if asked.measured and asked.body["id_slot"] == 1 else NOTHING


def framed(change: Callable[[bytes], bytes]) -> Fault:
    """The fifth event's HTTP chunk, with its frame, is changed."""
    return Fault(edit=lambda number, data: change(data) if number == 5 else data)


def event(was: bytes, becomes: bytes) -> Fault:
    """The fifth event says something else, in a chunk that is whole."""

    def change(data: bytes) -> bytes:
        said = data.partition(b"\r\n")[2].removesuffix(b"\r\n")
        assert was in said
        said = said.replace(was, becomes, 1)
        return b"%x\r\n%b\r\n" % (len(said), said)

    return framed(change)


def head(was: bytes, becomes: bytes) -> Fault:
    return Fault(edit=lambda number, data: data.replace(was, becomes, 1) if number == -1 else data)


def page(status: bytes) -> Fault:
    """An answer of somebody who stands before the server."""
    html = b"<html>\r\n<head><title>%b</title></head>\r\n<body>nginx</body>\r\n</html>\r\n" % status
    lines = b"Content-Type: text/html\r\nContent-Length: %d\r\n\r\n" % len(html)
    return Fault(answer=b"HTTP/1.1 %b\r\n%b%b" % (status, lines, html))


NO_HTTP = "an answer that is not HTTP ("
UNREADABLE = "an event that cannot be read ("
CHUNKED = b"Transfer-Encoding: chunked"
BROKEN = {
    "closed before its head": (Fault(then="close"), "error", "the server closed the connection without an answer"),
    "reset before its head": (Fault(then="reset"), "error", "the connection broke (Connection reset by peer)"),
    "closed in its head": (Fault(then="close", after=30), "error", "the server closed the connection without an"),
    "silent before its head": (Fault(then="stall"), "timeout", "no first token within 2 s"),
    "silent after its head": (Fault(then="stall", after_events=0), "timeout", "no first token within 2 s"),
    "late": (Fault(delay=5.0), "timeout", "no first token within 2 s"),
    "reset in mid-event": (Fault(then="reset", after_events=5, into=20), "error", "the connection broke in mid-reply"),
    "closed in mid-event": (Fault(then="close", after_events=5, into=20), "error", "the connection broke in mid-reply"),
    "silent in mid-event": (Fault(then="stall", after_events=5, into=20), "timeout", "no token for 1 s, after "),
    "502 with HTML": (page(b"502 Bad Gateway"), "error", "HTTP 502: "),
    "503 with HTML": (page(b"503 Service Unavailable"), "error", "HTTP 503: "),
    "a bad status line": (head(b"HTTP", b"HTPP"), "error", NO_HTTP),
    "a status of words": (head(b" 200 ", b" two "), "error", NO_HTTP),
    "a length that is too short": (head(CHUNKED, b"Content-Length: 700"), "error", ""),
    "a length of words": (head(CHUNKED, b"Content-Length: many"), "error", NO_HTTP),
    "a chunk without a size": (framed(lambda data: b"zz" + data[2:]), "error", ""),
    "a chunk that is too short": (framed(lambda data: b"1" + data), "error", ""),
    "broken JSON": (event(b'"choices":', b'"choices"!'), "error", UNREADABLE),
    "JSON of another kind": (event(b'"predicted_n":', b'"predicted_n":"a",'), "error", UNREADABLE),
    "bytes that are no UTF-8": (event(b'"content":"', b'"content":"\xff\xfe'), "error", UNREADABLE),
    "a count that goes back": (event(b'"predicted_n":', b'"predicted_n":-'), "error", UNREADABLE),
    "a count that leaps": (event(b'"predicted_n":', b'"predicted_n":99999'), "error", UNREADABLE),
    "a time that is none": (event(b'"predicted_ms":', b'"predicted_ms":-'), "error", UNREADABLE),
    "a prompt that is none": (event(b'"prompt_n":', b'"prompt_n":-'), "error", UNREADABLE),
}


SLOW = ("silent", "late", "a status", "a length of", "closed in", "503")  # a few of each kind are enough every day


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.slow) if name.startswith(SLOW) else name for name in BROKEN]
)
def test_a_broken_reply_is_told_and_touches_nobody_else(tmp_path: Path, embedded: str, name: str) -> None:
    fault, outcome, error = BROKEN[name]
    found, proxy = measured(tmp_path / "run", embedded, second_caller(fault))
    rows = of(found, "load")
    hit = [row for row in rows if row.caller == 1]
    # a turn a repeat: the call ends with it
    assert [(row.turn, row.outcome) for row in hit] == [(3, outcome)] * 2
    assert all((row.error or "").startswith(error) for row in hit), {row.error for row in hit}
    assert all(len(row.error or "") < 160 and "\n" not in (row.error or "") for row in hit)
    others = [row for row in rows if row.caller != 1]
    assert Counter((row.outcome, len(row.token_s)) for row in others) == {("ok", TOKENS): LOAD - 4}
    # every request that was sent has its row
    assert len(found.rows) == sum(asked.path == "/v1/chat/completions" for asked in proxy.asked) == LOAD - 2 + WARM
    # what was broken is in no figure
    assert not any(metrics(row) for row in hit)
    (point,) = summarize(found.rows, found.events)
    assert point.load[0].rows == LOAD - 4
    counts = {i.tag: i.histogram.get_total_count() for i in read_log(tmp_path / "run" / "histograms.hlog")}
    assert counts["3+warm/load/ttft"] == LOAD - 4
    text = " ".join(text_of(render(found)).split())
    for said, count in Counter(row.error or "" for row in hit).items():
        assert f"{count} x {' '.join(said.split())[:24]}" in text
    assert "no answer: 22.2 % of the load's turns failed." in text or "no answer: 33.3 %" in text


LONG = head(CHUNKED, b"Content-Length: 99999")  # the end of the stream is in it, not at its end


@pytest.mark.parametrize(
    "fault", [Fault(delay=0.2), Fault(rate=30_000.0), LONG], ids=["late", "slow", "of a length that is too long"]
)
def test_a_late_or_slow_reply_is_whole(tmp_path: Path, embedded: str, fault: Fault) -> None:
    found, _ = measured(tmp_path / "run", embedded, second_caller(fault), repeat=1)
    rows = of(found, "load")
    assert Counter((row.outcome, len(row.token_s)) for row in rows) == {("ok", TOKENS): 6}
    waits = {caller: [r.first_token_s - r.sent_s for r in rows if r.caller == caller] for caller in (0, 1)}  # type: ignore[operator]
    if fault.delay:
        assert min(waits[1]) >= fault.delay
        assert min(waits[0]) < min(waits[1])  # it is one caller's alone
