"""The host log's process, `python -m loadsim.telemetry.host --every 2 s`: a line of JSON per sample.

It tells of the machine, of the program that started it, and of the server that it is told of on stdin, with which it
ends. In a process of its own, since sensors and long process lists may take milliseconds to read.
"""

import contextlib
import os
import sys
import time
from statistics import mean

import psutil

from ..types import BadInput, HostSample
from .ticks import Order, arguments, members, say, seconds, ticks

CPU_CHIPS = ("coretemp", "k10temp", "zenpower", "cpu_thermal", "cpu-thermal", "soc_thermal", "x86_pkg_temp")
NOT_ONE = Order(group=None)


class Used:
    """CPU seconds that processes use, over the wall's, and their memory."""

    def __init__(self) -> None:
        self._cpu: dict[tuple[int, float], float] = {}
        self._wall = time.monotonic()

    def take(self, pids: set[int]) -> tuple[float | None, int | None]:
        """Cores since the last call, and resident bytes; None: none of them is there, or has been for long enough."""
        cpu: dict[tuple[int, float], float] = {}
        rss: list[int] = []
        for pid in pids:
            with contextlib.suppress(psutil.Error):
                process = psutil.Process(pid)
                with process.oneshot():
                    times, size = process.cpu_times(), process.memory_info().rss
                    if not size:  # dead, and nobody has asked how it ended
                        continue
                    rss.append(size)
                    cpu[pid, process.create_time()] = times.user + times.system
        now = time.monotonic()
        passed, before = now - self._wall, self._cpu
        self._wall, self._cpu = now, cpu
        known = before.keys() & cpu.keys()
        used = sum(cpu[key] - before[key] for key in known) / passed if known and passed > 0 else None
        return None if used is None else round(used, 4), sum(rss) if rss else None


def log(every: float) -> None:
    """Log this machine on stdout until stdin ends; the first sample is there after the first interval."""
    order, own, server = NOT_ONE, Used(), Used()
    parent = {os.getppid()}
    own.take(parent)
    psutil.cpu_percent(percpu=True)
    first = True
    for said in ticks(every):
        order = said or order
        group = set() if order.group is None else members(order)
        if first:
            first = False
            continue
        cores = tuple(round(busy / 100, 3) for busy in psutil.cpu_percent(percpu=True))
        own_cpu, own_rss = own.take(parent)
        server_cpu, server_rss = server.take(group)
        memory = psutil.virtual_memory()
        chips = _chips()
        clocks = _clocks()
        say(
            HostSample(
                cpu=round(mean(cores), 4) if cores else None,
                cores=cores,
                load=round(psutil.getloadavg()[0], 2),
                memory_bytes=memory.total - memory.available,
                own_cpu=own_cpu,
                own_rss_bytes=own_rss,
                server_cpu=server_cpu,
                server_rss_bytes=server_rss,
                cpu_c=max((heat for chip, heat in chips.items() if chip in CPU_CHIPS), default=None),
                sensors_c=chips,
                cpu_mhz=round(mean(clocks)) if clocks else None,
                cpu_mhz_least=round(min(clocks)) if clocks else None,
            )
        )


def _chips() -> dict[str, float]:
    """The hottest sensor of each chip, where the system has hwmon."""
    read = getattr(psutil, "sensors_temperatures", None)
    found = {}
    with contextlib.suppress(OSError):
        for chip, sensors in (read() if read else {}).items():
            heats = [sensor.current for sensor in sensors if sensor.current and sensor.current > 0]
            if heats:
                found[chip] = round(max(heats), 1)
    return found


def _clocks() -> list[float]:
    """Of each core, in MHz."""
    with contextlib.suppress(OSError, NotImplementedError, AttributeError):
        return [core.current for core in psutil.cpu_freq(percpu=True) or [] if core.current]
    return []


def main() -> None:
    """The command line."""
    given = arguments("loadsim.telemetry.host", __doc__).parse_args()
    try:
        log(seconds(" ".join(given.every)))
    except BadInput as error:
        sys.exit(f"loadsim: {error}")


if __name__ == "__main__":
    main()
