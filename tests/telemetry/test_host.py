"""The host log's process: what it tells of this machine, of whoever started it, and of a server's process group."""

import contextlib
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from types import SimpleNamespace

import msgspec
import psutil
import pytest

from loadsim.telemetry import host
from loadsim.telemetry.ticks import Order, members
from loadsim.types import HostSample

from .cards import ROOT

BUSY = "x = bytearray(80 << 20)\nwhile True: pass"
IDLE = "x = bytearray(80 << 20)\ninput()"


@contextlib.contextmanager
def group(*scripts: str) -> Iterator[int]:
    """Processes of one group of their own; its number."""
    loop = "import subprocess, sys\nfor each in sys.argv[1:]: subprocess.Popen([sys.executable, '-c', each])\ninput()"
    with subprocess.Popen(
        [sys.executable, "-c", loop, *scripts], stdin=subprocess.PIPE, start_new_session=True
    ) as popen:
        try:
            yield popen.pid
        finally:
            os.killpg(popen.pid, 9)


@contextlib.contextmanager
def logging(every: float) -> Iterator["subprocess.Popen[bytes]"]:
    command = [sys.executable, "-m", "loadsim.telemetry.host", "--every", f"{every}"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=ROOT) as popen:
        try:
            yield popen
        finally:
            popen.kill()


def sample(popen: "subprocess.Popen[bytes]") -> HostSample:
    assert popen.stdout is not None
    return msgspec.json.decode(popen.stdout.readline(), type=HostSample)


def tell(popen: "subprocess.Popen[bytes]", order: Order) -> None:
    assert popen.stdin is not None
    popen.stdin.write(msgspec.json.encode(order) + b"\n")
    popen.stdin.flush()


def test_this_machine_and_whoever_started_the_log() -> None:
    with logging(0.5) as log:
        until = time.monotonic() + 1.8
        while time.monotonic() < until:  # this process is busy
            pass
        first, second = sample(log), sample(log)
        while not second.own_cpu:  # it may begin late, and see only what comes after
            second = sample(log)
            _ = sum(range(1_000_000))
    own = psutil.Process()
    assert first.own_rss_bytes == pytest.approx(own.memory_info().rss, rel=0.2)
    assert first.own_cpu is not None
    assert second.own_cpu is not None
    assert 0.02 < second.own_cpu < 1.1
    assert len(second.cores) == psutil.cpu_count()
    assert second.cpu == pytest.approx(sum(second.cores) / len(second.cores), abs=1e-3)
    assert second.cpu is not None
    assert 0 < second.cpu <= 1
    assert second.load == pytest.approx(os.getloadavg()[0], abs=1.5)
    memory = psutil.virtual_memory()
    assert second.memory_bytes == pytest.approx(memory.total - memory.available, rel=0.3)
    assert (second.server_cpu, second.server_rss_bytes) == (None, None)


@pytest.mark.slow
def test_the_server_is_its_whole_group_less_its_guard() -> None:
    with group(IDLE, BUSY) as number, logging(0.5) as log:
        tell(log, Order(group=number))
        sample(log)
        time.sleep(1)
        found = [sample(log) for _ in range(4)][-1]
        parts = [psutil.Process(pid).memory_info().rss for pid in members(Order(group=number))]
        assert len(parts) == 3
        assert found.server_rss_bytes == pytest.approx(sum(parts), rel=0.05)
        assert found.server_rss_bytes is not None
        assert found.server_rss_bytes > 160 << 20
        assert found.server_cpu is not None
        assert 0.1 < found.server_cpu < 1.1  # one of them spins, as far as this machine lets it
        guard = psutil.Process(number).memory_info().rss
        tell(log, Order(group=number, guarded=True))
        for _ in range(3):
            found = sample(log)
        assert found.server_rss_bytes == pytest.approx(sum(parts) - guard, abs=guard / 2)
        tell(log, Order(group=None))
        for _ in range(3):
            found = sample(log)
        assert (found.server_cpu, found.server_rss_bytes) == (None, None)


def test_a_server_that_is_gone_has_no_memory() -> None:
    with logging(0.2) as log:
        with group(IDLE) as number:
            tell(log, Order(group=number))
            while sample(log).server_rss_bytes is None:
                pass
        for _ in range(4):
            found = sample(log)
        assert (found.server_cpu, found.server_rss_bytes) == (None, None)


def test_samples_are_as_far_apart_as_asked() -> None:
    with logging(0.2) as log:
        times = []
        for _ in range(6):
            sample(log)
            times.append(time.monotonic())
    assert 0.85 < times[-1] - times[0] < 1.9


def test_the_hottest_sensor_of_each_chip(monkeypatch: pytest.MonkeyPatch) -> None:
    def chips() -> dict[str, list[SimpleNamespace]]:
        heats: dict[str, list[float | None]] = {
            "coretemp": [55.0, 71.0, None],
            "nvme": [38.9],
            "amdgpu": [0.0],
            "acpitz": [-273.2],
        }
        return {chip: [SimpleNamespace(current=heat) for heat in found] for chip, found in heats.items()}

    monkeypatch.setattr(psutil, "sensors_temperatures", chips, raising=False)
    assert host._chips() == {"coretemp": 71.0, "nvme": 38.9}


def test_a_system_without_sensors_or_clocks_tells_none(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(percpu: bool) -> list[object]:
        raise NotImplementedError

    monkeypatch.delattr(psutil, "sensors_temperatures", raising=False)
    monkeypatch.setattr(psutil, "cpu_freq", fail)
    assert host._chips() == {}
    assert host._clocks() == []
