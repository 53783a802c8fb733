"""A server that goes away under a load and comes back, that says it is well and gives no token, or that stays away."""

import asyncio
import os
import re
import signal
import sys
import time
from collections import Counter
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

import pytest

from loadsim.engine import outage, point
from loadsim.engine.progress import Progress
from loadsim.engine.run import run as run_scenario
from loadsim.report.table import render
from loadsim.results.read import Run, read
from loadsim.results.write import Recorder
from loadsim.run import run
from loadsim.scenario.load import restore
from loadsim.stats.outages import outages
from loadsim.types import BadInput, RunStopped
from tests.calls import CALL
from tests.engine.truthful import of
from tests.faults.proxy import CHAT, NOTHING, Fault, Proxy, proxied
from tests.report.runs import text_of
from tests.truth import serve

ROOT = Path(__file__).parents[2]
LONG: dict[str, Any] = {
    "recording": "call",
    "callers": {"warm": {"count": 3, "turns": "3-4", "again": True}},
    "baseline": {"replies": 0},
    "repeat": 1,
    "duration": "2500 ms",
    "timeout": {"connect": "1 s", "first_token": "400 ms", "silence": "300 ms"},
}
Then = Callable[[Proxy], Coroutine[Any, Any, None]]


@pytest.fixture(autouse=True)
def hasty(monkeypatch: pytest.MonkeyPatch) -> None:
    """Callers who call again soon, and a server that is asked often how it is."""
    monkeypatch.setattr(point, "AGAIN_S", 0.1)
    monkeypatch.setattr(outage, "ASK_S", 0.05)
    monkeypatch.setattr(outage, "LOOK_S", 0.02)


async def recorded(folder: Path, scenario: dict[str, Any]) -> Run:
    recorder = Recorder(folder, asyncio.get_running_loop().time(), text=False)
    try:
        await run_scenario(restore(scenario, "test"), {"call": CALL}, recorder, Progress(), recorder.start, None)
    except BaseException as error:
        recorder.close("stopped", str(error))
        raise
    recorder.close("complete")
    return read(folder)


def during(folder: Path, then: Then, **scenario: Any) -> tuple[Run, Proxy]:
    """A load of callers who call again, and what happens to it once the first of them has been answered."""

    async def main() -> tuple[Run, Proxy]:
        async with (
            serve(slots=3, first=0.02, step=0.005, tokens=12, cached=True) as truth,
            proxied(truth.url) as proxy,
        ):
            running = asyncio.ensure_future(recorded(folder, LONG | {"server": {"url": proxy.url}} | scenario))
            try:
                async with asyncio.timeout(20):
                    while not any(asked.whole and asked.measured for asked in proxy.asked) and not running.done():
                        await asyncio.sleep(0.01)
                    await then(proxy)
                    return await running, proxy
            finally:
                running.cancel()

    return run(main())


async def away(proxy: Proxy, seconds: float = 0.8) -> None:
    await proxy.down()
    await asyncio.sleep(seconds)
    await proxy.up()


def test_a_server_that_comes_back_finds_its_callers(tmp_path: Path) -> None:
    # a server on the loop that this test stalls would else be silent for long enough to be told once more
    found, proxy = during(tmp_path / "run", away, timeout=LONG["timeout"] | {"first_token": "5 s", "silence": "5 s"})
    (gone,) = outages(found.events, of(found, "load"), "3 warm")
    assert gone.seconds is not None
    assert gone.seconds > 0.7
    assert gone.said == "cannot connect (Connection refused)"
    rows = of(found, "load")
    assert gone.failed == sum(row.outcome == "error" for row in rows) >= 3
    # nobody is lost: each goes on after it, from a slot that was brought to its history again
    back = gone.since_s + gone.seconds
    assert {row.caller for row in rows if (row.sent_s or 0) >= back - 0.3 and row.outcome == "ok"} == {0, 1, 2}
    warm = of(found, "warm")
    assert [row.caller for row in warm[:3]] == [0, 1, 2]
    assert sorted(row.caller for row in warm[3:]) == [0, 1, 2]
    assert all((row.sent_s or 0) > gone.since_s for row in warm[3:])
    # rows sent, rows written; those that found nobody were not seen by the proxy
    sent = sum(asked.path == CHAT for asked in proxy.asked)
    assert sent == sum(row.connected_s is not None for row in found.rows)
    assert found.facts["ended"] == "complete"
    text = " ".join(text_of(render(found)).split())
    clock = time.strftime("%H:%M:%S", time.localtime(found.facts["started"]["epoch_s"] + gone.since_s))
    assert f"no token came from {clock} for " in text
    # each try was over at once: it is told for how long somebody had asked
    assert gone.asked < 0.5 * gone.seconds
    told = f"s of it): cannot connect (Connection refused); {gone.failed} replies failed"
    assert told in text
    assert f" for {gone.seconds:.3g}" in text


@pytest.mark.slow
def test_a_network_that_is_cut_and_mended(tmp_path: Path) -> None:
    async def cut(proxy: Proxy) -> None:
        proxy.cut()
        await asyncio.sleep(0.8)
        proxy.mend()

    found, _ = during(tmp_path / "run", cut)
    (gone,) = outages(found.events, of(found, "load"), "3 warm")
    assert gone.seconds is not None
    assert gone.seconds > 0.5
    rows = of(found, "load")
    lost = Counter(row.outcome for row in rows if row.outcome != "ok")
    assert set(lost) <= {"timeout", "error"}
    assert gone.failed == sum(lost.values())
    assert {row.caller for row in rows[-4:]} <= {0, 1, 2}
    assert rows[-1].outcome == "ok"


def test_health_says_ok_and_no_token_comes(tmp_path: Path) -> None:
    async def mute(proxy: Proxy) -> None:
        proxy.choose = lambda asked: Fault(then="stall") if asked.path == CHAT else NOTHING
        await asyncio.sleep(0.9)
        proxy.choose = lambda _: NOTHING

    found, proxy = during(tmp_path / "run", mute)
    (gone,) = outages(found.events, of(found, "load"), "3 warm")
    assert gone.healthy
    assert gone.seconds is not None
    assert gone.seconds > 0.5
    # its slots were not lost, so nobody warms them again
    assert len(of(found, "warm")) == 3
    assert "/health" in {asked.path for asked in proxy.asked}
    text = " ".join(text_of(render(found)).split())
    assert "health said ok, but no token came from " in text
    assert f"For {gone.seconds:.3g} s of the load nobody was given a token; see above." in text or gone.failed


def test_health_that_hangs_is_told_in_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A server that takes connections and says nothing, of its health neither: told once the silence is too long, not
    when the question has been given up."""
    monkeypatch.setattr(outage, "HEALTH_S", 30.0)  # far longer than this test

    async def mute(proxy: Proxy) -> None:
        proxy.choose = lambda asked: Fault(then="stall") if asked.path in (CHAT, "/health") else NOTHING
        await asyncio.sleep(2.5)
        proxy.choose = lambda _: NOTHING

    silent = LONG["timeout"] | {"first_token": "4 s", "silence": "600 ms"}
    found, _ = during(tmp_path / "run", mute, duration="5 s", timeout=silent)
    (gone,) = outages(found.events, of(found, "load"), "3 warm")
    (event,) = [event for event in found.events if event["event"] == "outage"]
    assert 0.6 <= event["t_s"] - event["since_s"] < 5  # of 600 ms; the question would hang for 30 s
    assert not gone.healthy
    assert re.fullmatch(r"health did not answer in [0-9.]+ s", gone.said)
    text = " ".join(text_of(render(found)).split())
    assert f": {gone.said}" in text
    assert "health said ok" not in text


def test_one_callers_broken_reply_is_no_outage(tmp_path: Path) -> None:
    async def one(proxy: Proxy) -> None:
        proxy.choose = lambda asked: Fault(then="reset") if asked.body and asked.body.get("id_slot") == 1 else NOTHING
        await asyncio.sleep(0.5)
        proxy.choose = lambda _: NOTHING

    found, _ = during(tmp_path / "run", one, duration="1500 ms")
    assert outages(found.events, of(found, "load"), "3 warm") == []
    rows = of(found, "load")
    assert Counter(row.caller for row in rows if row.outcome == "error").keys() == {1}
    assert [row for row in rows if row.caller == 1][-1].outcome == "ok"
    assert len(of(found, "warm")) == 3


def test_a_server_that_stays_away_ends_the_run_which_says_how_long_it_waited(tmp_path: Path) -> None:
    timeout = LONG["timeout"] | {"outage": "900 ms"}
    with pytest.raises(
        RunStopped, match=r"^no token came for 1 s, from \d\d:\d\d:\d\d on: cannot connect \(Connection refused\)$"
    ):
        during(tmp_path / "run", Proxy.down, timeout=timeout, duration="1 min")
    found = read(tmp_path / "run")
    (gone,) = outages(found.events, of(found, "load"), "3 warm")
    assert gone.seconds is None
    times = {row.caller: len([r for r in of(found, "load") if r.caller == row.caller]) for row in of(found, "load")}
    assert min(times.values()) >= 3
    assert found.facts["ended"] == "stopped"


def test_a_server_that_never_answered_is_not_waited_for(tmp_path: Path) -> None:
    async def main() -> None:
        async with serve(slots=3, first=0.01, step=0.002, tokens=8) as truth, proxied(truth.url) as proxy:
            proxy.choose = lambda asked: Fault(then="reset") if asked.measured else NOTHING
            await recorded(tmp_path / "run", LONG | {"server": {"url": proxy.url}, "duration": "1 min"})

    with pytest.raises(RunStopped, match=r"^no caller was answered: the connection broke"):
        run(main())
    assert Counter(row.caller for row in of(read(tmp_path / "run"), "load")) == {0: 3, 1: 3, 2: 3}


TRUTH = f"{sys.executable} -m tests.truth --port {{port}} slots=3 context=4096 first=0.02 step=0.005 tokens=12"


def killing(folder: Path, server: dict[str, Any], scenario: dict[str, Any], seconds: float = 0.6) -> Run:
    """A load on a server of ours, which is killed so long after the load's begin."""

    async def main() -> Run:
        running = asyncio.ensure_future(
            recorded(folder, LONG | {"server": server, "telemetry": {"every": None}} | scenario)
        )
        killed = False
        asyncio.get_running_loop().call_later(40, running.cancel)
        while not running.done():
            await asyncio.sleep(0.02)
            events = (folder / "events.jsonl").read_text() if (folder / "events.jsonl").exists() else ""
            if '"all callers"' in events and not killed:
                killed = True
                await asyncio.sleep(seconds)
                os.kill(_server(), signal.SIGKILL)
        return await running

    return run(main())


def _server() -> int:
    """The only child of ours."""
    (pid,) = (int(child) for child in Path(f"/proc/self/task/{os.getpid()}/children").read_text().split())
    return pid


linux = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="looks for its children in /proc")


@pytest.mark.slow
@linux
def test_a_server_of_ours_that_dies_is_started_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    server = {"launch": TRUTH, "slots": 3, "restart": True}
    found = killing(tmp_path / "run", server, {"duration": "4 s"})
    (gone,) = outages(found.events, of(found, "load"), "3 warm")
    assert gone.said == "the server died (signal SIGKILL)"
    assert gone.seconds is not None
    assert gone.again is not None
    assert gone.again <= gone.seconds
    names = [event["event"] for event in found.events if event["event"] in ("died", "restarted", "outage over")]
    assert names == ["died", "restarted", "outage over"]
    rows = of(found, "load")
    assert {row.caller for row in rows if (row.sent_s or 0) > gone.since_s and row.outcome == "ok"} == {0, 1, 2}
    warm = of(found, "warm")
    assert sorted(row.caller for row in warm) == [0, 0, 1, 1, 2, 2]
    # the first prompt after it finds the slot as planned
    for caller in range(3):
        after = next(r for r in rows if r.caller == caller and (r.sent_s or 0) > (warm[-1].sent_s or 0))
        assert after.planned
    text = " ".join(text_of(render(found)).split())
    assert "the server died (signal SIGKILL); it ran again " in text
    assert found.facts["ended"] == "complete"
    assert not Path(f"/proc/self/task/{os.getpid()}/children").read_text().split()


@linux
def test_without_restart_its_death_ends_the_load(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    began = time.monotonic()
    with pytest.raises(RunStopped, match=r"^the launched server is gone \(it died with signal SIGKILL\); see "):
        killing(tmp_path / "run", {"launch": TRUTH, "slots": 3}, {"duration": "1 min"})
    assert time.monotonic() - began < 50  # of the minute that the load was to last
    found = read(tmp_path / "run")
    assert [event["how"] for event in found.events if event["event"] == "died"] == ["signal SIGKILL"]
    assert any(row.outcome == "ok" for row in of(found, "load"))


@pytest.mark.slow
@linux
def test_the_embedded_server_is_started_again(tmp_path: Path) -> None:
    server = {"slots": 3, "context": 12288, "restart": True}
    found = killing(tmp_path / "run", server, {"duration": "8 s", "reply": {"exactly": 20}}, seconds=1.5)
    (gone,) = outages(found.events, of(found, "load"), "3 warm")
    assert gone.seconds is not None
    assert gone.said == "the server died (signal SIGKILL)"
    rows = of(found, "load")
    assert {row.caller for row in rows if (row.sent_s or 0) > gone.since_s and row.outcome == "ok"} == {0, 1, 2}
    (again,) = [event for event in found.events if event["event"] == "restarted"]
    assert again["url"] != found.facts["server"]["url"]
    assert found.facts["ended"] == "complete"


def test_restart_is_only_for_servers_of_ours() -> None:
    with pytest.raises(BadInput, match=r"server\.restart: has no effect on a server that loadsim does not start"):
        restore(LONG | {"server": {"url": "http://127.0.0.1:1", "restart": True}}, "test")
