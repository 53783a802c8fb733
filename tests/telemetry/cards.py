"""Simulated cards: what a stand-in for NVML replays, and how a program is made to meet it.

`pynvml` in stand_in/ is found before the real one by a process whose PYTHONPATH begins with `STAND_IN`; it reads the
file that the environment's SIMULATED_CARDS names, a `Machine` as JSON.
"""

import os
import sys
from collections.abc import Mapping
from pathlib import Path

import msgspec

STAND_IN = Path(__file__).parent / "stand_in"
ROOT = Path(__file__).parents[2]
FILE = "SIMULATED_CARDS"


class Moment(msgspec.Struct, frozen=True, kw_only=True):
    """A card at `t` seconds. Numbers go on in straight lines to the next moment that names them; `reasons` (names of
    NVML's clock event reasons, without their prefix) stay until it. `busy` and `memory_busy` in per cent, `fan` too."""

    t: float
    core_c: float | None = None
    memory_c: float | None = None
    sm_mhz: float | None = None
    memory_mhz: float | None = None
    power_w: float | None = None
    reasons: tuple[str, ...] | None = None
    busy: float | None = None
    memory_busy: float | None = None
    memory_mib: float | None = None
    fan: float | None = None


class Simulated(msgspec.Struct, frozen=True, kw_only=True):
    """One card. `missing`: fields of CardSample that it does not support; `lost`: stretches in which it is off the bus,
    seconds; a handle from before is no good after. `slow`: seconds that each call takes. `pids`: who computes on it."""

    curve: list[Moment]
    name: str = "NVIDIA GeForce RTX 3090"
    uuid: str = "GPU-simulated-0"
    memory_mib: float = 24576
    limit_w: float = 350
    slowdown_c: float = 93
    missing: tuple[str, ...] = ()
    lost: tuple[tuple[float, float], ...] = ()
    slow: float = 0.0
    pids: tuple[int, ...] = ()


class Machine(msgspec.Struct, frozen=True, kw_only=True):
    """`cards` by number. `driver`: None, and NVML finds no library. `start`: seconds since 1970 at which the curves
    begin; None: when each process begins. `speed`: seconds of the curves in one of the clock's. `old`: the driver does
    not know the functions that came with the newest ones."""

    cards: list[Simulated]
    driver: str | None = "550.54.14"
    start: float | None = None
    speed: float = 1.0
    old: bool = False


ARTICLE = [
    Moment(t=0, core_c=57, sm_mhz=1695, memory_mhz=9751, power_w=166, reasons=(), busy=97, memory_busy=60, fan=30),
    Moment(t=20, sm_mhz=1695, reasons=()),
    Moment(t=20.01, sm_mhz=750, reasons=("SwPowerCap",)),
    Moment(t=21, sm_mhz=750, reasons=("SwPowerCap",)),
    Moment(t=21.01, sm_mhz=1695, reasons=()),
    Moment(t=33, core_c=88, memory_mib=18000),
]
"""The article's card: 57 to 88 C in 33 s, and one dip to 750 MHz, to which a cause was added here."""


def simulated(machine: Machine, folder: Path, base: Mapping[str, str] = os.environ) -> dict[str, str]:
    """An environment in which `pynvml` is the stand-in, with this machine's cards."""
    file = folder / "cards.json"
    file.write_bytes(msgspec.json.encode(machine))
    path = os.pathsep.join([str(STAND_IN), str(ROOT)])
    return {**base, "PYTHONPATH": path, FILE: str(file)}


def sampler(every: float, *arguments: str) -> list[str]:
    """The command of the card log's process."""
    return [sys.executable, "-m", "loadsim.telemetry.card", "--every", f"{every:g}", *arguments]
