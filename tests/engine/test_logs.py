"""The logs of whole runs: cards, this machine and the server, and what becomes of a run whose logs break."""

import asyncio
import json
import os
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import psutil
import pytest

from loadsim.engine.progress import Progress
from loadsim.engine.run import run as run_scenario
from loadsim.results.read import Run, read
from loadsim.results.write import Recorder
from loadsim.run import run
from loadsim.scenario.load import restore
from loadsim.telemetry import sampler as sampler_module
from tests.calls import CALL
from tests.engine import truthful
from tests.report.runs import words
from tests.telemetry.cards import ARTICLE, FILE, ROOT, STAND_IN, Machine, Moment, Simulated, sampler, simulated
from tests.truth import serve

STEADY = [Moment(t=0, core_c=60, sm_mhz=1695, memory_mhz=9751, power_w=166, busy=97, memory_busy=60)]
# Two callers whose replies take 1.2 s, and nobody alone.
LONG: dict[str, Any] = {
    "recording": "call",
    "callers": {"warm": {"count": 2}},
    "baseline": {"replies": 0},
    "repeat": 1,
    "reply": {"exactly": 60},
    "telemetry": {"every": "100 ms"},
}


@pytest.fixture
def cards(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    def put(machine: Machine) -> None:
        for name, value in simulated(machine, tmp_path).items():
            monkeypatch.setenv(name, value)

    return put


def measured(folder: Path, **scenario: Any) -> Run:
    found, _ = truthful.measured(folder, LONG | scenario, tokens=60, step=0.02, metrics=True)
    return found


def told(found: Run, log: str) -> list[tuple[str, str]]:
    """What was said of a log."""
    return [
        (event["what"], event["why"]) for event in found.events if event["event"] == "telemetry" and event["log"] == log
    ]


def never_more_often(times: list[float], every: float = 0.1) -> None:
    """Samples are due on a grid; one that is late comes when it can, and those due meanwhile are left out."""
    assert len(times) - 1 <= (times[-1] - times[0]) / every + 1


def children() -> set[int]:
    return {child.pid for child in psutil.Process().children() if "loadsim.telemetry" in " ".join(child.cmdline())}


def test_a_card_that_heats_up_is_in_the_run_and_under_its_table(tmp_path: Path, cards: Any) -> None:
    cards(Machine(cards=[Simulated(curve=ARTICLE)], start=time.time(), speed=15))
    found = measured(tmp_path / "run")
    assert found.facts["ended"] == "complete"
    heats = [sample.core_c for sample in found.card if sample.core_c is not None]
    assert len(heats) == len(found.card) > 4
    assert heats == sorted(heats)
    assert 57 <= heats[0] < 75
    assert heats[-1] - heats[0] > 8
    never_more_often([sample.stamp_s for sample in found.card])
    epoch = found.facts["started"]["epoch_s"]
    # the run's clock and the wall's, which the sample was stamped with; it is read some time after
    assert min(abs(epoch + sample.t_s - sample.stamp_s) for sample in found.card) < 0.2
    (card,) = found.facts["cards"]
    assert (card["name"], card["default_limit_w"], card["driver"]) == ("NVIDIA GeForce RTX 3090", 350.0, "550.54.14")
    assert told(found, "card") == [("missing", "memory_c")]
    line = next(line for line in words(found).split("card: ")[1:])
    assert line.startswith(tuple(f"{heat:.0f} to " for heat in range(57, 80)))
    assert "memory 9,751 MHz, 166 W of 350" in line
    assert "no card log" not in words(found)
    assert children() == set()


def test_without_nvml_the_run_goes_on_and_says_so_once(tmp_path: Path, cards: Any) -> None:
    cards(Machine(cards=[], driver=None))
    found = measured(tmp_path / "run")
    assert found.facts["ended"] == "complete"
    assert found.card == []
    assert not (tmp_path / "run" / "card.jsonl").exists()
    assert told(found, "card") == [("none", "NVML: NVML Shared Library Not Found")]
    assert words(found).count("no card log: unknown temperature (NVML: NVML Shared Library Not Found)") == 1


def test_a_card_that_falls_off_the_bus_in_the_run(tmp_path: Path, cards: Any) -> None:
    # Seconds since the log's process began, however long that took.
    cards(Machine(cards=[Simulated(curve=STEADY, missing=("memory_c",), lost=((0.3, 0.7),))]))
    found = measured(tmp_path / "run")
    assert found.facts["ended"] == "complete"
    assert [what for what, _ in told(found, "card")] == ["missing", "lost", "back"]
    lost, back = (event for event in found.events if event.get("what") in ("lost", "back"))
    assert back["t_s"] - lost["t_s"] > 0.2
    assert [s for s in found.card if lost["t_s"] < s.t_s < back["t_s"]] == []
    assert [s for s in found.card if s.t_s < lost["t_s"]]
    assert [s for s in found.card if s.t_s > back["t_s"]]
    said = words(found)
    assert f"card 0 was lost {lost['t_s']:.3f}"[:20] in said
    assert "s into the run: GPU is lost" in said
    assert "card 0 came back" in said


def test_a_remote_log_is_a_command_whose_lines_are_read(tmp_path: Path, cards: Any) -> None:
    """As over ssh, with a banner, and a clock that is an hour ahead of ours."""
    far = tmp_path / "far"
    far.mkdir()
    env = simulated(Machine(cards=[Simulated(curve=STEADY)]), far, base={})
    late = "import sys, time; sys.argv = sys.argv[1:]; now = time.time; time.time = lambda: now() + 3600\n"
    late += "from loadsim.telemetry.card import main; print('Welcome to gpu-box', flush=True); main()"
    command = ["env", f"PYTHONPATH={env['PYTHONPATH']}", f"{FILE}={env[FILE]}", sys.executable, "-c", late]
    template = f"{shlex.join([*command, 'card'])} --every {{every}}"
    found = measured(tmp_path / "run", telemetry={"every": "100 ms", "card": template})
    assert len(found.card) > 5
    for sample in found.card:
        # a line is read some time after it was written, and never before
        assert 3600 - 5 < sample.stamp_s - found.facts["started"]["epoch_s"] - sample.t_s < 3600 + 0.1
        assert 0 < sample.t_s <= found.facts["seconds"]
    assert ("garbage", "it printed what is no sample: Welcome to gpu-box") in told(found, "card")
    assert found.facts["cards"][0]["card"] == 0
    assert "ssh" not in json.dumps(found.facts.get("cards"))


def test_what_a_remote_log_says_moves_no_terminal_and_is_possible(tmp_path: Path) -> None:
    said = [
        {"says": "sample", "sample": {"card": 0, "core_c": 1e308}},
        {"says": "sample", "sample": {"card": -1, "core_c": 50.0}},
        {"says": "sample", "sample": {"card": 0, "core_c": 50.0, "power_w": 1e9}},
        {"says": "sample", "sample": {"card": 0, "core_c": 61.0, "reasons": ["\x1b[2Jhot"]}},
        {"says": "lost", "card": 0, "why": "gone\n\x1b[31mfor good" + "!" * 1000},
    ]
    lines = tmp_path / "lines"
    lines.write_text("".join(json.dumps(each) + "\n" for each in said[:-1]))
    last = tmp_path / "last"
    last.write_text(json.dumps(said[-1]) + "\n")
    command = f"sleep 0.2; for i in 1 2 3 4 5 6 7 8; do cat {lines}; sleep 0.1; done; cat {last}; sleep 60"
    found = measured(tmp_path / "run", telemetry={"every": "100 ms", "card": shlex.join(["sh", "-c", command])})
    assert {(sample.card, sample.core_c) for sample in found.card} == {(0, 61.0)}
    assert {sample.reasons for sample in found.card} == {("?[2Jhot",)}
    lost = "gone??[31mfor good"
    assert ("lost", f"{lost}{'!' * (200 - len(lost))}") in told(found, "card")
    assert "\x1b" not in words(found)
    assert "card: 61 C, throttled by: ?[2Jhot 100 % of the time" in words(found)


@pytest.mark.slow
def test_a_remote_log_that_does_not_come_up(tmp_path: Path) -> None:
    refused = "ssh: Could not resolve hostname gpu-box"
    command = shlex.join(["sh", "-c", f"echo '{refused}' >&2; exit 255"])
    found = measured(tmp_path / "run", telemetry={"every": "100 ms", "card": command})
    assert found.facts["ended"] == "complete"
    assert told(found, "card") == [("ended", f"it ended with status 255; its last words: {refused}")]
    said = f"no card log: unknown temperature (it ended with status 255; its last words: {refused})"
    assert said in words(found)
    assert refused in (tmp_path / "run" / "card.log").read_text()


@pytest.mark.slow
def test_only_the_cards_that_are_asked_for(tmp_path: Path, cards: Any) -> None:
    machine = Machine(cards=[Simulated(curve=STEADY, uuid=f"GPU-simulated-{n}") for n in range(3)])
    cards(machine)
    found = measured(tmp_path / "run", telemetry={"every": "100 ms", "cards": [1]})
    assert {sample.card for sample in found.card} == {1}
    assert [card["card"] for card in found.facts["cards"]] == [1]
    command = f"{shlex.join(sampler(0.1))}"
    found = measured(tmp_path / "again", telemetry={"every": "100 ms", "card": command, "cards": [2, 0]})
    assert {sample.card for sample in found.card} == {0, 2}
    assert "card 2: 60 C" in words(found)


@pytest.mark.slow
def test_samplers_that_are_killed_are_said_once_and_the_run_goes_on(
    tmp_path: Path, cards: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sampler_module, "AGAIN_S", 0.3)
    cards(Machine(cards=[Simulated(curve=STEADY)]))

    async def main() -> Run:
        async with serve(**truthful.QUICK | {"tokens": 60, "step": 0.04, "metrics": True}) as truth:
            going = asyncio.create_task(truthful.measure(tmp_path / "run", truth, LONG, {"call": CALL}))
            await asyncio.sleep(1.0)
            for pid in children():
                os.kill(pid, signal.SIGKILL)
            return await going

    found = run(main())
    assert found.facts["ended"] == "complete"
    for log in ("card", "host"):
        notes = [note for note in told(found, log) if note[0] != "missing"]
        assert notes == [("ended", "signal 9 ended it"), ("back", "")]
    assert "the card log broke off" in words(found)
    assert "the card log went on" in words(found)


def test_the_server_log_has_what_the_server_counted(tmp_path: Path) -> None:
    found = measured(tmp_path / "run")
    assert len(found.server) > 4
    assert found.server[0].over_s is None
    busy = [sample.busy for sample in found.server]
    assert (0, 1) in busy
    assert {sample.processing for sample in found.server} <= {0, 1, 2}
    never_more_often([sample.t_s for sample in found.server])


def test_without_telemetry_nothing_is_logged(tmp_path: Path) -> None:
    found = measured(tmp_path / "run", telemetry={"every": None})
    assert sorted(file.name for file in (tmp_path / "run").iterdir()) == [
        "events.jsonl",
        "histograms.hlog",
        "replies.jsonl",
        "requests.jsonl",
        "run.json",
    ]
    assert [event for event in found.events if event["event"] == "telemetry"] == []


def test_a_plain_server_has_no_server_log(tmp_path: Path) -> None:
    scenario = LONG | {"reply": {"free": 60}}
    found, truth = truthful.measured(tmp_path / "run", scenario, plain=True)
    assert told(found, "server") == [("none", "the server has neither /metrics (--metrics) nor /slots")]
    assert sum(request.path == "/metrics" for request in truth.requests) == 1


def embedded(folder: Path, during: Any = None, **scenario: Any) -> Run:
    """A run on the embedded server, in which `during` is done once samples have come."""

    async def main() -> Run:
        recorder = Recorder(folder, asyncio.get_running_loop().time(), text=False)
        given = LONG | {"server": {"slots": 2, "context": 16384}, "reply": {"exactly": 400}} | scenario
        wanted = restore(given, "test")
        going = asyncio.create_task(run_scenario(wanted, {"call": CALL}, recorder, Progress(), recorder.start, None))
        if during is not None:
            while not going.done() and not any(s.server_rss_bytes for s in read(folder).host):
                await asyncio.sleep(0.05)
            during()
        await going
        recorder.close("complete")
        return read(folder)

    return run(main())


@pytest.mark.slow
def test_the_embedded_servers_memory_is_its_processs(tmp_path: Path) -> None:
    seen: list[int] = []

    def look() -> None:
        (server,) = (
            child for child in psutil.Process().children() if "loadsim.server.child" in " ".join(child.cmdline())
        )
        seen.append(server.memory_info().rss)

    found = embedded(tmp_path / "run", look, repeat=4)
    known = [sample for sample in found.host if sample.server_rss_bytes is not None]
    assert len(known) > 2
    assert any(sample.server_rss_bytes == pytest.approx(seen[0], rel=0.1) for sample in known)
    cpu = [sample.server_cpu for sample in known if sample.server_cpu is not None]
    assert 0.05 < sum(cpu) / len(cpu) < 1.1  # its one thread
    own = psutil.Process().memory_info().rss
    assert known[-1].own_rss_bytes == pytest.approx(own, rel=0.2)
    # On a busy machine two samples may come in one read; the loop was not late between them.
    assert sum(sample.lag_p99_ms is not None for sample in found.host) > len(found.host) / 2
    never_more_often([sample.t_s for sample in found.host])
    # It computes on the CPU: this machine's cards are not its, and no word is lost on them.
    assert found.card == []
    assert told(found, "card") == []
    said = words(found)
    assert "card log" not in said
    assert "this machine: CPU" in said
    assert sum(sample.generated_tokens or 0 for sample in found.server) > 400
    assert children() == set()


@pytest.mark.slow
def test_the_memory_of_a_launched_server_leaves_its_guard_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    launch = f"{sys.executable} -m tests.truth --port {{port}} slots=2 context=4096 first=0.3 step=0.03 tokens=60"
    found = embedded(tmp_path / "run", server={"launch": launch}, reply="recorded", repeat=2)
    known = [sample.server_rss_bytes for sample in found.host if sample.server_rss_bytes is not None]
    assert known
    truth = psutil.Process().memory_info().rss  # the same Python, with more in it
    assert 10 << 20 < known[-1] < truth
    group = [event for event in found.events if event["event"] == "server"]
    assert len(group) == 1


@pytest.mark.slow
def test_a_run_that_is_killed_leaves_no_sampler(tmp_path: Path) -> None:
    env = simulated(Machine(cards=[Simulated(curve=STEADY)]), tmp_path)
    sets = ["--set", "callers.warm.count=2", "--set", "server.slots=2", "--set", "server.context=60000"]
    sets += ["--set", f"telemetry.card={shlex.join(sampler(0.1))}", "--set", "telemetry.every=100 ms"]
    command = [sys.executable, "-m", "loadsim", "scenario", "twelve_callers", "--out", str(tmp_path / "run"), *sets]
    with subprocess.Popen(command, env=env, cwd=tmp_path, stdout=subprocess.DEVNULL) as popen:
        file = tmp_path / "run" / "card.jsonl"
        until = time.monotonic() + 30
        while not file.exists() and time.monotonic() < until:
            time.sleep(0.05)
        under = {child.pid: " ".join(child.cmdline()) for child in psutil.Process(popen.pid).children(recursive=True)}
        popen.kill()
    assert sum("loadsim.telemetry.card" in line for line in under.values()) >= 2  # its guard, and it
    assert any("loadsim.telemetry.host" in line for line in under.values())
    until = time.monotonic() + 15
    while (left := [pid for pid in under if _runs(pid)]) and time.monotonic() < until:
        time.sleep(0.1)
    assert left == []
    assert len(read(tmp_path / "run").card) > 0


def _runs(pid: int) -> bool:
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def test_the_stand_in_is_in_no_ones_way() -> None:
    assert str(STAND_IN) not in sys.path
