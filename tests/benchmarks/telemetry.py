"""`python -m tests.benchmarks.telemetry [--callers 12] [--repeats 5] [--passes 2]`: what the logs cost a measurement.

The embedded server, and callers whose replies of 150 tokens begin together; the same load with no logs, with all three
every 2 s, as is usual, and every 200 ms, in turn and over again. The card log is a command that reads a simulated card.
Medians over all repeats of all passes, and of the repeats' spread its lowest and highest: how late the event loop came,
the first token, the gaps, and loadsim's own CPU. At the end how many times as late the loop came at p99 with logs as
without: the median of the passes' own ratios, each of a run's median repeat over that of the run without logs right
before it, and the lowest and highest of them.
"""

import argparse
import os
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path
from statistics import median
from typing import Any

from loadsim.results.read import Run, read
from loadsim.stats.tokens import gaps, percentile

from ..telemetry.cards import ARTICLE, ROOT, Machine, Simulated, sampler, simulated

LAG = "lag p99, ms"
EVERY = {"none": "null", "2 s": "2 s", "200 ms": "200 ms"}


def measured(folder: Path, every: str, callers: int, repeats: int) -> Run:
    """A run of its own process, as a user has it."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    env = simulated(Machine(cards=[Simulated(curve=ARTICLE)]), folder.parent)
    sets = {
        "callers.warm.count": str(callers),
        "repeat": str(repeats),
        "baseline.replies": "0",
        "reply": "{exactly: 150}",
        "fit": "6500",  # warmed sooner
        "telemetry.every": every,
        "telemetry.card": f"{shlex.join(sampler(1)[:-1])} {{every}}",
    }
    command = [sys.executable, "-m", "loadsim", "scenario", "twelve_callers", "--out", str(folder)]
    for key, value in sets.items():
        command += ["--set", f"{key}={value}"]
    subprocess.run(command, cwd=ROOT, env=env, check=True, stdout=subprocess.DEVNULL)
    return read(folder)


def figures(run: Run) -> list[dict[str, float]]:
    """Of each repeat."""
    found = []
    for event in run.events:
        if event["event"] == "client":
            rows = [row for row in run.rows if row.row == "load" and row.repeat == event["repeat"]]
            firsts = [row.first_token_s - row.sent_s for row in rows if row.first_token_s and row.sent_s]
            pooled = [float(gap) for row in rows for gap in gaps(row.token_s)]
            found.append(
                {
                    "lag p50, ms": event["lag_p50_ms"],
                    LAG: event["lag_p99_ms"],
                    "lag max, ms": event["lag_max_ms"],
                    "first token, ms": median(firsts) * 1e3,
                    "gap p50, ms": median(pooled) * 1e3,
                    "gap p99, ms": (percentile(pooled, 99) or 0.0) * 1e3,
                    "CPU, cores": event["cpu_share"],
                }
            )
    return found


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks.telemetry", description=__doc__)
    for name, default in (("callers", 12), ("repeats", 5), ("passes", 2)):
        parser.add_argument(f"--{name}", type=int, default=default)
    given: Any = parser.parse_args()
    seen: dict[str, list[dict[str, float]]] = {name: [] for name in EVERY}
    lags: dict[str, list[float]] = {name: [] for name in EVERY}
    samples = dict.fromkeys(EVERY, 0)
    print(f"{os.cpu_count()} cores, load average before: {os.getloadavg()[0]:.1f}, {given.callers} callers")
    with tempfile.TemporaryDirectory() as folder:
        for number in range(given.passes):
            for name, every in EVERY.items():
                run = measured(Path(folder) / f"{number}-{name}" / "run", every, given.callers, given.repeats)
                found = figures(run)
                seen[name] += found
                lags[name].append(median(each[LAG] for each in found))
                samples[name] += len(run.card) + len(run.host) + len(run.server)
    print(f"{'logs every':18}" + "".join(f"{name:>24}" for name in EVERY))
    for figure in seen["none"][0]:
        cells = []
        for name in EVERY:
            values = [each[figure] for each in seen[name]]
            cells.append(f"{median(values):10.3f} ({min(values):.3g} to {max(values):.3g})"[:24])
        print(f"{figure:18}" + "".join(f"{cell:>24}" for cell in cells))
    print(f"{'samples':18}" + "".join(f"{samples[name]:>24}" for name in EVERY))
    for name in list(EVERY)[1:]:
        ratios = [on / off for on, off in zip(lags[name], lags["none"], strict=True)]
        spread = f"{min(ratios):.2f} to {max(ratios):.2f} over {len(ratios)} passes"
        print(f"lag p99 with logs every {name}: {median(ratios):.2f} times that without ({spread})")


if __name__ == "__main__":
    main()
