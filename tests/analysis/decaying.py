"""Short runs of lab/hot_card on a simulated card and a truth server that slow down in five known ways.

The card is the article's, twice as fast: 57 to 88 C in 16 s, 1,695 MHz, 166 W of 350, and one dip to 750 MHz. Both
begin when the run does, and rest for the first seconds, in which one caller is alone.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

import msgspec

from tests.telemetry.cards import ROOT, Machine, Moment, Simulated, simulated

REST_S, HOT_S, DIP_S = 7.0, 23.0, 25.0
LOAD_S = 24
STEP_S = 0.016


class Short(msgspec.Struct, frozen=True, kw_only=True):
    """What the card ends with once it is hot; `factor`: of the decode rate at last. `leak`: MiB a second."""

    factor: float = 1.0
    sm_mhz: float = 1695
    power_w: float = 166
    reasons: tuple[str, ...] = ()
    leak: float = 0.0


SHORT = {
    "throttled": Short(factor=0.6, sm_mhz=1017, reasons=("SwThermalSlowdown",)),
    "power limit": Short(factor=0.7, sm_mhz=1187, power_w=349, reasons=("SwPowerCap",)),
    "memory heat": Short(factor=97.6 / 218.6, sm_mhz=1509),  # the article's: decode -55 %, the clock -11 %
    "server memory": Short(factor=0.6, leak=20),
    "no decay": Short(),
}


def machine(of: Short) -> Machine:
    """The card. That its memory is hot it cannot tell."""
    hot = Moment(t=HOT_S, core_c=88, sm_mhz=of.sm_mhz, power_w=of.power_w, reasons=of.reasons)
    curve = [
        Moment(t=0, core_c=57, sm_mhz=1695, memory_mhz=9751, power_w=166, reasons=(), busy=97, memory_busy=60),
        Moment(t=REST_S, core_c=57, sm_mhz=1695, power_w=166),
        hot,
        Moment(t=DIP_S, sm_mhz=of.sm_mhz),
        Moment(t=DIP_S + 0.01, sm_mhz=750),
        Moment(t=DIP_S + 0.5, sm_mhz=750),
        Moment(t=DIP_S + 0.51, sm_mhz=of.sm_mhz),
    ]
    return Machine(cards=[Simulated(curve=curve, missing=("memory_c",))])


def record(of: Short, out: Path, folder: Path, *sets: str) -> str:
    """Run it into `out`, with changes to the scenario; what it printed. A leak goes on to the run's end. `folder`: for
    the card's file. Raises CalledProcessError."""
    end = 60.0 if of.leak else HOT_S
    last = 1 + (1 / of.factor - 1) * (end - REST_S) / (HOT_S - REST_S)
    slower = json.dumps([[0, 1], [REST_S, 1], [end, last]]).replace(" ", "")
    options = f"slots=4 context=4096 first=0.02 step={STEP_S} tokens=30 metrics=true slower={slower} leak={of.leak}"
    launch = f"python -m tests.truth --port {{port}} {options}"  # it stands in the run: no path of this machine's
    plain = [
        f"server={{launch: '{launch}', slots: 4, context: 16384}}", "recording=synthetic.json", "fit=600",
        "callers.warm.count=4", f"duration={LOAD_S}s", "telemetry.every=200 ms", "reply={exactly: 30}",
    ]  # fmt: skip
    changes = [word for change in (*plain, *sets) for word in ("--set", change)]
    command = [sys.executable, "-m", "loadsim", "scenario", "lab/hot_card", "--no-text", "--out", str(out), *changes]
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    env = simulated(machine(of), folder, base=os.environ | {"PATH": path})
    return subprocess.run(command, check=True, timeout=120, capture_output=True, text=True, cwd=ROOT, env=env).stdout
