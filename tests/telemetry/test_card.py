"""The card log's process against simulated cards: what it says, and what becomes of it."""

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import msgspec
import pytest

from loadsim.telemetry.card import Back, Known, Line, Lost, NoCards, Sampled
from loadsim.types import CardSample

from .cards import ARTICLE, ROOT, Machine, Moment, Simulated, sampler, simulated

STEADY = [Moment(t=0, core_c=60, memory_c=80, sm_mhz=1695, power_w=166, busy=97, memory_busy=60, memory_mib=1, fan=30)]


class Running:
    """A sampler's process."""

    def __init__(self, popen: "subprocess.Popen[bytes]") -> None:
        self.popen = popen
        assert popen.stdin is not None and popen.stdout is not None
        self.stdin, self.stdout = popen.stdin, popen.stdout

    def line(self) -> Any:
        return msgspec.json.decode(self.stdout.readline(), type=Line)

    def sample(self) -> CardSample:
        """The next sample; what else is said is left out."""
        while True:
            said = self.line()
            if isinstance(said, Sampled):
                return said.sample

    def rest(self) -> list[Any]:
        """All that it still says once its stdin has ended."""
        self.stdin.close()
        lines = self.stdout.read().splitlines()
        assert self.popen.wait(10) == 0
        return [msgspec.json.decode(line, type=Line) for line in lines]


@contextlib.contextmanager
def running(machine: Machine, folder: Path, every: float = 0.1, *arguments: str) -> Iterator[Running]:
    env = simulated(machine, folder)
    pipe = subprocess.PIPE
    with subprocess.Popen(sampler(every, *arguments), env=env, stdin=pipe, stdout=pipe, cwd=ROOT) as popen:
        try:
            yield Running(popen)
        finally:
            popen.kill()


def samples(said: list[Any], card: int = 0) -> list[CardSample]:
    return [line.sample for line in said if isinstance(line, Sampled) and line.sample.card == card]


def test_the_articles_card(tmp_path: Path) -> None:
    start = time.time()
    with running(Machine(cards=[Simulated(curve=ARTICLE)], start=start, speed=10), tmp_path) as log:
        seen = [log.sample()]
        while seen[-1].core_c != 88:
            seen.append(log.sample())
    # It is asked a moment after its stamp, on a machine that does other work too.
    at_once = [sample for sample in seen if sample.took_s < 0.02]
    assert len(at_once) >= 5
    for sample in at_once:
        at = (sample.stamp_s - start) * 10
        assert sample.core_c == pytest.approx(min(57 + 31 * at / 33, 88), abs=1)
        assert (sample.memory_mhz, sample.power_w, sample.limit_w) == (9751, 166, 350)
        assert sample.memory_c is None
        if not 19 < at < 22:
            assert (sample.sm_mhz, sample.reasons) == (1695, ())
        elif 20.2 < at < 20.6:
            assert (sample.sm_mhz, sample.reasons) == (750, ("sw power cap",))


def test_all_that_a_card_tells_in_its_units(tmp_path: Path) -> None:
    curve = [msgspec.structs.replace(STEADY[0], memory_mhz=9751, reasons=("HwThermalSlowdown", "GpuIdle"))]
    with running(Machine(cards=[Simulated(curve=curve)], start=time.time() - 100), tmp_path) as log:
        sample = log.sample()
        (card,) = log.line().cards
    assert abs(sample.stamp_s - time.time()) < 5
    assert 0 < sample.took_s < 1
    assert 16_600 <= (sample.energy_j or 0) < 17_600  # 166 W for 100 s and the time that the process took to begin
    told = msgspec.to_builtins(sample)
    assert {name: value for name, value in told.items() if name not in ("stamp_s", "took_s", "energy_j")} == {
        "card": 0,
        "core_c": 60.0,
        "memory_c": 80.0,
        "sm_mhz": 1695.0,
        "memory_mhz": 9751.0,
        "power_w": 166.0,
        "limit_w": 350.0,
        "reasons": ("gpu idle", "hw thermal slowdown"),
        "busy": 0.97,
        "memory_busy": 0.6,
        "memory_bytes": 2**20,
        "pcie_rx_bytes_s": 1.5e6,
        "pcie_tx_bytes_s": 7e5,
        "pcie_generation": 4,
        "pcie_width": 8,
        "fan": 0.35,  # the fastest of two
    }
    assert msgspec.to_builtins(card) == {
        "card": 0,
        "name": "NVIDIA GeForce RTX 3090",
        "driver": "550.54.14",
        "vbios": "94.02.42.00.B4",
        "memory_bytes": 24 * 2**30,
        "limit_w": 350.0,
        "default_limit_w": 350.0,
        "pcie_generation": 4,
        "pcie_width": 16,
        "slowdown_c": 93.0,
        "missing": (),
    }


def test_a_driver_without_the_newest_names(tmp_path: Path) -> None:
    curve = [msgspec.structs.replace(STEADY[0], reasons=("SwThermalSlowdown",))]
    with running(Machine(cards=[Simulated(curve=curve)], old=True), tmp_path) as log:
        sample = log.sample()
    assert sample.reasons == ("sw thermal slowdown",)
    assert sample.fan == 0.3


@pytest.mark.parametrize("missing", ["core_c", "memory_c", "sm_mhz", "reasons", "busy", "fan", "energy_j", "limit_w"])
def test_a_sensor_that_is_missing_is_none_and_said_once(tmp_path: Path, missing: str) -> None:
    curve = [msgspec.structs.replace(STEADY[0], memory_mhz=9751)]
    with running(Machine(cards=[Simulated(curve=curve, missing=(missing,))]), tmp_path) as log:
        said = [log.line() for _ in range(5)]
    seen = samples(said)
    assert len(seen) == 4
    gone = {"busy", "memory_busy"} if missing == "busy" else {missing}
    for sample in seen:
        left_out = {name for name, value in msgspec.structs.asdict(sample).items() if value is None}
        assert left_out == gone
    (known,) = [line for line in said if isinstance(line, Known)]
    assert set(known.cards[0].missing) == gone


def test_a_card_that_falls_off_the_bus_and_comes_back(tmp_path: Path) -> None:
    card = Simulated(curve=STEADY, lost=((0.5, 1.2),))
    with running(Machine(cards=[card]), tmp_path) as log:
        said = [log.line()]
        while not isinstance(said[-1], Back):
            said.append(log.line())
        said += [log.line() for _ in range(3)]
    kinds = [type(line) for line in said]
    assert (kinds.count(Lost), kinds.count(Back)) == (1, 1)
    lost, back = kinds.index(Lost), kinds.index(Back)
    assert 0 < lost < back
    assert said[lost] == Lost(0, "GPU is lost")
    before, after = samples(said[:lost]), samples(said[back:])
    assert samples(said[lost:back]) == []
    assert before
    assert before[-1].stamp_s - before[0].stamp_s < 0.5
    assert len(after) == 3
    assert after[0].stamp_s - before[-1].stamp_s > 0.7
    assert {sample.core_c for sample in before + after} == {60}


@pytest.mark.slow
def test_one_of_two_cards_is_lost_and_the_other_goes_on(tmp_path: Path) -> None:
    cool = [msgspec.structs.replace(STEADY[0], core_c=40)]
    cards = [Simulated(curve=STEADY, lost=((0.4, 1000),)), Simulated(curve=cool, uuid="GPU-simulated-1")]
    with running(Machine(cards=cards), tmp_path) as log:
        time.sleep(1.5)
        said = log.rest()
    assert [line for line in said if isinstance(line, Lost)] == [Lost(0, "GPU is lost")]
    assert {sample.core_c for sample in samples(said, 0)} == {60}
    others = samples(said, 1)
    assert {sample.core_c for sample in others} == {40}
    steps = [b.stamp_s - a.stamp_s for a, b in pairwise(others)]
    assert max(steps) < 0.3  # looking for the lost one holds nobody up
    assert len(others) > 8


def test_a_card_that_is_lost_from_the_start_is_no_reason_to_leave_out_the_other(tmp_path: Path) -> None:
    cards = [Simulated(curve=STEADY, lost=((-1, 1000),)), Simulated(curve=STEADY, uuid="GPU-simulated-1")]
    with running(Machine(cards=cards), tmp_path) as log:
        assert log.sample().card == 1


@pytest.mark.slow
def test_slow_calls_leave_samples_out_and_make_none_up(tmp_path: Path) -> None:
    with running(Machine(cards=[Simulated(curve=STEADY, slow=0.02)]), tmp_path, 0.2) as log:
        time.sleep(2.5)
        seen = samples(log.rest())
    assert all(sample.took_s > 0.2 for sample in seen)  # over a dozen calls of 20 ms
    steps = [b.stamp_s - a.stamp_s for a, b in pairwise(seen)]
    assert steps and min(steps) > 0.35  # every second one of those due each 200 ms
    assert all(abs(step / 0.2 - round(step / 0.2)) < 0.3 for step in steps)


@pytest.mark.slow
def test_only_the_cards_that_are_named(tmp_path: Path) -> None:
    cards = [Simulated(curve=STEADY, uuid=f"GPU-simulated-{n}") for n in range(3)]
    with running(Machine(cards=cards), tmp_path, 0.1, "--card", "2", "--card", "0") as log:
        time.sleep(0.7)
        said = log.rest()
    assert {line.sample.card for line in said if isinstance(line, Sampled)} == {0, 2}


@pytest.mark.slow
def test_the_cards_that_the_server_uses(tmp_path: Path) -> None:
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE, start_new_session=True) as server:
        uuids = [f"GPU-simulated-{n}" for n in range(3)]
        cards = [
            Simulated(curve=STEADY, uuid=uuid, pids=(server.pid,) if n == 1 else (1,)) for n, uuid in enumerate(uuids)
        ]
        with running(Machine(cards=cards), tmp_path) as log:
            assert {log.sample().card for _ in range(6)} == {0, 1, 2}
            log.stdin.write(json.dumps({"group": server.pid}).encode() + b"\n")
            log.stdin.flush()
            time.sleep(0.3)
            [log.sample() for _ in range(9)]
            assert {log.sample().card for _ in range(6)} == {1}
            log.stdin.write(json.dumps({"group": None}).encode() + b"\n")
            log.stdin.flush()
            time.sleep(0.3)
            [log.sample() for _ in range(6)]
            assert {log.sample().card for _ in range(6)} == {0, 1, 2}
        server.kill()


def test_a_server_that_no_card_tells_of_uses_any(tmp_path: Path) -> None:
    """As in a container, where the driver's numbers of processes are others."""
    cards = [Simulated(curve=STEADY, uuid=f"GPU-simulated-{n}") for n in range(2)]
    with running(Machine(cards=cards), tmp_path) as log:
        log.stdin.write(json.dumps({"group": os.getpgid(0)}).encode() + b"\n")
        log.stdin.flush()
        [log.sample() for _ in range(10)]
        assert {log.sample().card for _ in range(4)} == {0, 1}


@pytest.mark.parametrize(
    ("machine", "arguments", "why"),
    [
        (Machine(cards=[], driver=None), (), "NVML: NVML Shared Library Not Found"),
        (Machine(cards=[]), (), "no card in this machine"),
        (Machine(cards=[Simulated(curve=STEADY)]), ("--card", "1"), "no card 1; there are 1"),
        (Machine(cards=[Simulated(curve=STEADY, lost=((-1, 99),))]), (), "card 0: GPU is lost"),
    ],
)
def test_where_there_is_no_card_it_says_why_and_ends(
    tmp_path: Path, machine: Machine, arguments: tuple[str, ...], why: str
) -> None:
    with running(machine, tmp_path, 0.1, *arguments) as log:
        assert log.popen.wait(10) == 0
        assert log.stdout.read().splitlines() == [msgspec.json.encode(NoCards(why))]


def test_what_somebody_types_is_no_order(tmp_path: Path) -> None:
    with running(Machine(cards=[Simulated(curve=STEADY)]), tmp_path) as log:
        log.sample()
        log.stdin.write(b"\nhelp\n{}\n")
        log.stdin.flush()
        assert [log.sample().card for _ in range(4)] == [0] * 4


def test_it_ends_when_nobody_reads_it(tmp_path: Path) -> None:
    with running(Machine(cards=[Simulated(curve=STEADY)]), tmp_path) as log:
        log.sample()
        log.stdout.close()
        assert log.popen.wait(10) == 0


@pytest.mark.slow
def test_it_ends_with_its_parent_though_another_process_holds_its_pipe(tmp_path: Path) -> None:
    script = """
import subprocess, sys, time
child = subprocess.Popen(sys.argv[1:], stdin=int(sys.stdin.fileno()), stdout=subprocess.DEVNULL)
print(child.pid, flush=True)
time.sleep(100)
"""
    env = simulated(Machine(cards=[Simulated(curve=STEADY)]), tmp_path)
    read, write = os.pipe()
    with subprocess.Popen(
        [sys.executable, "-c", script, *sampler(0.1)], env=env, stdin=read, stdout=subprocess.PIPE, cwd=ROOT
    ) as parent:
        assert parent.stdout is not None
        child = int(parent.stdout.readline())
        time.sleep(1)
        parent.send_signal(signal.SIGKILL)
    until = time.monotonic() + 10
    while _alive(child) and time.monotonic() < until:
        time.sleep(0.05)
    os.close(read)
    os.close(write)
    assert not _alive(child)


def _alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().split(") ")[1][0] != "Z"
    except FileNotFoundError:
        return False
