"""`python -m tests.benchmarks.compare [--pairs 10] [--callers 3] [--of embedded truth slowed] [--keep DIR]`: what
`loadsim compare` says of pairs of runs whose difference is known.

embedded: two runs of the same scenario on the embedded server, right after each other. truth: the same against a server
with a known schedule. slowed: that server, and one whose every time is 10 % longer; A is the slower one in every other
pair, and the verdict wanted is then `better`. Each run is a process of its own, as a user has it. Prints every verdict
with the machine's load average, and the counts.
"""

import argparse
import os
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec

from loadsim.report.sides import side
from loadsim.results.read import read
from loadsim.stats.compare import compare
from loadsim.stats.comparison import Comparison

ROOT = Path(__file__).parents[2]
FIRST, STEP = 0.1, 0.01
SLOWER = 1.1
SCENARIO = {"baseline.replies": "4", "repeat": "5"}
EMBEDDED = {"fit": "6500", "server.context": "49152"}
TRUTH = {"fit": "null", "reply": "{exactly: 20}"}


@contextmanager
def truth(slower: float, callers: int) -> Iterator[str]:
    """The url of a truth server in its own process, whose times are so many times longer."""
    options = [f"first={FIRST * slower}", f"step={STEP * slower}", f"slots={callers}"]
    command = [sys.executable, "-m", "tests.truth", *options]
    with subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as server:
        assert server.stdin is not None and server.stdout is not None
        try:
            yield msgspec.json.decode(server.stdout.readline())["url"]
        finally:
            server.stdin.close()


def measured(folder: Path, callers: int, slower: float | None) -> Path:
    """A run's folder; `slower`: against a truth server, None: against the embedded one."""
    sets = SCENARIO | {"callers.warm.count": str(callers)} | (EMBEDDED if slower is None else TRUTH)
    if slower is None:
        sets["server.slots"] = str(callers)
    command = [sys.executable, "-m", "loadsim", "scenario", "twelve_callers", "--out", str(folder)]
    for key, value in sets.items():
        command += ["--set", f"{key}={value}"]
    if slower is None:
        subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.DEVNULL)
    else:
        with truth(slower, callers) as url:
            subprocess.run([*command, "--url", url], cwd=ROOT, check=True, stdout=subprocess.DEVNULL)
    return folder


def told(found: Comparison) -> str:
    """What it says, with what it says it of."""
    point = found.points[0]
    surely = [
        f"{each.who} {each.metric} {each.change:+.0%}"
        for each in point.differences
        if each.verdict in ("better", "worse") and each.change is not None
    ]
    return "; ".join([found.verdict, *surely, *point.reasons])


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks.compare", description=__doc__)
    parser.add_argument("--pairs", type=int, default=10)
    parser.add_argument("--callers", type=int, default=3)
    parser.add_argument("--of", nargs="+", choices=("embedded", "truth", "slowed"), default=("embedded", "slowed"))
    parser.add_argument("--keep", type=Path, help="where the runs stay")
    given: Any = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = given.keep or Path(temporary)
        for kind in given.of:
            seen: Counter[str] = Counter()
            right = 0
            for number in range(given.pairs):
                a, b = (None, None) if kind == "embedded" else (1.0, SLOWER if kind == "slowed" else 1.0)
                if number % 2:
                    a, b = b, a
                runs = [
                    measured(folder / f"{kind}-{number}-{at}", given.callers, each) for at, each in (("a", a), ("b", b))
                ]
                found = compare(side(read(runs[0])), side(read(runs[1])))
                wanted = ("better" if number % 2 else "worse") if kind == "slowed" else "no difference seen"
                right += found.verdict == wanted
                seen[found.verdict] += 1
                print(f"{kind} {number + 1}: load {os.getloadavg()[0]:.1f}, wanted {wanted}: {told(found)}", flush=True)
            counted = ", ".join(f"{n} {verdict}" for verdict, n in seen.most_common())
            print(f"{kind}: as wanted in {right} of {given.pairs} pairs ({counted})\n", flush=True)


if __name__ == "__main__":
    main()
